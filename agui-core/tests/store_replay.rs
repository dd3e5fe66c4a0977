//! What a client that re-attaches is sent of a record.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

use agui_core::chunk::SpelledSequence;
use agui_core::sequence::Policy;
use agui_core::store::replay::{Attachment, Replay};
use agui_core::{
    ActivityMessage, AssistantMessage, Event, Message, ReasoningMessage, RunAgentInput, ToolMessage,
    UserMessage,
};
use serde_json::{Value, json};

fn event(value: Value) -> Event {
    serde_json::from_value(value).unwrap()
}

fn question(id: &str) -> Message {
    UserMessage::new(id, "?").into()
}

fn answer(id: &str) -> Message {
    AssistantMessage::new(id).with_content("!").into()
}

fn started(input: RunAgentInput) -> Event {
    let run = agui_core::RunStartedEvent::new("t", input.run_id.clone());
    run.with_input(Box::new(input)).into()
}

fn finished(run: &str) -> Event {
    event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": run}))
}

fn text(id: &str) -> Vec<Event> {
    vec![
        event(json!({"type": "TEXT_MESSAGE_START", "messageId": id})),
        event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "!"})),
        event(json!({"type": "TEXT_MESSAGE_END", "messageId": id})),
    ]
}

/// A run that answers with one message.
fn run(id: &str, messages: Vec<Message>, reply: &str) -> Vec<Event> {
    [vec![started(RunAgentInput::new("t", id, messages))], text(reply), vec![finished(id)]].concat()
}

fn replay(events: &[Event]) -> (Vec<Event>, Replay) {
    let (mut replay, mut sent) = (Replay::new(), Vec::new());
    for event in events {
        replay.feed(event, &mut sent);
    }
    replay.finish(&mut sent);
    (sent, replay)
}

fn types(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.event_type().as_str()).collect()
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id().as_str()).collect()
}

#[test]
fn runs_that_continue_each_other_are_sent_as_recorded() {
    let one = run("r1", vec![question("q1")], "a1");
    let two = run("r2", vec![question("q1"), answer("a1"), question("q2")], "a2");
    let events = [one, two].concat();
    let (sent, replay) = replay(&events);
    assert_eq!(types(&sent), types(&events));
    assert_eq!(ids(&replay.conversation().to_messages()), ["q1", "a1", "q2", "a2"]);
}

#[test]
fn an_input_shows_no_state_and_no_forwarded_properties_and_always_has_its_lists() {
    let input = RunAgentInput::new("t", "r", [question("q")])
        .with_state(json!({"secret": 1}))
        .with_forwarded_props(json!({"token": "x"}));
    let (sent, _) = replay(&[started(input), finished("r")]);
    let input = &json!(sent[0])["input"];
    assert_eq!(
        *input,
        json!({
            "threadId": "t", "runId": "r", "messages": [json!(question("q"))], "tools": [], "context": []
        })
    );
    assert_eq!(sent[1], event(json!({"type": "STATE_SNAPSHOT", "snapshot": {"secret": 1}})));
}

#[test]
fn an_edited_turn_is_restated_behind_its_start() {
    let one = run("r1", vec![question("q1")], "a1");
    let edited: Message = UserMessage::new("q1", "Something else?").into();
    let two = run("r2", vec![edited.clone()], "a2");
    let (sent, replay) = replay(&[one, two].concat());
    assert_eq!(types(&sent[5..7]), ["RUN_STARTED", "MESSAGES_SNAPSHOT"]);
    assert_eq!(replay.conversation().to_messages(), [edited, answer("a2")]);
}

#[test]
fn messages_put_between_those_known_come_in_the_order_of_the_input() {
    let one = run("r1", vec![question("q1")], "a1");
    let two = run("r2", vec![question("q1"), question("new"), answer("a1")], "a2");
    let (_, replay) = replay(&[one, two].concat());
    assert_eq!(ids(&replay.conversation().to_messages()), ["q1", "new", "a1", "a2"]);
}

#[test]
fn an_input_without_the_reasoning_continues_the_thread() {
    let reasoning: Message = ReasoningMessage::new("think", "hm").into();
    let one = run("r1", vec![question("q1"), reasoning], "a1");
    let two = run("r2", vec![question("q1"), answer("a1"), question("q2")], "a2");
    let (sent, _) = replay(&[one, two].concat());
    assert!(!types(&sent).contains(&"MESSAGES_SNAPSHOT"));
}

