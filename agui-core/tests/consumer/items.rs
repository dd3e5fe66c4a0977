//! Text, reasoning, tool calls, their compact spelling and their metadata (`STREAM`, `CHUNK`, `META`).

use serde_json::{Value, json};

use crate::{messages, quiet, refused, text};

#[test]
fn deltas_are_put_together_exactly_in_the_order_of_arrival() {
    // STREAM-2
    let deltas = ["  a", "", "\n\n", "e\u{301}", "\"\\", "\u{200d}👩", " "];
    let mut events = vec![json!({"type": "TEXT_MESSAGE_START", "messageId": "m"})];
    events.extend(
        deltas.map(|delta| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta})),
    );
    events.push(json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}));
    let (seen, conversation) = quiet(&json!(events));
    assert_eq!(messages(&conversation)[0]["content"], deltas.concat());
    assert_eq!(seen.events.len(), events.len() + 2);
}

#[test]
fn items_interleave_and_what_stands_alone_may_stand_anywhere() {
    // STREAM-3
    let alone = [
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]}),
        json!({"type": "CUSTOM", "name": "n", "value": 1}),
        json!({"type": "RAW", "event": 1}),
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}}),
    ];
    let items = [
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"}),
        json!({"type": "REASONING_START", "messageId": "q"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "user"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "n", "delta": "N"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "Q"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "M"}),
        json!({"type": "REASONING_END", "messageId": "q"}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "q"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "n"}),
    ];
    let all: Vec<Value> =
        items.iter().flat_map(|item| std::iter::once(item).chain(&alone)).cloned().collect();
    let (seen, conversation) = quiet(&json!(all));
    assert_eq!(seen.events.len(), all.len() + 2);
    assert_eq!(
        messages(&conversation),
        json!([
            {"id": "m", "role": "assistant", "content": "M", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"id": "a", "role": "activity", "activityType": "plan", "content": {}},
            {"id": "q", "role": "reasoning", "content": "Q"},
            {"id": "n", "role": "user", "content": "N"},
        ])
    );
    assert_eq!(*conversation.state(), json!({"n": 2}));
}

#[test]
fn a_result_makes_a_tool_message_of_its_own_and_leaves_the_call_as_it_is() {
    // STREAM-6
    let parts = json!([
        {"type": "text", "text": "seen", "metadata": {"score": 0.5}},
        {"type": "image", "source": {"type": "url", "value": "https://a/b.png", "mimeType": "image/png"}},
    ]);
    for content in [json!("ok"), json!(""), json!([]), parts] {
        let result =
            json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": content});
        let (_, conversation) = quiet(&json!([
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            result,
        ]));
        let held = messages(&conversation);
        assert_eq!(held[1], json!({"id": "r", "role": "tool", "toolCallId": "c", "content": content}));
        assert_eq!(held[0]["toolCalls"][0]["function"], json!({"name": "f", "arguments": ""}));
    }
    for content in [json!(7), json!({"a": 1}), Value::Null] {
        refused(
            "PROC-5",
            &json!([{"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": content}]),
        );
    }
    // The result reopens nothing.
    refused(
        "STREAM-1",
        &json!([
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "ok"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "x"},
        ]),
    );
}

#[test]
fn a_reasoning_message_says_that_it_is_one() {
    // STREAM-8
    for role in [None, Some(json!("assistant")), Some(json!("novel")), Some(Value::Null)] {
        let mut start = json!({"type": "REASONING_MESSAGE_START", "messageId": "q"});
        if let Some(role) = role {
            start["role"] = role;
        }
        refused("PROC-5", &json!([start]));
    }
}

#[test]
fn whoever_can_hold_only_text_takes_the_text_parts_in_their_order() {
    // STREAM-11
    let (_, conversation) = quiet(&json!([
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": [
            {"type": "text", "text": "a "},
            {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
            {"type": "text", "text": "b"},
        ]},
    ]));
    assert_eq!(conversation.message("r").unwrap().text(), "a b");
}

#[test]
fn a_chunk_with_another_id_opens_another_item_and_closes_the_one_before() {
    // CHUNK-2
    let (seen, conversation) = quiet(&json!([
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "c"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "d"},
    ]));
    assert_eq!(
        seen.types()[1..],
        [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]
    );
    assert_eq!(messages(&conversation)[0]["content"], "abd");
    assert_eq!(messages(&conversation)[1]["content"], "c");
}

/// How many events come before the end that a chunk stream gets, once this event has come in its lane.
fn closed_by(event: &Value) -> bool {
    let mut events = vec![
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}}),
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"}),
        event.clone(),
    ];
    if event["type"] == "SUBAGENT_STARTED" {
        events.push(json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}));
    }
    let mut stream = vec![crate::started("r")];
    stream.extend(events);
    let (seen, _) = crate::stream(&stream.into());
    assert!(seen.error.is_none(), "{}", seen.words);
    let types = seen.types();
    let end = types.iter().position(|kind| *kind == "TEXT_MESSAGE_END");
    // The end stands right before what causes it.
    end.is_some_and(|end| seen.events[end + 1]["type"] == event["type"] || types[end + 1].ends_with("_START"))
}

