//! The corpus passes, on every way material can take; and a runner that is fed anything else says so.

use std::collections::{BTreeMap, BTreeSet};

use agui_encoder::protobuf::{Decoded, decode_tree, encode_raw};
use serde_json::json;

use super::case::Expect;
use super::exchange::Feeding;
use super::*;

/// How many cases the binary wire carries.
const SURVIVORS: usize = 165;
/// A word that nothing mentions.
const NOWHERE: &str = "no producer ever said this";

fn cases() -> Vec<Case> {
    case_files(&corpus().unwrap()).unwrap().iter().map(|file| read(file).unwrap()).collect()
}

fn report(case: &Case, feeding: Feeding) -> serde_json::Value {
    exchange::run(case, feeding).unwrap_or_else(|error| panic!("{}: {error:#}", case.name))
}

#[test]
fn every_case_of_the_corpus_passes_as_text_as_trees_and_as_an_event_stream_in_small_pieces() {
    let cases = cases();
    // A corpus that lost files would pass as well.
    assert_eq!(cases.len(), 211);
    for case in &cases {
        for feeding in [Feeding::Text, Feeding::Tree, Feeding::Sse { slice: 61 }] {
            let differences = check::differences(&case.expect, &report(case, feeding));
            assert!(differences.is_empty(), "{} as {feeding:?}: {differences:#?}", case.name);
        }
    }
}

#[test]
fn text_trees_and_event_streams_are_reported_alike() {
    for case in &cases() {
        let mut reports =
            [Feeding::Text, Feeding::Tree, Feeding::Sse { slice: 1000 }].map(|feeding| report(case, feeding));
        for report in &mut reports {
            forget_minted_ids(report);
        }
        let [text, tree, sse] = reports;
        assert_eq!(text, tree, "{}", case.name);
        assert_eq!(text, sse, "{}", case.name);
    }
}

/// Whether the binary wire carries every event of a case as it is.
fn survives_the_binary_wire(case: &Case) -> bool {
    let mut streams = case.exchanges().into_iter().map(|exchange| exchange.stream);
    streams.all(|stream| {
        stream.is_some_and(|stream| {
            stream.iter().all(|event| {
                let mut frame = bytes::BytesMut::new();
                encode_raw(event, &mut frame).is_ok()
                    && matches!(decode_tree(&frame[4..]), Ok(Decoded::Tree { tree, warnings, .. })
                        if warnings.is_empty() && tree == *event)
            })
        })
    })
}

#[test]
fn every_case_that_survives_the_binary_wire_passes_over_it_and_is_reported_alike() {
    let cases: Vec<_> = cases().into_iter().filter(survives_the_binary_wire).collect();
    // The others have material that no wire message can hold, or bodies of server-sent events.
    assert_eq!(cases.len(), SURVIVORS);
    for case in &cases {
        for slice in [7, 1000] {
            let feeding = Feeding::Protobuf { slice };
            let differences = check::differences(&case.expect, &report(case, feeding));
            assert!(differences.is_empty(), "{} as {feeding:?}: {differences:#?}", case.name);
        }
        let [mut text, mut binary] =
            [Feeding::Text, Feeding::Protobuf { slice: 1000 }].map(|feeding| report(case, feeding));
        forget_minted_ids(&mut text);
        forget_minted_ids(&mut binary);
        assert_eq!(text, binary, "{}", case.name);
    }
}

/// Identifiers made for retired events are random.
fn forget_minted_ids(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.starts_with("thinking-") => *value = "thinking".into(),
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_minted_ids),
        serde_json::Value::Object(members) => members.values_mut().for_each(forget_minted_ids),
        _ => {}
    }
}

