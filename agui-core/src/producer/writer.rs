//! The strict writer: no executor, no clock, no illegal sequence.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use serde_json::Value;

use crate::chunk::SpelledSequence;
use crate::patch::{self, JsonPatchOperation};
use crate::sequence::{OpenItem, OpenKind, Policy, Sequence, SequenceError};
use crate::{
    Event, EventType, PROTOCOL_VERSION, RunAgentInput, RunErrorEvent, RunFinishedEvent, RunStartedEvent,
    StateDeltaEvent, SubagentRunId, TokenUsage,
};

use super::size;
use super::{EventSink, RunEnd, RunError, WriteError, WriterScope};

/// Turns what an application does in a run into events, and lets no illegal sequence out.
///
/// The run opens with [`start`](Self::start) and closes with [`finish`](Self::finish), [`fail`](Self::fail) or
/// [`cancel`](Self::cancel), each of which closes what is open first. In between, [`parent`](Self::parent) and
/// [`subagent`](Self::subagent) give the helpers of one owner, and [`emit`](Self::emit) takes any event.
///
/// # Examples
/// ```
/// # use agui_core::producer::{RunEnd, RunWriter, TextStart, WriteError};
/// # use agui_core::{Event, EventType, RunAgentInput};
/// let mut writer = RunWriter::new(RunAgentInput::new("trip-7", "turn-1", []), Vec::new());
/// writer.start()?;
/// let answer = writer.parent().start_text(TextStart::new())?;
/// writer.parent().text_delta(&answer, "Lisbon")?;
/// writer.finish(RunEnd::success());
///
/// let types: Vec<EventType> = writer.into_sink().iter().map(Event::event_type).collect();
/// assert_eq!(types, [
///     EventType::RunStarted,
///     EventType::TextMessageStart,
///     EventType::TextMessageContent,
///     EventType::TextMessageEnd, // closed by the writer (`LIFE-3`)
///     EventType::RunFinished,
/// ]);
/// # Ok::<(), WriteError>(())
/// ```
#[derive(Debug)]
pub struct RunWriter<S> {
    sink: S,
    input: Arc<RunAgentInput>,
    sequence: SpelledSequence,
    /// The state as the consumer holds it; none until something touches it, so that a run which never does pays nothing.
    state: Option<Value>,
    usage: Vec<TokenUsage>,
    /// Items whose handles are gone, to be closed before their owner's next event; by the owner of the handle.
    released: HashMap<Option<SubagentRunId>, Vec<OpenItem>>,
    max_event_bytes: usize,
    echo_input: bool,
    unchecked: bool,
    /// The state has the change already that is about to be written.
    state_is_ahead: bool,
    ending: Option<Ending>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Finished,
    Cancelled,
    Failed,
    /// The sink took no more.
    Closed,
}

impl<S: EventSink> RunWriter<S> {
    /// The default limit on one event's encoded size: 10 MiB, where the published 1.0 client gives up.
    pub const DEFAULT_MAX_EVENT_BYTES: usize = 10 * 1024 * 1024;

    /// A writer for the run that `input` asks for. Nothing is written before [`start`](Self::start).
    pub fn new(input: impl Into<Arc<RunAgentInput>>, sink: S) -> Self {
        let input = input.into();
        let mut sequence = SpelledSequence::new(Policy::Producer);
        sequence.expect_input(&input);
        Self {
            sink,
            input,
            sequence,
            state: None,
            usage: Vec::new(),
            released: HashMap::new(),
            max_event_bytes: Self::DEFAULT_MAX_EVENT_BYTES,
            echo_input: false,
            unchecked: false,
            state_is_ahead: false,
            ending: None,
        }
    }

    /// Sets the limit on one event's size as JSON, in bytes.
    #[must_use]
    pub const fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Puts the input on `RUN_STARTED` (`INPUT-5`).
    #[must_use]
    pub const fn with_echoed_input(mut self) -> Self {
        self.echo_input = true;
        self
    }

    /// The input of the run.
    pub const fn input(&self) -> &Arc<RunAgentInput> {
        &self.input
    }

