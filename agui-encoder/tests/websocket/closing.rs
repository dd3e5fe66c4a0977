//! How sockets end: by what the peer does, by what it does not do, and by a shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::Endpoint;
use agui_encoder::ws::{Begun, Incoming, Outgoing, WebSocketEndpoint};
use serde_json::json;

use super::peer::{Peer, input, refused, took, upgrade};
use super::support::{OnDrop, settle, types};

async fn patient(run: Run) -> Result<RunEnd, RunError> {
    let mut message = run.message();
    message.delta("on").await?;
    run.cancelled().await;
    Ok(RunEnd::success())
}

fn sockets() -> WebSocketEndpoint {
    WebSocketEndpoint::new(Endpoint::new(patient).with_max_body_bytes(200))
}

/// Writes without end; the count says how many events it got rid of.
fn flood() -> (Endpoint, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let handler = move |run: Run| {
        let counted = Arc::clone(&counted);
        async move {
            let mut message = run.message();
            loop {
                message.delta("more ").await?;
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    (Endpoint::new(handler), count)
}

#[tokio::test]
async fn what_is_not_the_protocol_has_its_code() {
    let of_the_limit = |bytes: usize| {
        let short = input("r").to_string();
        Incoming::Text(format!("{short}{}", " ".repeat(bytes - short.len())).into())
    };
    let cases = [
        (Incoming::Text("{".into()), 1002),
        (Incoming::Text("".into()), 1002),
        (Incoming::Malformed, 1002),
        (Incoming::Binary, 1003),
        (Incoming::BadUtf8, 1007),
        (of_the_limit(201), 1009),
        (Incoming::TooLarge, 1009),
        (Incoming::Close, 1000),
    ];
    for (message, code) in cases {
        let peer = Peer::connect(&sockets()).await;
        peer.send(message.clone());
        assert_eq!(peer.close_code().await, code, "{message:?}");
    }
    let peer = Peer::connect(&sockets()).await;
    peer.send(of_the_limit(200));
    assert_eq!(peer.frame().await["type"], "RUN_STARTED", "exactly the limit is accepted");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_finish_the_closing_handshake_is_left() {
    let peer = Peer::connect(&sockets()).await;
    peer.send(Incoming::Binary);
    assert_eq!(peer.close_code().await, 1003);
    let (gone, time) = took(peer.next()).await;
    assert_eq!((gone, time), (None, Duration::from_secs(10)));
    // Where nothing can be read any more, its answer cannot be either.
    let peer = Peer::connect(&sockets()).await;
    peer.send(Incoming::TooLarge);
    assert_eq!(peer.close_code().await, 1009);
    let (gone, time) = took(peer.next()).await;
    assert_eq!((gone, time), (None, Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_peer_without_a_sign_of_life_is_gone_after_two_intervals() {
    let peer = Peer::connect(&sockets()).await;
    let (ping, time) = took(peer.next()).await;
    assert_eq!((ping, time), (Some(Outgoing::Ping), Duration::from_secs(20)));
    peer.send(Incoming::Pong);
    let (ping, time) = took(peer.next()).await;
    assert_eq!((ping, time), (Some(Outgoing::Ping), Duration::from_secs(20)));
    let (gone, time) = took(async { (peer.next().await, peer.next().await) }).await;
    assert_eq!((gone, time), ((Some(Outgoing::Ping), None), Duration::from_secs(40)));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_gone_ends_its_run() {
    let (sign, dropped) = OnDrop::new();
    let sign = Arc::new(std::sync::Mutex::new(Some(sign)));
    let handler = move |run: Run| {
        let sign = sign.lock().unwrap().take();
        async move {
            let _sign = sign;
            patient(run).await
        }
    };
    let sockets = WebSocketEndpoint::new(Endpoint::new(handler)).with_ping_interval(Duration::from_secs(1));
    let peer = Peer::connect(&sockets).await;
    peer.ask("r");
    let (dropped, time) = took(dropped).await;
    assert_eq!((dropped, time), (Ok(()), Duration::from_secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_makes_the_agent_wait_and_is_closed_in_the_end() {
    let (endpoint, count) = flood();
    let peer = Peer::connect(&WebSocketEndpoint::new(endpoint)).await;
    peer.make_room(10);
    peer.ask("r");
    settle().await;
    let written = count.load(Ordering::SeqCst);
    // Twice the queue of 256, one chunk and what fits into the socket; not more, however long it takes.
    assert!((256..1100).contains(&written), "{written}");
    tokio::time::sleep(Duration::from_millis(9_900)).await;
    assert_eq!(count.load(Ordering::SeqCst), written);

    // One frame in time, and the clock starts anew.
    peer.frame().await;
    settle().await;
    tokio::time::sleep(Duration::from_millis(9_900)).await;
    assert_eq!(peer.waiting(), 10);
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..10 {
        peer.frame().await;
    }
    assert_eq!(peer.close_code().await, 4429);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_not_full_waits_for_as_long_as_it_takes() {
    let sockets = WebSocketEndpoint::new(Endpoint::new(patient)).with_ping_interval(None);
    let peer = Peer::connect(&sockets).await;
    peer.make_room(0);
    peer.ask("r");
    tokio::time::sleep(Duration::from_secs(600)).await;
    peer.make_room(100);
    assert_eq!(peer.frame().await["type"], "RUN_STARTED");
}

#[tokio::test(start_paused = true)]
async fn the_limits_on_the_queue_and_on_patience_are_the_applications() {
    let (endpoint, _) = flood();
    let sockets = WebSocketEndpoint::new(endpoint)
        .with_max_queued(4, 1_000_000)
        .with_slow_reader_timeout(Duration::from_millis(100));
    let peer = Peer::connect(&sockets).await;
    peer.make_room(1);
    peer.ask("r");
    tokio::time::sleep(Duration::from_millis(150)).await;
    peer.frame().await;
    assert_eq!(peer.close_code().await, 4429);
}

#[tokio::test]
async fn what_a_peer_is_answered_does_not_pile_up_if_it_does_not_read() {
    let sockets = sockets().with_max_queued(4, 1_000_000);
    let peer = Peer::connect(&sockets).await;
    peer.make_room(0);
    for _ in 0..100 {
        peer.say(&json!([]));
    }
    settle().await;
    peer.make_room(1);
    for _ in 0..100 {
        assert_eq!(peer.frame().await["code"], "invalid_input");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_closes_idle_sockets_and_the_others_behind_their_terminal_event() {
    let sockets = sockets();
    let (idle, busy) = (Peer::connect(&sockets).await, Peer::connect(&sockets).await);
    busy.ask("r");
    let mut events = vec![busy.frame().await, busy.frame().await, busy.frame().await];
    let shutdown = tokio::spawn(sockets.shutdown(Duration::from_secs(3)));
    assert_eq!(idle.close_code().await, 1001);
    let ((), time) = took(async { events.extend(busy.run().await) }).await;
    assert_eq!(time, Duration::from_secs(3));
    assert_eq!(types(&events)[3..], ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    assert_eq!(events[4]["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(busy.close_code().await, 1001);

    assert_eq!(refused(&sockets, &upgrade(&[])).await.status(), 503);
    drop((idle, busy));
    shutdown.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_of_the_endpoint_reaches_its_sockets() {
    let endpoint = Endpoint::new(patient);
    let peer = Peer::connect(&WebSocketEndpoint::new(endpoint.clone())).await;
    endpoint.shutdown(Duration::ZERO).await;
    assert_eq!(peer.close_code().await, 1001);
}

#[tokio::test]
async fn a_session_that_is_dropped_unserved_holds_nothing_up() {
    let sockets = sockets();
    let Begun::Accepted(session) = sockets.begin(&upgrade(&[])).await else { panic!("refused") };
    drop(session);
    sockets.shutdown(Duration::from_secs(600)).await;
}
