//! Who gets a socket, and what a hello is for.

use std::time::Duration;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{Endpoint, Refusal, RequestHead};
use agui_encoder::ws::{HelloAttributes, Incoming, WebSocketEndpoint, fresh_token};
use http::{Method, StatusCode};
use serde_json::json;

use super::peer::{Peer, accepted, refused, took, upgrade};
use super::support::Log;

/// Tells what it knows of its client.
async fn curious(run: Run) -> Result<RunEnd, RunError> {
    let hello = run.extensions().get::<HelloAttributes>();
    let head = run.extensions().get::<RequestHead>().map(|head| head.header("authorization").is_some());
    let names: Vec<_> = hello.iter().flat_map(|hello| hello.iter()).collect();
    run.text(format!("{names:?} {head:?}")).await?;
    Ok(RunEnd::success())
}

fn open() -> WebSocketEndpoint {
    WebSocketEndpoint::new(Endpoint::new(curious))
}

fn secure() -> WebSocketEndpoint {
    WebSocketEndpoint::new(Endpoint::new(curious).with_bearer_token("s3cret"))
}

async fn answer(peer: &Peer) -> String {
    peer.ask("r");
    let events = peer.run().await;
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

#[tokio::test]
async fn what_is_no_upgrade_is_told_what_to_do() {
    let mut head = upgrade(&[]);
    head.headers.remove("upgrade");
    let response = refused(&open(), &head).await;
    assert_eq!(response.status(), StatusCode::UPGRADE_REQUIRED);
    assert_eq!(response.headers()["upgrade"], "websocket");
    assert_eq!(response.headers()["sec-websocket-version"], "13");
    let body = super::support::text(response.into_body()).await;
    assert!(body.contains(r#""code":"upgrade_required""#), "{body}");

    let mut head = upgrade(&[]);
    head.method = Method::POST;
    let response = refused(&open(), &head).await;
    assert_eq!(
        (response.status(), &response.headers()["allow"]),
        (StatusCode::METHOD_NOT_ALLOWED, &"GET".parse().unwrap())
    );
}

#[tokio::test]
async fn the_subprotocol_is_echoed_if_it_is_offered() {
    assert_eq!(accepted(&open(), &[]).await.protocol(), None);
    let offered = [("sec-websocket-protocol", "other, ag-ui.1")];
    assert_eq!(accepted(&open(), &offered).await.protocol(), Some("ag-ui.1"));
    let response = refused(&open(), &upgrade(&[("sec-websocket-protocol", "other")])).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_foreign_origin_is_refused_before_the_upgrade() {
    let foreign = [("origin", "https://evil.example")];
    assert_eq!(refused(&open(), &upgrade(&foreign)).await.status(), StatusCode::FORBIDDEN);
    let listed = open().with_allowed_origins(["https://evil.example/"]);
    assert_eq!(accepted(&listed, &foreign).await.protocol(), None);
    let strict = open().with_required_origin(true);
    assert_eq!(refused(&strict, &upgrade(&[])).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_header_is_judged_before_the_upgrade() {
    let wrong = [("authorization", "Bearer wrong")];
    let response = refused(&secure(), &upgrade(&wrong)).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(response.headers()["www-authenticate"], "Bearer");

    let peer = Peer::of(accepted(&secure(), &[("authorization", "Bearer s3cret")]).await);
    assert_eq!(answer(&peer).await, "[] Some(true)");
}

#[tokio::test]
async fn strangers_who_want_no_socket_learn_nothing() {
    let mut head = upgrade(&[]);
    head.headers.remove("upgrade");
    assert_eq!(refused(&secure(), &head).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_hello_brings_the_token_and_attributes_but_shows_no_token() {
    let (log, _guard) = Log::start();
    let peer = Peer::connect(&secure()).await;
    peer.say(&json!({ "type": "hello", "token": "s3cret", "client": "desk", "n": 1, "plan": "gold" }));
    assert_eq!(peer.frame().await, json!({ "type": "hello_ack", "protocolVersion": "1.0" }));
    assert_eq!(answer(&peer).await, r#"[("client", "desk"), ("plan", "gold")] Some(false)"#);
    drop(peer);
    assert!(!log.text().contains("s3cret"), "{}", log.text());
}

#[tokio::test]
async fn a_wrong_or_missing_token_closes_with_1008() {
    let frames = [
        json!({ "type": "hello", "token": "wrong" }),
        json!({ "type": "hello" }),
        json!({ "type": "hello", "token": 5 }),
        json!({ "type": "hello", "token": "line\nbreak" }),
        json!({ "type": "stop" }),
        super::peer::input("r"),
    ];
    for frame in frames {
        let peer = Peer::connect(&secure()).await;
        peer.say(&frame);
        assert_eq!(peer.close_code().await, 1008, "{frame}");
        peer.part().await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_hello_in_time_the_socket_closes_with_4408() {
    let peer = Peer::connect(&secure()).await;
    let (code, time) = took(peer.close_code()).await;
    assert_eq!((code, time), (4408, Duration::from_secs(5)));
    let hasty = secure().with_hello_timeout(Duration::from_millis(50));
    let (code, time) = took(async { Peer::connect(&hasty).await.close_code().await }).await;
    assert_eq!((code, time.as_millis()), (4408, 50));
}

#[tokio::test(start_paused = true)]
async fn a_hello_that_is_not_judged_in_time_closes_with_4408() {
    let undecided = Endpoint::new(curious).with_authenticator(|head: RequestHead| async move {
        if head.headers().contains_key("authorization") {
            std::future::pending::<()>().await;
        }
        Err::<(), _>(Refusal::unauthorized())
    });
    let peer = Peer::connect(&WebSocketEndpoint::new(undecided)).await;
    let (code, time) = took(async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        peer.say(&json!({ "type": "hello", "token": "s3cret" }));
        peer.close_code().await
    })
    .await;
    assert_eq!((code, time), (4408, Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_asked_for_a_hello_may_come_late_or_never() {
    let peer = Peer::connect(&open().with_ping_interval(None)).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    peer.say(&json!({ "type": "hello", "token": "whatever", "client": "desk" }));
    assert_eq!(peer.frame().await["type"], "hello_ack");
    assert_eq!(answer(&peer).await, r#"[("client", "desk")] Some(false)"#);
}

#[tokio::test]
async fn a_hello_is_the_first_frame_or_none() {
    let peer = Peer::connect(&open()).await;
    answer(&peer).await;
    peer.say(&json!({ "type": "hello" }));
    assert_eq!(peer.close_code().await, 1002);
}

#[tokio::test]
async fn an_authenticator_judges_the_token_of_a_hello_as_it_does_a_header() {
    struct User(String);
    let handler = |run: Run| async move {
        let user = run.extensions().get::<User>().map(|user| user.0.clone());
        run.text(user.unwrap_or_default()).await?;
        Ok(RunEnd::success())
    };
    let endpoint = Endpoint::new(handler).with_authenticator(|head: RequestHead| async move {
        let known = head.header("authorization").or_else(|| head.header("cookie"));
        known.map(|name| User(name.to_owned())).ok_or_else(Refusal::unauthorized)
    });
    let sockets = WebSocketEndpoint::new(endpoint);
    let peer = Peer::connect(&sockets).await;
    peer.say(&json!({ "type": "hello", "token": "ada" }));
    assert_eq!(peer.frame().await["type"], "hello_ack");
    assert_eq!(answer(&peer).await, "Bearer ada");

    let peer = Peer::of(accepted(&sockets, &[("cookie", "session=1")]).await);
    assert_eq!(answer(&peer).await, "session=1");
}

#[tokio::test]
async fn what_the_adapter_adds_reaches_the_handler() {
    let handler = |run: Run| async move {
        run.text(run.extensions().get::<u32>().map(u32::to_string).unwrap_or_default()).await?;
        Ok(RunEnd::success())
    };
    let mut session = accepted(&WebSocketEndpoint::new(Endpoint::new(handler)), &[]).await;
    session.extensions_mut().insert(7_u32);
    assert_eq!(answer(&Peer::of(session)).await, "7");
}

#[tokio::test]
async fn a_frame_that_comes_while_the_token_is_judged_waits_for_the_verdict() {
    let peer = Peer::connect(&secure()).await;
    peer.send(Incoming::Text(r#"{"type":"hello","token":"s3cret"}"#.into()));
    peer.ask("r");
    assert_eq!(peer.frame().await["type"], "hello_ack");
    assert_eq!(peer.run().await.len(), 5);
}

#[test]
fn a_fresh_token_is_long_and_no_other() {
    let (one, other) = (fresh_token(), fresh_token());
    assert_eq!((one.len(), other.len()), (64, 64));
    assert_ne!(one, other);
}
