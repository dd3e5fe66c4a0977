//! What is answered instead of a stream, and that reading the body is the binding's as it should be.

use std::sync::Arc;
use std::time::Duration;

use agui_core::{Run, RunEnd, RunHandler};
use agui_encoder::http::Endpoint;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::client::{Answer, Client, PATH, input, post, start_run};
use crate::streams::in_two_parts;
use crate::{Server, Start, endpoint};

async fn nothing(_run: Run) -> Result<RunEnd, agui_core::RunError> {
    Ok(RunEnd::success())
}

/// A handler that reports each run it serves.
fn counted() -> (impl RunHandler, UnboundedReceiver<String>) {
    let (sender, receiver) = unbounded_channel();
    let handler = move |run: Run| {
        let _ = sender.send(run.run_id().to_string());
        async { Ok(RunEnd::success()) }
    };
    (handler, receiver)
}

/// Two agents behind a header.
fn named() -> Endpoint {
    Endpoint::by_header("x-agent-id")
        .with_agent("one", nothing)
        .with_agent("two", nothing)
        .with_default("one")
}

/// Looks at everything a refusal has to be, and gives its body.
async fn expect(answer: Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status().as_u16(), status, "{code}");
    assert_eq!(answer.header("content-type"), "application/json", "{code}");
    let body = answer.json().await;
    assert_eq!(body["code"], code);
    for member in ["error", "message"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {body}");
    }
    body
}

