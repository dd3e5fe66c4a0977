//! Reasoning: spans and messages, in name spaces of their own (`STREAM-7`), and encrypted values (`INT-5`).

use crate::{EntityId, MessageId};

event_object! {
    /// Opens a reasoning span: a stretch of thinking that may hold several messages, or none (`STREAM-7`).
    ReasoningStartEvent attributable {
        fixed "type" = "REASONING_START";
        required {
            /// Names the span; a reasoning message may share the id.
            message_id "messageId": MessageId,
        }
        optional {}
    }
}

event_object! {
    /// Closes an open reasoning span (`STREAM-7`).
    ReasoningEndEvent attributable {
        fixed "type" = "REASONING_END";
        required {
            /// The open span.
            message_id "messageId": MessageId,
        }
        optional {}
    }
}

event_object! {
    /// Opens a reasoning message (`STREAM-7`). Its role is `reasoning`, always written (`STREAM-8`).
    ReasoningMessageStartEvent attributable {
        fixed "type" = "REASONING_MESSAGE_START";
        fixed "role" = "reasoning";
        required {
            /// Names the message in its thread.
            message_id "messageId": MessageId,
        }
        optional {}
    }
}

event_object! {
    /// Text to append to an open reasoning message.
    ReasoningMessageContentEvent attributable {
        fixed "type" = "REASONING_MESSAGE_CONTENT";
        required {
            /// The open message.
            message_id "messageId": MessageId,
            /// The text to append, exactly as it is.
            delta "delta": String,
        }
        optional {}
    }
}

event_object! {
    /// Closes an open reasoning message.
    ReasoningMessageEndEvent attributable {
        fixed "type" = "REASONING_MESSAGE_END";
        required {
            /// The open message.
            message_id "messageId": MessageId,
        }
        optional {}
    }
}

event_object! {
    /// A piece of a reasoning message in the compact spelling; the first one carries its id (`CHUNK-1`).
    #[derive(Default)]
    ReasoningMessageChunkEvent attributable {
        fixed "type" = "REASONING_MESSAGE_CHUNK";
        required {}
        optional {
            /// The message; absent continues the open chunk stream (`CHUNK-5`).
            message_id/with_message_id "messageId": MessageId,
            /// The text to append.
            delta/with_delta "delta": String,
        }
    }
}

event_object! {
    /// An opaque value that a consumer stores on a message or a call and sends back unchanged (`INT-5`, `INT-6`).
    ReasoningEncryptedValueEvent attributable {
        fixed "type" = "REASONING_ENCRYPTED_VALUE";
        required {
            /// Whether the entity is a message or a tool call.
            subtype "subtype": ReasoningEncryptedValueSubtype,
            /// The message or call the value belongs to.
            entity_id "entityId": EntityId,
            /// The value, never parsed by anyone but its issuer.
            encrypted_value "encryptedValue": String,
        }
        optional {}
    }
}

protocol_enum! {
    /// What an encrypted value belongs to.
    ReasoningEncryptedValueSubtype (true) {
        /// A tool call, by its id.
        ToolCall "tool-call",
        /// A message, by its id.
        Message "message",
    }
}
