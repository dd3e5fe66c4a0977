//! The short way: payloads in which nothing is unusual become events without a tree.
//!
//! It never judges. Whatever is out of the ordinary (bytes that are not well-formed, a role of a later version, an
//! outcome with interrupts) is left to the long way, which gives the verdict; what comes out here is what that way and
//! enforcement would make of the same bytes.

use agui_core::{
    ActivityDeltaEvent, ActivitySnapshotEvent, Content, CustomEvent, Event, EventType, JsonPatchOperation,
    JsonPointer, Message, MessagesSnapshotEvent, Metadata, RawEvent, ReasoningEncryptedValueEvent,
    ReasoningEncryptedValueSubtype, ReasoningEndEvent, ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent, ReasoningMessageEndEvent, ReasoningMessageStartEvent, ReasoningStartEvent,
    RunAgentInput, RunErrorEvent, RunFinishedCancelledOutcome, RunFinishedEvent, RunFinishedSuccessOutcome,
    RunStartedEvent, StateDeltaEvent, StateSnapshotEvent, StepFinishedEvent, StepStartedEvent,
    SubagentErrorEvent, SubagentFinishedEvent, SubagentFinishedSuccessOutcome, SubagentStartedEvent,
    TextMessageChunkEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageRole,
    TextMessageStartEvent, ToolCallArgsEvent, ToolCallChunkEvent, ToolCallEndEvent, ToolCallResultEvent,
    ToolCallStartEvent, ToolRole,
};
use serde_json::{Map, Value};

use super::budget::Budget;
use super::input::run_input;
use super::messages::message;
use super::reader::Reader;
use super::schema::{self, EventFields, Item, Kind};
use super::value::{merge_object, merge_value};

/// The highest field number of an event.
const FIELDS: usize = 9;

/// What is written of one event.
#[derive(Default)]
struct Fields<'a> {
    texts: [Option<&'a str>; FIELDS],
    open: Option<Value>,
    flag: Option<bool>,
    nested: Nested,
    timestamp: Option<i64>,
    raw_event: Option<Value>,
    metadata: Option<Metadata>,
}

/// The messages inside an event. No event has two kinds of them, and a short event should not pay for each.
#[derive(Default)]
enum Nested {
    #[default]
    Nothing,
    Operations(Vec<JsonPatchOperation>),
    Messages(Vec<Message>),
    Input(Box<RunAgentInput>),
}

/// The event, if nothing about it is unusual.
pub(super) fn event(payload: &[u8]) -> Option<Event> {
    let mut reader = Reader::new(payload);
    let arm = reader.next().ok()??;
    if reader.len() > 0 {
        return None;
    }
    let known = schema::by_arm(arm.tag)?;
    let mut budget = Budget::of(payload);
    let mut fields = read(known, arm.message().ok()?, &mut budget)?;
    let mut event = build(known.event_type, &mut fields)?;
    if let Some(timestamp) = fields.timestamp {
        event.set_timestamp(Some(timestamp));
    }
    if fields.metadata.is_some() {
        event.set_metadata(fields.metadata);
    }
    if fields.raw_event.is_some() {
        event.set_raw_event(fields.raw_event);
    }
    Some(event)
}

fn read<'a>(event: &'static EventFields, mut reader: Reader<'a>, budget: &mut Budget) -> Option<Fields<'a>> {
    // The event and its base, which the long way counts each.
    budget.object()?;
    budget.object()?;
    let mut fields = Fields::default();
    let mut base = None;
    while let Some(field) = reader.next().ok()? {
        if field.tag == 1 {
            if base.replace(field.message().ok()?).is_some() {
                return None;
            }
            continue;
        }
        // An event's fields are numbered from 2 without a gap.
        let position = usize::try_from(field.tag).ok()?.checked_sub(2)?;
        match event.fields.get(position)?.kind {
            Kind::Text | Kind::Optional | Kind::ContentText | Kind::Outcome => {
                *fields.texts.get_mut(position + 2)? = Some(field.text().ok()?);
            }
            Kind::Value | Kind::Nullable => merge_value(&mut fields.open, field.message().ok()?, 2).ok()?,
            Kind::Struct => {
                let mut object = Map::new();
                merge_object(&mut object, field.message().ok()?, 2).ok()?;
                if fields.open.replace(object.into()).is_some() {
                    return None;
                }
            }
            Kind::List(Item::Of(of), _) if std::ptr::eq(of, schema::OPERATION) => {
                budget.object()?;
                let operation = operation(field.message().ok()?)?;
                match &mut fields.nested {
                    Nested::Operations(operations) => operations.push(operation),
                    nested => *nested = Nested::Operations(vec![operation]),
                }
            }
            Kind::List(Item::Message, _) => {
                // The event, the list, the message.
                let message = message(field.message().ok()?, 3, budget)?;
                match &mut fields.nested {
                    Nested::Messages(messages) => messages.push(message),
                    nested => *nested = Nested::Messages(vec![message]),
                }
            }
            Kind::Message(of) if std::ptr::eq(of, schema::RUN_AGENT_INPUT) => {
                // The event, the input.
                let input = run_input(field.message().ok()?, 2, budget)?;
                if !matches!(fields.nested, Nested::Nothing) {
                    return None;
                }
                fields.nested = Nested::Input(Box::new(input));
            }
            Kind::Bool => fields.flag = Some(field.varint().ok()? != 0),
            _ => return None,
        }
    }
    base_event(event, base?, &mut fields)?;
    Some(fields)
}

