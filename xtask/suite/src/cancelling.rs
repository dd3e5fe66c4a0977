//! What becomes of a run whose client goes away, and of a server that shuts down.
//!
//! A framework notices a client that is gone by its socket or by its writes; keep-alive comments make sure there are
//! some. So the silent runs here have a short keep-alive, and [`a_silent_run_ends_within`] lets a binding say what it
//! promises: a bound with a certain keep-alive, or one without any where the framework watches its sockets.

use std::sync::Arc;
use std::time::Duration;

use agui_core::producer::CancelReason;
use agui_core::{Run, RunEnd, RunHandler};
use http::StatusCode;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{Client, start_run, types, whole_run};
use crate::{Start, endpoint};

/// How long a run may go on after its client has gone, where nothing else is said.
pub const MOMENT: Duration = Duration::from_secs(3);
/// The keep-alive of runs that say nothing.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_millis(50);

/// Says that it is gone when it is dropped: what a handler holds until its future ends.
struct Sign(UnboundedSender<&'static str>);

impl Drop for Sign {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// A handler made of a function that gets a sign to hold and a channel to report on.
fn watched<F, Fut>(work: F) -> (impl RunHandler, UnboundedReceiver<&'static str>)
where
    F: Fn(Run, UnboundedSender<&'static str>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), agui_core::RunError>> + Send,
{
    let (sender, receiver) = unbounded_channel();
    let work = Arc::new(work);
    let handler = move |run: Run| {
        let (sender, work) = (sender.clone(), Arc::clone(&work));
        async move {
            let _sign = Sign(sender.clone());
            work(run, sender).await?;
            Ok(RunEnd::success())
        }
    };
    (handler, receiver)
}

/// Waits for a report, and that it comes soon.
pub(crate) async fn soon(reports: &mut UnboundedReceiver<&'static str>, expected: &str) {
    within(MOMENT, reports, expected).await;
}

async fn within(bound: Duration, reports: &mut UnboundedReceiver<&'static str>, expected: &str) {
    let report = tokio::time::timeout(bound, reports.recv()).await;
    assert_eq!(report, Ok(Some(expected)));
}

/// A run that writes finds out at its next write.
pub async fn a_client_that_goes_away_ends_a_run_that_writes(start: Start) {
    let (handler, mut reports) = watched(async |run, _| {
        let mut answer = run.message();
        loop {
            answer.delta("more ").await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let server = start(endpoint(handler)).await;
    let (client, mut answer) = start_run(&server).await;
    answer.until("more ").await;
    client.leave();
    drop(answer);
    soon(&mut reports, "dropped").await;
}

/// A run that waits because nobody reads finds out as well.
pub async fn a_client_that_goes_away_ends_a_run_that_waits_for_its_reader(start: Start) {
    let (handler, mut reports) = watched(async |run, _| {
        let mut answer = run.message();
        loop {
            answer.delta("x".repeat(10_000)).await?;
        }
    });
    let server = start(endpoint(handler)).await;
    let (client, mut answer) = start_run(&server).await;
    answer.until("\n\n").await;
    // Until the socket's buffers are full and the run really waits.
    tokio::time::sleep(Duration::from_millis(200)).await;
    client.leave();
    drop(answer);
    soon(&mut reports, "dropped").await;
}

/// A silent run finds out without writing anything itself.
pub async fn a_client_that_goes_away_ends_a_silent_run(start: Start) {
    a_silent_run_ends_within(start, KEEP_ALIVE, MOMENT).await;
}

/// The same with a keep-alive and a bound of the binding's own.
pub async fn a_silent_run_ends_within(
    start: Start,
    keep_alive: impl Into<Option<Duration>>,
    bound: Duration,
) {
    let (handler, mut reports) = silent();
    let server = start(endpoint(handler).with_keep_alive(keep_alive)).await;
    let (client, mut answer) = start_run(&server).await;
    answer.until("\n\n").await;
    client.leave();
    drop(answer);
    within(bound, &mut reports, "dropped").await;
}

/// A handler that waits for ever.
pub(crate) fn silent() -> (impl RunHandler, UnboundedReceiver<&'static str>) {
    watched(async |_, _| {
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// With a grace the handler is told, learns why, and can clean up.
pub async fn a_handler_hears_of_it_within_its_grace(start: Start) {
    let (handler, mut reports) = watched(async |run: Run, reports| {
        run.cancelled().await;
        assert_eq!(run.cancel_reason(), Some(CancelReason::Abandoned));
        let _ = reports.send("told");
        // What is written now reaches nobody, and does no harm.
        let _ = run.text("too late").await;
        let _ = reports.send("cleaned up");
        Ok(())
    });
    let graceful = endpoint(handler).with_keep_alive(KEEP_ALIVE).with_abandon_grace(Duration::from_secs(30));
    let server = start(graceful).await;
    let (client, mut answer) = start_run(&server).await;
    answer.until("\n\n").await;
    client.leave();
    drop(answer);
    soon(&mut reports, "told").await;
    soon(&mut reports, "cleaned up").await;
    soon(&mut reports, "dropped").await;
}

/// A handler that does not come back in time is dropped where it sleeps.
pub async fn a_handler_that_sleeps_past_its_grace_is_dropped(start: Start) {
    let (handler, mut reports) = watched(async |run: Run, reports| {
        run.cancelled().await;
        let _ = reports.send("told");
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Ok(())
    });
    let graceful =
        endpoint(handler).with_keep_alive(KEEP_ALIVE).with_abandon_grace(Duration::from_millis(100));
    let server = start(graceful).await;
    let (client, mut answer) = start_run(&server).await;
    answer.until("\n\n").await;
    client.leave();
    drop(answer);
    soon(&mut reports, "told").await;
    soon(&mut reports, "dropped").await;
}

/// A handler that never looks is dropped all the same, and errors of its writing do not keep it going.
pub async fn a_handler_that_ignores_cancellation_is_dropped(start: Start) {
    let (handler, mut reports) = watched(async |run: Run, _| {
        loop {
            let _ = run.custom("tick", json!(null)).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let server = start(endpoint(handler)).await;
    let (client, mut answer) = start_run(&server).await;
    answer.until("tick").await;
    client.leave();
    drop(answer);
    soon(&mut reports, "dropped").await;
}

/// Silence alone, and a reader that is slow, are no reasons to end a run.
pub async fn a_client_that_stays_is_not_taken_for_gone(start: Start) {
    let server = start(
        endpoint(async |run: Run| {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert!(!run.is_cancelled());
            run.text("still here").await?;
            Ok(RunEnd::success())
        })
        .with_keep_alive(Duration::from_millis(20)),
    )
    .await;
    let events = whole_run(&server).await;
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
}

/// A shutdown lets nothing in and leaves nothing hanging.
pub async fn shutdown_refuses_new_runs_and_ends_the_others(start: Start) {
    let (handler, mut reports) = watched(async |run: Run, _| {
        run.message().delta("on").await?;
        std::future::pending::<()>().await;
        Ok(())
    });
    let endpoint = endpoint(handler).with_stop_grace(Duration::from_millis(50));
    let server = start(endpoint.clone()).await;
    let (_client, mut answer) = start_run(&server).await;
    answer.until("\"on\"").await;

    let shutdown = endpoint.shutdown(Duration::from_millis(50));
    let mut late = Client::connect(&server).await;
    let refused = late.run().await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(refused.json().await["code"], "unavailable");

    shutdown.await;
    soon(&mut reports, "dropped").await;
    answer.until("\n\n").await;
    let events = answer.events().await;
    assert_eq!(types(&events), ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    assert_eq!(events[1]["outcome"], json!({ "type": "cancelled" }));
}
