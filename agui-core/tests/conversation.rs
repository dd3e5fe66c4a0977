//! The fold, rule by rule. Every event passes the sequence's check first, as it does in a consumer.

#![expect(
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers outside of test functions fail their tests too"
)]

use agui_core::consumer::{Change, Conversation, RunStatus};
use agui_core::sequence::{Policy, Sequence};
use agui_core::{Event, Message, RunAgentInput, Warning};
use serde_json::{Value, json};

/// A conversation, the checker of its stream, and the warnings so far.
struct Folded {
    conversation: Conversation,
    sequence: Sequence,
    warnings: Vec<Warning>,
}

impl Folded {
    fn input(input: Value) -> Self {
        let mut input = input;
        for (member, value) in
            [("threadId", json!("t")), ("runId", json!("r")), ("messages", json!([])), ("state", json!({}))]
        {
            input.as_object_mut().unwrap().entry(member).or_insert(value);
        }
        let input: RunAgentInput = serde_json::from_value(input).unwrap();
        let mut sequence = Sequence::new(Policy::Consumer);
        sequence.expect_input(&input);
        Self { conversation: Conversation::from_input(&input), sequence, warnings: Vec::new() }
    }

    /// A run that has started.
    fn run() -> Self {
        let mut folded = Self::input(json!({}));
        folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}));
        folded
    }

    fn event(&mut self, event: Value) -> Change {
        let event: Event = serde_json::from_value(event).unwrap();
        self.sequence.check(&event).unwrap();
        let mut again = self.conversation.clone();
        let mut warned_again = self.warnings.clone();
        let change = self.conversation.apply(&event, &mut self.warnings);
        // By value and by reference are the same.
        assert_eq!(again.apply_owned(event, &mut warned_again), change);
        assert_eq!(warned_again, self.warnings);
        assert_eq!(
            (again.to_messages(), again.state()),
            (self.conversation.to_messages(), self.conversation.state())
        );
        change
    }

    fn events(&mut self, events: Value) {
        for event in events.as_array().unwrap() {
            self.event(event.clone());
        }
    }

    fn finish(&mut self) {
        self.event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}));
    }

    fn messages(&self) -> Value {
        serde_json::to_value(self.conversation.to_messages()).unwrap()
    }

    #[track_caller]
    fn silent(&self) {
        assert_eq!(self.warnings, []);
    }

    /// One warning, of a rule, about an event type, at a path, that names all the words.
    #[track_caller]
    fn warned(&self, rule: &str, event_type: &str, path: &str, words: &[&str]) {
        let [warning] = &self.warnings[..] else { panic!("{:?}", self.warnings) };
        assert_eq!((warning.rule(), warning.event_type(), warning.path()), (rule, Some(event_type), path));
        for word in words {
            assert!(warning.message().contains(word), "{word} is not in {warning}");
        }
    }
}

fn run(events: Value) -> Folded {
    let mut folded = Folded::run();
    folded.events(events);
    folded
}

fn text(id: &str, words: &str) -> Value {
    json!([
        {"type": "TEXT_MESSAGE_START", "messageId": id},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": words},
        {"type": "TEXT_MESSAGE_END", "messageId": id},
    ])
}

// Text and reasoning

#[test]
fn deltas_concatenate_in_order_of_arrival_stream_2() {
    let folded = run(json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "a", "name": "weaver"},
        {"type": "TEXT_MESSAGE_START", "messageId": "b", "role": "user", "subagentRunId": "s"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "wa"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "b", "delta": ""},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "rp"},
        {"type": "TEXT_MESSAGE_END", "messageId": "a"},
    ]));
    assert_eq!(
        folded.messages(),
        json!([
            {"role": "assistant", "id": "a", "content": "warp", "name": "weaver"},
            {"role": "user", "id": "b", "content": "", "subagentRunId": "s"},
        ])
    );
    folded.silent();
}

