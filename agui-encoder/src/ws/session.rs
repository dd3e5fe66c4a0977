//! One socket from its upgrade to its end.
//!
//! A state machine that is polled: it moves frames from the run in progress to the outbox and from there to the socket,
//! reads what the peer sends, and minds the clock. It spawns nothing but runs, and what it awaits, hooks of the application
//! included, does not keep it from reading. Dropping it drops the body of the run in progress, which says, as on HTTP,
//! that the reader is gone.
//!
//! Invariants: a run is over for this socket before the peer can see its terminal event, so that the next input is never
//! too early; nothing is read that would add to a full outbox; once a close frame is due no run is in progress.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use agui_core::producer::Extensions;
use agui_core::{Event, PROTOCOL_VERSION, RunErrorEvent};
use bytes::{Buf, Bytes};
use futures_core::Stream;
use http_body::Body as _;
use memchr::memchr;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::frame::{Frame, Hello, HelloAttributes, Stop};
use super::outbox::Outbox;
use super::settings::Settings;
use super::socket::{CloseCode, Gone, Incoming, Outgoing, Socket};
use crate::http::{Backend, Body, Refusal, RequestHead, Started};

/// How long a closing handshake may take.
const CLOSING: Duration = Duration::from_secs(10);
/// How long a connection stays open after the close frame if nothing can be read any more. Closed at once, with bytes of
/// the peer unread, it would be reset, and the peer might not see the frame.
const LINGER: Duration = Duration::from_secs(1);
/// By how much a message may be over the body limit and still be read to its end, so that the socket closes in order.
const SLACK_BYTES: usize = 1024 * 1024;
/// How many intervals without a pong a peer may let pass.
const MISSED_PONGS: u8 = 2;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An upgrade that is accepted.
#[must_use = "the socket is not served before it is given"]
pub struct Session {
    pub(super) backend: Backend,
    pub(super) settings: Arc<Settings>,
    pub(super) head: RequestHead,
    pub(super) protocol: Option<&'static str>,
    /// What is known about the caller; nothing as long as a hello has to tell.
    pub(super) caller: Option<Extensions>,
    /// What the adapter adds.
    pub(super) extensions: Extensions,
    /// Keeps the shutdown waiting.
    pub(super) open: TaskTrackerToken,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("head", &self.head)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The subprotocol to answer with; nothing if the client offered none.
    pub const fn protocol(&self) -> Option<&'static str> {
        self.protocol
    }

    /// The largest message, in bytes, that the WebSocket library should take; a larger one is [`Incoming::TooLarge`].
    /// It is a little more than the body limit, which the session judges itself.
    pub fn max_message_bytes(&self) -> usize {
        self.backend.max_body_bytes().saturating_add(SLACK_BYTES)
    }

    /// What the handlers will find among their runs' [extensions](agui_core::Run::extensions), to add to.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// Serves the socket to its end. Runs are spawned onto the current tokio runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    /// Dropping the future is the end of the socket, as if the peer had gone.
    pub async fn serve(self, socket: impl Socket) {
        let mut serving = Serving::new(self, socket);
        std::future::poll_fn(|cx| serving.poll(cx)).await;
        tracing::debug!("a socket is closed");
    }
}

/// Who is at the other end.
enum Caller {
    /// Nobody knows before the hello, which has to come in time.
    Unknown(Pin<Box<Sleep>>),
    /// The hello is being judged, in what is left of that time: a stranger holds no socket for longer.
    Judged(Judgement, Pin<Box<Sleep>>),
    /// Nobody who may call.
    Refused,
    /// This is what the runs get to know.
    Known(Extensions),
}

/// What becomes of a hello.
struct Judgement {
    verdict: BoxFuture<Result<Extensions, Refusal>>,
    attributes: HelloAttributes,
}

/// What the socket is used for at the moment.
enum Activity {
    Idle,
    /// The input is being judged. A stop that came meanwhile is kept, with the run it named.
    Starting(Started, Option<Stop>),
    /// Events come, as lines; what has come and is not in the outbox yet is beside the body.
    Running(Body, Bytes),
}

/// The end of the socket.
struct End {
    code: CloseCode,
    reason: &'static str,
    sent: bool,
    deadline: Pin<Box<Sleep>>,
}

/// What the clock says.
enum Clock {
    /// Something is to be done.
    Due,
    /// The socket is over.
    Over,
}

/// What is still to be heard of the peer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PeerSide {
    /// Anything.
    Open,
    /// Its close frame has come.
    Closed,
    /// Nothing can be received any more, although the connection may live.
    Lost,
}

struct Ping {
    timer: Interval,
    due: bool,
    unanswered: u8,
}

