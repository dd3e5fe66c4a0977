//! Projections at work: on iterators, on streams, and into a run.

use std::borrow::Borrow;
use std::error::Error;
use std::{future, iter};

use futures_core::Stream;
use futures_util::{StreamExt, stream};

use super::Projection;
use crate::producer::EventSink;
use crate::{Event, RunWriter, WriteError};

/// Why a frame did not get into a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError<E: Error + 'static> {
    /// The projection refused the frame. Nothing of it has gone out.
    #[error(transparent)]
    Projection(E),
    /// The run refused one of the frame's events. Those before it have gone out, so the frame cannot be tried again;
    /// what is left is to [fail](RunWriter::fail) the run, or to go on without the rest of the frame.
    #[error(transparent)]
    Write(WriteError),
}

impl<E: Error + 'static> ProjectError<E> {
    /// The rule of the protocol that refused an event, such as `STREAM-1`; `None` if it was no rule that refused.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Projection(_) => None,
            Self::Write(error) => error.rule(),
        }
    }
}

/// Projects one frame into a run, strictly: each event is judged before it goes out.
///
/// A projection whose frames open and end the stream brings `RUN_STARTED` and `RUN_FINISHED` along, under the ids of
/// the run's input (`LIFE-9`). One without such frames is used between the run's own [`start`](RunWriter::start) and
/// [`finish`](RunWriter::finish).
///
/// # Errors
/// The projection refuses the frame, or the run refuses an event of it; [`rule`](ProjectError::rule) then names the
/// broken rule.
///
/// # Examples
/// ```
/// use std::convert::Infallible;
/// use agui_core::projection::{Projection, project_into};
/// use agui_core::{Event, RunAgentInput, RunWriter, StepFinishedEvent, StepStartedEvent};
///
/// /// Frames are names of steps, `-` before those that are done. It does not notice what is done without a start.
/// struct Steps;
///
/// impl Projection for Steps {
///     type Frame = String;
///     type Error = Infallible;
///
///     fn project(&mut self, frame: String, out: &mut Vec<Event>) -> Result<(), Infallible> {
///         out.push(match frame.strip_prefix('-') {
///             Some(done) => StepFinishedEvent::new(done).into(),
///             None => StepStartedEvent::new(frame).into(),
///         });
///         Ok(())
///     }
///
///     fn recover(&mut self, event: &Event, out: &mut Vec<String>) -> Result<(), Infallible> {
///         match event {
///             Event::StepStarted(event) => out.push(event.step_name.clone()),
///             Event::StepFinished(event) => out.push(format!("-{}", event.step_name)),
///             _ => {}
///         }
///         Ok(())
///     }
/// }
///
/// let mut writer = RunWriter::new(RunAgentInput::new("trip-7", "turn-1", []), Vec::new());
/// writer.start()?;
/// project_into(&mut Steps, "plan".to_owned(), &mut writer)?;
/// let error = project_into(&mut Steps, "-book".to_owned(), &mut writer).unwrap_err();
/// assert_eq!(error.rule(), Some("LIFE-10"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn project_into<P: Projection, S: EventSink>(
    projection: &mut P,
    frame: P::Frame,
    writer: &mut RunWriter<S>,
) -> Result<(), ProjectError<P::Error>> {
    write(collect(|out| projection.project(frame, out)), writer)
}

/// Writes what a projection has [pending](Projection::finish_projecting) when no more frames come. The run itself is
/// ended by a terminal event among it, or by the caller.
///
/// # Errors
/// As for [`project_into`].
pub fn finish_into<P: Projection, S: EventSink>(
    projection: &mut P,
    writer: &mut RunWriter<S>,
) -> Result<(), ProjectError<P::Error>> {
    write(collect(|out| projection.finish_projecting(out)), writer)
}

/// The events of one connection's frames. Their order is not judged.
///
/// A frame that the projection refuses gives its error and no event, and the next frame is taken.
pub fn project_iter<P: Projection, I: IntoIterator<Item = P::Frame>>(
    mut projection: P,
    frames: I,
) -> impl Iterator<Item = Result<Event, P::Error>> {
    frames
        .into_iter()
        .map(Some)
        .chain(iter::once(None))
        .flat_map(move |frame| results(project_next(&mut projection, frame)))
}

/// The events of one connection's frames as they come; see [`project_iter`].
///
/// What [`handler_from_stream`](crate::handler_from_stream) takes: an agent that speaks the application's vocabulary
/// is served as an AG-UI agent, its events judged on the way out.
pub fn project_stream<P: Projection, I: Stream<Item = P::Frame>>(
    mut projection: P,
    frames: I,
) -> impl Stream<Item = Result<Event, P::Error>> {
    frames
        .map(Some)
        .chain(stream::once(future::ready(None)))
        .flat_map(move |frame| stream::iter(results(project_next(&mut projection, frame))))
}

/// The frames of one connection's events, which are verified and expanded.
///
/// An event that cannot be read gives its error and no frame, and the next event is taken.
pub fn recover_iter<P: Projection, I: IntoIterator<Item: Borrow<Event>>>(
    mut projection: P,
    events: I,
) -> impl Iterator<Item = Result<P::Frame, P::Error>> {
    events
        .into_iter()
        .map(Some)
        .chain(iter::once(None))
        .flat_map(move |event| results(recover_next(&mut projection, event)))
}

/// The frames of one connection's events as they come; see [`recover_iter`].
pub fn recover_stream<P: Projection, I: Stream<Item: Borrow<Event>>>(
    mut projection: P,
    events: I,
) -> impl Stream<Item = Result<P::Frame, P::Error>> {
    events
        .map(Some)
        .chain(stream::once(future::ready(None)))
        .flat_map(move |event| stream::iter(results(recover_next(&mut projection, event))))
}

/// The events of the next frame, or at the end those that are pending.
fn project_next<P: Projection>(projection: &mut P, frame: Option<P::Frame>) -> Result<Vec<Event>, P::Error> {
    collect(|out| match frame {
        Some(frame) => projection.project(frame, out),
        None => projection.finish_projecting(out),
    })
}

/// The frames of the next event, or at the end those that are pending.
fn recover_next<P: Projection>(
    projection: &mut P,
    event: Option<impl Borrow<Event>>,
) -> Result<Vec<P::Frame>, P::Error> {
    collect(|out| match event {
        Some(event) => projection.recover(event.borrow(), out),
        None => projection.finish_recovering(out),
    })
}

/// Everything a step appends, or nothing where it fails.
fn collect<T, E>(step: impl FnOnce(&mut Vec<T>) -> Result<(), E>) -> Result<Vec<T>, E> {
    let mut out = Vec::new();
    step(&mut out)?;
    Ok(out)
}

fn results<T, E>(step: Result<Vec<T>, E>) -> impl Iterator<Item = Result<T, E>> {
    let (items, error) = match step {
        Ok(items) => (items, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    items.into_iter().map(Ok).chain(error.map(Err))
}

fn write<E: Error + 'static, S: EventSink>(
    events: Result<Vec<Event>, E>,
    writer: &mut RunWriter<S>,
) -> Result<(), ProjectError<E>> {
    for event in events.map_err(ProjectError::Projection)? {
        writer.emit(event).map_err(ProjectError::Write)?;
    }
    Ok(())
}