/// The table of refusals that a head or a body earns.
pub async fn each_has_its_status_its_code_and_one_shape(start: Start) {
    let server = start(named()).await;
    let mut client = Client::connect(&server).await;
    let bodies: [(&[u8], &str); 9] = [
        (b"", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"{", "invalid_json"),
        (b"{} {}", "invalid_json"),
        (b"null", "invalid_input"),
        (b"[]", "invalid_input"),
        (b"{}", "invalid_input"),
        (br#"{"threadId":"t","runId":"r","messages":[{"role":"user","content":"x"}]}"#, "invalid_input"),
        (br#"{"threadId":"t","runId":5,"messages":[]}"#, "invalid_input"),
    ];
    for (body, code) in bodies {
        let answer = client.send(post().body(Full::from(body.to_vec())).unwrap()).await;
        let refusal = expect(answer, 400, code).await;
        let names_a_place = refusal.get("path").is_some();
        assert!(!names_a_place || code == "invalid_input", "{refusal}");
    }
    let nested = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    expect(client.send(post().body(Full::from(nested)).unwrap()).await, 400, "invalid_json").await;
    let answer = client.send(post().body(Full::from(bodies[7].0.to_vec())).unwrap()).await;
    let refusal = expect(answer, 400, "invalid_input").await;
    assert_eq!(refusal["path"], "messages[0].id");
    assert!(refusal["message"].as_str().unwrap().contains("messages[0].id"));

    let unknown = post().header("X-Agent-Id", "three").body(Full::from(input().to_string())).unwrap();
    expect(client.send(unknown).await, 404, "agent_not_found").await;

    for content_type in
        [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonp")]
    {
        let mut request = Request::post(PATH).header(HOST, "localhost");
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let answer = client.send(request.body(Full::from(input().to_string())).unwrap()).await;
        expect(answer, 415, "unsupported_media_type").await;
    }
    for content_type in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"] {
        let request = Request::post(PATH).header(HOST, "localhost").header(CONTENT_TYPE, content_type);
        let answer = client.send(request.body(Full::from(input().to_string())).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::OK, "{content_type}");
        answer.events().await;
    }
}

/// Every method but POST is refused by the endpoint and not by the framework.
pub async fn the_method_is_judged_before_everything_else(start: Start) {
    let server = start(named()).await;
    let mut client = Client::connect(&server).await;
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::PATCH, Method::HEAD] {
        let request =
            Request::builder().method(&method).uri(PATH).header(HOST, "localhost").header("x-agent-id", "x");
        let answer = client.send(request.body(Full::default()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.header("allow"), "POST", "{method}");
        if method == Method::HEAD {
            assert_eq!(answer.text().await, "");
        } else {
            expect(answer, 405, "method_not_allowed").await;
        }
    }
}

/// A client may ask for any upgrade beside its request; what it declares as its body is all that is read for it.
pub async fn an_upgrade_that_nobody_wants_is_answered_like_any_request(start: Start) {
    let server = start(named()).await;
    let body = input().to_string();
    for upgrade in ["connection: upgrade\r\nupgrade: websocket\r\n", "upgrade: websocket\r\n"] {
        let length = format!("{upgrade}{CONTENT_LENGTH}: {}\r\n", body.len());
        let cases = [
            (format!("GET {PATH}"), upgrade.to_owned(), "", 405),
            (format!("POST {PATH}"), upgrade.to_owned(), "", 400),
            (format!("POST {PATH}"), length.clone(), &*body, 200),
            (format!("PUT {PATH}"), length, &*body, 405),
        ];
        for (line, headers, body, status) in cases {
            let mut raw = Raw::connect(&server).await;
            raw.request(&format!("{line} HTTP/1.1"), &headers).await;
            raw.write(body.as_bytes()).await;
            let found = tokio::time::timeout(Duration::from_secs(3), raw.status()).await;
            assert_eq!(found, Ok(status), "{line} with {headers:?}");
        }
    }
}

/// There are no chunks in that version.
pub async fn a_client_of_http_1_0_reads_up_to_the_end_of_its_connection(start: Start) {
    let server = start(named()).await;
    let body = input().to_string();
    for keep in ["", "connection: keep-alive\r\n"] {
        let mut raw = Raw::connect(&server).await;
        raw.request(&format!("POST {PATH} HTTP/1.0"), &format!("{keep}{CONTENT_LENGTH}: {}\r\n", body.len()))
            .await;
        raw.write(body.as_bytes()).await;
        let mut answer = String::new();
        raw.0.read_to_string(&mut answer).await.unwrap();
        let (head, stream) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 ") && !head.contains("transfer-encoding"), "{head}");
        assert!(stream.starts_with("data: {") && stream.ends_with("}\n\n"), "{stream:?}");
    }
}

/// Strangers learn nothing, not even which methods there are.
pub async fn credentials_are_judged_first(start: Start) {
    let server = start(named().with_bearer_token("s3cret")).await;
    let mut client = Client::connect(&server).await;
    for authorization in
        [None, Some("Bearer wrong"), Some("s3cret"), Some("Basic s3cret"), Some("Bearer s3cret2")]
    {
        for method in [Method::POST, Method::GET] {
            let mut request = Request::builder().method(method).uri(PATH).header(HOST, "localhost");
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let answer = client.send(request.header("x-agent-id", "x").body(Full::default()).unwrap()).await;
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            expect(answer, 401, "unauthorized").await;
        }
    }
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = post().header("authorization", format!("{scheme} s3cret"));
        let answer = client.send(request.body(Full::from(input().to_string())).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::OK);
        answer.events().await;
    }
}

/// An input of exactly this many bytes.
fn input_of(bytes: usize) -> Bytes {
    let mut input = input();
    input["forwardedProps"] = json!("");
    let padding = bytes - input.to_string().len();
    input["forwardedProps"] = json!("x".repeat(padding));
    let text = input.to_string();
    assert_eq!(text.len(), bytes);
    Bytes::from(text)
}

const LIMIT: usize = 3_000_000;

/// The limit is inclusive, and it is the endpoint's: frameworks have smaller ones of their own.
pub async fn a_body_of_exactly_the_limit_is_accepted(start: Start) {
    let server = start(named().with_max_body_bytes(LIMIT)).await;
    let mut client = Client::connect(&server).await;
    let answer = client.send(post().body(Full::from(input_of(LIMIT))).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    answer.events().await;

    let mut raw = Raw::connect(&server).await;
    raw.send_chunked(&input_of(LIMIT)).await;
    assert_eq!(raw.status().await, 200);
}

/// A body is counted as it arrives, whatever its head says.
pub async fn a_body_over_the_limit_is_refused_with_and_without_a_length(start: Start) {
    let server = start(named().with_max_body_bytes(LIMIT)).await;
    let mut client = Client::connect(&server).await;
    let answer = client.send(post().body(Full::from(input_of(LIMIT + 1))).unwrap()).await;
    expect(answer, 413, "body_too_large").await;

    let mut raw = Raw::connect(&server).await;
    raw.send_chunked(&input_of(LIMIT + 1)).await;
    assert_eq!(raw.status().await, 413);
}

/// A client that sends the whole of its body before it reads gets the answer, and no reset.
pub async fn a_body_far_over_the_limit_gets_its_answer(start: Start) {
    let server = start(named().with_max_body_bytes(1000)).await;
    let mut raw = Raw::connect(&server).await;
    raw.head(&format!("{CONTENT_LENGTH}: {}\r\n", 4_000_000)).await;
    for _ in 0..400 {
        raw.write(&[b' '; 10_000]).await;
    }
    assert_eq!(raw.status().await, 413);
}

/// Patience with a slow sender is for the application to limit.
pub async fn a_body_that_arrives_slowly_is_accepted(start: Start) {
    let server = start(named()).await;
    let body = input().to_string();
    let mut raw = Raw::connect(&server).await;
    raw.head(&format!("{CONTENT_LENGTH}: {}\r\n", body.len())).await;
    for piece in body.as_bytes().chunks(10) {
        raw.write(piece).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(raw.status().await, 200);
}

/// Half a body is no input, even where it would read as one.
pub async fn a_sender_that_vanishes_in_its_body_starts_nothing(start: Start) {
    let (handler, mut runs) = counted();
    let server = start(endpoint(handler)).await;
    let body = input().to_string();
    for sent in [0, 10, body.len()] {
        let mut raw = Raw::connect(&server).await;
        raw.head(&format!("{CONTENT_LENGTH}: {}\r\n", body.len() + 10)).await;
        raw.write(&body.as_bytes()[..sent]).await;
        drop(raw);
        let mut raw = Raw::connect(&server).await;
        raw.head("transfer-encoding: chunked\r\n").await;
        raw.write(format!("{:x}\r\n", body.len() + 10).as_bytes()).await;
        raw.write(&body.as_bytes()[..sent]).await;
        drop(raw);
    }
    // A run that is asked for later is the first one to start.
    let mut later = input();
    later["runId"] = json!("later");
    let mut client = Client::connect(&server).await;
    client.send(post().body(Full::from(later.to_string())).unwrap()).await.events().await;
    assert_eq!(runs.recv().await.as_deref(), Some("later"));
}

/// A client that waits to be asked for its body is asked, or refused without it.
pub async fn a_sender_that_asks_first_gets_its_answer(start: Start) {
    let server = start(named().with_max_body_bytes(1000)).await;
    let body = input().to_string();
    let mut raw = Raw::connect(&server).await;
    raw.head(&format!("expect: 100-continue\r\n{CONTENT_LENGTH}: {}\r\n", body.len())).await;
    assert_eq!(raw.status().await, 100);
    raw.skip("\r\n\r\n").await;
    raw.write(body.as_bytes()).await;
    assert_eq!(raw.status().await, 200);

    let mut raw = Raw::connect(&server).await;
    raw.head(&format!("expect: 100-continue\r\n{CONTENT_LENGTH}: {}\r\n", 2_000_000)).await;
    let mut status = raw.status().await;
    if status == 100 {
        // Whoever asks for the body before it knows has to take it.
        raw.skip("\r\n\r\n").await;
        for _ in 0..200 {
            raw.write(&[b' '; 10_000]).await;
        }
        status = raw.status().await;
    }
    assert_eq!(status, 413);
}

/// Runs are counted, and an ended one is counted no longer once its ending can be seen.
pub async fn a_run_too_many_is_refused_until_another_has_ended(start: Start) {
    let go_on = Arc::new(Notify::new());
    let server = start(endpoint(in_two_parts(Arc::clone(&go_on))).with_max_runs(1)).await;
    let (_client, mut first) = start_run(&server).await;
    first.until("\"a\"}\n\n").await;
    let mut client = Client::connect(&server).await;
    let refused = client.run().await;
    assert!(!refused.header("retry-after").is_empty());
    expect(refused, 503, "unavailable").await;
    go_on.notify_one();
    first.events().await;
    let (_client, mut second) = start_run(&server).await;
    second.until("\"a\"}\n\n").await;
    go_on.notify_one();
    second.events().await;
}

/// A refused request is not the end of its connection.
pub async fn a_refusal_leaves_the_connection_usable(start: Start) {
    let server = start(named()).await;
    let mut client = Client::connect(&server).await;
    let wrong = Request::post(PATH).header(HOST, "localhost").header(CONTENT_TYPE, "text/plain");
    let answer = client.send(wrong.body(Full::from("x".repeat(100_000))).unwrap()).await;
    expect(answer, 415, "unsupported_media_type").await;
    assert_eq!(client.run().await.status(), StatusCode::OK);
    // And it disturbs nobody else.
    let (_client, answer) = start_run(&server).await;
    answer.events().await;
}

/// A connection that is written to byte by byte.
struct Raw(TcpStream);

impl Raw {
    async fn connect(server: &Server) -> Self {
        Self(TcpStream::connect(server.addr()).await.unwrap())
    }

    async fn head(&mut self, headers: &str) {
        self.request(&format!("POST {PATH} HTTP/1.1"), headers).await;
    }

    async fn request(&mut self, line: &str, headers: &str) {
        let head = format!(
            "{line}\r\nhost: localhost\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n{headers}\r\n"
        );
        self.write(head.as_bytes()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Reads up to and with this.
    async fn skip(&mut self, end: &str) {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            read.push(self.0.read_u8().await.unwrap());
        }
    }

    async fn send_chunked(&mut self, body: &[u8]) {
        self.head("transfer-encoding: chunked\r\n").await;
        for piece in body.chunks(100_000) {
            self.write(format!("{:x}\r\n", piece.len()).as_bytes()).await;
            self.write(piece).await;
            self.write(b"\r\n").await;
        }
        self.write(b"0\r\n\r\n").await;
    }

    /// The status of the answer, of which nothing more is read.
    async fn status(&mut self) -> u16 {
        let mut head = [0; 12];
        self.0.read_exact(&mut head).await.unwrap();
        std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
    }
}