struct Serving<S> {
    socket: S,
    backend: Backend,
    settings: Arc<Settings>,
    head: RequestHead,
    extensions: Extensions,
    /// Whether a frame has come: a hello is the first one or none.
    spoken: bool,
    caller: Caller,
    activity: Activity,
    outbox: Outbox,
    unflushed: bool,
    /// The answer to the last ping that has none.
    pong: Option<Bytes>,
    /// Fires when the outbox has been full for too long.
    stuck: Option<Pin<Box<Sleep>>>,
    ping: Option<Ping>,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
    end: Option<End>,
    peer: PeerSide,
    _open: TaskTrackerToken,
}

impl<S: Socket> Serving<S> {
    fn new(session: Session, socket: S) -> Self {
        let Session { backend, settings, head, protocol: _, caller, extensions, open } = session;
        let ping = settings.ping_interval.map(|interval| {
            let mut timer = interval_at(Instant::now() + interval, interval);
            timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Ping { timer, due: false, unanswered: 0 }
        });
        let mut serving = Self {
            outbox: Outbox::new(settings.max_queued_frames, settings.max_queued_bytes),
            caller: Caller::Unknown(Box::pin(sleep(settings.hello_timeout))),
            shutdown: Box::pin(backend.shutting_down().clone().cancelled_owned()),
            socket,
            backend,
            settings,
            head,
            extensions,
            spoken: false,
            activity: Activity::Idle,
            unflushed: false,
            pong: None,
            stuck: None,
            ping,
            end: None,
            peer: PeerSide::Open,
            _open: open,
        };
        if let Some(caller) = caller {
            serving.meet(caller, None);
        }
        serving
    }

    /// Makes the caller known to the runs that follow.
    fn meet(&mut self, mut caller: Extensions, attributes: Option<HelloAttributes>) {
        caller.merge(std::mem::take(&mut self.extensions));
        if let Some(attributes) = attributes {
            caller.insert(attributes);
        }
        self.caller = Caller::Known(caller);
    }

    /// Goes on for as long as something moves; ready when the socket is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut moved = self.poll_caller(cx) | self.poll_activity(cx);
            match self.poll_send(cx) {
                Ok(sent) => moved |= sent,
                Err(Gone) => return Poll::Ready(()),
            }
            // Both have said so; it is the server's to end the connection.
            if self.peer == PeerSide::Closed
                && !self.unflushed
                && self.end.as_ref().is_some_and(|end| end.sent)
            {
                return Poll::Ready(());
            }
            self.mind_outbox();
            if self.reads() {
                match self.socket.poll_receive(cx) {
                    Poll::Ready(Some(message)) => {
                        self.receive(message);
                        moved = true;
                    }
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => {}
                }
            }
            // Last, so that a timer which was set in this turn is known to the runtime.
            match self.poll_clock(cx) {
                Poll::Ready(Clock::Over) => return Poll::Ready(()),
                Poll::Ready(Clock::Due) => {}
                Poll::Pending if moved => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Everything that happens because time has passed.
    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<Clock> {
        if let Some(end) = &mut self.end {
            return end.deadline.as_mut().poll(cx).map(|()| Clock::Over);
        }
        if matches!(self.activity, Activity::Idle) && self.shutdown.as_mut().poll(cx).is_ready() {
            self.close(CloseCode::GoingAway, "the server shuts down");
        } else if let Caller::Unknown(deadline) | Caller::Judged(_, deadline) = &mut self.caller
            && deadline.as_mut().poll(cx).is_ready()
        {
            self.caller = Caller::Refused;
            self.close(CloseCode::HelloTimeout, "no hello in time");
        } else if self.stuck.as_mut().is_some_and(|stuck| stuck.as_mut().poll(cx).is_ready()) {
            tracing::warn!("a peer does not read; its socket is closed");
            self.outbox.clear();
            self.close(CloseCode::SlowReader, "the peer does not read");
        } else if let Some(ping) = &mut self.ping
            && ping.timer.poll_tick(cx).is_ready()
        {
            if ping.unanswered >= MISSED_PONGS {
                tracing::debug!("a peer gives no sign of life");
                return Poll::Ready(Clock::Over);
            }
            ping.unanswered += 1;
            ping.due = true;
        } else {
            return Poll::Pending;
        }
        Poll::Ready(Clock::Due)
    }

    /// Whether a judged hello has its verdict.
    fn poll_caller(&mut self, cx: &mut Context<'_>) -> bool {
        let Caller::Judged(judgement, _) = &mut self.caller else { return false };
        let Poll::Ready(verdict) = judgement.verdict.as_mut().poll(cx) else { return false };
        if let Ok(caller) = verdict {
            let attributes = std::mem::take(&mut judgement.attributes);
            self.meet(caller, Some(attributes));
            self.acknowledge();
        } else {
            self.caller = Caller::Refused;
            self.close(CloseCode::Policy, "the token is wrong or missing");
        }
        true
    }

    /// Moves what the run has for the peer into the outbox, as long as there is room.
    fn poll_activity(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while !self.outbox.is_full() {
            match &mut self.activity {
                Activity::Idle => return moved,
                Activity::Starting(starting, stop) => match starting.as_mut().poll(cx) {
                    Poll::Pending => return moved,
                    Poll::Ready(Ok(body)) => {
                        if let Some(stop) = stop {
                            body.stop(stop.run_id.as_deref());
                        }
                        self.activity = Activity::Running(body, Bytes::new());
                    }
                    Poll::Ready(Err(refusal)) => {
                        self.activity = Activity::Idle;
                        self.refuse(&refusal);
                    }
                },
                Activity::Running(body, lines) if lines.is_empty() => match Pin::new(body).poll_next(cx) {
                    Poll::Pending => return moved,
                    Poll::Ready(Some(Ok(chunk))) => *lines = chunk,
                    Poll::Ready(None) => self.activity = Activity::Idle,
                },
                Activity::Running(body, lines) => {
                    let end = memchr(b'\n', lines).unwrap_or(lines.len());
                    let frame = lines.split_to(end);
                    lines.advance(lines.len().min(1));
                    let over = lines.is_empty() && body.is_end_stream();
                    self.outbox.push(frame);
                    if over {
                        self.activity = Activity::Idle;
                    }
                }
            }
            moved = true;
        }
        moved
    }

    /// Gives the socket what it takes; whether it took any.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Result<bool, Gone> {
        let mut sent = false;
        while self.has_message() {
            match self.socket.poll_ready(cx) {
                Poll::Pending => break,
                Poll::Ready(ready) => ready?,
            }
            let Some(message) = self.next_message() else { break };
            let taken = self.socket.start_send(message);
            // A library that answers a close frame by itself does not take another one.
            if self.end.as_ref().is_none_or(|end| !end.sent) {
                taken?;
            }
            self.unflushed = true;
            sent = true;
        }
        if self.unflushed
            && let Poll::Ready(flushed) = self.socket.poll_flush(cx)
        {
            flushed?;
            self.unflushed = false;
        }
        Ok(sent)
    }

