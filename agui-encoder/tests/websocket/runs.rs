//! Runs on a socket: one after the other, stopped, refused.

use std::sync::Arc;
use std::time::Duration;

use agui_core::producer::CancelReason;
use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{Admission, Endpoint, OnDisconnect, Refusal};
use agui_encoder::ws::{Incoming, Outgoing, WebSocketEndpoint};
use serde_json::json;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

use super::peer::{Peer, accepted, input};
use super::support::{OnDrop, settle, types};

async fn hello(run: Run) -> Result<RunEnd, RunError> {
    run.text("Hello").await?;
    Ok(RunEnd::success())
}

/// Says one word and waits for its end.
async fn patient(run: Run) -> Result<RunEnd, RunError> {
    let mut message = run.message();
    message.delta("on").await?;
    run.cancelled().await;
    Ok(RunEnd::success())
}

const WHOLE: [&str; 5] =
    ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"];

#[tokio::test]
async fn runs_follow_each_other_one_event_per_frame() {
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(hello))).await;
    for run_id in ["one", "two", "three"] {
        peer.ask(run_id);
        let events = peer.run().await;
        assert_eq!(types(&events), WHOLE);
        assert_eq!((&events[0]["runId"], &events[4]["runId"]), (&json!(run_id), &json!(run_id)));
    }
    assert_eq!(peer.waiting(), 0);
}

#[tokio::test]
async fn text_with_line_breaks_is_still_one_frame() {
    let handler = |run: Run| async move {
        run.text("a\nb\r\n\u{2028}c").await?;
        Ok(RunEnd::success())
    };
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(handler))).await;
    peer.ask("r");
    assert_eq!(peer.run().await[2]["delta"], "a\nb\r\n\u{2028}c");
}

#[tokio::test]
async fn a_stop_ends_the_run_as_cancelled_and_the_next_one_runs() {
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(patient))).await;
    for stop in [json!({ "type": "stop" }), json!({ "type": "stop", "runId": "r" })] {
        peer.ask("r");
        let mut events = vec![peer.frame().await, peer.frame().await, peer.frame().await];
        peer.say(&json!({ "type": "stop", "runId": "another" }));
        settle().await;
        assert_eq!(peer.waiting(), 0, "another run was meant");
        peer.say(&stop);
        events.extend(peer.run().await);
        assert_eq!(types(&events), WHOLE);
        assert_eq!(events[4]["outcome"], json!({ "type": "cancelled" }));
    }
}

#[tokio::test]
async fn a_stop_without_a_run_is_nothing() {
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(hello))).await;
    peer.say(&json!({ "type": "stop" }));
    peer.ask("r");
    assert_eq!(types(&peer.run().await), WHOLE);
}

#[tokio::test]
async fn a_stop_that_comes_while_the_input_is_judged_stops_the_run() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let endpoint = Endpoint::new(patient).with_admission(move |_: Admission| {
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            Ok(())
        }
    });
    let peer = Peer::connect(&WebSocketEndpoint::new(endpoint)).await;
    peer.ask("r");
    peer.say(&json!({ "type": "stop", "runId": "r" }));
    settle().await;
    gate.notify_one();
    let events = peer.run().await;
    assert_eq!(events.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
}

#[tokio::test]
async fn an_input_during_a_run_closes_with_4409_and_cancels_it() {
    let (sign, dropped) = OnDrop::new();
    let sign = Arc::new(std::sync::Mutex::new(Some(sign)));
    let handler = move |run: Run| {
        let sign = sign.lock().unwrap().take();
        async move {
            let _sign = sign;
            patient(run).await
        }
    };
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(handler))).await;
    peer.ask("one");
    for _ in 0..3 {
        peer.frame().await;
    }
    peer.ask("two");
    assert_eq!(peer.close_code().await, 4409);
    dropped.await.unwrap();
}

#[tokio::test]
async fn an_input_during_a_run_closes_whatever_is_wrong_with_it() {
    let endpoint = WebSocketEndpoint::new(Endpoint::new(patient));
    for frame in [json!({ "agentId": 7 }), json!({}), json!([])] {
        let peer = Peer::connect(&endpoint).await;
        peer.ask("r");
        for _ in 0..3 {
            peer.frame().await;
        }
        peer.say(&frame);
        assert_eq!(peer.close_code().await, 4409, "{frame}");
    }
    let peer = Peer::connect(&endpoint).await;
    peer.say(&json!({ "agentId": 7 }));
    assert_eq!(peer.frame().await["code"], "invalid_input");
}

