//! How many runs of this process are under way and how the others ended, by a label that scripts choose.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Labels are kept for as long as the process lives; only tests make them.
static COUNTS: Mutex<Option<HashMap<String, Counts>>> = Mutex::new(None);

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    active: u64,
    completed: u64,
    cancelled: u64,
    failed: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// In any other way than these.
    Completed,
    /// Stopped, abandoned, or with the cancelled outcome.
    Cancelled,
    /// With `RUN_ERROR`.
    Failed,
}

/// The labels one run is counted under.
///
/// A run whose future is dropped was abandoned, and one that unwinds has panicked; both are counted on drop.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    labels: HashSet<String>,
}

impl Tracked {
    /// Counts the run as active under a label, once however often it is said.
    pub(super) fn add(&mut self, label: String) {
        if !self.labels.contains(&label) {
            with(&label, |counts| counts.active += 1);
            self.labels.insert(label);
        }
    }

    /// Counts how the run ended. Called before the ending goes out, so that whoever sees it finds it counted.
    pub(super) fn settle(&mut self, ending: Ending) {
        for label in self.labels.drain() {
            with(&label, |counts| {
                counts.active = counts.active.saturating_sub(1);
                let ended = match ending {
                    Ending::Completed => &mut counts.completed,
                    Ending::Cancelled => &mut counts.cancelled,
                    Ending::Failed => &mut counts.failed,
                };
                *ended += 1;
            });
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.settle(if std::thread::panicking() { Ending::Failed } else { Ending::Cancelled });
    }
}

/// The figures of a label, as the `stats` step sends them.
pub(super) fn report(label: &str) -> Value {
    let Counts { active, completed, cancelled, failed } = with(label, |counts| *counts);
    json!({ "label": label, "active": active, "completed": completed, "cancelled": cancelled, "failed": failed })
}

fn with<T>(label: &str, change: impl FnOnce(&mut Counts) -> T) -> T {
    let mut counts: MutexGuard<'_, _> = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    change(counts.get_or_insert_default().entry(label.to_owned()).or_default())
}
