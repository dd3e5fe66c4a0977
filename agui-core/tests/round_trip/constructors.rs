//! What the constructors build: exactly the required members, nothing else, no null.

use agui_core::*;
use agui_schema::{Definition, Validator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::sample::{members, required};

/// Checks one value and returns the definition it was checked for.
fn minimal<T: Serialize>(name: &'static str, value: &T) -> &'static str {
    let written = serde_json::to_value(value).unwrap();
    let definition: Definition = name.parse().unwrap();
    if let Err(violations) = Validator::shared().definition(definition, &written) {
        panic!("{name}: {written}: {violations}");
    }
    let mut found: Vec<String> = written.as_object().unwrap().keys().cloned().collect();
    let mut expected = required(name);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{name}");
    assert!(!has_null(&written), "{name}: {written}");
    name
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

macro_rules! built {
    ($( $Name:ident ( $($argument:expr),* ) )+) => { [$( minimal(stringify!($Name), &$Name::new($($argument),*)) ),+] };
}

#[test]
fn a_minimal_value_writes_exactly_the_required_members() {
    use agui_core::patch::{
        AddOperation, CopyOperation, JsonPointer, MoveOperation, RemoveOperation, ReplaceOperation,
        TestOperation,
    };
    let pointer = || "/a".parse::<JsonPointer>().unwrap();
    let mut built: Vec<&str> = built![
        TextMessageStartEvent("m") TextMessageContentEvent("m", "x") TextMessageEndEvent("m") TextMessageChunkEvent()
        ToolCallStartEvent("c", "f") ToolCallArgsEvent("c", "x") ToolCallEndEvent("c") ToolCallChunkEvent()
        ToolCallResultEvent("m", "c", "x") StateSnapshotEvent(json!({})) StateDeltaEvent([])
        MessagesSnapshotEvent([]) ActivitySnapshotEvent("m", "plan", JsonObject::new())
        ActivityDeltaEvent("m", "plan", []) RawEvent(json!(1)) CustomEvent("n", json!(1)) RunStartedEvent("t", "r")
        RunFinishedEvent("t", "r") RunErrorEvent("x") StepStartedEvent("s") StepFinishedEvent("s")
        ReasoningStartEvent("m") ReasoningMessageStartEvent("m") ReasoningMessageContentEvent("m", "x")
        ReasoningMessageEndEvent("m") ReasoningMessageChunkEvent() ReasoningEndEvent("m")
        ReasoningEncryptedValueEvent(ReasoningEncryptedValueSubtype::Message, "m", "x") SubagentStartedEvent("s", "n")
        SubagentFinishedEvent("s") SubagentErrorEvent("s", "x") RunFinishedSuccessOutcome()
        RunFinishedInterruptOutcome(Interrupt::new("i", "confirm")) RunFinishedCancelledOutcome()
        SubagentFinishedSuccessOutcome() SubagentFinishedSuspendedOutcome() Interrupt("i", "confirm")
        ResumeEntry("i", ResumeStatus::Resolved) TokenUsage() DeveloperMessage("m", "x") SystemMessage("m", "x")
        AssistantMessage("m") UserMessage("m", "x") ToolMessage("m", "c", "x")
        ActivityMessage("m", "plan", JsonObject::new()) ReasoningMessage("m", "x")
        ToolCall("c", FunctionCall::new("f", "")) FunctionCall("f", "{}") TextPart("x")
        ImagePart(UrlSource::new("u")) AudioPart(UrlSource::new("u")) VideoPart(FileSource::new("f"))
        DocumentPart(DataSource::new("aGk=", "text/plain")) DataSource("aGk=", "image/png") UrlSource("u")
        FileSource("f") Context("d", "v") Tool("n", "d") RunAgentInput("t", "r", []) SubagentInfo("n")
        IdentityCapabilities() TransportCapabilities() ToolsCapabilities() OutputCapabilities() StateCapabilities()
        MultiAgentCapabilities() ReasoningCapabilities() MultimodalInputCapabilities() MultimodalOutputCapabilities()
        MultimodalCapabilities() ExecutionCapabilities() HumanInTheLoopCapabilities() AgentCapabilities()
        AddOperation(pointer(), json!(1)) RemoveOperation(pointer()) ReplaceOperation(pointer(), json!(1))
        MoveOperation(pointer(), pointer()) CopyOperation(pointer(), pointer()) TestOperation(pointer(), json!(1))
    ]
    .to_vec();
    built.sort_unstable();
    let described: Vec<&str> = Definition::all()
        .map(Definition::as_str)
        .filter(|name| members(name).is_some() && !crate::ABSTRACT.contains(name))
        .collect();
    assert_eq!(built, described, "a definition is not built here");
}

#[test]
fn data_may_be_null_where_the_schema_takes_any_json() {
    for (event, member) in [
        (Event::from(CustomEvent::new("n", Value::Null)), "value"),
        (RawEvent::new(Value::Null).into(), "event"),
        (StateSnapshotEvent::new(Value::Null).into(), "snapshot"),
    ] {
        let written = serde_json::to_value(&event).unwrap();
        assert_eq!(written.get(member), Some(&Value::Null));
        agui_schema::assert_valid_event!(&event);
    }
}

/// `Option<Value>` could hold a null; it never leaves, whichever way it got in.
#[test]
fn a_null_in_an_optional_member_is_never_written() {
    let mut finished = RunFinishedEvent::new("t", "r").with_result(Value::Null);
    assert_eq!(finished.result, None);
    finished.result = Some(Value::Null);
    assert_eq!(
        serde_json::to_value(&finished).unwrap(),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    );

    let mut event = Event::from(TextMessageEndEvent::new("m").with_raw_event(Value::Null));
    event.set_raw_event(Some(Value::Null));
    assert_eq!(serde_json::to_value(&event).unwrap(), json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}));

    let input = RunAgentInput::new("t", "r", []).with_state(Value::Null).with_forwarded_props(Value::Null);
    assert_eq!(serde_json::to_value(&input).unwrap(), json!({"threadId": "t", "runId": "r", "messages": []}));
}

/// The common members of every event, through the accessors that do not ask what kind it is.
#[test]
fn every_event_takes_the_common_members() {
    for sample in crate::sample::samples("Event") {
        let mut event: Event = serde_json::from_value(sample.clone()).unwrap();
        let owned = event.set_subagent_run_id(Some("red".into()));
        event.set_timestamp(Some(-1));
        event.set_metadata(Some(Metadata::new().with("k", Value::Null)));
        event.set_raw_event(Some(json!({"a": null})));
        let written = serde_json::to_value(&event).unwrap();
        agui_schema::assert_valid_event!(&event);
        assert_eq!(written["timestamp"], -1);
        assert_eq!(written["metadata"], json!({"k": null}));
        assert_eq!(written["rawEvent"], json!({"a": null}));
        let definition = Definition::all().map(Definition::as_str).find(|name| {
            members(name)
                .is_some_and(|members| members.get("type").is_some_and(|tag| tag["const"] == sample["type"]))
        });
        let described = members(definition.unwrap()).unwrap();
        let attributable = described.contains_key("subagentRunId");
        let required = required(definition.unwrap()).contains(&"subagentRunId".to_owned());
        assert_eq!(owned, attributable && !required, "{written}");
        assert_eq!(written.get("subagentRunId").is_some(), attributable, "{written}");
    }
}
