//! A socket made of memory, and the peer at its other end.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside of a test function")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use agui_encoder::ws::{Begun, Gone, Incoming, Outgoing, Session, Socket, WebSocketEndpoint};
use http::{Request, Response, request};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// The head of an upgrade with these headers besides.
pub(crate) fn upgrade(headers: &[(&str, &str)]) -> request::Parts {
    let mut request = Request::get("/agui/ws")
        .header("host", "agents.example")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

/// The session of an upgrade that is accepted.
pub(crate) async fn accepted(endpoint: &WebSocketEndpoint, headers: &[(&str, &str)]) -> Session {
    match endpoint.begin(&upgrade(headers)).await {
        Begun::Accepted(session) => session,
        Begun::Refused(response) => panic!("refused: {response:?}"),
    }
}

/// The answer to a head that is refused.
pub(crate) async fn refused(
    endpoint: &WebSocketEndpoint,
    parts: &request::Parts,
) -> Response<agui_encoder::http::Body> {
    match endpoint.begin(parts).await {
        Begun::Refused(response) => response,
        Begun::Accepted(session) => panic!("accepted: {session:?}"),
    }
}

/// What is on its way to the peer.
#[derive(Default)]
struct Pipe {
    taken: VecDeque<Outgoing>,
    /// How many messages fit.
    room: usize,
    waker: Option<Waker>,
    closed: bool,
}

struct Memory {
    incoming: UnboundedReceiver<Incoming>,
    pipe: Arc<(Mutex<Pipe>, Notify)>,
}

impl Socket for Memory {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Incoming>> {
        self.incoming.poll_recv(cx)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        let mut pipe = self.pipe.0.lock().unwrap();
        if pipe.taken.len() < pipe.room {
            return Poll::Ready(Ok(()));
        }
        pipe.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn start_send(&mut self, message: Outgoing) -> Result<(), Gone> {
        self.pipe.0.lock().unwrap().taken.push_back(message);
        Ok(())
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        self.pipe.1.notify_one();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.pipe.0.lock().unwrap().closed = true;
        self.pipe.1.notify_one();
    }
}

/// The other end. Dropping it is a connection that ends without a word.
pub(crate) struct Peer {
    sender: UnboundedSender<Incoming>,
    pipe: Arc<(Mutex<Pipe>, Notify)>,
    served: JoinHandle<()>,
}

impl Peer {
    /// Serves a session, with a peer that takes everything.
    pub(crate) fn of(session: Session) -> Self {
        let (sender, incoming) = unbounded_channel();
        let pipe = Arc::new((Mutex::new(Pipe { room: usize::MAX, ..Pipe::default() }), Notify::new()));
        let memory = Memory { incoming, pipe: Arc::clone(&pipe) };
        let served = tokio::spawn(session.serve(memory));
        Self { sender, pipe, served }
    }

    pub(crate) async fn connect(endpoint: &WebSocketEndpoint) -> Self {
        Self::of(accepted(endpoint, &[]).await)
    }

    pub(crate) fn send(&self, message: Incoming) {
        self.sender.send(message).unwrap();
    }

    pub(crate) fn say(&self, frame: &Value) {
        self.send(Incoming::Text(frame.to_string().into()));
    }

    /// Asks for a run.
    pub(crate) fn ask(&self, run_id: &str) {
        self.say(&input(run_id));
    }

    /// Says how many messages fit between the server and this peer from now on.
    pub(crate) fn make_room(&self, room: usize) {
        let mut pipe = self.pipe.0.lock().unwrap();
        pipe.room = room;
        if let Some(waker) = pipe.waker.take() {
            waker.wake();
        }
    }

    /// The next message; nothing once the socket is gone.
    pub(crate) async fn next(&self) -> Option<Outgoing> {
        loop {
            {
                let mut pipe = self.pipe.0.lock().unwrap();
                if let Some(message) = pipe.taken.pop_front() {
                    if let Some(waker) = pipe.waker.take() {
                        waker.wake();
                    }
                    return Some(message);
                }
                if pipe.closed {
                    return None;
                }
            }
            self.pipe.1.notified().await;
        }
    }

    /// How many messages wait to be read.
    pub(crate) fn waiting(&self) -> usize {
        self.pipe.0.lock().unwrap().taken.len()
    }

    /// The next frame, which has to be text.
    pub(crate) async fn frame(&self) -> Value {
        match self.next().await {
            Some(Outgoing::Text(text)) => serde_json::from_slice(&text).unwrap(),
            other => panic!("no text: {other:?}"),
        }
    }

    /// The events of one run.
    pub(crate) async fn run(&self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.frame().await;
            let over = event["type"] == "RUN_FINISHED" || event["type"] == "RUN_ERROR";
            events.push(event);
            if over {
                return events;
            }
        }
    }

    /// Answers the server's close frame, after which the session ends in order.
    pub(crate) async fn part(self) {
        self.send(Incoming::Close);
        self.served.await.unwrap();
    }

    /// The code the socket closes with, which has to be the next message but for pings.
    pub(crate) async fn close_code(&self) -> u16 {
        loop {
            match self.next().await {
                Some(Outgoing::Close(code, _)) => return code.as_u16(),
                Some(Outgoing::Ping) => {}
                other => panic!("no close: {other:?}"),
            }
        }
    }
}

/// The smallest input of a 1.0 peer.
pub(crate) fn input(run_id: &str) -> Value {
    json!({ "threadId": "t", "runId": run_id, "protocolVersion": "1.0", "messages": [] })
}

/// How long a span of the clock that stands still took.
pub(crate) async fn took<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = tokio::time::Instant::now();
    (work.await, began.elapsed())
}
