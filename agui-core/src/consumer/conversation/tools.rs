//! Tool calls and their results (`STREAM-4` to `STREAM-6`, `SUB-4`).
//!
//! That a reopened call says another name or parent is the sequence's to tell; here the established ones stand.

use super::slots::{CallAt, Origin, Slot};
use super::text::streamed_text;
use super::{Change, Conversation, MessageKey, merge, warn};
use crate::sequence::Quoted;
use crate::{
    AssistantMessage, EventType, FunctionCall, Message, MessageId, Metadata, Role, SubagentRunId, ToolCall,
    ToolCallId, ToolCallResultEvent, ToolCallStartEvent, ToolMessage, Warning,
};

impl Conversation {
    pub(super) fn call_start(&mut self, event: &ToolCallStartEvent, warnings: &mut Vec<Warning>) -> Change {
        let id = &event.tool_call_id;
        self.runs.call_started(id);
        if !self.astray.is_empty() {
            self.astray.calls.remove(id);
        }
        if let Some(at) = self.slots.find_call(id) {
            return self.merge_into_call(at, event.metadata.as_ref());
        }
        let Some((carrier, message_created)) = self.carrier_of(event, warnings) else {
            return Change::Nothing;
        };
        let mut call = ToolCall::new(id, FunctionCall::new(event.tool_call_name.as_str(), streamed_text()));
        call.metadata.clone_from(&event.metadata);
        match self.slots.push_call(carrier, call) {
            Some(at) => {
                Change::ToolCallCreated { message: MessageKey(at.slot), call: at.call, message_created }
            }
            None => Change::Nothing,
        }
    }

    /// The message that is to carry a new call, and whether it was made for it.
    fn carrier_of(
        &mut self,
        event: &ToolCallStartEvent,
        warnings: &mut Vec<Warning>,
    ) -> Option<(usize, bool)> {
        let owner = event.subagent_run_id.as_ref();
        if let Some(parent) = &event.parent_message_id {
            match self.slots.find(parent) {
                None => {
                    let at = self.slots.push(carrier_message(parent, owner), Origin::Parent);
                    return Some((at, true));
                }
                Some(at) => match self.slots.get(at).map(|slot| &slot.message) {
                    Some(Message::Assistant(_)) => return Some((at, false)),
                    other => {
                        let role = other.map_or("", |message| message.role().as_str());
                        let message = format!(
                            "parent {} of call {} is a message of role {role}, which carries no calls; the call gets \
                             a message of its own",
                            Quoted(parent.as_str()),
                            Quoted(event.tool_call_id.as_str()),
                        );
                        let kind = EventType::ToolCallStart;
                        warn(warnings, "SUB-4", kind, "/parentMessageId", message);
                    }
                },
            }
        }
        // Call ids and message ids are different name spaces, so the id may be that of a message already.
        let id = &event.tool_call_id;
        for own in [MessageId::from(id.clone()), format!("{id}/call").into()] {
            let Some(at) = self.slots.find(&own) else {
                return Some((self.slots.push(carrier_message(&own, owner), Origin::Call), true));
            };
            if let Some(Slot { message: Message::Assistant(message), .. }) = self.slots.get(at)
                && message.subagent_run_id.as_ref() == owner
            {
                return Some((at, false));
            }
        }
        if self.astray.calls.insert(id.clone()) {
            let message = format!(
                "call {} goes nowhere: messages of other kinds have the ids that a message of its own could have",
                Quoted(id.as_str())
            );
            warn(warnings, "SHAPE-9", EventType::ToolCallStart, "/toolCallId", message);
        }
        None
    }

    /// Appends argument text to a call; in the common case one comparison and the copy of the delta.
    #[inline]
    pub(super) fn call_args(
        &mut self,
        id: &ToolCallId,
        delta: &str,
        metadata: Option<&Metadata>,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let Some(at) = self.slots.find_call(id) else {
            if !delta.is_empty() || metadata.is_some() {
                self.warn_lost_call(id, EventType::ToolCallArgs, warnings);
            }
            return Change::Nothing;
        };
        let Some(call) = self.slots.call_mut(at) else { return Change::Nothing };
        call.function.arguments.push_str(delta);
        if metadata.is_some() {
            merge(&mut call.metadata, metadata);
        }
        Change::ArgumentsAppended { message: MessageKey(at.slot), call: at.call }
    }