#[test]
fn every_text_role_gets_a_message_of_its_own_kind_stream_4() {
    for role in ["developer", "system", "assistant", "user"] {
        let folded = run(json!([
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": role, "metadata": {"k": null}},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        ]));
        let expected = json!([{"role": role, "id": "m", "content": "x", "metadata": {"k": null}}]);
        assert_eq!(folded.messages(), expected);
    }
}

#[test]
fn a_reopened_message_keeps_role_and_name_and_grows_stream_4() {
    let mut folded = run(json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user", "name": "Odile"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "one "},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "name": "Odette"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "two"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]));
    folded.finish();
    let expected = json!([{"role": "user", "id": "m", "content": "one two", "name": "Odile"}]);
    assert_eq!(folded.messages(), expected);
    folded.silent();
}

#[test]
fn reasoning_messages_reopen_and_spans_open_no_message_stream_7() {
    let folded = run(json!([
        {"type": "REASONING_START", "messageId": "q"},
        {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning", "subagentRunId": "s"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "q"},
        {"type": "REASONING_END", "messageId": "q"},
        {"type": "REASONING_START", "messageId": "span"},
        {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "m"},
    ]));
    let expected = json!([{"role": "reasoning", "id": "q", "content": "hmm", "subagentRunId": "s"}]);
    assert_eq!(folded.messages(), expected);
    folded.silent();
}

#[test]
fn text_under_the_id_of_another_kind_is_appended_with_one_warning_shape_9() {
    let mut folded = Folded::input(json!({"messages": [
        {"role": "tool", "id": "m", "toolCallId": "c", "content": "21"},
        {"role": "reasoning", "id": "q", "content": "hm"},
    ]}));
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}));
    folded.events(json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": " deg", "metadata": {"k": 1}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "rees"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]));
    folded.warned("SHAPE-9", "TEXT_MESSAGE_START", "/messageId", &["\"m\"", "tool"]);
    assert_eq!(
        folded.messages()[0],
        json!({"role": "tool", "id": "m", "toolCallId": "c", "content": "21 degrees", "metadata": {"k": 1}})
    );
    folded.events(text("q", "m"));
    assert_eq!(folded.warnings.len(), 2);
    assert_eq!(folded.messages()[1], json!({"role": "reasoning", "id": "q", "content": "hmm"}));
}

#[test]
fn reasoning_under_the_id_of_a_text_message_keeps_its_kind_shape_9() {
    let mut folded = run(text("m", "a"));
    folded.events(json!([
        {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "b"},
    ]));
    folded.warned("SHAPE-9", "REASONING_MESSAGE_START", "/messageId", &["\"m\"", "assistant"]);
    assert_eq!(folded.messages(), json!([{"role": "assistant", "id": "m", "content": "ab"}]));
}

#[test]
fn text_under_the_id_of_an_activity_leaves_the_activity_alone_shape_9() {
    let activity =
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "bar", "content": {"p": 1}});
    let mut folded = run(json!([activity]));
    folded.event(json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": {"k": 1}}));
    let change = folded.event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}));
    assert_eq!(change, Change::Nothing);
    folded.warned("SHAPE-9", "TEXT_MESSAGE_START", "/messageId", &["\"m\"", "activity"]);
    let expected = json!([{"role": "activity", "id": "m", "activityType": "bar", "content": {"p": 1}}]);
    assert_eq!(folded.messages(), expected);
}

#[test]
fn text_for_a_list_of_parts_becomes_one_text_part_from_start_to_end_stream_4() {
    let mut folded = Folded::input(json!({"messages": [
        {"role": "user", "id": "m", "content": [{"type": "text", "text": "see", "id": "p"}]},
    ]}));
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}));
    folded.events(json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "th"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "is"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "!"},
    ]));
    assert_eq!(
        folded.messages()[0]["content"],
        json!([
            {"type": "text", "text": "see", "id": "p"},
            {"type": "text", "text": "this"},
            {"type": "text", "text": "!"},
        ])
    );
    folded.silent();
}

// Tool calls

#[test]
fn a_call_collects_its_arguments_on_its_parent_and_reopens_there_stream_4() {
    let mut folded = run(text("m", "Checking"));
    folded.events(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"},
        {"type": "TOOL_CALL_START", "toolCallId": "d", "toolCallName": "look", "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"n\":"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "d", "delta": "not json"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "other", "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "7}"},
    ]));
    // That the name differs is the sequence's to tell.
    folded.silent();
    assert_eq!(folded.sequence.take_notices().len(), 1);
    assert_eq!(
        folded.messages()[0]["toolCalls"],
        json!([
            {"type": "function", "id": "c", "function": {"name": "look", "arguments": "{\"n\":7}"}},
            {"type": "function", "id": "d", "function": {"name": "look", "arguments": "not json"}},
        ])
    );
}

#[test]
fn a_call_without_a_held_parent_gets_a_message_for_it_stream_6() {
    let folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "lone", "toolCallName": "f", "subagentRunId": "s"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "g", "parentMessageId": "host"},
    ]));
    let call =
        |id, name| json!([{"type": "function", "id": id, "function": {"name": name, "arguments": ""}}]);
    assert_eq!(
        folded.messages(),
        json!([
            {"role": "assistant", "id": "lone", "toolCalls": call("lone", "f"), "subagentRunId": "s"},
            {"role": "assistant", "id": "host", "toolCalls": call("c", "g")},
        ])
    );
    folded.silent();
}

#[test]
fn a_text_start_goes_on_with_the_message_a_call_was_given_and_names_it_stream_4() {
    let folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "name": "Skald"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
    ]));
    let messages = folded.messages();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!((&messages[0]["name"], &messages[0]["content"]), (&json!("Skald"), &json!("x")));
    folded.silent();
}

#[test]
fn a_parent_that_carries_no_calls_is_as_none_with_a_warning_sub_4() {
    let mut folded = run(json!([{"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user"}]));
    folded.event(json!({
        "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "u",
    }));
    folded.warned("SUB-4", "TOOL_CALL_START", "/parentMessageId", &["\"u\"", "\"c\"", "user"]);
    assert_eq!(folded.messages()[1]["id"], "c");
}

