//! The messages of a conversation.

use std::borrow::Cow;

use crate::{Content, JsonObject, MessageId, Metadata, Role, SubagentRunId, ToolCall, ToolCallId};

protocol_union! {
    /// One message of a conversation, told apart by its role.
    ///
    /// # Examples
    /// ```
    /// # use agui_core::{Message, Role, UserMessage};
    /// let message = Message::from(UserMessage::new("q1", "Where to?"));
    /// assert_eq!(message.role(), Role::User);
    /// assert_eq!(message.text(), "Where to?");
    /// ```
    Message ("role") {
        /// Instructions of the developer.
        Developer "developer": DeveloperMessage,
        /// Instructions of the system.
        System "system": SystemMessage,
        /// The agent's answer.
        Assistant "assistant": AssistantMessage,
        /// The user's turn.
        User "user": UserMessage,
        /// The result of a tool call.
        Tool "tool": ToolMessage,
        /// Structured progress.
        Activity "activity": ActivityMessage,
        /// The agent's reasoning.
        Reasoning "reasoning": ReasoningMessage,
    }
}

macro_rules! of_each {
    ($message:expr, $inner:ident => $value:expr) => {
        match $message {
            Message::Developer($inner) => $value,
            Message::System($inner) => $value,
            Message::Assistant($inner) => $value,
            Message::User($inner) => $value,
            Message::Tool($inner) => $value,
            Message::Activity($inner) => $value,
            Message::Reasoning($inner) => $value,
        }
    };
}

impl Message {
    /// The message's id, unique in its thread (`SHAPE-9`).
    pub fn id(&self) -> &MessageId {
        of_each!(self, message => &message.id)
    }

    /// Who speaks.
    pub const fn role(&self) -> Role {
        match self {
            Self::Developer(_) => Role::Developer,
            Self::System(_) => Role::System,
            Self::Assistant(_) => Role::Assistant,
            Self::User(_) => Role::User,
            Self::Tool(_) => Role::Tool,
            Self::Activity(_) => Role::Activity,
            Self::Reasoning(_) => Role::Reasoning,
        }
    }

    /// The text of the message: its string, or its text parts in order; empty where it has none.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Developer(message) => Cow::Borrowed(&message.content),
            Self::System(message) => Cow::Borrowed(&message.content),
            Self::Assistant(message) => Cow::Borrowed(message.content.as_deref().unwrap_or_default()),
            Self::User(message) => message.content.text(),
            Self::Tool(message) => message.content.text(),
            Self::Activity(_) => Cow::Borrowed(""),
            Self::Reasoning(message) => Cow::Borrowed(&message.content),
        }
    }

    /// The subagent invocation the message belongs to; `None` for the parent agent's (`SUB-8`).
    pub fn subagent_run_id(&self) -> Option<&SubagentRunId> {
        of_each!(self, message => message.subagent_run_id.as_ref())
    }

    /// The message's metadata.
    pub fn metadata(&self) -> Option<&Metadata> {
        of_each!(self, message => message.metadata.as_ref())
    }

    /// The tool calls of an assistant message; none for the others.
    pub fn tool_calls(&self) -> &[ToolCall] {
        match self {
            Self::Assistant(message) => message.tool_calls.as_deref().unwrap_or_default(),
            _ => &[],
        }
    }
}

protocol_object! {
    /// Instructions of the developer.
    DeveloperMessage {
        fixed "role" = "developer";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
            /// The text.
            content "content": String,
        }
        optional {
            /// The speaker's name, where several share a role.
            name/with_name "name": String,
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// Instructions of the system.
    SystemMessage {
        fixed "role" = "system";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
            /// The text.
            content "content": String,
        }
        optional {
            /// The speaker's name, where several share a role.
            name/with_name "name": String,
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// The agent's answer: text, tool calls, or both.
    AssistantMessage {
        fixed "role" = "assistant";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
        }
        optional {
            /// The text; absent where the message only calls tools.
            content/with_content "content": String,
            /// The calls, in the order made.
            tool_calls/with_tool_calls "toolCalls": Vec<ToolCall>,
            /// The speaker's name, where several share a role.
            name/with_name "name": String,
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// The user's turn.
    UserMessage {
        fixed "role" = "user";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
            /// Text or content parts.
            content "content": Content,
        }
        optional {
            /// The speaker's name, where several share a role.
            name/with_name "name": String,
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// The result of a tool call.
    ToolMessage {
        fixed "role" = "tool";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
            /// The call that is answered.
            tool_call_id "toolCallId": ToolCallId,
            /// Text or content parts.
            content "content": Content,
        }
        optional {
            /// Why the tool failed, if it did.
            error/with_error "error": String,
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// Structured progress shown between messages; a consumer never sends it (`STATE-9`).
    ActivityMessage {
        fixed "role" = "activity";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
            /// What kind of activity it is; the set is open.
            activity_type "activityType": String,
            /// The content, whose members are the application's.
            content "content": JsonObject,
        }
        optional {
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// The agent's reasoning.
    ReasoningMessage {
        fixed "role" = "reasoning";
        required {
            /// Names the message in its thread.
            id "id": MessageId,
            /// The text.
            content "content": String,
        }
        optional {
            /// The subagent invocation it belongs to.
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}
