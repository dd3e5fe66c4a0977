//! Reading a thread's record for a client: what `connect` sends.
//!
//! A reader holds the page it is at, of which it makes a few events at a time, and what the replay itself needs to know
//! of the thread. What it has not got to stays in the store. An attachment has to know all of the thread before it can
//! send anything; that is the work of an [`opening`](super::opening), which no client can hold up.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use agui_core::store::replay::{Attachment, Replay};
use agui_core::store::{EventBatch, Followed, Follower};
use agui_core::{Event, Message, MessagesSnapshotEvent, RunErrorEvent, RunStartedEvent, StateSnapshotEvent};
use serde_json::{Map, Value};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::record::unreadable;

/// How many recorded events are made into sent ones at a time.
const STEP: usize = 16;
/// About how many bytes of them; one event may go beyond.
const STEP_BYTES: usize = 64 * 1024;
/// How many events a reader that has nothing to send goes through before it gives way to others.
const TURN: usize = 1024;

/// What becomes of recorded events.
pub(crate) enum View {
    /// For a client that holds nothing.
    Replay(Box<Replay>),
    /// For a client that holds some of the conversation.
    Attachment(Box<Attachment>, Opened),
    /// For a client that holds some of a conversation too large for a snapshot: it is made to hold nothing, and then
    /// sent what such a client is sent. What does the first, until it is done.
    Anew(Box<Replay>, Option<Vec<Event>>),
}

/// Whether an attachment has been sent what stands for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    No,
    /// The record has been read, and nothing of the run in progress is in it yet.
    Due,
    Yes,
}

/// A reader of a thread.
pub(crate) struct FollowReader {
    follower: Follower,
    view: View,
    page: Option<(EventBatch, usize)>,
    ended: bool,
    /// Bytes that one event may take as JSON.
    max_event_bytes: usize,
    /// The server is closed.
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl FollowReader {
    pub(crate) fn new(
        follower: Follower,
        view: View,
        max_event_bytes: usize,
        closed: WaitForCancellationFutureOwned,
    ) -> Self {
        Self { follower, view, page: None, ended: false, max_event_bytes, closed: Box::pin(closed) }
    }

    /// Whether everything recorded has been read, and a run is waited for that has been admitted and not begun.
    pub(crate) const fn is_due(&self) -> bool {
        matches!(self.view, View::Attachment(_, Opened::Due))
    }

    /// Puts what is to be sent next into an empty list; false once that is nothing.
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>, out: &mut Vec<Event>) -> Poll<bool> {
        let polled = self.poll_unlimited(cx, out);
        if !self.all_fit(out) {
            self.limit(out);
        }
        polled
    }

    /// Whether no event takes more than one may. That holds for what was recorded of a run, but not for what stands for
    /// many events.
    pub(crate) fn all_fit(&self, events: &[Event]) -> bool {
        events.iter().all(|event| self.fits(event))
    }

    /// What has the client of an attachment that is open let go of everything it holds of the thread.
    pub(crate) fn emptied(&mut self) -> Vec<Event> {
        match &mut self.view {
            View::Attachment(attachment, _) => attachment.emptied(),
            View::Replay(_) | View::Anew(..) => Vec::new(),
        }
    }

    fn fits(&self, event: &Event) -> bool {
        !matches!(event, Event::MessagesSnapshot(_) | Event::StateSnapshot(_))
            || serde_json::to_writer(Room(self.max_event_bytes), event).is_ok()
    }

    /// Ends the stream with an error in place of the first event that takes more than one may.
    pub(crate) fn limit(&mut self, events: &mut Vec<Event>) {
        let Some(at) = events.iter().position(|event| !self.fits(event)) else { return };
        tracing::warn!(limit = self.max_event_bytes, "a snapshot of a thread is over the limit on one event");
        events.truncate(at);
        let message = "A snapshot of the thread is larger than one event may be.";
        events.push(RunErrorEvent::new(message).with_code("event_too_large").into());
        self.page = None;
        self.ended = true;
    }

