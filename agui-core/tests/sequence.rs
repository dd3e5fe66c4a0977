//! The order of events, rule by rule, under both policies.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which fail where the sequence is not what the test says"
)]

use agui_core::sequence::{Notice, OpenKind, Policy, Sequence, SequenceError};
use agui_core::{Event, Message, RunAgentInput, SubagentRunId};

fn event(json: &str) -> Event {
    Event::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn try_all(sequence: &mut Sequence, events: &[&str]) -> Result<(), SequenceError> {
    events.iter().try_for_each(|json| sequence.check(&event(json)))
}

const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r1"}"#;
const START_2: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r2"}"#;
const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}"#;
const ERROR: &str = r#"{"type":"RUN_ERROR","message":"jam"}"#;

const TEXT: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#;
const TEXT_RED: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"red"}"#;
const TEXT_BLUE: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"blue"}"#;
const DELTA: &str = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}"#;
const DELTA_RED: &str =
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"red"}"#;
const DELTA_BLUE: &str =
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"blue"}"#;
const TEXT_END: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
const CALL: &str = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#;
const CALL_END: &str = r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#;
const RESULT: &str = r#"{"type":"TOOL_CALL_RESULT","messageId":"res","toolCallId":"c","content":"ok"}"#;
const SPAN: &str = r#"{"type":"REASONING_START","messageId":"s"}"#;
const SPAN_END: &str = r#"{"type":"REASONING_END","messageId":"s"}"#;
const THOUGHT: &str = r#"{"type":"REASONING_MESSAGE_START","messageId":"s","role":"reasoning"}"#;
const THOUGHT_END: &str = r#"{"type":"REASONING_MESSAGE_END","messageId":"s"}"#;
const AGENT: &str = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"red","name":"scout"}"#;
const AGENT_END: &str = r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"red"}"#;

/// Runs a stream that both policies accept to its end, without a notice.
fn accepted(events: &[&str]) {
    for policy in [Policy::Producer, Policy::Consumer] {
        let mut sequence = Sequence::new(policy);
        try_all(&mut sequence, events).unwrap_or_else(|error| panic!("{policy:?}: {error}"));
        assert_eq!(sequence.take_notices(), []);
    }
}

/// Runs a stream whose last event both policies refuse by the same rule, naming all the words.
fn refused(rule: &str, words: &[&str], events: &[&str]) {
    for policy in [Policy::Producer, Policy::Consumer] {
        refused_by(policy, rule, words, events);
    }
}

fn refused_by(policy: Policy, rule: &str, words: &[&str], events: &[&str]) {
    let (last, before) = events.split_last().unwrap();
    let mut sequence = Sequence::new(policy);
    try_all(&mut sequence, before).unwrap_or_else(|error| panic!("{policy:?}: {error}"));
    let error = sequence.check(&event(last)).expect_err("the last event is accepted");
    assert_eq!((error.rule(), error.event_type()), (rule, event(last).event_type()), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{error} does not name {word}");
    }
}

/// Runs a stream that a producer may not send, and that a consumer accepts with one notice about the last event.
fn noticed(rule: &str, path: &str, events: &[&str]) {
    refused_by(Policy::Producer, rule, &[], events);
    let mut sequence = Sequence::new(Policy::Consumer);
    try_all(&mut sequence, events).unwrap();
    match sequence.take_notices().as_slice() {
        [Notice { rule: found, path: at, .. }] => assert_eq!((*found, *at), (rule, path)),
        other => panic!("{other:?}"),
    }
}

/// Runs a stream whose last event a producer may not send, and that is none of the consumer's business.
fn only_the_producer_is_refused(rule: &str, words: &[&str], events: &[&str]) {
    refused_by(Policy::Producer, rule, words, events);
    let mut sequence = Sequence::new(Policy::Consumer);
    try_all(&mut sequence, events).unwrap();
    assert_eq!(sequence.take_notices(), []);
}

#[test]
fn a_stream_opens_with_run_started_or_run_error() {
    refused("LIFE-1", &["RUN_STARTED"], &[TEXT]);
    refused("LIFE-1", &[], &[FINISH]);
    accepted(&[ERROR, START, FINISH]);
}

