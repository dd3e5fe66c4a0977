//! What all threads take together, and which of them were used longest ago.
//!
//! The count is kept under keys of one place, which is asked when a run begins, needs room, is renewed or ends, and not
//! with every batch. What it says of a thread is replaced by what is true whenever the thread is looked after, so that
//! a process that died in between leaves nothing wrong for long. Threads that expired are taken off as others come.

use agui_core::store::StoreError;
use redis::Cmd;

use crate::RedisSettings;
use crate::link::Link;
use crate::scripts;

/// What is said of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entry {
    /// So much more, in progress or not.
    Add { bytes: i64, runs: i64, active: bool },
    /// Exactly this.
    Set { bytes: u64, runs: usize, active: bool },
    /// It is used just now.
    Use,
    /// It is gone.
    Gone,
}

/// What there is in all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) bytes: u64,
    pub(crate) threads: u64,
    pub(crate) runs: u64,
    pub(crate) active: u64,
    /// Where that is too much: threads that might go, those used longest ago first, and then the one that was asked with.
    pub(crate) excess: Option<Vec<String>>,
}

/// The keys of the count.
#[derive(Debug)]
pub(crate) struct Index {
    uses: String,
    sizes: String,
    totals: String,
    retention_ms: String,
    max_bytes: u64,
    max_threads: u64,
    lease_ms: String,
}

impl Index {
    pub(crate) fn new(settings: &RedisSettings) -> Self {
        let name = |what: &str| format!("{}{{index}}:{what}", settings.prefix);
        Self {
            uses: name("u"),
            sizes: name("s"),
            totals: name("n"),
            retention_ms: settings.retention.as_millis().to_string(),
            max_bytes: settings.limits.max_bytes,
            max_threads: settings.limits.max_threads,
            lease_ms: settings.lease.as_millis().to_string(),
        }
    }

    /// Takes note of a thread.
    pub(crate) async fn note(&self, link: &Link, tag: &str, entry: Entry) -> Result<Totals, StoreError> {
        let arguments = |command: &mut Cmd| {
            command.arg(tag);
            match entry {
                Entry::Add { bytes, runs, active } => {
                    command.arg("add").arg(bytes).arg(runs).arg(u8::from(active))
                }
                Entry::Set { bytes, runs, active } => {
                    command.arg("set").arg(bytes).arg(runs).arg(u8::from(active))
                }
                Entry::Use => command.arg("use").arg(0).arg(0).arg(0),
                Entry::Gone => command.arg("del").arg(0).arg(0).arg(0),
            };
            command.arg(&self.retention_ms).arg(self.max_bytes).arg(self.max_threads).arg(&self.lease_ms);
        };
        let keys = [&*self.uses, &self.sizes, &self.totals];
        let reply: Vec<String> = link.call(&scripts::ACCOUNT, &keys, arguments).await?;
        let mut reply = reply.into_iter();
        // A count that was interrupted may be below nothing for a moment.
        let mut number = || reply.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let (bytes, threads, runs, active) = (number(), number(), number(), number());
        let excess: Vec<_> = reply.collect();
        Ok(Totals { bytes, threads, runs, active, excess: (!excess.is_empty()).then_some(excess) })
    }

    /// What there is in all.
    pub(crate) async fn totals(&self, link: &Link) -> Result<Totals, StoreError> {
        // No thread has this name.
        self.note(link, "", Entry::Gone).await
    }
}
