//! State and messages as snapshots and patches make them (`STATE`).

use agui_core::consumer::Session;
use serde_json::{Value, json};

use crate::{exchange, in_a_run, messages, quiet, refused};

#[test]
fn a_snapshot_replaces_the_state_whatever_it_is() {
    // STATE-1
    for state in [Value::Null, json!(false), json!(0), json!(""), json!([]), json!({"b": null})] {
        let (_, conversation) = quiet(&json!([
            {"type": "STATE_SNAPSHOT", "snapshot": {"a": {"kept": false}}},
            {"type": "STATE_SNAPSHOT", "snapshot": state},
        ]));
        assert_eq!(*conversation.state(), state);
    }
}

#[test]
fn a_delta_is_a_patch_on_the_inputs_state() {
    // STATE-2: with the names of a pointer decoded in the right order, and the whole value under the empty one.
    let mut session = Session::new();
    let mut asked = crate::input();
    asked["state"] = json!({"~1": {"x": [1, 2]}, "a/b": 0, "": "empty"});
    let stream = in_a_run(&json!([
        {"type": "STATE_DELTA", "delta": [
            {"op": "test", "path": "/~01/x/0", "value": 1.0},
            {"op": "copy", "from": "/~01/x", "path": "/copied"},
            {"op": "add", "path": "/copied/-", "value": 3},
            {"op": "remove", "path": "/~01/x/0"},
            {"op": "move", "from": "/", "path": "/named"},
            {"op": "replace", "path": "/a~1b", "value": null},
        ]},
    ]));
    let seen = exchange(&mut session, asked, &stream);
    assert_eq!(seen.words, "");
    let state = json!({"~1": {"x": [2]}, "copied": [1, 2, 3], "named": "empty", "a/b": null});
    assert_eq!(*session.conversation().state(), state);
    let (_, conversation) =
        quiet(&json!([{"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "", "value": 5}]}]));
    assert_eq!(*conversation.state(), json!(5));
}

#[test]
fn a_patch_applies_as_a_whole_or_not_at_all() {
    // STATE-2, STATE-3: no parent is made on the way, and the run goes on.
    let mut session = Session::new();
    let stream = in_a_run(&json!([
        {"type": "STATE_DELTA", "delta": [
            {"op": "add", "path": "/a", "value": 1},
            {"op": "add", "path": "/missing/b", "value": 1},
        ]},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/c", "value": 1}]},
    ]));
    let seen = exchange(&mut session, crate::input(), &stream);
    assert_eq!((seen.warnings.len(), seen.events.len()), (1, 4), "{}", seen.words);
    assert!(seen.words.contains("/missing"), "{}", seen.words);
    assert_eq!(*session.conversation().state(), json!({"c": 1}));
    refused("STATE-3", &json!([{"type": "STATE_DELTA", "delta": [{"op": "add", "path": "a", "value": 1}]}]));
    refused("PROC-5", &json!([{"type": "STATE_DELTA", "delta": {"op": "remove", "path": "/a"}}]));
}

#[test]
fn a_subagents_state_events_change_the_one_state() {
    // STATE-5
    let (_, conversation) = quiet(&json!([
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}, "subagentRunId": "s"},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 2}], "subagentRunId": "z"},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/c", "value": 3}]},
    ]));
    assert_eq!(*conversation.state(), json!({"a": 1, "b": 2, "c": 3}));
}

#[test]
fn a_snapshot_is_adopted_whatever_was_skipped_before_and_a_null_state_is_not_sent() {
    // STATE-10
    let mut session = Session::new();
    let stream = in_a_run(&json!([
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/none"}]},
        {"type": "ACTIVITY_DELTA", "messageId": "none", "activityType": "plan", "patch": []},
        {"type": "STATE_SNAPSHOT", "snapshot": null},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "none", "activityType": "plan", "content": {"a": 1}},
    ]));
    let seen = exchange(&mut session, crate::input(), &stream);
    assert_eq!(seen.warnings.len(), 2, "{}", seen.words);
    assert_eq!(*session.conversation().state(), Value::Null);
    assert_eq!(messages(session.conversation())[0]["content"], json!({"a": 1}));

    let next = agui_core::consumer::prepare::next_input(session.conversation(), "t", "r2");
    let sent = session.send(next, crate::NOW_MS).unwrap();
    assert_eq!(json!(sent.request()).get("state"), None);
}
