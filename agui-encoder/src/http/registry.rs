//! The runs in progress: how many there are, whose they are, and how a shutdown reaches them.
//!
//! A run counts against the limits until its ending is about to become visible, so that a client which reacts to the
//! ending is not refused because of the run it has just seen end. It is tracked until its driver is done.
//!
//! Where the limits leave no place, a run that supersedes another one is admitted as the heir to its place.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agui_core::producer::{CancelReason, RunControl};
use agui_core::store::ThreadKey;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Refusal, RefusalCode};

/// The runs in progress of an endpoint and of its clones.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    /// Told when the last run has ended.
    idle: Notify,
    /// Fires when new runs are refused, for connections that outlive a run.
    #[cfg(feature = "websocket")]
    pub(crate) shutting_down: CancellationToken,
    /// Cancelled when a shutdown is done: who still follows a run follows one of another process.
    pub(crate) closed: CancellationToken,
}

#[derive(Debug, Default)]
struct Inner {
    /// New runs are refused.
    closing: bool,
    /// The grace of the shutdown is over.
    cancelling: bool,
    next: u64,
    /// The runs that count, by the number of their slot.
    places: HashMap<u64, Place>,
    per_identity: HashMap<String, usize>,
    tracked: HashMap<u64, Option<RunControl>>,
}

/// What a run that counts takes up.
#[derive(Debug)]
struct Place {
    identity: Option<String>,
    /// What it is in progress on, where that excludes other runs.
    thread: Option<ThreadKey>,
    /// The slot of the run that will have the place.
    heir: Option<u64>,
}

/// What a run is admitted under.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    pub(crate) thread: Option<ThreadKey>,
    pub(crate) max_runs: Option<usize>,
    /// Whose run it is, and how many that caller may have.
    pub(crate) identity: Option<(String, usize)>,
}

impl Inner {
    /// Takes note of something that a shutdown waits for.
    fn track(&mut self) -> u64 {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.tracked.insert(id, None);
        id
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a run in, if there is room for it.
    pub(crate) fn enter(self: &Arc<Self>, quota: Quota) -> Result<Slot, Refusal> {
        let mut inner = self.lock();
        if inner.closing {
            return Err(closing());
        }
        if let Some((identity, limit)) = &quota.identity
            && inner.per_identity.get(identity).copied().unwrap_or(0) >= *limit
        {
            return Err(Refusal::new(RefusalCode::TooManyRuns));
        }
        if quota.max_runs.is_some_and(|limit| inner.places.len() >= limit) {
            return Err(Refusal::new(RefusalCode::Unavailable)
                .with_message("The server has no room for another run."));
        }
        let id = inner.track();
        let identity = quota.identity.map(|(identity, _)| identity);
        if let Some(identity) = &identity {
            *inner.per_identity.entry(identity.clone()).or_default() += 1;
        }
        inner.places.insert(id, Place { identity, thread: quota.thread, heir: None });
        drop(inner);
        Ok(Slot { registered: true, tracked: Tracked { registry: Arc::clone(self), id } })
    }

    /// Takes a run in that will have the place of the one in progress on its thread, as soon as that gives it up. `None`
    /// if that run is none of this process's or of another caller's, or another one is to have its place.
    pub(crate) fn inherit(self: &Arc<Self>, thread: &ThreadKey, identity: Option<&str>) -> Option<Slot> {
        let mut inner = self.lock();
        if inner.closing {
            return None;
        }
        let heir = inner.next;
        let place = inner.places.values_mut().find(|place| place.thread.as_ref() == Some(thread))?;
        if place.heir.is_some() || place.identity.as_deref() != identity {
            return None;
        }
        place.heir = Some(heir);
        let id = inner.track();
        drop(inner);
        Some(Slot { registered: true, tracked: Tracked { registry: Arc::clone(self), id } })
    }

    /// Refuses what would outlive a shutdown.
    pub(crate) fn check_open(&self) -> Result<(), Refusal> {
        if self.lock().closing { Err(closing()) } else { Ok(()) }
    }

    /// Refuses new runs, lets the others end for as long as `grace`, then cancels them; resolves when all have ended.
    pub(crate) fn shutdown(self: Arc<Self>, grace: Duration) -> impl Future<Output = ()> + Send {
        self.lock().closing = true;
        #[cfg(feature = "websocket")]
        self.shutting_down.cancel();
        async move {
            if tokio::time::timeout(grace, self.idle()).await.is_err() {
                let running: Vec<_> = {
                    let mut inner = self.lock();
                    inner.cancelling = true;
                    inner.tracked.values().flatten().cloned().collect()
                };
                for control in running {
                    control.cancel(CancelReason::Shutdown);
                }
                self.idle().await;
            }
            self.closed.cancel();
        }
    }

    /// Resolves when no run is in progress.
    async fn idle(&self) {
        loop {
            let mut idle = pin!(self.idle.notified());
            // Registered before the look, so that an end in between is not missed.
            idle.as_mut().enable();
            if self.lock().tracked.is_empty() {
                return;
            }
            idle.await;
        }
    }
}

fn closing() -> Refusal {
    Refusal::new(RefusalCode::Unavailable).with_message("The server is shutting down.")
}

/// The place of one run in the registry.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Whether it has a place, or is the heir to one.
    registered: bool,
    tracked: Tracked,
}

/// Something that a shutdown waits for.
#[derive(Debug)]
pub(crate) struct Tracked {
    registry: Arc<Registry>,
    id: u64,
}

impl Slot {
    /// Says how the run is reached.
    pub(crate) fn attach(&self, control: &RunControl) {
        let Tracked { registry, id } = &self.tracked;
        let mut inner = registry.lock();
        let cancelling = inner.cancelling;
        if let Some(place) = inner.tracked.get_mut(id) {
            *place = Some(control.clone());
        }
        drop(inner);
        // A shutdown that looked a moment ago has not seen this run.
        if cancelling {
            control.cancel(CancelReason::Shutdown);
        }
    }

    /// Something else about the run that a shutdown has to wait for.
    pub(crate) fn track(&self) -> Tracked {
        let registry = Arc::clone(&self.tracked.registry);
        let id = registry.lock().track();
        Tracked { registry, id }
    }

    /// Stops counting the run: its ending is about to be seen.
    pub(crate) fn release(&mut self) {
        if !std::mem::replace(&mut self.registered, false) {
            return;
        }
        let Tracked { registry, id } = &self.tracked;
        let mut inner = registry.lock();
        let Some(mut place) = inner.places.remove(id) else {
            // An heir that gives up before the place is free.
            for place in inner.places.values_mut().filter(|place| place.heir == Some(*id)) {
                place.heir = None;
            }
            return;
        };
        if let Some(heir) = place.heir.take() {
            inner.places.insert(heir, place);
            return;
        }
        if let Some(identity) = &place.identity
            && let Some(count) = inner.per_identity.get_mut(identity)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                inner.per_identity.remove(identity);
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut inner = self.registry.lock();
        inner.tracked.remove(&self.id);
        let idle = inner.tracked.is_empty();
        drop(inner);
        if idle {
            self.registry.idle.notify_waiters();
        }
    }
}