#[test]
fn a_run_does_not_start_while_another_is_active() {
    refused("LIFE-2", &["r1"], &[START, START_2]);
}

#[test]
fn a_run_does_not_finish_with_anything_open() {
    let step = r#"{"type":"STEP_STARTED","stepName":"plan"}"#;
    for (open, name) in
        [(TEXT, "m"), (CALL, "c"), (SPAN, "s"), (THOUGHT, "s"), (step, "plan"), (AGENT, "red")]
    {
        refused("LIFE-3", &[&format!("{name:?}")], &[START, open, FINISH]);
    }
}

#[test]
fn every_open_item_is_named_up_to_a_bound() {
    refused("LIFE-3", &["\"m\"", "\"c\"", "\"red\""], &[START, TEXT, CALL, AGENT, FINISH]);

    let mut sequence = Sequence::new(Policy::Consumer);
    sequence.check(&event(START)).unwrap();
    for i in 0..100 {
        let start = agui_core::TextMessageStartEvent::new(format!("{i}-{}", "x".repeat(10_000)));
        sequence.check(&start.into()).unwrap();
    }
    let error = sequence.check(&event(FINISH)).unwrap_err();
    assert!(error.message().ends_with("and 84 more"), "{error}");
    assert!(error.message().len() < 4_000);
}

#[test]
fn interrupts_of_a_run_have_ids_of_their_own() {
    // Built by hand, because the constructor refuses it.
    let twice = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"a"},{"id":"i","reason":"b"}]}}"#;
    noticed("LIFE-4", "/outcome/interrupts", &[START, twice]);
}

#[test]
fn run_error_abandons_what_is_open() {
    accepted(&[START, TEXT, CALL, AGENT, ERROR, START_2, TEXT, TEXT_END, AGENT, AGENT_END]);
}

#[test]
fn after_a_run_only_a_new_run_or_a_late_failure_follows() {
    accepted(&[START, FINISH, ERROR, START_2]);
    refused("LIFE-7", &["finished"], &[START, FINISH, TEXT]);
    refused("LIFE-7", &[], &[START, FINISH, FINISH]);
    refused("LIFE-7", &["RUN_ERROR"], &[START, ERROR, TEXT]);
    refused("LIFE-7", &[], &[START, FINISH, ERROR, ERROR]);
    refused("LIFE-7", &[], &[START, ERROR, FINISH]);
}

#[test]
fn tracking_starts_afresh_with_each_run() {
    accepted(&[START, AGENT, AGENT_END, FINISH, START_2, AGENT, AGENT_END]);
    refused("STREAM-1", &["\"m\""], &[START, TEXT, ERROR, START_2, DELTA]);
}

#[test]
fn the_boundary_events_of_a_run_agree() {
    let other_run = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r9"}"#;
    let other_thread = r#"{"type":"RUN_FINISHED","threadId":"t9","runId":"r1"}"#;
    let other_start = r#"{"type":"RUN_STARTED","threadId":"t9","runId":"r2"}"#;
    noticed("LIFE-9", "/runId", &[START, other_run]);
    noticed("LIFE-9", "/threadId", &[START, other_thread]);
    noticed("LIFE-9", "/threadId", &[START, FINISH, other_start]);
}

#[test]
fn the_requested_run_comes_last() {
    let input = RunAgentInput::new("t", "r1", []);
    let mut producer = Sequence::new(Policy::Producer);
    producer.expect_input(&input);
    try_all(&mut producer, &[START, FINISH]).unwrap();
    assert_eq!(producer.check(&event(START_2)).unwrap_err().rule(), "LIFE-9");

    let mut consumer = Sequence::new(Policy::Consumer);
    consumer.expect_input(&input);
    try_all(&mut consumer, &[START, FINISH]).unwrap();
    consumer.end_of_stream();
    assert_eq!(consumer.take_notices(), []);
    consumer.check(&event(START_2)).unwrap();
    consumer.end_of_stream();
    assert_eq!(consumer.take_notices().len(), 1);
}

#[test]
fn a_run_id_is_used_once() {
    only_the_producer_is_refused("SHAPE-9", &["r1"], &[START, FINISH, START]);
}

