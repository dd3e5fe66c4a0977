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
    /// So much more, if there is room or others can make some.
    Admit { bytes: u64, runs: u8 },
    /// So much more, or less.
    Add { bytes: i64, runs: i64, active: i64 },
    /// Exactly this, and no run in progress.
    Set { bytes: u64, runs: usize },
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
    /// Whether there was room.
    pub(crate) admitted: bool,
    /// Threads that go for it. They are not in the count any more.
    pub(crate) victims: Vec<Victim>,
}

/// A thread that has to go.
#[derive(Debug, Clone)]
pub(crate) struct Victim {
    pub(crate) tag: String,
    /// What was said of it.
    pub(crate) entry: Entry,
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
            retention_ms: settings.kept().as_millis().to_string(),
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
                Entry::Admit { bytes, runs } => command.arg("admit").arg(bytes).arg(runs).arg(runs),
                Entry::Add { bytes, runs, active } => command.arg("add").arg(bytes).arg(runs).arg(active),
                Entry::Set { bytes, runs } => command.arg("set").arg(bytes).arg(runs).arg(0),
                Entry::Use => command.arg("use").arg(0).arg(0).arg(0),
                Entry::Gone => command.arg("del").arg(0).arg(0).arg(0),
            };
            command.arg(&self.retention_ms).arg(self.max_bytes).arg(self.max_threads).arg(&self.lease_ms);
        };
        let keys = [&*self.uses, &self.sizes, &self.totals];
        let reply: Vec<String> = link.call(&scripts::ACCOUNT, &keys, arguments).await?;
        let (totals, victims) = reply.split_at_checked(5).unwrap_or_default();
        // A count that was interrupted may be below nothing for a moment.
        let number = |at: usize| totals.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
        let victims = victims.chunks(4).filter_map(|victim| {
            let [tag, bytes, runs, active] = victim else { return None };
            let entry = Entry::Add {
                bytes: bytes.parse().ok()?,
                runs: runs.parse().ok()?,
                active: active.parse().ok()?,
            };
            Some(Victim { tag: tag.clone(), entry })
        });
        Ok(Totals {
            bytes: number(0),
            threads: number(1),
            runs: number(2),
            active: number(3),
            admitted: number(4) == 1,
            victims: victims.collect(),
        })
    }

    /// What there is in all.
    pub(crate) async fn totals(&self, link: &Link) -> Result<Totals, StoreError> {
        // No thread has this name.
        self.note(link, "", Entry::Gone).await
    }
}
