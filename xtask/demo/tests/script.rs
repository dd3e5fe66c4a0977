//! What the script agent does, step by step, as exact lists of events.

mod runner;

use runner::{finished, finished_with, message, perform};
use serde_json::{Value, json};

/// Performs a script and compares everything after `RUN_STARTED`.
async fn check(script: Value, expected: Vec<Value>) {
    assert_eq!(perform(script.clone()).await, expected, "{script}");
}

fn typed(kind: &str, mut rest: Value) -> Value {
    rest["type"] = kind.into();
    rest
}

fn failed(message: &str, code: &str) -> Value {
    json!({ "type": "RUN_ERROR", "message": message, "code": code })
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn text_is_one_message() {
    check(json!([{ "text": "hi" }]), [&message("r:m1", "hi")[..], &[finished()]].concat()).await;
    check(
        json!([{ "text": "", "id": "x", "role": "system", "name": "N" }]),
        vec![
            json!({ "type": "TEXT_MESSAGE_START", "messageId": "x", "role": "system", "name": "N" }),
            json!({ "type": "TEXT_MESSAGE_END", "messageId": "x" }),
            finished(),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn deltas_wait_between_each_other_and_leave_out_empty_ones() {
    let begun = tokio::time::Instant::now();
    check(
        json!([{ "deltas": ["Hel", "", "lo"], "gapMs": 20 }]),
        vec![
            json!({ "type": "TEXT_MESSAGE_START", "messageId": "r:m1", "role": "assistant" }),
            json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "r:m1", "delta": "Hel" }),
            json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "r:m1", "delta": "lo" }),
            json!({ "type": "TEXT_MESSAGE_END", "messageId": "r:m1" }),
            finished(),
        ],
    )
    .await;
    assert_eq!(begun.elapsed().as_millis(), 40);
}

#[tokio::test]
async fn a_flood_has_numbered_deltas_of_one_size() {
    let events = perform(json!([{ "flood": { "count": 3, "bytes": 12 } }, { "text": "" }])).await;
    let deltas: Vec<_> = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(deltas, ["00000000:xxx", "00000001:xxx", "00000002:xxx"]);
    assert_eq!(events[5]["messageId"], "r:m2");

    let events = perform(json!([{ "flood": { "count": 2, "bytes": 0 }, "id": "f" }])).await;
    assert_eq!(events[0]["messageId"], "f");
    assert_eq!(events[2]["delta"], "00000001:");
}

#[tokio::test]
async fn a_long_flood_goes_through_a_short_queue() {
    let events = perform(json!([{ "flood": { "count": 5000, "bytes": 20 } }])).await;
    assert_eq!(events.len(), 5003);
}

#[tokio::test]
async fn reasoning_is_a_span_with_a_message_in_it() {
    check(
        json!([{ "reasoning": ["a", "b"], "encrypted": "E" }, { "reasoning": "c", "id": "x" }]),
        vec![
            json!({ "type": "REASONING_START", "messageId": "r:r1" }),
            json!({ "type": "REASONING_MESSAGE_START", "messageId": "r:r1", "role": "reasoning" }),
            json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": "r:r1", "delta": "a" }),
            json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": "r:r1", "delta": "b" }),
            json!({ "type": "REASONING_MESSAGE_END", "messageId": "r:r1" }),
            json!({
                "type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r:r1", "encryptedValue": "E",
            }),
            json!({ "type": "REASONING_END", "messageId": "r:r1" }),
            json!({ "type": "REASONING_START", "messageId": "x" }),
            json!({ "type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning" }),
            json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": "c" }),
            json!({ "type": "REASONING_MESSAGE_END", "messageId": "x" }),
            json!({ "type": "REASONING_END", "messageId": "x" }),
            finished(),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_tool_call_has_its_arguments_and_its_result() {
    check(
        json!([
            { "text": "one" },
            { "toolCall": { "name": "clock", "args": { "z": 1, "a": [true, null] }, "result": { "b": 1, "a": 2 } } },
            { "toolCall": {
                "name": "book", "id": "c", "argsDeltas": ["{\"a\"", "", ":1}"], "args": 1, "parentMessageId": "r:m1",
                "result": [{ "type": "text", "text": "ok" }],
            } },
        ]),
        [
            &message("r:m1", "one")[..],
            &[
                json!({ "type": "TOOL_CALL_START", "toolCallId": "r:t1", "toolCallName": "clock" }),
                json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "r:t1", "delta": "{\"z\":1,\"a\":[true,null]}" }),
                json!({ "type": "TOOL_CALL_END", "toolCallId": "r:t1" }),
                json!({
                    "type": "TOOL_CALL_RESULT", "messageId": "r:m2", "toolCallId": "r:t1",
                    "content": "{\"b\":1,\"a\":2}", "role": "tool",
                }),
                json!({
                    "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "book", "parentMessageId": "r:m1",
                }),
                json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"a\"" }),
                json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ":1}" }),
                json!({ "type": "TOOL_CALL_END", "toolCallId": "c" }),
                json!({
                    "type": "TOOL_CALL_RESULT", "messageId": "r:m3", "toolCallId": "c",
                    "content": [{ "type": "text", "text": "ok" }], "role": "tool",
                }),
                finished(),
            ],
        ]
        .concat(),
    )
    .await;
}

