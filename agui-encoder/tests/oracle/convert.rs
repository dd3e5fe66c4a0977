//! Events as generated messages.

use agui_core as core;
use agui_core::Event;
use prost_types::{ListValue, Struct, Value, value::Kind};
use serde_json::Value as Json;

use super::generated as pb;
use super::generated::event::Event as Arm;
use super::generated::input_content::Part;
use super::generated::input_content_source::Source;

fn text(text: impl AsRef<str>) -> String {
    text.as_ref().to_owned()
}

fn maybe(text: Option<&impl AsRef<str>>) -> Option<String> {
    text.map(|text| text.as_ref().to_owned())
}

fn list<T, U>(items: &[T], convert: impl Fn(&T) -> U) -> Vec<U> {
    items.iter().map(convert).collect()
}

fn few<T, U>(items: Option<&Vec<T>>, convert: impl Fn(&T) -> U) -> Vec<U> {
    items.map_or_else(Vec::new, |items| list(items, convert))
}

/// An open value.
fn value(json: &Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(*truth),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::INFINITY)),
        Json::String(text) => Kind::StringValue(text.clone()),
        Json::Array(items) => Kind::ListValue(ListValue { values: list(items, value) }),
        Json::Object(members) => Kind::StructValue(object(members)),
    };
    Value { kind: Some(kind) }
}

fn object(members: &core::JsonObject) -> Struct {
    Struct { fields: members.iter().map(|(key, member)| (key.clone(), value(member))).collect() }
}

fn metadata(metadata: Option<&core::Metadata>) -> Option<Struct> {
    metadata.map(|members| object(members))
}

fn data(json: Option<&Json>) -> Option<Value> {
    json.map(value)
}