    fn has_message(&self) -> bool {
        match &self.end {
            Some(end) => !end.sent,
            None => {
                !self.outbox.is_empty()
                    || self.pong.is_some()
                    || self.ping.as_ref().is_some_and(|ping| ping.due)
            }
        }
    }

    fn next_message(&mut self) -> Option<Outgoing> {
        if self.end.is_none() {
            if let Some(payload) = self.pong.take() {
                return Some(Outgoing::Pong(payload));
            }
            if let Some(ping) = &mut self.ping
                && std::mem::take(&mut ping.due)
            {
                return Some(Outgoing::Ping);
            }
        }
        if let Some(frame) = self.outbox.pop() {
            self.stuck = None;
            return Some(Outgoing::Text(frame));
        }
        let end = self.end.as_mut().filter(|end| !end.sent)?;
        end.sent = true;
        if self.peer == PeerSide::Lost {
            end.deadline = Box::pin(sleep(LINGER));
        }
        Some(Outgoing::Close(end.code, end.reason))
    }

    /// Starts or stops the clock that a full outbox is measured by.
    fn mind_outbox(&mut self) {
        if self.end.is_some() || !self.outbox.is_full() {
            self.stuck = None;
        } else if self.stuck.is_none() {
            self.stuck = Some(Box::pin(sleep(self.settings.slow_reader_timeout)));
        }
    }

    /// Whether a message of the peer can be dealt with now. What is answered needs room; while a run is in progress,
    /// nothing is.
    fn reads(&self) -> bool {
        let busy = matches!(self.caller, Caller::Judged(..));
        let has_room = !self.outbox.is_full() || !matches!(self.activity, Activity::Idle);
        self.peer != PeerSide::Lost && (self.end.is_some() || (!busy && has_room))
    }

