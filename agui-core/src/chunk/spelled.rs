//! Judging a sequence as it is spelled, chunks and all.

use super::ChunkExpander;
use super::lanes::{Stream, What};
use super::plan::{self, Act};
use crate::sequence::{OpenEntry, OpenItem, Policy, Sequence, SequenceError};
use crate::{Event, EventType, MessageId, RunAgentInput, SubagentRunId, ToolCallId};

/// A [`Sequence`] that takes events in either spelling, by reference.
///
/// For a producer whose chunks go out as they are: each is judged by what a consumer will make of it, without being
/// taken apart.
///
/// # Examples
/// ```
/// use agui_core::chunk::SpelledSequence;
/// use agui_core::sequence::Policy;
/// use agui_core::{Event, RunStartedEvent, TextMessageChunkEvent, TextMessageStartEvent};
///
/// let mut sequence = SpelledSequence::new(Policy::Producer);
/// sequence.check_spelled(&RunStartedEvent::new("trip-7", "turn-1").into())?;
/// sequence.check_spelled(&TextMessageStartEvent::new("m1").into())?;
///
/// let chunk = TextMessageChunkEvent::default().with_message_id("m1").with_delta("Hel");
/// let error = sequence.check_spelled(&Event::from(chunk)).unwrap_err();
/// assert_eq!(error.rule(), "CHUNK-6");
/// # Ok::<(), agui_core::sequence::SequenceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SpelledSequence {
    sequence: Sequence,
    expander: ChunkExpander,
}

/// An item that was closed to judge what closes it.
enum Closed {
    Text(OpenEntry<MessageId>),
    Reasoning(OpenEntry<MessageId>),
    Call(OpenEntry<ToolCallId>),
}

impl SpelledSequence {
    /// A sequence before its first event, with no history.
    pub fn new(policy: Policy) -> Self {
        Self { sequence: Sequence::new(policy), expander: ChunkExpander::new() }
    }

    /// Tells of the input the stream answers; see [`Sequence::expect_input`].
    pub fn expect_input(&mut self, input: &RunAgentInput) {
        self.sequence.expect_input(input);
    }

    /// What the events so far come to. What a chunk stream builds is among the open items until it ends.
    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Whether any item is open that needs an END of its own. Chunk streams do not: what ends the run ends them.
    pub fn needs_closing(&self) -> bool {
        self.sequence.has_open_items() && !self.close_events().is_empty()
    }

    /// The events that close everything that was opened by an event of its own, the item opened last first. What
    /// chunks build takes no END (`CHUNK-6`).
    pub fn close_events(&self) -> Vec<Event> {
        self.without_built(self.sequence.close_events())
    }

    /// Of [`close_events`](Self::close_events), those of one owner and of the active subagents below it; see
    /// [`Sequence::close_events_of`].
    pub fn close_events_of(&self, owner: Option<&SubagentRunId>) -> Vec<Event> {
        self.without_built(self.sequence.close_events_of(owner))
    }

    /// What [`close_events_of`](Self::close_events_of) closes, in the order opened.
    pub(crate) fn open_items_of(&self, owner: Option<&SubagentRunId>) -> Vec<OpenItem> {
        let mut items = self.sequence.open_items_of(owner);
        if !self.expander.is_idle() {
            items.retain(|item| !self.is_built(&item.close_event()));
        }
        items
    }

    fn without_built(&self, mut events: Vec<Event>) -> Vec<Event> {
        if !self.expander.is_idle() {
            events.retain(|event| !self.is_built(event));
        }
        events
    }

    /// Whether an event would close what a chunk stream builds.
    fn is_built(&self, event: &Event) -> bool {
        self.expander.plan(event).is_ok_and(|plan| plan.mixes)
    }

    /// Judges one event of either spelling, and takes it into account if it may stand here.
    ///
    /// # Errors
    /// The event breaks a rule, or a chunk does by what it stands for. The error names the event as it is spelled and
    /// says so where the two spellings of one item mix (`CHUNK-6`). Nothing has changed then.
    #[inline]
    pub fn check_spelled(&mut self, event: &Event) -> Result<(), SequenceError> {
        if self.expander.is_idle() && !plan::is_chunk(event) {
            return self.sequence.check(event);
        }
        self.check_among_chunks(event)
    }

