//! The run store of one process.
//!
//! What it holds is bounded in bytes and threads. A run in progress draws its bytes in grants, so that appending takes
//! the lock of its own log and seldom that of the whole store; the first grant is made when it begins, which is what
//! admission means. When room is needed, whole idle threads go, those used longest ago first and those that nobody reads
//! before those that somebody does; a thread with a run in progress never goes. A follower of a thread that went is told
//! so by an error.
//!
//! Ended runs are compacted, and the oldest of a thread dropped beyond its limit, once nobody reads them. That is work for
//! whoever finished the run or read it last; it is done without holding a lock.
//!
//! Locks are taken in one order, the store's before a log's, and never across an await.

mod follower;
mod index;
mod log;
mod upkeep;

use std::sync::Arc;

use follower::MemoryFollower;
use index::Shared;
use log::SharedLog;

use crate::RunId;

use super::{
    AppendError, BeginError, Compaction, Cursor, EventBatch, Figures, FinishError, FollowError, Follower,
    NewRun, RunLease, RunStore, StopOutcome, StopSignal, StoreError, ThreadKey, ThreadRecord,
};

/// How much a [`MemoryRunStore`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct MemoryLimits {
    /// Bytes of all threads, about; 256 MiB by default.
    pub max_bytes: usize,
    /// Threads; 10,000 by default.
    pub max_threads: usize,
    /// Bytes of one run, about; 64 MiB by default. The run is told that its record is full.
    pub max_run_bytes: usize,
    /// Bytes that are set aside for a run when it begins, and each time it needs more; 64 KiB by default.
    pub grant_bytes: usize,
    /// Readers of a thread, whether a run of it is in progress or not; 64 by default.
    pub max_followers: usize,
    /// Ended runs that a thread keeps; 1,000 by default, at least one. The oldest kept one begins with snapshots in
    /// place of what was dropped.
    pub max_runs_per_thread: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            max_bytes: 256 * 1024 * 1024,
            max_threads: 10_000,
            max_run_bytes: 64 * 1024 * 1024,
            grant_bytes: 64 * 1024,
            max_followers: 64,
            max_runs_per_thread: 1_000,
        }
    }
}

impl MemoryLimits {
    /// Sets how many bytes all threads may take.
    pub const fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how many threads there may be.
    pub const fn with_max_threads(mut self, threads: usize) -> Self {
        self.max_threads = threads;
        self
    }

    /// Sets how many bytes one run may take.
    pub const fn with_max_run_bytes(mut self, bytes: usize) -> Self {
        self.max_run_bytes = bytes;
        self
    }

    /// Sets how many bytes are set aside for a run at a time.
    pub const fn with_grant_bytes(mut self, bytes: usize) -> Self {
        self.grant_bytes = bytes;
        self
    }

    /// Sets how many may read a thread at once.
    pub const fn with_max_followers(mut self, followers: usize) -> Self {
        self.max_followers = followers;
        self
    }

    /// Sets how many ended runs a thread keeps, at least one.
    pub fn with_max_runs_per_thread(mut self, runs: usize) -> Self {
        self.max_runs_per_thread = runs.max(1);
        self
    }
}

/// Keeps runs in the memory of this process. Clones share what they hold.
///
/// # Examples
/// ```
/// use agui_core::store::{BeginError, MemoryLimits, MemoryRunStore, NewRun, RunStore, ThreadKey};
///
/// # futures_executor::block_on(async {
/// let store = MemoryRunStore::new(MemoryLimits::default().with_max_threads(1_000));
/// let thread = ThreadKey::new("planner", "trip-7");
/// let lease = store.begin(&thread, NewRun::new("turn-1")).await.unwrap();
///
/// let second = store.begin(&thread, NewRun::new("turn-2")).await;
/// assert!(matches!(second, Err(BeginError::Busy { run_id }) if run_id == "turn-1"));
/// # drop(lease);
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct MemoryRunStore {
    shared: Arc<Shared>,
}

impl Default for MemoryRunStore {
    fn default() -> Self {
        Self::new(MemoryLimits::default())
    }
}

impl MemoryRunStore {
    /// An empty store.
    pub fn new(limits: MemoryLimits) -> Self {
        Self { shared: Arc::new(Shared::new(limits)) }
    }

    /// How much it holds at most.
    pub fn limits(&self) -> MemoryLimits {
        self.shared.limits
    }
}

impl MemoryRunStore {
    /// What a lease of this store refers to.
    fn drive<'l>(&self, lease: &'l RunLease) -> Result<&'l Drive, AppendError> {
        let drive = lease.guard::<Drive>().filter(|drive| Arc::ptr_eq(&drive.shared, &self.shared));
        drive.ok_or(AppendError::LeaseLost)
    }
}

impl RunStore for MemoryRunStore {
    async fn begin(&self, key: &ThreadKey, run: NewRun) -> Result<RunLease, BeginError> {
        let run_id = run.run_id.clone();
        let log = self.shared.begin(key, run)?;
        let token = log.serial.to_string();
        let drive = Drive { shared: Arc::clone(&self.shared), key: key.clone(), log };
        Ok(RunLease::new(key.clone(), run_id, token).with_guard(drive))
    }

    async fn append(&self, lease: &RunLease, events: EventBatch) -> Result<(), AppendError> {
        self.shared.append(lease.key(), &self.drive(lease)?.log, events)
    }

    async fn finish(
        &self,
        lease: RunLease,
        events: EventBatch,
        compaction: Compaction,
    ) -> Result<(), FinishError> {
        let finished = self
            .drive(&lease)
            .and_then(|drive| self.shared.finish(lease.key(), &drive.log, events, compaction));
        match finished {
            Ok(()) => {
                self.shared.keep_up(lease.key());
                Ok(())
            }
            Err(error) => Err(FinishError::new(lease, error)),
        }
    }

    async fn renew(&self, lease: &RunLease) -> Result<(), AppendError> {
        let stop = self.shared.stop_token(lease.key(), self.drive(lease)?.log.serial);
        stop.map(drop).ok_or(AppendError::LeaseLost)
    }

    async fn stop_requested(&self, lease: &RunLease) -> Result<StopSignal, StoreError> {
        let drive = self.drive(lease).ok();
        let stop = drive.and_then(|drive| self.shared.stop_token(lease.key(), drive.log.serial));
        let Some(stop) = stop else { return Ok(StopSignal::LeaseLost) };
        stop.cancelled_owned().await;
        Ok(StopSignal::Stop)
    }

    async fn request_stop(&self, key: &ThreadKey, run_id: Option<&RunId>) -> Result<StopOutcome, StoreError> {
        Ok(self.shared.request_stop(key, run_id))
    }

    async fn follow(&self, key: &ThreadKey, after: Option<&Cursor>) -> Result<Option<Follower>, FollowError> {
        Ok(MemoryFollower::open(&self.shared, key, after)?.map(Follower::new))
    }

    async fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRecord>, StoreError> {
        Ok(self.shared.thread(key))
    }

    async fn figures(&self) -> Result<Figures, StoreError> {
        Ok(self.shared.figures())
    }
}

/// What a lease refers to. Dropped with it, it ends a run that nobody will finish and whose followers would wait for ever.
struct Drive {
    shared: Arc<Shared>,
    key: ThreadKey,
    log: SharedLog,
}

impl Drop for Drive {
    fn drop(&mut self) {
        // A run that was finished is no longer in progress, and nothing happens.
        if self.shared.abandon(&self.key, &self.log) {
            self.shared.keep_up(&self.key);
        }
    }
}
