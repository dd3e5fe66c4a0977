//! What the tests of the endpoint share: requests, and what comes back.

#![allow(dead_code, reason = "each test file uses another part of this")]
#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of a test function")]

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use agui_encoder::http::{AgentServer, Begun, Body, Endpoint, RequestBody};
use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

/// The smallest input of a 1.0 peer.
pub(crate) const INPUT: &str = r#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;

/// A request that is accepted.
pub(crate) fn post(body: &str) -> Request<String> {
    Request::post("/agui").header(header::CONTENT_TYPE, "application/json").body(body.to_owned()).unwrap()
}

/// Puts a request through both steps.
pub(crate) async fn call(endpoint: &Endpoint, request: Request<String>) -> Response<Body> {
    let (head, body) = request.into_parts();
    match endpoint.begin(&head).await {
        Begun::Refused(response) => response,
        Begun::Accepted(pending) => pending.finish(RequestBody::Complete(body.into())).await,
    }
}

/// A request to a server that is accepted.
pub(crate) fn post_to(path: &str, body: &Value) -> Request<String> {
    Request::post(path).header(header::CONTENT_TYPE, "application/json").body(body.to_string()).unwrap()
}

/// Puts a request to a server through both steps.
pub(crate) async fn ask(server: &AgentServer, request: Request<String>) -> Response<Body> {
    let (head, body) = request.into_parts();
    match server.begin(&head, head.uri.path()).await {
        Begun::Refused(response) => response,
        Begun::Accepted(pending) => pending.finish(RequestBody::Complete(body.into())).await,
    }
}

/// Starts a run with the smallest input.
pub(crate) async fn run(endpoint: &Endpoint) -> Body {
    let response = call(endpoint, post(INPUT)).await;
    assert_eq!(response.status(), 200);
    response.into_body()
}

/// All of a body.
pub(crate) async fn text(body: Body) -> String {
    String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// The events of a body, comments left out.
pub(crate) async fn events(body: Body) -> Vec<Value> {
    parse(&text(body).await)
}

/// The events in SSE text.
pub(crate) fn parse(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with("\n\n"), "{text:?}");
    text.split_terminator("\n\n")
        .filter(|frame| !frame.starts_with(':'))
        .map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

/// The types of events.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The next chunk of a body.
pub(crate) async fn chunk(body: &mut Body) -> Option<Bytes> {
    std::future::poll_fn(|cx| poll(body, cx)).await
}

/// The next chunk if there is one at this moment.
pub(crate) fn ready_chunk(body: &mut Body) -> Poll<Option<Bytes>> {
    poll(body, &mut Context::from_waker(Waker::noop()))
}

pub(crate) fn poll(body: &mut Body, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
    Pin::new(body).poll_next(cx).map(|chunk| chunk.map(Result::unwrap))
}

/// Lets every other task run until it waits.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Sends when it is dropped.
pub(crate) struct OnDrop(Option<tokio::sync::oneshot::Sender<()>>);

impl OnDrop {
    pub(crate) fn new() -> (Self, tokio::sync::oneshot::Receiver<()>) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        (Self(Some(sender)), receiver)
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(());
        }
    }
}

/// What was logged on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Collects until the guard is dropped.
    pub(crate) fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        // A place in the code that a thread without a subscriber logs from first is off for every thread while there is
        // one subscriber in all. With one for the threads of the other tests it is not.
        static OTHERS: std::sync::Once = std::sync::Once::new();
        OTHERS.call_once(|| {
            let others = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_writer(io::sink)
                .finish();
            let _ = tracing::subscriber::set_global_default(others);
        });
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(log.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