#[tokio::test]
async fn a_refused_input_is_one_run_error_and_the_socket_stays_open() {
    let endpoint = Endpoint::new(hello).with_admission(|asked: Admission| async move {
        match asked.input.run_id.as_str() {
            "mine" => Ok(()),
            _ => Err(Refusal::forbidden("Not yours.")),
        }
    });
    let peer = Peer::connect(&WebSocketEndpoint::new(endpoint)).await;
    let refused = [
        (json!({ "threadId": "t", "messages": [] }), "invalid_input"),
        (json!([]), "invalid_input"),
        (json!("text"), "invalid_input"),
        (json!(null), "invalid_input"),
        (input("yours"), "forbidden"),
        (json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r" }), "invalid_request"),
    ];
    for (frame, code) in refused {
        peer.say(&frame);
        let error = peer.frame().await;
        assert_eq!((&error["type"], &error["code"]), (&json!("RUN_ERROR"), &json!(code)), "{frame}");
        assert!(!error["message"].as_str().unwrap().is_empty());
        peer.ask("mine");
        assert_eq!(types(&peer.run().await), WHOLE);
    }
}

#[tokio::test]
async fn an_input_may_name_its_agent_beside_its_own_members() {
    let echo = |name: &'static str| {
        move |run: Run| async move {
            run.text(name).await?;
            Ok(RunEnd::success())
        }
    };
    let endpoint = Endpoint::by_header("x-agent-id")
        .with_agent("one", echo("one"))
        .with_agent("two", echo("two"))
        .with_default("one");
    let sockets = WebSocketEndpoint::new(endpoint);
    let (log, _guard) = super::support::Log::start();
    let peer = Peer::connect(&sockets).await;
    for (name, expected) in [(None, "one"), (Some("one"), "one"), (Some("two"), "two")] {
        let mut frame = input("r");
        if let Some(name) = name {
            frame["agentId"] = json!(name);
        }
        peer.say(&frame);
        assert_eq!(peer.run().await[2]["delta"], expected);
    }
    assert!(!log.text().contains("agentId"), "the member is no surprise: {}", log.text());
    for (agent, code) in [(json!("three"), "agent_not_found"), (json!(3), "invalid_input")] {
        let mut frame = input("r");
        frame["agentId"] = agent;
        peer.say(&frame);
        assert_eq!(peer.frame().await["code"], code);
    }
    let peer = Peer::of(accepted(&sockets, &[("x-agent-id", "two")]).await);
    peer.ask("r");
    assert_eq!(peer.run().await[2]["delta"], "two", "the header of the upgrade names the default");
}

#[tokio::test]
async fn an_older_peer_gets_what_it_can_read_input_by_input() {
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(patient))).await;
    let mut older = input("r");
    older.as_object_mut().unwrap().remove("protocolVersion");
    for (frame, outcome) in [(older, None), (input("r"), Some(json!({ "type": "cancelled" })))] {
        peer.say(&frame);
        peer.frame().await;
        peer.say(&json!({ "type": "stop" }));
        assert_eq!(peer.run().await.last().unwrap().get("outcome"), outcome.as_ref());
    }
}

#[tokio::test]
async fn a_socket_that_ends_cancels_its_run() {
    let (sender, mut reasons) = unbounded_channel();
    let handler = move |run: Run| {
        let sender = sender.clone();
        async move {
            run.text("on").await?;
            run.cancelled().await;
            let _ = sender.send(run.cancel_reason());
            Ok(RunEnd::success())
        }
    };
    let endpoint = Endpoint::new(handler).with_abandon_grace(Duration::from_secs(1));
    let sockets = WebSocketEndpoint::new(endpoint);
    for closes in [true, false] {
        let peer = Peer::connect(&sockets).await;
        peer.ask("r");
        for _ in 0..4 {
            peer.frame().await;
        }
        if closes {
            peer.send(Incoming::Close);
            assert_eq!(peer.close_code().await, 1000);
        } else {
            drop(peer);
        }
        assert_eq!(reasons.recv().await, Some(Some(CancelReason::Abandoned)));
    }
}

#[tokio::test]
async fn an_endpoint_may_let_the_run_go_on_without_its_socket() {
    let gate = Arc::new(Notify::new());
    let (opened, (sign, dropped)) = (Arc::clone(&gate), OnDrop::new());
    let sign = Arc::new(std::sync::Mutex::new(Some(sign)));
    let handler = move |run: Run| {
        let (opened, sign) = (Arc::clone(&opened), sign.lock().unwrap().take());
        async move {
            run.text("on").await?;
            opened.notified().await;
            run.text("off").await?;
            drop(sign);
            Ok(RunEnd::success())
        }
    };
    let endpoint = Endpoint::new(handler).with_on_disconnect(OnDisconnect::Detach);
    let peer = Peer::connect(&WebSocketEndpoint::new(endpoint)).await;
    peer.ask("r");
    peer.frame().await;
    drop(peer);
    settle().await;
    gate.notify_one();
    dropped.await.unwrap();
}

#[tokio::test]
async fn the_next_input_is_never_too_early_however_narrow_the_way() {
    let sockets = WebSocketEndpoint::new(Endpoint::new(hello)).with_max_queued(1, 1);
    let peer = Peer::connect(&sockets).await;
    peer.make_room(1);
    for run_id in ["one", "two", "three"] {
        peer.ask(run_id);
        assert_eq!(types(&peer.run().await), WHOLE);
    }
}

#[tokio::test]
async fn a_ping_is_answered() {
    let peer = Peer::connect(&WebSocketEndpoint::new(Endpoint::new(hello))).await;
    peer.send(Incoming::Ping("tick".into()));
    assert_eq!(peer.next().await, Some(Outgoing::Pong("tick".into())));
}