    /// Judges a chunk, or an event while chunk streams are open.
    fn check_among_chunks(&mut self, event: &Event) -> Result<(), SequenceError> {
        let kind = event.event_type();
        if !self.sequence.is_active() {
            // Before and after a run a chunk is refused for where it stands, whatever it lacks.
            return Err(self.sequence.outside_a_run(kind));
        }
        let plan = self.expander.plan(event)?;
        let mut closed = Vec::new();
        for owner in &plan.closes {
            let stream = self.expander.lanes.get(owner.as_ref());
            closed.extend(stream.and_then(|stream| close(&mut self.sequence, stream)));
        }
        let judged = match &plan.act {
            Act::Pass => self.sequence.check(event).map_err(|error| match &error {
                error if plan.mixes && error.rule() == "STREAM-1" => mixed_after_chunks(error),
                _ => error,
            }),
            Act::Open(stream) => open(&mut self.sequence, stream, kind),
            Act::Continue(owner) => match self.expander.lanes.get(owner.as_ref()) {
                Some(stream) => continues(&mut self.sequence, stream, kind),
                None => Ok(()),
            },
        };
        if let Err(error) = judged {
            for item in closed {
                restore(&mut self.sequence, item);
            }
            return Err(error);
        }
        for owner in &plan.closes {
            self.expander.lanes.close(owner.as_ref());
        }
        if let Act::Open(stream) = plan.act {
            self.expander.lanes.open(stream);
        }
        Ok(())
    }
}

fn close(sequence: &mut Sequence, stream: &Stream) -> Option<Closed> {
    let open = sequence.open_mut();
    match &stream.what {
        What::Text { id, .. } => open.text.remove(id).map(Closed::Text),
        What::Reasoning { id } => open.reasoning.remove(id).map(Closed::Reasoning),
        What::Call { id, .. } => open.calls.remove(id).map(Closed::Call),
    }
}

fn restore(sequence: &mut Sequence, item: Closed) {
    let open = sequence.open_mut();
    match item {
        Closed::Text(entry) => open.text.insert(entry),
        Closed::Reasoning(entry) => open.reasoning.insert(entry),
        Closed::Call(entry) => open.calls.insert(entry),
    }
}

/// Judges the START that a first chunk stands for.
fn open(sequence: &mut Sequence, stream: &Stream, kind: EventType) -> Result<(), SequenceError> {
    let is_open = match &stream.what {
        What::Text { id, .. } => sequence.is_text_open(id),
        What::Reasoning { id } => sequence.is_reasoning_message_open(id),
        What::Call { id, .. } => sequence.is_tool_call_open(id),
    };
    let start = stream.start_event();
    if is_open {
        let message = format!(
            "{} was opened by {}, so chunks do not continue it: the two spellings do not mix within one item",
            stream.what.describe(),
            start.event_type()
        );
        return Err(SequenceError::new("CHUNK-6", kind, message));
    }
    sequence.check(&start).map_err(|error| error.spelled(kind))
}

/// Judges the content that a later chunk stands for.
fn continues(sequence: &mut Sequence, stream: &Stream, kind: EventType) -> Result<(), SequenceError> {
    let owner = stream.owner.as_ref();
    match &stream.what {
        What::Text { id, .. } => sequence.continue_text(id, owner, kind),
        What::Reasoning { id } => sequence.continue_reasoning(id, owner, kind),
        What::Call { id, .. } => sequence.continue_call(id, owner, kind),
    }
}

#[cold]
fn mixed_after_chunks(error: &SequenceError) -> SequenceError {
    let message = format!(
        "{}: it was built by chunks, which this event ends; the two spellings do not mix within one item",
        error.message()
    );
    SequenceError::new("CHUNK-6", error.event_type(), message)
}