#[test]
fn a_call_whose_id_is_that_of_a_message_is_kept_beside_it_shape_9() {
    let mut folded = Folded::input(json!({"messages": [{"role": "user", "id": "1", "content": "hi"}]}));
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}));
    folded.events(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": "{}"},
    ]));
    // The two kinds of id are different name spaces: nothing is wrong here.
    folded.silent();
    assert_eq!(folded.messages()[0]["content"], "hi");
    assert_eq!(folded.messages()[1]["toolCalls"][0]["function"]["arguments"], "{}");
}

#[test]
fn a_result_stands_after_its_call_and_the_results_already_there_stream_6() {
    let mut folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_START", "toolCallId": "d", "toolCallName": "f", "parentMessageId": "m"},
    ]));
    folded.events(text("later", "x"));
    folded.events(json!([
        {"type": "TOOL_CALL_RESULT", "messageId": "rd", "toolCallId": "d", "content": "1", "metadata": {"k": 1}},
        {"type": "TOOL_CALL_RESULT", "messageId": "rx", "toolCallId": "unknown", "content": "2"},
        {"type": "TOOL_CALL_RESULT", "messageId": "rc", "toolCallId": "c", "content": "3", "subagentRunId": "s"},
        {"type": "TOOL_CALL_RESULT", "messageId": "rc2", "toolCallId": "c", "content": []},
    ]));
    let ids: Vec<_> = folded.conversation.messages().map(|message| message.id().as_str()).collect();
    assert_eq!(ids, ["m", "rd", "rc", "rc2", "later", "rx"]);
    assert_eq!(
        folded.messages()[1],
        json!({"role": "tool", "id": "rd", "toolCallId": "d", "content": "1", "metadata": {"k": 1}})
    );
    assert_eq!(folded.messages()[2]["subagentRunId"], "s");
    folded.silent();
}

#[test]
fn a_result_under_the_id_of_a_tool_message_replaces_it_with_a_warning_shape_9() {
    let mut folded = run(json!([
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "old"},
    ]));
    folded.events(text("m", "x"));
    folded.silent();
    folded.event(json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "new"}));
    folded.warned("SHAPE-9", "TOOL_CALL_RESULT", "/messageId", &["\"r\""]);
    assert_eq!(folded.messages()[0]["content"], "new");
    assert_eq!(folded.conversation.message_count(), 2);
}

#[test]
fn a_result_under_the_id_of_another_message_is_not_lost_shape_9() {
    let mut folded = run(text("m", "x"));
    folded.event(json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "1"}));
    folded.warned("SHAPE-9", "TOOL_CALL_RESULT", "/messageId", &["\"m\"", "assistant"]);
    folded.event(json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "2"}));
    assert_eq!(folded.messages()[0]["content"], "x");
    assert_eq!(folded.messages()[1]["content"], "2");
    assert_eq!(folded.conversation.message_count(), 2);
}

#[test]
fn a_result_may_have_the_id_that_we_gave_to_the_message_of_its_call_stream_6() {
    let folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "c", "toolCallId": "c", "content": "ok"},
    ]));
    folded.silent();
    let roles: Vec<_> = folded.conversation.messages().map(|message| message.role().as_str()).collect();
    assert_eq!(roles, ["assistant", "tool"]);
    assert_eq!(folded.conversation.message("c").unwrap().text(), "ok");
}

// State

#[test]
fn a_state_snapshot_replaces_whatever_its_kind_state_1() {
    let mut folded = Folded::run();
    assert_eq!(folded.conversation.state(), &json!({}));
    for state in
        [json!({"a": 1}), json!({"b": 2}), json!(null), json!(false), json!(0), json!(""), json!([null])]
    {
        let change = folded.event(json!({"type": "STATE_SNAPSHOT", "snapshot": state, "subagentRunId": "s"}));
        assert_eq!((change, folded.conversation.state()), (Change::StateReplaced, &state));
    }
    folded.silent();
}

#[test]
fn a_delta_applies_to_the_state_of_the_input_wholly_or_not_at_all_state_2() {
    let mut folded = Folded::input(json!({"state": {"a": 1, "list": [1]}}));
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}));
    let delta = json!([{"op": "replace", "path": "/a", "value": 2}]);
    assert_eq!(folded.event(json!({"type": "STATE_DELTA", "delta": delta})), Change::StatePatched);
    folded.silent();
    let delta = json!([
        {"op": "remove", "path": "/list/0"},
        {"op": "replace", "path": "/absent/leaf", "value": 3},
    ]);
    assert_eq!(folded.event(json!({"type": "STATE_DELTA", "delta": delta})), Change::Nothing);
    folded.warned("STATE-3", "STATE_DELTA", "/delta/1", &["replace", "/absent/leaf", "leads nowhere"]);
    assert_eq!(folded.conversation.state(), &json!({"a": 2, "list": [1]}));
}

