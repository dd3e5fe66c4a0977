//! The compact spelling, rule by rule.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which fail where the sequence is not what the test says"
)]

use agui_core::chunk::{ChunkExpander, SpelledSequence};
use agui_core::sequence::{Policy, Sequence, SequenceError};
use agui_core::{Event, EventType};

fn event(json: &str) -> Event {
    Event::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// What the events expand to, as far as they do.
fn expand(events: &[&str]) -> (Vec<Event>, Result<(), SequenceError>) {
    let mut expander = ChunkExpander::new();
    let mut out = Vec::new();
    let result = events.iter().try_for_each(|json| expander.expand(event(json), |event| out.push(event)));
    (out, result)
}

fn expands_to(events: &[&str], expected: &[&str]) {
    let (out, result) = expand(events);
    result.unwrap();
    let expected: Vec<Event> = expected.iter().map(|json| event(json)).collect();
    assert_eq!(out, expected);
}

/// The types and, where there is one, the message's or call's id of what the events expand to.
fn outline(events: &[&str]) -> Vec<String> {
    let (out, result) = expand(events);
    result.unwrap();
    out.iter().map(|event| serde_json::to_value(event).unwrap()).map(|event| brief(&event)).collect()
}

fn brief(event: &serde_json::Value) -> String {
    let id = event.get("messageId").or_else(|| event.get("toolCallId")).and_then(|id| id.as_str());
    format!("{} {}", event["type"].as_str().unwrap(), id.unwrap_or("-")).replace("_MESSAGE", "")
}

/// The last event is refused, and nothing comes of it; the expander goes on as if it had not been.
fn refused(rule: &str, words: &[&str], events: &[&str]) {
    let (last, before) = events.split_last().unwrap();
    let mut expander = ChunkExpander::new();
    for json in before {
        expander.expand(event(json), |_| {}).unwrap();
    }
    let untouched = format!("{expander:?}");
    let error = expander.expand(event(last), |event| panic!("{event:?} came of it")).unwrap_err();
    assert_eq!((error.rule(), error.event_type()), (rule, event(last).event_type()), "{error}");
    for word in words {
        assert!(error.message().contains(word), "{error} does not name {word}");
    }
    assert_eq!(format!("{expander:?}"), untouched);
}

const OPEN: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}"#;
const MORE: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}"#;
const OPEN_RED: &str =
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"red-m","delta":"a","subagentRunId":"red"}"#;
const OPEN_BLUE: &str =
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"blue-m","delta":"a","subagentRunId":"blue"}"#;
const MORE_RED: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"b","subagentRunId":"red"}"#;
const CALL: &str = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","delta":"{"}"#;
const RAW: &str = r#"{"type":"RAW","event":1}"#;

#[test]
fn a_first_chunk_carries_what_opening_needs() {
    refused("CHUNK-1", &["messageId"], &[MORE]);
    refused("CHUNK-1", &["messageId"], &[r#"{"type":"REASONING_MESSAGE_CHUNK","delta":"x"}"#]);
    refused("CHUNK-1", &["toolCallId"], &[r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"f"}"#]);
    refused("CHUNK-1", &["toolCallName", "\"c\""], &[r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c"}"#]);
    // What is missing is missing even where another stream would have ended.
    refused("CHUNK-1", &["toolCallName"], &[OPEN, r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c"}"#]);
}

#[test]
fn made_starts_carry_the_role() {
    expands_to(
        &[OPEN, r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"q","delta":"hm"}"#],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
            r#"{"type":"REASONING_MESSAGE_START","messageId":"q","role":"reasoning"}"#,
            r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"q","delta":"hm"}"#,
        ],
    );
    expands_to(
        &[r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"user","name":"Nadir"}"#],
        &[r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","name":"Nadir"}"#],
    );
    expands_to(
        &[r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#],
        &[r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#],
    );
}

#[test]
fn another_id_closes_the_item_before() {
    let next = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"n","delta":"c"}"#;
    assert_eq!(
        outline(&[OPEN, next, MORE]),
        ["TEXT_START m", "TEXT_CONTENT m", "TEXT_END m", "TEXT_START n", "TEXT_CONTENT n", "TEXT_CONTENT n"]
    );
    assert_eq!(
        outline(&[OPEN, CALL]),
        ["TEXT_START m", "TEXT_CONTENT m", "TEXT_END m", "TOOL_CALL_START c", "TOOL_CALL_ARGS c"]
    );
}

#[test]
fn a_repetition_repeats_the_same_value() {
    let same = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"b"}"#;
    assert_eq!(outline(&[OPEN, same]).len(), 3);
    let role = r#"{"type":"TEXT_MESSAGE_CHUNK","role":"user","delta":"b"}"#;
    let name = r#"{"type":"TEXT_MESSAGE_CHUNK","name":"late","delta":"b"}"#;
    let tool = r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"g"}"#;
    let parent = r#"{"type":"TOOL_CALL_CHUNK","parentMessageId":"p"}"#;
    refused("CHUNK-3", &["role", "\"m\"", "assistant"], &[OPEN, role]);
    refused("CHUNK-3", &["name", "\"m\"", "none"], &[OPEN, name]);
    refused("CHUNK-3", &["toolCallName", "\"c\""], &[CALL, tool]);
    refused("CHUNK-3", &["parentMessageId", "\"c\"", "none"], &[CALL, parent]);
}

#[test]
fn events_in_the_lane_supply_the_end() {
    let closing = [
        r#"{"type":"TEXT_MESSAGE_START","messageId":"n"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"n","toolCallId":"x","content":""}"#,
        r#"{"type":"STEP_STARTED","stepName":"s"}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#,
        r#"{"type":"STATE_DELTA","delta":[]}"#,
        r#"{"type":"CUSTOM","name":"acme.x","value":1}"#,
        r#"{"type":"REASONING_START","messageId":"s"}"#,
        r#"{"type":"REASONING_END","messageId":"s"}"#,
        r#"{"type":"REASONING_MESSAGE_END","messageId":"s"}"#,
    ];
    for closing in closing {
        let (out, result) = expand(&[OPEN, closing]);
        result.unwrap();
        assert_eq!(out[2..], [event(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#), event(closing)]);
        refused("CHUNK-1", &["messageId"], &[OPEN, closing, MORE]);
        // The parent agent's events leave a subagent's stream alone.
        assert_eq!(outline(&[OPEN_RED, closing, MORE_RED])[3], "TEXT_CONTENT red-m");
    }
}

#[test]
fn asides_close_nothing() {
    let asides = [
        RAW,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{}}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"x","patch":[]}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m","encryptedValue":"z"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"red","name":"x"}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"red"}"#,
    ];
    for aside in asides {
        expands_to(
            &[OPEN, aside, MORE],
            &[
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#,
                aside,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
            ],
        );
    }
}

#[test]
fn run_level_events_close_every_lane_in_opening_order() {
    for level in [
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        r#"{"type":"RUN_ERROR","message":"x"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
    ] {
        let ends = outline(&[OPEN_RED, OPEN, OPEN_BLUE, level]);
        assert_eq!(ends[6..9], ["TEXT_END red-m", "TEXT_END m", "TEXT_END blue-m"]);
    }
}

#[test]
fn the_end_of_a_subagent_closes_its_lane_alone() {
    for end in [
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"red"}"#,
        r#"{"type":"SUBAGENT_ERROR","subagentRunId":"red","message":"x"}"#,
    ] {
        let events = outline(&[OPEN_RED, OPEN, end, MORE]);
        assert_eq!(events[4], "TEXT_END red-m");
        assert_eq!(events[6], "TEXT_CONTENT m");
    }
}

#[test]
fn a_tagged_continuation_goes_to_the_lane_it_names() {
    assert_eq!(outline(&[OPEN_RED, OPEN_BLUE, OPEN, MORE_RED])[6], "TEXT_CONTENT red-m");
    refused("CHUNK-1", &["messageId"], &[OPEN, MORE_RED]);
}

#[test]
fn an_untagged_continuation_prefers_the_parent_and_takes_the_only_one() {
    assert_eq!(outline(&[OPEN_RED, OPEN, MORE])[4], "TEXT_CONTENT m");
    // The parent agent's stream of another kind is none of its kind.
    let events = [OPEN_RED, CALL, MORE];
    assert_eq!(outline(&events)[4], "TEXT_CONTENT red-m");
    assert_eq!(expand(&events).0[4].subagent_run_id(), Some(&"red".into()));
    refused("CHUNK-5", &["ambiguous"], &[OPEN_RED, OPEN_BLUE, MORE]);
    // Once one of the two has ended, nothing is ambiguous.
    let end = r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"blue"}"#;
    assert_eq!(outline(&[OPEN_RED, OPEN_BLUE, end, MORE])[6], "TEXT_CONTENT red-m");
}

#[test]
fn an_id_without_a_tag_continues_its_stream_in_whatever_lane() {
    let named = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"red-m","delta":"b"}"#;
    assert_eq!(outline(&[OPEN_RED, OPEN, named])[4], "TEXT_CONTENT red-m");
    // Open nowhere, it opens in the parent agent's lane.
    assert_eq!(expand(&[OPEN_RED, OPEN]).0[2].subagent_run_id(), None);
}

#[test]
fn a_chunk_does_not_name_an_item_of_another_owner() {
    let blue = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"red-m","delta":"b","subagentRunId":"blue"}"#;
    let red = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b","subagentRunId":"red"}"#;
    refused("SUB-3", &["\"red-m\"", "subagentRunId", "blue"], &[OPEN_RED, blue]);
    refused("SUB-3", &["\"m\"", "parent agent"], &[OPEN, red]);
}

#[test]
fn an_explicit_event_naming_a_built_item_ends_the_shorthand_in_any_lane() {
    let content = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"red-m","delta":"b"}"#;
    assert_eq!(outline(&[OPEN_RED, content])[2..], ["TEXT_END red-m", "TEXT_CONTENT red-m"]);
    // It ends the stream of its own lane as well.
    assert_eq!(outline(&[OPEN_RED, OPEN, content])[4..6], ["TEXT_END m", "TEXT_END red-m"]);
    // The same id of another kind is another item.
    let other = r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"red-m","delta":"b"}"#;
    assert_eq!(outline(&[OPEN_RED, other]).len(), 3);
}

#[test]
fn metadata_attribution_and_the_providers_event_carry_over_and_the_timestamp_does_not() {
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x","timestamp":5,"metadata":{"k":null},
        "rawEvent":{"n":null},"subagentRunId":"red"}"#;
    let next = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"n","subagentRunId":"red","metadata":{"z":1}}"#;
    expands_to(
        &[chunk, next],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","subagentRunId":"red","metadata":{"k":null}}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"red","metadata":{"k":null},"rawEvent":{"n":null}}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"red"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"n","role":"assistant","subagentRunId":"red","metadata":{"z":1}}"#,
        ],
    );
}