/// An event's message.
#[expect(clippy::too_many_lines, reason = "one arm for each of the 31 events")]
pub fn message(event: &Event) -> pb::Event {
    macro_rules! arm {
        ($Variant:ident, $Message:ident, $event:ident, $($members:tt)*) => {
            Arm::$Variant(pb::$Message {
                base_event: Some(pb::BaseEvent {
                    r#type: pb::EventType::$Variant.into(),
                    timestamp: $event.timestamp,
                    raw_event: data($event.raw_event.as_deref()),
                    metadata: metadata($event.metadata.as_ref()),
                }),
                $($members)*
            })
        };
    }
    /// As `arm`, for events that can be attributed.
    macro_rules! owned {
        ($Variant:ident, $Message:ident, $event:ident, $($members:tt)*) => {
            arm!($Variant, $Message, $event,
                subagent_run_id: maybe($event.subagent_run_id.as_ref()), $($members)*)
        };
    }
    let arm = match event {
        Event::TextMessageStart(e) => owned!(TextMessageStart, TextMessageStartEvent, e,
            message_id: text(&e.message_id),
            role: e.role.map(|role| text(role.as_str())),
            name: e.name.clone(),
        ),
        Event::TextMessageContent(e) => owned!(TextMessageContent, TextMessageContentEvent, e,
            message_id: text(&e.message_id),
            delta: e.delta.clone(),
        ),
        Event::TextMessageEnd(e) => owned!(TextMessageEnd, TextMessageEndEvent, e,
            message_id: text(&e.message_id),
        ),
        Event::TextMessageChunk(e) => owned!(TextMessageChunk, TextMessageChunkEvent, e,
            message_id: maybe(e.message_id.as_ref()),
            role: e.role.map(|role| text(role.as_str())),
            delta: e.delta.clone(),
            name: e.name.clone(),
        ),
        Event::ToolCallStart(e) => owned!(ToolCallStart, ToolCallStartEvent, e,
            tool_call_id: text(&e.tool_call_id),
            tool_call_name: e.tool_call_name.clone(),
            parent_message_id: maybe(e.parent_message_id.as_ref()),
        ),
        Event::ToolCallArgs(e) => owned!(ToolCallArgs, ToolCallArgsEvent, e,
            tool_call_id: text(&e.tool_call_id),
            delta: e.delta.clone(),
        ),
        Event::ToolCallEnd(e) => owned!(ToolCallEnd, ToolCallEndEvent, e,
            tool_call_id: text(&e.tool_call_id),
        ),
        Event::ToolCallChunk(e) => owned!(ToolCallChunk, ToolCallChunkEvent, e,
            tool_call_id: maybe(e.tool_call_id.as_ref()),
            tool_call_name: e.tool_call_name.clone(),
            parent_message_id: maybe(e.parent_message_id.as_ref()),
            delta: e.delta.clone(),
        ),
        Event::ToolCallResult(e) => {
            let (content, content_parts) = content(&e.content);
            owned!(ToolCallResult, ToolCallResultEvent, e,
                message_id: text(&e.message_id),
                tool_call_id: text(&e.tool_call_id),
                content,
                role: e.role.map(|role| text(role.as_str())),
                content_parts,
            )
        }
        Event::StateSnapshot(e) => owned!(StateSnapshot, StateSnapshotEvent, e,
            snapshot: Some(value(&e.snapshot)),
        ),
        Event::StateDelta(e) => owned!(StateDelta, StateDeltaEvent, e, delta: list(&e.delta, operation),),
        Event::MessagesSnapshot(e) => arm!(MessagesSnapshot, MessagesSnapshotEvent, e,
            messages: list(&e.messages, conversation_message),
        ),
        Event::ActivitySnapshot(e) => owned!(ActivitySnapshot, ActivitySnapshotEvent, e,
            message_id: text(&e.message_id),
            activity_type: e.activity_type.clone(),
            content: Some(object(&e.content)),
            replace: e.replace,
        ),
        Event::ActivityDelta(e) => owned!(ActivityDelta, ActivityDeltaEvent, e,
            message_id: text(&e.message_id),
            activity_type: e.activity_type.clone(),
            patch: list(&e.patch, operation),
        ),
        Event::Raw(e) => owned!(Raw, RawEvent, e,
            event: Some(value(&e.event)),
            source: e.source.clone(),
        ),
        Event::Custom(e) => owned!(Custom, CustomEvent, e,
            name: e.name.clone(),
            value: Some(value(&e.value)),
        ),
        Event::RunStarted(e) => arm!(RunStarted, RunStartedEvent, e,
            thread_id: text(&e.thread_id),
            run_id: text(&e.run_id),
            parent_run_id: maybe(e.parent_run_id.as_ref()),
            input: e.input.as_deref().map(input),
            protocol_version: e.protocol_version.clone(),
        ),
        Event::RunFinished(e) => {
            let outcome = outcome(e.outcome.as_ref());
            arm!(RunFinished, RunFinishedEvent, e,
                thread_id: text(&e.thread_id),
                run_id: text(&e.run_id),
                result: data(e.result.as_ref()),
                outcome: text(outcome.0),
                interrupts: outcome.1,
                usage: few(e.usage.as_ref(), usage),
                pending_tool_call_ids: outcome.2,
            )
        }
        Event::RunError(e) => arm!(RunError, RunErrorEvent, e,
            code: e.code.clone(),
            message: e.message.clone(),
            usage: few(e.usage.as_ref(), usage),
        ),
        Event::StepStarted(e) => owned!(StepStarted, StepStartedEvent, e, step_name: e.step_name.clone(),),
        Event::StepFinished(e) => owned!(StepFinished, StepFinishedEvent, e, step_name: e.step_name.clone(),),
        Event::ReasoningStart(e) => owned!(ReasoningStart, ReasoningStartEvent, e,
            message_id: text(&e.message_id),
        ),
        Event::ReasoningMessageStart(e) => owned!(ReasoningMessageStart, ReasoningMessageStartEvent, e,
            message_id: text(&e.message_id),
            role: text("reasoning"),
        ),
        Event::ReasoningMessageContent(e) => owned!(ReasoningMessageContent, ReasoningMessageContentEvent, e,
            message_id: text(&e.message_id),
            delta: e.delta.clone(),
        ),
        Event::ReasoningMessageEnd(e) => owned!(ReasoningMessageEnd, ReasoningMessageEndEvent, e,
            message_id: text(&e.message_id),
        ),
        Event::ReasoningMessageChunk(e) => owned!(ReasoningMessageChunk, ReasoningMessageChunkEvent, e,
            message_id: maybe(e.message_id.as_ref()),
            delta: e.delta.clone(),
        ),
        Event::ReasoningEnd(e) => {
            owned!(ReasoningEnd, ReasoningEndEvent, e, message_id: text(&e.message_id),)
        }
        Event::ReasoningEncryptedValue(e) => owned!(ReasoningEncryptedValue, ReasoningEncryptedValueEvent, e,
            subtype: text(e.subtype.as_str()),
            entity_id: text(&e.entity_id),
            encrypted_value: e.encrypted_value.clone(),
        ),
        Event::SubagentStarted(e) => arm!(SubagentStarted, SubagentStartedEvent, e,
            subagent_run_id: text(&e.subagent_run_id),
            name: e.name.clone(),
            description: e.description.clone(),
            parent_subagent_run_id: maybe(e.parent_subagent_run_id.as_ref()),
            parent_tool_call_id: maybe(e.parent_tool_call_id.as_ref()),
            parent_message_id: maybe(e.parent_message_id.as_ref()),
        ),
        Event::SubagentFinished(e) => {
            let outcome = subagent_outcome(e.outcome.as_ref());
            arm!(SubagentFinished, SubagentFinishedEvent, e,
                subagent_run_id: text(&e.subagent_run_id),
                result: data(e.result.as_ref()),
                outcome: text(outcome.0),
                interrupt_ids: outcome.1,
            )
        }
        Event::SubagentError(e) => arm!(SubagentError, SubagentErrorEvent, e,
            subagent_run_id: text(&e.subagent_run_id),
            message: e.message.clone(),
            code: e.code.clone(),
        ),
        other => panic!("no message for {}", other.event_type()),
    };
    pb::Event { event: Some(arm) }
}

