//! The WebSocket transport: who gets a socket, what goes over it, and the code it ends with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{Endpoint, RequestHead};
use agui_encoder::ws::{HelloAttributes, WebSocketEndpoint};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;

use crate::cancelling::{soon, watched};
use crate::client::{Client, types};
use crate::socket::{PATH, SocketClient, input};
use crate::{StartSockets, TaskGuard};

const WHOLE: [&str; 5] =
    ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"];

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

fn open(handler: impl agui_core::RunHandler) -> WebSocketEndpoint {
    WebSocketEndpoint::new(Endpoint::new(handler))
}

fn secure() -> WebSocketEndpoint {
    WebSocketEndpoint::new(Endpoint::new(curious).with_bearer_token("s3cret"))
}

/// Tells what it knows of its client.
async fn curious(run: Run) -> Result<RunEnd, RunError> {
    let hello = run.extensions().get::<HelloAttributes>();
    let head = run.extensions().get::<RequestHead>();
    let language = head.and_then(|head| head.header("accept-language")).unwrap_or_default();
    let attributes: Vec<_> = hello.iter().flat_map(|hello| hello.iter()).collect();
    run.text(format!("{attributes:?} {language}")).await?;
    Ok(RunEnd::success())
}

/// Anything but an upgrade, and an upgrade of somebody who may not or for something else.
pub async fn what_is_no_upgrade_of_ours_is_refused_before_it(start: StartSockets) {
    let server = start(secure().with_allowed_origins(["https://app.example"])).await;
    let authorized = ("authorization", "Bearer s3cret");
    let cases = [
        (vec![("authorization", "Bearer wrong")], StatusCode::UNAUTHORIZED, "unauthorized"),
        (vec![("origin", "https://evil.example")], StatusCode::FORBIDDEN, "forbidden"),
        (vec![authorized, ("origin", "null")], StatusCode::FORBIDDEN, "forbidden"),
        (vec![("sec-websocket-protocol", "chat")], StatusCode::BAD_REQUEST, "invalid_request"),
        (vec![("sec-websocket-version", "8")], StatusCode::UNAUTHORIZED, "unauthorized"),
    ];
    for (headers, status, code) in cases {
        let refused = SocketClient::refused(&server, &headers);
        let refused = tokio::time::timeout(Duration::from_secs(3), refused).await;
        let (found, body) = refused.unwrap_or_else(|_| panic!("no answer to {headers:?}"));
        assert_eq!((found, &body["code"]), (status, &json!(code)), "{headers:?}");
    }
    let mut socket =
        SocketClient::open_with(&server, PATH, &[authorized, ("origin", "https://app.example")]).await;
    socket.ask("r").await;
    assert_eq!(types(&socket.run().await), WHOLE);

    let server = start(open(hello)).await;
    for (method, status) in
        [(Method::GET, StatusCode::UPGRADE_REQUIRED), (Method::POST, StatusCode::METHOD_NOT_ALLOWED)]
    {
        let request = Request::builder().method(method).uri(PATH).header("host", "localhost");
        let answer =
            Client::connect(&server).await.send(request.body(Full::<Bytes>::default()).unwrap()).await;
        assert_eq!(answer.status(), status);
        assert_eq!(answer.header("content-type"), "application/json");
        assert!(answer.json().await["code"].is_string());
    }
}

