//! A handler and its run, put together: a plain future, the events it makes, and the control over it.
//!
//! Nothing here spawns, waits or reads a clock. The driver polls the task, decides how long it may go on after a
//! cancellation, catches its panics and then settles the run through [`RunControl`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{Event, RunAgentInput};

use super::queue::Shared;
use super::writer::Ending;
use super::{DynRunHandler, Extensions, Run, RunEnd, RunError, RunLimits};

/// What a run is launched with.
#[derive(Debug)]
#[non_exhaustive]
#[must_use]
pub struct RunSetup {
    /// The input.
    pub input: Arc<RunAgentInput>,
    /// What the surroundings hand to the handler.
    pub extensions: Extensions,
    /// How much the run may hold.
    pub limits: RunLimits,
    /// Whether `RUN_STARTED` carries the input (`INPUT-5`).
    pub echo_input: bool,
}

impl RunSetup {
    /// A run of this input with the default limits.
    pub fn new(input: impl Into<Arc<RunAgentInput>>) -> Self {
        Self {
            input: input.into(),
            extensions: Extensions::new(),
            limits: RunLimits::default(),
            echo_input: false,
        }
    }

    /// Sets what the surroundings hand to the handler.
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Sets how much the run may hold.
    pub const fn with_limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Puts the input on `RUN_STARTED` (`INPUT-5`).
    pub const fn with_echoed_input(mut self) -> Self {
        self.echo_input = true;
        self
    }
}

/// Why a run was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// Somebody asked for it.
    Stopped,
    /// Its reader is gone.
    Abandoned,
    /// The server is shutting down.
    Shutdown,
    /// It ran for longer than it may.
    TimedOut,
    /// One of its events could not be written.
    Refused,
}

/// A run in progress, in its three parts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Launched {
    /// The handler's work.
    pub task: RunTask,
    /// What it writes.
    pub events: RunEvents,
    /// The control over it.
    pub control: RunControl,
}

/// Puts a handler and its run together. `RUN_STARTED` waits for the reader before the handler is polled.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use agui_core::producer::{Run, RunEnd, RunError, RunSetup, launch};
/// # use agui_core::{EventType, RunAgentInput};
/// async fn greet(run: Run) -> Result<RunEnd, RunError> {
///     run.text("Hello").await?;
///     Ok(RunEnd::success())
/// }
///
/// # futures_executor::block_on(async {
/// let mut launched = launch(Arc::new(greet), RunSetup::new(RunAgentInput::new("t", "r", [])));
/// launched.control.settle(launched.task.await);
/// let mut types = Vec::new();
/// while let Some(event) = launched.events.next().await {
///     types.push(event.event_type());
/// }
/// assert_eq!(types.first(), Some(&EventType::RunStarted));
/// assert_eq!(types.last(), Some(&EventType::RunFinished));
/// # });
/// ```
pub fn launch(handler: Arc<dyn DynRunHandler>, setup: RunSetup) -> Launched {
    let shared = Arc::new(Shared::new(setup));
    shared.write_now(|writer| {
        if let Err(error) = writer.start() {
            // Only an echoed input over the event limit can be refused here.
            writer.fail(&error.into());
        }
    });
    let run = Run::new(Arc::clone(&shared));
    let task = Box::pin(async move { handler.run_boxed(run).await });
    Launched {
        task: RunTask { work: task },
        events: RunEvents { shared: Arc::clone(&shared), buffer: Vec::new() },
        control: RunControl { shared },
    }
}

/// The handler's work. Panics of the handler come out of polling it.
pub struct RunTask {
    work: Pin<Box<dyn Future<Output = Result<RunEnd, RunError>> + Send>>,
}

impl Future for RunTask {
    type Output = Result<RunEnd, RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.work.as_mut().poll(cx)
    }
}

impl fmt::Debug for RunTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunTask").finish_non_exhaustive()
    }
}

/// The events of a run, for its one reader.
#[derive(Debug)]
pub struct RunEvents {
    shared: Arc<Shared>,
    buffer: Vec<Event>,
}

