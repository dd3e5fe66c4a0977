//! Tool calls: open, arguments, close, result (`STREAM-1` to `STREAM-6`), and the compact spelling (`CHUNK-1`).

use crate::{Content, MessageId, ToolCallId};

event_object! {
    /// Opens a tool call, or reopens a closed one so that more argument text appends to it (`STREAM-4`).
    ToolCallStartEvent attributable {
        fixed "type" = "TOOL_CALL_START";
        required {
            /// Names the call.
            tool_call_id "toolCallId": ToolCallId,
            /// The tool that is called.
            tool_call_name "toolCallName": String,
        }
        optional {
            /// The assistant message that carries the call; absent gives it a message of its own.
            parent_message_id/with_parent_message_id "parentMessageId": MessageId,
        }
    }
}

event_object! {
    /// Argument text to append to an open call.
    ///
    /// The text is not judged as JSON, and nothing acts on it before the call is closed (`STREAM-5`).
    ToolCallArgsEvent attributable {
        fixed "type" = "TOOL_CALL_ARGS";
        required {
            /// The open call.
            tool_call_id "toolCallId": ToolCallId,
            /// The text to append, exactly as it is.
            delta "delta": String,
        }
        optional {}
    }
}

event_object! {
    /// Closes an open tool call: its arguments are complete, which does not say that they are valid (`STREAM-5`).
    ToolCallEndEvent attributable {
        fixed "type" = "TOOL_CALL_END";
        required {
            /// The open call.
            tool_call_id "toolCallId": ToolCallId,
        }
        optional {}
    }
}

event_object! {
    /// A piece of a tool call in the compact spelling.
    ///
    /// The first one of a call carries the call's id and the tool's name (`CHUNK-1`).
    #[derive(Default)]
    ToolCallChunkEvent attributable {
        fixed "type" = "TOOL_CALL_CHUNK";
        required {}
        optional {
            /// The call; absent continues the open chunk stream (`CHUNK-5`).
            tool_call_id/with_tool_call_id "toolCallId": ToolCallId,
            /// The tool; a repetition has to agree with the opener (`CHUNK-3`).
            tool_call_name/with_tool_call_name "toolCallName": String,
            /// The assistant message that carries the call.
            parent_message_id/with_parent_message_id "parentMessageId": MessageId,
            /// Argument text to append.
            delta/with_delta "delta": String,
        }
    }
}

event_object! {
    /// The result of a tool call, which becomes a tool message of its own (`STREAM-6`).
    ///
    /// A structured result travels as JSON text, in a string or a text part (`STREAM-9`).
    ToolCallResultEvent attributable {
        fixed "type" = "TOOL_CALL_RESULT";
        required {
            /// Names the tool message, different from every other message's id.
            message_id "messageId": MessageId,
            /// The call that is answered.
            tool_call_id "toolCallId": ToolCallId,
            /// The result: text or content parts.
            content "content": Content,
        }
        optional {
            /// The role of the message; only `tool` is possible, and absent means the same.
            role/with_role "role": ToolRole,
        }
    }
}

protocol_enum! {
    /// The one role a tool result can name.
    ToolRole (false) {
        /// The result of a tool.
        Tool "tool",
    }
}
