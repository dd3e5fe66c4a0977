//! Where a body gets its events: from a run that has no record, from a run that is being recorded, or from a record.
//!
//! They differ in what the reader's leaving means, and in where the stream ends: that of one run with its terminal
//! event, that of a record with the record.

use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

use agui_core::Event;
use agui_core::producer::{CancelReason, RunControl, RunEvents};
use agui_core::store::EventBatch;

use super::OnDisconnect;
use super::follow::FollowReader;
use super::opening::Opening;
use super::record::{Tail, TailReader};

/// Where a body gets its events.
pub(crate) enum Source {
    /// Nothing is left, or nothing ever was.
    Empty,
    /// A run without a record. This is its only reader.
    Run(RunSource),
    /// A run that is being recorded, for the client that asked for it.
    Recorded(RecordedSource),
    /// The record of a thread.
    Record(Box<FollowReader>),
    /// The same, before the first event.
    Opening(Opening),
}

/// See [`Source::Run`].
pub(crate) struct RunSource {
    pub(crate) events: RunEvents,
    pub(crate) control: RunControl,
    pub(crate) on_disconnect: OnDisconnect,
}

/// See [`Source::Recorded`].
pub(crate) struct RecordedSource {
    pub(crate) reader: TailReader,
    pub(crate) control: RunControl,
    pub(crate) on_disconnect: OnDisconnect,
}

/// Events that were taken together: the reader's own, or some of what it shares with others.
#[derive(Default)]
pub(crate) struct Batch {
    own: Vec<Event>,
    shared: Option<(EventBatch, Range<usize>)>,
}

impl Batch {
    pub(crate) fn events(&self) -> &[Event] {
        match &self.shared {
            None => &self.own,
            Some((events, range)) => events.get(range.clone()).unwrap_or_default(),
        }
    }

    /// The reader's own list, emptied.
    pub(crate) fn cleared(&mut self) -> &mut Vec<Event> {
        self.shared = None;
        self.own.clear();
        &mut self.own
    }

    /// The reader's own list, as it was left.
    fn own(&mut self) -> &mut Vec<Event> {
        self.shared = None;
        &mut self.own
    }

    /// Puts events that are shared in the place of all.
    pub(crate) fn share(&mut self, events: EventBatch, range: Range<usize>) {
        self.own.clear();
        self.shared = Some((events, range));
    }

    /// Lets the first of the reader's own events go, and says how many that were: none where they are shared.
    pub(crate) fn forget(&mut self, first: usize) -> usize {
        if self.shared.is_some() { 0 } else { self.own.drain(..first.min(self.own.len())).count() }
    }

    /// Lets everything go but room for a few events.
    pub(crate) fn shrink(&mut self, room: usize) {
        let own = self.cleared();
        if own.capacity() > room {
            *own = Vec::new();
        }
    }
}

impl Source {
    /// Takes what is ready in place of what was taken before; false once everything has been taken.
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>, batch: &mut Batch) -> Poll<bool> {
        match self {
            Self::Empty => Poll::Ready(false),
            Self::Run(run) => run.events.poll_refill(cx, batch.own()),
            Self::Recorded(run) => run.reader.poll_take(cx, batch),
            Self::Record(record) => record.poll_take(cx, batch.cleared()),
            Self::Opening(opening) => {
                let Poll::Ready(reader) = opening.poll_open(cx, batch.cleared()) else {
                    return Poll::Pending;
                };
                *self = reader.map_or(Self::Empty, Self::Record);
                if batch.events().is_empty() { self.poll_take(cx, batch) } else { Poll::Ready(true) }
            }
        }
    }

    /// Whether the first terminal event is the last event.
    pub(crate) const fn ends_with_run(&self) -> bool {
        !matches!(self, Self::Record(_) | Self::Opening(_))
    }

    /// The reader is gone.
    pub(crate) fn leave(&self) {
        if let Some(disconnect) = self.disconnect() {
            disconnect.notify();
        }
    }

    /// The reader cannot be told of an event. Where it is the only one, the run is of no use any more.
    pub(crate) fn refuse(&self) {
        if let Self::Run(run) = self {
            run.control.cancel(CancelReason::Refused);
            run.control.close();
        } else {
            self.leave();
        }
    }

    /// Stops the run, whose ending is still to come.
    #[cfg(feature = "websocket")]
    pub(crate) fn stop(&self) {
        match self {
            Self::Empty | Self::Record(_) | Self::Opening(_) => {}
            Self::Run(run) => run.control.cancel(CancelReason::Stopped),
            Self::Recorded(run) => run.control.cancel(CancelReason::Stopped),
        }
    }

    /// A way to say that the reader is gone; none where that changes nothing.
    pub(crate) fn disconnect(&self) -> Option<Disconnect> {
        let (control, policy, tail) = match self {
            Self::Empty | Self::Record(_) | Self::Opening(_) => return None,
            Self::Run(run) => (&run.control, run.on_disconnect, None),
            Self::Recorded(run) => (&run.control, run.on_disconnect, Some(Arc::clone(run.reader.tail()))),
        };
        Some(Disconnect { control: control.clone(), policy, tail })
    }
}

/// Tells a run that its client is gone, as dropping the [`Body`](super::Body) does.
#[derive(Debug, Clone)]
pub struct Disconnect {
    control: RunControl,
    policy: OnDisconnect,
    /// What is kept for the client of a run that is being recorded.
    tail: Option<Arc<Tail>>,
}

impl Disconnect {
    /// The client is gone. Does nothing once the run is over.
    pub fn notify(&self) {
        if let Some(tail) = &self.tail {
            tail.leave();
            if self.policy == OnDisconnect::Cancel {
                // The record wants an ending, so this is a stop like any other.
                self.control.cancel(CancelReason::Stopped);
            }
            return;
        }
        match self.policy {
            OnDisconnect::Cancel => {
                self.control.cancel(CancelReason::Abandoned);
                // Refused from this moment on, not from the driver's next turn.
                self.control.close();
            }
            OnDisconnect::Detach => self.control.detach(),
        }
    }
}
