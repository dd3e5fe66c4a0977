//! Waiting that ends with the run.

use agui_core::Run;

/// The run was told to stop before the awaited thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// Awaits something unless the run is told to stop, which is looked at first.
pub(crate) async fn unless_cancelled<T>(run: &Run, work: impl Future<Output = T>) -> Result<T, Cancelled> {
    tokio::select! {
        biased;
        () = run.cancelled() => Err(Cancelled),
        done = work => Ok(done),
    }
}