/// The ids that are left of a list when a run's input is this one and the run says nothing.
fn left(list: Vec<Message>, input: Vec<Message>) -> Vec<String> {
    let activity = |message: &Message| match message {
        Message::Activity(activity) => {
            let (id, kind) = (&activity.id, &activity.activity_type);
            Some(event(
                json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": kind, "content": {}}),
            ))
        }
        _ => None,
    };
    let mut events = vec![started(RunAgentInput::new("t", "r1", []))];
    for message in list {
        let said = activity(&message);
        events.push(said.unwrap_or_else(|| {
            let mut so_far = replay(&events).1.conversation().to_messages();
            so_far.push(message);
            event(json!({"type": "MESSAGES_SNAPSHOT", "messages": so_far}))
        }));
    }
    events.extend([finished("r1"), started(RunAgentInput::new("t", "r2", input)), finished("r2")]);
    let (sent, replay) = replay(&events);
    let mut reader = agui_core::consumer::Conversation::new();
    for event in &sent {
        reader.apply(event, &mut Vec::new());
    }
    assert_eq!(reader.to_messages(), replay.conversation().to_messages());
    ids(&reader.to_messages()).into_iter().map(str::to_owned).collect()
}

fn thought(id: &str) -> Message {
    ReasoningMessage::new(id, "hm").into()
}

fn plan(id: &str) -> Message {
    ActivityMessage::new(id, "plan", serde_json::Map::new()).into()
}

fn call(id: &str) -> Message {
    let call = event(json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "f"}));
    let mut holder = agui_core::consumer::Conversation::new();
    holder.apply(&call, &mut Vec::new());
    holder.to_messages().remove(0)
}

fn result(id: &str, call: &str) -> Message {
    ToolMessage::new(id, call, "done").into()
}

#[test]
fn reasoning_keeps_its_place_when_results_come_behind_their_calls() {
    let list = vec![question("q"), thought("think"), call("c1"), call("c2")];
    let mut input = list.clone();
    input.insert(3, result("t1", "c1"));
    input.push(result("t2", "c2"));
    assert_eq!(left(list.clone(), input), ["q", "think", "c1", "t1", "c2", "t2"]);
    // The same of a client that sends no reasoning.
    let input = vec![list[0].clone(), call("c1"), result("t1", "c1"), call("c2"), result("t2", "c2")];
    assert_eq!(left(list, input), ["q", "think", "c1", "t1", "c2", "t2"]);
}

#[test]
fn an_activity_stands_behind_the_results_of_the_message_before_it() {
    let list = vec![question("q"), call("c"), plan("p")];
    assert_eq!(left(list, vec![question("q"), call("c"), result("t", "c")]), ["q", "c", "t", "p"]);
}

#[test]
fn what_belongs_to_a_discarded_answer_goes_with_it() {
    let list = || {
        vec![question("q1"), plan("p1"), answer("a1"), question("q2"), thought("h"), answer("a2"), plan("p2")]
    };
    // Asked again.
    assert_eq!(left(list(), vec![question("q1"), answer("a1"), question("q2")]), ["q1", "p1", "a1", "q2"]);
    assert_eq!(left(list(), vec![question("q1")]), ["q1"]);
    // Asked in other words.
    assert_eq!(left(list(), vec![question("q1"), answer("a1"), question("new")]), ["q1", "p1", "a1", "new"]);
    let other: Message = UserMessage::new("q1", "Something else?").into();
    assert_eq!(left(list(), vec![other]), ["q1"]);
    assert!(left(list(), vec![]).is_empty());
    // What stands before a question is not an answer to it.
    let list = vec![question("q1"), answer("a1"), plan("p"), question("q2"), answer("a2")];
    assert_eq!(left(list, vec![question("q1"), answer("a1"), question("new")]), ["q1", "a1", "p", "new"]);
}

#[test]
fn reasoning_that_a_client_leaves_out_beside_other_reasoning_is_gone() {
    let list = vec![question("q"), thought("h1"), answer("a1"), thought("h2"), answer("a2")];
    let input = vec![question("q"), answer("a1"), thought("h2"), answer("a2")];
    assert_eq!(left(list, input), ["q", "a1", "h2", "a2"]);
}

