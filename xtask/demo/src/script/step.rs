//! One step of a script, read.
//!
//! The member that names the step decides what it is; there is exactly one such member. What a step gives must have
//! the right shape, and an optional member is never `null`. Members that the step does not know are not looked at.

use std::borrow::Cow;
use std::time::Duration;

use agui_core::producer::{RunEnd, RunError, SubagentStart};
use agui_core::{
    ActivityDeltaEvent, ActivitySnapshotEvent, Content, Event, InterruptId, Interrupts, JsonObject,
    JsonPatchOperation, JsonPointer, Message, MessageId, RunFinishedInterruptOutcome, RunFinishedOutcome,
    SubagentRunId, TextMessageRole, TokenUsage, ToolCallId, patch,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::Value;

use super::stats::Ending;

/// A step, ready to be done.
pub(super) enum Step<'s> {
    Text(Speech),
    Flood(Flood),
    Reasoning(Reasoning),
    ToolCall(ToolCall),
    /// An event that needs nothing but to be attributed and sent.
    Show(Event),
    /// An activity's snapshot, whose id may have to be made.
    Activity(ActivitySnapshot),
    Named(Named<'s>),
    Subagent(Subagent<'s>),
    Finish(RunEnd, Ending),
    Error(RunError),
    Panic(String),
    Sleep(Duration),
    Event {
        event: Event,
        unchecked: bool,
    },
    Track(String),
    Stats(String),
    InputEcho,
}

/// A text message.
pub(super) struct Speech {
    pub(super) id: Option<MessageId>,
    pub(super) role: TextMessageRole,
    pub(super) name: Option<String>,
    pub(super) deltas: Vec<String>,
    pub(super) gap: Option<Duration>,
}

/// Many deltas of one size.
pub(super) struct Flood {
    pub(super) id: Option<MessageId>,
    pub(super) count: u64,
    pub(super) bytes: usize,
}

#[derive(Deserialize)]
pub(super) struct Reasoning {
    #[serde(rename = "reasoning")]
    pub(super) deltas: OneOrMany,
    #[serde(default, deserialize_with = "present")]
    pub(super) encrypted: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) id: Option<MessageId>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A tool call with its arguments and, where it has one, its result.
pub(super) struct ToolCall {
    pub(super) id: Option<ToolCallId>,
    pub(super) name: String,
    pub(super) parent_message_id: Option<MessageId>,
    pub(super) args: Vec<String>,
    pub(super) result: Option<Content>,
}

/// An activity as a whole.
pub(super) struct ActivitySnapshot {
    pub(super) id: Option<MessageId>,
    pub(super) event: ActivitySnapshotEvent,
}

/// A named stretch of the run.
pub(super) struct Named<'s> {
    pub(super) name: String,
    pub(super) steps: &'s [Value],
}

/// A subagent and how it ends.
pub(super) struct Subagent<'s> {
    pub(super) start: SubagentStart,
    pub(super) id: Option<SubagentRunId>,
    pub(super) steps: &'s [Value],
    pub(super) end: SubagentEnd,
}

/// How a subagent ends.
#[derive(Deserialize)]
pub(super) struct SubagentEnd {
    #[serde(default, deserialize_with = "not_null")]
    pub(super) result: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub(super) suspend: Option<Vec<InterruptId>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) error: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) code: Option<String>,
}

/// The most a delta of a flood may take, in bytes: beyond any limit on one event, and still no danger to the process.
const MAX_FLOOD_BYTES: u64 = 64 * 1024 * 1024;

/// The members that name a step.
const KEYS: [&str; 23] = [
    "text",
    "deltas",
    "flood",
    "reasoning",
    "toolCall",
    "state",
    "stateSnapshot",
    "messagesSnapshot",
    "activity",
    "custom",
    "raw",
    "step",
    "subagent",
    "finish",
    "interrupt",
    "cancel",
    "error",
    "panic",
    "sleepMs",
    "event",
    "track",
    "stats",
    "inputEcho",
];

