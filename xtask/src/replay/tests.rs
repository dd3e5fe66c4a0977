//! What the report says, and what hostile recordings cost.

use std::fmt::Write as _;

use agui_core::{EventType, consumer::Pipeline};
use agui_encoder::protobuf::encode_raw;
use bytes::BytesMut;
use clap::Parser;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    carried::carried,
    frames::{Ending, Sliced},
    samples,
};

const MIB: u64 = 1024 * 1024;

fn report(stream: impl AsRef<[u8]>, format: Wire) -> Value {
    report_on(json!({}), stream, format)
}

fn report_on(input: Value, stream: impl AsRef<[u8]>, format: Wire) -> Value {
    let mut ids = Ids::default();
    scan(stream.as_ref(), format, &mut ids).unwrap();
    let report = replay(completed(input, &ids), format, stream.as_ref()).unwrap();
    serde_json::to_value(report).unwrap()
}

fn sse(events: &[&str]) -> String {
    events.iter().fold(String::new(), |mut body, event| {
        write!(body, "data: {event}\n\n").unwrap();
        body
    })
}

fn protobuf(events: &[Value]) -> BytesMut {
    let mut body = BytesMut::new();
    for event in events {
        encode_raw(event, &mut body).unwrap();
    }
    body
}

/// Events that may stand anywhere in a run.
fn anywhere() -> impl Strategy<Value = Value> {
    let types = [
        EventType::StateSnapshot,
        EventType::MessagesSnapshot,
        EventType::ActivitySnapshot,
        EventType::Raw,
        EventType::Custom,
        EventType::TextMessageStart,
        EventType::ToolCallResult,
    ];
    prop::sample::select(types.to_vec()).prop_flat_map(samples::event_of).prop_map(|event| {
        let mut event = serde_json::to_value(event).unwrap();
        // Of subagents that never began.
        event.as_object_mut().unwrap().remove("subagentRunId");
        event
    })
}

