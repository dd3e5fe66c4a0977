//! Runs over a socket: against the server's end, and against ends that misbehave.

mod common;

use agui_axum::{Endpoint, WebSocketEndpoint};
use agui_client::agui_core::consumer::RunStatus;
use agui_client::agui_core::{Event, Run, RunAgentInput, RunEnd, RunId};
use agui_client::{Agent, AgentSession, DialError, RunFailure, TruncationCause, WebSocketAgent};
use agui_encoder::ws::HelloAttributes;
use axum::Router;
use common::{demo, read, script, scripted, serve, within_a_minute};
use futures_util::{SinkExt, StreamExt};
use http::header::SEC_WEBSOCKET_PROTOCOL;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

fn input() -> RunAgentInput {
    RunAgentInput::new("t", "r", [])
}

// Against the server's end.

/// The demo's agents behind a socket, with a token if there is one.
async fn sockets(token: Option<&str>) -> String {
    let mut endpoint = agui_demo::plain_endpoint(&agui_demo::Settings::default());
    if let Some(token) = token {
        endpoint = endpoint.with_bearer_token(token);
    }
    let app = Router::new().route("/ws", agui_axum::websocket(WebSocketEndpoint::new(endpoint)));
    format!("{}/ws", serve(app).await.replace("http://", "ws://"))
}

#[expect(clippy::unwrap_used, reason = "this is part of tests")]
fn script_agent(url: &str) -> WebSocketAgent {
    WebSocketAgent::new(url).unwrap().with_agent_id("script")
}

#[tokio::test]
async fn a_socket_gives_the_same_events_as_http_run_after_run() {
    within_a_minute(async {
        let (http_url, _) = demo().await;
        let (socket, http) = (script_agent(&sockets(None).await), scripted(&http_url));
        for steps in [
            json!([{ "deltas": ["Grüße, ", "世界"] }, { "toolCall": { "name": "pick" } }, { "state": { "set": ["/a", 1] } }]),
            json!([{ "text": "a" }, { "error": "no", "code": "x" }]),
            json!([{ "flood": { "count": 2000, "bytes": 100 } }]),
            json!([{ "subagent": { "name": "s", "suspend": ["i"] } }, { "interrupt": [{ "id": "i", "reason": "ok?" }] }]),
            json!([{ "panic": "no" }]),
        ] {
            let mut over_socket = socket.run(script(&steps)).await.unwrap();
            let mut over_http = http.run(script(&steps)).await.unwrap();
            let (expected, _) = read(&mut over_http).await;
            let (events, failure) = read(&mut over_socket).await;
            assert!(failure.is_none(), "{failure:?}");
            assert!(events == expected, "{steps}");
            let (one, other) = (over_socket.conversation(), over_http.conversation());
            assert_eq!((one.to_messages(), one.runs()), (other.to_messages(), other.runs()));
        }
    })
    .await;
}

#[tokio::test]
async fn what_the_hello_says_is_there_at_the_other_end_and_the_token_is_not() {
    within_a_minute(async {
        let handler = |run: Run| async move {
            let said = run.extensions().get::<HelloAttributes>();
            let said = ["client", "locale", "token"].map(|name| said.and_then(|said| said.get(name)));
            run.custom("said", json!(said)).await?;
            Ok(RunEnd::success())
        };
        let endpoint = Endpoint::new(handler).with_bearer_token("s3cret");
        let app = Router::new().route("/ws", agui_axum::websocket(WebSocketEndpoint::new(endpoint)));
        let url = format!("{}/ws", serve(app).await.replace("http://", "ws://"));
        let agent = WebSocketAgent::new(&url).unwrap().with_token("s3cret");
        let agent =
            agent.with_attribute("client", "terminal/1").unwrap().with_attribute("locale", "de").unwrap();
        assert!(!format!("{agent:?}").contains("s3cret"));
        let (events, _) = read(&mut agent.run(input()).await.unwrap()).await;
        let Event::Custom(said) = &events[1] else { panic!("{events:?}") };
        assert_eq!(said.value, json!(["terminal/1", "de", null]));
    })
    .await;
}

