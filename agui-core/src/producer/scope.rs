//! What an owner can write: the helpers of the parent agent and of each subagent.

use std::borrow::Cow;

use serde_json::Value;

use crate::id::mint;
use crate::patch::{self, JsonPatchOperation, JsonPointer};
use crate::{
    ActivityDeltaEvent, ActivitySnapshotEvent, Content, CustomEvent, EntityId, Event, JsonObject, Message,
    MessageId, MessagesSnapshotEvent, RawEvent, ReasoningEncryptedValueEvent, ReasoningEncryptedValueSubtype,
    ReasoningEndEvent, ReasoningMessageContentEvent, ReasoningMessageEndEvent, ReasoningMessageStartEvent,
    ReasoningStartEvent, StateSnapshotEvent, StepFinishedEvent, StepStartedEvent, SubagentErrorEvent,
    SubagentFinishedEvent, SubagentFinishedOutcome, SubagentRunId, SubagentStartedEvent, TextMessageEndEvent,
    TextMessageRole, TextMessageStartEvent, ToolCallArgsEvent, ToolCallEndEvent, ToolCallId,
    ToolCallResultEvent, ToolCallStartEvent, ToolRole,
};

use super::{EventSink, RunWriter, WriteError, reuse};

/// How a text message opens. Everything is optional; an id is made where none is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct TextStart {
    pub(super) id: Option<MessageId>,
    pub(super) role: Option<TextMessageRole>,
    pub(super) name: Option<String>,
}

impl TextStart {
    /// A message of the assistant under an id of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the id, which no other message of the thread may have (`SHAPE-9`); the id of a closed message reopens it.
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the role. Where none is given the assistant speaks, and the event says so.
    pub const fn with_role(mut self, role: TextMessageRole) -> Self {
        self.role = Some(role);
        self
    }

    /// Sets the speaker's name.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(super) fn into_event(self, id: MessageId) -> TextMessageStartEvent {
        let mut event = TextMessageStartEvent::new(id);
        event.role = Some(self.role.unwrap_or(TextMessageRole::Assistant));
        event.name = self.name;
        event
    }
}

/// How a tool call opens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ToolCallStart {
    pub(super) name: String,
    pub(super) id: Option<ToolCallId>,
    pub(super) parent_message_id: Option<MessageId>,
}

impl ToolCallStart {
    /// A call of the named tool under an id of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), id: None, parent_message_id: None }
    }

    /// Sets the call's id.
    pub fn with_id(mut self, id: impl Into<ToolCallId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Names the assistant message that carries the call.
    pub fn with_parent_message_id(mut self, id: impl Into<MessageId>) -> Self {
        self.parent_message_id = Some(id.into());
        self
    }

    pub(super) fn into_event(self, id: ToolCallId) -> ToolCallStartEvent {
        let mut event = ToolCallStartEvent::new(id, self.name);
        event.parent_message_id = self.parent_message_id;
        event
    }
}

/// How a subagent's invocation is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct SubagentStart {
    pub(super) name: String,
    pub(super) id: Option<SubagentRunId>,
    pub(super) description: Option<String>,
    pub(super) parent_tool_call_id: Option<ToolCallId>,
    pub(super) parent_message_id: Option<MessageId>,
}

impl SubagentStart {
    /// An invocation of the named subagent under an id of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: None,
            description: None,
            parent_tool_call_id: None,
            parent_message_id: None,
        }
    }

    /// Sets the invocation's id.
    pub fn with_id(mut self, id: impl Into<SubagentRunId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Says what the subagent is there for.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Names the tool call that caused it.
    pub fn with_parent_tool_call_id(mut self, id: impl Into<ToolCallId>) -> Self {
        self.parent_tool_call_id = Some(id.into());
        self
    }

    /// Names the message that caused it.
    pub fn with_parent_message_id(mut self, id: impl Into<MessageId>) -> Self {
        self.parent_message_id = Some(id.into());
        self
    }

    pub(super) fn into_event(self, id: SubagentRunId, owner: Option<SubagentRunId>) -> SubagentStartedEvent {
        let mut event = SubagentStartedEvent::new(id, self.name);
        event.description = self.description;
        event.parent_subagent_run_id = owner;
        event.parent_tool_call_id = self.parent_tool_call_id;
        event.parent_message_id = self.parent_message_id;
        event
    }
}

