//! The recording of a run: between the run and whoever reads it stands its record.
//!
//! A [`Recorder`] takes what the run has written, all that is ready at a time, and gives it to the store and to the
//! client that asked for the run. It never waits for a reader: what that client has not read yet is kept for it up to a
//! limit and read from the record beyond it (see [`Tail`]), as every other reader does.
//!
//! Where the store answers at once, events are recorded before anybody sees them. One that takes its time does not hold
//! the run up: the client is served while the store works, and what has come meanwhile is recorded together. A store
//! that fails is tried again, the run waiting for it once a limit of unrecorded events is reached. Past the patience
//! with it the record is given up, and the run goes on for its client or ends, as configured.
//!
//! Invariants: the terminal event is seen after the record has it and the thread is free, or after the store has been
//! given up on; the client's stream has an ending whatever becomes of the recorder.

mod recorder;
mod tail;
mod watch;

use std::future::{self, Future};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

pub(crate) use recorder::Recorder;
pub(crate) use tail::{Tail, TailReader, unreadable};

/// What becomes of a run whose events cannot be recorded any more, because its store has failed for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnRecordFailure {
    /// It goes on for the client that asked for it. Its record says that it is incomplete, if the store can be told.
    #[default]
    GoOn,
    /// It ends with `RUN_ERROR`.
    End,
}

/// How a run is recorded.
#[derive(Debug, Clone)]
pub(crate) struct RecordSettings {
    /// How long one answer of the store is waited for where somebody else waits.
    pub(crate) store_timeout: Duration,
    /// How long a store is tried again before the record is given up.
    pub(crate) patience: Duration,
    pub(crate) on_failure: OnRecordFailure,
}

/// What comes first of two.
enum Race<A, B> {
    First(A),
    Second(B),
}

/// Waits for either. The first is asked first.
async fn race<A, B>(
    mut first: Pin<&mut (impl Future<Output = A> + ?Sized)>,
    mut second: Pin<&mut (impl Future<Output = B> + ?Sized)>,
) -> Race<A, B> {
    future::poll_fn(|cx| {
        if let Poll::Ready(value) = first.as_mut().poll(cx) {
            return Poll::Ready(Race::First(value));
        }
        second.as_mut().poll(cx).map(Race::Second)
    })
    .await
}