#[test]
fn a_value_moved_into_itself_does_not_apply_state_4() {
    let mut folded = run(json!([{"type": "STATE_SNAPSHOT", "snapshot": {"a": {"b": 1}}}]));
    folded.event(json!({"type": "STATE_DELTA", "delta": [{"op": "move", "from": "/a", "path": "/a/b"}]}));
    folded.warned("STATE-4", "STATE_DELTA", "/delta/0", &["/a/b"]);
    assert_eq!(folded.conversation.state(), &json!({"a": {"b": 1}}));
}

#[test]
fn a_null_state_that_no_input_could_carry_is_an_empty_one_to_the_producer_state_2() {
    let mut folded = run(json!([{"type": "STATE_SNAPSHOT", "snapshot": null}]));
    folded.event(json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}));
    folded.warned("STATE-3", "STATE_DELTA", "/delta/0", &["/a"]);
    folded.finish();

    folded.warnings.clear();
    folded.conversation.begin(&RunAgentInput::new("t", "r2", []));
    assert_eq!(folded.conversation.state(), &json!(null));
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}));
    folded.event(json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}));
    assert_eq!(folded.conversation.state(), &json!({"a": 1}));
    folded.silent();
}

// Snapshots of messages

#[test]
fn a_snapshot_replaces_in_place_appends_and_drops_state_6() {
    let mut folded = run(text("a", "a"));
    folded.events(text("b", "b"));
    folded.events(text("c", "c"));
    let change = folded.event(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"role": "user", "id": "y", "content": "y"},
        {"role": "assistant", "id": "c", "content": "C"},
        {"role": "user", "id": "x", "content": "x"},
        {"role": "assistant", "id": "a"},
    ]}));
    assert_eq!(change, Change::MessagesReplaced);
    assert_eq!(
        folded.messages(),
        json!([
            {"role": "assistant", "id": "a"},
            {"role": "assistant", "id": "c", "content": "C"},
            {"role": "user", "id": "y", "content": "y"},
            {"role": "user", "id": "x", "content": "x"},
        ])
    );
    folded.silent();
    folded.events(text("a", "again"));
    assert_eq!(folded.conversation.message("a").unwrap().text(), "again");
    assert!(folded.conversation.message("b").is_none());
}

#[test]
fn activity_and_reasoning_stay_unless_the_snapshot_has_any_of_that_role_state_6() {
    let held = json!([
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "act", "activityType": "bar", "content": {}},
        {"type": "REASONING_MESSAGE_START", "messageId": "think", "role": "reasoning"},
        {"type": "TEXT_MESSAGE_START", "messageId": "text"},
    ]);
    let activity = json!({"role": "activity", "id": "act2", "activityType": "bar", "content": {}});
    let reasoning = json!({"role": "reasoning", "id": "think2", "content": ""});
    for (messages, left) in [
        (json!([]), vec!["act", "think"]),
        (json!([activity]), vec!["think", "act2"]),
        (json!([reasoning]), vec!["act", "think2"]),
        (json!([reasoning, activity]), vec!["think2", "act2"]),
    ] {
        let mut folded = run(held.clone());
        folded.event(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
        let ids: Vec<_> = folded.conversation.messages().map(|message| message.id().as_str()).collect();
        assert_eq!(ids, left);
        folded.silent();
    }
}

#[test]
fn of_an_id_twice_in_a_snapshot_the_last_counts_in_the_place_of_the_first_shape_9() {
    let folded = run(json!([{"type": "MESSAGES_SNAPSHOT", "messages": [
        {"role": "user", "id": "a", "content": "1"},
        {"role": "user", "id": "b", "content": "2"},
        {"role": "user", "id": "a", "content": "3"},
    ]}]));
    folded.warned("SHAPE-9", "MESSAGES_SNAPSHOT", "/messages/2", &["\"a\""]);
    let texts: Vec<_> = folded.conversation.messages().map(Message::text).collect();
    assert_eq!(texts, ["3", "2"]);
}

#[test]
fn what_follows_for_an_item_that_a_snapshot_dropped_goes_nowhere_with_one_warning_each_state_6() {
    let mut folded = run(json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "quiet"},
        {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "reasoning", "id": "other", "content": ""}]},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "y"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TEXT_MESSAGE_END", "messageId": "quiet"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "x"},
        {"type": "REASONING_MESSAGE_END", "messageId": "q"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "x"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "x"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]));
    let warned: Vec<_> = folded.warnings.iter().map(|warning| (warning.rule(), warning.path())).collect();
    let (message, call) = (("STATE-6", "/messageId"), ("STATE-6", "/toolCallId"));
    assert_eq!(warned, [message, message, call]);
    assert!(folded.warnings[0].message().contains("\"m\""));
    assert_eq!(folded.conversation.message_count(), 1);
    // Opened anew, it is a message as any other.
    folded.events(text("m", "back"));
    assert_eq!(folded.conversation.message("m").unwrap().text(), "back");
    assert_eq!(folded.warnings.len(), 3);
}