/// A run of a few events, ended in each of the ways there are; the terminal event may also be missing.
fn stream() -> impl Strategy<Value = Vec<Value>> {
    let ends = [EventType::RunFinished, EventType::RunError, EventType::TextMessageEnd];
    let end = prop::sample::select(ends.to_vec()).prop_flat_map(samples::event_of);
    let any = samples::event().prop_map(|event| serde_json::to_value(event).unwrap());
    let inside = prop::collection::vec(prop_oneof![9 => anywhere(), 1 => any], 0..6);
    (samples::event_of(EventType::RunStarted), inside, end).prop_map(|(start, inside, end)| {
        let start = serde_json::to_value(start).unwrap();
        let mut end = serde_json::to_value(end).unwrap();
        if end["type"] == "RUN_FINISHED" {
            end["threadId"] = start["threadId"].clone();
            end["runId"] = start["runId"].clone();
        }
        [vec![start], inside, vec![end]].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn both_wires_of_one_run_are_reported_alike(stream in stream()) {
        // What the binary wire loses has no say in the verdict, so that the text wire may lose it too.
        let text: Vec<_> = stream.iter().cloned().map(|event| carried(event).to_string()).collect();
        let text = sse(&text.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(report(protobuf(&stream), Wire::Protobuf), report(text, Wire::Sse));
    }
}

#[test]
fn the_identifiers_of_a_binary_recording_are_found_in_it() {
    let events = [STARTED, FINISHED].map(|event| serde_json::from_str(event).unwrap());
    let found = report(protobuf(&events), Wire::Protobuf);
    assert_eq!(found["outcome"], "completed");
    assert_eq!((&found["request"]["threadId"], &found["request"]["runId"]), (&json!("t"), &json!("r")));
}

#[test]
fn a_binary_recording_that_breaks_off_or_is_no_event_is_told_apart() {
    let events = [STARTED, FINISHED].map(|event| serde_json::from_str(event).unwrap());
    let mut body = protobuf(&events);
    let whole = body.len();
    body.truncate(whole - 1);
    let found = report(&body, Wire::Protobuf);
    assert_eq!((&found["outcome"], &found["truncated"]), (&json!("completed"), &json!(true)));

    let mut body = protobuf(&events[..1]);
    body.extend_from_slice(b"\0\0\0\0");
    let found = report(body, Wire::Protobuf);
    assert_eq!((&found["outcome"], &found["error"]["rule"]), (&json!("failed"), &json!("BIND-8")));
}

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

#[test]
fn a_report_says_what_the_application_saw() {
    let body = sse(&[
        STARTED,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hi","mood":"calm"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"look","parentMessageId":"m"}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":[1]}"#,
        FINISHED,
    ]);
    let mut found = report(body, Wire::Sse);
    let events = found["events"].as_array().unwrap().iter();
    let types: Vec<_> = events.map(|event| event["type"].as_str().unwrap()).collect();
    let message = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"];
    let expected = [
        &["RUN_STARTED"],
        &message[..],
        &["TOOL_CALL_START", "TOOL_CALL_END", "STATE_SNAPSHOT", "RUN_FINISHED"],
    ];
    assert_eq!(types, expected.concat());
    found.as_object_mut().unwrap().remove("events");
    assert_eq!(
        found,
        json!({
            "outcome": "completed",
            "error": null,
            "runError": null,
            "runOutcome": "success",
            "truncated": false,
            "runs": [{
                "threadId": "t", "runId": "r", "protocolVersion": "1.0", "outcome": "success",
                "pendingToolCallIds": ["c"],
            }],
            "warnings": [{
                "rule": "PROC-3", "index": 1, "type": "TEXT_MESSAGE_CHUNK", "path": "/mood",
                "message": "unknown member removed",
            }],
            "messages": [{
                "id": "m", "role": "assistant", "content": "Hi",
                "toolCalls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}],
            }],
            "state": [1],
            "pendingToolCallIds": ["c"],
            "requestSent": true,
            "request": {
                "threadId": "t", "runId": "r", "messages": [], "state": {}, "tools": [], "context": [],
                "forwardedProps": {}, "protocolVersion": "1.0",
            },
        })
    );
}

#[test]
fn a_failed_run_a_rejected_stream_and_a_truncated_one_are_told_apart() {
    let failed = report(sse(&[STARTED, r#"{"type":"RUN_ERROR","message":"jam"}"#]), Wire::Sse);
    assert_eq!((&failed["outcome"], &failed["runError"]), (&json!("completed"), &json!("jam")));
    assert_eq!(failed["runs"][0]["error"], json!({"message": "jam"}));

    let rejected = report(sse(&[STARTED, r#"{"type":"STEP_FINISHED","stepName":"s"}"#]), Wire::Sse);
    assert_eq!((&rejected["outcome"], &rejected["truncated"]), (&json!("failed"), &json!(false)));
    assert_eq!(rejected["error"]["rule"], "LIFE-10");
    assert_eq!(
        (&rejected["error"]["index"], &rejected["error"]["type"]),
        (&json!(1), &json!("STEP_FINISHED"))
    );

    for body in [sse(&[STARTED]), sse(&[STARTED]) + "data: {\"ty", String::new()] {
        let truncated = report(body, Wire::Sse);
        assert_eq!((&truncated["truncated"], &truncated["runOutcome"]), (&json!(true), &json!("none")));
        assert_eq!(truncated["error"], json!(null));
    }

    let refused = report_on(json!({"messages": 1}), sse(&[STARTED, FINISHED]), Wire::Sse);
    assert_eq!((&refused["outcome"], &refused["requestSent"]), (&json!("failed"), &json!(false)));
    assert_eq!((&refused["error"]["path"], &refused["error"]["index"]), (&json!("/messages"), &json!(null)));
    assert_eq!((&refused["events"], &refused["request"]), (&json!([]), &json!(null)));
}

#[test]
fn a_frame_that_breaks_off_after_the_last_run_is_not_passed_over_in_silence() {
    let found = report(sse(&[STARTED, FINISHED]) + "data: {\"ty", Wire::Sse);
    assert_eq!((&found["truncated"], &found["runOutcome"]), (&json!(false), &json!("success")));
    assert_eq!(
        (&found["warnings"][0]["rule"], &found["warnings"][0]["index"]),
        (&json!("LIFE-11"), &json!(2))
    );
}

#[test]
fn an_input_leaves_its_identifiers_to_the_last_run_of_the_stream() {
    let again = STARTED.replace(r#""r""#, r#""r2""#);
    let body = sse(&[STARTED, FINISHED, &again, &FINISHED.replace(r#""r""#, r#""r2""#)]);
    let found = report_on(json!({"state": {"n": 1}}), &body, Wire::Sse);
    assert_eq!((&found["request"]["threadId"], &found["request"]["runId"]), (&json!("t"), &json!("r2")));
    assert_eq!((&found["state"], &found["warnings"]), (&json!({"n": 1}), &json!([])));
    // What it names stands.
    let found = report_on(json!({"threadId": "mine"}), &body, Wire::Sse);
    assert_eq!((&found["request"]["threadId"], &found["request"]["runId"]), (&json!("mine"), &json!("r2")));
}

#[test]
fn invalid_utf_8_is_what_its_wire_makes_of_it() {
    let event = b"{\"type\":\"RUN_ERROR\",\"message\":\"\xff\"}";
    let found = report([b"data: ", &event[..], b"\n\n"].concat(), Wire::Sse);
    assert_eq!((&found["runError"], &found["warnings"][0]["index"]), (&json!("\u{fffd}"), &json!(0)));
    let found = report(event, Wire::Ndjson);
    assert_eq!((&found["outcome"], &found["error"]["rule"]), (&json!("failed"), &json!("PROC-6")));
}

#[test]
fn nesting_has_one_limit_on_every_wire() {
    let nested = |levels: usize| {
        // The event itself is a level.
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        format!(r#"{{"type":"CUSTOM","name":"x","value":{open}{close}}}"#)
    };
    for (levels, outcome) in [(128, "completed"), (129, "failed"), (100_000, "failed")] {
        let event = nested(levels);
        let found = report(sse(&[STARTED, &event, FINISHED]), Wire::Sse);
        assert_eq!(found["outcome"], outcome, "{levels} levels, {}", found["error"]);
        let found = report([STARTED, &event, FINISHED].join("\n"), Wire::Ndjson);
        assert_eq!(found["outcome"], outcome, "{levels} levels, {}", found["error"]);
        if outcome == "failed" {
            assert_eq!((&found["error"]["rule"], &found["error"]["index"]), (&json!("PROC-6"), &json!(1)));
        }
    }
}

#[test]
fn warnings_that_were_left_out_are_counted_by_a_last_one() {
    for (more, words) in
        [(0, None), (1, Some("1 more warning left out")), (7, Some("7 more warnings left out"))]
    {
        let mut events = vec![STARTED];
        events.resize(1 + Pipeline::MAX_WARNINGS + more, r#"{"type":"NOVEL"}"#);
        events.push(FINISHED);
        let found = report(events.join("\n"), Wire::Ndjson);
        let warnings = found["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), Pipeline::MAX_WARNINGS + usize::from(words.is_some()));
        let closing = warnings.get(Pipeline::MAX_WARNINGS);
        let expected = words.map(
            |words| json!({"rule": "PROC-2", "index": null, "type": null, "path": "", "message": words}),
        );
        assert_eq!(closing, expected.as_ref());
    }
}

/// A start, and then the same over and over.
struct Endless {
    start: Vec<u8>,
    again: Vec<u8>,
    at: u64,
    /// Bytes after which it ends.
    length: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.start.len() as u64;
        let part = match usize::try_from(self.at) {
            Ok(at) if self.at < start => &self.start[at..],
            _ => &self.again[usize::try_from((self.at - start) % self.again.len() as u64).unwrap()..],
        };
        let left = usize::try_from(self.length - self.at).unwrap_or(usize::MAX);
        let count = part.len().min(buffer.len()).min(left);
        buffer[..count].copy_from_slice(&part[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

#[test]
fn an_event_of_a_gibibyte_is_refused_long_before_it_has_arrived() {
    for (format, start) in [(Wire::Sse, "data: \""), (Wire::Sse, ": "), (Wire::Ndjson, "\"")] {
        let mut body =
            Endless { start: start.into(), again: vec![b'a'; 64 * 1024], at: 0, length: 1024 * MIB };
        let mut found = None;
        let used = allocation_counter::measure(|| {
            found = Some(replay(completed(json!({}), &Ids::default()), format, &mut body).unwrap());
        });
        let found = serde_json::to_value(found).unwrap();
        assert_eq!((&found["outcome"], &found["error"]["rule"]), (&json!("failed"), &json!("PROC-6")));
        assert!(body.at < 11 * MIB, "{format:?} read {} bytes", body.at);
        // Twice the limit for the moment in which the buffer grows.
        assert!(used.bytes_max < 31 * MIB, "{format:?} held {} bytes", used.bytes_max);
    }
}

#[test]
fn millions_of_events_go_through_the_pipeline_in_the_memory_of_a_few() {
    // Ten million where the code is optimized; as many as take some seconds where it is not.
    let rounds = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };
    let few = memory_of(1000);
    let many = memory_of(rounds);
    assert!(many <= few + 1024, "{few} bytes for 10,000 events, {many} for {}", rounds * 10);
    assert!(many < MIB, "{many}");
}

/// The most bytes held while a run of ten events per round goes through decoder and pipeline.
fn memory_of(rounds: u64) -> u64 {
    let again = sse(&[
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"word "}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"and word"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"k","delta":"short"}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n","value":1}]}"#,
        r#"{"type":"STEP_STARTED","stepName":"s"}"#,
        r#"{"type":"STEP_FINISHED","stepName":"s"}"#,
        r#"{"type":"RAW","event":{"any":["thing"]}}"#,
        r#"{"type":"CUSTOM","name":"c","value":null}"#,
    ]);
    let start = sse(&[STARTED]);
    let length = start.len() as u64 + rounds * again.len() as u64;
    let mut body = Endless { start: start.into(), again: again.into(), at: 0, length };
    let used = allocation_counter::measure(|| {
        let mut pipeline = Pipeline::new();
        let ending = frames::read(&mut body, Wire::Sse, |frame| {
            pipeline.feed(frame, &mut |_| {}).map_or_else(ControlFlow::Break, ControlFlow::Continue)
        });
        assert!(matches!(ending, Ok(Ending::Clean)));
        assert_eq!((pipeline.frames(), pipeline.warnings().len()), (rounds * 10 + 1, 0));
    });
    used.bytes_max
}

proptest! {
    #[test]
    fn any_bytes_make_a_report(body in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in [Wire::Sse, Wire::Ndjson] {
            prop_assert!(report(&body, format).is_object());
        }
    }

    #[test]
    fn a_damaged_recording_makes_a_report_with_the_place(
        events in prop::collection::vec(samples::event(), 0..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        slice in 1usize..50,
    ) {
        let lines: Vec<_> = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let lines: Vec<_> = [STARTED].into_iter().chain(lines.iter().map(String::as_str)).collect();
        let mut body = sse(&lines).into_bytes();
        for (place, byte) in damage {
            let place = place.index(body.len());
            body[place] = byte;
        }
        let whole = report(&body, Wire::Sse);
        prop_assert_eq!(whole["outcome"] == "failed", whole["error"]["rule"].is_string());
        // However the bytes arrive, the verdict is the same.
        let mut ids = Ids::default();
        scan(&body[..], Wire::Sse, &mut ids).unwrap();
        let cut = replay(completed(json!({}), &ids), Wire::Sse, Sliced::new(&body, slice)).unwrap();
        let cut = serde_json::to_value(cut).unwrap();
        prop_assert_eq!(&whole["error"], &cut["error"]);
        prop_assert_eq!(&whole["messages"], &cut["messages"]);
        prop_assert_eq!(&whole["state"], &cut["state"]);
    }
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

#[test]
fn a_stream_is_needed_unless_only_the_input_is_asked_for() {
    assert!(Line::try_parse_from(["replay", "--input", "i.json"]).is_err());
    assert!(Line::try_parse_from(["replay", "--format", "proto", "-"]).is_err());
    let line = Line::try_parse_from(["replay", "--send", "--input", "i.json"]).unwrap();
    assert!(line.args.send && line.args.file.is_none());
    let line = Line::try_parse_from(["replay", "--format", "ndjson", "-"]).unwrap();
    assert_eq!((line.args.format, line.args.file.as_deref()), (Some(Wire::Ndjson), Some("-")));
}
