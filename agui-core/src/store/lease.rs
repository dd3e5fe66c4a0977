//! The right to write one run.

use std::any::Any;
use std::fmt;

use crate::RunId;

use super::ThreadKey;

/// The right to append to a run and to finish it, held by whoever drives it.
///
/// Dropping it without finishing tells the store that the producer is lost, as far as the store notices such things:
/// [`MemoryRunStore`](super::MemoryRunStore) ends the run with `RUN_ERROR` at once.
#[must_use = "a run whose lease is dropped is lost"]
pub struct RunLease {
    key: ThreadKey,
    run_id: RunId,
    token: String,
    guard: Option<Box<dyn Any + Send + Sync>>,
}

impl RunLease {
    /// A lease, for stores to make. The token tells it from earlier and later leases of the thread.
    pub fn new(key: ThreadKey, run_id: RunId, token: impl Into<String>) -> Self {
        Self { key, run_id, token: token.into(), guard: None }
    }

    /// Adds a value of the store's that is dropped with the lease.
    pub fn with_guard(mut self, guard: impl Any + Send + Sync) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// The value of the store's, if it is of this type.
    pub fn guard<T: Any>(&self) -> Option<&T> {
        self.guard.as_ref()?.downcast_ref()
    }

    /// The thread.
    pub const fn key(&self) -> &ThreadKey {
        &self.key
    }

    /// The run.
    pub const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// What tells the lease from others, for the store that made it.
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl fmt::Debug for RunLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLease")
            .field("key", &self.key)
            .field("run_id", &self.run_id)
            .finish_non_exhaustive()
    }
}

/// What the driver of a run is told from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopSignal {
    /// Somebody wants the run to stop.
    Stop,
    /// The run is no longer the lease's.
    LeaseLost,
}
