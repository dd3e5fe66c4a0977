//! The fold: verified events become messages, state and runs.
//!
//! What it takes is the output of verification: enforced, expanded, and judged by a
//! [`Sequence`](crate::sequence::Sequence). It therefore refuses nothing, and what the sequence has told the developer
//! about it does not tell again. Its own [`Warning`]s are about what depends on the messages that are held: a patch that
//! does not apply, a value without a target, an item under the id of another kind of message. Traffic as the protocol
//! wants it is silent.
//!
//! It knows no clock, sends nothing, derives nothing from RAW, CUSTOM, steps and subagents, and never invents an ending:
//! a stream that breaks off leaves its run without one (`LIFE-11`).
//!
//! Invariants:
//!
//! * Folding is linear in the bytes that arrive. A delta costs one comparison, or one hash where items interleave, and
//!   the copy of its text; it does not depend on how many messages, calls or subagents there are. Only a list of
//!   messages (a snapshot, an input) costs what the conversation is long.
//! * Nothing that is held is copied on the way; a [`Change`] says what to look at.
//! * No two messages have one id.
//! * Memory grows with what is held, the runs, and the ids of the run that is on; never with the number of events.

mod activity;
mod change;
mod encrypted;
mod runs;
mod slots;
mod snapshot;
mod state;
mod text;
mod tools;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

pub use change::{Change, MessageKey};
use runs::Runs;
pub use runs::{RunFailure, RunRecord, RunStatus};
use slots::{Origin, Slot, Slots};
use text::Stream;

use crate::{
    Event, EventType, Interrupt, Message, MessageId, Metadata, RunAgentInput, ThreadId, ToolCallId, Warning,
};

/// A conversation as a consumer holds it: messages, state, and how the runs ended.
///
/// # Examples
/// ```
/// use agui_core::consumer::{Conversation, RunStatus};
/// use agui_core::{
///     Event, Message, RunAgentInput, RunFinishedEvent, RunStartedEvent, StateDeltaEvent, TextMessageContentEvent,
///     TextMessageEndEvent, TextMessageStartEvent, UserMessage,
/// };
///
/// let question = Message::from(UserMessage::new("q1", "Where to?"));
/// let mut conversation = Conversation::from_input(&RunAgentInput::new("trip-7", "turn-1", [question]));
/// let mut warnings = Vec::new();
/// for event in [
///     Event::from(RunStartedEvent::new("trip-7", "turn-1")),
///     TextMessageStartEvent::new("a1").into(),
///     TextMessageContentEvent::new("a1", "To the ").into(),
///     TextMessageContentEvent::new("a1", "sea.").into(),
///     TextMessageEndEvent::new("a1").into(),
///     RunFinishedEvent::new("trip-7", "turn-1").into(),
/// ] {
///     conversation.apply(&event, &mut warnings);
/// }
/// let texts: Vec<_> = conversation.messages().map(|message| message.text()).collect();
/// assert_eq!(texts, ["Where to?", "To the sea."]);
/// assert_eq!(conversation.run_status(), RunStatus::Success);
/// assert!(warnings.is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct Conversation {
    thread_id: Option<ThreadId>,
    slots: Slots,
    state: Value,
    /// The state is null, which the input could not carry, and nothing has changed it since.
    null_unsent: bool,
    runs: Runs,
    astray: Astray,
}

/// Items of this run whose deltas do not go where they say, and that have been warned about.
#[derive(Debug, Clone, Default)]
struct Astray {
    text: HashSet<MessageId>,
    reasoning: HashSet<MessageId>,
    calls: HashSet<ToolCallId>,
}

impl Astray {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }

    fn of(&mut self, stream: Stream) -> &mut HashSet<MessageId> {
        match stream {
            Stream::Text => &mut self.text,
            Stream::Reasoning => &mut self.reasoning,
        }
    }

    /// Notes an item; says whether it is new.
    fn note(&mut self, stream: Stream, id: &MessageId) -> bool {
        self.of(stream).insert(id.clone())
    }

    fn forget(&mut self, stream: Stream, id: &MessageId) {
        self.of(stream).remove(id);
    }

    fn clear(&mut self) {
        if !self.is_empty() {
            *self = Self::default();
        }
    }
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            thread_id: None,
            slots: Slots::default(),
            state: Value::Object(Map::new()),
            null_unsent: false,
            runs: Runs::default(),
            astray: Astray::default(),
        }
    }
}

impl Conversation {
    /// An empty conversation, whose state is `{}` (`STATE-2`).
    pub fn new() -> Self {
        Self::default()
    }

    /// The conversation of a first exchange: as [`begin`](Self::begin) on an empty one.
    pub fn from_input(input: &RunAgentInput) -> Self {
        let mut conversation = Self::default();
        conversation.begin(input);
        conversation
    }