    fn receive(&mut self, message: Incoming) {
        match message {
            Incoming::Close => self.peer = PeerSide::Closed,
            Incoming::TooLarge | Incoming::BadUtf8 | Incoming::Malformed => self.peer = PeerSide::Lost,
            _ => {}
        }
        if self.end.is_some() {
            // The peer has said what it wanted to; only the end of the connection is of interest.
            return;
        }
        match message {
            Incoming::Text(text) if text.len() <= self.backend.max_body_bytes() => self.read(text),
            Incoming::Text(_) | Incoming::TooLarge => {
                self.close(CloseCode::TooLarge, "the frame is over the limit");
            }
            Incoming::Binary => self.close(CloseCode::Unsupported, "frames are text"),
            Incoming::Ping(payload) => self.pong = Some(payload),
            Incoming::Pong => {
                if let Some(ping) = &mut self.ping {
                    ping.unanswered = 0;
                }
            }
            Incoming::Close => {
                self.outbox.clear();
                self.close(CloseCode::Normal, "");
            }
            Incoming::BadUtf8 => self.close(CloseCode::BadUtf8, "the frame is not UTF-8"),
            Incoming::Malformed => self.close(CloseCode::Protocol, "not the WebSocket protocol"),
        }
    }

    /// Reads a text frame within the limit.
    fn read(&mut self, text: Bytes) {
        let first = !std::mem::replace(&mut self.spoken, true);
        match (Frame::read(&text), &self.caller) {
            (Frame::NotJson, _) => self.close(CloseCode::Protocol, "the frame is not JSON"),
            (Frame::Hello(hello), _) if first => self.greet(hello),
            (Frame::Hello(_), _) => self.close(CloseCode::Protocol, "a hello is the first frame"),
            (_, Caller::Unknown(_) | Caller::Judged(..) | Caller::Refused) => {
                self.close(CloseCode::Policy, "the token is wrong or missing");
            }
            (Frame::Stop(stop), _) => self.stop(stop),
            // A RUN_ERROR would end the run in progress for the peer.
            (Frame::Refused(refusal), _) if !matches!(self.activity, Activity::Idle) => {
                tracing::warn!(reason = refusal.message(), "a frame is ignored during a run");
            }
            (Frame::Input(_), _) if !matches!(self.activity, Activity::Idle) => {
                self.close(CloseCode::RunInProgress, "a run is in progress");
            }
            (Frame::Refused(refusal) | Frame::Input(Err(refusal)), _) => self.refuse(&refusal),
            (Frame::Input(Ok(agent)), Caller::Known(caller)) => {
                let starting = self.backend.start(agent.as_deref(), &self.head, caller.clone(), text);
                self.activity = Activity::Starting(starting, None);
            }
        }
    }

    fn greet(&mut self, hello: Hello) {
        let Hello { token, attributes } = hello;
        // The head with the token is for this judgement alone.
        let head = token.and_then(|token| self.head.with_bearer(&token));
        match (std::mem::replace(&mut self.caller, Caller::Refused), head) {
            (Caller::Known(mut caller), _) => {
                caller.insert(attributes);
                self.caller = Caller::Known(caller);
                self.acknowledge();
            }
            (Caller::Unknown(deadline), Some(head)) => {
                let backend = self.backend.clone();
                let verdict = Box::pin(async move { backend.authenticate(&head).await });
                self.caller = Caller::Judged(Judgement { verdict, attributes }, deadline);
            }
            _ => self.close(CloseCode::Policy, "the token is wrong or missing"),
        }
    }

    fn acknowledge(&mut self) {
        let ack = format!(r#"{{"type":"hello_ack","protocolVersion":"{PROTOCOL_VERSION}"}}"#);
        self.outbox.push(ack.into());
    }

    fn stop(&mut self, stop: Stop) {
        match &mut self.activity {
            Activity::Idle => tracing::debug!("a stop came when no run was in progress"),
            Activity::Starting(_, kept) => *kept = Some(stop),
            Activity::Running(body, _) => {
                if !body.stop(stop.run_id.as_deref()) {
                    tracing::debug!("a stop names another run than the one in progress");
                }
            }
        }
    }

    /// Answers a refused frame.
    fn refuse(&mut self, refusal: &Refusal) {
        let error = RunErrorEvent::new(refusal.message()).with_code(refusal.code().as_str());
        match serde_json::to_vec(&Event::from(error)) {
            Ok(frame) => self.outbox.push(frame.into()),
            Err(error) => tracing::error!(%error, "a RUN_ERROR cannot be encoded"),
        }
    }

    /// Ends the socket. A run in progress loses its reader; what waits in the outbox still goes out first.
    fn close(&mut self, code: CloseCode, reason: &'static str) {
        tracing::debug!(code = code.as_u16(), reason, "a socket closes");
        self.activity = Activity::Idle;
        self.end = Some(End { code, reason, sent: false, deadline: Box::pin(sleep(CLOSING)) });
    }
}