#[test]
fn steps_are_matched_by_name_within_their_owner() {
    let plan = r#"{"type":"STEP_STARTED","stepName":"plan"}"#;
    let plan_end = r#"{"type":"STEP_FINISHED","stepName":"plan"}"#;
    let red = r#"{"type":"STEP_STARTED","stepName":"plan","subagentRunId":"red"}"#;
    let red_end = r#"{"type":"STEP_FINISHED","stepName":"plan","subagentRunId":"red"}"#;
    let unnamed = r#"{"type":"STEP_STARTED","stepName":"plan","subagentRunId":""}"#;
    let unnamed_end = r#"{"type":"STEP_FINISHED","stepName":"plan","subagentRunId":""}"#;
    accepted(&[START, plan, red, unnamed, plan_end, plan, red_end, plan_end, unnamed_end, FINISH]);
    refused("LIFE-10", &["plan"], &[START, plan, plan]);
    refused("LIFE-10", &["plan", "red"], &[START, plan, red_end]);
    refused("LIFE-10", &["plan"], &[START, red, plan_end]);
}

#[test]
fn an_item_is_opened_once_at_a_time() {
    for (open, name) in [(TEXT, "\"m\""), (CALL, "\"c\""), (THOUGHT, "\"s\"")] {
        refused("STREAM-1", &[name, "open"], &[START, open, open]);
    }
}

#[test]
fn what_is_not_open_has_neither_content_nor_end() {
    let args = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}"#;
    let thought = r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"s","delta":"hm"}"#;
    for orphan in [DELTA, TEXT_END, args, CALL_END, thought, THOUGHT_END] {
        refused("STREAM-1", &["open"], &[START, orphan]);
    }
    refused("STREAM-1", &["\"m\""], &[START, TEXT, TEXT_END, DELTA]);
}

#[test]
fn items_interleave_and_empty_deltas_are_legal() {
    let empty = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#;
    accepted(&[
        START,
        SPAN,
        THOUGHT,
        TEXT,
        CALL,
        empty,
        THOUGHT_END,
        DELTA,
        CALL_END,
        TEXT_END,
        SPAN_END,
        FINISH,
    ]);
}

#[test]
fn standalone_events_stand_anywhere_inside_a_run() {
    let events = [
        r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#,
        r#"{"type":"STATE_DELTA","delta":[]}"#,
        r#"{"type":"RAW","event":1,"subagentRunId":"never announced"}"#,
        r#"{"type":"CUSTOM","name":"acme.x","value":null}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
        RESULT,
    ];
    for standalone in events {
        accepted(&[START, TEXT, standalone, DELTA, TEXT_END, FINISH]);
        refused("LIFE-1", &[], &[standalone]);
    }
}

#[test]
fn a_closed_item_may_be_opened_again() {
    accepted(&[START, TEXT, TEXT_END, TEXT, DELTA, TEXT_END, CALL, CALL_END, CALL, CALL_END, FINISH]);
    accepted(&[START, THOUGHT, THOUGHT_END, THOUGHT, THOUGHT_END, SPAN, SPAN_END, SPAN, SPAN_END, FINISH]);
}

#[test]
fn a_reopened_message_keeps_role_and_name() {
    let user = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user"}"#;
    let named = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","name":"Skald"}"#;
    let assistant = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#;
    only_the_producer_is_refused("STREAM-4", &["role", "user"], &[START, TEXT, TEXT_END, user]);
    only_the_producer_is_refused("STREAM-4", &["name", "Skald"], &[START, TEXT, TEXT_END, named]);
    only_the_producer_is_refused("STREAM-4", &["name", "Skald"], &[START, named, TEXT_END, TEXT]);
    accepted(&[START, TEXT, TEXT_END, assistant, TEXT_END]);
}

#[test]
fn a_reopened_call_keeps_name_and_parent() {
    let renamed = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"g"}"#;
    let moved = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#;
    noticed("STREAM-4", "/toolCallName", &[START, CALL, CALL_END, renamed]);
    noticed("STREAM-4", "/parentMessageId", &[START, CALL, CALL_END, moved]);
    only_the_producer_is_refused("STREAM-4", &["parentMessageId"], &[START, moved, CALL_END, CALL]);
}

