//! What a run that is being recorded keeps for the client that asked for it.
//!
//! The client reads from memory what the recorder has just given to the store, so that it depends on no answer of the
//! store's. What it has not read is bounded. When it falls further behind, it is moved to the record: a follower takes
//! the place of everything kept, and skips what the client has had. From then on the client holds nothing but its place.
//!
//! The recorder opens that follower, and at once, while the run is in progress: places in the record of a run that has
//! ended may be lost to compaction, unless somebody is reading it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use agui_core::store::{EventBatch, Followed, Follower, held_bytes};
use agui_core::{Event, RunErrorEvent, RunId};

use crate::http::follow::without_private;
use crate::http::source::Batch;

/// What is kept for the client of a run.
#[derive(Debug)]
pub(crate) struct Tail {
    state: Mutex<State>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    /// With the bytes they take.
    kept: VecDeque<(EventBatch, usize)>,
    bytes: usize,
    place: Place,
    waker: Option<Waker>,
}

/// Where the client reads.
#[derive(Debug, Default)]
enum Place {
    /// What is kept.
    #[default]
    Here,
    /// What is kept, and nothing will be added.
    Ended,
    /// Nothing until the recorder has opened the record.
    Moving,
    /// The record.
    Record(Follower),
    /// The client reads from the record by now, or is gone.
    Gone,
}

/// What became of events that were given to a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Kept {
    /// They are kept, or not wanted.
    Fine,
    /// The client is too far behind, and waits to be [moved](Tail::go_on) to the record.
    Behind,
}

impl Tail {
    /// Keeps so many bytes, about.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { state: Mutex::default(), max_bytes }
    }

    /// The lock; held for no more than moving pointers.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps events for the client.
    pub(super) fn push(&self, batch: EventBatch) -> Kept {
        let bytes: usize = batch.iter().map(held_bytes).sum();
        let mut state = self.lock();
        if !matches!(state.place, Place::Here) {
            return Kept::Fine;
        }
        // One batch goes in whatever its size: the run's queue bounds it.
        let fits = state.kept.is_empty() || state.bytes + bytes <= self.max_bytes;
        if !fits {
            let dropped = std::mem::take(&mut state.kept);
            state.place = Place::Moving;
            drop(state);
            drop(dropped);
            return Kept::Behind;
        }
        state.bytes += bytes;
        state.kept.push_back((batch, bytes));
        wake(state);
        Kept::Fine
    }

    /// Moves a client that is behind to the record, or ends its stream with an error if it cannot be read.
    pub(super) fn go_on(&self, record: Option<Follower>) {
        let mut state = self.lock();
        if !matches!(state.place, Place::Moving) {
            return;
        }
        if let Some(follower) = record {
            state.place = Place::Record(follower);
        } else {
            state.kept.push_back(([unreadable()].into(), 0));
            state.place = Place::Ended;
        }
        wake(state);
    }

    /// Keeps the last events.
    pub(super) fn end(&self, batch: EventBatch) {
        let mut state = self.lock();
        // A client that reads the record finds the ending there.
        if matches!(state.place, Place::Here | Place::Moving) {
            state.kept.push_back((batch, 0));
            state.place = Place::Ended;
            wake(state);
        }
    }

    /// The client is gone.
    pub(crate) fn leave(&self) {
        let left = std::mem::replace(&mut *self.lock(), State { place: Place::Gone, ..State::default() });
        drop(left);
    }
}

/// Wakes the reader after the lock is gone.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// How a stream ends whose record cannot be read any further.
pub(crate) fn unreadable() -> Event {
    RunErrorEvent::new("The record of the run cannot be read.").with_code("internal_error").into()
}

/// Reads a run for the client that asked for it.
#[derive(Debug)]
pub(crate) struct TailReader {
    tail: Arc<Tail>,
    run_id: RunId,
    /// How many events the client has had.
    taken: u64,
    record: Option<Record>,
}

/// The record as it is read on from a place in the middle of a run.
#[derive(Debug)]
struct Record {
    follower: Follower,
    /// Whether the beginning of the run has been found.
    found: bool,
    /// How many of its events to skip.
    skip: u64,
}

impl TailReader {
    pub(crate) const fn new(tail: Arc<Tail>, run_id: RunId) -> Self {
        Self { tail, run_id, taken: 0, record: None }
    }

    pub(crate) const fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>, batch: &mut Batch) -> Poll<bool> {
        if self.record.is_none() {
            let mut state = self.tail.lock();
            if let Some((events, bytes)) = state.kept.pop_front() {
                state.bytes = state.bytes.saturating_sub(bytes);
                drop(state);
                self.taken += events.len() as u64;
                let all = 0..events.len();
                batch.share(events, all);
                return Poll::Ready(true);
            }
            match std::mem::replace(&mut state.place, Place::Gone) {
                Place::Record(follower) => {
                    drop(state);
                    self.record = Some(Record { follower, found: false, skip: self.taken });
                }
                Place::Ended | Place::Gone => return Poll::Ready(false),
                place => {
                    state.place = place;
                    match &mut state.waker {
                        Some(waker) => waker.clone_from(cx.waker()),
                        none => *none = Some(cx.waker().clone()),
                    }
                    return Poll::Pending;
                }
            }
        }
        self.poll_record(cx, batch)
    }

    fn poll_record(&mut self, cx: &mut Context<'_>, batch: &mut Batch) -> Poll<bool> {
        let Some(record) = &mut self.record else { return Poll::Ready(false) };
        loop {
            let page = match record.follower.poll_followed(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(Followed::Page(page)))) => page.events,
                Poll::Ready(Some(Ok(_))) => continue,
                Poll::Ready(Some(Err(error))) => {
                    tracing::error!(%error, "the record of a run cannot be read");
                    batch.cleared().push(unreadable());
                    return Poll::Ready(true);
                }
                Poll::Ready(None) => return Poll::Ready(false),
            };
            let mut from = 0;
            if !record.found {
                let begins = |event: &Event| matches!(event, Event::RunStarted(started) if started.run_id == self.run_id);
                let Some(at) = page.iter().position(begins) else { continue };
                record.found = true;
                from = at;
            }
            let skipped = record.skip.min((page.len() - from) as u64);
            record.skip -= skipped;
            from += usize::try_from(skipped).unwrap_or(usize::MAX);
            match page.get(from) {
                None => {}
                // A client that has not had a single event before it was moved.
                Some(first @ Event::RunStarted(_)) => {
                    let own = batch.cleared();
                    own.push(without_private(first));
                    own.extend(page.iter().skip(from + 1).cloned());
                    return Poll::Ready(true);
                }
                Some(_) => {
                    let rest = from..page.len();
                    batch.share(page, rest);
                    return Poll::Ready(true);
                }
            }
        }
    }
}