    /// Begins an exchange with the input that goes out for it (`INPUT-5`, `INPUT-8`).
    ///
    /// The input's messages are the conversation from here on; activities that are held stay behind the message they
    /// follow, since an input that was prepared for sending has none (`STATE-9`). Of an id that stands twice the last
    /// message counts, in the place of the first. The input's state is the baseline of the next deltas; without one it
    /// is `{}` (`STATE-2`), unless the state held is null, which an input cannot carry (`STATE-10`). Interrupts stay
    /// pending until a run finishes.
    ///
    /// Costs what the conversation is long; messages that are held already are compared and not copied.
    pub fn begin(&mut self, input: &RunAgentInput) {
        self.begin_stream();
        self.thread_id = Some(input.thread_id.clone());
        self.adopt(&input.messages);
        match &input.state {
            Some(state) if *state == self.state => {}
            Some(state) => self.state = state.clone(),
            None if self.state.is_null() => {}
            None => self.state = Value::Object(Map::new()),
        }
        self.null_unsent = self.state.is_null();
    }

    /// Begins an exchange that leaves messages and state as they are, such as a replay of the thread (`LIFE-8`).
    pub fn begin_stream(&mut self) {
        self.runs.begin_exchange();
        self.astray.clear();
    }

    /// Takes one event into account, and says what it changed.
    ///
    /// The events are those of one stream that a [`Sequence`](crate::sequence::Sequence) has accepted, in order. A
    /// chunk changes nothing: it is [expanded](crate::chunk) before.
    #[inline]
    pub fn apply(&mut self, event: &Event, warnings: &mut Vec<Warning>) -> Change {
        // Most events of a run are text for the assistant's message that had the one before. What follows would do the
        // same at a higher price.
        if let Event::TextMessageContent(event) = event
            && event.metadata.is_none()
        {
            if let Some((at, message)) = self.slots.again(&event.message_id) {
                message.content.get_or_insert_default().push_str(&event.delta);
                return Change::TextAppended(MessageKey(at));
            }
            if let Some(at) = self.append_elsewhere(&event.message_id, &event.delta) {
                return Change::TextAppended(MessageKey(at));
            }
        }
        self.apply_any(event, warnings)
    }

    /// Text for another of the assistant's messages than the one before.
    #[inline(never)]
    fn append_elsewhere(&mut self, id: &MessageId, delta: &str) -> Option<usize> {
        let (at, message) = self.slots.seek(id)?;
        message.content.get_or_insert_default().push_str(delta);
        Some(at)
    }

    #[inline(never)]
    fn apply_any(&mut self, event: &Event, warnings: &mut Vec<Warning>) -> Change {
        match event {
            Event::TextMessageContent(event) => {
                let metadata = event.metadata.as_ref();
                self.append(&event.message_id, &event.delta, Stream::Text, metadata, warnings)
            }
            Event::ToolCallArgs(event) => {
                self.call_args(&event.tool_call_id, &event.delta, event.metadata.as_ref(), warnings)
            }
            Event::ReasoningMessageContent(event) => {
                let metadata = event.metadata.as_ref();
                self.append(&event.message_id, &event.delta, Stream::Reasoning, metadata, warnings)
            }
            Event::TextMessageStart(event) => self.text_start(event, warnings),
            Event::TextMessageEnd(event) => {
                let metadata = event.metadata.as_ref();
                self.text_end(&event.message_id, Stream::Text, metadata, EventType::TextMessageEnd, warnings)
            }
            Event::ReasoningMessageStart(event) => self.reasoning_start(event, warnings),
            Event::ReasoningMessageEnd(event) => {
                let (metadata, kind) = (event.metadata.as_ref(), EventType::ReasoningMessageEnd);
                self.text_end(&event.message_id, Stream::Reasoning, metadata, kind, warnings)
            }
            Event::ToolCallStart(event) => self.call_start(event, warnings),
            Event::ToolCallEnd(event) => {
                self.call_end(&event.tool_call_id, event.metadata.as_ref(), warnings)
            }
            Event::ToolCallResult(event) => self.call_result((**event).clone(), warnings),
            Event::ReasoningEncryptedValue(event) => self.encrypted_value(event, warnings),
            Event::StateSnapshot(event) => self.state_snapshot(event.snapshot.clone()),
            Event::StateDelta(event) => self.state_delta(&event.delta, warnings),
            Event::MessagesSnapshot(event) => self.messages_snapshot(event.messages.clone(), warnings),
            Event::ActivitySnapshot(event) => self.activity_snapshot((**event).clone(), warnings),
            Event::ActivityDelta(event) => self.activity_delta(event, warnings),
            Event::RunStarted(event) => self.run_started(event),
            Event::RunFinished(event) => self.run_finished((**event).clone()),
            Event::RunError(event) => self.run_failed(event),
            Event::TextMessageChunk(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageChunk(_)
            | Event::Raw(_)
            | Event::Custom(_)
            | Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningEnd(_)
            | Event::SubagentStarted(_)
            | Event::SubagentFinished(_)
            | Event::SubagentError(_) => Change::Nothing,
        }
    }

    /// [`apply`](Self::apply) for an event that nobody else needs: snapshots and results are moved, not copied.
    pub fn apply_owned(&mut self, event: Event, warnings: &mut Vec<Warning>) -> Change {
        match event {
            Event::ToolCallResult(event) => self.call_result(*event, warnings),
            Event::StateSnapshot(event) => self.state_snapshot(event.snapshot),
            Event::MessagesSnapshot(event) => self.messages_snapshot(event.messages, warnings),
            Event::ActivitySnapshot(event) => self.activity_snapshot(*event, warnings),
            Event::RunFinished(event) => self.run_finished(*event),
            event => self.apply(&event, warnings),
        }
    }

    /// The messages in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.slots.iter()
    }

