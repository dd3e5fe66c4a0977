//! A handler that passes on a stream of events from elsewhere.

use std::fmt;
use std::pin::pin;

use futures_core::Stream;
use futures_util::StreamExt;

use crate::{Event, RunFinishedOutcome};

use super::{Run, RunEnd, RunError, RunHandler, WriteError};

/// Makes a handler of a function that gives a stream of events.
///
/// The events are checked on the way out like everything else. `RUN_STARTED` may be among them or not: the run has the
/// ids of its input either way (`LIFE-9`). A stream that simply ends has completed the run; one that is
/// [forwarded](StreamHandler::forwarded) from elsewhere and ends without its terminal event was cut off, which is a
/// `RUN_ERROR`.
///
/// # Examples
/// ```
/// # use agui_core::producer::{Run, RunError, RunHandler, handler_from_stream};
/// # use agui_core::{Event, TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent};
/// let handler = handler_from_stream(|_run: Run| {
///     futures_util::stream::iter([
///         Event::from(TextMessageStartEvent::new("m1")),
///         Event::from(TextMessageContentEvent::new("m1", "Hello")),
///         Event::from(TextMessageEndEvent::new("m1")),
///     ].map(Ok::<_, RunError>))
/// });
/// # fn assert_handler(_: impl RunHandler) {}
/// # assert_handler(handler);
/// ```
pub fn handler_from_stream<F, S, E>(stream: F) -> StreamHandler<F>
where
    F: Fn(Run) -> S + Send + Sync + 'static,
    S: Stream<Item = Result<Event, E>> + Send,
    E: Into<RunError> + Send,
{
    StreamHandler { stream, forwarded: false }
}

/// The handler that [`handler_from_stream`] gives.
#[derive(Clone)]
pub struct StreamHandler<F> {
    stream: F,
    forwarded: bool,
}

impl<F> StreamHandler<F> {
    /// Says that the stream comes from another producer, whose terminal event has to arrive: without it the run was
    /// cut off and fails.
    #[must_use]
    pub fn forwarded(mut self) -> Self {
        self.forwarded = true;
        self
    }
}

impl<F> fmt::Debug for StreamHandler<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamHandler").field("forwarded", &self.forwarded).finish_non_exhaustive()
    }
}

impl<F, S, E> RunHandler for StreamHandler<F>
where
    F: Fn(Run) -> S + Send + Sync + 'static,
    S: Stream<Item = Result<Event, E>> + Send,
    E: Into<RunError> + Send,
{
    async fn run(&self, run: Run) -> Result<RunEnd, RunError> {
        let mut stream = pin!((self.stream)(run.clone()));
        let mut begun = false;
        while let Some(event) = stream.next().await {
            match event.map_err(Into::into)? {
                // The run has begun already, under the ids of its own input.
                Event::RunStarted(_) if !begun => {}
                Event::RunFinished(finished) => {
                    if self.forwarded && run.shared.read(|writer| writer.needs_closing()) {
                        // The other producer's ending is out of order, so ours is not a success either.
                        return Err(RunError::internal(
                            "the forwarded run finished with items open (LIFE-3)",
                        )
                        .with_code("protocol_violation"));
                    }
                    let mut end = match finished.outcome {
                        Some(RunFinishedOutcome::Success(success))
                            if success.pending_tool_call_ids.is_none() =>
                        {
                            RunEnd::with_outcome(success)
                        }
                        Some(outcome) => RunEnd::with_outcome(outcome),
                        None => RunEnd::success(),
                    };
                    end = end.with_usage(finished.usage.unwrap_or_default());
                    end.result = finished.result;
                    return Ok(end);
                }
                Event::RunError(error) => {
                    for usage in error.usage.unwrap_or_default() {
                        run.add_usage(usage);
                    }
                    let mut failed = RunError::public(error.message);
                    if let Some(code) = error.code {
                        failed = failed.with_code(code);
                    }
                    return Err(failed);
                }
                event => run.emit(event).await.map_err(|error: WriteError| RunError::from(error))?,
            }
            begun = true;
        }
        if self.forwarded {
            return Err(RunError::internal("the forwarded stream ended without a terminal event (LIFE-11)"));
        }
        Ok(RunEnd::success())
    }
}
