//! The threads, who of them is idle, and what all of it takes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio_util::sync::CancellationToken;

use super::super::{
    AppendError, BeginError, Compaction, Cursor, EventBatch, Figures, NewRun, RunEntry, StopOutcome,
    ThreadKey, ThreadRecord, replay,
};
use super::MemoryLimits;
use super::log::{ENDING_BYTES, LogState, RUN_BYTES, RunLog, SharedLog, wake};
use crate::{Event, RunId};

/// What a thread takes beside its runs and its names.
const THREAD_BYTES: usize = 512;

/// What clones of the store, its leases and its followers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) limits: MemoryLimits,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) threads: HashMap<ThreadKey, Thread>,
    /// Threads without a run in progress, by when they were used last.
    idle: BTreeMap<u64, ThreadKey>,
    /// Counts uses, serials and readers: whatever needs a number of its own.
    counter: u64,
    /// What everything takes, grants included.
    pub(super) bytes: usize,
    pub(super) followers: u64,
}

#[derive(Debug)]
pub(super) struct Thread {
    owner: Option<Arc<str>>,
    /// Oldest first.
    pub(super) runs: VecDeque<Recorded>,
    pub(super) active: Option<Active>,
    used: u64,
    /// Tells the thread from one of the same key that was given up.
    pub(super) born: u64,
    pub(super) readers: usize,
}

#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) run_id: RunId,
    pub(super) log: SharedLog,
}

/// The run in progress, which is the last one of its thread.
#[derive(Debug)]
pub(super) struct Active {
    run_id: RunId,
    pub(super) log: SharedLog,
    stop: CancellationToken,
}

fn thread_bytes(key: &ThreadKey, owner: Option<&str>) -> usize {
    THREAD_BYTES + 2 * (key.agent_id().len() + key.thread_id().as_str().len()) + owner.map_or(0, str::len)
}

impl Index {
    pub(super) fn next_number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Notes that a thread is used just now.
    pub(super) fn touch(&mut self, key: &ThreadKey) {
        let now = self.next_number();
        let Some(thread) = self.threads.get_mut(key) else { return };
        let before = std::mem::replace(&mut thread.used, now);
        if let Some(key) = self.idle.remove(&before) {
            self.idle.insert(now, key);
        }
    }

    /// Gives up the idle thread that was used longest ago; if all are read, the one of those. False if none is idle.
    fn evict_one(&mut self, wakers: &mut Vec<Waker>) -> bool {
        let unread =
            self.idle.iter().find(|(_, key)| self.threads.get(*key).is_none_or(|thread| thread.readers == 0));
        let Some(used) = unread.or_else(|| self.idle.iter().next()).map(|(used, _)| *used) else {
            return false;
        };
        if let Some(key) = self.idle.remove(&used)
            && let Some(thread) = self.threads.remove(&key)
        {
            self.bytes -= thread_bytes(&key, thread.owner.as_deref());
            for run in thread.runs {
                let mut log = run.log.lock();
                self.bytes -= log.granted;
                wakers.append(&mut log.evict());
            }
        }
        true
    }

    /// Evicts until some more bytes fit in.
    pub(super) fn make_room(&mut self, bytes: usize, limit: usize, wakers: &mut Vec<Waker>) -> bool {
        while self.bytes.saturating_add(bytes) > limit {
            if !self.evict_one(wakers) {
                return false;
            }
        }
        true
    }

    /// The run in progress, if it is the lease's.
    fn active(&self, key: &ThreadKey, serial: u64) -> Option<&Active> {
        self.threads.get(key)?.active.as_ref().filter(|active| active.log.serial == serial)
    }

    /// Frees a thread; what is said of its run is seen afterwards.
    fn release(&mut self, key: &ThreadKey) {
        if let Some(thread) = self.threads.get_mut(key) {
            thread.active = None;
            self.idle.insert(thread.used, key.clone());
        }
        self.touch(key);
    }
}