    /// How many messages are held.
    pub fn message_count(&self) -> usize {
        self.slots.len()
    }

    /// The message of an id.
    pub fn message(&self, id: impl AsRef<str>) -> Option<&Message> {
        self.slots.get(self.slots.peek(id.as_ref())?).map(|slot| &slot.message)
    }

    /// The message that a [`Change`] names; absent for a key that is no longer good.
    pub fn message_at(&self, key: MessageKey) -> Option<&Message> {
        self.slots.get(key.0).map(|slot| &slot.message)
    }

    /// A copy of the messages in order.
    pub fn to_messages(&self) -> Vec<Message> {
        let mut messages = Vec::with_capacity(self.message_count());
        messages.extend(self.messages().cloned());
        messages
    }

    /// The state: any JSON value, and `{}` until something says otherwise.
    pub fn state(&self) -> &Value {
        &self.state
    }

    /// The thread, as the last input or the first run named it.
    pub fn thread_id(&self) -> Option<&ThreadId> {
        self.thread_id.as_ref()
    }

    /// The calls that the last run of this exchange left unanswered, in the order made (`INT-7`): as the run named
    /// them, else as the stream shows. None while the run is on, and none after one that was cancelled or failed.
    pub fn pending_tool_call_ids(&self) -> &[ToolCallId] {
        self.last_run().map_or(&[], |run| &run.pending_tool_call_ids)
    }

    /// The interrupts that the next input has to answer (`INT-2`).
    ///
    /// They stay until a later run finishes; a run that fails or breaks off leaves them. Two may share an id, which one
    /// entry of the input covers.
    pub fn open_interrupts(&self) -> &[Interrupt] {
        &self.runs.pending
    }

    /// Every run of the conversation, in order.
    pub fn runs(&self) -> &[RunRecord] {
        &self.runs.records
    }

    /// The runs of this exchange, in order; the one that was asked for comes last (`LIFE-9`).
    pub fn exchange_runs(&self) -> &[RunRecord] {
        self.runs.of_exchange()
    }

    /// The last run of this exchange; absent if none has begun and none has failed to.
    pub fn last_run(&self) -> Option<&RunRecord> {
        self.exchange_runs().last()
    }

    /// How the last run of this exchange ended; [`RunStatus::Unended`] also where none began.
    pub fn run_status(&self) -> RunStatus {
        self.last_run().map_or(RunStatus::Unended, |run| run.status)
    }

    /// Adds a message of the application's: at the end, a result after the call it answers. One of the same id is
    /// replaced where it stands.
    pub fn push_message(&mut self, message: impl Into<Message>) -> Change {
        let message = message.into();
        if let Some(at) = self.slots.find(message.id()) {
            self.slots.replace(at, message);
            return Change::MessageChanged(MessageKey(at));
        }
        match message {
            Message::Tool(result) => self.place_result(result),
            message => Change::MessageCreated(MessageKey(self.slots.push(message, Origin::Said))),
        }
    }

    /// Makes a list of messages the conversation, activities included. Of an id that stands twice the last message
    /// counts, in the place of the first.
    pub fn set_messages(&mut self, messages: &[Message]) {
        self.slots.rebuild(Vec::<Slot>::new());
        self.adopt(messages);
    }

    /// Replaces the state, for the next input to carry.
    pub fn set_state(&mut self, state: impl Into<Value>) {
        self.state = state.into();
        self.null_unsent = false;
    }

    /// Makes interrupts pending that were left by a run this conversation has not seen, such as one of an earlier
    /// process.
    pub fn restore_interrupts(&mut self, interrupts: Vec<Interrupt>) {
        self.runs.pending = interrupts;
    }
}

/// Merges an event's metadata into that of an item: per key, the last write wins (`META-1`).
fn merge(held: &mut Option<Metadata>, metadata: Option<&Metadata>) {
    match (held, metadata) {
        (_, None) => {}
        (Some(held), Some(metadata)) => held.merge(metadata),
        (held @ None, Some(metadata)) => *held = Some(metadata.clone()),
    }
}

#[cold]
fn warn(
    warnings: &mut Vec<Warning>,
    rule: &'static str,
    kind: EventType,
    path: impl Into<String>,
    message: impl Into<Cow<'static, str>>,
) {
    warnings.push(Warning::new(rule, message).with_path(path).with_event_type(kind.as_str()));
}
