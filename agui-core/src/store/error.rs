//! What a store refuses, one type for each thing that is asked of it.

use std::fmt;

use crate::RunId;

use super::RunLease;

/// A store that cannot do its work just now.
///
/// What it says is for logs; whoever asked over the network is told no more than that it failed.
#[derive(Debug, thiserror::Error)]
#[error("the run store failed: {message}")]
pub struct StoreError {
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// An error that says what failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Adds the error behind it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// Why a run may not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// Another run of the thread is in progress.
    #[error("run {run_id:?} is in progress on the thread")]
    Busy {
        /// The run in progress.
        run_id: RunId,
    },
    /// The thread's record has a run of this id (`SHAPE-9`).
    #[error("the thread has had a run of this id; a run id is used once")]
    RunIdUsed,
    /// The thread belongs to another owner.
    #[error("the thread belongs to another owner")]
    OtherOwner,
    /// The store holds as much as it may, and nothing that could make room.
    #[error("the run store is full")]
    Full,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why events were not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The run's record, or the store, holds as much as it may. Nothing of the batch is recorded.
    #[error("the record of the run is full")]
    RecordFull,
    /// The run has ended, or is somebody else's by now.
    #[error("the run is no longer this lease's")]
    LeaseLost,
    /// The store has lost some of what it had recorded of the run. Nothing of the batch is recorded; the run can be
    /// finished with nothing but an error.
    #[error("a part of the record of the run is lost")]
    Incomplete,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a run could not be finished, with its lease, so that it can be finished otherwise.
#[derive(thiserror::Error)]
#[error("the run is not finished: {error}")]
#[non_exhaustive]
pub struct FinishError {
    /// The lease, as good as before.
    pub lease: RunLease,
    /// What is wrong.
    pub error: AppendError,
}

impl FinishError {
    /// An error that gives the lease back.
    pub const fn new(lease: RunLease, error: AppendError) -> Self {
        Self { lease, error }
    }
}

impl fmt::Debug for FinishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FinishError").field("error", &self.error).finish_non_exhaustive()
    }
}

/// Why a thread cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// What the cursor names is not in the record any more: it was dropped, or compacted. A reader starts anew.
    #[error("the record no longer has the place that the cursor names")]
    CursorExpired,
    /// The thread has as many followers as it may.
    #[error("the thread has as many followers as it may")]
    TooManyFollowers,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
