//! The envelope of events (`SHAPE`, `PASS`).

use serde_json::{Value, json};

use crate::{in_a_run, messages, quiet, refused, stream};

#[test]
fn names_are_camel_case_and_another_spelling_is_another_member() {
    // SHAPE-1: the member that is meant is missing, whatever stands in its place.
    refused("PROC-5", &json!([{"type": "TEXT_MESSAGE_START", "message_id": "m"}]));
}

#[test]
fn a_null_is_data_where_any_json_is_required_and_may_not_be_left_out() {
    // SHAPE-1
    let events = json!([
        {"type": "CUSTOM", "name": "n", "value": null},
        {"type": "RAW", "event": null},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": null}]},
        {"type": "STATE_SNAPSHOT", "snapshot": null},
    ]);
    let (seen, conversation) = quiet(&events);
    assert_eq!(json!(seen.events), in_a_run(&events));
    assert_eq!(*conversation.state(), Value::Null);
    for (event, member) in [(0, "value"), (1, "event"), (3, "snapshot")] {
        let mut event = events[event].clone();
        event.as_object_mut().unwrap().remove(member);
        refused("PROC-5", &json!([event]));
    }
    refused("PROC-5", &json!([{"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a"}]}]));
}

#[test]
fn open_objects_are_kept_as_sent_with_their_nulls_and_without_a_warning() {
    // SHAPE-2
    let open = json!({"type": "NOVEL", "a": null, "b": [{"c": null}], "ag-ui": {"x": 1}});
    let events = json!([
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": open},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": open, "because": null}]},
        {"type": "STEP_STARTED", "stepName": "s", "metadata": open, "rawEvent": open},
        {"type": "STEP_FINISHED", "stepName": "s"},
    ]);
    let (seen, conversation) = quiet(&events);
    assert_eq!(json!(seen.events), in_a_run(&events));
    assert_eq!(conversation.state()["a"], open);
    assert_eq!(messages(&conversation)[0]["content"], open);

    let interrupt = json!({"id": "i", "reason": "confirm", "responseSchema": open, "metadata": open});
    let stopped = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
        "outcome": {"type": "interrupt", "interrupts": [interrupt]}});
    let (seen, conversation) = stream(&json!([crate::started("r"), stopped]));
    assert_eq!((&seen.events[1], seen.warnings.len()), (&stopped, 0));
    assert_eq!(json!(conversation.open_interrupts()), json!([interrupt]));
}

#[test]
fn an_empty_identifier_is_one_and_not_the_same_as_none() {
    // SHAPE-4
    let (_, conversation) = quiet(&json!(crate::text("", "hi")));
    assert_eq!(messages(&conversation), json!([{"id": "", "role": "assistant", "content": "hi"}]));
    refused(
        "SUB-3",
        &json!([
            {"type": "TEXT_MESSAGE_START", "messageId": "m"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x", "subagentRunId": ""},
        ]),
    );
}

#[test]
fn every_type_of_event_is_accepted_without_a_warning() {
    // SHAPE-5
    let mut events: Vec<Value> = vec![
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"}),
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}),
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "z", "name": "scout"}),
        json!({"type": "SUBAGENT_ERROR", "subagentRunId": "z", "message": "lost"}),
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "tc", "delta": "x"}),
        json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "cc", "toolCallName": "f", "delta": "{}"}),
        json!({"type": "REASONING_MESSAGE_CHUNK", "messageId": "rc", "delta": "x"}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "tr", "toolCallId": "c", "content": "ok"}),
        json!({"type": "REASONING_START", "messageId": "q"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "hm"}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "q"}),
        json!({"type": "REASONING_END", "messageId": "q"}),
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "q", "encryptedValue": "e"}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": {}}),
        json!({"type": "STATE_DELTA", "delta": []}),
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}}),
        json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": []}),
        json!({"type": "STEP_STARTED", "stepName": "p"}),
        json!({"type": "STEP_FINISHED", "stepName": "p"}),
        json!({"type": "RAW", "event": 1}),
        json!({"type": "CUSTOM", "name": "n", "value": 1}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": []}),
    ];
    events.extend(crate::text("m", "x"));
    let mut all = in_a_run(&json!(events));
    all.as_array_mut().unwrap().push(json!({"type": "RUN_ERROR", "message": "late"}));
    let (seen, _) = stream(&all);
    assert_eq!((&seen.words[..], seen.error.is_none()), ("", true));
    let sent: std::collections::BTreeSet<&str> =
        all.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(sent.len(), agui_core::EventType::ALL.len());
}

#[test]
fn events_are_ordered_by_arrival_whatever_their_stamps_say() {
    // SHAPE-7
    let mut events = text_with_stamps([5, 5, -9_007_199_254_740_991]);
    events
        .insert(2, json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "b", "timestamp": -1}));
    let (seen, conversation) = quiet(&json!(events));
    assert_eq!(json!(seen.events), in_a_run(&json!(events)));
    assert_eq!(messages(&conversation)[0]["content"], "ab");
}

fn text_with_stamps(stamps: [i64; 3]) -> Vec<Value> {
    let mut events = crate::text("m", "a");
    for (event, stamp) in events.iter_mut().zip(stamps) {
        event["timestamp"] = stamp.into();
    }
    events.into()
}

#[test]
fn the_providers_own_event_is_delivered_whole_and_does_nothing() {
    // SHAPE-8, PASS-1
    let foreign = json!({"type": "RUN_ERROR", "message": "boom", "nested": [null, {"type": "NOVEL"}]});
    let mut events = crate::text("m", "a").to_vec();
    events[1]["rawEvent"] = foreign.clone();
    events.push(json!({"type": "RAW", "event": foreign, "source": "llm"}));
    events.push(json!({"type": "RAW", "event": crate::text("other", "x")}));
    let (seen, conversation) = quiet(&json!(events));
    assert_eq!(json!(seen.events), in_a_run(&json!(events)));
    assert_eq!(messages(&conversation), json!([{"id": "m", "role": "assistant", "content": "a"}]));
    assert_eq!(conversation.run_status().as_str(), "success");
}

#[test]
fn a_custom_event_of_any_name_is_ignored_without_a_warning() {
    // PASS-2
    let events = json!([
        {"type": "CUSTOM", "name": "acme.unheard-of", "value": {"a": [null]}},
        {"type": "CUSTOM", "name": "", "value": false},
    ]);
    let (seen, conversation) = quiet(&events);
    assert_eq!(json!(seen.events), in_a_run(&events));
    assert_eq!((conversation.message_count(), conversation.state()), (0, &json!({})));
    refused("PROC-5", &json!([{"type": "CUSTOM", "value": 1}]));
}
