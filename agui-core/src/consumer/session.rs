//! A consumer of one thread: inputs out, streams in, and a conversation that carries over.
//!
//! This puts the two directions together: the outgoing input is cleaned and checked (`PROC-9`, `INT-2`, `STATE-9`), the
//! stream that answers it goes through a [`Pipeline`] of its own (`PROC-1`), and what it delivers is folded into the one
//! [`Conversation`]. Who carries the bytes, and what the time is, stays outside.

use std::borrow::BorrowMut;

use serde_json::Value;

use super::prepare::{Peer, next_input, outgoing, prepare_input};
use super::resume::ResumeError;
use super::{Change, Conversation, Frame, Middleware, Pipeline, StreamEnd, StreamError};
use crate::enforce::EnforceError;
use crate::{Event, RunAgentInput, RunId, ThreadId, Warning, compat, enforce};

/// A consumer of one thread.
///
/// # Examples
/// ```
/// use agui_core::consumer::{Session, StreamEnd};
/// use serde_json::json;
///
/// let mut session = Session::new();
/// let now_ms = 1_788_264_000_000;
/// let raw = json!({"threadId": "t", "runId": "r", "messages": [{"id": "q", "role": "user", "content": "Hi"}]});
/// let mut exchange = session.send_json(raw, now_ms)?;
/// assert_eq!(exchange.request().protocol_version.as_deref(), Some("1.0"));
///
/// for frame in [
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
///     r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello"}"#,
///     r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
///     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
/// ] {
///     exchange.feed(frame, &mut |_event, _change| {})?;
/// }
/// assert_eq!(exchange.finish(), StreamEnd::Complete);
/// assert_eq!(session.conversation().to_messages()[1].text(), "Hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Session {
    conversation: Conversation,
    peer: Peer,
}

/// Why an input was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A known member of the input is malformed (`PROC-9`).
    #[error(transparent)]
    Malformed(#[from] EnforceError),
    /// The input does not answer the pending interrupts (`INT-2`).
    #[error(transparent)]
    Resume(#[from] ResumeError),
}

impl SendError {
    /// The rule that forbids it.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Malformed(error) => error.rule(),
            Self::Resume(error) => error.rule(),
        }
    }

    /// The member concerned, as a JSON Pointer from the root of the input.
    pub fn path(&self) -> &str {
        match self {
            Self::Malformed(error) => error.pointer(),
            Self::Resume(_) => "/resume",
        }
    }
}

impl Session {
    /// A consumer that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A consumer that goes on with a conversation.
    pub fn with_conversation(conversation: Conversation) -> Self {
        Self { conversation, peer: Peer::default() }
    }

    /// Says what is known of the producer.
    #[must_use]
    pub const fn with_peer(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }

    /// What the consumer holds.
    pub const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What the consumer holds, to change between exchanges.
    pub const fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Begins an exchange with an input that an application wrote as JSON: retired shapes are translated, unknown
    /// material is removed with a warning (`PROC-9`, `VER-3`).
    ///
    /// `now_ms` is the time in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// A known member is malformed, or the input does not answer the pending interrupts. Nothing may be sent then.
    pub fn send_json(
        &mut self,
        mut raw: Value,
        now_ms: i64,
    ) -> Result<Exchange<&mut Conversation>, SendError> {
        let mut warnings = Vec::new();
        let cleaned =
            compat::outgoing_input(&mut raw, &mut warnings).and_then(|()| enforce::input(raw, &mut warnings));
        match cleaned {
            Ok(input) => Exchange::begin(&mut self.conversation, input, self.peer, now_ms, warnings),
            Err(error) => {
                warnings.iter().for_each(Warning::log);
                Err(error.into())
            }
        }
    }

    /// Begins an exchange with a typed input.
    ///
    /// `now_ms` is the time in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// The input does not answer the pending interrupts. Nothing may be sent then.
    pub fn send(
        &mut self,
        input: RunAgentInput,
        now_ms: i64,
    ) -> Result<Exchange<&mut Conversation>, SendError> {
        Exchange::new(&mut self.conversation, input, self.peer, now_ms)
    }
}

/// One input and the stream that answers it.
///
/// `C` is the conversation or a mutable reference to it; a [`Session`] lends its own.
#[derive(Debug)]
pub struct Exchange<C = Conversation> {
    conversation: C,
    pipeline: Pipeline,
    request: RunAgentInput,
    warnings: Vec<Warning>,
    /// Warnings of the fold that were dropped because there were too many.
    suppressed: u64,
}

impl<C: BorrowMut<Conversation>> Exchange<C> {
    /// Begins an exchange with a typed input, for who holds a conversation without a [`Session`] around it.
    ///
    /// `now_ms` is the time in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// The input does not answer the pending interrupts. Nothing may be sent then.
    pub fn new(conversation: C, input: RunAgentInput, peer: Peer, now_ms: i64) -> Result<Self, SendError> {
        Self::begin(conversation, input, peer, now_ms, Vec::new())
    }

