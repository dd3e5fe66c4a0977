//! Typed events, field by field in ascending order.
//!
//! Every member is named here once. A type or variant that a later version of the protocol adds has no field on this
//! wire until it gets an arm here, and is an error rather than a hole in the stream.

use agui_core::{
    Content, ContentPart, Event, Interrupt, JsonPatchOperation, Message, Metadata, PartSource, RunAgentInput,
    RunFinishedOutcome, SubagentFinishedOutcome, TextMessageRole, TokenUsage, ToolCall, ToolRole,
};
use serde_json::Value;

use super::out::{Fault, Out, Written, object, value};
use super::schema;

/// The level of a container that is a member of the event.
const MEMBER: usize = 2;

/// Writes an event into the envelope.
pub(super) fn event<O: Out>(event: &Event, out: &mut O) -> Written {
    let (arm, number) = schema::numbers(event.event_type()).ok_or(Fault::NoField)?;
    out.message(arm, |out| {
        out.message(1, |out| {
            if number != 0 {
                out.integer(1, i64::from(number));
            }
            if let Some(timestamp) = event.timestamp() {
                out.integer(2, timestamp);
            }
            if let Some(raw) = event.raw_event() {
                value(out, 3, raw, MEMBER)?;
            }
            metadata(out, 4, event.metadata(), MEMBER)
        })?;
        fields(event, out)
    })
}

