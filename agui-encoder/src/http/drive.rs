//! The driver of a run: spawns it, bounds it in time, catches its panics, and gives it its one ending.
//!
//! What ends a run: its handler returns; somebody stops it, and it gets a grace before its future is dropped; its reader
//! leaves, which leaves nobody to write an ending for; its time is up. The handler's cancellation signal fires first in
//! every case. Panics and errors that are not public reach the log and the error hook, never the client.
//!
//! Invariant: once a driver is gone its run is over, also when the runtime drops it.

use std::any::Any;
use std::fmt;
use std::future::{self, Future};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use agui_core::producer::{CancelReason, RunControl, RunOutcome, RunTask};
use agui_core::{RunAgentInput, RunEnd, RunError, RunId, ThreadId, WriteError};
use tokio::time::{Instant, Sleep, sleep};
use tracing::{Instrument, Span, field};

use super::registry::Slot;
use super::settings::{DriveSettings, ErrorHook};

/// What becomes of a run whose client goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnDisconnect {
    /// It is cancelled, and nothing more is written.
    #[default]
    Cancel,
    /// It goes on to its end; its events are dropped.
    Detach,
}

/// Which run something is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunInfo {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run.
    pub run_id: RunId,
    /// The agent that serves it, where the endpoint has several.
    pub agent: Option<Arc<str>>,
}

impl RunInfo {
    pub(crate) fn new(input: &RunAgentInput, agent: Option<Arc<str>>) -> Self {
        Self { thread_id: input.thread_id.clone(), run_id: input.run_id.clone(), agent }
    }

    /// The span everything of the run happens in: identifiers, and in the end how it went; no payloads.
    pub(crate) fn span(&self) -> Span {
        tracing::info_span!(
            "agui_run",
            thread_id = clip(self.thread_id.as_str()),
            run_id = clip(self.run_id.as_str()),
            agent = self.agent.as_deref(),
            outcome = field::Empty,
            duration_ms = field::Empty,
        )
    }

    /// The span of somebody who reads a thread.
    pub(crate) fn connect_span(&self) -> Span {
        tracing::info_span!(
            "agui_connect",
            thread_id = clip(self.thread_id.as_str()),
            agent = self.agent.as_deref(),
        )
    }
}

/// An identifier for the log or a message. A client may send one of megabytes.
pub(crate) fn clip(id: &str) -> &str {
    const MAX_BYTES: usize = 128;
    let mut end = id.len().min(MAX_BYTES);
    while !id.is_char_boundary(end) {
        end -= 1;
    }
    id.get(..end).unwrap_or_default()
}

/// Hands failures in full to the log and to the application.
#[derive(Clone)]
pub(crate) struct Reporter {
    pub(crate) info: RunInfo,
    pub(crate) hook: Option<ErrorHook>,
}

impl Reporter {
    pub(crate) fn report(&self, error: &RunError) {
        let source = error.source().map(|source| Chain(source).to_string());
        // All of it as fields, which are escaped: a message may hold what a model or a client wrote.
        tracing::error!(
            code = error.code(),
            error = source,
            public_message = error.public_message(),
            "the run failed"
        );
        if let Some(hook) = &self.hook {
            // The run still needs its ending if the hook panics.
            if catch_unwind(AssertUnwindSafe(|| hook(error, &self.info))).is_err() {
                tracing::error!("the error hook panicked");
            }
        }
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").field("info", &self.info).finish_non_exhaustive()
    }
}

/// An error with its causes.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// A run and everything its driver needs.
#[derive(Debug)]
pub(crate) struct Drive {
    pub(crate) task: RunTask,
    pub(crate) control: RunControl,
    pub(crate) slot: Slot,
    pub(crate) settings: DriveSettings,
    pub(crate) reporter: Reporter,
}

impl Drive {
    /// Spawns the run onto the current runtime.
    pub(crate) fn spawn(self, span: Span) {
        tokio::spawn(self.run(span.clone()).instrument(span));
    }