    /// The sink.
    pub const fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink, to change.
    pub const fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Gives the sink back.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Whether the run has had its terminal event.
    pub const fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    pub(crate) const fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Opens the run: `RUN_STARTED` with the input's ids and our protocol version (`LIFE-1`, `LIFE-9`, `VER-1`).
    ///
    /// # Errors
    /// The run has begun already, or the sink is closed.
    pub fn start(&mut self) -> Result<(), WriteError> {
        let mut started = RunStartedEvent::new(&self.input.thread_id, &self.input.run_id)
            .with_protocol_version(PROTOCOL_VERSION);
        started.parent_run_id.clone_from(&self.input.parent_run_id);
        if self.echo_input {
            started.input = Some(Box::new((*self.input).clone()));
        }
        self.emit(started.into())
    }

    /// The helpers for events of the parent agent.
    pub const fn parent(&mut self) -> WriterScope<'_, S> {
        WriterScope::new(self, None)
    }

    /// The helpers for events of one subagent invocation (`SUB-1`).
    pub fn subagent(&mut self, id: impl Into<SubagentRunId>) -> WriterScope<'_, S> {
        WriterScope::new(self, Some(id.into()))
    }

    /// Writes any event, checked like everything else. A terminal event ends the run; nothing is closed for it.
    ///
    /// # Errors
    /// The event breaks an order rule, is too large, or the run takes no more events. It has not gone out then.
    pub fn emit(&mut self, event: Event) -> Result<(), WriteError> {
        self.check_open()?;
        let size = self.check_size(&event)?;
        if !self.released.is_empty() {
            let due = match &event {
                // Everybody's, for there is no other event of theirs to come.
                Event::RunFinished(_) => self.released.drain().flat_map(|(_, items)| items).collect(),
                event => self.take_released(event.subagent_run_id()),
            };
            self.close_released(&due)?;
        }
        self.check_and_send(event, size)
    }

    /// [`emit`](Self::emit) for an event with a delta whose texts are of so many bytes and that has nothing else in it.
    ///
    /// Nine events of ten are one, and there is little to decide about them.
    #[inline]
    pub(super) fn emit_delta(&mut self, event: Event, text_bytes: usize) -> Result<(), WriteError> {
        let size = size::FRAME.saturating_add(text_bytes);
        let fits = size.saturating_mul(size::ESCAPED) <= self.max_event_bytes;
        if self.is_over() || self.unchecked || !self.released.is_empty() || !fits {
            return self.emit(event);
        }
        self.sequence.check_spelled(&event)?;
        let sent = self.sink.send_sized(event, size);
        if sent.is_err() {
            self.ending = Some(Ending::Closed);
        }
        Ok(sent?)
    }

    /// Writes an event that carries no attribution on behalf of an owner, whose released items close first.
    pub(super) fn emit_owned(
        &mut self,
        event: Event,
        owner: Option<&SubagentRunId>,
    ) -> Result<(), WriteError> {
        self.check_open()?;
        let size = self.check_size(&event)?;
        if !self.released.is_empty() {
            let due = self.take_released(owner);
            self.close_released(&due)?;
        }
        self.check_and_send(event, size)
    }

    /// Ends an invocation with the given event, after what it has open.
    pub(super) fn end_subagent(&mut self, id: &SubagentRunId, event: Event) -> Result<(), WriteError> {
        self.check_open()?;
        let size = self.check_size(&event)?;
        self.take_released(Some(id));
        if !self.unchecked && self.sequence().is_subagent_active(id) {
            self.send_closing(self.sequence.close_events_of(Some(id)))?;
        }
        self.check_and_send(event, size)
    }

    /// Writes a change of the state that is known to apply.
    pub(super) fn patch_state(
        &mut self,
        operations: Vec<JsonPatchOperation>,
        owner: Option<SubagentRunId>,
    ) -> Result<(), WriteError> {
        self.check_open()?;
        let mut event = StateDeltaEvent::new(operations);
        event.subagent_run_id = owner;
        let event = Event::from(event);
        self.check_size(&event)?;
        if !self.unchecked && !self.sequence().is_active() {
            // Refused for where it stands, which must not leave the state changed.
            return self.emit(event);
        }
        if let Event::StateDelta(delta) = &event {
            // Tried first, so that a patch which does not apply is the caller's error and not the consumer's warning.
            let state = self.state.get_or_insert_with(|| self.input.initial_state());
            patch::apply(state, &delta.delta)?;
        }
        self.state_is_ahead = true;
        let sent = self.emit(event);
        self.state_is_ahead = false;
        sent
    }

    /// Writes an event without judging the order, for testing consumers. From then on nothing is closed by itself.
    ///
    /// # Errors
    /// The event is too large or the run takes no more events.
    pub fn emit_unchecked(&mut self, event: Event) -> Result<(), WriteError> {
        self.check_open()?;
        let size = self.check_size(&event)?;
        self.unchecked = true;
        self.track(&event);
        self.send(event, size)
    }

    /// Whether an event was written [without being judged](Self::emit_unchecked).
    pub const fn is_unchecked(&self) -> bool {
        self.unchecked
    }

    /// Adds token counts, which go out with the run's end, one entry per provider and model (`LIFE-12`).
    pub fn add_usage(&mut self, usage: TokenUsage) {
        TokenUsage::aggregate(&mut self.usage, usage);
    }

    /// The state as the consumer holds it after what has been written.
    pub fn state(&mut self) -> &Value {
        self.state.get_or_insert_with(|| self.input.initial_state())
    }

    /// Ends the run in order: closes what is open, then `RUN_FINISHED`. Does nothing if the run is over.
    pub fn finish(&mut self, mut end: RunEnd) {
        if self.is_over() {
            return;
        }
        for usage in mem::take(&mut end.usage) {
            self.add_usage(usage);
        }
        let unanswered = self.sequence().unanswered_tool_calls();
        let (outcome, result) = end.settle(unanswered);
        let mut finished = RunFinishedEvent::new(&self.input.thread_id, &self.input.run_id);
        finished.outcome = outcome;
        finished.result = result;
        finished.usage = self.usage();
        self.close_all();
        if self.is_over() {
            return;
        }
        let finished = Event::from(finished);
        let sent = self.check_size(&finished).and_then(|size| self.check_and_send(finished, size));
        if let Err(error) = sent {
            // What cannot end in order ends as a failure (`LIFE-5`).
            self.fail(&error.into());
        }
    }

    /// Ends a run that was stopped on purpose: closes what is open, then the cancelled outcome (`LIFE-5`).
    pub fn cancel(&mut self) {
        self.finish(RunEnd::cancelled());
    }

    /// Ends a run that failed: closes what is open, then `RUN_ERROR` (`LIFE-6`). Does nothing if the run is over.
    pub fn fail(&mut self, error: &RunError) {
        if self.is_over() {
            return;
        }
        self.close_all();
        if self.is_over() {
            return;
        }
        let mut failed = self.failure(error);
        if let Err(too_large) = self.check_size(&failed) {
            // An ending goes out whatever the limit; only what it says has to fit.
            failed = self.failure(&too_large.into());
        }
        let size = size::hint(&failed);
        if self.check_and_send(failed, size).is_err() {
            self.ending = Some(Ending::Closed);
        }
    }

    /// Refuses everything from now on, without an ending: nobody reads the run.
    pub(crate) fn close(&mut self) {
        self.ending.get_or_insert(Ending::Closed);
    }

    /// Marks an item whose handle is gone; its end goes out before its owner's next event, or with the run's.
    pub(crate) fn release(&mut self, item: OpenItem) {
        if !self.is_over() {
            self.released.entry(item.owner.clone()).or_default().push(item);
        }
    }

    /// What the events so far come to: what is open, which calls are unanswered.
    pub fn sequence(&self) -> &Sequence {
        self.sequence.sequence()
    }

    /// Whether anything is open that a `RUN_FINISHED` does not close by itself, as it does with what chunks build.
    pub(super) fn needs_closing(&self) -> bool {
        self.sequence.needs_closing()
    }

    fn failure(&self, error: &RunError) -> Event {
        let mut failed = RunErrorEvent::new(error.public_message());
        failed.code = error.wire_code().map(str::to_owned);
        failed.usage = self.usage();
        failed.into()
    }

    fn usage(&self) -> Option<Vec<TokenUsage>> {
        (!self.usage.is_empty()).then(|| self.usage.clone())
    }

    #[inline]
    fn check_open(&self) -> Result<(), WriteError> {
        if self.is_over() { Err(WriteError::Closed) } else { Ok(()) }
    }

    /// About how many bytes the event takes, if they are within the limit and its integers are.
    #[inline]
    fn check_size(&self, event: &Event) -> Result<usize, WriteError> {
        size::check_integers(event)?;
        let hint = size::hint(event);
        if hint.saturating_mul(size::ESCAPED) <= self.max_event_bytes {
            return Ok(hint);
        }
        let bytes = size::encoded_len(event);
        if bytes > self.max_event_bytes {
            return Err(WriteError::TooLarge { bytes, limit: self.max_event_bytes });
        }
        Ok(bytes)
    }

    #[inline]
    fn check_and_send(&mut self, event: Event, size: usize) -> Result<(), WriteError> {
        if !self.unchecked {
            if let Event::RunStarted(started) = &event
                && started.run_id != self.input.run_id
            {
                let message = "a writer serves the one run that its input asks for";
                return Err(SequenceError::new("LIFE-9", EventType::RunStarted, message).into());
            }
            self.sequence.check_spelled(&event)?;
        }
        self.track(&event);
        self.send(event, size)
    }

    #[inline]
    fn send(&mut self, event: Event, size: usize) -> Result<(), WriteError> {
        let ending = match &event {
            Event::RunFinished(finished) => match finished.outcome {
                Some(crate::RunFinishedOutcome::Cancelled(_)) => Some(Ending::Cancelled),
                _ => Some(Ending::Finished),
            },
            Event::RunError(_) => Some(Ending::Failed),
            _ => None,
        };
        let sent = self.sink.send_sized(event, size);
        self.ending = match sent {
            Ok(()) => ending.or(self.ending),
            Err(_) => Some(Ending::Closed),
        };
        Ok(sent?)
    }

    /// Follows the state as a consumer does: a patch that does not apply changes nothing (`STATE-3`).
    #[inline]
    fn track(&mut self, event: &Event) {
        match event {
            Event::StateSnapshot(snapshot) => self.state = Some(snapshot.snapshot.clone()),
            Event::StateDelta(delta) if !self.state_is_ahead => {
                let state = self.state.get_or_insert_with(|| self.input.initial_state());
                if let Err(error) = patch::apply(state, &delta.delta) {
                    tracing::warn!(%error, "a state delta does not apply and changes nothing (STATE-3)");
                }
            }
            _ => {}
        }
    }

    /// Takes what an owner's handles have let go of.
    fn take_released(&mut self, owner: Option<&SubagentRunId>) -> Vec<OpenItem> {
        if self.released.is_empty() {
            Vec::new()
        } else {
            self.released.remove(&owner.cloned()).unwrap_or_default()
        }
    }

    /// Closes what handles have let go of and is due: the item opened last first, and with a subagent what is in it.
    fn close_released(&mut self, due: &[OpenItem]) -> Result<(), WriteError> {
        if due.is_empty() || self.unchecked {
            return Ok(());
        }
        // What a subagent has open may be due by itself as well.
        let mut seen = HashSet::new();
        let mut events = Vec::with_capacity(due.len());
        for item in self.sequence().open_among(due).into_iter().rev() {
            if item.kind == OpenKind::Subagent {
                let id = SubagentRunId::from(Arc::clone(&item.id));
                for inner in self.sequence.open_items_of(Some(&id)).into_iter().rev() {
                    let event = inner.close_event();
                    if seen.insert(inner) {
                        events.push(event);
                    }
                }
            }
            let event = item.close_event();
            if seen.insert(item) {
                events.push(event);
            }
        }
        self.send_closing(events)
    }

    fn send_closing(&mut self, events: Vec<Event>) -> Result<(), WriteError> {
        for event in events {
            let size = size::hint(&event);
            self.check_and_send(event, size)?;
        }
        Ok(())
    }

    fn close_all(&mut self) {
        self.released.clear();
        if self.unchecked {
            return;
        }
        if let Err(error) = self.send_closing(self.sequence.close_events()) {
            tracing::error!(%error, "an open item could not be closed");
        }
    }
}