#[test]
fn an_altered_expectation_of_any_kind_fails_in_every_case() {
    let mut altered = BTreeMap::new();
    for case in &cases() {
        let report = report(case, Feeding::Text);
        for (kind, expect) in alterations(&case.expect, &report) {
            let differences = check::differences(&expect, &report);
            let named = differences.iter().any(|difference| difference.starts_with(kind));
            assert!(named, "{}: altered {kind} passes: {differences:?}", case.name);
            *altered.entry(kind).or_insert(0) += 1;
        }
    }
    let kinds: BTreeSet<_> = altered.keys().copied().collect();
    let known = [
        "outcome",
        "error",
        "runError",
        "runOutcome",
        "pendingToolCallIds",
        "requestSent",
        "request",
        "request/",
        "eventTypes",
        "eventTypesAbsent",
        "eventCounts",
        "events/",
        "warnings",
        "noWarnings",
        "messages",
        "messages/",
        "state",
        "truncated",
    ];
    assert_eq!(kinds, BTreeSet::from(known));
    assert!(altered["outcome"] == 211 && altered["eventTypes"] >= 211, "{altered:?}");
}

/// The expectation with one thing altered so that the report cannot meet it, and how the difference is announced.
fn alterations(expect: &Expect, report: &serde_json::Value) -> Vec<(&'static str, Expect)> {
    let mut list = Vec::new();
    let mut alter = |kind, change: &dyn Fn(&mut Expect)| {
        let mut altered = expect.clone();
        change(&mut altered);
        list.push((kind, altered));
    };
    let has_failed = report["outcome"] == "failed";
    alter("outcome", &|e| e.outcome = Some(if has_failed { "completed" } else { "failed" }.to_owned()));
    alter("error", &|e| e.error_mentions.get_or_insert_default().push(NOWHERE.to_owned()));
    alter("runError", &|e| e.run_error = Some(NOWHERE.into()));
    alter("runError", &|e| e.run_error = Some(report["runError"].is_null().into()));
    let presented = report["runOutcome"].as_str().unwrap();
    for other in ["success", "interrupt", "cancelled", "error", "none"] {
        if other != presented {
            alter("runOutcome", &|e| e.run_outcome = Some(other.to_owned()));
        }
    }
    let pending: Vec<String> = serde_json::from_value(report["pendingToolCallIds"].clone()).unwrap();
    alter("pendingToolCallIds", &|e| {
        e.pending_tool_call_ids = Some([pending.as_slice(), &[NOWHERE.to_owned()]].concat());
    });
    alter("requestSent", &|e| e.request_sent = Some(!report["requestSent"].as_bool().unwrap()));
    alter("request", &|e| e.request = Some(json!({NOWHERE: null})));
    if report["requestSent"] == true {
        alter("request/", &|e| e.request_absent_paths.get_or_insert_default().push("/runId".to_owned()));
    }
    alter("warnings", &|e| e.warnings.get_or_insert_default().push(vec![NOWHERE.to_owned()]));
    let is_quiet = report["warnings"] == json!([]);
    alter("noWarnings", &|e| e.no_warnings = Some(!is_quiet));
    alter("state", &|e| e.state = Some(json!([report["state"]])));
    alter("truncated", &|e| e.truncated = Some(!report["truncated"].as_bool().unwrap()));

    let mut longer = report["messages"].as_array().unwrap().clone();
    longer.push(json!({}));
    alter("messages", &|e| e.messages = Some(longer.clone().into()));
    if longer.len() > 1 {
        alter("messages/", &|e| e.message_absent_paths.get_or_insert_default().push("/0/id".to_owned()));
    }
    list.extend(event_alterations(expect, report));
    list.extend(value_alterations(expect));
    list
}

fn event_alterations(expect: &Expect, report: &serde_json::Value) -> Vec<(&'static str, Expect)> {
    let events = report["events"].as_array().unwrap();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let mut list = Vec::new();
    let mut alter = |kind, change: &dyn Fn(&mut Expect)| {
        let mut altered = expect.clone();
        change(&mut altered);
        list.push((kind, altered));
    };
    alter("eventTypes", &|e| e.event_types = Some([types.as_slice(), &["RAW".to_owned()]].concat()));
    alter("eventCounts", &|e| {
        e.event_counts.get_or_insert_default().insert(NOWHERE.to_owned(), 1);
    });
    alter("events/", &|e| {
        e.events.get_or_insert_default().insert(types.len().to_string(), json!({}));
    });
    if let [.., last] = types.as_slice() {
        let count = types.iter().filter(|kind| *kind == last).count();
        let shorter = types[..types.len() - 1].to_vec();
        alter("eventTypes", &|e| e.event_types = Some(shorter.clone()));
        alter("eventTypes", &|e| {
            let mut other = types.clone();
            *other.last_mut().unwrap() = NOWHERE.to_owned();
            e.event_types = Some(other);
        });
        alter("eventTypesAbsent", &|e| e.event_types_absent.get_or_insert_default().push(last.clone()));
        alter("eventCounts", &|e| {
            e.event_counts.get_or_insert_default().insert(last.clone(), count - 1);
        });
        alter("events/", &|e| e.event_absent_paths.get_or_insert_default().push("/0/type".to_owned()));
    }
    list
}