    /// [`poll_take`](Self::poll_take) whatever an event takes.
    pub(crate) fn poll_unlimited(&mut self, cx: &mut Context<'_>, out: &mut Vec<Event>) -> Poll<bool> {
        let mut done = 0;
        loop {
            if !out.is_empty() {
                return Poll::Ready(true);
            }
            if done >= TURN {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Some((page, at)) = &mut self.page {
                let (mut taken, mut bytes) = (0, 0);
                for event in page.iter().skip(*at).take(STEP) {
                    self.view.feed(event, out);
                    taken += 1;
                    bytes += weight(event);
                    if bytes >= STEP_BYTES {
                        break;
                    }
                }
                *at += taken;
                done += taken;
                if *at >= page.len() {
                    self.page = None;
                }
                continue;
            }
            if self.ended {
                return Poll::Ready(false);
            }
            match self.follower.poll_followed(cx) {
                Poll::Ready(Some(Ok(Followed::Page(page)))) => self.page = Some((page.events, 0)),
                // Behind the record, live events follow.
                Poll::Ready(Some(Ok(_))) => self.view.catch_up(out),
                Poll::Ready(Some(Err(error))) => {
                    tracing::error!(%error, "the record of a thread cannot be read");
                    self.ended = true;
                    out.push(unreadable());
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    self.view.finish(out);
                }
                Poll::Pending => {
                    // Asked last: the runs of this server have their endings in the record by then.
                    if self.closed.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    self.ended = true;
                    let closed = RunErrorEvent::new("The server is shutting down; connect again.");
                    out.push(closed.with_code("internal_error").into());
                }
            }
        }
    }
}

impl View {
    pub(crate) fn replay() -> Self {
        Self::Replay(Box::default())
    }

    /// For a client that holds these messages.
    pub(crate) fn attachment(held: &[Message]) -> Self {
        Self::Attachment(Box::new(Attachment::new().with_held(held)), Opened::No)
    }

    /// For a client that holds nothing after these events.
    pub(crate) fn anew(emptied: Vec<Event>) -> Self {
        Self::Anew(Box::default(), Some(emptied))
    }

    fn feed(&mut self, event: &Event, out: &mut Vec<Event>) {
        match self {
            Self::Replay(replay) => replay.feed(event, out),
            Self::Anew(replay, emptied) => {
                let from = out.len();
                replay.feed(event, out);
                if let Event::RunStarted(started) = event
                    && let Some(emptied) = emptied.take()
                {
                    empty(emptied, started, from + 1, out);
                }
            }
            Self::Attachment(attachment, Opened::No) => attachment.record(event),
            Self::Attachment(attachment, Opened::Due) => {
                attachment.record(event);
                self.catch_up(out);
            }
            Self::Attachment(attachment, Opened::Yes) => attachment.live(without_private(event), out),
        }
    }

    /// The record has been read as far as it goes, and a run is in progress. One that has been admitted and not begun
    /// is waited for: its beginning says what its messages and its state are.
    fn catch_up(&mut self, out: &mut Vec<Event>) {
        match self {
            Self::Attachment(attachment, _) if attachment.is_active() => self.open(out),
            Self::Attachment(_, opened @ Opened::No) => *opened = Opened::Due,
            _ => {}
        }
    }

    /// Sends what stands for the record, if that has not been done.
    fn open(&mut self, out: &mut Vec<Event>) {
        if let Self::Attachment(attachment, opened @ (Opened::No | Opened::Due)) = self {
            *opened = Opened::Yes;
            out.append(&mut attachment.open());
        }
    }

    /// There is nothing more to come.
    fn finish(&mut self, out: &mut Vec<Event>) {
        self.open(out);
        if let Self::Replay(replay) | Self::Anew(replay, _) = self {
            replay.finish(out);
        }
    }
}

/// Has a client let go of what it holds, behind the first `RUN_STARTED` it is sent. The messages on that may have been
/// among what it held, so they are said once more.
fn empty(emptied: Vec<Event>, started: &RunStartedEvent, mut at: usize, out: &mut Vec<Event>) {
    let mut put = |event: Event| {
        out.insert(at, event);
        at += 1;
    };
    emptied.into_iter().for_each(&mut put);
    let input = started.input.as_deref();
    if let Some(input) = input.filter(|input| !input.messages.is_empty()) {
        put(MessagesSnapshotEvent::new(input.messages.clone()).into());
    }
    let state = input.and_then(|input| input.state.clone()).unwrap_or_else(|| Value::Object(Map::new()));
    put(StateSnapshotEvent::new(state).into());
}

/// Takes so many bytes and keeps none.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// About how many bytes a recorded event holds: exact for deltas, which come by the thousand, and a whole step for what
/// may be large in other ways.
fn weight(event: &Event) -> usize {
    match event {
        Event::TextMessageContent(content) => content.delta.len(),
        Event::ToolCallArgs(args) => args.delta.len(),
        Event::ReasoningMessageContent(content) => content.delta.len(),
        Event::TextMessageStart(_)
        | Event::TextMessageEnd(_)
        | Event::ToolCallStart(_)
        | Event::ToolCallEnd(_)
        | Event::StateDelta(_) => 0,
        _ => STEP_BYTES,
    }
}

/// A recorded event without what is not for every reader of the thread: the state on an echoed input, which the record
/// keeps for the patches that follow.
pub(crate) fn without_private(event: &Event) -> Event {
    let mut event = event.clone();
    if let Event::RunStarted(started) = &mut event
        && let Some(input) = &mut started.input
    {
        input.state = None;
    }
    event
}
