//! The state machine that judges a sequence of events. There is one, for both ends of a stream.
//!
//! A [`Sequence`] looks at events by reference, one after the other, and says of each whether it may stand there. It
//! knows what is open, who owns what, and which calls are unanswered; it keeps no content, folds nothing and sends
//! nothing. [`Policy`] decides what a departure is: everything that binds the producer, or only what a consumer has to
//! refuse, with [`Notice`]s about the rest.
//!
//! Invariants:
//!
//! * An event that is refused changes nothing: what was legal before it still is.
//! * Chunks are not judged here but in [`chunk`](crate::chunk), which turns them into what they stand for.
//! * What depends on the messages a consumer holds (a patch without its activity, an encrypted value without its
//!   target, text for a message of another role) is for whoever folds the events to warn about.
//! * Memory grows with the identifiers seen, never with the number of events. Checking a delta allocates nothing.

mod error;
mod history;
mod items;
mod open;
mod run;
mod standalone;

use std::collections::{HashMap, HashSet};

use history::{Adopt, History};
use open::Entry;
pub(crate) use open::{Entry as OpenEntry, Open};

pub use error::{Notice, SequenceError};
pub(crate) use error::{OwnerName, Quoted};
pub use open::{OpenItem, OpenKind};

use crate::{
    Event, EventType, Message, MessageId, Role, RunAgentInput, RunId, SubagentRunId, ThreadId, ToolCallId,
};

/// Who an event or an item belongs to: a subagent's invocation, or the parent agent (`SUB-1`).
pub(crate) type Owner = Option<SubagentRunId>;

/// Whose obligations a [`Sequence`] holds the events to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Everything that binds whoever emits the events. Each departure is an error, so that it never leaves.
    Producer,
    /// What a consumer has to refuse. A departure that only the producer owes is let pass with a [`Notice`].
    Consumer,
}

/// Judges the events of one stream, in order.
///
/// # Examples
/// ```
/// use agui_core::sequence::{Policy, Sequence};
/// use agui_core::{Event, RunFinishedEvent, RunStartedEvent, TextMessageEndEvent, TextMessageStartEvent};
///
/// let mut sequence = Sequence::new(Policy::Producer);
/// sequence.check(&Event::from(RunStartedEvent::new("trip-7", "turn-1")))?;
/// sequence.check(&Event::from(TextMessageStartEvent::new("m1")))?;
///
/// // A run cannot finish while a message is open, and the attempt changes nothing.
/// let finished = Event::from(RunFinishedEvent::new("trip-7", "turn-1"));
/// let error = sequence.check(&finished).unwrap_err();
/// assert_eq!(error.rule(), "LIFE-3");
/// assert!(error.message().contains("m1"));
///
/// for event in sequence.close_events() {
///     assert_eq!(event, TextMessageEndEvent::new("m1").into());
///     sequence.check(&event)?;
/// }
/// sequence.check(&finished)?;
/// assert!(sequence.is_over());
/// # Ok::<(), agui_core::sequence::SequenceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sequence {
    policy: Policy,
    phase: Phase,
    /// Counts the runs of the stream; 0 is before the first one.
    run: u64,
    thread_id: Option<ThreadId>,
    run_id: Option<RunId>,
    /// The run the input asked for, which comes last (`LIFE-9`).
    requested: Option<RunId>,
    run_ids: HashSet<RunId>,
    open: Open,
    history: History,
    this_run: ThisRun,
    notices: Vec<Notice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No event yet.
    Fresh,
    Active,
    Finished,
    Failed,
}

/// What is forgotten when the next run starts (`LIFE-8`).
#[derive(Debug, Clone, Default)]
struct ThisRun {
    /// Invocations announced in this run, ended or not (`SUB-2`).
    announced: HashSet<SubagentRunId>,
    /// Who opened a reasoning span of an id first.
    spans: HashMap<MessageId, Owner>,
    calls: HashMap<ToolCallId, CallProgress>,
}