#[test]
fn an_end_comes_just_before_what_causes_it_and_only_then() {
    // CHUNK-4
    for event in [
        json!({"type": "TEXT_MESSAGE_START", "messageId": "n"}),
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "x"}),
        json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": "x"}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "n", "toolCallId": "c", "content": "ok"}),
        json!({"type": "REASONING_START", "messageId": "q"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"}),
        json!({"type": "STEP_STARTED", "stepName": "s"}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": 1}),
        json!({"type": "STATE_DELTA", "delta": []}),
        json!({"type": "CUSTOM", "name": "n", "value": 1}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": []}),
        json!({"type": "RUN_ERROR", "message": "jam"}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
    ] {
        assert!(closed_by(&event), "{event}");
    }
    for event in [
        json!({"type": "RAW", "event": 1}),
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "b", "activityType": "plan", "content": {}}),
        json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": []}),
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "e"}),
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"}),
        json!({"type": "CUSTOM", "name": "n", "value": 1, "subagentRunId": "elsewhere"}),
    ] {
        assert!(!closed_by(&event), "{event}");
    }
}

#[test]
fn an_owners_lane_is_closed_by_its_end() {
    // CHUNK-4, CHUNK-5
    let (seen, _) = quiet(&json!([
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a", "subagentRunId": "s"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "p", "delta": "b"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "c"},
    ]));
    let ends: Vec<&Value> = seen.events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_END").collect();
    assert_eq!((&ends[0]["messageId"], &ends[1]["messageId"], ends.len()), (&json!("m"), &json!("p"), 2));
    let types = seen.types();
    let end = types.iter().position(|kind| *kind == "TEXT_MESSAGE_END").unwrap();
    assert_eq!(types[end + 1], "SUBAGENT_FINISHED");
}

#[test]
fn what_a_chunk_carries_lands_on_its_own_item() {
    // CHUNK-7
    let (seen, conversation) = quiet(&json!([
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a", "metadata": {"k": 1}, "timestamp": 5},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "metadata": {"l": 2}},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "b", "metadata": {"k": 3},
         "subagentRunId": "s", "rawEvent": {"raw": 1}},
    ]));
    let held = messages(&conversation);
    assert_eq!((&held[0]["content"], &held[0]["metadata"]), (&json!("a"), &json!({"k": 1, "l": 2})));
    assert_eq!((&held[1]["metadata"], &held[1]["subagentRunId"]), (&json!({"k": 3}), &json!("s")));
    for event in &seen.events {
        assert_eq!(event.get("timestamp"), None, "{event}");
        let is_content = event["type"] == "TEXT_MESSAGE_CONTENT";
        assert_eq!(event.get("rawEvent").is_some(), is_content && event["messageId"] == "n");
        if event["type"] == "TEXT_MESSAGE_END" {
            assert_eq!(event.get("metadata"), None);
        }
    }
}

#[test]
fn metadata_merges_key_by_key_and_the_last_write_wins_whole() {
    // META-1: from the opening, the content and the end, and never into what is inside of a value.
    let mut events = text("m", "x");
    for (event, metadata) in events.iter_mut().zip([
        json!({"a": {"deep": 1}, "b": 1}),
        json!({"a": {"other": 2}, "c": null}),
        json!({"b": null}),
    ]) {
        event["metadata"] = metadata;
    }
    let (_, conversation) = quiet(&json!(events));
    assert_eq!(messages(&conversation)[0]["metadata"], json!({"a": {"other": 2}, "b": null, "c": null}));
}

#[test]
fn metadata_lands_on_what_its_event_is_about_and_otherwise_nowhere() {
    // META-2
    let mark = |at: &str| json!({"at": at});
    let events = json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": mark("text")},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "REASONING_START", "messageId": "q", "metadata": mark("span")},
        {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": "x", "metadata": mark("thought")},
        {"type": "REASONING_MESSAGE_END", "messageId": "q"},
        {"type": "REASONING_END", "messageId": "q"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}", "metadata": mark("call")},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "", "metadata": mark("result")},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": [], "metadata": mark("activity")},
        {"type": "STEP_STARTED", "stepName": "s", "metadata": mark("step")},
        {"type": "STEP_FINISHED", "stepName": "s"},
        {"type": "STATE_SNAPSHOT", "snapshot": {}, "metadata": mark("state")},
        {"type": "CUSTOM", "name": "n", "value": 1, "metadata": mark("custom")},
    ]);
    let (seen, conversation) = quiet(&events);
    assert_eq!(json!(seen.events), crate::in_a_run(&events));
    let held = |id: &str| json!(conversation.message(id).unwrap());
    assert_eq!(held("m")["metadata"], mark("text"));
    assert_eq!(held("m")["toolCalls"][0]["metadata"], mark("call"));
    assert_eq!(held("q")["metadata"], mark("thought"));
    assert_eq!(held("r")["metadata"], mark("result"));
    assert_eq!(held("a")["metadata"], mark("activity"));
    assert_eq!((conversation.message_count(), conversation.state()), (4, &json!({})));
}

#[test]
fn metadata_holds_anything_and_is_an_object() {
    // META-4
    let open = json!({"": null, "type": "NOVEL", "ag-ui": {"nested": [null]}, "id": 5});
    let mut events = text("m", "x").to_vec();
    events[0]["metadata"] = open.clone();
    let parts = json!([{"type": "text", "text": "t", "metadata": [null, 1]}]);
    events.push(json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": parts}));
    let (_, conversation) = quiet(&json!(events));
    assert_eq!(messages(&conversation)[0]["metadata"], open);
    assert_eq!(messages(&conversation)[1]["content"], parts);
    for (rule, metadata) in [("SHAPE-6", Value::Null), ("PROC-5", json!([])), ("PROC-5", json!("text"))] {
        let mut event = text("m", "x")[0].clone();
        event["metadata"] = metadata;
        refused(rule, &json!([event]));
    }
    let null = json!([{"type": "text", "text": "t", "metadata": null}]);
    let mut result = events[3].clone();
    result["content"] = null;
    refused("SHAPE-6", &json!([result]));
}