/// Writes events of one owner: the parent agent or a subagent invocation, whose id every event then carries.
///
/// Each method writes at once and returns what was made. Empty deltas are left out, as older consumers trip over them.
#[derive(Debug)]
pub struct WriterScope<'w, S> {
    writer: &'w mut RunWriter<S>,
    owner: Option<SubagentRunId>,
}

impl<'w, S: EventSink> WriterScope<'w, S> {
    pub(super) const fn new(writer: &'w mut RunWriter<S>, owner: Option<SubagentRunId>) -> Self {
        Self { writer, owner }
    }

    /// Writes any event. One that can carry an attribution and has none gets this owner's.
    ///
    /// # Errors
    /// As for [`RunWriter::emit`].
    pub fn emit(&mut self, event: impl Into<Event>) -> Result<(), WriteError> {
        let mut event = event.into();
        if self.owner.is_some() && event.subagent_run_id().is_none() {
            event.set_subagent_run_id(self.owner.clone());
        }
        self.writer.emit(event)
    }

    #[inline]
    fn emit_delta(&mut self, mut event: Event, mut text_bytes: usize) -> Result<(), WriteError> {
        if let Some(owner) = &self.owner {
            text_bytes += owner.as_str().len();
            event.set_subagent_run_id(Some(owner.clone()));
        }
        self.writer.emit_delta(event, text_bytes)
    }

    /// Opens a text message and returns its id (`STREAM-1`).
    ///
    /// # Errors
    /// The id is open already, or belongs to something else.
    pub fn start_text(&mut self, start: TextStart) -> Result<MessageId, WriteError> {
        let id = start.id.clone().unwrap_or_else(|| mint("msg-"));
        self.emit(start.into_event(id.clone()))?;
        Ok(id)
    }