#[test]
fn a_reopening_agrees_with_the_message_of_the_history() {
    let history: Vec<Message> = serde_json::from_str(
        r#"[{"id":"m","role":"user","content":"q"},{"id":"a","role":"assistant","toolCalls":[
            {"id":"c","type":"function","function":{"name":"f","arguments":""}}]}]"#,
    )
    .unwrap();
    let reopened = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"a"}"#;
    let mut sequence = Sequence::new(Policy::Producer);
    sequence.seed(&history);
    sequence.check(&event(START)).unwrap();
    assert_eq!(sequence.check(&event(TEXT)).unwrap_err().rule(), "STREAM-4");
    assert_eq!(sequence.check(&event(CALL)).unwrap_err().rule(), "STREAM-4");
    sequence.check(&event(reopened)).unwrap();
}

#[test]
fn a_producer_gives_an_id_to_one_message() {
    let activity = r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"x","content":{}}"#;
    let thought = r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}"#;
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"ok"}"#;
    for other in [activity, thought, result] {
        only_the_producer_is_refused("SHAPE-9", &["\"m\""], &[START, TEXT, TEXT_END, other]);
    }
    for other in [activity, result] {
        only_the_producer_is_refused("SHAPE-9", &["\"m\""], &[START, other, TEXT]);
    }
    only_the_producer_is_refused("SHAPE-9", &["\"res\""], &[START, CALL, CALL_END, RESULT, RESULT]);
}

#[test]
fn a_call_is_answered_once_its_arguments_are_complete() {
    only_the_producer_is_refused("STREAM-5", &["\"c\""], &[START, CALL, RESULT]);
}

#[test]
fn spans_and_reasoning_messages_have_sets_of_their_own() {
    accepted(&[START, SPAN, THOUGHT, SPAN_END, THOUGHT_END, FINISH]);
    refused("STREAM-7", &["\"s\""], &[START, THOUGHT, SPAN_END]);
    refused("STREAM-7", &["\"s\""], &[START, SPAN, SPAN]);
    refused("STREAM-1", &["\"s\""], &[START, SPAN, THOUGHT_END]);
}

#[test]
fn a_span_and_a_message_of_one_id_do_not_contradict_each_other() {
    let span = r#"{"type":"REASONING_START","messageId":"s","subagentRunId":"red"}"#;
    let span_blue = r#"{"type":"REASONING_START","messageId":"s","subagentRunId":"blue"}"#;
    let blue =
        r#"{"type":"REASONING_MESSAGE_START","messageId":"s","role":"reasoning","subagentRunId":"blue"}"#;
    refused("SUB-3", &["\"s\"", "blue"], &[START, span, blue]);
    refused("SUB-3", &["\"s\"", "red"], &[START, blue, span]);
    refused("STREAM-7", &["\"s\""], &[START, span, span_blue]);
    accepted(&[START, span, THOUGHT, THOUGHT_END, SPAN_END, FINISH]);
}

#[test]
fn an_activity_is_patched_after_its_snapshot() {
    let snapshot = r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{}}"#;
    let delta = r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"y","patch":[]}"#;
    accepted(&[START, snapshot, delta, FINISH, START_2, delta]);
    only_the_producer_is_refused("STATE-11", &["\"a\""], &[START, delta]);
    only_the_producer_is_refused(
        "STATE-11",
        &["\"m\""],
        &[
            START,
            TEXT,
            TEXT_END,
            r#"{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"y","patch":[]}"#,
        ],
    );
}

#[test]
fn a_replacing_activity_snapshot_takes_over_attribution() {
    let red = r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{},"subagentRunId":"red"}"#;
    let none = r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{}}"#;
    let delta =
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"x","patch":[],"subagentRunId":"red"}"#;
    let declined =
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{},"replace":false}"#;
    accepted(&[START, red, delta]);
    refused("SUB-3", &["\"a\"", "red"], &[START, red, none, delta]);
    only_the_producer_is_refused("STATE-7", &["\"a\""], &[START, red, declined]);
    let mut consumer = Sequence::new(Policy::Consumer);
    try_all(&mut consumer, &[START, red, declined, delta]).unwrap();
}