#[test]
fn a_chunk_without_a_delta_becomes_content_only_if_it_says_something() {
    let metadata = r#"{"type":"TOOL_CALL_CHUNK","metadata":{}}"#;
    let raw = r#"{"type":"TOOL_CALL_CHUNK","rawEvent":7}"#;
    let nothing = r#"{"type":"TOOL_CALL_CHUNK"}"#;
    expands_to(
        &[CALL, metadata, raw, nothing],
        &[
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"","metadata":{}}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"","rawEvent":7}"#,
        ],
    );
    let opener = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","rawEvent":7}"#;
    expands_to(
        &[opener],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","rawEvent":7}"#,
        ],
    );
}

#[test]
fn what_is_open_when_the_stream_breaks_off_gets_no_end() {
    let mut expander = ChunkExpander::new();
    let mut out = Vec::new();
    expander.expand(event(OPEN), |event| out.push(event.event_type())).unwrap();
    assert!(!expander.is_idle());
    drop(expander);
    assert_eq!(out, [EventType::TextMessageStart, EventType::TextMessageContent]);
}

const RUN: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
const TEXT: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#;

fn spelled(events: &[&str]) -> SpelledSequence {
    let mut sequence = SpelledSequence::new(Policy::Producer);
    for json in events {
        sequence.check_spelled(&event(json)).unwrap_or_else(|error| panic!("{json}: {error}"));
    }
    sequence
}