fn outcome(outcome: Option<&core::RunFinishedOutcome>) -> (&'static str, Vec<pb::Interrupt>, Vec<String>) {
    match outcome {
        None => ("", Vec::new(), Vec::new()),
        Some(core::RunFinishedOutcome::Success(outcome)) => {
            ("success", Vec::new(), few(outcome.pending_tool_call_ids.as_ref(), |id| text(id)))
        }
        Some(core::RunFinishedOutcome::Interrupt(outcome)) => {
            ("interrupt", list(&outcome.interrupts, interrupt), Vec::new())
        }
        Some(core::RunFinishedOutcome::Cancelled(_)) => ("cancelled", Vec::new(), Vec::new()),
        Some(other) => panic!("no message for {other:?}"),
    }
}

fn subagent_outcome(outcome: Option<&core::SubagentFinishedOutcome>) -> (&'static str, Vec<String>) {
    match outcome {
        None => ("", Vec::new()),
        Some(core::SubagentFinishedOutcome::Success(_)) => ("success", Vec::new()),
        Some(core::SubagentFinishedOutcome::Suspended(outcome)) => {
            ("suspended", few(outcome.interrupt_ids.as_ref(), |id| text(id)))
        }
        Some(other) => panic!("no message for {other:?}"),
    }
}

fn interrupt(interrupt: &core::Interrupt) -> pb::Interrupt {
    let struct_value = |object| Value { kind: Some(Kind::StructValue(object)) };
    pb::Interrupt {
        id: text(&interrupt.id),
        reason: interrupt.reason.clone(),
        message: interrupt.message.clone(),
        tool_call_id: maybe(interrupt.tool_call_id.as_ref()),
        response_schema: interrupt.response_schema.as_ref().map(object).map(struct_value),
        expires_at: interrupt.expires_at.clone(),
        metadata: metadata(interrupt.metadata.as_ref()).map(struct_value),
        subagent_run_id: maybe(interrupt.subagent_run_id.as_ref()),
    }
}

fn usage(usage: &core::TokenUsage) -> pb::Usage {
    let count = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    pb::Usage {
        provider: usage.provider.clone(),
        model: usage.model.clone(),
        input_tokens: count(usage.input_tokens),
        output_tokens: count(usage.output_tokens),
        total_tokens: count(usage.total_tokens),
        reasoning_tokens: count(usage.reasoning_tokens),
        cached_input_tokens: count(usage.cached_input_tokens),
        cache_write_input_tokens: count(usage.cache_write_input_tokens),
    }
}

fn operation(operation: &core::patch::JsonPatchOperation) -> pb::JsonPatchOperation {
    use core::patch::JsonPatchOperation as Operation;
    use pb::JsonPatchOperationType as Type;

    let (op, extra) = match operation {
        Operation::Add(operation) => (Type::Add, &operation.extra),
        Operation::Remove(operation) => (Type::Remove, &operation.extra),
        Operation::Replace(operation) => (Type::Replace, &operation.extra),
        Operation::Move(operation) => (Type::Move, &operation.extra),
        Operation::Copy(operation) => (Type::Copy, &operation.extra),
        Operation::Test(operation) => (Type::Test, &operation.extra),
        other => panic!("no message for {other:?}"),
    };
    // The wire has two of the members that an operation without use for them may hold.
    let extra = |name| extra.as_ref().and_then(|members| members.get(name));
    pb::JsonPatchOperation {
        op: op.into(),
        path: text(operation.path().as_str()),
        from: operation
            .source()
            .map(core::JsonPointer::as_str)
            .or(extra("from").and_then(Json::as_str))
            .map(text),
        value: data(operation.value().or(extra("value"))),
    }
}

fn content(content: &core::Content) -> (Option<String>, Vec<pb::InputContent>) {
    match content {
        core::Content::Text(text) => (Some(text.clone()), Vec::new()),
        core::Content::Parts(parts) => (None, list(parts, part)),
    }
}