/// Every value that a case expects somewhere inside of something, changed by itself.
fn value_alterations(expect: &Expect) -> Vec<(&'static str, Expect)> {
    let mut list = Vec::new();
    let mut add = |kind, value: &serde_json::Value, put: &dyn Fn(&mut Expect, serde_json::Value)| {
        for changed in changes(value) {
            let mut altered = expect.clone();
            put(&mut altered, changed);
            list.push((kind, altered));
        }
    };
    if let Some(value) = &expect.request {
        add("request", value, &|e, value| e.request = Some(value));
    }
    if let Some(value) = &expect.messages {
        add("messages", value, &|e, value| e.messages = Some(value));
    }
    if let Some(value) = &expect.state {
        add("state", value, &|e, value| e.state = Some(value));
    }
    for (place, value) in expect.events.iter().flatten() {
        add("events/", value, &|e, value| {
            e.events.get_or_insert_default().insert(place.clone(), value);
        });
    }
    list
}

/// Copies of a value, each with another of its leaves changed; of very long values, the first leaves only.
fn changes(value: &serde_json::Value) -> Vec<serde_json::Value> {
    let mut places = Vec::new();
    leaves(value, String::new(), &mut places);
    places.truncate(60);
    let change = |place: String| {
        let mut changed = value.clone();
        let leaf = changed.pointer_mut(&place).unwrap();
        *leaf = json!([NOWHERE, leaf.clone()]);
        changed
    };
    places.into_iter().map(change).collect()
}

fn leaves(value: &serde_json::Value, place: String, places: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, item)| leaves(item, format!("{place}/{at}"), places));
        }
        serde_json::Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(member, format!("{place}/{name}"), places);
            }
        }
        _ => places.push(place),
    }
}

#[test]
fn a_case_whose_earlier_exchange_does_not_complete_fails() {
    let case = |stream: serde_json::Value| {
        let case = json!({
            "name": "x", "area": "text", "rule": "r", "verified": "reference", "expect": {},
            "before": [{"stream": stream}], "stream": [],
        });
        exchange::run(&Case::from_value(case).unwrap(), Feeding::Text)
    };
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let error = case(json!([started])).unwrap_err();
    assert_eq!(error.to_string(), "exchange 0 in `before` is truncated");
    let error = case(json!([started, 1])).unwrap_err();
    assert!(error.to_string().starts_with("exchange 0 in `before` failed: event 1: "), "{error}");
    assert!(case(json!([started, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}])).is_ok());
}

#[test]
fn a_file_that_is_no_case_or_calls_itself_something_else_fails() {
    let folder = tempdir();
    let file = folder.join("one.json");
    for (content, reason) in [
        ("{", "not a case: "),
        (r#"{"name":"one"}"#, "not a case: missing field"),
        (
            r#"{"name":"two","area":"a","rule":"r","stream":[],"expect":{},"verified":"reference"}"#,
            "not a case: it calls itself \"two\"",
        ),
        (
            r#"{"name":"one","area":"a","rule":"r","expect":{},"verified":"reference"}"#,
            "an exchange has `stream` or `wire`",
        ),
    ] {
        fs::write(&file, content).unwrap();
        let differences = judge(&file);
        assert!(differences.len() == 1 && differences[0].starts_with(reason), "{differences:?}");
        assert_eq!(run(&Args { dir: Some(folder.clone()) }).unwrap(), Verdict::Complaints);
    }
    fs::remove_file(&file).unwrap();
    assert!(run(&Args { dir: Some(folder.clone()) }).is_err(), "an empty folder passes nothing");
    fs::remove_dir(folder).unwrap();
}

/// A folder of this test's own.
fn tempdir() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("xtask-conformance-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}
