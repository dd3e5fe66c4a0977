//! The processing pipeline of a consumer, in the order that `PROC-1` fixes.
//!
//! Frame → compatibility boundary → middleware → enforcement → chunk expansion → verification → application. Each stage
//! exists on its own ([`compat`](crate::compat), [`ThinkingTranslator`], [`enforce`](crate::enforce),
//! [`ChunkExpander`], [`Sequence`]); this is the one place that puts them in order.
//!
//! A frame with nothing unusual in it goes from text to [`Event`] in one pass. Only where that is refused, or
//! middleware wants to see it, is a tree built.

use std::fmt;

use serde_json::Value;

use crate::chunk::ChunkExpander;
use crate::json;
use crate::sequence::{Policy, Sequence};
use crate::warning::Sink;
use crate::{Event, RunAgentInput, VersionRelation, Warning, compat, enforce};

use super::{Frame, StreamError, ThinkingTranslator};

/// Sees the raw material before enforcement removes what it does not know (`PROC-7`).
///
/// It puts what is to go on into `out`: the material itself, changed or not, nothing, or several events. It must cope
/// with chunked and expanded forms alike. Closures are middleware.
pub trait Middleware: Send {
    /// Processes one event's material.
    fn process(&mut self, raw: Value, out: &mut Vec<Value>);
}

impl<F: FnMut(Value, &mut Vec<Value>) + Send> Middleware for F {
    fn process(&mut self, raw: Value, out: &mut Vec<Value>) {
        self(raw, out);
    }
}

/// Turns frames into verified events, with the warnings that tolerance owes the developer.
///
/// One pipeline reads one stream. Events are delivered one by one; the first fault rejects the stream, and what was
/// delivered before stays delivered.
///
/// # Examples
/// ```
/// use agui_core::consumer::Pipeline;
/// use agui_core::{Event, EventType};
///
/// let mut pipeline = Pipeline::new();
/// let mut types = Vec::new();
/// for frame in [
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
///     r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"hi","mood":"calm"}"#,
///     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
/// ] {
///     pipeline.feed(frame, &mut |event: Event| types.push(event.event_type()))?;
/// }
/// assert_eq!(types, [
///     EventType::RunStarted,
///     EventType::TextMessageStart,
///     EventType::TextMessageContent,
///     EventType::TextMessageEnd,
///     EventType::RunFinished,
/// ]);
/// assert_eq!(pipeline.warnings()[0].path(), "/mood");
/// assert!(!pipeline.finish().is_truncated());
/// # Ok::<(), agui_core::consumer::StreamError>(())
/// ```
pub struct Pipeline {
    thinking: ThinkingTranslator,
    middleware: Vec<Box<dyn Middleware>>,
    expander: ChunkExpander,
    sequence: Sequence,
    warnings: Vec<Warning>,
    /// Warnings that were dropped because the stream had too many.
    suppressed: u64,
    index: u64,
    rejected: bool,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The last run had its terminal event.
    Complete,
    /// The last run did not have its terminal event: no outcome, and no success (`LIFE-11`).
    Truncated,
    /// There was no event at all: truncated too, with no run begun.
    Empty,
}

impl StreamEnd {
    /// Whether the stream was cut off.
    pub const fn is_truncated(self) -> bool {
        !matches!(self, Self::Complete)
    }
}

impl Pipeline {
    /// Most warnings that are kept for one stream; what is beyond is counted.
    pub const MAX_WARNINGS: usize = 10_000;

    /// A pipeline for a stream of which nothing is known beforehand.
    pub fn new() -> Self {
        Self {
            thinking: ThinkingTranslator::new(),
            middleware: Vec::new(),
            expander: ChunkExpander::new(),
            sequence: Sequence::new(Policy::Consumer),
            warnings: Vec::new(),
            suppressed: 0,
            index: 0,
            rejected: false,
        }
    }

    /// A pipeline for the stream that answers an input: its messages, their owners and the ids it asks for are known.
    pub fn for_input(input: &RunAgentInput) -> Self {
        let mut pipeline = Self::new();
        pipeline.sequence.expect_input(input);
        pipeline
    }

    /// A pipeline for a stream that replays a thread: as [`for_input`](Self::for_input), but the input's run id names
    /// no run of it.
    pub fn for_replay(input: &RunAgentInput) -> Self {
        let mut pipeline = Self::new();
        pipeline.sequence.expect_replay(input);
        pipeline
    }

