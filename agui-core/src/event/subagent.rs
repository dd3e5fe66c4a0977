//! Subagents: invocations of other agents inside a run (`SUB-1` to `SUB-8`).

use serde_json::Value;

use crate::{MessageId, SubagentFinishedOutcome, SubagentRunId, ToolCallId};

event_object! {
    /// Announces a subagent's invocation; an id is announced once in a run (`SUB-2`).
    SubagentStartedEvent {
        fixed "type" = "SUBAGENT_STARTED";
        required {
            /// Names the invocation.
            subagent_run_id "subagentRunId": SubagentRunId,
            /// The subagent's name.
            name "name": String,
        }
        optional {
            /// What it is there for.
            description/with_description "description": String,
            /// The announced invocation it belongs to; absent for one of the parent agent's (`SUB-2`).
            parent_subagent_run_id/with_parent_subagent_run_id "parentSubagentRunId": SubagentRunId,
            /// The tool call that caused it.
            parent_tool_call_id/with_parent_tool_call_id "parentToolCallId": ToolCallId,
            /// The message that caused it.
            parent_message_id/with_parent_message_id "parentMessageId": MessageId,
        }
    }
}

event_object! {
    /// Ends an announced invocation (`SUB-5`).
    SubagentFinishedEvent {
        fixed "type" = "SUBAGENT_FINISHED";
        required {
            /// The invocation that ends.
            subagent_run_id "subagentRunId": SubagentRunId,
        }
        optional {
            /// What it returns: any JSON but `null` (`LIFE-13`).
            result/with_result "result": Value,
            /// How it ended; absent means success.
            outcome/with_outcome "outcome": SubagentFinishedOutcome,
        }
    }
}

event_object! {
    /// Ends an announced invocation that failed; the run goes on (`SUB-5`).
    SubagentErrorEvent {
        fixed "type" = "SUBAGENT_ERROR";
        required {
            /// The invocation that ends.
            subagent_run_id "subagentRunId": SubagentRunId,
            /// What went wrong.
            message "message": String,
        }
        optional {
            /// A stable word for programs; the set is open.
            code/with_code "code": String,
        }
    }
}