#[expect(clippy::too_many_lines, reason = "one arm for each of the 31 events")]
#[inline]
fn fields<O: Out>(event: &Event, out: &mut O) -> Written {
    match event {
        Event::TextMessageStart(event) => {
            out.text(2, event.message_id.as_str());
            out.optional(3, event.role.map(TextMessageRole::as_str).as_ref());
            out.optional(4, event.name.as_ref());
            out.optional(5, event.subagent_run_id.as_ref());
        }
        Event::TextMessageContent(event) => {
            out.text(2, event.message_id.as_str());
            out.text(3, &event.delta);
            out.optional(4, event.subagent_run_id.as_ref());
        }
        Event::TextMessageEnd(event) => {
            out.text(2, event.message_id.as_str());
            out.optional(3, event.subagent_run_id.as_ref());
        }
        Event::TextMessageChunk(event) => {
            out.optional(2, event.message_id.as_ref());
            out.optional(3, event.role.map(TextMessageRole::as_str).as_ref());
            out.optional(4, event.delta.as_ref());
            out.optional(5, event.name.as_ref());
            out.optional(6, event.subagent_run_id.as_ref());
        }
        Event::ToolCallStart(event) => {
            out.text(2, event.tool_call_id.as_str());
            out.text(3, &event.tool_call_name);
            out.optional(4, event.parent_message_id.as_ref());
            out.optional(5, event.subagent_run_id.as_ref());
        }
        Event::ToolCallArgs(event) => {
            out.text(2, event.tool_call_id.as_str());
            out.text(3, &event.delta);
            out.optional(4, event.subagent_run_id.as_ref());
        }
        Event::ToolCallEnd(event) => {
            out.text(2, event.tool_call_id.as_str());
            out.optional(3, event.subagent_run_id.as_ref());
        }
        Event::ToolCallChunk(event) => {
            out.optional(2, event.tool_call_id.as_ref());
            out.optional(3, event.tool_call_name.as_ref());
            out.optional(4, event.parent_message_id.as_ref());
            out.optional(5, event.delta.as_ref());
            out.optional(6, event.subagent_run_id.as_ref());
        }
        Event::ToolCallResult(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
            out.text(4, event.tool_call_id.as_str());
            out.optional(5, content_text(&event.content));
            out.optional(6, event.role.map(ToolRole::as_str).as_ref());
            parts(out, 7, &event.content, MEMBER + 1)?;
        }
        Event::StateSnapshot(event) => {
            value(out, 2, &event.snapshot, MEMBER)?;
            out.optional(3, event.subagent_run_id.as_ref());
        }
        Event::StateDelta(event) => {
            operations(out, 2, &event.delta)?;
            out.optional(3, event.subagent_run_id.as_ref());
        }
        Event::MessagesSnapshot(event) => messages(out, 2, &event.messages, MEMBER + 1)?,
        Event::ActivitySnapshot(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
            out.text(4, &event.activity_type);
            object(out, 5, &event.content, MEMBER)?;
            if let Some(replace) = event.replace {
                out.varint(6, u64::from(replace));
            }
        }
        Event::ActivityDelta(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
            out.text(4, &event.activity_type);
            operations(out, 5, &event.patch)?;
        }
        Event::Raw(event) => {
            value(out, 2, &event.event, MEMBER)?;
            out.optional(3, event.source.as_ref());
            out.optional(4, event.subagent_run_id.as_ref());
        }
        Event::Custom(event) => {
            out.text(2, &event.name);
            value(out, 3, &event.value, MEMBER)?;
            out.optional(4, event.subagent_run_id.as_ref());
        }
        Event::RunStarted(event) => {
            out.text(2, event.thread_id.as_str());
            out.text(3, event.run_id.as_str());
            out.optional(4, event.parent_run_id.as_ref());
            if let Some(input) = &event.input {
                out.message(5, |out| run_input(out, input))?;
            }
            out.optional(6, event.protocol_version.as_ref());
        }
        Event::RunFinished(event) => {
            out.text(2, event.thread_id.as_str());
            out.text(3, event.run_id.as_str());
            open(out, 4, event.result.as_ref(), MEMBER)?;
            let (name, interrupts, pending) = match &event.outcome {
                None => ("", None, None),
                Some(RunFinishedOutcome::Success(outcome)) => {
                    ("success", None, outcome.pending_tool_call_ids.as_ref())
                }
                Some(RunFinishedOutcome::Interrupt(outcome)) => {
                    ("interrupt", Some(&outcome.interrupts), None)
                }
                Some(RunFinishedOutcome::Cancelled(_)) => ("cancelled", None, None),
                Some(_) => return Err(Fault::NoField),
            };
            out.text(5, name);
            for interrupt in interrupts.into_iter().flat_map(|interrupts| interrupts.iter()) {
                out.message(6, |out| self::interrupt(out, interrupt))?;
            }
            usage(out, 7, event.usage.as_deref())?;
            for id in pending.into_iter().flatten() {
                out.string(8, id.as_str());
            }
        }
        Event::RunError(event) => {
            out.optional(2, event.code.as_ref());
            out.text(3, &event.message);
            usage(out, 4, event.usage.as_deref())?;
        }
        Event::StepStarted(event) => {
            out.text(2, &event.step_name);
            out.optional(3, event.subagent_run_id.as_ref());
        }
        Event::StepFinished(event) => {
            out.text(2, &event.step_name);
            out.optional(3, event.subagent_run_id.as_ref());
        }
        Event::ReasoningStart(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
        }
        Event::ReasoningMessageStart(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
            out.text(4, "reasoning");
        }
        Event::ReasoningMessageContent(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
            out.text(4, &event.delta);
        }
        Event::ReasoningMessageEnd(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
        }
        Event::ReasoningMessageChunk(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.optional(3, event.message_id.as_ref());
            out.optional(4, event.delta.as_ref());
        }
        Event::ReasoningEnd(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.message_id.as_str());
        }
        Event::ReasoningEncryptedValue(event) => {
            out.optional(2, event.subagent_run_id.as_ref());
            out.text(3, event.subtype.as_str());
            out.text(4, event.entity_id.as_str());
            out.text(5, &event.encrypted_value);
        }
        Event::SubagentStarted(event) => {
            out.text(2, event.subagent_run_id.as_str());
            out.text(3, &event.name);
            out.optional(4, event.description.as_ref());
            out.optional(5, event.parent_subagent_run_id.as_ref());
            out.optional(6, event.parent_tool_call_id.as_ref());
            out.optional(7, event.parent_message_id.as_ref());
        }
        Event::SubagentFinished(event) => {
            out.text(2, event.subagent_run_id.as_str());
            open(out, 3, event.result.as_ref(), MEMBER)?;
            let (name, ids) = match &event.outcome {
                None => ("", None),
                Some(SubagentFinishedOutcome::Success(_)) => ("success", None),
                Some(SubagentFinishedOutcome::Suspended(outcome)) => {
                    ("suspended", outcome.interrupt_ids.as_ref())
                }
                Some(_) => return Err(Fault::NoField),
            };
            out.text(4, name);
            for id in ids.into_iter().flatten() {
                out.string(5, id.as_str());
            }
        }
        Event::SubagentError(event) => {
            out.text(2, event.subagent_run_id.as_str());
            out.text(3, &event.message);
            out.optional(4, event.code.as_ref());
        }
        _ => return Err(Fault::NoField),
    }
    Ok(())
}

/// Open JSON that may be absent; `null` is absence.
fn open<O: Out>(out: &mut O, tag: u32, json: Option<&Value>, level: usize) -> Written {
    json.filter(|json| !json.is_null()).map_or(Ok(()), |json| value(out, tag, json, level))
}

fn metadata<O: Out>(out: &mut O, tag: u32, metadata: Option<&Metadata>, level: usize) -> Written {
    metadata.map_or(Ok(()), |metadata| object(out, tag, metadata, level))
}