#[tokio::test]
async fn a_result_of_any_kind_has_a_text() {
    for (result, content) in
        [(json!("s"), "s"), (json!(null), "null"), (json!(0), "0"), (json!(false), "false")]
    {
        let events = perform(json!([{ "toolCall": { "name": "n", "result": result } }])).await;
        assert_eq!(events[3]["content"], content);
        assert_eq!(events[4], finished());
    }
}

#[tokio::test]
async fn unanswered_calls_are_named_in_the_order_they_were_made() {
    let events = perform(json!([
        { "toolCall": { "name": "confirm", "id": "z" } },
        { "toolCall": { "name": "clock", "result": "noon" } },
        { "subagent": { "name": "s", "do": [{ "toolCall": { "name": "confirm", "id": "a" } }] } },
    ]))
    .await;
    assert_eq!(
        events.last().unwrap(),
        &finished_with(json!({ "type": "success", "pendingToolCallIds": ["z", "a"] }))
    );
}

#[tokio::test]
async fn state_steps_send_what_they_are_given_whether_it_applies_or_not() {
    check(
        json!([
            { "state": { "set": ["/a/b", null] } },
            { "state": { "patch": [{ "op": "remove", "path": "/none", "x": 1 }, { "op": "move", "from": "/a", "path": "/b" }] } },
            { "state": { "patch": [] } },
            { "stateSnapshot": null },
            { "stateSnapshot": { "z": 1, "a": 2 } },
        ]),
        vec![
            json!({ "type": "STATE_DELTA", "delta": [{ "op": "add", "path": "/a/b", "value": null }] }),
            json!({ "type": "STATE_DELTA", "delta": [
                { "op": "remove", "path": "/none", "x": 1 }, { "op": "move", "from": "/a", "path": "/b" },
            ] }),
            json!({ "type": "STATE_DELTA", "delta": [] }),
            json!({ "type": "STATE_SNAPSHOT", "snapshot": null }),
            json!({ "type": "STATE_SNAPSHOT", "snapshot": { "z": 1, "a": 2 } }),
            finished(),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_messages_snapshot_goes_out_as_it_is() {
    let messages = json!([{ "id": "u", "role": "user", "content": "q" }, { "id": "a", "role": "assistant" }]);
    check(
        json!([{ "messagesSnapshot": messages }]),
        vec![json!({ "type": "MESSAGES_SNAPSHOT", "messages": messages }), finished()],
    )
    .await;
}

#[tokio::test]
async fn activities_are_shown_and_changed() {
    let patch = json!([{ "op": "add", "path": "/n", "value": 2 }]);
    check(
        json!([
            { "activity": { "type": "plan", "content": { "n": 1 } } },
            { "activity": { "type": "plan", "id": "r:a1", "patch": patch } },
            { "activity": { "type": "plan", "content": {}, "id": "x", "replace": false } },
        ]),
        vec![
            json!({ "type": "ACTIVITY_SNAPSHOT", "messageId": "r:a1", "activityType": "plan", "content": { "n": 1 } }),
            json!({ "type": "ACTIVITY_DELTA", "messageId": "r:a1", "activityType": "plan", "patch": patch }),
            json!({
                "type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "plan", "content": {}, "replace": false,
            }),
            finished(),
        ],
    )
    .await;
}

#[tokio::test]
async fn custom_and_raw_events_carry_any_json() {
    check(
        json!([
            { "custom": { "name": "n" } },
            { "custom": { "name": "n", "value": [1] } },
            { "raw": null },
            { "raw": { "k": 1 }, "source": "s" },
        ]),
        vec![
            json!({ "type": "CUSTOM", "name": "n", "value": null }),
            json!({ "type": "CUSTOM", "name": "n", "value": [1] }),
            json!({ "type": "RAW", "event": null }),
            json!({ "type": "RAW", "event": { "k": 1 }, "source": "s" }),
            finished(),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_a_subagent_does_is_tagged_with_the_innermost_one() {
    check(
        json!([{ "subagent": { "name": "outer", "description": "d", "result": 1, "do": [
            { "custom": { "name": "n" } },
            { "event": { "type": "CUSTOM", "name": "own", "value": 0 } },
            { "subagent": { "name": "inner", "id": "i", "suspend": ["q"], "do": [{ "step": { "name": "w" } }] } },
            { "subagent": { "name": "bad", "error": "lost", "code": "nav" } },
        ] } }]),
        vec![
            json!({ "type": "SUBAGENT_STARTED", "subagentRunId": "r:s1", "name": "outer", "description": "d" }),
            json!({ "type": "CUSTOM", "name": "n", "value": null, "subagentRunId": "r:s1" }),
            json!({ "type": "CUSTOM", "name": "own", "value": 0 }),
            json!({
                "type": "SUBAGENT_STARTED", "subagentRunId": "i", "name": "inner", "parentSubagentRunId": "r:s1",
            }),
            json!({ "type": "STEP_STARTED", "stepName": "w", "subagentRunId": "i" }),
            json!({ "type": "STEP_FINISHED", "stepName": "w", "subagentRunId": "i" }),
            json!({
                "type": "SUBAGENT_FINISHED", "subagentRunId": "i",
                "outcome": { "type": "suspended", "interruptIds": ["q"] },
            }),
            json!({
                "type": "SUBAGENT_STARTED", "subagentRunId": "r:s2", "name": "bad", "parentSubagentRunId": "r:s1",
            }),
            json!({ "type": "SUBAGENT_ERROR", "subagentRunId": "r:s2", "message": "lost", "code": "nav" }),
            json!({ "type": "SUBAGENT_FINISHED", "subagentRunId": "r:s1", "result": 1 }),
            finished(),
        ],
    )
    .await;
}

#[tokio::test]
async fn every_kind_of_event_is_tagged_that_can_be() {
    let events = perform(json!([{ "subagent": { "name": "s", "do": [
        { "deltas": ["x"] }, { "flood": { "count": 1, "bytes": 9 } }, { "reasoning": "x", "encrypted": "e" },
        { "toolCall": { "name": "n", "result": 1 } }, { "state": { "set": ["/a", 1] } }, { "stateSnapshot": 1 },
        { "messagesSnapshot": [] }, { "activity": { "type": "p", "content": {} } }, { "raw": 1 },
        { "stats": "nothing" }, { "inputEcho": true },
    ] } }]))
    .await;
    for event in &events[1..events.len() - 2] {
        let expected = if event["type"] == "MESSAGES_SNAPSHOT" { Value::Null } else { json!("r:s1") };
        assert_eq!(event["subagentRunId"], expected, "{event}");
    }
}

#[tokio::test]
async fn finish_ends_the_run_with_its_members_after_closing_what_is_open() {
    let usage = json!([{ "provider": "p", "model": "m", "inputTokens": 3 }]);
    check(
        json!([
            { "step": { "name": "plan", "do": [{ "finish": { "result": false, "usage": usage } }, { "text": "never" }] } },
            { "text": "never" },
        ]),
        vec![
            json!({ "type": "STEP_STARTED", "stepName": "plan" }),
            json!({ "type": "STEP_FINISHED", "stepName": "plan" }),
            json!({ "type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": false, "usage": usage }),
        ],
    )
    .await;
    let call = json!({ "toolCall": { "name": "n", "id": "c" } });
    for (outcome, expected) in [
        (json!({ "type": "success" }), json!({ "type": "success", "pendingToolCallIds": ["c"] })),
        (json!({ "type": "cancelled" }), json!({ "type": "cancelled" })),
    ] {
        let events = perform(json!([call, { "finish": { "outcome": outcome } }])).await;
        assert_eq!(events.last().unwrap(), &finished_with(expected));
    }
    let events = perform(json!([{ "finish": { "outcome": { "type": "success" } } }])).await;
    assert_eq!(events, [finished_with(json!({ "type": "success" }))]);
}

#[tokio::test]
async fn interrupt_and_cancel_end_the_run() {
    let interrupts =
        json!([{ "id": "i", "reason": "confirm", "message": "Book it?" }, { "id": "j", "reason": "x" }]);
    let events = perform(json!([{ "interrupt": interrupts }, { "text": "never" }])).await;
    assert_eq!(events, [finished_with(json!({ "type": "interrupt", "interrupts": interrupts }))]);
    let events = perform(json!([{ "cancel": true }, { "text": "never" }])).await;
    assert_eq!(events, [finished_with(json!({ "type": "cancelled" }))]);
}

#[tokio::test]
async fn error_is_public_and_has_a_code_only_if_given() {
    check(json!([{ "error": "E", "code": "c" }, { "text": "never" }]), vec![failed("E", "c")]).await;
    check(json!([{ "error": "E" }]), vec![json!({ "type": "RUN_ERROR", "message": "E" })]).await;
}

#[tokio::test]
async fn the_text_of_a_panic_stays_inside() {
    let events = perform(json!([{ "text": "a" }, { "panic": "a secret" }])).await;
    assert_eq!(events.last().unwrap()["code"], "internal_error");
    assert!(!format!("{events:?}").contains("secret"));
}

#[tokio::test]
async fn events_go_out_as_given_and_what_they_open_is_closed() {
    check(
        json!([{ "event": { "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" } }]),
        vec![
            json!({ "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant" }),
            json!({ "type": "TEXT_MESSAGE_END", "messageId": "m" }),
            finished(),
        ],
    )
    .await;
    // The one opened last is closed first, and steps of the script interleave with them.
    let events = perform(json!([
        { "event": { "type": "STEP_STARTED", "stepName": "s" } },
        { "event": { "type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n" } },
        { "text": "x" },
        { "cancel": true },
    ]))
    .await;
    assert_eq!(
        types(&events)[5..],
        ["TOOL_CALL_END", "STEP_FINISHED", "RUN_FINISHED"],
        "text does not close the call"
    );
}

#[tokio::test]
async fn an_event_keeps_timestamps_metadata_and_a_null_delta_of_state() {
    let event = json!({
        "type": "STATE_DELTA", "delta": [{ "op": "test", "path": "/x", "value": null }],
        "timestamp": 5, "metadata": { "b": 1, "a": null }, "rawEvent": [null],
    });
    check(json!([{ "event": event }]), vec![event, finished()]).await;
}

#[tokio::test]
async fn an_event_out_of_order_stays_inside_and_ends_the_run() {
    let events = perform(json!([
        { "text": "a" }, { "event": { "type": "STEP_FINISHED", "stepName": "none" } }, { "text": "b" },
    ]))
    .await;
    assert_eq!(events[..3], message("r:m1", "a"));
    assert_eq!(events.len(), 4);
    assert_eq!(events[3]["code"], "protocol_violation");
}

#[tokio::test]
async fn a_terminal_event_ends_the_script() {
    let end = json!({ "type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": { "n": 1 } });
    check(json!([{ "event": end }, { "text": "never" }]), vec![end]).await;
    let end = json!({ "type": "RUN_ERROR", "message": "E" });
    check(json!([{ "event": end }, { "text": "never" }]), vec![end]).await;
}

#[tokio::test]
async fn unchecked_events_break_the_stream_and_nothing_is_closed_any_more() {
    check(
        json!([
            { "event": { "type": "STEP_STARTED", "stepName": "s" } },
            { "event": { "type": "TEXT_MESSAGE_END", "messageId": "none" }, "unchecked": true },
            { "text": "on" },
        ]),
        [
            &[
                json!({ "type": "STEP_STARTED", "stepName": "s" }),
                json!({ "type": "TEXT_MESSAGE_END", "messageId": "none" }),
            ],
            &message("r:m1", "on")[..],
            &[finished()],
        ]
        .concat(),
    )
    .await;
}

#[tokio::test]
async fn the_input_is_told_as_the_agent_sees_it() {
    let script = json!([{ "inputEcho": true }]);
    let events = perform(script.clone()).await;
    assert_eq!(
        events[0],
        typed(
            "CUSTOM",
            json!({
                "name": "demo.input", "value": { "agentId": "script", "input": runner::script_input(&script) },
            })
        )
    );
}

#[tokio::test]
async fn no_script_is_an_empty_one() {
    for props in [None, Some(json!({})), Some(json!("text")), Some(json!({ "script": [] }))] {
        let mut input = json!({ "threadId": "t", "runId": "r", "messages": [] });
        if let Some(props) = props {
            input["forwardedProps"] = props;
        }
        let events = runner::start(agui_demo::ScriptAgent, input).rest().await;
        assert_eq!(events[1..], [finished()]);
    }
}

#[tokio::test]
async fn a_script_that_cannot_be_read_ends_the_run() {
    for script in [json!(null), json!({}), json!("text")] {
        let events = perform(script).await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["code"], "bad_script");
    }
}

#[tokio::test]
async fn a_bad_step_ends_the_run_and_is_named() {
    for step in [
        json!(1),
        json!({}),
        json!({ "bogus": 1 }),
        json!({ "text": "a", "cancel": true }),
        json!({ "text": 1 }),
        json!({ "text": "a", "id": null }),
        json!({ "text": "a", "role": "tool" }),
        json!({ "deltas": "a" }),
        json!({ "deltas": ["a"], "gapMs": -1 }),
        json!({ "deltas": null }),
        json!({ "flood": { "count": 1 } }),
        json!({ "flood": { "count": 1, "bytes": 1.5 } }),
        json!({ "reasoning": [1] }),
        json!({ "toolCall": {} }),
        json!({ "toolCall": { "name": "n", "result": [1] } }),
        json!({ "state": {} }),
        json!({ "state": { "set": ["a", 1] } }),
        json!({ "state": { "set": ["/a"] } }),
        json!({ "state": { "patch": [{ "op": "none", "path": "" }] } }),
        json!({ "messagesSnapshot": [{}] }),
        json!({ "activity": { "type": "t" } }),
        json!({ "activity": { "type": "t", "patch": [] } }),
        json!({ "custom": {} }),
        json!({ "step": {} }),
        json!({ "step": { "name": "s", "do": {} } }),
        json!({ "subagent": { "name": "s", "result": null } }),
        json!({ "finish": { "result": null } }),
        json!({ "finish": { "outcome": { "type": "other" } } }),
        json!({ "finish": { "outcome": null } }),
        json!({ "finish": { "usage": null } }),
        json!({ "interrupt": [] }),
        json!({ "cancel": false }),
        json!({ "error": null }),
        json!({ "panic": 1 }),
        json!({ "sleepMs": "1" }),
        json!({ "event": { "type": "NONE" } }),
        json!({ "event": { "type": "TEXT_MESSAGE_END", "messageId": "m", "extra": 1 } }),
        json!({ "track": 1 }),
        json!({ "stats": 1 }),
        json!({ "inputEcho": {} }),
        json!({ "step": ["s"] }),
        json!({ "subagent": ["s"] }),
        json!({ "toolCall": ["n"] }),
        json!({ "custom": ["n", 1] }),
        json!({ "activity": ["t", "a", {}] }),
        json!({ "flood": [1, 1] }),
        json!({ "state": [["/a", 1]] }),
        json!({ "finish": [1] }),
    ] {
        let events = perform(json!([{ "text": "a" }, step, { "text": "never" }])).await;
        assert_eq!(events[..3], message("r:m1", "a"), "{step}");
        assert_eq!(events.len(), 4, "{step}");
        assert_eq!(events[3]["code"], "bad_script", "{step}");
        assert!(events[3]["message"].as_str().unwrap().contains("Step 1 "), "{step}: {}", events[3]);
    }
}

#[tokio::test]
async fn a_bad_step_inside_another_is_named_by_its_path_and_closes_what_is_open() {
    let events = perform(json!([
        { "text": "a" },
        { "step": { "name": "s", "do": [{ "subagent": { "name": "x", "do": [{ "text": "b" }, {}] } }] } },
    ]))
    .await;
    assert_eq!(types(&events)[8..], ["SUBAGENT_FINISHED", "STEP_FINISHED", "RUN_ERROR"]);
    assert!(events[10]["message"].as_str().unwrap().contains("Step 1.do.0.do.1 "), "{}", events[10]);
}

#[tokio::test]
async fn what_is_wrong_with_a_step_is_not_said_in_the_parsers_words() {
    for (step, message) in [
        (json!({ "text": 5 }), "Step 0 of the script (`text`) has the wrong shape."),
        (
            json!({ "sleepMs": -1 }),
            "Step 0 of the script (`sleepMs`) has the wrong shape: a whole number is needed.",
        ),
        (
            json!({ "event": { "type": "SUBAGENT_STARTED", "subagentRunId": "s", "title": "t" } }),
            "Step 0 of the script (`event`) has the wrong shape.",
        ),
        (json!({ "finish": { "outcome": null } }), "Step 0 of the script (`finish`) has the wrong shape."),
    ] {
        check(json!([step]), vec![failed(message, "bad_script")]).await;
    }
}

#[tokio::test]
async fn steps_may_lie_as_deep_inside_each_other_as_json_may() {
    let deep = |depth: usize, around: fn(Value) -> Value| {
        (0..depth).fold(json!([{ "text": "x" }]), |inner, _| around(inner))
    };
    let events = perform(deep(40, |inner| json!([{ "subagent": { "name": "n", "do": inner } }]))).await;
    assert_eq!(events.len(), 2 * 40 + 4);
    assert_eq!(events[40]["subagentRunId"], "r:s40");
    let nested = deep(
        1,
        |inner| json!([{ "step": { "name": "s", "do": [{ "subagent": { "name": "n", "do": inner } }] } }]),
    );
    assert_eq!(
        types(&perform(nested).await),
        [
            "STEP_STARTED",
            "SUBAGENT_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "SUBAGENT_FINISHED",
            "STEP_FINISHED",
            "RUN_FINISHED",
        ]
    );
}

#[tokio::test]
async fn numbers_may_have_a_zero_fraction() {
    let events = perform(json!([{ "sleepMs": 0.0 }, { "flood": { "count": 1.0, "bytes": 9.0 } }])).await;
    assert_eq!(events[1]["delta"], "00000000:");
}

#[tokio::test]
async fn the_examples_of_the_vocabulary_come_out_event_by_event() {
    check(
        json!([{ "deltas": ["Hel", "lo"] }, { "toolCall": { "name": "clock", "result": "noon" } }]),
        vec![
            json!({ "type": "TEXT_MESSAGE_START", "messageId": "r:m1", "role": "assistant" }),
            json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "r:m1", "delta": "Hel" }),
            json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "r:m1", "delta": "lo" }),
            json!({ "type": "TEXT_MESSAGE_END", "messageId": "r:m1" }),
            json!({ "type": "TOOL_CALL_START", "toolCallId": "r:t1", "toolCallName": "clock" }),
            json!({ "type": "TOOL_CALL_ARGS", "toolCallId": "r:t1", "delta": "{}" }),
            json!({ "type": "TOOL_CALL_END", "toolCallId": "r:t1" }),
            json!({
                "type": "TOOL_CALL_RESULT", "messageId": "r:m2", "toolCallId": "r:t1", "content": "noon", "role": "tool",
            }),
            finished(),
        ],
    )
    .await;

    let mut hm = message("r:m1", "hm");
    for event in &mut hm {
        event["subagentRunId"] = json!("r:s1");
    }
    check(
        json!([{ "step": { "name": "plan", "do": [
            { "subagent": { "name": "scout", "do": [{ "text": "hm" }, { "error": "lost", "code": "nav" }] } },
        ] } }]),
        [
            &[
                json!({ "type": "STEP_STARTED", "stepName": "plan" }),
                json!({ "type": "SUBAGENT_STARTED", "subagentRunId": "r:s1", "name": "scout" }),
            ],
            &hm[..],
            &[
                json!({ "type": "SUBAGENT_FINISHED", "subagentRunId": "r:s1" }),
                json!({ "type": "STEP_FINISHED", "stepName": "plan" }),
                failed("lost", "nav"),
            ],
        ]
        .concat(),
    )
    .await;

    let events = perform(json!([{ "toolCall": { "name": "confirm", "id": "c" } }])).await;
    assert_eq!(types(&events), ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"]);
    assert_eq!(events[3], finished_with(json!({ "type": "success", "pendingToolCallIds": ["c"] })));
}