/// A patch operation that has what its kind needs and nothing else.
fn operation(mut reader: Reader<'_>) -> Option<JsonPatchOperation> {
    let (mut number, mut path, mut from, mut value) = (0, "", None, None);
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => number = field.number().ok()?,
            2 => path = field.text().ok()?,
            3 => from = Some(field.text().ok()?),
            // The event, the list, the operation.
            4 => merge_value(&mut value, field.message().ok()?, 4).ok()?,
            _ => return None,
        }
    }
    let path = path.parse::<JsonPointer>().ok()?;
    let name = *schema::OPERATIONS.get(usize::try_from(number).ok()?)?;
    Some(match (name, from, value) {
        ("add", None, Some(value)) => JsonPatchOperation::add(path, value),
        ("remove", None, None) => JsonPatchOperation::remove(path),
        ("replace", None, Some(value)) => JsonPatchOperation::replace(path, value),
        ("move", Some(from), None) => JsonPatchOperation::move_(from.parse().ok()?, path),
        ("copy", Some(from), None) => JsonPatchOperation::copy(from.parse().ok()?, path),
        ("test", None, Some(value)) => JsonPatchOperation::test(path, value),
        _ => return None,
    })
}

fn base_event(event: &EventFields, mut base: Reader<'_>, fields: &mut Fields<'_>) -> Option<()> {
    let mut number = 0;
    while let Some(field) = base.next().ok()? {
        match field.tag {
            1 => number = field.number().ok()?,
            2 => fields.timestamp = Some(field.integer().ok()?),
            3 => merge_value(&mut fields.raw_event, field.message().ok()?, 2).ok()?,
            4 => {
                let object = fields.metadata.get_or_insert_default();
                merge_object(object, field.message().ok()?, 2).ok()?;
            }
            _ => return None,
        }
    }
    // A null here is a shape of older peers, which the compatibility boundary reads.
    (number == event.number && fields.raw_event.as_ref().is_none_or(|raw| !raw.is_null())).then_some(())
}

/// Sets optional members from texts.
macro_rules! with {
    ($event:expr, $fields:ident, $( $member:ident $tag:literal ),*) => {{
        let mut event = $event;
        $( event.$member = $fields.optional($tag).map(Into::into); )*
        Some(event.into())
    }};
}

