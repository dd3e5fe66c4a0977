//! The typed floor: plain structs with every member inline, one derived reading and one derived writing each.

use memchr::memchr;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Declares the plain struct of each event and the dispatch on the tag at the front of its text.
macro_rules! plain_events {
    ($( $Name:ident $wire:literal { $($required:ident: $Required:ty),* ; $($optional:ident: $Optional:ty),* } )+) => {
        $(
            #[doc = concat!("`", $wire, "`")]
            #[derive(Debug, Serialize, Deserialize)]
            #[serde(tag = "type", rename = $wire, rename_all = "camelCase")]
            pub(crate) struct $Name {
                $( pub(crate) $required: $Required, )*
                $( #[serde(skip_serializing_if = "Option::is_none")] pub(crate) $optional: Option<$Optional>, )*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(crate) timestamp: Option<i64>,
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(crate) metadata: Option<Map<String, Value>>,
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(crate) raw_event: Option<Value>,
            }
        )+

        /// Any event.
        #[derive(Debug)]
        pub(crate) enum Plain { $( #[doc = concat!("`", $wire, "`")] $Name($Name), )+ }

        impl Plain {
            /// Reads an event from its JSON text, whose first member is the tag.
            pub(crate) fn read(text: &[u8]) -> Self {
                let rest = text.strip_prefix(br#"{"type":""#).expect("the tag comes first");
                let tag = &rest[..memchr(b'"', rest).expect("the tag ends")];
                $( if tag == $wire.as_bytes() {
                    return Self::$Name(serde_json::from_slice(text).expect($wire));
                } )+
                panic!("an event of no known type");
            }

            /// Writes an event into a buffer that is reused, between what stands before and after its text.
            pub(crate) fn write(&self, before: &[u8], after: &[u8], buffer: &mut Vec<u8>) {
                buffer.extend_from_slice(before);
                let written = match self { $( Self::$Name(event) => serde_json::to_writer(&mut *buffer, event), )+ };
                written.expect("plain events are JSON");
                buffer.extend_from_slice(after);
            }
        }
    };
}

plain_events! {
    TextMessageContent "TEXT_MESSAGE_CONTENT" { message_id: String, delta: String; subagent_run_id: String }
    ToolCallArgs "TOOL_CALL_ARGS" { tool_call_id: String, delta: String; subagent_run_id: String }
    ReasoningMessageContent "REASONING_MESSAGE_CONTENT" { message_id: String, delta: String; subagent_run_id: String }
    TextMessageStart "TEXT_MESSAGE_START" { message_id: String; role: String, name: String, subagent_run_id: String }
    TextMessageEnd "TEXT_MESSAGE_END" { message_id: String; subagent_run_id: String }
    TextMessageChunk "TEXT_MESSAGE_CHUNK" {
        ; message_id: String, role: String, delta: String, name: String, subagent_run_id: String
    }
    ToolCallStart "TOOL_CALL_START" {
        tool_call_id: String, tool_call_name: String; parent_message_id: String, subagent_run_id: String
    }
    ToolCallEnd "TOOL_CALL_END" { tool_call_id: String; subagent_run_id: String }
    ToolCallChunk "TOOL_CALL_CHUNK" {
        ; tool_call_id: String, tool_call_name: String, parent_message_id: String, delta: String, subagent_run_id: String
    }
    ToolCallResult "TOOL_CALL_RESULT" {
        message_id: String, tool_call_id: String, content: String; role: String, subagent_run_id: String
    }
    StateSnapshot "STATE_SNAPSHOT" { snapshot: Value; subagent_run_id: String }
    StateDelta "STATE_DELTA" { delta: Vec<Operation>; subagent_run_id: String }
    MessagesSnapshot "MESSAGES_SNAPSHOT" { messages: Vec<Message>; }
    ActivitySnapshot "ACTIVITY_SNAPSHOT" {
        message_id: String, activity_type: String, content: Map<String, Value>; replace: bool, subagent_run_id: String
    }
    ActivityDelta "ACTIVITY_DELTA" {
        message_id: String, activity_type: String, patch: Vec<Operation>; subagent_run_id: String
    }
    Raw "RAW" { event: Value; source: String, subagent_run_id: String }
    Custom "CUSTOM" { name: String, value: Value; subagent_run_id: String }
    RunStarted "RUN_STARTED" {
        thread_id: String, run_id: String; protocol_version: String, parent_run_id: String, input: Value
    }
    RunFinished "RUN_FINISHED" { thread_id: String, run_id: String; result: Value, outcome: Value, usage: Value }
    RunError "RUN_ERROR" { message: String; code: String, usage: Value }
    StepStarted "STEP_STARTED" { step_name: String; subagent_run_id: String }
    StepFinished "STEP_FINISHED" { step_name: String; subagent_run_id: String }
    ReasoningStart "REASONING_START" { message_id: String; subagent_run_id: String }
    ReasoningMessageStart "REASONING_MESSAGE_START" { role: String, message_id: String; subagent_run_id: String }
    ReasoningMessageEnd "REASONING_MESSAGE_END" { message_id: String; subagent_run_id: String }
    ReasoningMessageChunk "REASONING_MESSAGE_CHUNK" { ; message_id: String, delta: String, subagent_run_id: String }
    ReasoningEnd "REASONING_END" { message_id: String; subagent_run_id: String }
    ReasoningEncryptedValue "REASONING_ENCRYPTED_VALUE" {
        subtype: String, entity_id: String, encrypted_value: String; subagent_run_id: String
    }
    SubagentStarted "SUBAGENT_STARTED" {
        subagent_run_id: String, name: String;
        description: String, parent_subagent_run_id: String, parent_tool_call_id: String, parent_message_id: String
    }
    SubagentFinished "SUBAGENT_FINISHED" { subagent_run_id: String; result: Value, outcome: Value }
    SubagentError "SUBAGENT_ERROR" { subagent_run_id: String, message: String; code: String }
}

/// A message of any role.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    pub(crate) role: String,
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// A call that a message carries.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename = "function")]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) function: Function,
}

/// What is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// An operation of a patch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) op: String,
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
}