#[test]
fn a_reader_with_an_older_list_is_cleared_before_it_gets_the_whole() {
    let calls = vec![thought("h"), call("c1"), call("c2")];
    let answered = vec![thought("h"), call("c1"), result("t1", "c1"), call("c2"), result("t2", "c2")];
    let recorded = [
        vec![started(RunAgentInput::new("t", "r1", calls.clone())), finished("r1")],
        vec![started(RunAgentInput::new("t", "r2", answered.clone())), finished("r2")],
    ]
    .concat();
    for held in [calls, answered.clone()] {
        let mut attachment = Attachment::new().with_held(held.clone());
        for event in &recorded {
            attachment.record(event);
        }
        let sent = attachment.open();
        let mut reader = agui_core::consumer::Conversation::new();
        reader.set_messages(&held);
        for event in &sent {
            reader.apply(event, &mut Vec::new());
        }
        assert_eq!(reader.to_messages(), answered);
        // Where one snapshot does, there is one.
        let snapshots = types(&sent).iter().filter(|name| **name == "MESSAGES_SNAPSHOT").count();
        assert_eq!(snapshots == 1, held == answered);
    }
}

#[test]
fn a_patch_of_another_state_is_preceded_by_that_state() {
    let patch = event(json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 9}]}));
    let input = RunAgentInput::new("t", "r2", []).with_state(json!({"n": 5, "own": true}));
    let events = [
        started(RunAgentInput::new("t", "r1", []).with_state(json!({"n": 1}))),
        finished("r1"),
        started(input),
        patch.clone(),
        patch,
        finished("r2"),
    ];
    let (sent, replay) = replay(&events);
    assert_eq!(types(&sent[3..6]), ["RUN_STARTED", "STATE_SNAPSHOT", "STATE_DELTA"]);
    assert_eq!(*replay.conversation().state(), json!({"n": 9, "own": true}));
}

#[test]
fn the_state_before_a_subagents_patch_cuts_no_chunks_of_others_short() {
    let said = |delta: &str| event(json!({"type": "TEXT_MESSAGE_CHUNK", "delta": delta}));
    let patch = json!({"type": "STATE_DELTA", "subagentRunId": "red",
        "delta": [{"op": "replace", "path": "/n", "value": 9}]});
    let events = [
        started(RunAgentInput::new("t", "r1", [])),
        finished("r1"),
        started(RunAgentInput::new("t", "r2", []).with_state(json!({"n": 5}))),
        event(json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "one "})),
        event(patch),
        said("two"),
        finished("r2"),
    ];
    let (sent, replay) = replay(&events);
    assert_eq!(*replay.conversation().state(), json!({"n": 9}));
    assert_eq!(replay.conversation().message("m").unwrap().text(), "one two");
    let mut sequence = SpelledSequence::new(Policy::Consumer);
    for event in &sent {
        assert!(sequence.check_spelled(event).is_ok(), "{event:?}");
    }
}

#[test]
fn a_run_without_an_ending_gets_one_before_the_next() {
    let mut one = run("r1", vec![question("q1")], "a1");
    one.pop();
    let two = run("r2", vec![question("q1"), answer("a1"), question("q2")], "a2");
    let (sent, _) = replay(&[one, two].concat());
    assert_eq!(types(&sent[4..6]), ["RUN_ERROR", "RUN_STARTED"]);
}