#[tokio::test]
async fn a_wrong_token_is_a_refusal_before_the_upgrade_and_a_close_after_it() {
    within_a_minute(async {
        let url = sockets(Some("s3cret")).await;
        let early = WebSocketAgent::new(&url).unwrap().with_bearer_token("wrong").unwrap();
        let error = early.run(input()).await.unwrap_err();
        assert!(
            matches!(&error, DialError::Refused(refused) if refused.code() == Some("unauthorized")),
            "{error:?}"
        );
        let late = WebSocketAgent::new(&url).unwrap().with_token("wrong");
        let error = late.run(input()).await.unwrap_err();
        assert!(matches!(&error, DialError::Closed(cause) if cause.close_code() == Some(1008)), "{error:?}");
        let right = WebSocketAgent::new(&url).unwrap().with_bearer_token("s3cret").unwrap();
        assert_eq!(right.run(input()).await.unwrap().finish().await.unwrap(), RunStatus::Success);
        let foreign = right
            .with_header(HeaderName::from_static("origin"), HeaderValue::from_static("http://evil.example"));
        let error = foreign.run(input()).await.unwrap_err();
        assert!(matches!(&error, DialError::Refused(refused) if refused.status() == 403), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_refused_input_is_a_run_that_failed_and_the_socket_goes_on() {
    within_a_minute(async {
        let agent = WebSocketAgent::new(sockets(None).await).unwrap();
        let mut run = agent.clone().with_agent_id("nobody").run(input()).await.unwrap();
        assert_eq!(run.finish().await.unwrap(), RunStatus::Failed);
        let failure = run.conversation().last_run().unwrap().failure.clone().unwrap();
        assert_eq!(failure.code.as_deref(), Some("agent_not_found"));
        assert_eq!(agent.run(input()).await.unwrap().finish().await.unwrap(), RunStatus::Success);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_stopped_ends_as_cancelled_and_keeps_its_socket() {
    within_a_minute(async {
        let agent = script_agent(&sockets(None).await);
        assert!(!agent.stop(&RunId::from("r")), "nothing is running");
        let long = json!([{ "text": "a" }, { "sleepMs": 600_000 }]);
        let mut run = agent.run(script(&long)).await.unwrap();
        while let Some(event) = run.next().await {
            if matches!(event.unwrap(), Event::TextMessageEnd(_)) {
                assert!(agent.stop(&RunId::from("r")));
            }
        }
        assert_eq!(run.status(), RunStatus::Cancelled);
        assert!(!agent.stop(&RunId::from("r")), "it is over");
        let again = json!([{ "text": "b" }]);
        assert_eq!(agent.run(script(&again)).await.unwrap().finish().await.unwrap(), RunStatus::Success);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_dropped_is_cancelled_at_the_server_and_the_next_one_connects_again() {
    within_a_minute(async {
        let agent = script_agent(&sockets(None).await);
        let long = json!([{ "track": "gone" }, { "text": "a" }, { "sleepMs": 600_000 }]);
        let mut run = agent.run(script(&long)).await.unwrap();
        while !matches!(run.next().await, Some(Ok(Event::TextMessageEnd(_)))) {}
        drop(run);
        loop {
            let (events, _) =
                read(&mut agent.run(script(&json!([{ "stats": "gone" }]))).await.unwrap()).await;
            let Event::Custom(stats) = &events[1] else { panic!("{events:?}") };
            if stats.value["cancelled"] == 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_goes_over_a_socket_as_over_http() {
    within_a_minute(async {
        let mut session = AgentSession::new(WebSocketAgent::new(sockets(None).await).unwrap(), "t");
        for said in ["one", "two"] {
            session.say(said);
            session.run().await.unwrap().finish().await.unwrap();
        }
        let texts: Vec<_> =
            session.conversation().messages().map(|message| message.text().into_owned()).collect();
        assert_eq!(texts, ["one", "one", "two", "two"]);
    })
    .await;
}

// Against ends that misbehave.

type Accepted = WebSocketStream<TcpStream>;

/// Accepts sockets, and hands each over with the head of its request.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
async fn listen() -> (String, mpsc::UnboundedReceiver<(Accepted, Request)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/ws", listener.local_addr().unwrap());
    let (accept, accepted) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut head = None;
            #[expect(clippy::result_large_err, reason = "the handshake's callback has this type")]
            let keep = |request: &Request, mut response: Response| {
                head = Some(request.clone());
                let name = HeaderValue::from_static("ag-ui.1");
                response.headers_mut().insert("sec-websocket-protocol", name);
                Ok(response)
            };
            let socket = accept_hdr_async(stream, keep).await.unwrap();
            accept.send((socket, head.unwrap())).unwrap();
        }
    });
    (url, accepted)
}

/// The next JSON that a client sends.
#[expect(clippy::unwrap_used, clippy::panic, reason = "this is part of tests")]
async fn receive(socket: &mut Accepted) -> Value {
    match socket.next().await.unwrap().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[expect(clippy::unwrap_used, reason = "this is part of tests")]
async fn say(socket: &mut Accepted, frames: &[&str]) {
    for frame in frames {
        socket.send(Message::text(*frame)).await.unwrap();
    }
}

#[tokio::test]
async fn the_hello_comes_first_and_the_input_after_its_acknowledgement() {
    within_a_minute(async {
        let (url, mut accepted) = listen().await;
        let agent = WebSocketAgent::new(&url).unwrap().with_token("s").with_attribute("client", "x").unwrap();
        let agent = agent.with_agent_id("planner");
        let run = tokio::spawn(async move { agent.run(input()).await.unwrap().finish().await.unwrap() });
        let (mut socket, head) = accepted.recv().await.unwrap();
        assert_eq!(head.headers()["sec-websocket-protocol"], "ag-ui.1");
        assert_eq!(receive(&mut socket).await, json!({ "type": "hello", "token": "s", "client": "x" }));
        say(&mut socket, &[r#"{"type":"hello_ack","protocolVersion":"1.0"}"#]).await;
        let input = receive(&mut socket).await;
        assert_eq!(
            (&input["agentId"], &input["threadId"], &input["protocolVersion"], input.get("type")),
            (&json!("planner"), &json!("t"), &json!("1.0"), None)
        );
        say(&mut socket, &[STARTED, FINISHED]).await;
        assert_eq!(run.await.unwrap(), RunStatus::Success);
    })
    .await;
}

#[tokio::test]
async fn without_anything_to_say_there_is_no_hello() {
    within_a_minute(async {
        let (url, mut accepted) = listen().await;
        let agent = WebSocketAgent::new(&url).unwrap();
        let (run, socket) = tokio::join!(agent.run(input()), accepted.recv());
        let (mut run, mut socket) = (run.unwrap(), socket.unwrap().0);
        assert_eq!(receive(&mut socket).await["runId"], "r");
        // A ping during the run is answered, and no event.
        socket.send(Message::Ping("p".into())).await.unwrap();
        say(&mut socket, &[STARTED, FINISHED]).await;
        assert_eq!(read(&mut run).await.0.len(), 2);
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong("p".into()));
    })
    .await;
}

#[tokio::test]
async fn a_close_without_the_terminal_event_is_a_truncated_run_with_the_code() {
    within_a_minute(async {
        for (code, reason) in [(4429, "does not read"), (1001, ""), (1000, "bye")] {
            let (url, mut accepted) = listen().await;
            let agent = WebSocketAgent::new(&url).unwrap();
            let (run, socket) = tokio::join!(agent.run(input()), accepted.recv());
            let (mut run, mut socket) = (run.unwrap(), socket.unwrap().0);
            say(&mut socket, &[STARTED]).await;
            let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
            socket.close(Some(frame)).await.unwrap();
            let (events, failure) = read(&mut run).await;
            let failure = failure.unwrap();
            assert_eq!((events.len(), failure.rule()), (1, "LIFE-11"));
            let RunFailure::Truncated(cause) = &failure else { panic!("{failure:?}") };
            assert_eq!(cause.close_code(), Some(code));
            assert!(failure.to_string().contains(&format!("code {code}")), "{failure}");
            assert_eq!(run.status(), RunStatus::Unended);
        }
        // Neither a close nor an event: the connection is gone.
        let (url, mut accepted) = listen().await;
        let agent = WebSocketAgent::new(&url).unwrap();
        let (run, socket) = tokio::join!(agent.run(input()), accepted.recv());
        let (mut run, socket) = (run.unwrap(), socket.unwrap().0);
        drop(socket);
        let failure = run.finish().await.unwrap_err();
        assert!(matches!(failure, RunFailure::Truncated(TruncationCause::Transport(_))), "{failure:?}");
    })
    .await;
}

#[tokio::test]
async fn frames_that_are_no_events_reject_the_stream() {
    within_a_minute(async {
        let cases: [(Message, &str); 4] = [
            (Message::text("{"), "PROC-6"),
            (Message::binary(&b"\x00"[..]), "BIND-6"),
            (Message::text(format!("\"{}\"", "x".repeat(2000))), "PROC-6"),
            (Message::text(STARTED), "LIFE-2"),
        ];
        for (frame, rule) in cases {
            let (url, mut accepted) = listen().await;
            let agent = WebSocketAgent::new(&url).unwrap().with_max_frame_bytes(1000);
            let (run, socket) = tokio::join!(agent.run(input()), accepted.recv());
            let (mut run, mut socket) = (run.unwrap(), socket.unwrap().0);
            say(&mut socket, &[STARTED]).await;
            socket.send(frame).await.unwrap();
            let (events, failure) = read(&mut run).await;
            let failure = failure.unwrap();
            assert_eq!(
                (events.len(), failure.rule(), failure.is_truncation()),
                (1, rule, false),
                "{failure}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_socket_that_died_while_it_was_idle_is_replaced() {
    within_a_minute(async {
        let (url, mut accepted) = listen().await;
        let agent = WebSocketAgent::new(&url).unwrap();
        for _ in 0..3 {
            let (run, socket) = tokio::join!(agent.run(input()), accepted.recv());
            let (mut run, mut socket) = (run.unwrap(), socket.unwrap().0);
            receive(&mut socket).await;
            say(&mut socket, &[STARTED, FINISHED]).await;
            assert_eq!(run.finish().await.unwrap(), RunStatus::Success);
            // Both ends see the close before the next run is asked for.
            socket.close(None).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_the_hello_that_is_none_is_an_error() {
    within_a_minute(async {
        for answer in [r#"{"type":"hello"}"#, "[]", "{", STARTED] {
            let (url, mut accepted) = listen().await;
            let agent = WebSocketAgent::new(&url).unwrap().with_token("s");
            let other_end = async {
                let (mut socket, _) = accepted.recv().await.unwrap();
                receive(&mut socket).await;
                say(&mut socket, &[answer]).await;
                socket
            };
            let (error, _socket) = tokio::join!(agent.run(input()), other_end);
            assert!(matches!(error, Err(DialError::Unacknowledged)), "{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_socket_for_another_protocol_is_an_error_of_its_own() {
    within_a_minute(async {
        for protocol in [None, Some("chat")] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let agent = WebSocketAgent::new(format!("ws://{}/ws", listener.local_addr().unwrap())).unwrap();
            let other_end = async {
                #[expect(clippy::result_large_err, reason = "the handshake's callback has this type")]
                let answer = |_: &Request, mut response: Response| {
                    let name = protocol.map(HeaderValue::from_static);
                    response.headers_mut().extend(name.map(|name| (SEC_WEBSOCKET_PROTOCOL, name)));
                    Ok(response)
                };
                accept_hdr_async(listener.accept().await.unwrap().0, answer).await
            };
            let (error, _socket) = tokio::join!(agent.run(input()), other_end);
            assert!(matches!(error, Err(DialError::Subprotocol)), "{protocol:?}");
        }
    })
    .await;
}

#[test]
fn addresses_and_attributes_that_cannot_work_are_refused_at_once() {
    for url in ["", "ws", "http://h/ws", "ws:///ws", "/ws"] {
        assert!(matches!(WebSocketAgent::new(url), Err(DialError::Settings(_))), "{url}");
    }
    for name in ["type", "token"] {
        let agent = WebSocketAgent::new("ws://h/ws").unwrap();
        assert!(matches!(agent.with_attribute(name, "x"), Err(DialError::Settings(_))));
    }
}