#[test]
fn an_invocation_is_announced_once_in_a_run() {
    refused("SUB-2", &["red", "active"], &[START, AGENT, AGENT]);
    refused("SUB-2", &["red", "ended"], &[START, AGENT, AGENT_END, AGENT]);
    refused("SUB-2", &["red"], &[START, AGENT_END]);
    refused("SUB-2", &["red"], &[START, r#"{"type":"SUBAGENT_ERROR","subagentRunId":"red","message":"x"}"#]);
}

#[test]
fn a_parent_invocation_was_announced_in_this_run() {
    let child =
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"blue","name":"b","parentSubagentRunId":"red"}"#;
    let child_end = r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"blue"}"#;
    accepted(&[START, AGENT, AGENT_END, child, child_end, FINISH]);
    refused("SUB-2", &["blue", "red"], &[START, child]);
    refused("SUB-2", &["red"], &[START, AGENT, AGENT_END, FINISH, START_2, child]);
}

#[test]
fn work_may_be_attributed_before_after_and_without_an_announcement() {
    accepted(&[START, TEXT_RED, DELTA_RED, AGENT, AGENT_END, DELTA_RED, TEXT_END, FINISH]);
}

#[test]
fn a_continuation_agrees_with_the_owner_of_its_opener() {
    accepted(&[START, TEXT_RED, DELTA, DELTA_RED, TEXT_END]);
    refused("SUB-3", &["\"m\"", "subagentRunId", "red", "blue"], &[START, TEXT_RED, DELTA_BLUE]);
    refused("SUB-3", &["\"m\"", "parent agent"], &[START, TEXT, DELTA_RED]);
    let end = r#"{"type":"TOOL_CALL_END","toolCallId":"c","subagentRunId":"blue"}"#;
    refused("SUB-3", &["\"c\""], &[START, CALL, end]);
    let end = r#"{"type":"REASONING_MESSAGE_END","messageId":"s","subagentRunId":"blue"}"#;
    refused("SUB-3", &["\"s\""], &[START, THOUGHT, end]);
    let end = r#"{"type":"REASONING_END","messageId":"s","subagentRunId":"blue"}"#;
    refused("SUB-3", &["\"s\""], &[START, SPAN, end]);
}

#[test]
fn reopening_under_another_owner_is_fatal_within_a_run() {
    accepted(&[START, TEXT_RED, TEXT_END, TEXT_RED, DELTA_RED, TEXT_END]);
    refused("SUB-3", &["\"m\""], &[START, TEXT_RED, TEXT_END, TEXT_BLUE]);
    refused("SUB-3", &["\"m\""], &[START, TEXT, TEXT_END, TEXT_BLUE]);
}