    /// Adds a stage of the application's own, after those already there (`PROC-7`). Every frame then goes through a
    /// tree.
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Box::new(middleware));
        self
    }

    /// Takes one frame and delivers what comes of it.
    ///
    /// # Errors
    /// The frame is malformed or breaks a rule of order. The stream is rejected then, and every further frame is.
    pub fn feed<'a>(
        &mut self,
        frame: impl Into<Frame<'a>>,
        deliver: &mut impl FnMut(Event),
    ) -> Result<(), StreamError> {
        let index = self.index;
        if self.rejected {
            return Err(StreamError::stopped(index));
        }
        self.index += 1;
        let known = self.warnings.len();
        let result = self.process(frame.into(), index, deliver);
        self.settle_warnings(known, index);
        self.rejected = result.is_err();
        result
    }

    fn process(
        &mut self,
        frame: Frame<'_>,
        index: u64,
        deliver: &mut impl FnMut(Event),
    ) -> Result<(), StreamError> {
        let raw = match frame {
            Frame::Event(event) if self.middleware.is_empty() => return self.verify(event, index, deliver),
            Frame::Event(event) => match serde_json::to_value(event) {
                Ok(raw) => raw,
                Err(error) => return Err(StreamError::wire(index, "PROC-6", error.to_string())),
            },
            Frame::Json(text, utf8) => {
                if self.middleware.is_empty()
                    && let Ok(event) = Event::from_json(text)
                {
                    return self.verify(event, index, deliver);
                }
                let sink = &mut Sink::new(&mut self.warnings);
                let raw = json::read_into(text, utf8, sink)
                    .map_err(|error| StreamError::event(index, error.into()))?;
                enforce::name_event(&raw, sink);
                raw
            }
            Frame::Tree(raw) => raw,
            Frame::Noted { tree, warnings } => {
                self.warnings.extend(warnings);
                match tree {
                    Some(raw) => raw,
                    None => return Ok(()),
                }
            }
            Frame::Unreadable { rule, message } => return Err(StreamError::wire(index, rule, message)),
        };
        for raw in self.translate(raw, index)? {
            let event = enforce::event(raw, &mut self.warnings)
                .map_err(|error| StreamError::malformed(index, error))?;
            if let Some(event) = event {
                self.verify(event, index, deliver)?;
            }
        }
        Ok(())
    }

    /// The compatibility boundary, then the middleware.
    fn translate(&mut self, mut raw: Value, index: u64) -> Result<Vec<Value>, StreamError> {
        self.thinking.translate(&mut raw, &mut self.warnings);
        compat::event(&mut raw, &mut self.warnings).map_err(|error| StreamError::malformed(index, error))?;
        let mut events = vec![raw];
        for stage in &mut self.middleware {
            let mut out = Vec::new();
            for raw in events {
                stage.process(raw, &mut out);
            }
            events = out;
        }
        Ok(events)
    }

    /// Expansion and verification; every event is judged before it is delivered, so that what a chunk makes before the
    /// fault is kept.
    fn verify(
        &mut self,
        event: Event,
        index: u64,
        deliver: &mut impl FnMut(Event),
    ) -> Result<(), StreamError> {
        let Self { expander, sequence, warnings, .. } = self;
        let mut fault = None;
        let mut judge = |event: Event| {
            if fault.is_some() {
                return;
            }
            match sequence.check(&event) {
                Ok(()) => {
                    if let Event::RunStarted(started) = &event {
                        note_version(started.protocol_version.as_deref(), warnings);
                    }
                    deliver(event);
                }
                Err(error) => fault = Some(error),
            }
        };
        let expanded = expander.expand(event, &mut judge);
        if sequence.has_notices() {
            warnings.extend(sequence.take_notices().into_iter().map(Warning::from));
        }
        match (fault, expanded) {
            (Some(error), _) | (None, Err(error)) => Err(StreamError::sequence(index, error)),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Tells the pipeline that the stream is over, and asks how it ended (`LIFE-11`).
    pub fn finish(&mut self) -> StreamEnd {
        let known = self.warnings.len();
        self.sequence.end_of_stream();
        self.warnings.extend(self.sequence.take_notices().into_iter().map(Warning::from));
        self.settle_warnings(known, self.index);
        if self.sequence.is_active() {
            StreamEnd::Truncated
        } else if self.sequence.is_over() {
            StreamEnd::Complete
        } else {
            StreamEnd::Empty
        }
    }

    /// The warnings so far, oldest first.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Takes the warnings so far.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// How many warnings were not kept because the stream had more than [`MAX_WARNINGS`](Self::MAX_WARNINGS).
    pub const fn suppressed_warnings(&self) -> u64 {
        self.suppressed
    }

    /// How many frames have been fed.
    pub const fn frames(&self) -> u64 {
        self.index
    }

    /// The state machine, to ask what is open.
    pub const fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Numbers the warnings that have come since, logs them, and keeps the list bounded.
    fn settle_warnings(&mut self, known: usize, index: u64) {
        if self.warnings.len() == known {
            return;
        }
        let numbered: Vec<Warning> =
            self.warnings.drain(known..).map(|warning| warning.with_event_index(index)).collect();
        for warning in numbered {
            if self.warnings.len() < Self::MAX_WARNINGS {
                warning.log();
                self.warnings.push(warning);
            } else {
                self.suppressed += 1;
            }
        }
    }
}

impl Default for Pipeline {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("frames", &self.index)
            .field("middleware", &self.middleware.len())
            .field("warnings", &self.warnings.len())
            .field("rejected", &self.rejected)
            .finish_non_exhaustive()
    }
}

/// A newer or unreadable version is served, with a warning (`VER-2`).
fn note_version(declared: Option<&str>, warnings: &mut Vec<Warning>) {
    if let Some(declared) = declared
        && VersionRelation::of(Some(declared)).is_notable()
    {
        let version: String = declared.chars().take(40).collect();
        warnings.push(
            Warning::new(
                "VER-2",
                format!("the producer speaks protocol version {version:?}, this consumer 1.0"),
            )
            .with_event_type("RUN_STARTED")
            .with_path("/protocolVersion"),
        );
    }
}
