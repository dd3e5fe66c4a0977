//! Reading a thread of the memory store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::{Cursor, FollowError, FollowSource, Followed, Page, StoreError, ThreadKey};
use super::index::{Shared, cursor};
use super::log::SharedLog;

/// The runs that a thread had when the follower was made, read one after the other.
pub(super) struct MemoryFollower {
    shared: Arc<Shared>,
    key: ThreadKey,
    /// When the thread was born.
    born: u64,
    /// Its number, under which logs know it.
    id: u64,
    /// What is not read yet; each log counts this reader until it has left.
    logs: VecDeque<SharedLog>,
    /// Batches of the first log that have been read.
    read: usize,
    told: bool,
}

impl MemoryFollower {
    pub(super) fn open(
        shared: &Arc<Shared>,
        key: &ThreadKey,
        after: Option<&Cursor>,
    ) -> Result<Option<Self>, FollowError> {
        let mut index = shared.lock();
        let Some(thread) = index.threads.get(key) else {
            return match after {
                None => Ok(None),
                Some(_) => Err(FollowError::CursorExpired),
            };
        };
        // A thread at rest counts like any other: one that is read slowly is read for as long as one that is written.
        if thread.readers >= shared.limits.max_followers {
            return Err(FollowError::TooManyFollowers);
        }
        let mut logs: VecDeque<_> = thread.runs.iter().map(|run| Arc::clone(&run.log)).collect();
        let mut read = 0;
        if let Some(after) = after {
            let Place { serial, generation, batches } =
                Place::parse(after).ok_or(FollowError::CursorExpired)?;
            let at = logs.iter().position(|log| log.serial == serial).ok_or(FollowError::CursorExpired)?;
            logs.drain(..at);
            let first = logs.front().map(|log| log.lock());
            if let Some(log) = first {
                // A log that was rewritten has lost its places, all but the one behind it.
                read = match (log.generation == generation, batches) {
                    (true, batches) if batches <= log.batches.len() => batches,
                    (false, batches) if batches >= log.recorded => log.batches.len(),
                    _ => return Err(FollowError::CursorExpired),
                };
            }
        }
        for log in &logs {
            log.lock().readers += 1;
        }
        let born = thread.born;
        let id = index.next_number();
        index.followers += 1;
        if let Some(thread) = index.threads.get_mut(key) {
            thread.readers += 1;
        }
        index.touch(key);
        drop(index);
        Ok(Some(Self { shared: Arc::clone(shared), key: key.clone(), born, id, logs, read, told: false }))
    }

    /// Leaves the first log behind.
    fn leave_first(&mut self) {
        if let Some(log) = self.logs.pop_front() {
            let mut state = log.lock();
            state.readers -= 1;
            state.stop_waiting(self.id);
        }
        self.read = 0;
    }
}

impl FollowSource for MemoryFollower {
    fn poll_followed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Followed, StoreError>>> {
        loop {
            let Some(log) = self.logs.front() else { return Poll::Ready(None) };
            let mut state = log.lock();
            if state.evicted {
                return Poll::Ready(Some(Err(StoreError::new("the thread was given up to make room"))));
            }
            if let Some(batch) = state.batches.get(self.read) {
                let events = Arc::clone(batch);
                self.read += 1;
                let place = cursor(log.serial, state.generation, self.read);
                return Poll::Ready(Some(Ok(Followed::Page(Page::new(events, place)))));
            }
            if !state.ended {
                if !self.told {
                    self.told = true;
                    return Poll::Ready(Some(Ok(Followed::CaughtUp)));
                }
                state.wait(self.id, cx.waker());
                return Poll::Pending;
            }
            drop(state);
            self.leave_first();
        }
    }
}

impl Drop for MemoryFollower {
    fn drop(&mut self) {
        {
            let mut index = self.shared.lock();
            index.followers -= 1;
            // The thread may have been given up and begun anew since, without this reader.
            if let Some(thread) = index.threads.get_mut(&self.key).filter(|thread| thread.born == self.born) {
                thread.readers -= 1;
            }
        }
        while !self.logs.is_empty() {
            self.leave_first();
        }
        self.shared.keep_up(&self.key);
    }
}

/// What a cursor of this store says.
struct Place {
    serial: u64,
    generation: u32,
    batches: usize,
}

impl Place {
    fn parse(cursor: &Cursor) -> Option<Self> {
        let mut parts = cursor.as_str().split('.');
        let place = Self {
            serial: parts.next()?.parse().ok()?,
            generation: parts.next()?.parse().ok()?,
            batches: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(place)
    }
}
