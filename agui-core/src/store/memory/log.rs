//! The events of one run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::super::size::held_bytes;
use super::super::{Compaction, EventBatch};

/// What a run takes beside its events and its id: its log, its place in the thread.
pub(super) const RUN_BYTES: usize = 512;
/// What is kept of a run's grant for its ending.
pub(super) const ENDING_BYTES: usize = 1024;
/// What a batch takes beside its events.
const BATCH_BYTES: usize = 48;

/// One run's events, shared by the store and the run's readers.
#[derive(Debug)]
pub(super) struct RunLog {
    /// Orders the runs of the store; never used twice.
    pub(super) serial: u64,
    state: Mutex<LogState>,
}

#[derive(Debug)]
pub(super) struct LogState {
    pub(super) batches: Vec<EventBatch>,
    /// How many batches there were before the log was rewritten.
    pub(super) recorded: usize,
    /// How often the log was rewritten, which makes places inside it void.
    pub(super) generation: u32,
    /// What the run takes without its events.
    bare: usize,
    /// What the run takes.
    pub(super) bytes: usize,
    /// What the store has set aside for them.
    pub(super) granted: usize,
    pub(super) ended: bool,
    /// The store has given the thread up.
    pub(super) evicted: bool,
    pub(super) compaction: Compaction,
    pub(super) compacted: bool,
    /// Followers that have not left the log behind.
    pub(super) readers: usize,
    wakers: Vec<(u64, Waker)>,
}

impl RunLog {
    pub(super) fn new(serial: u64, bare: usize, granted: usize) -> Self {
        let state = LogState {
            batches: Vec::new(),
            recorded: 0,
            generation: 0,
            bare,
            bytes: bare,
            granted,
            ended: false,
            evicted: false,
            compaction: Compaction::Never,
            compacted: false,
            readers: 0,
            wakers: Vec::new(),
        };
        Self { serial, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LogState> {
        // Whoever panicked left a log that is whole: every change is made by one assignment after the checks.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
    /// What a batch would add.
    pub(super) fn size_of(events: &EventBatch) -> usize {
        BATCH_BYTES + events.iter().map(held_bytes).sum::<usize>()
    }

    /// The grant it takes to add so many bytes and still have room for an ending.
    pub(super) const fn needed(&self, size: usize) -> usize {
        self.bytes.saturating_add(size).saturating_add(ENDING_BYTES)
    }

    /// Adds a batch for which there is room. The wakers are to be woken without the lock.
    #[must_use]
    pub(super) fn push(&mut self, events: EventBatch, size: usize) -> Vec<Waker> {
        if !events.is_empty() {
            self.batches.push(events);
            self.recorded = self.batches.len();
            self.bytes += size;
        }
        self.take_wakers()
    }

    /// Puts other events in the place of those recorded. Returns how many bytes it has become less, and more.
    pub(super) fn rewrite(&mut self, events: Vec<crate::Event>) -> (usize, usize) {
        let batch = EventBatch::from(events);
        let before = self.bytes;
        self.bytes = self.bare + Self::size_of(&batch);
        self.granted = self.bytes;
        self.batches = vec![batch];
        self.generation += 1;
        (before, self.bytes)
    }

    /// Gives the events up.
    #[must_use]
    pub(super) fn evict(&mut self) -> Vec<Waker> {
        self.evicted = true;
        self.batches = Vec::new();
        self.take_wakers()
    }

    /// Remembers whom to wake when something is added.
    pub(super) fn wait(&mut self, reader: u64, waker: &Waker) {
        match self.wakers.iter_mut().find(|(waiting, _)| *waiting == reader) {
            Some((_, held)) => held.clone_from(waker),
            None => self.wakers.push((reader, waker.clone())),
        }
    }

    pub(super) fn stop_waiting(&mut self, reader: u64) {
        self.wakers.retain(|(waiting, _)| *waiting != reader);
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers).into_iter().map(|(_, waker)| waker).collect()
    }

    pub(super) fn events(&self) -> u64 {
        self.batches.iter().map(|batch| batch.len() as u64).sum()
    }
}

/// Wakes those who wait, after the locks are gone.
pub(super) fn wake(wakers: Vec<Waker>) {
    for waker in wakers {
        waker.wake();
    }
}

/// A log and its run, for whoever works on them without the store's lock.
pub(super) type SharedLog = Arc<RunLog>;