fn usage<O: Out>(out: &mut O, tag: u32, usage: Option<&[TokenUsage]>) -> Written {
    usage.unwrap_or_default().iter().try_for_each(|entry| {
        out.message(tag, |out| {
            out.optional(1, entry.provider.as_ref());
            out.optional(2, entry.model.as_ref());
            for (tag, count) in [
                (3, entry.input_tokens),
                (4, entry.output_tokens),
                (5, entry.total_tokens),
                (6, entry.reasoning_tokens),
                (7, entry.cached_input_tokens),
                (8, entry.cache_write_input_tokens),
            ] {
                if let Some(count) = count {
                    out.varint(tag, count);
                }
            }
            Ok(())
        })
    })
}

fn interrupt<O: Out>(out: &mut O, interrupt: &Interrupt) -> Written {
    // The event, its outcome, the list, the interrupt.
    const OPEN: usize = 5;
    out.text(1, interrupt.id.as_str());
    out.text(2, &interrupt.reason);
    out.optional(3, interrupt.message.as_ref());
    out.optional(4, interrupt.tool_call_id.as_ref());
    // Both are objects in JSON and values here.
    if let Some(schema) = &interrupt.response_schema {
        object_value(out, 5, schema, OPEN)?;
    }
    out.optional(6, interrupt.expires_at.as_ref());
    if let Some(metadata) = &interrupt.metadata {
        object_value(out, 7, metadata, OPEN)?;
    }
    out.optional(8, interrupt.subagent_run_id.as_ref());
    Ok(())
}

fn object_value<O: Out>(out: &mut O, tag: u32, members: &agui_core::JsonObject, level: usize) -> Written {
    out.message(tag, |out| object(out, 5, members, level))
}

fn operations<O: Out>(out: &mut O, tag: u32, operations: &[JsonPatchOperation]) -> Written {
    operations.iter().try_for_each(|operation| {
        let number = schema::OPERATIONS.iter().position(|name| *name == operation.op());
        let number = number.ok_or(Fault::NoField)? as u64;
        let extra = match operation {
            JsonPatchOperation::Add(operation) => operation.extra.as_deref(),
            JsonPatchOperation::Remove(operation) => operation.extra.as_deref(),
            JsonPatchOperation::Replace(operation) => operation.extra.as_deref(),
            JsonPatchOperation::Move(operation) => operation.extra.as_deref(),
            JsonPatchOperation::Copy(operation) => operation.extra.as_deref(),
            JsonPatchOperation::Test(operation) => operation.extra.as_deref(),
            _ => None,
        };
        // `from` and `value` travel whatever the operation is; a `from` that is no text has no field.
        let left_over = |name| extra.and_then(|extra| extra.get(name));
        let from = operation.source().map(AsRef::as_ref).or_else(|| left_over("from")?.as_str());
        let json = operation.value().or_else(|| left_over("value"));
        out.message(tag, |out| {
            if number != 0 {
                out.varint(1, number);
            }
            out.text(2, operation.path().as_str());
            out.optional(3, from.as_ref());
            // The event, the list, the operation.
            json.map_or(Ok(()), |json| value(out, 4, json, 4))
        })
    })
}

/// `level` is that of a message.
fn messages<O: Out>(out: &mut O, tag: u32, messages: &[Message], level: usize) -> Written {
    messages.iter().try_for_each(|entry| out.message(tag, |out| message(out, entry, level)))
}

fn message<O: Out>(out: &mut O, message: &Message, level: usize) -> Written {
    out.text(1, message.id().as_str());
    out.text(2, message.role().as_str());
    let common = |out: &mut O| metadata(out, 9, message.metadata(), level + 1);
    let owner = message.subagent_run_id();
    match message {
        Message::Developer(message) => {
            out.string(3, &message.content);
            out.optional(4, message.name.as_ref());
            common(out)?;
            out.optional(10, owner);
            out.optional(11, message.encrypted_value.as_ref());
        }
        Message::System(message) => {
            out.string(3, &message.content);
            out.optional(4, message.name.as_ref());
            common(out)?;
            out.optional(10, owner);
            out.optional(11, message.encrypted_value.as_ref());
        }
        Message::Assistant(message) => {
            out.optional(3, message.content.as_ref());
            out.optional(4, message.name.as_ref());
            for call in message.tool_calls.iter().flatten() {
                out.message(5, |out| tool_call(out, call, level + 2))?;
            }
            common(out)?;
            out.optional(10, owner);
            out.optional(11, message.encrypted_value.as_ref());
        }
        Message::User(message) => {
            out.optional(3, content_text(&message.content));
            out.optional(4, message.name.as_ref());
            parts(out, 8, &message.content, level + 2)?;
            common(out)?;
            out.optional(10, owner);
            out.optional(11, message.encrypted_value.as_ref());
        }
        Message::Tool(message) => {
            out.optional(3, content_text(&message.content));
            out.string(6, message.tool_call_id.as_str());
            out.optional(7, message.error.as_ref());
            parts(out, 8, &message.content, level + 2)?;
            common(out)?;
            out.optional(10, owner);
            out.optional(11, message.encrypted_value.as_ref());
        }
        Message::Activity(message) => {
            common(out)?;
            out.optional(10, owner);
            out.string(12, &message.activity_type);
            object(out, 13, &message.content, level + 1)?;
        }
        Message::Reasoning(message) => {
            out.string(3, &message.content);
            common(out)?;
            out.optional(10, owner);
            out.optional(11, message.encrypted_value.as_ref());
        }
        _ => return Err(Fault::NoField),
    }
    Ok(())
}

