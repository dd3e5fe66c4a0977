//! The 31 events of AG-UI 1.0, one file per family.
//!
//! The types mirror the schema: same names, same members. They say what one event is, not which may follow which;
//! that is [`Sequence`](crate::sequence::Sequence)'s business.

#[macro_use]
mod macros;

mod activity;
mod reasoning;
mod run;
mod special;
mod state;
mod step;
mod subagent;
mod text;
mod tool;

pub use activity::{ActivityDeltaEvent, ActivitySnapshotEvent};
pub use reasoning::{
    ReasoningEncryptedValueEvent, ReasoningEncryptedValueSubtype, ReasoningEndEvent,
    ReasoningMessageChunkEvent, ReasoningMessageContentEvent, ReasoningMessageEndEvent,
    ReasoningMessageStartEvent, ReasoningStartEvent,
};
pub use run::{RunErrorEvent, RunFinishedEvent, RunStartedEvent};
pub use special::{CustomEvent, RawEvent};
pub use state::{MessagesSnapshotEvent, StateDeltaEvent, StateSnapshotEvent};
pub use step::{StepFinishedEvent, StepStartedEvent};
pub use subagent::{SubagentErrorEvent, SubagentFinishedEvent, SubagentStartedEvent};
pub use text::{TextMessageChunkEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent};
pub use tool::{
    ToolCallArgsEvent, ToolCallChunkEvent, ToolCallEndEvent, ToolCallResultEvent, ToolCallStartEvent,
    ToolRole,
};

use serde::de::{self, Deserializer, MapAccess};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::shape::{Kind, UnionShape, Wire, WireObject, WireUnion, read_union};
use crate::{Metadata, SubagentRunId};

event_table! {
    TextMessageStart "TEXT_MESSAGE_START" TextMessageStartEvent inline owned "Opens a text message.",
    TextMessageContent "TEXT_MESSAGE_CONTENT" TextMessageContentEvent inline owned "Text for an open message.",
    TextMessageEnd "TEXT_MESSAGE_END" TextMessageEndEvent inline owned "Closes a text message.",
    TextMessageChunk "TEXT_MESSAGE_CHUNK" TextMessageChunkEvent inline owned "Text in the compact spelling.",
    ToolCallStart "TOOL_CALL_START" ToolCallStartEvent inline owned "Opens a tool call.",
    ToolCallArgs "TOOL_CALL_ARGS" ToolCallArgsEvent inline owned "Argument text for an open call.",
    ToolCallEnd "TOOL_CALL_END" ToolCallEndEvent inline owned "Closes a tool call.",
    ToolCallChunk "TOOL_CALL_CHUNK" ToolCallChunkEvent boxed owned "A tool call in the compact spelling.",
    ToolCallResult "TOOL_CALL_RESULT" ToolCallResultEvent boxed owned "The result of a tool call.",
    StateSnapshot "STATE_SNAPSHOT" StateSnapshotEvent inline owned "The whole state.",
    StateDelta "STATE_DELTA" StateDeltaEvent inline owned "A change of the state.",
    MessagesSnapshot "MESSAGES_SNAPSHOT" MessagesSnapshotEvent inline none "The whole conversation.",
    ActivitySnapshot "ACTIVITY_SNAPSHOT" ActivitySnapshotEvent boxed owned "The whole content of an activity.",
    ActivityDelta "ACTIVITY_DELTA" ActivityDeltaEvent boxed owned "A change of an activity.",
    Raw "RAW" RawEvent boxed owned "An event of another system, passed on.",
    Custom "CUSTOM" CustomEvent boxed owned "An event of the application's own.",
    RunStarted "RUN_STARTED" RunStartedEvent boxed none "Opens a run.",
    RunFinished "RUN_FINISHED" RunFinishedEvent boxed none "Ends a run.",
    RunError "RUN_ERROR" RunErrorEvent boxed none "Ends a run that failed.",
    StepStarted "STEP_STARTED" StepStartedEvent inline owned "Opens a step.",
    StepFinished "STEP_FINISHED" StepFinishedEvent inline owned "Closes a step.",
    ReasoningStart "REASONING_START" ReasoningStartEvent inline owned "Opens a reasoning span.",
    ReasoningMessageStart "REASONING_MESSAGE_START" ReasoningMessageStartEvent inline owned "Opens a reasoning message.",
    ReasoningMessageContent "REASONING_MESSAGE_CONTENT" ReasoningMessageContentEvent inline owned "Text for an open reasoning message.",
    ReasoningMessageEnd "REASONING_MESSAGE_END" ReasoningMessageEndEvent inline owned "Closes a reasoning message.",
    ReasoningMessageChunk "REASONING_MESSAGE_CHUNK" ReasoningMessageChunkEvent inline owned "Reasoning in the compact spelling.",
    ReasoningEnd "REASONING_END" ReasoningEndEvent inline owned "Closes a reasoning span.",
    ReasoningEncryptedValue "REASONING_ENCRYPTED_VALUE" ReasoningEncryptedValueEvent inline owned "An opaque value to keep with a message or call.",
    SubagentStarted "SUBAGENT_STARTED" SubagentStartedEvent boxed itself "Announces a subagent.",
    SubagentFinished "SUBAGENT_FINISHED" SubagentFinishedEvent boxed itself "Ends a subagent's invocation.",
    SubagentError "SUBAGENT_ERROR" SubagentErrorEvent boxed itself "Ends a subagent's invocation that failed.",
}

impl Event {
    /// Reads one event from JSON text, strictly, without a tree whatever the order of its keys.
    ///
    /// The text is read once where `type` is the first key, as every encoder writes it, and once more where it is not.
    ///
    /// # Errors
    /// The text is no JSON, or no event that the 1.0 schema accepts.
    ///
    /// # Examples
    /// ```
    /// # use agui_core::{Event, EventType};
    /// let event = Event::from_json(br#"{"messageId":"m1","type":"TEXT_MESSAGE_END"}"#)?;
    /// assert_eq!(event.event_type(), EventType::TextMessageEnd);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn from_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        if type_comes_first(text) {
            return serde_json::from_slice(text);
        }
        let TypeOnly { kind } = serde_json::from_slice(text)?;
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let event = Self::read_typed(kind, &mut deserializer)?;
        deserializer.end()?;
        Ok(event)
    }
}

/// The discriminator alone; every other member is skipped without being built.
struct TypeOnly {
    kind: EventType,
}

impl<'de> Deserialize<'de> for TypeOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TypeVisitor;

        impl<'de> de::Visitor<'de> for TypeVisitor {
            type Value = TypeOnly;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an event object with `type`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TypeOnly, A::Error> {
                let mut kind = None;
                while let Some(key) = map.next_key::<crate::shape::Text<'de>>()? {
                    if key.0 == "type" {
                        kind = Some(map.next_value::<EventType>()?);
                    } else {
                        map.next_value::<de::IgnoredAny>()?;
                    }
                }
                kind.map(|kind| TypeOnly { kind }).ok_or_else(|| de::Error::missing_field("type"))
            }
        }

        deserializer.deserialize_map(TypeVisitor)
    }
}

/// Whether the first key of an object's text is `type`.
fn type_comes_first(text: &[u8]) -> bool {
    text.trim_ascii_start()
        .strip_prefix(b"{")
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(br#""type""#))
}

impl Wire for Event {
    const KIND: Kind = Kind::Union(&<Self as WireUnion>::UNION);

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_union(deserializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_union(deserializer)
    }
}

impl_json_schema!(Event);
