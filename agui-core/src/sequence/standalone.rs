//! Events that open and close nothing, but say who owns what or need something to be there: tool results, activities,
//! encrypted values and the snapshot of messages.

use super::history::Name;
use super::items::other_owner;
use super::{Adopt, Quoted, Sequence, SequenceError};
use crate::{
    ActivityDeltaEvent, ActivitySnapshotEvent, EventType, JsonPatchOperation, Message, MessageId,
    ReasoningEncryptedValueEvent, ReasoningEncryptedValueSubtype, Role, ToolCallId, ToolCallResultEvent,
};

impl Sequence {
    /// A result is a message of its own (`STREAM-6`). A consumer takes it for a call still open, unknown or answered.
    pub(super) fn tool_result(&mut self, event: &ToolCallResultEvent) -> Result<(), SequenceError> {
        let kind = EventType::ToolCallResult;
        let (id, call) = (&event.message_id, &event.tool_call_id);
        let known = self.history.messages.get(id).map(|record| record.role);
        if self.is_producer() {
            if let Some(role) = known {
                let message = format!(
                    "{} is the id of a message of role {role}, a result needs one of its own",
                    Quoted(id.as_str())
                );
                return Err(SequenceError::new("SHAPE-9", kind, message));
            }
            if self.is_tool_call_open(call) {
                let message =
                    format!("call {} is still open, its arguments are not complete", Quoted(call.as_str()));
                return Err(SequenceError::new("STREAM-5", kind, message));
            }
        }
        if known.is_none_or(|role| role == Role::Tool) {
            let owner = event.subagent_run_id.as_ref();
            self.history.note_message(id, Role::Tool, Name::Said(None), owner, self.run);
        }
        self.this_run.calls.entry(call.clone()).or_default().answered = true;
        Ok(())
    }

    pub(super) fn activity_snapshot(&mut self, event: &ActivitySnapshotEvent) -> Result<(), SequenceError> {
        let kind = EventType::ActivitySnapshot;
        let id = &event.message_id;
        let tag = event.subagent_run_id.as_ref();
        let replaces = event.replace.unwrap_or(true);
        let known = self.history.messages.get(id);
        if let Some(record) = known.filter(|_| self.is_producer()) {
            if record.role != Role::Activity {
                let message = format!(
                    "{} is the id of a message of role {}, it cannot become an activity",
                    Quoted(id.as_str()),
                    record.role
                );
                return Err(SequenceError::new("SHAPE-9", kind, message));
            }
            if !replaces && tag != record.owner.as_ref() {
                return Err(other_owner("STATE-7", kind, id.as_str(), tag, record.owner.as_ref()));
            }
        }
        // A snapshot that replaces takes over attribution too, even to none; one that does not leaves it (STATE-7).
        if known.is_none() || replaces {
            self.history.note_message(id, Role::Activity, Name::Said(None), tag, self.run);
        }
        Ok(())
    }

    /// A consumer skips a delta without its activity; a producer does not send one (`STATE-8`, `STATE-11`).
    pub(super) fn activity_delta(&self, event: &ActivityDeltaEvent) -> Result<(), SequenceError> {
        let kind = EventType::ActivityDelta;
        let id = event.message_id.as_str();
        let activity =
            self.history.messages.get(&event.message_id).filter(|record| record.role == Role::Activity);
        let tag = event.subagent_run_id.as_ref();
        match activity {
            Some(record) if tag.is_some() && tag != record.owner.as_ref() => {
                Err(other_owner("SUB-3", kind, id, tag, record.owner.as_ref()))
            }
            None if self.is_producer() => {
                let message = format!("activity {} has had no snapshot", Quoted(id));
                Err(SequenceError::new("STATE-11", kind, message))
            }
            Some(_) if self.is_producer() && !leaves_an_object(&event.patch) => {
                let message = format!("the patch makes the content of activity {} no object", Quoted(id));
                Err(SequenceError::new("STATE-8", kind, message))
            }
            _ => Ok(()),
        }
    }

    /// Only a tag that contradicts the target's owner is fatal; a target that is not there is the fold's to warn about
    /// (`INT-5`).
    pub(super) fn encrypted_value(&self, event: &ReasoningEncryptedValueEvent) -> Result<(), SequenceError> {
        let Some(tag) = &event.subagent_run_id else { return Ok(()) };
        let entity = event.entity_id.as_str();
        let owner = match event.subtype {
            ReasoningEncryptedValueSubtype::Message => self
                .history
                .messages
                .get(entity)
                .filter(|record| record.role != Role::Activity)
                .map(|record| &record.owner),
            ReasoningEncryptedValueSubtype::ToolCall => {
                self.history.calls.get(entity).map(|record| &record.owner)
            }
        };
        match owner {
            Some(owner) if owner.as_ref() != Some(tag) => Err(other_owner(
                "SUB-3",
                EventType::ReasoningEncryptedValue,
                entity,
                Some(tag),
                owner.as_ref(),
            )),
            _ => Ok(()),
        }
    }

    /// The snapshot says who owns what it lists, open items included (`SUB-8`). An open item that it drops stays
    /// open.
    pub(super) fn messages_snapshot(&mut self, messages: &[Message]) {
        self.history.adopt(messages, self.run, Adopt::Replace);
        for message in messages {
            self.restate(message.id(), message);
        }
    }

    fn restate(&mut self, id: &MessageId, message: &Message) {
        let owner = message.subagent_run_id();
        match message {
            Message::Reasoning(_) => self.open.reasoning.set_owner(id, owner),
            Message::Tool(tool) => self.answer(&tool.tool_call_id),
            Message::Activity(_) => {}
            _ => self.open.text.set_owner(id, owner),
        }
        for call in message.tool_calls() {
            self.open.calls.set_owner(&call.id, owner);
        }
    }

    fn answer(&mut self, call: &ToolCallId) {
        // A result of an earlier run's call says nothing about this run's.
        if let Some(progress) = self.this_run.calls.get_mut(call) {
            progress.answered = true;
        }
    }
}

/// Whether a patch of an object leaves an object, as far as it says so itself: what is copied to the root is not known
/// here.
fn leaves_an_object(patch: &[JsonPatchOperation]) -> bool {
    let at_root = |operation: &&JsonPatchOperation| {
        operation.path().as_str().is_empty() && !matches!(operation, JsonPatchOperation::Test(_))
    };
    match patch.iter().rev().find(at_root) {
        Some(JsonPatchOperation::Remove(_)) => false,
        Some(operation) => operation.value().is_none_or(serde_json::Value::is_object),
        None => true,
    }
}
