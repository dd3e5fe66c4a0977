//! What the store says while a run goes on: that it shall stop, or that it is no longer ours.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use agui_core::producer::{CancelReason, RunControl};
use agui_core::store::{AppendError, DynRunStore, RunLease, StopSignal};
use tokio::time::sleep;

use super::{Race, race};

/// After how long a store is asked again that could not tell.
const RETRY: Duration = Duration::from_secs(1);

/// Hands stops on to the run and keeps the lease, until the lease is lost.
pub(super) async fn watch(store: &dyn DynRunStore, lease: &RunLease, control: &RunControl) {
    race(pin!(stops(store, lease, control)), pin!(renewals(store, lease))).await;
}

/// Resolves when the lease is lost.
async fn stops(store: &dyn DynRunStore, lease: &RunLease, control: &RunControl) {
    loop {
        match store.stop_requested_boxed(lease).await {
            Ok(StopSignal::LeaseLost) => return,
            Ok(_) => {
                control.cancel(CancelReason::Stopped);
                // It would say so again at once.
                return pending().await;
            }
            Err(error) => {
                tracing::warn!(%error, "whether the run shall stop cannot be asked");
                sleep(RETRY).await;
            }
        }
    }
}

/// Resolves when the lease is lost.
async fn renewals(store: &dyn DynRunStore, lease: &RunLease) {
    let Some(interval) = store.renew_interval() else { return pending().await };
    loop {
        sleep(interval).await;
        // An answer that does not come is one of the next interval's business.
        while let Race::First(Err(error)) = race(pin!(store.renew_boxed(lease)), pin!(sleep(interval))).await
        {
            if matches!(error, AppendError::LeaseLost) {
                return;
            }
            tracing::warn!(%error, "the lease of the run cannot be renewed");
            sleep(RETRY.min(interval)).await;
        }
    }
}
