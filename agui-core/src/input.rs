//! What a run is asked for with.

use serde_json::Value;

use crate::{InterruptId, Message, Metadata, RunId, ThreadId, Tool, ToolCallId, UserMessage};

protocol_object! {
    /// The input of one run: the whole conversation and what the agent may use (`INPUT-1` to `INPUT-10`).
    ///
    /// Deserialization is strict. A server reads what clients send with [`RunAgentInput::from_json`], which strips
    /// unknown material with a warning and names the place of malformed material (`PROC-10`).
    ///
    /// # Examples
    /// ```
    /// # use agui_core::{Message, RunAgentInput, UserMessage};
    /// let input = RunAgentInput::new("trip-7", "turn-1", [Message::from(UserMessage::new("q1", "Where to?"))]);
    /// assert_eq!(input.last_user_message().unwrap().content.text(), "Where to?");
    /// ```
    RunAgentInput {
        required {
            /// The conversation.
            thread_id "threadId": ThreadId,
            /// The run; fresh for every run of a thread (`SHAPE-9`).
            run_id "runId": RunId,
            /// The whole history: earlier turns come from nowhere else (`INPUT-6`).
            messages "messages": Vec<Message>,
        }
        optional {
            /// The protocol version the consumer speaks; absent means from before 1.0 (`VER-1`).
            protocol_version/with_protocol_version "protocolVersion": String,
            /// The run that spawned this one.
            parent_run_id/with_parent_run_id "parentRunId": RunId,
            /// The state the last run left: any JSON but `null`; absent means `{}` (`INPUT-1`).
            state/with_state "state": Value,
            /// Tools the application offers; absent means none.
            tools/with_tools "tools": Vec<Tool>,
            /// Facts for the model; absent means none (`INPUT-7`).
            context/with_context "context": Vec<Context>,
            /// Anything the application hands through: any JSON but `null` (`INPUT-3`).
            forwarded_props/with_forwarded_props "forwardedProps": Value,
            /// Answers to the interrupts of the run before (`INT-2`).
            resume/with_resume "resume": Vec<ResumeEntry>,
        }
    }
}

protocol_object! {
    /// A fact for the model.
    Context {
        required {
            /// What it is about.
            description "description": String,
            /// The fact.
            value "value": String,
        }
        optional {}
    }
}

protocol_object! {
    /// The answer to one interrupt (`INT-2`).
    ResumeEntry {
        required {
            /// The interrupt that is answered.
            interrupt_id "interruptId": InterruptId,
            /// Whether it was resolved or given up.
            status "status": ResumeStatus,
        }
        optional {
            /// The answer itself: any JSON but `null`.
            payload/with_payload "payload": Value,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_enum! {
    /// How an interrupt was answered.
    ResumeStatus (false) {
        /// The user answered.
        Resolved "resolved",
        /// The user gave it up.
        Cancelled "cancelled",
    }
}

impl RunAgentInput {
    /// The last message whose role is `user`.
    pub fn last_user_message(&self) -> Option<&UserMessage> {
        self.messages.iter().rev().find_map(|message| match message {
            Message::User(user) => Some(user),
            _ => None,
        })
    }

    /// The offered tools; none where the input has no list.
    pub fn tools(&self) -> &[Tool] {
        self.tools.as_deref().unwrap_or_default()
    }

    /// The facts for the model; none where the input has no list.
    pub fn context(&self) -> &[Context] {
        self.context.as_deref().unwrap_or_default()
    }

    /// The answers to interrupts; none where the input has no list.
    pub fn resume(&self) -> &[ResumeEntry] {
        self.resume.as_deref().unwrap_or_default()
    }

    /// The offered tool of a name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools().iter().find(|tool| tool.name == name)
    }

    /// Whether a name is a tool of the application's, whose calls the producer never answers itself (`INT-4`).
    pub fn is_frontend_tool(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    /// The answer to one interrupt; of several the first counts.
    pub fn resume_entry(&self, interrupt_id: &str) -> Option<&ResumeEntry> {
        self.resume().iter().find(|entry| entry.interrupt_id == *interrupt_id)
    }

    /// The tool message that answers a call, looking from the end of the history.
    pub fn tool_result(&self, tool_call_id: &ToolCallId) -> Option<&crate::ToolMessage> {
        self.messages.iter().rev().find_map(|message| match message {
            Message::Tool(tool) if tool.tool_call_id == *tool_call_id => Some(tool),
            _ => None,
        })
    }

    /// The state the run starts from; `{}` where the input has none (`INPUT-1`).
    pub fn initial_state(&self) -> Value {
        self.state.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    }
}