    async fn run(self, span: Span) {
        let began = Instant::now();
        let Self { task, control, mut slot, settings, reporter } = self;
        // Declared after the slot, so that the run is over before it stops being tracked.
        let guard = Guard(&control);
        let mut work = Work(Some(task));
        // Timers that few runs have are behind pointers, here and below: an open stream keeps the room for all of this.
        let deadline = settings.timeout.map(|timeout| Box::pin(sleep(timeout)));
        let first = if control.is_over() {
            // Its client is gone already, or the echoed input is over the limit on one event.
            work.discard();
            First::Done(Err(RunError::internal("the run could not begin").with_code("event_too_large")))
        } else {
            first(&mut work, &control, deadline).await
        };
        match first {
            First::Done(result) => settle(&control, &mut slot, &reporter, result),
            First::Cancelled
                if matches!(
                    control.cancel_reason(),
                    Some(CancelReason::Abandoned | CancelReason::Refused)
                ) =>
            {
                slot.release();
                control.close();
                Box::pin(work.linger(settings.abandon_grace)).await;
            }
            First::Cancelled => {
                let result = Box::pin(work.within(settings.stop_grace)).await;
                work.discard();
                settle(&control, &mut slot, &reporter, result.unwrap_or_else(|| Ok(RunEnd::cancelled())));
            }
            First::TimedOut => {
                control.cancel(CancelReason::TimedOut);
                let error = RunError::public("The run took longer than it may.").with_code("timeout");
                slot.release();
                if !control.is_over() {
                    reporter.report(&error);
                    control.settle_failed(&error);
                }
                Box::pin(work.linger(settings.stop_grace)).await;
            }
        }
        drop(guard);
        let outcome = match control.outcome() {
            Some(RunOutcome::Finished) => "finished",
            Some(RunOutcome::Cancelled) => "cancelled",
            Some(RunOutcome::Failed) => "failed",
            _ => "abandoned",
        };
        let duration = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        span.record("outcome", outcome).record("duration_ms", duration);
        tracing::debug!("the run is over");
    }
}

/// Ends a run with what its handler returned, given why it was cancelled if it was.
fn settle(control: &RunControl, slot: &mut Slot, reporter: &Reporter, result: Result<RunEnd, RunError>) {
    // The place is free before the ending can be seen.
    slot.release();
    let reason = control.cancel_reason();
    if matches!(reason, Some(CancelReason::Abandoned | CancelReason::Refused)) {
        control.close();
        return;
    }
    let is_closed = |error: &RunError| {
        let source = error.source().and_then(|source| source.downcast_ref::<WriteError>());
        matches!(source, Some(WriteError::Closed))
    };
    match result {
        // A run that was stopped is no success, whatever its handler makes of the signal (`LIFE-5`).
        Ok(_) if reason.is_some() => control.settle_cancelled(),
        Err(error) if reason.is_some() && is_closed(&error) => control.settle_cancelled(),
        Ok(end) => {
            let over = control.is_over();
            control.settle(Ok(end));
            if !over && control.outcome() == Some(RunOutcome::Failed) {
                reporter.report(&RunError::internal("the ending of the run broke a rule or a limit"));
            }
        }
        Err(error) => {
            // A handler that passes on the refusal of an event after its own terminal event has not failed.
            if !(control.is_over() && is_closed(&error)) {
                reporter.report(&error);
            }
            control.settle(Err(error));
        }
    }
}

/// Sees to it that the run is over.
struct Guard<'a>(&'a RunControl);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            self.0.settle_failed(&RunError::internal("the driver of the run was dropped"));
        }
    }
}

enum First {
    Done(Result<RunEnd, RunError>),
    Cancelled,
    TimedOut,
}

/// Which comes first. The handler is asked before the signals: it gets to see its cancellation once.
async fn first(work: &mut Work, control: &RunControl, mut deadline: Option<Pin<Box<Sleep>>>) -> First {
    let mut cancelled = pin!(control.cancelled());
    future::poll_fn(|cx| {
        if let Poll::Ready(result) = work.poll(cx) {
            return Poll::Ready(First::Done(result));
        }
        if cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(First::Cancelled);
        }
        match &mut deadline {
            Some(deadline) => deadline.as_mut().poll(cx).map(|()| First::TimedOut),
            None => Poll::Pending,
        }
    })
    .await
}

/// The handler's work, whose panics are errors.
struct Work(Option<RunTask>);

impl Work {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<RunEnd, RunError>> {
        let Some(task) = &mut self.0 else { return Poll::Pending };
        let result = match catch_unwind(AssertUnwindSafe(|| Pin::new(task).poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result,
            Err(panic) => Err(RunError::internal(Panicked::new(panic.as_ref()))),
        };
        self.discard();
        Poll::Ready(result)
    }

    /// What the handler returns in a time; nothing if it does not.
    async fn within(&mut self, grace: Duration) -> Option<Result<RunEnd, RunError>> {
        if grace.is_zero() {
            return None;
        }
        tokio::time::timeout(grace, future::poll_fn(|cx| self.poll(cx))).await.ok()
    }

    /// Lets the handler clean up for a time.
    async fn linger(&mut self, grace: Duration) {
        if let Some(Err(error)) = self.within(grace).await {
            tracing::debug!(?error, "the handler failed after its run was over");
        }
        self.discard();
    }

    /// Drops the handler's future.
    fn discard(&mut self) {
        let Some(task) = self.0.take() else { return };
        if catch_unwind(AssertUnwindSafe(|| drop(task))).is_err() {
            tracing::error!("the handler panicked while it was dropped");
        }
    }
}

/// A handler that panicked.
#[derive(Debug, thiserror::Error)]
#[error("the handler panicked: {0}")]
struct Panicked(String);

impl Panicked {
    fn new(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Self(text.unwrap_or_else(|| "no message".to_owned()))
    }
}
