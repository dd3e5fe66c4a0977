//! What becomes of runs that have ended: they are compacted, and the oldest of a thread dropped beyond its limit.
//!
//! A job is chosen under the store's lock, done without any lock, and put in place only if nobody has begun to read
//! what it rewrites. The next reader that leaves tries again.

use std::sync::Arc;

use super::super::compact::compact_batches;
use super::super::{Compaction, EventBatch, ThreadKey, replay};
use super::index::{Index, Shared};
use super::log::{LogState, SharedLog, wake};
use crate::Event;

enum Job {
    Compact(SharedLog, Vec<EventBatch>),
    /// The runs to drop and the one that takes over from them, with the generations that were seen.
    Drop(Vec<(SharedLog, u32, Vec<EventBatch>)>),
}

impl Shared {
    /// Does what is due for a thread.
    pub(super) fn keep_up(&self, key: &ThreadKey) {
        loop {
            let Some(job) = Job::choose(&mut self.lock(), key, self.limits.max_runs_per_thread) else {
                return;
            };
            let done = match job {
                Job::Compact(log, batches) => {
                    let events = compact_batches(batches.iter().map(|batch| &**batch));
                    // The batches are let go before they are counted as gone.
                    drop(batches);
                    self.replace(&log, events)
                }
                Job::Drop(runs) => self.drop_oldest(key, &runs),
            };
            if !done {
                return;
            }
        }
    }

    fn replace(&self, log: &SharedLog, events: Vec<Event>) -> bool {
        let mut index = self.lock();
        let mut state = log.lock();
        if state.evicted || state.readers > 0 {
            state.compacted = false;
            return false;
        }
        index.rewrite(&mut state, events);
        true
    }

    fn drop_oldest(&self, key: &ThreadKey, runs: &[(SharedLog, u32, Vec<EventBatch>)]) -> bool {
        let Some(((heir, _, kept), dropped)) = runs.split_last() else { return false };
        let before = dropped.iter().flat_map(|(_, _, batches)| batches).flat_map(|batch| batch.iter());
        let Some(events) = replay::restate(before, kept.iter().flat_map(|batch| batch.iter())) else {
            return false;
        };
        let mut wakers = Vec::new();
        let done = {
            let mut index = self.lock();
            let Some(thread) = index.threads.get_mut(key) else { return false };
            let unchanged = thread.readers == 0
                && thread.runs.len() >= runs.len()
                && thread.runs.iter().zip(runs).all(|(run, (log, generation, _))| {
                    Arc::ptr_eq(&run.log, log) && log.lock().generation == *generation
                });
            if unchanged {
                let gone: usize = thread.runs.drain(..dropped.len()).map(|run| run.log.lock().granted).sum();
                index.bytes -= gone;
                index.rewrite(&mut heir.lock(), events);
                // The snapshots may be more than what they stand for.
                index.make_room(0, self.limits.max_bytes, &mut wakers);
            }
            unchanged
        };
        wake(wakers);
        done
    }
}

impl Index {
    fn rewrite(&mut self, state: &mut LogState, events: Vec<Event>) {
        let (before, after) = state.rewrite(events);
        self.bytes = self.bytes + after - before;
    }
}

impl Job {
    fn choose(index: &mut Index, key: &ThreadKey, max_runs: usize) -> Option<Self> {
        let thread = index.threads.get(key)?;
        for run in &thread.runs {
            let mut state = run.log.lock();
            if !state.ended || state.compacted || state.readers > 0 {
                continue;
            }
            // Claimed, so that nobody else does the same.
            state.compacted = true;
            if state.compaction == Compaction::Allowed {
                return Some(Self::Compact(Arc::clone(&run.log), state.batches.clone()));
            }
        }
        let ended = thread.runs.len() - usize::from(thread.active.is_some());
        let excess = ended.checked_sub(max_runs).filter(|excess| *excess > 0)?;
        if thread.readers > 0 {
            return None;
        }
        // Snapshots stand behind a RUN_STARTED (LIFE-1).
        let heir = thread.runs.range(excess..ended).position(|run| {
            let state = run.log.lock();
            matches!(state.batches.iter().flat_map(|batch| batch.iter()).next(), Some(Event::RunStarted(_)))
        })?;
        let runs = thread.runs.range(..=excess + heir).map(|run| {
            let state = run.log.lock();
            (Arc::clone(&run.log), state.generation, state.batches.clone())
        });
        Some(Self::Drop(runs.collect()))
    }
}