/// HTTP/1.0: a GET like any other.
pub async fn an_older_http_has_no_upgrade(start: StartSockets) {
    let server = start(open(hello)).await;
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    let request = format!(
        "GET {PATH} HTTP/1.0\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(" 426 ") && answer.contains(r#""code":"upgrade_required""#), "{answer}");
}

/// A client that offers subprotocols learns that it is understood; one that offers none is served as well.
pub async fn the_subprotocol_is_echoed(start: StartSockets) {
    let server = start(open(hello)).await;
    let offered = [("sec-websocket-protocol", "chat, ag-ui.1")];
    let socket = SocketClient::open_with(&server, PATH, &offered).await;
    assert_eq!(socket.header("sec-websocket-protocol"), Some("ag-ui.1"));
    assert_eq!(SocketClient::open(&server).await.header("sec-websocket-protocol"), None);
}

/// One event per frame, one run after the other.
pub async fn a_conversation_of_several_runs(start: StartSockets) {
    let server = start(open(hello)).await;
    let mut socket = SocketClient::open(&server).await;
    for run_id in ["one", "two", "three"] {
        socket.ask(run_id).await;
        let events = socket.run().await;
        assert_eq!(types(&events), WHOLE);
        assert_eq!((&events[0]["runId"], &events[4]["runId"]), (&json!(run_id), &json!(run_id)));
    }
    socket.send(Message::Close(None)).await;
    let closed = socket.next().await.unwrap();
    let Message::Close(frame) = closed else { panic!("not closed: {closed:?}") };
    assert!(frame.is_none_or(|frame| u16::from(frame.code) == 1000));
}

/// The browser's way of saying who calls.
pub async fn a_hello_brings_token_and_attributes(start: StartSockets) {
    let server = start(secure()).await;
    let mut socket = SocketClient::open(&server).await;
    socket.say(&json!({ "type": "hello", "token": "s3cret", "client": "desk", "plan": "gold" })).await;
    assert_eq!(socket.frame().await, json!({ "type": "hello_ack", "protocolVersion": "1.0" }));
    socket.ask("r").await;
    assert_eq!(socket.run().await[2]["delta"], r#"[("client", "desk"), ("plan", "gold")] "#);
}

/// 1008.
pub async fn a_wrong_token_closes(start: StartSockets) {
    let server = start(secure()).await;
    for frame in [json!({ "type": "hello", "token": "wrong" }), json!({ "type": "hello" }), input("r")] {
        let mut socket = SocketClient::open(&server).await;
        socket.say(&frame).await;
        assert_eq!(socket.close_code().await, 1008, "{frame}");
    }
}

/// 4408, but only where a hello is asked for.
pub async fn a_missing_hello_closes(start: StartSockets) {
    let soon = Duration::from_millis(50);
    let server = start(secure().with_hello_timeout(soon)).await;
    assert_eq!(SocketClient::open(&server).await.close_code().await, 4408);
    let mut known = SocketClient::open_with(&server, PATH, &[("authorization", "Bearer s3cret")]).await;
    tokio::time::sleep(2 * soon).await;
    known.ask("r").await;
    assert_eq!(types(&known.run().await), WHOLE);
}

/// 1002, 1003, 1007.
pub async fn frames_that_are_not_the_protocol_close(start: StartSockets) {
    let server = start(open(hello)).await;
    for (message, code) in [
        (Message::text("{"), 1002),
        (Message::text(""), 1002),
        (Message::binary(input("r").to_string()), 1003),
    ] {
        let mut socket = SocketClient::open(&server).await;
        socket.send(message.clone()).await;
        assert_eq!(socket.close_code().await, code, "{message:?}");
    }
    // What no client library sends: text that is not UTF-8, and a reserved kind of frame. Masked with zeros.
    for (frame, code) in [(&b"\x81\x82\0\0\0\0\xff\xfe"[..], 1007), (&b"\x83\x80\0\0\0\0"[..], 1002)] {
        let mut socket = SocketClient::open(&server).await;
        socket.tcp().write_all(frame).await.unwrap();
        assert_eq!(socket.close_code().await, code, "{frame:?}");
    }
}

/// 1009, whether a frame is a little or far over the limit, in one piece or in many.
pub async fn an_oversized_frame_closes(start: StartSockets) {
    let server = start(WebSocketEndpoint::new(Endpoint::new(hello).with_max_body_bytes(1000))).await;
    for bytes in [1001, 500_000] {
        let mut socket = SocketClient::open(&server).await;
        socket.send(Message::text("x".repeat(bytes))).await;
        assert_eq!(socket.close_code().await, 1009, "{bytes} bytes");
    }
    // Only announced: 32 MiB that never come.
    let mut socket = SocketClient::open(&server).await;
    socket.tcp().write_all(b"\x81\xff\0\0\0\0\x02\0\0\0\0\0\0\0xxxx").await.unwrap();
    assert_eq!(socket.close_code().await, 1009);
    // A mebibyte and a half of fragments.
    let mut socket = SocketClient::open(&server).await;
    let fragment = [&b"\0\xfe\xff\xff\0\0\0\0"[..], &vec![b'x'; 0xffff]].concat();
    socket.tcp().write_all(b"\x01\x80\0\0\0\0").await.unwrap();
    for _ in 0..24 {
        // Once the server has seen enough, it need not take the rest.
        if socket.tcp().write_all(&fragment).await.is_err() {
            break;
        }
    }
    assert_eq!(socket.close_code().await, 1009);
}

/// The limit is inclusive.
pub async fn a_frame_of_exactly_the_limit_is_read(start: StartSockets) {
    let server = start(WebSocketEndpoint::new(Endpoint::new(hello).with_max_body_bytes(1000))).await;
    let mut socket = SocketClient::open(&server).await;
    socket.send(Message::text(format!("{:1000}", input("r").to_string()))).await;
    assert_eq!(types(&socket.run().await), WHOLE);
}

/// One `RUN_ERROR` with the code of HTTP.
pub async fn a_refused_input_keeps_the_socket(start: StartSockets) {
    let server = start(open(hello)).await;
    let mut socket = SocketClient::open(&server).await;
    for frame in [json!({ "threadId": "t", "messages": [] }), json!([]), json!(null)] {
        socket.say(&frame).await;
        let error = socket.frame().await;
        assert_eq!((&error["type"], &error["code"]), (&json!("RUN_ERROR"), &json!("invalid_input")));
        socket.ask("r").await;
        assert_eq!(types(&socket.run().await), WHOLE);
    }
}

/// As in every other JSON of the protocol.
pub async fn of_a_member_given_twice_the_last_counts(start: StartSockets) {
    let endpoint =
        Endpoint::by_header("x-agent-id").with_agent("hello", hello).with_agent("patient", patient);
    let server = start(WebSocketEndpoint::new(endpoint.with_default("hello"))).await;
    let mut socket = SocketClient::open(&server).await;
    let input = r#"{"runId":"a","runId":"r","agentId":"patient","threadId":"t","messages":[]}"#;
    socket.send(Message::text(input)).await;
    until_text(&mut socket).await;
    socket.send(Message::text(r#"{"type":"stop","runId":"a","type":"stop","runId":"r"}"#)).await;
    assert_eq!(types(&socket.run().await), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
}

/// 4409, and the run hears of it.
pub async fn an_input_during_a_run_closes(start: StartSockets) {
    let (handler, mut reports) = watched(async |run: Run, _| {
        run.message().delta("on").await?;
        std::future::pending::<()>().await;
        Ok(())
    });
    let server = start(open(handler)).await;
    let mut socket = SocketClient::open(&server).await;
    socket.ask("one").await;
    until_text(&mut socket).await;
    socket.ask("two").await;
    assert_eq!(socket.close_code().await, 4409);
    soon(&mut reports, "dropped").await;
}

/// Cancelled in mid-run; the next one runs on the same socket.
pub async fn a_stop_ends_the_run_and_not_the_socket(start: StartSockets) {
    let server = start(open(patient)).await;
    let mut socket = SocketClient::open(&server).await;
    for stop in [json!({ "type": "stop" }), json!({ "type": "stop", "runId": "r" })] {
        socket.ask("r").await;
        until_text(&mut socket).await;
        socket.say(&json!({ "type": "stop", "runId": "another" })).await;
        socket.say(&stop).await;
        let events = socket.run().await;
        assert_eq!(types(&events), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
        assert_eq!(events[1]["outcome"], json!({ "type": "cancelled" }));
    }
}

/// The first word is there while the second one is not made yet.
pub async fn an_event_is_not_held_back(start: StartSockets) {
    let read = Arc::new(Notify::new());
    let seen = Arc::clone(&read);
    let server = start(open(move |run: Run| {
        let seen = Arc::clone(&seen);
        async move {
            let mut message = run.message();
            for word in ["one", "two", "three"] {
                message.delta(word).await?;
                seen.notified().await;
            }
            message.end().await?;
            Ok(RunEnd::success())
        }
    }))
    .await;
    let mut socket = SocketClient::open(&server).await;
    socket.ask("r").await;
    for word in ["one", "two", "three"] {
        assert_eq!(until_text(&mut socket).await, word);
        read.notify_one();
    }
    socket.run().await;
}

/// By a close frame or without a word.
pub async fn a_client_that_goes_away_ends_its_run(start: StartSockets) {
    let (handler, mut reports) = watched(async |run: Run, _| {
        run.message().delta("on").await?;
        std::future::pending::<()>().await;
        Ok(())
    });
    let server = start(open(handler)).await;
    for says_so in [true, false] {
        let mut socket = SocketClient::open(&server).await;
        socket.ask("r").await;
        until_text(&mut socket).await;
        if says_so {
            socket.send(Message::Close(None)).await;
        } else {
            drop(socket);
        }
        soon(&mut reports, "dropped").await;
    }
}

/// Its connection is up and it says nothing, not even to a ping.
pub async fn a_half_open_peer_counts_as_gone(start: StartSockets) {
    let (handler, mut reports) = watched(async |run: Run, _| {
        run.message().delta("on").await?;
        std::future::pending::<()>().await;
        Ok(())
    });
    let interval = Duration::from_millis(100);
    let server = start(open(handler).with_ping_interval(interval)).await;
    let mut silent = SocketClient::open(&server).await;
    silent.ask("r").await;
    soon(&mut reports, "dropped").await;
    // Whoever reads answers pings as well, and stays for as long as it likes.
    let mut alive = SocketClient::open(&server).await;
    alive.ask("r").await;
    until_text(&mut alive).await;
    assert!(tokio::time::timeout(10 * interval, alive.frame()).await.is_err(), "nothing was to come");
    assert!(reports.try_recv().is_err(), "the run goes on");
}

/// How many deltas the flood is made of, and how large each is: more than any buffer on the way holds.
const FLOOD: (usize, usize) = (4000, 4000);

fn flood(count: &Arc<AtomicUsize>) -> impl agui_core::RunHandler {
    let count = Arc::clone(count);
    move |run: Run| {
        let count = Arc::clone(&count);
        async move {
            let mut message = run.message();
            for _ in 0..FLOOD.0 {
                message.delta("x".repeat(FLOOD.1)).await?;
                count.fetch_add(1, Ordering::SeqCst);
            }
            message.end().await?;
            Ok(RunEnd::success())
        }
    }
}

/// Waits until nothing more is written, which takes a few rounds of the same count.
async fn stalled(count: &AtomicUsize) -> usize {
    let (mut last, mut same) = (usize::MAX, 0);
    while same < 5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = count.load(Ordering::SeqCst);
        same = if now == last && now > 0 { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// What waits is bounded; what was written arrives.
pub async fn a_slow_reader_makes_the_agent_wait_and_loses_nothing(start: StartSockets) {
    let count = Arc::new(AtomicUsize::new(0));
    let server = start(open(flood(&count))).await;
    let mut socket = SocketClient::open(&server).await;
    socket.ask("r").await;
    assert!(stalled(&count).await < FLOOD.0, "the agent does not wait");
    let events = socket.run().await;
    let bytes: usize = events.iter().filter_map(|event| event["delta"].as_str()).map(str::len).sum();
    assert_eq!(bytes, FLOOD.0 * FLOOD.1);
}

/// 4429, for whoever comes back to read it.
pub async fn a_reader_that_stays_away_is_closed(start: StartSockets) {
    let (handler, mut reports) = watched(async |run: Run, _| {
        let mut message = run.message();
        loop {
            message.delta("x".repeat(4000)).await?;
        }
    });
    let server = start(open(handler).with_slow_reader_timeout(Duration::from_millis(300))).await;
    let mut socket = SocketClient::open(&server).await;
    socket.ask("r").await;
    soon(&mut reports, "dropped").await;
    assert_eq!(socket.close_code().await, 4429);
}

/// They cost little, they delay nobody, and each is still served.
pub async fn a_thousand_idle_sockets_are_no_burden(start: StartSockets) {
    let server = start(open(hello)).await;
    let mut sockets = Vec::new();
    for _ in 0..1000 {
        sockets.push(SocketClient::open(&server).await);
    }
    for index in [0, 499, 999] {
        let socket = &mut sockets[index];
        socket.ask("r").await;
        assert_eq!(types(&socket.run().await), WHOLE);
    }
    let mut one_more = SocketClient::open(&server).await;
    one_more.ask("r").await;
    assert_eq!(types(&one_more.run().await), WHOLE);
}

/// 1001: at once where nothing runs, else behind the ending of the run.
pub async fn shutdown_closes_behind_the_terminal_event(start: StartSockets) {
    let endpoint = open(patient);
    let server = start(endpoint.clone()).await;
    let (mut idle, mut busy) = (SocketClient::open(&server).await, SocketClient::open(&server).await);
    busy.ask("r").await;
    until_text(&mut busy).await;
    let shutdown = endpoint.shutdown(Duration::from_millis(200));
    let _shutdown = TaskGuard::spawn(shutdown);
    assert_eq!(idle.close_code().await, 1001);
    let events = busy.run().await;
    assert_eq!(types(&events), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    assert_eq!(events[1]["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(busy.close_code().await, 1001);
    assert_eq!(SocketClient::refused(&server, &[]).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

/// For as long as the socket lives.
pub async fn headers_of_the_upgrade_reach_the_handler(start: StartSockets) {
    let server = start(open(curious)).await;
    let mut socket = SocketClient::open_with(&server, PATH, &[("accept-language", "pt")]).await;
    for run_id in ["one", "two"] {
        socket.ask(run_id).await;
        assert_eq!(socket.run().await[2]["delta"], "[] pt");
    }
}

/// Reads up to the next delta, and gives it.
async fn until_text(socket: &mut SocketClient) -> Value {
    loop {
        let event = socket.frame().await;
        if event["type"] == "TEXT_MESSAGE_CONTENT" {
            return event["delta"].clone();
        }
    }
}
