//! AG-UI 1.0 for Rust: typed events, messages, input and capabilities; the strict producer and the tolerant consumer.

#[macro_use]
mod shape;

mod capabilities;
pub mod chunk;
pub mod compat;
mod content;
pub mod enforce;
mod error;
mod event;
mod id;
mod input;
pub mod json;
mod message;
mod metadata;
mod outcome;
pub mod patch;
mod path;
pub mod producer;
mod role;
#[cfg(feature = "schemars")]
pub mod schema;
pub mod sequence;
mod tool;
mod usage;
mod version;
pub mod warning;

pub use capabilities::{
    AgentCapabilities, ExecutionCapabilities, HumanInTheLoopCapabilities, IdentityCapabilities,
    MultiAgentCapabilities, MultimodalCapabilities, MultimodalInputCapabilities,
    MultimodalOutputCapabilities, OutputCapabilities, ReasoningCapabilities, StateCapabilities, SubagentInfo,
    ToolsCapabilities, TransportCapabilities,
};
pub use content::{
    AudioPart, Content, ContentPart, DataSource, DocumentPart, FileSource, ImagePart, PartSource, TextPart,
    UrlSource, VideoPart,
};
pub use error::UnknownValue;
pub use event::{
    ActivityDeltaEvent, ActivitySnapshotEvent, CustomEvent, Event, EventType, MessagesSnapshotEvent,
    RawEvent, ReasoningEncryptedValueEvent, ReasoningEncryptedValueSubtype, ReasoningEndEvent,
    ReasoningMessageChunkEvent, ReasoningMessageContentEvent, ReasoningMessageEndEvent,
    ReasoningMessageStartEvent, ReasoningStartEvent, RunErrorEvent, RunFinishedEvent, RunStartedEvent,
    StateDeltaEvent, StateSnapshotEvent, StepFinishedEvent, StepStartedEvent, SubagentErrorEvent,
    SubagentFinishedEvent, SubagentStartedEvent, TextMessageChunkEvent, TextMessageContentEvent,
    TextMessageEndEvent, TextMessageStartEvent, ToolCallArgsEvent, ToolCallChunkEvent, ToolCallEndEvent,
    ToolCallResultEvent, ToolCallStartEvent, ToolRole,
};
pub use id::{EntityId, InterruptId, MessageId, RunId, SubagentRunId, ThreadId, ToolCallId};
pub use input::{Context, ResumeEntry, ResumeStatus, RunAgentInput};
pub use message::{
    ActivityMessage, AssistantMessage, DeveloperMessage, Message, ReasoningMessage, SystemMessage,
    ToolMessage, UserMessage,
};
pub use metadata::{Metadata, MetadataNamespace};
pub use outcome::{
    Interrupt, Interrupts, InterruptsError, RunFinishedCancelledOutcome, RunFinishedInterruptOutcome,
    RunFinishedOutcome, RunFinishedSuccessOutcome, SubagentFinishedOutcome, SubagentFinishedSuccessOutcome,
    SubagentFinishedSuspendedOutcome,
};
pub use patch::{JsonPatchOperation, JsonPointer};
pub use producer::{
    DynRunHandler, Run, RunEnd, RunError, RunHandler, RunWriter, WriteError, handler_from_stream,
};
pub use role::{Role, TextMessageRole};
pub use tool::{FunctionCall, Tool, ToolCall};
pub use usage::TokenUsage;
pub use version::{PROTOCOL_VERSION, VersionRelation};
pub use warning::Warning;

/// A JSON object whose members nobody describes. `serde_json::from_value(json!({..}))?` makes one of a literal.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
