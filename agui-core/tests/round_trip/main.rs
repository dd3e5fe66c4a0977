//! Every definition of the published schema against the Rust type that mirrors it: exact JSON both ways, and the same
//! verdict as the schema on everything next to it.
//!
//! The JSON comes from the schema and not from the types, so a member that a type forgot shows. What the types accept
//! strictly has to be what the schema accepts; tolerance is the business of enforcement.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may panic in its helpers too")]

mod constructors;
mod sample;

use std::collections::BTreeMap;

use agui_core::patch::{
    AddOperation, CopyOperation, JsonPointer, MoveOperation, RemoveOperation, ReplaceOperation, TestOperation,
};
use agui_core::*;
use agui_schema::{Definition, Validator};
use sample::{members, required, samples};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// The type of one definition: reads JSON and writes it again.
#[derive(Clone, Copy)]
struct Reader {
    text: fn(&str) -> Result<String, String>,
    tree: fn(Value) -> Result<String, String>,
}

impl Reader {
    fn of<T: DeserializeOwned + Serialize>() -> Self {
        fn write<T: Serialize>(read: serde_json::Result<T>) -> Result<String, String> {
            read.map(|value| serde_json::to_string(&value).unwrap()).map_err(|error| error.to_string())
        }
        Self {
            text: |text| write(serde_json::from_str::<T>(text)),
            tree: |tree| write(serde_json::from_value::<T>(tree)),
        }
    }

    /// What is written of a value that was read, from text and from a tree alike.
    fn read(self, value: &Value) -> Result<String, String> {
        let (text, tree) = ((self.text)(&value.to_string()), (self.tree)(value.clone()));
        match (text, tree) {
            (Ok(text), Ok(tree)) => {
                assert_eq!(text, tree, "text and tree give two values");
                Ok(text)
            }
            (Err(text), Err(_)) => Err(text),
            (text, tree) => panic!("text and tree disagree on {value}: {text:?}, {tree:?}"),
        }
    }
}

macro_rules! types {
    ($( $Name:ident )+) => { vec![$( (stringify!($Name), Reader::of::<$Name>()) ),+] };
}

/// The type of every definition that describes something that stands in a message. The three that only hold common
/// members (`BaseEvent`, `BaseMessage`, `Attributable`) are parts of the others.
fn types() -> BTreeMap<&'static str, Reader> {
    let mut types = types![
        Event EventType TextMessageStartEvent TextMessageContentEvent TextMessageEndEvent TextMessageChunkEvent
        ToolCallStartEvent ToolCallArgsEvent ToolCallEndEvent ToolCallChunkEvent ToolCallResultEvent
        StateSnapshotEvent StateDeltaEvent MessagesSnapshotEvent ActivitySnapshotEvent ActivityDeltaEvent RawEvent
        CustomEvent RunStartedEvent RunFinishedEvent RunErrorEvent StepStartedEvent StepFinishedEvent
        ReasoningStartEvent ReasoningMessageStartEvent ReasoningMessageContentEvent ReasoningMessageEndEvent
        ReasoningMessageChunkEvent ReasoningEndEvent ReasoningEncryptedValueEvent ReasoningEncryptedValueSubtype
        SubagentStartedEvent SubagentFinishedEvent SubagentErrorEvent
        RunFinishedOutcome RunFinishedSuccessOutcome RunFinishedInterruptOutcome RunFinishedCancelledOutcome
        SubagentFinishedOutcome SubagentFinishedSuccessOutcome SubagentFinishedSuspendedOutcome
        Interrupt ResumeEntry TokenUsage SubagentRunId Metadata TextMessageRole Role
        Message DeveloperMessage SystemMessage AssistantMessage UserMessage ToolMessage ActivityMessage ReasoningMessage
        ToolCall FunctionCall ContentPart TextPart ImagePart AudioPart VideoPart DocumentPart
        PartSource DataSource UrlSource FileSource Context Tool RunAgentInput
        SubagentInfo IdentityCapabilities TransportCapabilities ToolsCapabilities OutputCapabilities StateCapabilities
        MultiAgentCapabilities ReasoningCapabilities MultimodalInputCapabilities MultimodalOutputCapabilities
        MultimodalCapabilities ExecutionCapabilities HumanInTheLoopCapabilities AgentCapabilities
        JsonPatchOperation AddOperation RemoveOperation ReplaceOperation MoveOperation CopyOperation TestOperation
        JsonPointer
    ];
    types.push(("JsonPatch", Reader::of::<Vec<JsonPatchOperation>>()));
    types.push(("State", Reader::of::<Value>()));
    let count = types.len();
    let types = BTreeMap::from_iter(types);
    assert_eq!(types.len(), count, "a type is listed twice");
    types
}

const ABSTRACT: [&str; 3] = ["Attributable", "BaseEvent", "BaseMessage"];

fn definition(name: &str) -> Definition {
    name.parse().unwrap()
}