/// `level` is that of the call.
fn tool_call<O: Out>(out: &mut O, call: &ToolCall, level: usize) -> Written {
    out.text(1, call.id.as_str());
    out.text(2, "function");
    out.message(3, |out| {
        out.text(1, &call.function.name);
        out.text(2, &call.function.arguments);
        Ok(())
    })?;
    metadata(out, 4, call.metadata.as_ref(), level + 1)?;
    out.optional(5, call.encrypted_value.as_ref());
    Ok(())
}

const fn content_text(content: &Content) -> Option<&String> {
    match content {
        Content::Text(text) => Some(text),
        Content::Parts(_) => None,
    }
}

/// `level` is that of a part.
fn parts<O: Out>(out: &mut O, tag: u32, content: &Content, level: usize) -> Written {
    content.parts().iter().try_for_each(|part| out.message(tag, |out| self::part(out, part, level)))
}

fn part<O: Out>(out: &mut O, part: &ContentPart, level: usize) -> Written {
    let (arm, source, id, metadata) = match part {
        ContentPart::Text(part) => {
            return out.message(1, |out| {
                out.text(1, &part.text);
                out.optional(2, part.id.as_ref());
                open(out, 3, part.metadata.as_ref(), level + 1)
            });
        }
        ContentPart::Image(part) => (2, &part.source, &part.id, &part.metadata),
        ContentPart::Audio(part) => (3, &part.source, &part.id, &part.metadata),
        ContentPart::Video(part) => (4, &part.source, &part.id, &part.metadata),
        ContentPart::Document(part) => (5, &part.source, &part.id, &part.metadata),
        _ => return Err(Fault::NoField),
    };
    out.message(arm, |out| {
        out.message(1, |out| self::source(out, source))?;
        open(out, 2, metadata.as_ref(), level + 1)?;
        out.optional(3, id.as_ref());
        Ok(())
    })
}

fn source<O: Out>(out: &mut O, source: &PartSource) -> Written {
    match source {
        PartSource::Data(source) => out.message(1, |out| {
            out.text(1, &source.value);
            out.text(2, &source.mime_type);
            Ok(())
        }),
        PartSource::Url(source) => out.message(2, |out| {
            out.text(1, &source.value);
            out.optional(2, source.mime_type.as_ref());
            Ok(())
        }),
        PartSource::File(source) => out.message(3, |out| {
            out.text(1, &source.value);
            out.optional(2, source.provider.as_ref());
            out.optional(3, source.mime_type.as_ref());
            Ok(())
        }),
        _ => Err(Fault::NoField),
    }
}

fn run_input<O: Out>(out: &mut O, input: &RunAgentInput) -> Written {
    // The event and the input.
    const OPEN: usize = 3;
    out.text(1, input.thread_id.as_str());
    out.text(2, input.run_id.as_str());
    out.optional(3, input.parent_run_id.as_ref());
    open(out, 4, input.state.as_ref(), OPEN)?;
    messages(out, 5, &input.messages, OPEN + 1)?;
    for tool in input.tools() {
        out.message(6, |out| {
            out.text(1, &tool.name);
            out.text(2, &tool.description);
            open(out, 3, tool.parameters.as_ref(), OPEN + 2)?;
            metadata(out, 4, tool.metadata.as_ref(), OPEN + 2)
        })?;
    }
    for context in input.context() {
        out.message(7, |out| {
            out.text(1, &context.description);
            out.text(2, &context.value);
            Ok(())
        })?;
    }
    open(out, 8, input.forwarded_props.as_ref(), OPEN)?;
    for entry in input.resume() {
        out.message(9, |out| {
            out.text(1, entry.interrupt_id.as_str());
            out.text(2, entry.status.as_str());
            open(out, 3, entry.payload.as_ref(), OPEN + 2)?;
            metadata(out, 4, entry.metadata.as_ref(), OPEN + 2)
        })?;
    }
    out.optional(10, input.protocol_version.as_ref());
    Ok(())
}