    pub(super) fn call_end(
        &mut self,
        id: &ToolCallId,
        metadata: Option<&Metadata>,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        if metadata.is_none() {
            return Change::Nothing;
        }
        if let Some(at) = self.slots.find_call(id) {
            return self.merge_into_call(at, metadata);
        }
        self.warn_lost_call(id, EventType::ToolCallEnd, warnings);
        Change::Nothing
    }

    fn merge_into_call(&mut self, at: CallAt, metadata: Option<&Metadata>) -> Change {
        if let Some(call) = self.slots.call_mut(at) {
            merge(&mut call.metadata, metadata);
        }
        Change::ToolCallChanged { message: MessageKey(at.slot), call: at.call }
    }

    /// Tells once per call that a snapshot has dropped it.
    #[cold]
    fn warn_lost_call(&mut self, id: &ToolCallId, kind: EventType, warnings: &mut Vec<Warning>) {
        if self.astray.calls.insert(id.clone()) {
            let message = format!(
                "arguments of call {} go nowhere: a snapshot has dropped the call",
                Quoted(id.as_str())
            );
            warn(warnings, "STATE-6", kind, "/toolCallId", message);
        }
    }

    /// A result is a tool message of its own (`STREAM-6`).
    pub(super) fn call_result(&mut self, event: ToolCallResultEvent, warnings: &mut Vec<Warning>) -> Change {
        self.runs.call_answered(&event.tool_call_id);
        let mut message = ToolMessage::new(event.message_id, event.tool_call_id, event.content);
        message.subagent_run_id = event.subagent_run_id;
        message.metadata = event.metadata;
        let Some(at) = self.slots.find(&message.id) else { return self.place_result(message) };
        let Some(held) = self.slots.get(at) else { return Change::Nothing };
        let role = held.message.role();
        if role == Role::Tool {
            return self.replace_result(at, message, warnings);
        }
        // The id of a message that we made for a call is our choice; the producer's own comes first.
        if held.origin == Origin::Call && self.give_way(at) {
            return self.place_result(message);
        }
        self.result_beside(role, message, warnings)
    }

    fn replace_result(&mut self, at: usize, message: ToolMessage, warnings: &mut Vec<Warning>) -> Change {
        let text =
            format!("the result replaces the tool message {}, which had its id", Quoted(message.id.as_str()));
        warn(warnings, "SHAPE-9", EventType::ToolCallResult, "/messageId", text);
        self.slots.replace(at, message.into());
        Change::MessageChanged(MessageKey(at))
    }

    /// Gives a message made for a call another id; says whether there was one.
    fn give_way(&mut self, at: usize) -> bool {
        let Some(slot) = self.slots.get(at) else { return false };
        let id = MessageId::from(format!("{}/call", slot.message.id()));
        let free = self.slots.peek(id.as_str()).is_none();
        if free {
            self.slots.rename(at, id);
        }
        free
    }

    /// A result under the id of a message of another role: that message stays, and the answer must not be lost.
    #[cold]
    fn result_beside(&mut self, role: Role, mut message: ToolMessage, warnings: &mut Vec<Warning>) -> Change {
        let id = MessageId::from(format!("{}/result", message.id));
        let text = format!(
            "{} is the id of a message of role {role}; the result is kept as {}",
            Quoted(message.id.as_str()),
            Quoted(id.as_str())
        );
        warn(warnings, "SHAPE-9", EventType::ToolCallResult, "/messageId", text);
        message.id = id;
        match self.slots.find(&message.id) {
            None => self.place_result(message),
            Some(at) => {
                self.slots.replace(at, message.into());
                Change::MessageChanged(MessageKey(at))
            }
        }
    }

    /// Puts a tool message after the message with its call and the results already there, or else at the end.
    pub(super) fn place_result(&mut self, message: ToolMessage) -> Change {
        let at = match self.slots.find_call(&message.tool_call_id) {
            Some(call) => self.slots.push_result(call.slot, message.into()),
            None => self.slots.push(message.into(), Origin::Said),
        };
        Change::MessageCreated(MessageKey(at))
    }
}

/// A message for a call to stand in: without content, which a text START may still give it.
fn carrier_message(id: &MessageId, owner: Option<&SubagentRunId>) -> Message {
    let mut message = AssistantMessage::new(id);
    message.subagent_run_id = owner.cloned();
    message.into()
}
