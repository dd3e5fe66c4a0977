//! Servers for the tests: the demo's agents behind axum, and scripted ones that write what they are told.

#![allow(dead_code, reason = "each test file uses its part of this")]
#![expect(clippy::unwrap_used, reason = "every function here is part of a test")]

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agui_client::HttpAgent;
use agui_client::agui_core::{Event, RunAgentInput};
use agui_client::{Agent, RunFailure, RunStream};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Fails a test that hangs.
pub(crate) async fn within_a_minute<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.unwrap()
}

/// What a server of the demo's agents has sent.
#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    /// The content types of its answers, in order.
    pub(crate) fn content_types(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Serves an application on a free port, and gives where.
pub(crate) async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

/// The demo's agents at `/agui`, and what they sent.
pub(crate) async fn demo() -> (String, Sent) {
    let sent = Sent::default();
    let record = sent.clone();
    let endpoint = agui_demo::plain_endpoint(&agui_demo::Settings::default());
    let app = Router::new().route("/agui", agui_axum::endpoint(endpoint)).layer(middleware::from_fn(
        move |request: Request, next: Next| {
            let record = record.clone();
            async move {
                let response = next.run(request).await;
                let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
                record.0.lock().unwrap().push(content_type);
                response
            }
        },
    ));
    (format!("{}/agui", serve(app).await), sent)
}

/// The demo's agent that does as it is told.
pub(crate) fn scripted(url: &str) -> HttpAgent {
    let header = (HeaderName::from_static("x-agent-id"), HeaderValue::from_static("script"));
    HttpAgent::new(url).unwrap().with_header(header.0, header.1)
}

/// An input with a script for that agent.
pub(crate) fn script(steps: &Value) -> RunAgentInput {
    RunAgentInput::new("t", "r", []).with_forwarded_props(serde_json::json!({ "script": steps }))
}

/// Everything a run delivers, and how it broke if it did.
pub(crate) async fn read(run: &mut RunStream) -> (Vec<Event>, Option<RunFailure>) {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(failure) => {
                assert!(run.next().await.is_none(), "there is nothing after an error");
                return (events, Some(failure));
            }
        }
    }
    (events, None)
}

/// A server that gives one answer on each connection, byte for byte, and then closes it.
pub(crate) struct Scripted {
    pub(crate) url: String,
    requests: mpsc::UnboundedReceiver<String>,
    closed: mpsc::UnboundedReceiver<()>,
}

/// What a scripted server does once it has written its answer.
#[derive(Debug, Clone)]
pub(crate) enum Then {
    /// Closes the connection.
    Close,
    /// Waits until the client has closed it.
    Wait,
    /// Writes this again and again.
    Repeat(Vec<u8>),
}

impl Scripted {
    pub(crate) async fn start(answers: impl IntoIterator<Item = (Vec<u8>, Then)> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/agui", listener.local_addr().unwrap());
        let (request, requests) = mpsc::unbounded_channel();
        let (close, closed) = mpsc::unbounded_channel();
        let answers: Vec<_> = answers.into_iter().collect();
        tokio::spawn(async move {
            for (answer, then) in answers {
                let (mut socket, _) = listener.accept().await.unwrap();
                drop(request.send(read_request(&mut socket).await));
                // A client that has seen enough may be gone.
                drop(socket.write_all(&answer).await);
                match then {
                    Then::Close => drop(socket.shutdown().await),
                    Then::Wait => drop(socket.read(&mut [0]).await),
                    Then::Repeat(more) => while socket.write_all(&more).await.is_ok() {},
                }
                close.send(()).ok();
            }
        });
        Self { url, requests, closed }
    }

    /// One answer with a body in one piece.
    pub(crate) async fn answering(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Self {
        Self::start([(answer(status, headers, body.as_ref(), usize::MAX), Then::Close)]).await
    }

    /// A stream of server-sent events, whole.
    pub(crate) async fn streaming(body: impl AsRef<[u8]>) -> Self {
        Self::answering("200 OK", "content-type: text/event-stream\r\n", body).await
    }

    pub(crate) fn agent(&self) -> HttpAgent {
        HttpAgent::new(&self.url).unwrap()
    }

    /// Asks it for a run that it is known to serve.
    pub(crate) async fn run(&self) -> RunStream {
        self.agent().run(RunAgentInput::new("t", "r", [])).await.unwrap()
    }

    /// The next request it has read, head and body.
    pub(crate) async fn request(&mut self) -> String {
        self.requests.recv().await.unwrap()
    }

    /// Resolves when it is done with a connection.
    pub(crate) async fn closed(&mut self) {
        self.closed.recv().await.unwrap();
    }
}

/// An answer whose body is sent in pieces of a size.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8], piece: usize) -> Vec<u8> {
    let mut answer = open_answer(status, headers, body, piece);
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

/// The same without the end of the body.
pub(crate) fn open_answer(status: &str, headers: &str, body: &[u8], piece: usize) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {status}\r\n{headers}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for piece in body.chunks(piece.min(body.len().max(1))) {
        answer.extend_from_slice(&answer_piece(piece));
    }
    answer
}

/// A piece of a body.
pub(crate) fn answer_piece(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

/// Server-sent events of JSON texts.
pub(crate) fn sse(events: &[&str]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = socket.read(&mut buffer).await.unwrap();
        read.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if count == 0 || body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return text;
        }
    }
}