#[test]
fn an_open_call_goes_on_in_the_message_a_snapshot_restates_it_in_state_6() {
    let mut folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "assistant", "id": "m", "toolCalls": [
            {"type": "function", "id": "c", "function": {"name": "f", "arguments": "{"}},
        ]}]},
    ]));
    folded.event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "}"}));
    assert_eq!(folded.conversation.message("m").unwrap().tool_calls()[0].function.arguments, "{}");
    folded.silent();
}

#[test]
fn messages_of_an_echoed_input_that_are_not_held_are_appended_and_its_state_is_not_adopted_sub_8() {
    let held = json!({"role": "user", "id": "u", "content": "mine"});
    let mut folded = Folded::input(json!({"messages": [held], "state": {"a": 1}}));
    let change = folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {
        "threadId": "t", "runId": "r", "state": {"b": 2}, "messages": [
            {"role": "user", "id": "u", "content": "theirs"},
            {"role": "assistant", "id": "n", "content": "new", "subagentRunId": "s"},
        ],
    }}));
    assert_eq!(change, Change::RunStarted { messages_added: 1 });
    let added = json!({"role": "assistant", "id": "n", "content": "new", "subagentRunId": "s"});
    assert_eq!(folded.messages(), json!([held, added]));
    assert_eq!(folded.conversation.state(), &json!({"a": 1}));
    folded.silent();
}

// Activities

#[test]
fn an_activity_is_made_where_it_arrives_and_its_snapshots_take_over_state_7() {
    let mut folded = run(json!([
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "one", "content": {"a": 1},
            "replace": false, "subagentRunId": "s", "metadata": {"m": 1, "n": 1}},
    ]));
    folded.events(text("m", "x"));
    folded.event(
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "two", "content": {"b": 2},
        "replace": false, "metadata": {"n": 2}}),
    );
    let declined = json!({"role": "activity", "id": "a", "activityType": "one", "content": {"a": 1},
        "subagentRunId": "s", "metadata": {"m": 1, "n": 2}});
    assert_eq!(folded.messages()[0], declined);
    folded.event(
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "two", "content": {"b": 2}}),
    );
    let replaced = json!({"role": "activity", "id": "a", "activityType": "two", "content": {"b": 2}, "metadata": {"m": 1, "n": 2}});
    assert_eq!(folded.messages()[0], replaced);
    folded.silent();
}

#[test]
fn an_activity_snapshot_replaces_a_message_of_another_role_with_a_warning_state_7() {
    let mut folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
    ]));
    folded.event(json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "bar", "content": {},
        "replace": false}));
    folded.warned("STATE-7", "ACTIVITY_SNAPSHOT", "/messageId", &["\"m\"", "assistant", "stays"]);
    assert_eq!(folded.messages()[0]["role"], "assistant");

    folded.warnings.clear();
    folded
        .event(json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "bar", "content": {}}));
    folded.warned("STATE-7", "ACTIVITY_SNAPSHOT", "/messageId", &["\"m\"", "replaced"]);
    assert_eq!(
        folded.messages(),
        json!([{"role": "activity", "id": "m", "activityType": "bar", "content": {}}])
    );
    // The call went with the message.
    folded.event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "x"}));
    assert_eq!(folded.warnings.len(), 2);
}

#[test]
fn an_activity_delta_patches_content_and_retypes_state_8() {
    let mut folded = run(json!([
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "one", "content": {"n": 1}},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "two",
            "patch": [{"op": "replace", "path": "/n", "value": 2}]},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "three",
            "patch": [{"op": "replace", "path": "", "value": {"whole": true}}]},
    ]));
    folded.silent();
    let expected =
        json!([{"role": "activity", "id": "a", "activityType": "three", "content": {"whole": true}}]);
    assert_eq!(folded.messages(), expected);
    folded.finish();
}

#[test]
fn an_activity_delta_that_does_not_apply_changes_only_the_metadata_state_8() {
    let held = json!({"role": "activity", "id": "a", "activityType": "one", "content": {"n": 1}, "metadata": {"k": 1}});
    for (patch, rule, path, word) in [
        (
            json!([{"op": "replace", "path": "/n", "value": 2}, {"op": "remove", "path": "/gone"}]),
            "STATE-3",
            "/patch/1",
            "/gone",
        ),
        (json!([{"op": "replace", "path": "", "value": [1]}]), "STATE-8", "/patch", "object"),
        (json!([{"op": "remove", "path": ""}]), "STATE-8", "/patch", "object"),
        (json!([{"op": "copy", "from": "/n", "path": ""}]), "STATE-8", "/patch", "object"),
        (
            json!([{"op": "add", "path": "", "value": 1}, {"op": "test", "path": "", "value": 2}]),
            "STATE-3",
            "/patch/1",
            "test",
        ),
    ] {
        let mut folded = run(json!([
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "one", "content": {"n": 1}},
        ]));
        folded
            .event(json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "two", "patch": patch,
            "metadata": {"k": 1}}));
        folded.warned(rule, "ACTIVITY_DELTA", path, &["\"a\"", word]);
        assert_eq!(folded.messages(), json!([held]));
    }
}