#[derive(Debug, Clone, Copy, Default)]
struct CallProgress {
    /// The place among the run's calls, once started in this run.
    started: Option<usize>,
    answered: bool,
}

impl Sequence {
    /// A sequence before its first event, with no history.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            phase: Phase::Fresh,
            run: 0,
            thread_id: None,
            run_id: None,
            requested: None,
            run_ids: HashSet::new(),
            open: Open::default(),
            history: History::default(),
            this_run: ThisRun::default(),
            notices: Vec::new(),
        }
    }

    /// Tells of messages from before the stream: who owns them and their calls, and what a reopening has to agree
    /// with (`STREAM-4`, `SUB-4`). What is known already stays as it is.
    pub fn seed(&mut self, messages: &[Message]) {
        self.history.adopt(messages, self.run, Adopt::Fill);
    }

    /// Tells of the input the stream answers: [seeds](Self::seed) its messages and holds the runs to its thread and
    /// to the run it asks for (`LIFE-9`).
    ///
    /// # Examples
    /// ```
    /// use agui_core::sequence::{Policy, Sequence};
    /// use agui_core::{Event, RunAgentInput, RunStartedEvent};
    ///
    /// let mut sequence = Sequence::new(Policy::Producer);
    /// sequence.expect_input(&RunAgentInput::new("trip-7", "turn-2", []));
    /// let error = sequence.check(&Event::from(RunStartedEvent::new("trip-8", "turn-2"))).unwrap_err();
    /// assert_eq!(error.rule(), "LIFE-9");
    /// ```
    pub fn expect_input(&mut self, input: &RunAgentInput) {
        self.expect_replay(input);
        self.requested = Some(input.run_id.clone());
    }

    /// As [`expect_input`](Self::expect_input) for an input that asks for a replay, whose run id names no run.
    pub fn expect_replay(&mut self, input: &RunAgentInput) {
        self.thread_id = Some(input.thread_id.clone());
        self.seed(&input.messages);
    }

    /// Judges one event, and takes it into account if it may stand here.
    ///
    /// # Errors
    /// The event breaks a rule that the policy enforces, or is a chunk. Nothing has changed then, and another event
    /// may be tried.
    #[inline]
    pub fn check(&mut self, event: &Event) -> Result<(), SequenceError> {
        // Most events of a run are text for the message, or for the call, that had the one before. What follows would
        // say the same, at three times the price. That something is open says that a run is active.
        let goes_on = match event {
            Event::TextMessageContent(event) => {
                event.subagent_run_id.is_none() && self.open.text.is_last(&event.message_id)
            }
            Event::ToolCallArgs(event) => {
                event.subagent_run_id.is_none() && self.open.calls.is_last(&event.tool_call_id)
            }
            _ => false,
        };
        if goes_on { Ok(()) } else { self.check_any(event) }
    }

    fn check_any(&mut self, event: &Event) -> Result<(), SequenceError> {
        let kind = event.event_type();
        let boundary = matches!(event, Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_));
        if self.phase != Phase::Active && !boundary {
            return Err(self.outside_a_run(kind));
        }
        match event {
            Event::TextMessageContent(event) => {
                self.continue_text(&event.message_id, event.subagent_run_id.as_ref(), kind)
            }
            Event::ToolCallArgs(event) => {
                self.continue_call(&event.tool_call_id, event.subagent_run_id.as_ref(), kind)
            }
            Event::ReasoningMessageContent(event) => {
                self.continue_reasoning(&event.message_id, event.subagent_run_id.as_ref(), kind)
            }
            Event::TextMessageStart(event) => self.start_text(event),
            Event::TextMessageEnd(event) => {
                self.continue_text(&event.message_id, event.subagent_run_id.as_ref(), kind)?;
                self.open.text.remove(&event.message_id);
                Ok(())
            }
            Event::ToolCallStart(event) => self.start_call(event),
            Event::ToolCallEnd(event) => {
                self.continue_call(&event.tool_call_id, event.subagent_run_id.as_ref(), kind)?;
                self.open.calls.remove(&event.tool_call_id);
                Ok(())
            }
            Event::ReasoningMessageStart(event) => self.start_reasoning(event),
            Event::ReasoningMessageEnd(event) => {
                self.continue_reasoning(&event.message_id, event.subagent_run_id.as_ref(), kind)?;
                self.open.reasoning.remove(&event.message_id);
                Ok(())
            }
            Event::ReasoningStart(event) => self.start_span(event),
            Event::ReasoningEnd(event) => self.end_span(event),
            Event::StepStarted(event) => self.start_step(event),
            Event::StepFinished(event) => self.finish_step(event),
            Event::SubagentStarted(event) => self.start_subagent(event),
            Event::SubagentFinished(event) => self.end_subagent(&event.subagent_run_id, kind),
            Event::SubagentError(event) => self.end_subagent(&event.subagent_run_id, kind),
            Event::ToolCallResult(event) => self.tool_result(event),
            Event::ActivitySnapshot(event) => self.activity_snapshot(event),
            Event::ActivityDelta(event) => self.activity_delta(event),
            Event::ReasoningEncryptedValue(event) => self.encrypted_value(event),
            Event::MessagesSnapshot(event) => {
                self.messages_snapshot(&event.messages);
                Ok(())
            }
            Event::TextMessageChunk(_) | Event::ToolCallChunk(_) | Event::ReasoningMessageChunk(_) => {
                Err(SequenceError::new("CHUNK-1", kind, "a chunk is expanded before it is judged"))
            }
            Event::StateSnapshot(_) | Event::StateDelta(_) | Event::Raw(_) | Event::Custom(_) => Ok(()),
            Event::RunStarted(event) => self.start_run(event),
            Event::RunFinished(event) => self.finish_run(event),
            Event::RunError(_) => self.fail_run(),
        }
    }

    /// Tells that the stream has ended, so that a consumer is told when the run it asked for did not come last
    /// (`LIFE-9`). A run that is still active is truncated (`LIFE-11`), which is not judged here.
    pub fn end_of_stream(&mut self) {
        let (Some(requested), Some(last)) = (&self.requested, &self.run_id) else { return };
        if requested != last && self.policy == Policy::Consumer {
            let message = format!(
                "the last run of the stream is {}, the input asked for {}",
                Quoted(last.as_str()),
                Quoted(requested.as_str())
            );
            self.notices.push(Notice::new("LIFE-9", EventType::RunStarted, "/runId", message));
        }
    }

    /// Takes the notices gathered since the last time. Only [`Policy::Consumer`] gathers any.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    pub(crate) const fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Whose obligations the events are held to.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Whether a run has started and not ended.
    pub fn is_active(&self) -> bool {
        self.phase == Phase::Active
    }

    /// Whether the last run has ended, in order or by its failure. Before the first event, it has not.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Finished | Phase::Failed)
    }

    /// The run that started last; absent if none did.
    pub fn run_id(&self) -> Option<&RunId> {
        self.run_id.as_ref()
    }

    /// The thread, as the input or the first run named it.
    pub fn thread_id(&self) -> Option<&ThreadId> {
        self.thread_id.as_ref()
    }

    /// Whether anything is open.
    pub fn has_open_items(&self) -> bool {
        self.open.len() > 0
    }

    /// Everything the run has open, in the order it was opened.
    pub fn open_items(&self) -> Vec<OpenItem> {
        self.open.items()
    }

    /// The events that close everything, the item opened last first, each attributed to its owner (`LIFE-3`).
    ///
    /// They are legal in this order. A subagent ends with no outcome, which is success.
    pub fn close_events(&self) -> Vec<Event> {
        self.open.items().iter().rev().map(OpenItem::close_event).collect()
    }

    /// The events that close what one owner has open, with the active subagents it announced and what those have
    /// open; the item opened last first.
    ///
    /// The owner's own invocation is not among it: how that ends is for the caller to say.
    pub fn close_events_of(&self, owner: Option<&SubagentRunId>) -> Vec<Event> {
        self.open.items_of(owner).iter().rev().map(OpenItem::close_event).collect()
    }

    /// What one owner has open, with what the active subagents it announced have; in the order opened.
    pub(crate) fn open_items_of(&self, owner: Option<&SubagentRunId>) -> Vec<OpenItem> {
        self.open.items_of(owner)
    }

    /// Which of some items are open, in the order opened and with the owners they have now.
    pub(crate) fn open_among<'a>(&self, items: impl IntoIterator<Item = &'a OpenItem>) -> Vec<OpenItem> {
        self.open.open_among(items)
    }

    /// The calls the run has started and not answered, in the order made (`INT-7`). A result in a snapshot answers
    /// a call as a `TOOL_CALL_RESULT` does.
    pub fn unanswered_tool_calls(&self) -> Vec<ToolCallId> {
        let mut calls: Vec<_> = self
            .this_run
            .calls
            .iter()
            .filter(|(_, progress)| !progress.answered)
            .filter_map(|(id, progress)| Some((progress.started?, id)))
            .collect();
        calls.sort_unstable();
        calls.into_iter().map(|(_, id)| id.clone()).collect()
    }

    /// Whether a text message is open.
    pub fn is_text_open(&self, id: &MessageId) -> bool {
        self.open.text.peek(id).is_some()
    }

    /// Whether a tool call is open.
    pub fn is_tool_call_open(&self, id: &ToolCallId) -> bool {
        self.open.calls.peek(id).is_some()
    }

    /// Whether a reasoning message is open.
    pub fn is_reasoning_message_open(&self, id: &MessageId) -> bool {
        self.open.reasoning.peek(id).is_some()
    }

    /// Whether a reasoning span is open.
    pub fn is_reasoning_span_open(&self, id: &MessageId) -> bool {
        self.open.spans.peek(id).is_some()
    }

    /// Whether an owner has a step of this name open; `None` is the parent agent.
    pub fn is_step_open(&self, owner: Option<&SubagentRunId>, name: &str) -> bool {
        self.open.steps.contains(&owner.cloned(), name)
    }

    /// Whether an announced invocation has not ended.
    pub fn is_subagent_active(&self, id: &SubagentRunId) -> bool {
        self.open.subagents.peek(id).is_some()
    }

    /// Whether an invocation was announced in this run, ended or not.
    pub(crate) fn is_subagent_announced(&self, id: &SubagentRunId) -> bool {
        self.this_run.announced.contains(id)
    }

    /// The role of a message of the thread; absent if nothing has told of the message.
    pub fn message_role(&self, id: &MessageId) -> Option<Role> {
        self.history.messages.get(id).map(|record| record.role)
    }

    /// The owner of a message of the thread, where the inner `None` is the parent agent; absent if nothing has told
    /// of the message.
    pub fn message_owner(&self, id: &MessageId) -> Option<Option<&SubagentRunId>> {
        self.history.messages.get(id).map(|record| record.owner.as_ref())
    }

    /// The owner of a tool call of the thread, where the inner `None` is the parent agent; absent if nothing has
    /// told of the call.
    pub fn tool_call_owner(&self, id: &ToolCallId) -> Option<Option<&SubagentRunId>> {
        self.history.calls.get(id).map(|record| record.owner.as_ref())
    }

    /// What the expander of the same stream has to reach: the open items, to undo what it closed.
    pub(crate) fn open_mut(&mut self) -> &mut Open {
        &mut self.open
    }

    fn is_producer(&self) -> bool {
        self.policy == Policy::Producer
    }
}