/// The last event is refused as spelled, and changes nothing.
fn spelled_refused(rule: &str, words: &[&str], events: &[&str]) -> SpelledSequence {
    let (last, before) = events.split_last().unwrap();
    let mut sequence = spelled(before);
    let open = sequence.sequence().open_items();
    let error = sequence.check_spelled(&event(last)).expect_err("the last event is accepted");
    assert_eq!((error.rule(), error.event_type()), (rule, event(last).event_type()), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{error} does not name {word}");
    }
    assert_eq!(sequence.sequence().open_items(), open);
    sequence
}

#[test]
fn chunks_are_judged_as_they_are_spelled() {
    let mut sequence = spelled(&[RUN, OPEN, MORE, RAW, MORE, CALL, FINISH]);
    assert!(!sequence.sequence().has_open_items());
    assert_eq!(sequence.check_spelled(&event(OPEN)).unwrap_err().rule(), "LIFE-7");
    spelled_refused("LIFE-1", &[], &[MORE]);
}

#[test]
fn chunks_do_not_continue_what_a_start_opened() {
    let mut sequence =
        spelled_refused("CHUNK-6", &["spelling", "\"m\"", "TEXT_MESSAGE_START"], &[RUN, TEXT, OPEN]);
    sequence.check_spelled(&event(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#)).unwrap();
}

#[test]
fn explicit_events_do_not_continue_what_chunks_build() {
    for explicit in [
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
    ] {
        // The refused event has not even ended the shorthand.
        let mut sequence =
            spelled_refused("CHUNK-6", &["spelling", "\"m\"", "chunks"], &[RUN, OPEN, explicit]);
        sequence.check_spelled(&event(MORE)).unwrap();
        sequence.check_spelled(&event(FINISH)).unwrap();
    }
    // A START ends the shorthand and opens the message again.
    spelled(&[RUN, OPEN, TEXT, r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#, FINISH]);
}

#[test]
fn a_refused_event_does_not_end_the_chunk_streams_it_would_have_ended() {
    let other_run = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"other"}"#;
    let mut sequence = spelled_refused("LIFE-9", &[], &[RUN, OPEN_RED, OPEN, other_run]);
    for json in [MORE, MORE_RED, FINISH] {
        sequence.check_spelled(&event(json)).unwrap();
    }
    let orphan = r#"{"type":"STEP_FINISHED","stepName":"never"}"#;
    let mut sequence = spelled_refused("LIFE-10", &[], &[RUN, CALL, orphan]);
    sequence.check_spelled(&event(r#"{"type":"TOOL_CALL_CHUNK","delta":"}"}"#)).unwrap();
}

#[test]
fn a_chunk_is_held_to_what_a_start_would_be() {
    let end = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
    let user = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"user"}"#;
    spelled_refused("STREAM-4", &["role", "TEXT_MESSAGE_CHUNK"], &[RUN, TEXT, end, user]);
}

#[test]
fn only_what_a_start_opened_is_closed_by_an_end() {
    let step = r#"{"type":"STEP_STARTED","stepName":"s"}"#;
    let mut sequence = spelled(&[RUN, step, OPEN]);
    assert!(sequence.needs_closing());
    let closing = sequence.close_events();
    assert_eq!(closing, [event(r#"{"type":"STEP_FINISHED","stepName":"s"}"#)]);
    for event in closing.iter().chain([&event(FINISH)]) {
        sequence.check_spelled(event).unwrap();
    }
    assert!(!spelled(&[RUN, OPEN]).needs_closing());

    let step = r#"{"type":"STEP_STARTED","stepName":"s","subagentRunId":"red"}"#;
    let sequence = spelled(&[RUN, step, OPEN_RED]);
    let end = event(r#"{"type":"STEP_FINISHED","stepName":"s","subagentRunId":"red"}"#);
    assert_eq!(sequence.close_events_of(Some(&"red".into())), [end]);
    assert_eq!(sequence.close_events_of(None), []);
}

#[test]
fn expanding_and_then_checking_gives_the_same_verdict() {
    let streams: [&[&str]; 4] = [
        &[RUN, OPEN, OPEN_RED, MORE, CALL, MORE_RED, FINISH],
        &[RUN, TEXT, OPEN],
        &[RUN, OPEN, r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#],
        &[RUN, OPEN_RED, OPEN_BLUE, MORE],
    ];
    for stream in streams {
        let mut spelled = SpelledSequence::new(Policy::Consumer);
        let as_spelled = stream.iter().try_for_each(|json| spelled.check_spelled(&event(json)));
        let (out, expanded) = expand(stream);
        let mut sequence = Sequence::new(Policy::Consumer);
        let checked = out.iter().try_for_each(|event| sequence.check(event)).and(expanded);
        assert_eq!(as_spelled.is_ok(), checked.is_ok(), "{stream:?}");
    }
}