    fn begin(
        mut conversation: C,
        input: RunAgentInput,
        peer: Peer,
        now_ms: i64,
        mut warnings: Vec<Warning>,
    ) -> Result<Self, SendError> {
        let prepared = prepare_input(conversation.borrow_mut(), input, peer, now_ms, &mut warnings);
        warnings.iter().for_each(Warning::log);
        let request = prepared?;
        let pipeline = Pipeline::for_input(&request);
        Ok(Self { conversation, pipeline, request, warnings, suppressed: 0 })
    }

    /// Begins an exchange that asks for what a producer has recorded of a thread and leaves what is held as it is
    /// (`LIFE-8`).
    ///
    /// The request carries the messages that are held, so that the producer can restate them instead of streaming them
    /// again. Its run id names no run: those of the stream that answers have their own.
    ///
    /// # Examples
    /// ```
    /// use agui_core::consumer::prepare::Peer;
    /// use agui_core::consumer::{Conversation, Exchange, StreamEnd};
    ///
    /// let mut exchange = Exchange::replay(Conversation::new(), "trip-7", "ask-1", Peer::Current);
    /// assert_eq!(exchange.request().thread_id.as_str(), "trip-7");
    /// exchange.feed(r#"{"type":"RUN_STARTED","threadId":"trip-7","runId":"turn-1"}"#, &mut |_, _| {})?;
    /// exchange.feed(r#"{"type":"RUN_FINISHED","threadId":"trip-7","runId":"turn-1"}"#, &mut |_, _| {})?;
    /// assert_eq!(exchange.finish(), StreamEnd::Complete);
    /// assert_eq!(exchange.warnings().count(), 0);
    /// # Ok::<(), agui_core::consumer::StreamError>(())
    /// ```
    pub fn replay(
        mut conversation: C,
        thread_id: impl Into<ThreadId>,
        run_id: impl Into<RunId>,
        peer: Peer,
    ) -> Self {
        let held = conversation.borrow_mut();
        held.begin_stream();
        let mut request = next_input(held, thread_id, run_id);
        outgoing(&mut request, peer);
        let pipeline = Pipeline::for_replay(&request);
        Self { conversation, pipeline, request, warnings: Vec::new(), suppressed: 0 }
    }

    /// The input as it goes out.
    pub const fn request(&self) -> &RunAgentInput {
        &self.request
    }

    /// Adds a stage of the application's own to this exchange (`PROC-7`).
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.pipeline = self.pipeline.with_middleware(middleware);
        self
    }

    /// Takes one frame, folds what comes of it, and hands over each event with what it changed.
    ///
    /// # Errors
    /// The stream is rejected. What was delivered before stays delivered.
    pub fn feed<'a>(
        &mut self,
        frame: impl Into<Frame<'a>>,
        observe: &mut impl FnMut(Event, Change),
    ) -> Result<(), StreamError> {
        self.fold(frame.into(), |conversation, event, warnings| {
            let change = conversation.apply(&event, warnings);
            observe(event, change);
        })
    }

    /// [`feed`](Self::feed) for whoever looks at the conversation and not at the events: snapshots and results are moved
    /// into it, not copied.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn absorb<'a>(
        &mut self,
        frame: impl Into<Frame<'a>>,
        observe: &mut impl FnMut(Change),
    ) -> Result<(), StreamError> {
        self.fold(frame.into(), |conversation, event, warnings| {
            observe(conversation.apply_owned(event, warnings));
        })
    }

    #[inline]
    fn fold(
        &mut self,
        frame: Frame<'_>,
        mut apply: impl FnMut(&mut Conversation, Event, &mut Vec<Warning>),
    ) -> Result<(), StreamError> {
        let index = self.pipeline.frames();
        let Self { conversation, pipeline, warnings, .. } = self;
        let conversation = conversation.borrow_mut();
        let known = warnings.len();
        let result = pipeline.feed(frame, &mut |event| apply(conversation, event, warnings));
        if self.warnings.len() > known {
            let folded: Vec<_> = self.warnings.drain(known..).collect();
            for warning in folded {
                if self.warnings.len() < Pipeline::MAX_WARNINGS {
                    let warning = warning.with_event_index(index);
                    warning.log();
                    self.warnings.push(warning);
                } else {
                    self.suppressed += 1;
                }
            }
        }
        result
    }

    /// Tells that the stream is over, and how it ended (`LIFE-11`).
    pub fn finish(&mut self) -> StreamEnd {
        self.pipeline.finish()
    }

    /// What the consumer holds.
    pub fn conversation(&self) -> &Conversation {
        self.conversation.borrow()
    }

    /// Ends the exchange and gives the conversation back.
    pub fn into_conversation(self) -> C {
        self.conversation
    }

    /// The warnings so far: about the input, then about the stream in the order of its events.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        let (about_input, folded) =
            self.warnings.split_at(self.warnings.partition_point(|warning| warning.event_index().is_none()));
        let mut stream: Vec<_> = self.pipeline.warnings().iter().chain(folded).collect();
        stream.sort_by_key(|warning| warning.event_index());
        about_input.iter().chain(stream)
    }

    /// How many warnings were neither kept nor logged, because the stream or what was folded of it had more than
    /// [`Pipeline::MAX_WARNINGS`].
    pub const fn suppressed_warnings(&self) -> u64 {
        self.pipeline.suppressed_warnings() + self.suppressed
    }
}