fn is_valid(name: &str, value: &Value) -> bool {
    Validator::shared().definition(definition(name), value).is_ok()
}

/// Every sample of every definition, minimal ones first.
fn each_sample(mut check: impl FnMut(&str, Reader, &Value)) {
    for (name, reader) in types() {
        for sample in samples(name) {
            check(name, reader, &sample);
        }
    }
}

#[test]
fn every_definition_of_the_schema_has_its_type() {
    let types = types();
    let mut described: Vec<&str> = Definition::all().map(Definition::as_str).collect();
    described.retain(|name| !ABSTRACT.contains(name));
    assert_eq!(described, types.keys().copied().collect::<Vec<_>>());
}

#[test]
fn the_samples_are_valid_and_leave_no_member_out() {
    for name in types().keys() {
        let samples = samples(name);
        for sample in &samples {
            if let Err(violations) = Validator::shared().definition(definition(name), sample) {
                panic!("{name}: {sample}: {violations}");
            }
        }
        let Some(described) = members(name) else { continue };
        let keys = |sample: &Value| sample.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut required = required(name);
        required.sort_unstable();
        assert_eq!(sorted(keys(&samples[0])), required, "{name}: the first sample is the minimal one");
        let full: Vec<String> = described.keys().cloned().collect();
        for sample in &samples[1..] {
            assert_eq!(sorted(keys(sample)), sorted(full.clone()), "{name}: the others are full");
        }
        assert!(samples.len() > 1, "{name} has no full sample");
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names
}

#[test]
fn everything_round_trips_unchanged() {
    let mut seen = 0;
    each_sample(|name, reader, sample| {
        let written = reader.read(sample).unwrap_or_else(|error| panic!("{name}: {sample}: {error}"));
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), *sample, "{name}");
        seen += 1;
    });
    assert!(seen > 200, "{seen} samples");
}

#[test]
fn a_discriminator_is_written_first() {
    each_sample(|name, reader, sample| {
        let Some(described) = members(name) else { return };
        let told_apart_by = ["type", "op", "role"]
            .into_iter()
            .find(|tag| described.get(*tag).is_some_and(|member| member.get("const").is_some()));
        if let Some(tag) = told_apart_by {
            let written = reader.read(sample).unwrap();
            assert!(written.starts_with(&format!(r#"{{"{tag}":"#)), "{name}: {written}");
        }
    });
}

#[test]
fn a_null_in_an_optional_member_is_refused() {
    each_sample(|name, reader, sample| {
        let Some(described) = members(name) else { return };
        for member in described.keys().filter(|member| !required(name).contains(*member)) {
            let mut changed = sample.clone();
            changed[member.as_str()] = Value::Null;
            assert!(reader.read(&changed).is_err(), "{name} takes a null for {member}");
        }
    });
}

#[test]
fn a_missing_required_member_is_refused_by_name() {
    each_sample(|name, reader, sample| {
        for member in required(name) {
            let mut changed = sample.clone();
            changed.as_object_mut().unwrap().remove(&member);
            let error = reader.read(&changed).expect_err(&member);
            assert!(error.contains(&format!("`{member}`")), "{name} without {member}: {error}");
        }
    });
}

#[test]
fn an_unknown_member_is_refused_and_kept_in_a_patch_operation() {
    each_sample(|name, reader, sample| {
        if members(name).is_none() {
            return;
        }
        let mut changed = sample.clone();
        changed["thread_id"] = json!({"deep": [null]});
        let taken = reader.read(&changed);
        assert_eq!(taken.is_ok(), is_valid(name, &changed), "{name}");
        match taken {
            Ok(written) => {
                assert!(name.ends_with("Operation"), "{name} takes an unknown member");
                assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), changed, "{name}");
            }
            Err(error) => assert!(error.contains("thread_id"), "{name}: {error}"),
        }
    });
}

#[test]
fn a_member_given_twice_is_refused() {
    each_sample(|name, reader, sample| {
        let Some(described) = members(name) else { return };
        for member in described.keys() {
            let Some(value) = sample.get(member) else { continue };
            let text = sample.to_string();
            let twice = format!("{},{}:{value}}}", text.strip_suffix('}').unwrap(), json!(member));
            // In a tree the second one has replaced the first.
            let error = (reader.text)(&twice).expect_err(&twice);
            assert!(error.contains("duplicate field"), "{name}: {member}: {error}");
        }
    });
}

/// In the place of each member, values of every kind: the type takes exactly what the schema takes.
#[test]
fn every_member_takes_exactly_what_the_schema_lets_it_hold() {
    let probes = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(7.0),
        json!(1.5),
        json!(9_007_199_254_740_991_u64),
        json!(9_007_199_254_740_992_u64),
        json!(-9_007_199_254_740_991_i64),
        json!(-9_007_199_254_740_992_i64),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("assistant"),
        json!("/a~1b"),
        json!("a"),
        json!("/a~2"),
        json!([]),
        json!([null]),
        json!([1]),
        json!(["x"]),
        json!([{}]),
        json!({}),
        json!({"type": "text"}),
        json!({"type": "text", "text": "x"}),
        json!({"type": "success"}),
        json!({"type": "cancelled", "interrupts": []}),
        json!({"type": "interrupt", "interrupts": []}),
        json!({"role": "user", "content": "x"}),
    ];
    for (name, reader) in types() {
        let Some(described) = members(name) else { continue };
        // One member is changed at a time, so one minimal and one full value are enough to change it in.
        for (sample, member) in
            samples(name).iter().take(2).flat_map(|sample| described.keys().map(move |key| (sample, key)))
        {
            for probe in &probes {
                let mut changed = sample.clone();
                changed[member.as_str()] = probe.clone();
                let taken = reader.read(&changed);
                assert_eq!(
                    taken.is_ok(),
                    is_valid(name, &changed),
                    "{name}: {member} as {probe}: {:?}",
                    taken.err()
                );
            }
        }
    }
}