#[test]
fn a_producer_says_whose_item_it_reopens() {
    let owner = &["\"red\"", "parent agent"];
    let red = |event: &str| event.replace('}', r#","subagentRunId":"red"}"#);
    let (call, thought) = (red(CALL), red(THOUGHT));
    only_the_producer_is_refused("STREAM-4", owner, &[START, TEXT_RED, TEXT_END, TEXT]);
    only_the_producer_is_refused("STREAM-4", owner, &[START, &call, CALL_END, CALL]);
    only_the_producer_is_refused("STREAM-4", owner, &[START, &thought, THOUGHT_END, THOUGHT]);
    accepted(&[START, &call, CALL_END, &call, CALL_END, &thought, THOUGHT_END, &thought, THOUGHT_END]);
    // In a message that the subagent owns, a call without a tag is the subagent's (`SUB-4`).
    let carried = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#;
    only_the_producer_is_refused("STREAM-4", owner, &[START, TEXT_RED, TEXT_END, carried, CALL_END, carried]);
}

#[test]
fn for_a_consumer_a_reopening_without_a_tag_continues_the_owner() {
    let mut consumer = Sequence::new(Policy::Consumer);
    try_all(&mut consumer, &[START, TEXT_RED, TEXT_END, TEXT, DELTA_RED]).unwrap();
    let error = consumer.check(&event(DELTA_BLUE)).unwrap_err();
    assert_eq!(error.rule(), "SUB-3");
    assert!(consumer.take_notices().is_empty());
}

#[test]
fn across_runs_the_established_owner_stands() {
    noticed("STREAM-4", "/subagentRunId", &[START, TEXT_RED, TEXT_END, FINISH, START_2, TEXT_BLUE]);
    let mut consumer = Sequence::new(Policy::Consumer);
    try_all(&mut consumer, &[START, TEXT_RED, TEXT_END, FINISH, START_2, TEXT_BLUE, DELTA, DELTA_RED])
        .unwrap();
    assert_eq!(consumer.message_owner(&"m".into()), Some(Some(&"red".into())));
}

#[test]
fn a_call_belongs_to_the_owner_of_the_message_that_carries_it() {
    let call = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#;
    let blue = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","subagentRunId":"blue"}"#;
    let args = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{","subagentRunId":"red"}"#;
    let args_blue = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{","subagentRunId":"blue"}"#;
    accepted(&[START, TEXT_RED, TEXT_END, call, args, CALL_END]);
    refused("SUB-4", &["\"m\"", "\"c\""], &[START, TEXT_RED, TEXT_END, blue]);
    refused("SUB-3", &["\"c\""], &[START, TEXT_RED, TEXT_END, call, args_blue]);
    // A parent that is not there yet is made for the call, with the call's owner.
    accepted(&[START, blue, args_blue, CALL_END, TEXT_BLUE]);
    refused("SUB-3", &["\"m\""], &[START, blue, CALL_END, TEXT_RED]);
}

#[test]
fn only_an_assistant_message_carries_calls() {
    let user = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","subagentRunId":"red"}"#;
    let call = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","subagentRunId":"blue"}"#;
    only_the_producer_is_refused("SUB-4", &["\"m\"", "user"], &[START, user, TEXT_END, call]);
}

#[test]
fn a_text_continues_the_message_made_for_a_call() {
    let text = r#"{"type":"TEXT_MESSAGE_START","messageId":"c","name":"Skald"}"#;
    let blue = r#"{"type":"TEXT_MESSAGE_START","messageId":"c","subagentRunId":"blue"}"#;
    accepted(&[START, CALL, text, CALL_END]);
    refused("SUB-3", &["\"c\""], &[START, CALL, blue]);
}

const SNAPSHOT_RED: &str = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","subagentRunId":"red",
    "toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}]}"#;

#[test]
fn a_snapshot_says_who_owns_its_messages_and_their_calls() {
    accepted(&[START, SNAPSHOT_RED, TEXT_RED, DELTA_RED]);
    only_the_producer_is_refused("STREAM-4", &["\"m\""], &[START, SNAPSHOT_RED, TEXT]);
    refused("SUB-3", &["\"m\"", "subagentRunId"], &[START, SNAPSHOT_RED, TEXT_RED, DELTA_BLUE]);
    refused("SUB-3", &["\"m\""], &[START, SNAPSHOT_RED, TEXT_BLUE]);
    let call = r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","subagentRunId":"blue"}"#;
    refused("SUB-3", &["\"c\""], &[START, SNAPSHOT_RED, call]);
}

#[test]
fn a_snapshot_puts_the_owner_of_an_open_item_right() {
    accepted(&[START, TEXT, SNAPSHOT_RED, DELTA_RED, TEXT_END]);
    refused("SUB-3", &["\"m\""], &[START, TEXT_BLUE, SNAPSHOT_RED, DELTA_BLUE]);
    let args = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{","subagentRunId":"red"}"#;
    accepted(&[START, CALL, SNAPSHOT_RED, args, CALL_END]);
    refused("SUB-3", &["\"c\""], &[START, CALL, args]);
}

#[test]
fn an_item_that_a_snapshot_drops_stays_open() {
    let empty = r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#;
    accepted(&[START, TEXT_RED, CALL, empty, DELTA_RED, TEXT_END, CALL_END, FINISH]);
    refused("LIFE-3", &["\"m\""], &[START, TEXT, empty, FINISH]);
    // The message is gone, so opening its id makes another one.
    accepted(&[START, TEXT_RED, TEXT_END, empty, TEXT_BLUE]);
}

#[test]
fn a_snapshot_keeps_the_activities_it_does_not_speak_of() {
    let activity = r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{}}"#;
    let delta = r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"x","patch":[]}"#;
    let empty = r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#;
    let other = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"b","role":"activity","activityType":"x","content":{}}]}"#;
    accepted(&[START, activity, empty, delta]);
    only_the_producer_is_refused("STATE-11", &["\"a\""], &[START, activity, other, delta]);
}

