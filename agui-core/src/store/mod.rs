//! Recorded runs: what a thread can replay, who follows it live, and how a run is stopped from elsewhere.
//!
//! A [`RunStore`] keeps the events of runs by agent and thread. Whoever drives a run [begins](RunStore::begin) it, which
//! makes it the one run in progress of its thread, [appends](RunStore::append) what it emits and
//! [finishes](RunStore::finish) it; anybody else [follows](RunStore::follow) the thread, from its beginning or from a
//! [`Cursor`], and live until the run in progress ends. [`MemoryRunStore`] serves one process. [`compact()`] is what a
//! store does to a run that has ended; [`replay`] makes of a record what a client is sent.
//!
//! A store does not judge events: it is told them by a producer whose writer has. It has no clock and spawns nothing
//! that the trait could see; a driver that holds a lease with an [interval](RunStore::renew_interval) renews it on its
//! own timer.
//!
//! Invariants, which [`contract`](self#the-contract) checks for any store:
//!
//! * One run of a thread is in progress at a time, and a thread is free before its run's ending can be seen.
//! * A follower sees every event after its cursor once and in order, whatever is appended while it reads.
//! * A follower that does not read slows neither the run nor other followers.
//! * Different agents have different threads, even under one thread id.
//!
//! # The contract
//!
//! With the feature `store-contract`, `store::contract::check` runs these and more against a store, and panics where it
//! departs.

mod compact;
#[cfg(feature = "store-contract")]
pub mod contract;
mod error;
mod follow;
mod lease;
mod memory;
mod realign;
mod record;
pub mod replay;
mod size;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use compact::compact;
pub use error::{AppendError, BeginError, FinishError, FollowError, StoreError};
pub use follow::{FollowSource, Followed, Follower, Page};
pub use lease::{RunLease, StopSignal};
pub use memory::{MemoryLimits, MemoryRunStore};
pub use record::{Compaction, Cursor, Figures, NewRun, RunEntry, StopOutcome, ThreadKey, ThreadRecord};
pub use size::held_bytes;

use crate::{Event, RunId};

/// Events that were recorded together. Shared, so that no reader copies them.
pub type EventBatch = Arc<[Event]>;

/// Keeps the runs of threads.
///
/// [`DynRunStore`] is the same behind a pointer; every store is one.
///
/// # Examples
/// ```
/// use agui_core::store::{Compaction, MemoryRunStore, NewRun, RunStore, ThreadKey};
/// use agui_core::{Event, RunFinishedEvent, RunStartedEvent};
///
/// # futures_executor::block_on(async {
/// let store = MemoryRunStore::default();
/// let thread = ThreadKey::new("planner", "trip-7");
/// let lease = store.begin(&thread, NewRun::new("turn-1")).await?;
/// store.append(&lease, [Event::from(RunStartedEvent::new("trip-7", "turn-1"))].into()).await?;
///
/// // Somebody follows the run while it goes on.
/// let mut follower = store.follow(&thread, None).await?.expect("the thread is known");
/// let ending = [Event::from(RunFinishedEvent::new("trip-7", "turn-1"))].into();
/// store.finish(lease, ending, Compaction::Allowed).await?;
/// let mut types = Vec::new();
/// while let Some(page) = follower.next_page().await? {
///     types.extend(page.events.iter().map(|event| event.event_type().as_str()));
/// }
/// assert_eq!(types, ["RUN_STARTED", "RUN_FINISHED"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait RunStore: Send + Sync + 'static {
    /// Makes a run the one in progress of its thread.
    ///
    /// # Errors
    /// Another run is in progress, which is named; the thread's record has a run of this id; the thread is another
    /// owner's; the store cannot hold one more run; the store cannot be reached.
    fn begin(
        &self,
        key: &ThreadKey,
        run: NewRun,
    ) -> impl Future<Output = Result<RunLease, BeginError>> + Send;

    /// Records events of the run, in order. They are seen by followers as soon as this returns, all of them or none.
    ///
    /// # Errors
    /// The record is full, and the driver [finishes](Self::finish) the run with an error; the run is no longer the
    /// lease's; the store has lost some of the record, and the driver finishes the run with an error; the store cannot be
    /// reached, and nothing is known to be recorded.
    ///
    /// After the last of them a driver goes on with the very same batch, the same allocation, as often as it takes. A
    /// store that may have recorded it at the first attempt recognises it, so that nothing is recorded twice.
    ///
    /// # Cancel safety
    /// If the future is dropped, the events may have been recorded.
    fn append(
        &self,
        lease: &RunLease,
        events: EventBatch,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Records the last events of the run, its terminal event at the end, and frees the thread before they can be seen.
    ///
    /// A batch of nothing but a `RUN_ERROR` is taken even where the record is full or incomplete.
    ///
    /// # Errors
    /// As [`append`](Self::append); the lease comes back with the error, and the run goes on.
    fn finish(
        &self,
        lease: RunLease,
        events: EventBatch,
        compaction: Compaction,
    ) -> impl Future<Output = Result<(), FinishError>> + Send;

    /// How often a lease has to be [renewed](Self::renew); absent if it never has.
    fn renew_interval(&self) -> Option<Duration> {
        None
    }

    /// Says that the run still goes on.
    ///
    /// # Errors
    /// The run is no longer the lease's, or the store cannot be reached.
    fn renew(&self, lease: &RunLease) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Waits until somebody wants the run to stop, or it is no longer the lease's.
    ///
    /// # Errors
    /// The store cannot be reached.
    ///
    /// # Cancel safety
    /// Can be dropped and asked again.
    fn stop_requested(&self, lease: &RunLease)
    -> impl Future<Output = Result<StopSignal, StoreError>> + Send;

    /// Asks the run in progress of a thread to stop; with an id, only if that is the run.
    ///
    /// # Errors
    /// The store cannot be reached.
    fn request_stop(
        &self,
        key: &ThreadKey,
        run_id: Option<&RunId>,
    ) -> impl Future<Output = Result<StopOutcome, StoreError>> + Send;

    /// Follows a thread: what is recorded after the cursor, from the beginning without one, and then live until the run
    /// that is in progress now has ended. `None` if nothing is known of the thread.
    ///
    /// # Errors
    /// The cursor's place is not in the record any more; the thread has as many followers as it may; the store cannot be
    /// reached.
    fn follow(
        &self,
        key: &ThreadKey,
        after: Option<&Cursor>,
    ) -> impl Future<Output = Result<Option<Follower>, FollowError>> + Send;

    /// The runs of a thread, oldest first. `None` if nothing is known of the thread.
    ///
    /// # Errors
    /// The store cannot be reached.
    fn thread(
        &self,
        key: &ThreadKey,
    ) -> impl Future<Output = Result<Option<ThreadRecord>, StoreError>> + Send;

    /// What the store holds.
    ///
    /// # Errors
    /// The store cannot be reached.
    fn figures(&self) -> impl Future<Output = Result<Figures, StoreError>> + Send;
}