#[test]
fn an_activity_delta_without_its_activity_is_skipped_with_a_warning_state_8() {
    let delta = |id| json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": "x", "patch": [], "metadata": {"k": 1}});
    let mut folded = run(text("m", "x"));
    folded.event(delta("none"));
    folded.warned("STATE-8", "ACTIVITY_DELTA", "/messageId", &["\"none\""]);
    folded.warnings.clear();
    folded.event(delta("m"));
    folded.warned("STATE-8", "ACTIVITY_DELTA", "/messageId", &["\"m\"", "assistant"]);
    assert_eq!(folded.messages(), json!([{"role": "assistant", "id": "m", "content": "x"}]));
}

// Metadata and encrypted values

#[test]
fn metadata_merges_per_key_from_every_event_of_a_message_meta_1() {
    let folded = run(json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": {"trace": {"a": 1}, "k": 1}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x", "metadata": {"trace": {"b": 2}}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "metadata": {}},
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"end": null}},
        {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning", "metadata": {"a": 1}},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "", "metadata": {"a": 2}},
        {"type": "REASONING_MESSAGE_END", "messageId": "q", "metadata": {"b": 3}},
    ]));
    assert_eq!(folded.messages()[0]["metadata"], json!({"trace": {"b": 2}, "k": 1, "end": null}));
    assert_eq!(folded.messages()[1]["metadata"], json!({"a": 2, "b": 3}));
    folded.silent();
}

#[test]
fn metadata_of_a_call_lands_on_the_call_and_of_others_nowhere_meta_2() {
    let folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m", "metadata": {"a": 1}},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "", "metadata": {"a": 2}},
        {"type": "TOOL_CALL_END", "toolCallId": "c", "metadata": {"b": 3}},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "metadata": {"d": 4}},
        {"type": "STEP_STARTED", "stepName": "s", "metadata": {"x": 1}},
        {"type": "REASONING_START", "messageId": "m", "metadata": {"x": 1}},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v", "metadata": {"x": 1}},
    ]));
    let message = &folded.messages()[0];
    assert_eq!(message["toolCalls"][0]["metadata"], json!({"a": 2, "b": 3, "d": 4}));
    assert_eq!(message.get("metadata"), None);
    folded.silent();
}

#[test]
fn encrypted_values_are_kept_on_what_they_name_the_last_one_counts_int_5() {
    let value = |subtype, entity, value| json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": entity, "encryptedValue": value});
    let mut folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "x"},
        value("message", "c", "m1"),
        value("tool-call", "c", "c1"),
        value("tool-call", "c", ""),
        value("message", "r", " {\"not\":\"parsed\"} "),
    ]));
    folded.silent();
    let messages = folded.messages();
    assert_eq!(messages[0]["encryptedValue"], "m1");
    assert_eq!(messages[0]["toolCalls"][0]["encryptedValue"], "");
    assert_eq!(messages[1]["encryptedValue"], " {\"not\":\"parsed\"} ");
    // A snapshot that leaves it out has withdrawn it (INT-6).
    folded.event(json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "tool", "id": "r", "toolCallId": "c", "content": "x"}]}));
    assert_eq!(folded.messages()[0].get("encryptedValue"), None);
}

#[test]
fn an_encrypted_value_without_its_target_is_dropped_with_a_warning_int_5() {
    for (subtype, entity) in
        [("message", "none"), ("tool-call", "m"), ("message", "act"), ("message", "call")]
    {
        let mut folded = run(text("m", "x"));
        folded.events(json!([
            {"type": "TOOL_CALL_START", "toolCallId": "call", "toolCallName": "f", "parentMessageId": "m"},
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "act", "activityType": "bar", "content": {}},
        ]));
        let before = folded.messages();
        folded.event(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": entity, "encryptedValue": "secret"}));
        folded.warned("INT-5", "REASONING_ENCRYPTED_VALUE", "/entityId", &[&format!("{entity:?}")]);
        assert!(!folded.warnings[0].to_string().contains("secret"));
        assert_eq!(folded.messages(), before);
    }
}

// Runs and interrupts

#[test]
fn each_run_is_told_apart_by_how_it_ended_life_4() {
    for (outcome, status) in [
        (json!(null), RunStatus::Success),
        (json!({"type": "success"}), RunStatus::Success),
        (json!({"type": "cancelled"}), RunStatus::Cancelled),
        (json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "ok?"}]}), RunStatus::Interrupted),
    ] {
        let mut folded = run(json!([{"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"}]));
        assert_eq!(folded.conversation.run_status(), RunStatus::Unended);
        let mut end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": 0, "usage": [{"inputTokens": 0}]});
        if !outcome.is_null() {
            end["outcome"] = outcome;
        }
        assert_eq!(folded.event(end), Change::RunFinished);
        let run = folded.conversation.last_run().unwrap();
        assert_eq!((run.status, &run.result), (status, &Some(json!(0))));
        assert_eq!(run.usage.as_ref().unwrap()[0].input_tokens, Some(0));
        // A cancelled run leaves nothing to answer (INT-1), an interrupted one is derived as a success is (INT-7).
        let pending = if status == RunStatus::Cancelled { vec![] } else { vec!["c"] };
        assert_eq!(folded.conversation.pending_tool_call_ids(), pending);
        folded.silent();
    }
}