/// Why a member's value cannot be taken.
enum Wrong {
    /// It has not the shape of what it names. How it differs is in the parser's words, which are not for the client.
    Shape,
    Because(Cow<'static, str>),
}

impl From<serde_json::Error> for Wrong {
    fn from(_: serde_json::Error) -> Self {
        Self::Shape
    }
}

impl From<&'static str> for Wrong {
    fn from(why: &'static str) -> Self {
        Self::Because(why.into())
    }
}

impl<'s> Step<'s> {
    /// Reads one step.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence that begins with the step's name.
    pub(super) fn read(step: &'s Value) -> Result<Self, String> {
        let Some(members) = step.as_object() else { return Err("is not an object".to_owned()) };
        let mut named = members.keys().filter(|key| KEYS.contains(&key.as_str()));
        let Some(key) = named.next() else { return Err("does not say what to do".to_owned()) };
        if let Some(second) = named.next() {
            return Err(format!("says both `{key}` and `{second}`"));
        }
        Self::read_as(key, step, &members[key]).map_err(|wrong| match wrong {
            Wrong::Shape => format!("(`{key}`) has the wrong shape"),
            Wrong::Because(why) => format!("(`{key}`) has the wrong shape: {why}"),
        })
    }

    /// Reads a step by the member that names it. `whole` is the step, `value` that member's value.
    fn read_as(key: &str, whole: &'s Value, value: &'s Value) -> Result<Self, Wrong> {
        Ok(match key {
            "text" | "deltas" => Self::Text(read_speech(whole)?),
            "flood" => Self::Flood(read_flood(whole)?),
            "reasoning" => Self::Reasoning(Reasoning::deserialize(whole)?),
            "toolCall" => Self::ToolCall(read_tool_call(value)?),
            "state" => Self::Show(agui_core::StateDeltaEvent::new(read_state(value)?).into()),
            "stateSnapshot" => Self::Show(agui_core::StateSnapshotEvent::new(value.clone()).into()),
            "messagesSnapshot" => {
                let messages = Vec::<Message>::deserialize(value)?;
                Self::Show(agui_core::MessagesSnapshotEvent::new(messages).into())
            }
            "activity" => read_activity(value)?,
            "custom" => Self::Show(read_custom(value)?),
            "raw" => Self::Show(read_raw(whole)?),
            "step" => Self::Named(read_named(value)?),
            "subagent" => Self::Subagent(read_subagent(value)?),
            "finish" => read_finish(value)?,
            "interrupt" => {
                let interrupts = Interrupts::deserialize(value)?;
                Self::Finish(
                    RunEnd::with_outcome(RunFinishedInterruptOutcome::new(interrupts)),
                    Ending::Completed,
                )
            }
            "cancel" => {
                only_true(value)?;
                Self::Finish(RunEnd::cancelled(), Ending::Cancelled)
            }
            "error" => {
                let PublicError { error, code } = PublicError::deserialize(whole)?;
                let error = RunError::public(error);
                Self::Error(match code {
                    Some(code) => error.with_code(code),
                    None => error,
                })
            }
            "panic" => Self::Panic(String::deserialize(value)?),
            "sleepMs" => Self::Sleep(Duration::from_millis(whole_number(value)?)),
            "event" => {
                let unchecked = match whole.get("unchecked") {
                    None => false,
                    Some(value) => bool::deserialize(value)?,
                };
                Self::Event { event: Event::deserialize(value)?, unchecked }
            }
            "track" => Self::Track(String::deserialize(value)?),
            "stats" => Self::Stats(String::deserialize(value)?),
            _ => {
                only_true(value)?;
                Self::InputEcho
            }
        })
    }
}

#[derive(Deserialize)]
struct PublicError {
    error: String,
    #[serde(default, deserialize_with = "present")]
    code: Option<String>,
}