#[expect(clippy::too_many_lines, reason = "one arm for each event that has a short way")]
#[inline]
fn build(event_type: EventType, fields: &mut Fields<'_>) -> Option<Event> {
    let f = fields;
    match event_type {
        EventType::TextMessageStart => {
            let mut event = TextMessageStartEvent::new(f.text(2));
            event.role = f.role(3)?;
            with!(event, f, name 4, subagent_run_id 5)
        }
        EventType::TextMessageContent => {
            with!(TextMessageContentEvent::new(f.text(2), f.text(3)), f, subagent_run_id 4)
        }
        EventType::TextMessageEnd => with!(TextMessageEndEvent::new(f.text(2)), f, subagent_run_id 3),
        EventType::TextMessageChunk => {
            let mut event = TextMessageChunkEvent::new();
            event.role = f.role(3)?;
            with!(event, f, message_id 2, delta 4, name 5, subagent_run_id 6)
        }
        EventType::ToolCallStart => {
            with!(ToolCallStartEvent::new(f.text(2), f.text(3)), f, parent_message_id 4, subagent_run_id 5)
        }
        EventType::ToolCallArgs => {
            with!(ToolCallArgsEvent::new(f.text(2), f.text(3)), f, subagent_run_id 4)
        }
        EventType::ToolCallEnd => with!(ToolCallEndEvent::new(f.text(2)), f, subagent_run_id 3),
        EventType::ToolCallChunk => with!(
            ToolCallChunkEvent::new(), f,
            tool_call_id 2, tool_call_name 3, parent_message_id 4, delta 5, subagent_run_id 6
        ),
        EventType::ToolCallResult => {
            let content = Content::Text(f.optional(5)?.to_owned());
            let mut event = ToolCallResultEvent::new(f.text(3), f.text(4), content);
            event.role = match f.optional(6) {
                None => None,
                Some(role) => Some(ToolRole::from_wire(role)?),
            };
            with!(event, f, subagent_run_id 2)
        }
        EventType::StateSnapshot => with!(StateSnapshotEvent::new(f.open.take()?), f, subagent_run_id 3),
        EventType::StateDelta => {
            with!(StateDeltaEvent::new(f.operations()), f, subagent_run_id 3)
        }
        EventType::MessagesSnapshot => Some(MessagesSnapshotEvent::new(f.messages()).into()),
        EventType::ActivityDelta => {
            let patch = f.operations();
            with!(ActivityDeltaEvent::new(f.text(3), f.text(4), patch), f, subagent_run_id 2)
        }
        EventType::ActivitySnapshot => {
            let Value::Object(content) = f.open.take()? else { return None };
            let mut event = ActivitySnapshotEvent::new(f.text(3), f.text(4), content);
            event.replace = f.flag;
            with!(event, f, subagent_run_id 2)
        }
        EventType::Raw => with!(RawEvent::new(f.open.take()?), f, source 3, subagent_run_id 4),
        EventType::Custom => with!(CustomEvent::new(f.text(2), f.open.take()?), f, subagent_run_id 4),
        EventType::RunStarted => {
            let mut event = RunStartedEvent::new(f.text(2), f.text(3));
            event.input = f.input();
            with!(event, f, parent_run_id 4, protocol_version 6)
        }
        EventType::RunFinished => {
            let mut event = RunFinishedEvent::new(f.text(2), f.text(3));
            event.result = f.not_null()?;
            event.outcome = match f.text(5) {
                "" => None,
                "success" => Some(RunFinishedSuccessOutcome::new().into()),
                "cancelled" => Some(RunFinishedCancelledOutcome::new().into()),
                _ => return None,
            };
            Some(event.into())
        }
        EventType::RunError => with!(RunErrorEvent::new(f.text(3)), f, code 2),
        EventType::StepStarted => with!(StepStartedEvent::new(f.text(2)), f, subagent_run_id 3),
        EventType::StepFinished => with!(StepFinishedEvent::new(f.text(2)), f, subagent_run_id 3),
        EventType::ReasoningStart => with!(ReasoningStartEvent::new(f.text(3)), f, subagent_run_id 2),
        EventType::ReasoningMessageStart => {
            if f.text(4) != "reasoning" {
                return None;
            }
            with!(ReasoningMessageStartEvent::new(f.text(3)), f, subagent_run_id 2)
        }
        EventType::ReasoningMessageContent => {
            with!(ReasoningMessageContentEvent::new(f.text(3), f.text(4)), f, subagent_run_id 2)
        }
        EventType::ReasoningMessageEnd => {
            with!(ReasoningMessageEndEvent::new(f.text(3)), f, subagent_run_id 2)
        }
        EventType::ReasoningMessageChunk => {
            with!(ReasoningMessageChunkEvent::new(), f, subagent_run_id 2, message_id 3, delta 4)
        }
        EventType::ReasoningEnd => with!(ReasoningEndEvent::new(f.text(3)), f, subagent_run_id 2),
        EventType::ReasoningEncryptedValue => {
            let subtype = ReasoningEncryptedValueSubtype::from_wire(f.text(3))?;
            let event = ReasoningEncryptedValueEvent::new(subtype, f.text(4), f.text(5));
            with!(event, f, subagent_run_id 2)
        }
        EventType::SubagentStarted => with!(
            SubagentStartedEvent::new(f.text(2), f.text(3)), f,
            description 4, parent_subagent_run_id 5, parent_tool_call_id 6, parent_message_id 7
        ),
        EventType::SubagentFinished => {
            let mut event = SubagentFinishedEvent::new(f.text(2));
            event.result = f.not_null()?;
            event.outcome = match f.text(4) {
                "" => None,
                "success" => Some(SubagentFinishedSuccessOutcome::new().into()),
                _ => return None,
            };
            Some(event.into())
        }
        EventType::SubagentError => with!(SubagentErrorEvent::new(f.text(2), f.text(3)), f, code 4),
        // Whatever a later version adds goes the long way.
        _ => None,
    }
}

impl<'a> Fields<'a> {
    /// A text that is required; `""` if unwritten.
    #[inline]
    fn text(&self, tag: usize) -> &'a str {
        self.optional(tag).unwrap_or_default()
    }

    #[inline]
    fn optional(&self, tag: usize) -> Option<&'a str> {
        self.texts.get(tag).copied().flatten()
    }

    fn operations(&mut self) -> Vec<JsonPatchOperation> {
        match std::mem::take(&mut self.nested) {
            Nested::Operations(operations) => operations,
            _ => Vec::new(),
        }
    }

    fn messages(&mut self) -> Vec<Message> {
        match std::mem::take(&mut self.nested) {
            Nested::Messages(messages) => messages,
            _ => Vec::new(),
        }
    }

    fn input(&mut self) -> Option<Box<RunAgentInput>> {
        match std::mem::take(&mut self.nested) {
            Nested::Input(input) => Some(input),
            _ => None,
        }
    }

    /// A role, if there is one; nothing at all if it is of another version.
    #[expect(clippy::option_option, reason = "unknown is not absent")]
    fn role(&self, tag: usize) -> Option<Option<TextMessageRole>> {
        match self.optional(tag) {
            None => Some(None),
            Some(role) => TextMessageRole::from_wire(role).map(Some),
        }
    }

    /// Open JSON that may be absent; nothing at all if it is null, which is for the compatibility boundary.
    #[expect(clippy::option_option, reason = "null is not absent")]
    fn not_null(&mut self) -> Option<Option<Value>> {
        match self.open.take() {
            Some(Value::Null) => None,
            other => Some(other),
        }
    }
}
