//! What names a thread and a place in its record, and what a store tells about them.

use std::fmt;
use std::sync::Arc;

use crate::{RunId, ThreadId};

/// Names a thread of an agent. The same thread id under two agents is two threads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey {
    agent_id: Arc<str>,
    thread_id: ThreadId,
}

impl ThreadKey {
    /// The thread of an agent. Both are any strings.
    pub fn new(agent_id: impl Into<Arc<str>>, thread_id: impl Into<ThreadId>) -> Self {
        Self { agent_id: agent_id.into(), thread_id: thread_id.into() }
    }

    /// The agent.
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// The thread.
    pub const fn thread_id(&self) -> &ThreadId {
        &self.thread_id
    }
}

/// A place in a thread's record, behind an event. Only the store that made it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(Arc<str>);

impl Cursor {
    /// A place as its store writes it.
    pub fn new(place: impl Into<Arc<str>>) -> Self {
        Self(place.into())
    }

    /// The place as its store wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A run that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct NewRun {
    /// The run; fresh in its thread.
    pub run_id: RunId,
    /// Who asks for it. The owner of a thread's first run owns the thread; absent is an owner like any other.
    pub owner: Option<Arc<str>>,
}

impl NewRun {
    /// A run of nobody in particular.
    pub fn new(run_id: impl Into<RunId>) -> Self {
        Self { run_id: run_id.into(), owner: None }
    }

    /// Sets who asks for it.
    pub fn with_owner(mut self, owner: impl Into<Arc<str>>) -> Self {
        self.owner = Some(owner.into());
        self
    }
}

/// Whether a run that has ended may be [compacted](super::compact()).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there is no third answer")]
pub enum Compaction {
    /// It may.
    Allowed,
    /// It stays as it is, because its events were [written without being
    /// judged](crate::producer::RunControl::is_unchecked).
    Never,
}

/// What asking a run to stop came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopOutcome {
    /// The run has been told.
    Stopping {
        /// The run.
        run_id: RunId,
    },
    /// The run had been told before.
    AlreadyStopping {
        /// The run.
        run_id: RunId,
    },
    /// Another run than the named one is in progress.
    OtherRun {
        /// The run in progress.
        run_id: RunId,
    },
    /// Nothing is in progress on the thread.
    Idle,
}

/// What is recorded of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadRecord {
    /// Who owns the thread.
    pub owner: Option<Arc<str>>,
    /// Its runs, oldest first. Only the last one can be in progress.
    pub runs: Vec<RunEntry>,
    /// The place behind everything that is recorded.
    pub end: Cursor,
}

impl ThreadRecord {
    /// A record, for stores to make.
    pub const fn new(owner: Option<Arc<str>>, runs: Vec<RunEntry>, end: Cursor) -> Self {
        Self { owner, runs, end }
    }

    /// The run in progress.
    pub fn active_run(&self) -> Option<&RunId> {
        self.runs.iter().rev().find(|run| run.active).map(|run| &run.run_id)
    }
}

/// What is recorded of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunEntry {
    /// The run.
    pub run_id: RunId,
    /// Whether it is in progress.
    pub active: bool,
    /// How many events the record has of it; compaction makes them fewer.
    pub events: u64,
}

impl RunEntry {
    /// An entry, for stores to make.
    pub const fn new(run_id: RunId, active: bool, events: u64) -> Self {
        Self { run_id, active, events }
    }
}

/// What a store holds, for whoever watches over it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Bytes, about, with what is set aside for runs in progress.
    pub bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Runs, ended and in progress.
    pub runs: u64,
    /// Runs in progress.
    pub active_runs: u64,
    /// Followers of this process.
    pub followers: u64,
}
