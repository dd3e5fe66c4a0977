//! What an agent declares about itself (`CAP-1` to `CAP-4`).
//!
//! Every member is optional: absent is undeclared, not unsupported, and `false` says unsupported.

use crate::{JsonObject, Metadata, Tool};

macro_rules! capabilities {
    ($( $(#[$meta:meta])* $Name:ident { $( $(#[$fmeta:meta])* $field:ident/$with:ident $wire:literal: $ty:ty, )+ } )+) => { $(
        protocol_object! {
            $(#[$meta])*
            #[derive(Default)]
            $Name {
                required {}
                optional { $( $(#[$fmeta])* $field/$with $wire: $ty, )+ }
            }
        }
    )+ };
}

capabilities! {
    /// The whole declaration. It informs, the stream decides (`CAP-1`).
    ///
    /// # Examples
    /// ```
    /// # use agui_core::{AgentCapabilities, ToolsCapabilities};
    /// let capabilities = AgentCapabilities::default()
    ///     .with_tools(ToolsCapabilities::default().with_supported(true).with_client_provided(true));
    /// assert_eq!(
    ///     serde_json::to_string(&capabilities)?,
    ///     r#"{"tools":{"supported":true,"clientProvided":true}}"#
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    AgentCapabilities {
        /// Who the agent is.
        identity/with_identity "identity": IdentityCapabilities,
        /// How it can be reached.
        transport/with_transport "transport": TransportCapabilities,
        /// What it does with tools.
        tools/with_tools "tools": ToolsCapabilities,
        /// What it puts out.
        output/with_output "output": OutputCapabilities,
        /// What it does with state.
        state/with_state "state": StateCapabilities,
        /// Whether it works with other agents.
        multi_agent/with_multi_agent "multiAgent": MultiAgentCapabilities,
        /// Whether it shows its reasoning.
        reasoning/with_reasoning "reasoning": ReasoningCapabilities,
        /// Which media it takes and gives.
        multimodal/with_multimodal "multimodal": MultimodalCapabilities,
        /// How it runs code.
        execution/with_execution "execution": ExecutionCapabilities,
        /// How it involves a person.
        human_in_the_loop/with_human_in_the_loop "humanInTheLoop": HumanInTheLoopCapabilities,
        /// Anything else, kept whole (`CAP-3`).
        custom/with_custom "custom": JsonObject,
    }

    /// Who the agent is.
    IdentityCapabilities {
        /// Its name.
        name/with_name "name": String,
        /// What kind of agent it is.
        r#type/with_type "type": String,
        /// What it is there for.
        description/with_description "description": String,
        /// Its own version.
        version/with_version "version": String,
        /// Who provides it.
        provider/with_provider "provider": String,
        /// Where its documentation is.
        documentation_url/with_documentation_url "documentationUrl": String,
        /// Anything else, kept whole (`CAP-3`).
        metadata/with_metadata "metadata": Metadata,
    }

    /// How the agent can be reached.
    TransportCapabilities {
        /// It answers with a stream.
        streaming/with_streaming "streaming": bool,
        /// It can be reached over a WebSocket.
        websocket/with_websocket "websocket": bool,
        /// It answers in protobuf.
        http_binary/with_http_binary "httpBinary": bool,
        /// It pushes notifications; nothing in the protocol stands behind it (`CAP-4`).
        push_notifications/with_push_notifications "pushNotifications": bool,
        /// Its streams can be resumed; nothing in the protocol stands behind it (`CAP-4`).
        resumable/with_resumable "resumable": bool,
    }

    /// What the agent does with tools.
    ToolsCapabilities {
        /// It calls tools.
        supported/with_supported "supported": bool,
        /// The agent's own tools, which never merge with the input's (`CAP-3`).
        items/with_items "items": Vec<Tool>,
        /// It makes several calls at a time.
        parallel_calls/with_parallel_calls "parallelCalls": bool,
        /// It calls tools that the application offers.
        client_provided/with_client_provided "clientProvided": bool,
    }

    /// What the agent puts out.
    OutputCapabilities {
        /// It answers in a given structure; nothing in the protocol stands behind it (`CAP-4`).
        structured_output/with_structured_output "structuredOutput": bool,
        /// The media types it writes.
        supported_mime_types/with_supported_mime_types "supportedMimeTypes": Vec<String>,
    }

    /// What the agent does with state.
    StateCapabilities {
        /// It sends whole states.
        snapshots/with_snapshots "snapshots": bool,
        /// It sends changes of the state.
        deltas/with_deltas "deltas": bool,
        /// It remembers between runs.
        memory/with_memory "memory": bool,
        /// It keeps the state between runs.
        persistent_state/with_persistent_state "persistentState": bool,
    }

    /// Whether the agent works with other agents.
    MultiAgentCapabilities {
        /// It does at all.
        supported/with_supported "supported": bool,
        /// It hands out tasks.
        delegation/with_delegation "delegation": bool,
        /// It hands over conversations.
        handoffs/with_handoffs "handoffs": bool,
        /// The agents it works with.
        subagents/with_subagents "subagents": Vec<SubagentInfo>,
    }

    /// Whether the agent shows its reasoning.
    ReasoningCapabilities {
        /// It does at all.
        supported/with_supported "supported": bool,
        /// It does so while it thinks.
        streaming/with_streaming "streaming": bool,
        /// It sends encrypted values.
        encrypted/with_encrypted "encrypted": bool,
    }

    /// Which media the agent takes and gives.
    MultimodalCapabilities {
        /// What it takes.
        input/with_input "input": MultimodalInputCapabilities,
        /// What it gives; nothing in the protocol stands behind it (`CAP-4`).
        output/with_output "output": MultimodalOutputCapabilities,
    }

    /// Which media the agent takes.
    MultimodalInputCapabilities {
        /// Images.
        image/with_image "image": bool,
        /// Sound.
        audio/with_audio "audio": bool,
        /// Moving pictures.
        video/with_video "video": bool,
        /// PDF documents.
        pdf/with_pdf "pdf": bool,
        /// Other files.
        file/with_file "file": bool,
    }

    /// Which media the agent gives.
    MultimodalOutputCapabilities {
        /// Images.
        image/with_image "image": bool,
        /// Sound.
        audio/with_audio "audio": bool,
    }

    /// How the agent runs code.
    ExecutionCapabilities {
        /// It runs code at all.
        code_execution/with_code_execution "codeExecution": bool,
        /// It does so in a sandbox.
        sandboxed/with_sandboxed "sandboxed": bool,
        /// How many rounds it makes at most, from 0 to 2^53 − 1.
        max_iterations/with_max_iterations "maxIterations": u64,
        /// How long it runs at most, from 0 to 2^53 − 1.
        max_execution_time/with_max_execution_time "maxExecutionTime": u64,
    }

    /// How the agent involves a person.
    HumanInTheLoopCapabilities {
        /// It does at all.
        supported/with_supported "supported": bool,
        /// It asks for approval.
        approvals/with_approvals "approvals": bool,
        /// It can be interrupted with instructions.
        interventions/with_interventions "interventions": bool,
        /// It takes feedback.
        feedback/with_feedback "feedback": bool,
        /// It ends runs with interrupts.
        interrupts/with_interrupts "interrupts": bool,
        /// It takes approvals that change what is approved.
        approve_with_edits/with_approve_with_edits "approveWithEdits": bool,
    }
}

protocol_object! {
    /// One agent that another works with.
    SubagentInfo {
        required {
            /// Its name.
            name "name": String,
        }
        optional {
            /// What it is there for.
            description/with_description "description": String,
        }
    }
}
