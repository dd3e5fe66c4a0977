//! Reading a thread's record for a client: what `connect` sends.
//!
//! A reader holds the page it is at, of which it makes a few events at a time, and what the replay itself needs to know
//! of the thread. What it has not got to stays in the store.

use std::pin::Pin;
use std::task::{Context, Poll};

use agui_core::store::replay::{Attachment, Replay};
use agui_core::store::{EventBatch, Followed, Follower};
use agui_core::{Event, Message, RunErrorEvent};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::record::unreadable;

/// How many recorded events are made into sent ones at a time.
const STEP: usize = 16;
/// How many events a reader that has nothing to send goes through before it gives way to others.
const TURN: usize = 1024;

/// What becomes of recorded events.
pub(crate) enum View {
    /// For a client that holds nothing.
    Replay(Box<Replay>),
    /// For a client that holds some of the conversation.
    Attachment(Box<Attachment>, Opened),
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
    /// The server is closed.
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl FollowReader {
    pub(crate) fn new(follower: Follower, view: View, closed: WaitForCancellationFutureOwned) -> Self {
        Self { follower, view, page: None, ended: false, closed: Box::pin(closed) }
    }

    /// Adds what is to be sent next; false once that is nothing.
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>, out: &mut Vec<Event>) -> Poll<bool> {
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
                let step = page.get(*at..).unwrap_or_default();
                let step = step.get(..STEP).unwrap_or(step);
                for event in step {
                    self.view.feed(event, out);
                }
                *at += step.len();
                done += step.len();
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

    fn feed(&mut self, event: &Event, out: &mut Vec<Event>) {
        match self {
            Self::Replay(replay) => replay.feed(event, out),
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
        if let Self::Replay(replay) = self {
            replay.finish(out);
        }
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