fn part(part: &core::ContentPart) -> pb::InputContent {
    macro_rules! media {
        ($Variant:ident, $Message:ident, $part:ident) => {
            Part::$Variant(pb::$Message {
                source: Some(source(&$part.source)),
                metadata: data($part.metadata.as_ref()),
                id: $part.id.clone(),
            })
        };
    }
    let part = match part {
        core::ContentPart::Text(part) => Part::Text(pb::TextInputPart {
            text: part.text.clone(),
            id: part.id.clone(),
            metadata: data(part.metadata.as_ref()),
        }),
        core::ContentPart::Image(part) => media!(Image, ImageInputPart, part),
        core::ContentPart::Audio(part) => media!(Audio, AudioInputPart, part),
        core::ContentPart::Video(part) => media!(Video, VideoInputPart, part),
        core::ContentPart::Document(part) => media!(Document, DocumentInputPart, part),
        other => panic!("no message for {other:?}"),
    };
    pb::InputContent { part: Some(part) }
}

fn source(source: &core::PartSource) -> pb::InputContentSource {
    let source = match source {
        core::PartSource::Data(source) => Source::Data(pb::InputContentDataSource {
            value: source.value.clone(),
            mime_type: source.mime_type.clone(),
        }),
        core::PartSource::Url(source) => Source::Url(pb::InputContentUrlSource {
            value: source.value.clone(),
            mime_type: source.mime_type.clone(),
        }),
        core::PartSource::File(source) => Source::File(pb::InputContentFileSource {
            value: source.value.clone(),
            provider: source.provider.clone(),
            mime_type: source.mime_type.clone(),
        }),
        other => panic!("no message for {other:?}"),
    };
    pb::InputContentSource { source: Some(source) }
}

fn conversation_message(message: &core::Message) -> pb::Message {
    macro_rules! said {
        ($role:literal, $m:ident, $($members:tt)*) => {
            pb::Message {
                id: text(&$m.id),
                role: text($role),
                metadata: metadata($m.metadata.as_ref()),
                subagent_run_id: maybe($m.subagent_run_id.as_ref()),
                $($members)*
                ..pb::Message::default()
            }
        };
    }
    match message {
        core::Message::Developer(m) => said!("developer", m,
            content: Some(m.content.clone()),
            name: m.name.clone(),
            encrypted_value: m.encrypted_value.clone(),
        ),
        core::Message::System(m) => said!("system", m,
            content: Some(m.content.clone()),
            name: m.name.clone(),
            encrypted_value: m.encrypted_value.clone(),
        ),
        core::Message::Assistant(m) => said!("assistant", m,
            content: m.content.clone(),
            name: m.name.clone(),
            tool_calls: few(m.tool_calls.as_ref(), tool_call),
            encrypted_value: m.encrypted_value.clone(),
        ),
        core::Message::User(m) => {
            let (content, content_parts) = content(&m.content);
            said!("user", m,
                content,
                content_parts,
                name: m.name.clone(),
                encrypted_value: m.encrypted_value.clone(),
            )
        }
        core::Message::Tool(m) => {
            let (content, content_parts) = content(&m.content);
            said!("tool", m,
                content,
                content_parts,
                tool_call_id: Some(text(&m.tool_call_id)),
                error: m.error.clone(),
                encrypted_value: m.encrypted_value.clone(),
            )
        }
        core::Message::Activity(m) => said!("activity", m,
            activity_type: Some(m.activity_type.clone()),
            activity_content: Some(object(&m.content)),
        ),
        core::Message::Reasoning(m) => said!("reasoning", m,
            content: Some(m.content.clone()),
            encrypted_value: m.encrypted_value.clone(),
        ),
        other => panic!("no message for {other:?}"),
    }
}

fn tool_call(call: &core::ToolCall) -> pb::ToolCall {
    pb::ToolCall {
        id: text(&call.id),
        r#type: text("function"),
        function: Some(pb::tool_call::Function {
            name: call.function.name.clone(),
            arguments: call.function.arguments.clone(),
        }),
        metadata: metadata(call.metadata.as_ref()),
        encrypted_value: call.encrypted_value.clone(),
    }
}

fn input(input: &core::RunAgentInput) -> pb::RunAgentInput {
    pb::RunAgentInput {
        thread_id: text(&input.thread_id),
        run_id: text(&input.run_id),
        parent_run_id: maybe(input.parent_run_id.as_ref()),
        state: data(input.state.as_ref()),
        messages: list(&input.messages, conversation_message),
        tools: few(input.tools.as_ref(), |tool| pb::Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: data(tool.parameters.as_ref()),
            metadata: metadata(tool.metadata.as_ref()),
        }),
        context: few(input.context.as_ref(), |context| pb::Context {
            description: context.description.clone(),
            value: context.value.clone(),
        }),
        forwarded_props: data(input.forwarded_props.as_ref()),
        resume: few(input.resume.as_ref(), |entry| pb::ResumeEntry {
            interrupt_id: text(&entry.interrupt_id),
            status: text(entry.status.as_str()),
            payload: data(entry.payload.as_ref()),
            metadata: metadata(entry.metadata.as_ref()),
        }),
        protocol_version: input.protocol_version.clone(),
    }
}