#[test]
fn an_echoed_input_tells_of_what_nothing_has_claimed() {
    let echo = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r2","input":{"threadId":"t","runId":"r2","messages":[
        {"id":"m","role":"assistant","content":"x","subagentRunId":"red"}]}}"#;
    refused("SUB-3", &["\"m\""], &[echo, TEXT_BLUE]);
    refused("SUB-3", &["\"m\""], &[echo, TEXT_RED, DELTA_BLUE]);
    // The first run's claim stands against the echo.
    accepted(&[START, TEXT_BLUE, TEXT_END, FINISH, echo, TEXT_BLUE]);
}

#[test]
fn an_encrypted_value_does_not_contradict_the_owner_of_its_target() {
    let message = r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m","encryptedValue":"","subagentRunId":"blue"}"#;
    let call = r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c","encryptedValue":"","subagentRunId":"blue"}"#;
    refused("SUB-3", &["\"m\""], &[START, TEXT_RED, message]);
    refused("SUB-3", &["\"c\""], &[START, CALL, call]);
    accepted(&[START, TEXT_BLUE, message, TEXT_END]);
    // Only calls are looked at for a call, and only messages for a message; an unknown target is no violation.
    accepted(&[START, TEXT_RED, call, TEXT_END]);
}

#[test]
fn pending_calls_are_named_exactly_and_in_order() {
    let two = r#"{"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"f"}"#;
    let two_end = r#"{"type":"TOOL_CALL_END","toolCallId":"d"}"#;
    let finish = |ids: &str| {
        format!(
            r#"{{"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":{{"type":"success","pendingToolCallIds":{ids}}}}}"#
        )
    };
    let calls = [START, two, two_end, CALL, CALL_END];
    for wrong in [r#"["d"]"#, r#"["c","d"]"#, "[]", r#"["d","c","e"]"#] {
        let finish = finish(wrong);
        let events: Vec<&str> = calls.into_iter().chain([finish.as_str()]).collect();
        only_the_producer_is_refused("INT-7", &["\"d\", \"c\""], &events);
    }
    let finish = finish(r#"["d","c"]"#);
    accepted(&calls.into_iter().chain([finish.as_str()]).collect::<Vec<_>>());
    accepted(&calls.into_iter().chain([FINISH]).collect::<Vec<_>>());
}

#[test]
fn unanswered_calls_are_those_of_this_run_in_the_order_made() {
    let mut sequence = Sequence::new(Policy::Consumer);
    let mut calls = vec![START.to_owned()];
    for id in ["z", "y", "x", "w"] {
        calls.push(format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"f"}}"#));
        calls.push(format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"{id}"}}"#));
    }
    // Opened again, a call keeps its place.
    calls.push(r#"{"type":"TOOL_CALL_START","toolCallId":"z","toolCallName":"f"}"#.to_owned());
    calls.push(r#"{"type":"TOOL_CALL_RESULT","messageId":"res","toolCallId":"y","content":""}"#.to_owned());
    try_all(&mut sequence, &calls.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    assert_eq!(sequence.unanswered_tool_calls(), ["z", "x", "w"]);

    let answered =
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"q","role":"tool","toolCallId":"x","content":""}]}"#;
    sequence.check(&event(answered)).unwrap();
    assert_eq!(sequence.unanswered_tool_calls(), ["z", "w"]);

    try_all(&mut sequence, &[ERROR, START_2]).unwrap();
    assert!(sequence.unanswered_tool_calls().is_empty());
}