impl RunEvents {
    /// Moves every event that is ready into `buffer`, which makes room for the handler.
    ///
    /// `Ready(false)` says that the run is over and everything has been taken.
    pub fn poll_take(&mut self, cx: &mut Context<'_>, buffer: &mut Vec<Event>) -> Poll<bool> {
        if !self.buffer.is_empty() {
            buffer.extend(self.buffer.drain(..).rev());
            return Poll::Ready(true);
        }
        self.shared.poll_take(cx, buffer)
    }

    /// As [`poll_take`](Self::poll_take), in the place of the events that are in `buffer`. The run makes the texts of its
    /// next deltas of theirs, so that one which streams allocates nothing for them.
    ///
    /// `buffer` is empty when nothing is ready.
    pub fn poll_refill(&mut self, cx: &mut Context<'_>, buffer: &mut Vec<Event>) -> Poll<bool> {
        if !self.buffer.is_empty() {
            buffer.clear();
            buffer.extend(self.buffer.drain(..).rev());
            return Poll::Ready(true);
        }
        self.shared.poll_refill(cx, buffer)
    }

    /// The next event; `None` once the run is over.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        if self.buffer.is_empty() {
            let mut taken = Vec::new();
            std::future::poll_fn(|cx| self.shared.poll_take(cx, &mut taken)).await;
            // Kept in reverse, so that the next one is at the end.
            taken.reverse();
            self.buffer = taken;
        }
        self.buffer.pop()
    }
}

/// The control over a run, for whoever drives it.
#[derive(Debug, Clone)]
pub struct RunControl {
    shared: Arc<Shared>,
}

impl RunControl {
    /// Tells the handler to stop. Nothing is written; the driver grants its grace and then [settles](Self::settle) or
    /// [cancels](Self::settle_cancelled) the run.
    pub fn cancel(&self, reason: CancelReason) {
        self.shared.cancel(reason);
    }

    /// Why the run was told to stop, if it was.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.shared.cancel_reason()
    }

    /// Waits until the run is told to stop.
    pub fn cancelled(&self) -> WaitForCancellationFutureOwned {
        self.shared.cancelled.clone().cancelled_owned()
    }

    /// The token behind [`cancel`](Self::cancel).
    pub fn token(&self) -> &CancellationToken {
        &self.shared.cancelled
    }

    /// Ends the run with what its handler returned.
    pub fn settle(&self, result: Result<RunEnd, RunError>) {
        self.shared.write_now(|writer| match result {
            Ok(end) => writer.finish(end),
            Err(error) => writer.fail(&error),
        });
    }

    /// Ends a run that was stopped on purpose: what is open is closed, then the cancelled outcome (`LIFE-5`).
    pub fn settle_cancelled(&self) {
        self.shared.write_now(super::RunWriter::cancel);
    }

    /// Ends a run that failed for a reason of the driver's.
    pub fn settle_failed(&self, error: &RunError) {
        self.shared.write_now(|writer| writer.fail(error));
    }

    /// Lets the run go on without a reader: what waits and what follows is checked and then dropped, the ending too.
    pub fn detach(&self) {
        self.shared.detach();
    }

    /// Ends the run without an ending, because nobody reads it: what waits is dropped, what follows is refused.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Whether the run has had its terminal event or was closed.
    pub fn is_over(&self) -> bool {
        self.shared.read(|writer| writer.is_over())
    }

    /// Whether an event was written [without being judged](Run::emit_unchecked), which keeps the record of the run out
    /// of [compaction](crate::store::compact()).
    pub fn is_unchecked(&self) -> bool {
        self.shared.read(|writer| writer.is_unchecked())
    }

    /// How the run ended: none while it goes on.
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.shared.read(|writer| {
            Some(match writer.ending()? {
                Ending::Finished => RunOutcome::Finished,
                Ending::Cancelled => RunOutcome::Cancelled,
                Ending::Failed => RunOutcome::Failed,
                Ending::Closed => RunOutcome::Closed,
            })
        })
    }
}

/// How a run ended, for logs and figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunOutcome {
    /// `RUN_FINISHED` with another outcome than cancelled.
    Finished,
    /// `RUN_FINISHED` with the cancelled outcome.
    Cancelled,
    /// `RUN_ERROR`.
    Failed,
    /// Nobody read it any more.
    Closed,
}