impl Shared {
    pub(super) fn new(limits: MemoryLimits) -> Self {
        Self { limits, index: Mutex::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, key: &ThreadKey, run: NewRun) -> Result<SharedLog, BeginError> {
        let mut wakers = Vec::new();
        let begun = self.begin_locked(&mut self.lock(), key, run, &mut wakers);
        wake(wakers);
        begun
    }

    fn begin_locked(
        &self,
        index: &mut Index,
        key: &ThreadKey,
        run: NewRun,
        wakers: &mut Vec<Waker>,
    ) -> Result<SharedLog, BeginError> {
        if let Some(thread) = index.threads.get(key) {
            if thread.owner != run.owner {
                return Err(BeginError::OtherOwner);
            }
            if let Some(active) = &thread.active {
                return Err(BeginError::Busy { run_id: active.run_id.clone() });
            }
            if thread.runs.iter().any(|recorded| recorded.run_id == run.run_id) {
                return Err(BeginError::RunIdUsed);
            }
        }
        // The thread itself is idle and may be given up, but after every other.
        index.touch(key);
        let bare = RUN_BYTES + run.run_id.as_str().len();
        let granted = self.limits.grant_bytes.min(self.limits.max_run_bytes).max(bare + ENDING_BYTES);
        let names = thread_bytes(key, run.owner.as_deref());
        if !index.make_room(granted + names, self.limits.max_bytes, wakers) {
            return Err(BeginError::Full);
        }
        while !index.threads.contains_key(key) && index.threads.len() >= self.limits.max_threads {
            if !index.evict_one(wakers) {
                return Err(BeginError::Full);
            }
        }
        let serial = index.next_number();
        let log = Arc::new(RunLog::new(serial, bare, granted));
        index.bytes += granted;
        if !index.threads.contains_key(key) {
            index.bytes += names;
        }
        let thread = index.threads.entry(key.clone()).or_insert_with(|| Thread {
            owner: run.owner,
            runs: VecDeque::new(),
            active: None,
            used: serial,
            born: serial,
            readers: 0,
        });
        thread.runs.push_back(Recorded { run_id: run.run_id.clone(), log: Arc::clone(&log) });
        thread.active =
            Some(Active { run_id: run.run_id, log: Arc::clone(&log), stop: CancellationToken::new() });
        let used = thread.used;
        index.idle.remove(&used);
        Ok(log)
    }

    /// Sees to it that so many more bytes fit into the log of a run in progress.
    fn make_room_in(
        &self,
        index: &mut Index,
        state: &mut LogState,
        size: usize,
        wakers: &mut Vec<Waker>,
    ) -> Result<(), AppendError> {
        let needed = state.needed(size);
        if needed > self.limits.max_run_bytes {
            return Err(AppendError::RecordFull);
        }
        if needed > state.granted {
            let least = needed - state.granted;
            let whole = least.max(self.limits.grant_bytes).min(self.limits.max_run_bytes - state.granted);
            // Idle threads go for what is needed, not for what may be needed later.
            let more = if index.bytes.saturating_add(whole) <= self.limits.max_bytes { whole } else { least };
            if !index.make_room(more, self.limits.max_bytes, wakers) {
                return Err(AppendError::RecordFull);
            }
            index.bytes += more;
            state.granted += more;
        }
        Ok(())
    }

    pub(super) fn append(
        &self,
        key: &ThreadKey,
        log: &RunLog,
        events: EventBatch,
    ) -> Result<(), AppendError> {
        let size = LogState::size_of(&events);
        let mut wakers = Vec::new();
        let appended = {
            let mut state = log.lock();
            if state.ended {
                Err(AppendError::LeaseLost)
            } else if state.needed(size) <= state.granted {
                wakers = state.push(events, size);
                Ok(())
            } else {
                // Locks are taken in their order; what was seen may have changed meanwhile.
                drop(state);
                self.append_with_grant(key, log, events, size, &mut wakers)
            }
        };
        wake(wakers);
        appended
    }

    fn append_with_grant(
        &self,
        key: &ThreadKey,
        log: &RunLog,
        events: EventBatch,
        size: usize,
        wakers: &mut Vec<Waker>,
    ) -> Result<(), AppendError> {
        let mut index = self.lock();
        if index.active(key, log.serial).is_none() {
            return Err(AppendError::LeaseLost);
        }
        let mut state = log.lock();
        self.make_room_in(&mut index, &mut state, size, wakers)?;
        wakers.append(&mut state.push(events, size));
        Ok(())
    }

    pub(super) fn finish(
        &self,
        key: &ThreadKey,
        log: &RunLog,
        events: EventBatch,
        compaction: Compaction,
    ) -> Result<(), AppendError> {
        let size = LogState::size_of(&events);
        let mut wakers = Vec::new();
        let finished = {
            let mut index = self.lock();
            if index.active(key, log.serial).is_none() {
                Err(AppendError::LeaseLost)
            } else if matches!(&*events, [Event::RunError(_)]) {
                // Room was kept for it.
                Ok(())
            } else {
                self.make_room_in(&mut index, &mut log.lock(), size, &mut wakers)
            }
            .map(|()| Self::end_locked(&mut index, key, log, (events, size), compaction, &mut wakers))
        };
        wake(wakers);
        finished
    }

    /// Ends a run. The store's lock is held until the ending is in the log, so that nobody who sees it finds the thread
    /// busy.
    fn end_locked(
        index: &mut Index,
        key: &ThreadKey,
        log: &RunLog,
        (events, size): (EventBatch, usize),
        compaction: Compaction,
        wakers: &mut Vec<Waker>,
    ) {
        index.release(key);
        let mut state = log.lock();
        state.ended = true;
        state.compaction = compaction;
        wakers.append(&mut state.push(events, size));
        // What was set aside and not used.
        index.bytes = index.bytes + state.bytes - state.granted;
        state.granted = state.bytes;
    }

    /// Ends a run that nobody drives any more; false if it is not in progress.
    pub(super) fn abandon(&self, key: &ThreadKey, log: &RunLog) -> bool {
        let mut wakers = Vec::new();
        {
            let mut index = self.lock();
            if index.active(key, log.serial).is_none() {
                return false;
            }
            let events: EventBatch = [replay::lost()].into();
            let size = LogState::size_of(&events);
            Self::end_locked(&mut index, key, log, (events, size), Compaction::Allowed, &mut wakers);
        }
        wake(wakers);
        true
    }

    pub(super) fn stop_token(&self, key: &ThreadKey, serial: u64) -> Option<CancellationToken> {
        self.lock().active(key, serial).map(|active| active.stop.clone())
    }

    pub(super) fn request_stop(&self, key: &ThreadKey, run_id: Option<&RunId>) -> StopOutcome {
        let (stop, run_id) = {
            let index = self.lock();
            let Some(active) = index.threads.get(key).and_then(|thread| thread.active.as_ref()) else {
                return StopOutcome::Idle;
            };
            let active_id = active.run_id.clone();
            if run_id.is_some_and(|wanted| *wanted != active_id) {
                return StopOutcome::OtherRun { run_id: active_id };
            }
            if active.stop.is_cancelled() {
                return StopOutcome::AlreadyStopping { run_id: active_id };
            }
            (active.stop.clone(), active_id)
        };
        stop.cancel();
        StopOutcome::Stopping { run_id }
    }

    pub(super) fn thread(&self, key: &ThreadKey) -> Option<ThreadRecord> {
        let index = self.lock();
        let thread = index.threads.get(key)?;
        let mut end = Cursor::new("0.0.0");
        let runs = thread.runs.iter().map(|run| {
            let log = run.log.lock();
            end = cursor(run.log.serial, log.generation, log.batches.len());
            RunEntry::new(run.run_id.clone(), !log.ended, log.events())
        });
        let runs = runs.collect();
        Some(ThreadRecord::new(thread.owner.clone(), runs, end))
    }

    pub(super) fn figures(&self) -> Figures {
        let index = self.lock();
        let active_runs = index.threads.values().filter(|thread| thread.active.is_some()).count();
        let runs: usize = index.threads.values().map(|thread| thread.runs.len()).sum();
        Figures {
            bytes: index.bytes as u64,
            threads: index.threads.len() as u64,
            runs: runs as u64,
            active_runs: active_runs as u64,
            followers: index.followers,
        }
    }
}

/// The place behind a number of batches of a run.
pub(super) fn cursor(serial: u64, generation: u32, batches: usize) -> Cursor {
    Cursor::new(format!("{serial}.{generation}.{batches}"))
}