#[test]
fn a_reader_of_a_thread_at_rest_gets_its_last_run_as_snapshots() {
    let mut attachment = Attachment::new();
    assert!(attachment.open().is_empty());
    for event in run("r1", vec![question("q1")], "a1") {
        attachment.record(&event);
    }
    let sent = attachment.clone().open();
    assert_eq!(types(&sent), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    attachment.record(&started(RunAgentInput::new("t", "r2", [question("q1"), answer("a1")])));
    attachment.record(&event(json!({"type": "STATE_SNAPSHOT", "snapshot": 7})));
    attachment.record(&event(json!({"type": "RUN_ERROR", "message": "no"})));
    let sent = attachment.open();
    assert_eq!(types(&sent), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_ERROR"]);
    assert_eq!(json!(sent[0])["runId"], "r2");
}

#[test]
fn a_reader_of_a_run_in_progress_gets_what_is_open_and_goes_on_with_it() {
    let mut attachment = Attachment::new();
    let recorded = [
        started(RunAgentInput::new("t", "r", [question("q")])),
        event(json!({"type": "STEP_STARTED", "stepName": "plan"})),
        event(json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "one"})),
        event(json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s2", "name": "two"})),
        event(json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s1"})),
        event(json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hel", "metadata": {"k": 1}})),
        event(
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "subagentRunId": "s2"}),
        ),
        event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{", "subagentRunId": "s2"})),
    ];
    for event in &recorded {
        attachment.record(event);
    }
    let sent = attachment.open();
    assert_eq!(
        types(&sent),
        [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "STATE_SNAPSHOT",
            "SUBAGENT_STARTED",
            "SUBAGENT_STARTED",
            "SUBAGENT_FINISHED",
            "STEP_STARTED",
            "TEXT_MESSAGE_START",
            "TOOL_CALL_START",
        ]
    );
    let messages = &json!(sent[1])["messages"];
    assert_eq!(messages[1]["content"], "Hel");
    assert_eq!(messages[2]["toolCalls"][0]["function"]["arguments"], "{");
    // What the message has by now is in the snapshot.
    assert_eq!(json!(sent[7]), json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}));

    let mut live = Vec::new();
    attachment.live(event(json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "lo"})), &mut live);
    attachment.live(event(json!({"type": "STEP_FINISHED", "stepName": "plan"})), &mut live);
    assert_eq!(types(&live), ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED"]);
}

#[test]
fn a_run_that_failed_before_it_began_does_not_end_the_replay_of_the_others() {
    let error = event(json!({"type": "RUN_ERROR", "message": "no"}));
    let one = run("r1", vec![question("q1")], "a1");
    let two = run("r2", vec![question("q1"), answer("a1"), question("q2")], "a2");
    let recorded = [one.clone(), vec![error.clone(), error.clone()], two.clone()].concat();
    assert_eq!(replay(&recorded).0, replay(&[one, two].concat()).0);
    // Where there is nothing else, the failure is what there is to say.
    assert_eq!(types(&replay(&[error.clone(), error.clone()]).0), ["RUN_ERROR"]);

    let mut attachment = Attachment::new();
    for event in run("r1", vec![question("q1")], "a1") {
        attachment.record(&event);
    }
    attachment.record(&error);
    let sent = attachment.open();
    assert_eq!(types(&sent), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
}

#[test]
fn an_open_item_that_a_snapshot_has_dropped_is_not_opened_again() {
    let mut attachment = Attachment::new();
    for event in [
        started(RunAgentInput::new("t", "r", [question("q")])),
        event(json!({"type": "TEXT_MESSAGE_START", "messageId": "m"})),
        event(json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"})),
        event(json!({"type": "STEP_STARTED", "stepName": "plan"})),
        event(json!({"type": "MESSAGES_SNAPSHOT", "messages": [json!(question("q"))]})),
        event(json!({"type": "TEXT_MESSAGE_START", "messageId": "kept"})),
    ] {
        attachment.record(&event);
    }
    let sent = attachment.open();
    let opened = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "STEP_STARTED", "TEXT_MESSAGE_START"];
    assert_eq!(types(&sent), opened);

    let mut live = Vec::new();
    for event in [
        event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "!"})),
        event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"})),
        event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "kept", "delta": "!"})),
        event(json!({"type": "TEXT_MESSAGE_END", "messageId": "m"})),
        event(json!({"type": "TOOL_CALL_END", "toolCallId": "c"})),
        event(json!({"type": "TEXT_MESSAGE_START", "messageId": "m"})),
        event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "!"})),
    ] {
        attachment.live(event, &mut live);
    }
    assert_eq!(types(&live), ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]);
    assert_eq!(json!(live[0])["messageId"], "kept");
}

#[test]
fn an_open_item_that_another_snapshot_brings_back_is_opened_behind_it() {
    let snapshot = |messages: &[Message]| event(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
    let mut attachment = Attachment::new();
    for event in [
        started(RunAgentInput::new("t", "r", [])),
        event(json!({"type": "TEXT_MESSAGE_START", "messageId": "m"})),
        snapshot(&[]),
    ] {
        attachment.record(&event);
    }
    assert_eq!(types(&attachment.open()), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]);
    let mut live = Vec::new();
    attachment.live(snapshot(&[answer("m")]), &mut live);
    attachment
        .live(event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "!"})), &mut live);
    attachment.live(event(json!({"type": "TEXT_MESSAGE_END", "messageId": "m"})), &mut live);
    let sent = ["MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"];
    assert_eq!(types(&live), sent);
}