/// The text of an object with its members in the order that starts at one of them.
fn rotated(object: &Map<String, Value>, start: usize) -> String {
    let members: Vec<String> = object
        .iter()
        .cycle()
        .skip(start)
        .take(object.len())
        .map(|(key, value)| format!("{}: {value}", json!(key)))
        .collect();
    format!("\n {{ {} }} ", members.join(" , "))
}

#[test]
fn the_discriminator_of_an_event_may_stand_anywhere() {
    for event in samples("Event") {
        let object = event.as_object().unwrap();
        let expected: Event = serde_json::from_value(event.clone()).unwrap();
        for start in 0..object.len() {
            let text = rotated(object, start);
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), expected, "{text}");
            assert_eq!(Event::from_json(text.as_bytes()).unwrap(), expected, "{text}");
            assert_eq!(serde_json::from_reader::<_, Event>(text.as_bytes()).unwrap(), expected, "{text}");
        }
        assert_eq!(serde_json::to_value(&expected).unwrap(), event);
    }
}

#[test]
fn the_discriminator_of_every_other_union_may_stand_anywhere() {
    fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>(name: &str) {
        for sample in samples(name) {
            let expected: T = serde_json::from_value(sample.clone()).unwrap();
            let object = sample.as_object().unwrap();
            for start in 0..object.len() {
                let text = rotated(object, start);
                assert_eq!(serde_json::from_str::<T>(&text).unwrap(), expected, "{text}");
            }
        }
    }
    check::<Message>("Message");
    check::<ContentPart>("ContentPart");
    check::<PartSource>("PartSource");
    check::<RunFinishedOutcome>("RunFinishedOutcome");
    check::<SubagentFinishedOutcome>("SubagentFinishedOutcome");
    check::<JsonPatchOperation>("JsonPatchOperation");
}

#[test]
fn from_json_refuses_what_deserialize_refuses() {
    let end = r#""messageId":"m","type":"TEXT_MESSAGE_END""#;
    for text in [
        format!("{{{end}}} x"),
        format!("{{{end}"),
        format!("{{{end},\"type\":\"TEXT_MESSAGE_END\"}}"),
        format!("{{{end},\"more\":1}}"),
        format!("[{{{end}}}]"),
        r#"{"messageId":"m"}"#.to_owned(),
        r#"{"messageId":"m","type":null}"#.to_owned(),
        r#"{"messageId":"m","type":"TEXT_MESSAGE_STOP"}"#.to_owned(),
        r#"{"messageId":"m","type":["TEXT_MESSAGE_END"]}"#.to_owned(),
        r#"{"type":"TEXT_MESSAGE_END"}"#.to_owned(),
        String::new(),
        "null".to_owned(),
    ] {
        assert!(serde_json::from_str::<Event>(&text).is_err(), "{text}");
        assert!(Event::from_json(text.as_bytes()).is_err(), "{text}");
    }
    for text in [
        r#"{"messageId":"m","\u0074ype":"TEXT_MESSAGE_\u0045ND"}"#,
        r#"{"t\u0079pe":"TEXT_MESSAGE_END","messageId":"m"}"#,
    ] {
        assert_eq!(Event::from_json(text.as_bytes()).unwrap(), TextMessageEndEvent::new("m").into());
    }
}

#[test]
fn every_event_type_has_a_sample_and_names_itself() {
    let mut seen: Vec<String> = samples("Event")
        .into_iter()
        .map(|sample| {
            let event: Event = serde_json::from_value(sample.clone()).unwrap();
            assert_eq!(sample["type"], event.event_type().as_str());
            event.event_type().as_str().to_owned()
        })
        .collect();
    seen.sort_unstable();
    seen.dedup();
    let mut all: Vec<&str> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
    all.sort_unstable();
    assert_eq!(seen, all);
    assert_eq!(all.len(), 31);
}