fn read_speech(step: &Value) -> Result<Speech, Wrong> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        #[serde(default, deserialize_with = "present")]
        text: Option<String>,
        #[serde(default)]
        deltas: Vec<String>,
        #[serde(default, deserialize_with = "milliseconds")]
        gap_ms: Option<Duration>,
        #[serde(default, deserialize_with = "present")]
        id: Option<MessageId>,
        #[serde(default, deserialize_with = "present")]
        role: Option<TextMessageRole>,
        #[serde(default, deserialize_with = "present")]
        name: Option<String>,
    }
    let raw: Raw = object(step)?;
    Ok(Speech {
        id: raw.id,
        role: raw.role.unwrap_or(TextMessageRole::Assistant),
        name: raw.name,
        deltas: raw.text.map_or(raw.deltas, |text| vec![text]),
        gap: raw.gap_ms,
    })
}

fn read_flood(step: &Value) -> Result<Flood, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        flood: Value,
        #[serde(default, deserialize_with = "present")]
        id: Option<MessageId>,
    }
    #[derive(Deserialize)]
    struct Size {
        count: Value,
        bytes: Value,
    }
    let raw: Raw = object(step)?;
    let flood: Size = object(&raw.flood)?;
    let bytes = whole_number(&flood.bytes)?;
    match usize::try_from(bytes) {
        Ok(size) if bytes <= MAX_FLOOD_BYTES => {
            Ok(Flood { id: raw.id, count: whole_number(&flood.count)?, bytes: size })
        }
        _ => Err(Wrong::Because(format!("a delta has at most {MAX_FLOOD_BYTES} bytes").into())),
    }
}

fn read_named(value: &Value) -> Result<Named<'_>, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        name: String,
    }
    let Raw { name } = object(value)?;
    Ok(Named { name, steps: inner_steps(value)? })
}

fn read_subagent(value: &Value) -> Result<Subagent<'_>, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        name: String,
        #[serde(default, deserialize_with = "present")]
        description: Option<String>,
        #[serde(default, deserialize_with = "present")]
        id: Option<SubagentRunId>,
    }
    let Raw { name, description, id } = object(value)?;
    let mut start = SubagentStart::new(name);
    if let Some(description) = description {
        start = start.with_description(description);
    }
    Ok(Subagent { start, id, steps: inner_steps(value)?, end: object(value)? })
}

/// The steps inside a step. They stay where they are: a copy at each level would hold the innermost as often as there
/// are levels around it.
fn inner_steps(value: &Value) -> Result<&[Value], Wrong> {
    match value.get("do") {
        None => Ok(&[]),
        Some(Value::Array(steps)) => Ok(steps),
        Some(_) => Err("`do` is not a list".into()),
    }
}

fn read_tool_call(value: &Value) -> Result<ToolCall, Wrong> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        name: String,
        #[serde(default, deserialize_with = "present")]
        args: Option<Value>,
        #[serde(default, deserialize_with = "present")]
        args_deltas: Option<Vec<String>>,
        #[serde(default, deserialize_with = "present")]
        id: Option<ToolCallId>,
        #[serde(default, deserialize_with = "present")]
        parent_message_id: Option<MessageId>,
        #[serde(default, deserialize_with = "present")]
        result: Option<Value>,
    }
    let raw: Raw = object(value)?;
    let args = match (raw.args_deltas, raw.args) {
        (Some(deltas), _) => deltas,
        (None, Some(args)) => vec![args.to_string()],
        (None, None) => vec!["{}".to_owned()],
    };
    let result = match raw.result {
        None => None,
        Some(content @ (Value::String(_) | Value::Array(_))) => Some(Content::deserialize(content)?),
        Some(other) => Some(Content::Text(other.to_string())),
    };
    Ok(ToolCall { id: raw.id, name: raw.name, parent_message_id: raw.parent_message_id, args, result })
}

fn read_state(value: &Value) -> Result<Vec<JsonPatchOperation>, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        #[serde(default, deserialize_with = "present")]
        set: Option<(JsonPointer, Value)>,
        #[serde(default, deserialize_with = "present")]
        patch: Option<Vec<JsonPatchOperation>>,
    }
    match object(value)? {
        Raw { set: Some((path, value)), patch: None } => {
            Ok(vec![JsonPatchOperation::Add(patch::AddOperation::new(path, value))])
        }
        Raw { set: None, patch: Some(operations) } => Ok(operations),
        _ => Err("either `set` or `patch` is needed".into()),
    }
}