#[test]
fn open_items_come_in_opening_order_and_close_the_other_way_round() {
    let step = r#"{"type":"STEP_STARTED","stepName":"plan","subagentRunId":"red"}"#;
    let mut sequence = Sequence::new(Policy::Producer);
    try_all(&mut sequence, &[START, AGENT, TEXT_RED, step, CALL, SPAN, THOUGHT]).unwrap();
    let red: Option<SubagentRunId> = Some("red".into());
    let items: Vec<_> =
        sequence.open_items().into_iter().map(|item| (item.kind, item.id.to_string(), item.owner)).collect();
    assert_eq!(
        items,
        [
            (OpenKind::Subagent, "red".to_owned(), None),
            (OpenKind::TextMessage, "m".to_owned(), red.clone()),
            (OpenKind::Step, "plan".to_owned(), red),
            (OpenKind::ToolCall, "c".to_owned(), None),
            (OpenKind::ReasoningSpan, "s".to_owned(), None),
            (OpenKind::ReasoningMessage, "s".to_owned(), None),
        ]
    );
    assert!(sequence.has_open_items() && sequence.is_step_open(Some(&"red".into()), "plan"));

    let closing = sequence.close_events();
    assert_eq!(
        closing,
        [
            event(THOUGHT_END),
            event(SPAN_END),
            event(CALL_END),
            event(r#"{"type":"STEP_FINISHED","stepName":"plan","subagentRunId":"red"}"#),
            event(r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"red"}"#),
            event(AGENT_END),
        ]
    );
    for event in &closing {
        sequence.check(event).unwrap();
    }
    sequence.check(&event(FINISH)).unwrap();
    assert!(!sequence.is_active() && sequence.is_over());
}

#[test]
fn an_owner_closes_with_the_invocations_below_it() {
    let child =
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"blue","name":"b","parentSubagentRunId":"red"}"#;
    let child_step = r#"{"type":"STEP_STARTED","stepName":"x","subagentRunId":"blue"}"#;
    let mut sequence = Sequence::new(Policy::Producer);
    try_all(&mut sequence, &[START, CALL, AGENT, TEXT_RED, child, child_step, SPAN]).unwrap();
    let types =
        |events: Vec<Event>| -> Vec<&str> { events.iter().map(|e| e.event_type().as_str()).collect() };
    assert_eq!(types(sequence.close_events_of(Some(&"blue".into()))), ["STEP_FINISHED"]);
    assert_eq!(
        types(sequence.close_events_of(Some(&"red".into()))),
        ["STEP_FINISHED", "SUBAGENT_FINISHED", "TEXT_MESSAGE_END"]
    );
    assert_eq!(sequence.close_events_of(None), sequence.close_events());
}

#[test]
fn questions_are_answered_by_what_is_open() {
    let mut sequence = Sequence::new(Policy::Producer);
    assert!(!sequence.is_active() && !sequence.is_over());
    try_all(&mut sequence, &[START, TEXT, CALL, SPAN, THOUGHT, AGENT]).unwrap();
    assert!(sequence.is_active() && !sequence.is_over());
    assert!(sequence.is_text_open(&"m".into()) && !sequence.is_text_open(&"c".into()));
    assert!(sequence.is_tool_call_open(&"c".into()));
    assert!(sequence.is_reasoning_span_open(&"s".into()) && sequence.is_reasoning_message_open(&"s".into()));
    assert!(sequence.is_subagent_active(&"red".into()));
    assert_eq!(sequence.message_role(&"m".into()), Some(agui_core::Role::Assistant));
    assert_eq!(sequence.tool_call_owner(&"c".into()), Some(None));
    assert_eq!(sequence.run_id(), Some(&"r1".into()));
    sequence.check(&event(ERROR)).unwrap();
    assert!(!sequence.has_open_items() && sequence.is_over());
}

#[test]
fn a_chunk_is_not_judged_unexpanded() {
    refused("CHUNK-1", &[], &[START, r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#]);
}

#[test]
fn long_identifiers_are_cut_in_messages() {
    let long = "ä".repeat(100_000);
    let mut sequence = Sequence::new(Policy::Consumer);
    sequence.check(&event(START)).unwrap();
    let error = sequence.check(&agui_core::TextMessageEndEvent::new(long).into()).unwrap_err();
    assert!(error.to_string().len() < 400, "{}", error.to_string().len());
}
