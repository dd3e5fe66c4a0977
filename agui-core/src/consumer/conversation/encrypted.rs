//! Encrypted values: stored unread on what they belong to (`INT-5`, `INT-6`).

use super::{Change, Conversation, MessageKey, warn};
use crate::sequence::Quoted;
use crate::{EventType, Message, ReasoningEncryptedValueEvent, ReasoningEncryptedValueSubtype, Warning};

impl Conversation {
    pub(super) fn encrypted_value(
        &mut self,
        event: &ReasoningEncryptedValueEvent,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let entity = event.entity_id.as_str();
        let value = &event.encrypted_value;
        let what = match event.subtype {
            ReasoningEncryptedValueSubtype::Message => {
                if let Some(at) = self.slots.peek(entity)
                    && let Some(slot) = self.slots.get_mut(at)
                    && let Some(place) = encrypted_mut(&mut slot.message)
                {
                    *place = Some(value.clone());
                    return Change::MessageChanged(MessageKey(at));
                }
                "message"
            }
            ReasoningEncryptedValueSubtype::ToolCall => {
                if let Some(at) = self.slots.peek_call(entity)
                    && let Some(call) = self.slots.call_mut(at)
                {
                    call.encrypted_value = Some(value.clone());
                    return Change::ToolCallChanged { message: MessageKey(at.slot), call: at.call };
                }
                "tool call"
            }
        };
        let message =
            format!("encrypted value dropped: no {what} {} is held that could keep it", Quoted(entity));
        warn(warnings, "INT-5", EventType::ReasoningEncryptedValue, "/entityId", message);
        Change::Nothing
    }
}

/// Where a message keeps an encrypted value; an activity has no place for one.
fn encrypted_mut(message: &mut Message) -> Option<&mut Option<String>> {
    match message {
        Message::Developer(message) => Some(&mut message.encrypted_value),
        Message::System(message) => Some(&mut message.encrypted_value),
        Message::Assistant(message) => Some(&mut message.encrypted_value),
        Message::User(message) => Some(&mut message.encrypted_value),
        Message::Tool(message) => Some(&mut message.encrypted_value),
        Message::Reasoning(message) => Some(&mut message.encrypted_value),
        Message::Activity(_) => None,
    }
}