    /// Appends text to an open message.
    ///
    /// # Errors
    /// The message is not open (`STREAM-1`) or belongs to another owner (`SUB-3`).
    #[inline]
    pub fn text_delta<'d>(
        &mut self,
        id: &MessageId,
        delta: impl Into<Cow<'d, str>>,
    ) -> Result<(), WriteError> {
        let delta = delta.into();
        if delta.is_empty() {
            return Ok(());
        }
        let text_bytes = delta.len() + id.as_str().len();
        let event = reuse::text_event(self.writer.sink_mut(), id, delta);
        self.emit_delta(event, text_bytes)
    }

    /// Closes an open message.
    ///
    /// # Errors
    /// The message is not open (`STREAM-1`).
    pub fn end_text(&mut self, id: &MessageId) -> Result<(), WriteError> {
        self.emit(TextMessageEndEvent::new(id))
    }

    /// Writes a whole message: open, content, close.
    ///
    /// # Errors
    /// As for opening one, or the text is too large; the message has gone out without it then.
    pub fn text<'d>(
        &mut self,
        start: TextStart,
        text: impl Into<Cow<'d, str>>,
    ) -> Result<MessageId, WriteError> {
        let id = self.start_text(start)?;
        let written = self.text_delta(&id, text);
        // Nobody has the id to close it with, if the text was refused.
        self.end_text(&id)?;
        written.map(|()| id)
    }

    /// Opens a tool call and returns its id.
    ///
    /// # Errors
    /// The id is open already (`STREAM-1`), or the parent message is another owner's (`SUB-4`).
    pub fn start_tool_call(&mut self, start: ToolCallStart) -> Result<ToolCallId, WriteError> {
        let id = start.id.clone().unwrap_or_else(|| mint("call-"));
        self.emit(start.into_event(id.clone()))?;
        Ok(id)
    }

    /// Appends argument text to an open call (`STREAM-5`).
    ///
    /// # Errors
    /// The call is not open.
    pub fn tool_call_args<'d>(
        &mut self,
        id: &ToolCallId,
        delta: impl Into<Cow<'d, str>>,
    ) -> Result<(), WriteError> {
        let delta = delta.into();
        if delta.is_empty() {
            return Ok(());
        }
        let text_bytes = delta.len() + id.as_str().len();
        let delta = reuse::text(self.writer.sink_mut(), delta);
        self.emit_delta(ToolCallArgsEvent::new(id, delta).into(), text_bytes)
    }

    /// Closes an open call: its arguments are complete.
    ///
    /// # Errors
    /// The call is not open.
    pub fn end_tool_call(&mut self, id: &ToolCallId) -> Result<(), WriteError> {
        self.emit(ToolCallEndEvent::new(id))
    }

    /// Answers a call, with a tool message under an id of its own (`STREAM-6`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn tool_result(
        &mut self,
        id: &ToolCallId,
        content: impl Into<Content>,
    ) -> Result<MessageId, WriteError> {
        self.tool_result_as(mint("msg-"), id, content)
    }

    /// Answers a call, with a tool message under a given id (`STREAM-6`).
    ///
    /// # Errors
    /// Another message has the id (`SHAPE-9`).
    pub fn tool_result_as(
        &mut self,
        message_id: MessageId,
        id: &ToolCallId,
        content: impl Into<Content>,
    ) -> Result<MessageId, WriteError> {
        self.emit(ToolCallResultEvent::new(&message_id, id, content).with_role(ToolRole::Tool))?;
        Ok(message_id)
    }

    /// Opens a reasoning span (`STREAM-7`).
    ///
    /// # Errors
    /// A span of this id is open.
    pub fn start_reasoning(&mut self, id: &MessageId) -> Result<(), WriteError> {
        self.emit(ReasoningStartEvent::new(id))
    }

    /// Closes a reasoning span.
    ///
    /// # Errors
    /// No span of this id is open.
    pub fn end_reasoning(&mut self, id: &MessageId) -> Result<(), WriteError> {
        self.emit(ReasoningEndEvent::new(id))
    }

    /// Opens a reasoning message (`STREAM-7`).
    ///
    /// # Errors
    /// A reasoning message of this id is open.
    pub fn start_reasoning_message(&mut self, id: &MessageId) -> Result<(), WriteError> {
        self.emit(ReasoningMessageStartEvent::new(id))
    }

    /// Appends text to an open reasoning message.
    ///
    /// # Errors
    /// The message is not open.
    pub fn reasoning_delta<'d>(
        &mut self,
        id: &MessageId,
        delta: impl Into<Cow<'d, str>>,
    ) -> Result<(), WriteError> {
        let delta = delta.into();
        if delta.is_empty() {
            return Ok(());
        }
        let text_bytes = delta.len() + id.as_str().len();
        let delta = reuse::text(self.writer.sink_mut(), delta);
        self.emit_delta(ReasoningMessageContentEvent::new(id, delta).into(), text_bytes)
    }

    /// Closes an open reasoning message.
    ///
    /// # Errors
    /// The message is not open.
    pub fn end_reasoning_message(&mut self, id: &MessageId) -> Result<(), WriteError> {
        self.emit(ReasoningMessageEndEvent::new(id))
    }

    /// Gives a message or a call an opaque value, which comes back with the next input (`INT-5`, `INT-6`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn encrypted_value(
        &mut self,
        subtype: ReasoningEncryptedValueSubtype,
        entity: impl Into<EntityId>,
        value: impl Into<String>,
    ) -> Result<(), WriteError> {
        self.emit(ReasoningEncryptedValueEvent::new(subtype, entity, value))
    }

    /// Opens a step (`LIFE-10`).
    ///
    /// # Errors
    /// This owner has a step of this name open.
    pub fn start_step(&mut self, name: impl Into<String>) -> Result<(), WriteError> {
        self.emit(StepStartedEvent::new(name))
    }

    /// Closes a step (`LIFE-10`).
    ///
    /// # Errors
    /// This owner has no step of this name open.
    pub fn finish_step(&mut self, name: impl Into<String>) -> Result<(), WriteError> {
        self.emit(StepFinishedEvent::new(name))
    }

    /// Announces a subagent's invocation, under this owner if that was announced itself (`SUB-1`, `SUB-2`).
    ///
    /// # Errors
    /// The id has been announced in this run.
    pub fn start_subagent(&mut self, start: SubagentStart) -> Result<SubagentRunId, WriteError> {
        let id = start.id.clone().unwrap_or_else(|| mint("subagent-"));
        // Only an announced owner can be named as the parent (`SUB-2`).
        let parent = self.owner.clone().filter(|owner| self.writer.sequence().is_subagent_announced(owner));
        let event = start.into_event(id.clone(), parent);
        self.writer.emit_owned(event.into(), self.owner.as_ref())?;
        Ok(id)
    }

    /// Ends an invocation, after closing what it has open (`SUB-5`).
    ///
    /// # Errors
    /// The invocation is not active.
    pub fn finish_subagent(
        &mut self,
        id: &SubagentRunId,
        result: Option<Value>,
        outcome: Option<SubagentFinishedOutcome>,
    ) -> Result<(), WriteError> {
        let mut event = SubagentFinishedEvent::new(id);
        event.result = result.filter(|result| !result.is_null());
        event.outcome = outcome;
        self.writer.end_subagent(id, event.into())
    }

    /// Ends an invocation that failed, after closing what it has open; the run goes on (`SUB-5`).
    ///
    /// # Errors
    /// The invocation is not active.
    pub fn fail_subagent(
        &mut self,
        id: &SubagentRunId,
        message: impl Into<String>,
        code: Option<String>,
    ) -> Result<(), WriteError> {
        let mut event = SubagentErrorEvent::new(id, message);
        event.code = code;
        self.writer.end_subagent(id, event.into())
    }

    /// Replaces the state (`STATE-1`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn state_snapshot(&mut self, state: impl Into<Value>) -> Result<(), WriteError> {
        self.emit(StateSnapshotEvent::new(state))
    }

    /// Changes the state by a patch, which has to apply (`STATE-2`).
    ///
    /// # Errors
    /// The patch does not apply to the state as the consumer holds it.
    pub fn state_patch(&mut self, operations: Vec<JsonPatchOperation>) -> Result<(), WriteError> {
        self.writer.patch_state(operations, self.owner.clone())
    }

    /// Puts a value at a place of the state; objects on the way that do not exist are made.
    ///
    /// # Errors
    /// The place lies inside a value that is neither an object nor a list, or outside a list.
    pub fn set_state(&mut self, pointer: &JsonPointer, value: impl Into<Value>) -> Result<(), WriteError> {
        let operations = patch::set(self.writer.state(), pointer, value.into())?;
        self.state_patch(operations)
    }

    /// Takes a value out of the state.
    ///
    /// # Errors
    /// There is none at that place.
    pub fn remove_state(&mut self, pointer: &JsonPointer) -> Result<(), WriteError> {
        let operations = patch::remove(self.writer.state(), pointer)?;
        self.state_patch(operations)
    }

    /// Makes the state equal to a value, by a patch of what differs; nothing is written where nothing does.
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn replace_state(&mut self, state: &Value) -> Result<(), WriteError> {
        let operations = patch::diff(self.writer.state(), state);
        if operations.is_empty() {
            return Ok(());
        }
        self.state_patch(operations)
    }

    /// Lets `change` edit a copy of the state, then sends what differs.
    pub(super) fn update_state(&mut self, change: impl FnOnce(&mut Value)) -> Result<(), WriteError> {
        let mut state = self.writer.state().clone();
        change(&mut state);
        self.replace_state(&state)
    }

    /// Declares the whole conversation: what it lacks the consumer drops, activities and reasoning aside (`STATE-6`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn messages_snapshot(&mut self, messages: Vec<Message>) -> Result<(), WriteError> {
        self.emit(MessagesSnapshotEvent::new(messages))
    }

    /// Shows an activity, or replaces one (`STATE-7`).
    ///
    /// # Errors
    /// The id belongs to a message of another kind.
    pub fn activity_snapshot(
        &mut self,
        id: &MessageId,
        activity_type: impl Into<String>,
        content: JsonObject,
    ) -> Result<(), WriteError> {
        self.emit(ActivitySnapshotEvent::new(id, activity_type, content))
    }

    /// Changes an activity by a patch (`STATE-8`).
    ///
    /// # Errors
    /// The activity has no snapshot yet (`STATE-11`), or is another owner's (`SUB-3`).
    pub fn activity_delta(
        &mut self,
        id: &MessageId,
        activity_type: impl Into<String>,
        operations: Vec<JsonPatchOperation>,
    ) -> Result<(), WriteError> {
        self.emit(ActivityDeltaEvent::new(id, activity_type, operations))
    }

    /// Writes an event of the application's own (`PASS-2`). Names should have a prefix.
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn custom(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Result<(), WriteError> {
        self.emit(CustomEvent::new(name, value))
    }

    /// Passes on an event of another system (`PASS-1`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub fn raw(&mut self, event: impl Into<Value>, source: Option<String>) -> Result<(), WriteError> {
        let mut raw = RawEvent::new(event);
        raw.source = source;
        self.emit(raw)
    }
}