/// A future behind a pointer.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// [`RunStore`] behind a pointer, for servers that are told their store. Every store is one.
pub trait DynRunStore: Send + Sync + 'static {
    /// See [`RunStore::begin`].
    fn begin_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
        run: NewRun,
    ) -> BoxFuture<'a, Result<RunLease, BeginError>>;

    /// See [`RunStore::append`].
    fn append_boxed<'a>(
        &'a self,
        lease: &'a RunLease,
        events: EventBatch,
    ) -> BoxFuture<'a, Result<(), AppendError>>;

    /// See [`RunStore::finish`].
    fn finish_boxed(
        &self,
        lease: RunLease,
        events: EventBatch,
        compaction: Compaction,
    ) -> BoxFuture<'_, Result<(), FinishError>>;

    /// See [`RunStore::renew_interval`].
    fn renew_interval(&self) -> Option<Duration>;

    /// See [`RunStore::renew`].
    fn renew_boxed<'a>(&'a self, lease: &'a RunLease) -> BoxFuture<'a, Result<(), AppendError>>;

    /// See [`RunStore::stop_requested`].
    fn stop_requested_boxed<'a>(
        &'a self,
        lease: &'a RunLease,
    ) -> BoxFuture<'a, Result<StopSignal, StoreError>>;

    /// See [`RunStore::request_stop`].
    fn request_stop_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
        run_id: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<StopOutcome, StoreError>>;

    /// See [`RunStore::follow`].
    fn follow_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
        after: Option<&'a Cursor>,
    ) -> BoxFuture<'a, Result<Option<Follower>, FollowError>>;

    /// See [`RunStore::thread`].
    fn thread_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
    ) -> BoxFuture<'a, Result<Option<ThreadRecord>, StoreError>>;

    /// See [`RunStore::figures`].
    fn figures_boxed(&self) -> BoxFuture<'_, Result<Figures, StoreError>>;
}

impl<S: RunStore> DynRunStore for S {
    fn begin_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
        run: NewRun,
    ) -> BoxFuture<'a, Result<RunLease, BeginError>> {
        Box::pin(self.begin(key, run))
    }

    fn append_boxed<'a>(
        &'a self,
        lease: &'a RunLease,
        events: EventBatch,
    ) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(self.append(lease, events))
    }

    fn finish_boxed(
        &self,
        lease: RunLease,
        events: EventBatch,
        compaction: Compaction,
    ) -> BoxFuture<'_, Result<(), FinishError>> {
        Box::pin(self.finish(lease, events, compaction))
    }

    fn renew_interval(&self) -> Option<Duration> {
        RunStore::renew_interval(self)
    }

    fn renew_boxed<'a>(&'a self, lease: &'a RunLease) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(self.renew(lease))
    }

    fn stop_requested_boxed<'a>(
        &'a self,
        lease: &'a RunLease,
    ) -> BoxFuture<'a, Result<StopSignal, StoreError>> {
        Box::pin(self.stop_requested(lease))
    }

    fn request_stop_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
        run_id: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<StopOutcome, StoreError>> {
        Box::pin(self.request_stop(key, run_id))
    }

    fn follow_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
        after: Option<&'a Cursor>,
    ) -> BoxFuture<'a, Result<Option<Follower>, FollowError>> {
        Box::pin(self.follow(key, after))
    }

    fn thread_boxed<'a>(
        &'a self,
        key: &'a ThreadKey,
    ) -> BoxFuture<'a, Result<Option<ThreadRecord>, StoreError>> {
        Box::pin(self.thread(key))
    }

    fn figures_boxed(&self) -> BoxFuture<'_, Result<Figures, StoreError>> {
        Box::pin(self.figures())
    }
}
