//! The boundaries of a run (`LIFE-1` to `LIFE-13`).

use serde_json::Value;

use crate::{RunAgentInput, RunFinishedOutcome, RunId, ThreadId, TokenUsage};

event_object! {
    /// Opens a run. The first event of every stream, unless the run failed before it began (`LIFE-1`).
    RunStartedEvent {
        fixed "type" = "RUN_STARTED";
        required {
            /// The conversation, as the input named it (`LIFE-9`).
            thread_id "threadId": ThreadId,
            /// The run, as the input named it (`LIFE-9`).
            run_id "runId": RunId,
        }
        optional {
            /// The protocol version the producer speaks, its own and never an echo (`VER-1`); absent means from before 1.0.
            protocol_version/with_protocol_version "protocolVersion": String,
            /// The run that spawned this one.
            parent_run_id/with_parent_run_id "parentRunId": RunId,
            /// The input the run was asked for with (`INPUT-5`).
            input/with_input "input": Box<RunAgentInput>,
        }
    }
}

event_object! {
    /// Ends a run in order: nothing the run opened is open any more (`LIFE-3`).
    RunFinishedEvent {
        fixed "type" = "RUN_FINISHED";
        required {
            /// The conversation.
            thread_id "threadId": ThreadId,
            /// The run that ends.
            run_id "runId": RunId,
        }
        optional {
            /// What the run returns: any JSON but `null` (`LIFE-13`).
            result/with_result "result": Value,
            /// How the run ended; absent means success (`LIFE-4`).
            outcome/with_outcome "outcome": RunFinishedOutcome,
            /// Token counts, one entry per provider and model (`LIFE-12`).
            usage/with_usage "usage": Vec<TokenUsage>,
        }
    }
}

event_object! {
    /// Ends a run that failed, and abandons whatever was open (`LIFE-6`).
    RunErrorEvent {
        fixed "type" = "RUN_ERROR";
        required {
            /// What went wrong, for the user to read.
            message "message": String,
        }
        optional {
            /// A stable word for programs; the set is open.
            code/with_code "code": String,
            /// Token counts, one entry per provider and model (`LIFE-12`).
            usage/with_usage "usage": Vec<TokenUsage>,
        }
    }
}
