//! The AG-UI 1.0 protocol for Rust: its types, its rules, and the run that an agent writes to.
//!
//! AG-UI is spoken between an agent and the application its user looks at: a [`RunAgentInput`] asks for a run, and one
//! ordered stream of [`Event`]s answers. This crate knows everything about the two and nothing about how they travel:
//! it has **no HTTP, no runtime and no clock**. The adapters (`agui-axum` and its siblings) serve what is written here,
//! and export this crate, so that most programs need not name it among their dependencies.
//!
//! An agent is an async function from a [`Run`] to a [`RunEnd`]. Under any executor, without a server:
//!
//! ```
//! use std::sync::Arc;
//!
//! use agui_core::producer::{Launched, RunSetup, launch};
//! use agui_core::{Event, Message, Run, RunAgentInput, RunEnd, RunError, UserMessage};
//!
//! async fn agent(run: Run) -> Result<RunEnd, RunError> {
//!     let asked = run.input().last_user_message().map(|message| message.content.text().into_owned());
//!     let mut answer = run.message();
//!     answer.delta("You said: ").await?;
//!     answer.delta(asked.unwrap_or_default()).await?;
//!     answer.end().await?;
//!     Ok(RunEnd::success())
//! }
//!
//! let input = RunAgentInput::new("trip-7", "turn-1", [Message::from(UserMessage::new("q1", "Porto?"))]);
//! let Launched { task, mut events, control, .. } = launch(Arc::new(agent), RunSetup::new(input));
//! // Whoever drives the run ends it with what the handler returned: a server while it sends the events.
//! let work = async { control.settle(task.await) };
//! let reader = async {
//!     let mut text = String::new();
//!     while let Some(event) = events.next().await {
//!         if let Event::TextMessageContent(content) = event {
//!             text.push_str(&content.delta);
//!         }
//!     }
//!     text
//! };
//! let ((), text) = futures_executor::block_on(futures_util::future::join(work, reader));
//! assert_eq!(text, "You said: Porto?");
//! ```
//!
//! # What is where
//!
//! The protocol's types are at the root: events, messages and their content, tools, the input, outcomes, capabilities,
//! identifiers. Reading and writing them is strict; what may be wrong with the material of others is judged elsewhere.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`producer`] | writing a run: [`Run`] and its handles, [`RunHandler`], [`RunWriter`] without async, [`launch`](producer::launch) |
//! | [`consumer`] | reading a run: the pipeline from frames to verified events, the fold into messages and state, the next input |
//! | [`projection`] | an application's own frames as events, and back |
//! | [`store`] | recorded runs: what a thread replays, who follows it live, how it is stopped |
//! | [`sequence`] | the state machine that says of each event whether it may stand there |
//! | [`chunk`] | the short spelling of messages and calls, and what it stands for |
//! | [`enforce`] | received material: what is stripped with a [`Warning`], what is an error (`PROC-2` to `PROC-5`) |
//! | [`compat`] | the spellings of peers from before 1.0 |
//! | [`patch`] | JSON Patch and JSON Pointer: apply, build, compare |
//! | [`json`] | JSON text to a tree, with what JSON leaves open settled |
//! | [`warning`] | what a tolerant reader says about what it removed or repaired |
#![cfg_attr(feature = "schemars", doc = "| [`schema`] | the JSON Schema of the types |")]
//!
//! Words like `LIFE-3` name rules of the protocol; errors carry them too ([`WriteError::rule`]).
//!
//! # Features
//!
//! `preserve_order` keeps the order of keys in open objects, `schemars` gives every protocol type a `JsonSchema`,
//! `store-contract` brings the tests that every [run store](store::RunStore) passes. All are off by default.

#[macro_use]
mod shape;

mod capabilities;
pub mod chunk;
pub mod compat;
pub mod consumer;
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
pub mod projection;
mod role;
#[cfg(feature = "schemars")]
pub mod schema;
pub mod sequence;
pub mod store;
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