fn read_activity(value: &Value) -> Result<Step<'static>, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        r#type: String,
        #[serde(default, deserialize_with = "present")]
        id: Option<MessageId>,
        #[serde(default, deserialize_with = "present")]
        content: Option<JsonObject>,
        #[serde(default, deserialize_with = "present")]
        replace: Option<bool>,
        #[serde(default, deserialize_with = "present")]
        patch: Option<Vec<JsonPatchOperation>>,
    }
    match object(value)? {
        Raw { r#type, id, content: Some(content), replace, patch: None } => {
            let mut event = ActivitySnapshotEvent::new("", r#type, content);
            event.replace = replace;
            Ok(Step::Activity(ActivitySnapshot { id, event }))
        }
        Raw { r#type, id: Some(id), content: None, patch: Some(patch), .. } => {
            Ok(Step::Show(ActivityDeltaEvent::new(id, r#type, patch).into()))
        }
        _ => Err("either `content` is needed, or `patch` and `id`".into()),
    }
}

fn read_custom(value: &Value) -> Result<Event, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        name: String,
        #[serde(default)]
        value: Value,
    }
    let Raw { name, value } = object(value)?;
    Ok(agui_core::CustomEvent::new(name, value).into())
}

fn read_raw(step: &Value) -> Result<Event, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        raw: Value,
        #[serde(default, deserialize_with = "present")]
        source: Option<String>,
    }
    let Raw { raw, source } = object(step)?;
    let mut event = agui_core::RawEvent::new(raw);
    event.source = source;
    Ok(event.into())
}

fn read_finish(value: &Value) -> Result<Step<'static>, Wrong> {
    #[derive(Deserialize)]
    struct Raw {
        #[serde(default, deserialize_with = "not_null")]
        result: Option<Value>,
        #[serde(default, deserialize_with = "present")]
        usage: Option<Vec<TokenUsage>>,
        #[serde(default, deserialize_with = "present")]
        outcome: Option<RunFinishedOutcome>,
    }
    let raw: Raw = object(value)?;
    let ending = match raw.outcome {
        Some(RunFinishedOutcome::Cancelled(_)) => Ending::Cancelled,
        _ => Ending::Completed,
    };
    let mut end = raw.outcome.map_or_else(RunEnd::success, RunEnd::with_outcome);
    if let Some(result) = raw.result {
        end = end.with_result(result);
    }
    Ok(Step::Finish(end.with_usage(raw.usage.unwrap_or_default()), ending))
}

/// Reads an object: a derived reading alone takes a list of the members as well.
fn object<T: DeserializeOwned>(value: &Value) -> Result<T, Wrong> {
    if value.is_object() { Ok(T::deserialize(value)?) } else { Err("an object is needed".into()) }
}

/// Reads an optional member that is there: a `null` has to be a value of the type itself.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads an optional member that takes any JSON but `null`.
fn not_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Err(D::Error::custom("null is not allowed here")),
        value => Ok(Some(value)),
    }
}

fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let milliseconds = whole_number(&value).map_err(|_| D::Error::custom("a whole number is needed"))?;
    Ok(Some(Duration::from_millis(milliseconds)))
}

/// Reads a whole number that is not negative, also one that is written with a zero fraction.
fn whole_number(value: &Value) -> Result<u64, Wrong> {
    if let Some(number) = value.as_u64() {
        return Ok(number);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be integral and in range"
    )]
    value
        .as_f64()
        .filter(|number| number.fract() == 0.0 && (0.0..9e15).contains(number))
        .map(|number| number as u64)
        .ok_or(Wrong::Because(Cow::Borrowed("a whole number is needed")))
}

fn only_true(value: &Value) -> Result<(), Wrong> {
    if *value == Value::Bool(true) { Ok(()) } else { Err("only `true` is known".into()) }
}