#[test]
fn a_run_that_fails_keeps_what_it_delivered_life_6() {
    let mut folded = run(json!([{"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "half"}]));
    assert_eq!(
        folded.event(json!({"type": "RUN_ERROR", "message": "cable cut", "code": "CUT"})),
        Change::RunFailed
    );
    let run = folded.conversation.last_run().unwrap();
    let failure = run.failure.as_ref().unwrap();
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("cable cut", Some("CUT")));
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(folded.conversation.message("m").unwrap().text(), "half");
    folded.silent();
}

#[test]
fn a_late_failure_fails_the_run_that_had_finished_life_7() {
    let mut folded = Folded::run();
    folded.event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": "kept"}));
    folded.event(json!({"type": "RUN_ERROR", "message": "flush failed"}));
    assert_eq!(folded.conversation.runs().len(), 1);
    let run = folded.conversation.last_run().unwrap();
    assert_eq!((run.status, &run.result), (RunStatus::Failed, &Some(json!("kept"))));
}

#[test]
fn a_stream_that_opens_with_a_failure_has_a_run_without_a_name_life_1() {
    let mut folded = Folded::input(json!({}));
    assert_eq!(folded.conversation.last_run(), None);
    folded.event(json!({"type": "RUN_ERROR", "message": "offline"}));
    let run = folded.conversation.last_run().unwrap();
    assert_eq!((run.status, &run.run_id), (RunStatus::Failed, &None));
}

#[test]
fn a_stream_that_breaks_off_leaves_its_run_without_an_ending_life_11() {
    let folded = run(json!([{"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}]));
    assert_eq!(folded.conversation.run_status(), RunStatus::Unended);
    assert_eq!(folded.conversation.run_status().as_str(), "none");
    assert_eq!(folded.conversation.pending_tool_call_ids(), <[&str; 0]>::default());
}

#[test]
fn runs_follow_each_other_and_messages_and_state_accumulate_life_8() {
    let mut folded = run(text("a", "one"));
    folded.event(json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}));
    folded.finish();
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "parentRunId": "p", "protocolVersion": "1.0"}));
    folded.events(text("b", "two"));
    folded.event(json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]}));
    folded.event(json!({"type": "RUN_ERROR", "message": "x"}));
    assert_eq!(folded.conversation.message_count(), 2);
    assert_eq!(folded.conversation.state(), &json!({"n": 2}));
    let runs: Vec<_> = folded
        .conversation
        .runs()
        .iter()
        .map(|run| (run.run_id.as_ref().unwrap().as_str(), run.status))
        .collect();
    assert_eq!(runs, [("r", RunStatus::Success), ("r2", RunStatus::Failed)]);
    assert_eq!(folded.conversation.runs()[1].parent_run_id, Some("p".into()));
    folded.silent();
}

#[test]
fn pending_calls_are_those_named_else_those_started_and_unanswered_int_7() {
    let calls = json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_END", "toolCallId": "c2"},
        {"type": "TOOL_CALL_START", "toolCallId": "c3", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_END", "toolCallId": "c3"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r2", "toolCallId": "c2", "content": "ok"},
    ]);
    for (named, expected) in [
        (json!({"type": "success"}), vec!["c1", "c3"]),
        (json!({"type": "success", "pendingToolCallIds": []}), vec!["c1", "c3"]),
        (json!({"type": "success", "pendingToolCallIds": ["odd", "c2"]}), vec!["odd", "c2"]),
    ] {
        let mut folded = run(calls.clone());
        folded.event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": named}));
        assert_eq!(folded.conversation.pending_tool_call_ids(), expected);
        folded.silent();
        // The next run has none of them.
        folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}));
        folded.event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r2"}));
        assert_eq!(folded.conversation.pending_tool_call_ids(), <[&str; 0]>::default());
    }
}

#[test]
fn a_result_in_a_snapshot_answers_a_call_of_the_run_int_7() {
    let mut folded = run(json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "tool", "id": "x", "toolCallId": "c", "content": "ok"}]},
    ]));
    folded.finish();
    assert_eq!(folded.conversation.pending_tool_call_ids(), <[&str; 0]>::default());
}

