//! What a lease refers to: the place of the next batch, and what the run has taken so far.
//!
//! Every batch has a place of its own, and Redis takes a place only once. So a batch whose answer was lost can be sent
//! again without being recorded twice: the driver appends the very same batch once more, or goes on with the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agui_core::RunId;
use agui_core::store::{AppendError, EventBatch};

use crate::batch::run_bytes;
use crate::keys::ThreadKeys;
use crate::store::Shared;

/// One run of this process.
pub(crate) struct Drive {
    pub(crate) shared: Arc<Shared>,
    pub(crate) keys: ThreadKeys,
    pub(crate) token: String,
    pub(crate) run_id: RunId,
    /// The run's number in its thread; absent until Redis has given it.
    pub(crate) serial: String,
    /// The run's stream.
    pub(crate) stream: String,
    progress: Mutex<Progress>,
    /// Whether the run has begun, as far as is known.
    pub(crate) begun: bool,
    ended: AtomicBool,
}

/// How far a run has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The last place given to a batch.
    place: u64,
    /// A batch that was sent, and nothing was heard of it yet.
    sent: Option<(u64, EventBatch)>,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    /// What is set aside for the run.
    pub(crate) granted: u64,
    /// The last place that is known to be recorded.
    pub(crate) confirmed: u64,
    /// How many batches are known to be recorded.
    pub(crate) batches: u64,
}

impl Drive {
    pub(crate) fn new(
        shared: Arc<Shared>,
        keys: ThreadKeys,
        token: String,
        run_id: RunId,
        granted: u64,
    ) -> Self {
        let stream = keys.stream(&token, 0);
        let bytes = run_bytes(&run_id);
        Self {
            shared,
            keys,
            token,
            run_id,
            serial: String::new(),
            stream,
            progress: Mutex::new(Progress {
                place: 0,
                sent: None,
                events: 0,
                bytes,
                granted,
                confirmed: 0,
                batches: 0,
            }),
            begun: false,
            ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a script says of a batch: that the run is not this one's, that it is recorded, or that others are missing.
    pub(crate) fn judge(&self, answer: i64) -> Result<(), AppendError> {
        match answer {
            0 => {
                self.end();
                Err(AppendError::LeaseLost)
            }
            1 => Ok(()),
            _ => Err(AppendError::Incomplete),
        }
    }

    /// Says that nothing has to be done when the lease goes.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }
}

impl Progress {
    /// The place for a batch: the one it had if it is sent once more.
    pub(crate) fn send(&mut self, events: &EventBatch) -> u64 {
        if let Some((place, sent)) = &self.sent
            && Arc::ptr_eq(sent, events)
        {
            return *place;
        }
        self.place += 1;
        self.sent = Some((self.place, Arc::clone(events)));
        self.place
    }

    /// The batch of a place is recorded.
    pub(crate) fn confirm(&mut self, place: u64, size: u64) {
        if let Some((_, events)) = self.sent.take_if(|(sent, _)| *sent == place) {
            self.events += events.len() as u64;
            self.bytes += size;
            self.confirmed = place;
            self.batches += 1;
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if !*self.ended.get_mut() {
            self.shared.abandon(&self.keys, &self.token, &self.run_id, self.begun);
        }
    }
}