#[test]
fn interrupts_stay_pending_until_a_later_run_finishes_int_2() {
    let ids = |folded: &Folded| -> Vec<String> {
        folded
            .conversation
            .open_interrupts()
            .iter()
            .map(|interrupt| interrupt.id.as_str().to_owned())
            .collect()
    };
    let mut folded = Folded::run();
    folded.event(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome":
        {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ok?"}]}}));
    assert_eq!(ids(&folded), ["i"]);
    folded.event(json!({"type": "RUN_ERROR", "message": "late"}));
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}));
    folded.event(json!({"type": "RUN_ERROR", "message": "x"}));
    // Truncated, and another stream begun.
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r3"}));
    folded.conversation.begin(&RunAgentInput::new("t", "r4", []));
    folded.sequence = Sequence::new(Policy::Consumer);
    folded.event(json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r4"}));
    assert_eq!(ids(&folded), ["i"]);
    folded.event(
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r4", "outcome": {"type": "cancelled"}}),
    );
    assert_eq!(ids(&folded), <[&str; 0]>::default());
    folded.silent();
}

// Exchanges

#[test]
fn an_exchange_begins_with_the_inputs_messages_and_keeps_the_activities_state_9() {
    let mut folded = run(text("a", "one"));
    folded.event(
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "act", "activityType": "bar", "content": {}}),
    );
    folded.events(text("b", "two"));
    folded.finish();
    let input: RunAgentInput =
        serde_json::from_value(json!({"threadId": "t", "runId": "r2", "state": 5, "messages": [
            {"role": "assistant", "id": "a", "content": "ONE"},
            {"role": "user", "id": "u", "content": "three"},
        ]}))
        .unwrap();
    folded.conversation.begin(&input);
    let ids: Vec<_> = folded.conversation.messages().map(|message| message.id().as_str()).collect();
    assert_eq!(ids, ["a", "act", "u"]);
    assert_eq!(folded.conversation.message("a").unwrap().text(), "ONE");
    assert_eq!(folded.conversation.state(), &json!(5));
    // No run of this exchange has begun, but the one before is not forgotten.
    assert_eq!(folded.conversation.run_status(), RunStatus::Unended);
    assert_eq!(folded.conversation.runs().len(), 1);
}

#[test]
fn the_application_adds_and_replaces_messages_input_8() {
    let mut folded = run(json!([{"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}]));
    folded.events(text("m", "x"));
    let result: Message =
        serde_json::from_value(json!({"role": "tool", "id": "r", "toolCallId": "c", "content": "1"}))
            .unwrap();
    folded.conversation.push_message(result);
    let edited: Message =
        serde_json::from_value(json!({"role": "user", "id": "m", "content": "edited"})).unwrap();
    folded.conversation.push_message(edited.clone());
    let ids: Vec<_> = folded.conversation.messages().map(|message| message.id().as_str()).collect();
    assert_eq!(ids, ["c", "r", "m"]);
    folded.conversation.set_messages(&[edited]);
    assert_eq!(folded.messages(), json!([{"role": "user", "id": "m", "content": "edited"}]));
}

#[test]
fn custom_raw_steps_and_subagents_change_nothing_pass_1() {
    let mut folded = Folded::run();
    for event in [
        json!({"type": "RAW", "event": {"type": "TEXT_MESSAGE_START"}}),
        json!({"type": "CUSTOM", "name": "x", "value": null}),
        json!({"type": "STEP_STARTED", "stepName": "s"}),
        json!({"type": "STEP_FINISHED", "stepName": "s"}),
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}),
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": 1}),
        json!({"type": "REASONING_START", "messageId": "q"}),
        json!({"type": "REASONING_END", "messageId": "q"}),
    ] {
        assert_eq!(folded.event(event), Change::Nothing);
    }
    assert_eq!(folded.messages(), json!([]));
    folded.silent();
}

/// Otherwise a flood of small patches costs what the content is long, every time.
#[test]
fn state_8_a_patch_that_leaves_no_object_copies_nothing() {
    let mut folded = Folded::run();
    let content = json!({"log": "x".repeat(1_000_000)});
    folded.event(
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "P", "content": content}),
    );
    let root = json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "P",
        "patch": [{"op": "add", "path": "/new", "value": 1}, {"op": "replace", "path": "", "value": []}]});
    let root: Event = serde_json::from_value(root).unwrap();
    let Folded { conversation, warnings, .. } = &mut folded;
    let used = allocation_counter::measure(|| {
        conversation.apply(&root, warnings);
    });
    assert!(used.bytes_max < 100_000, "{} bytes", used.bytes_max);
    assert_eq!(folded.warnings[0].rule(), "STATE-8");
    let Some(Message::Activity(held)) = folded.conversation.message("a") else { panic!("no activity") };
    assert_eq!(Value::Object(held.content.clone()), content);
}

#[test]
fn a_result_stands_behind_those_that_a_snapshot_has_restated() {
    let mut folded = Folded::run();
    folded.events(json!([
        {"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "a", "role": "assistant", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"id": "r1", "role": "tool", "toolCallId": "c", "content": "1"},
            {"id": "u", "role": "user", "content": "q"}]},
        {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "r2", "content": "2"},
    ]));
    let ids: Vec<_> =
        folded.conversation.messages().map(|message| message.id().as_str().to_owned()).collect();
    assert_eq!(ids, ["a", "r1", "r2", "u"]);
}
