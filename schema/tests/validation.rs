//! What the validator accepts, and what it says about what it refuses.

#![expect(clippy::unwrap_used, reason = "a test may panic in its helpers too")]

use agui_schema::{Definition, Validator};
use serde_json::{Value, json};

/// The violations as lines, sorted so that no test depends on the order of a schema's keywords.
fn lines(definition: &str, value: &Value) -> Vec<String> {
    let definition: Definition = definition.parse().unwrap();
    match Validator::shared().definition(definition, value) {
        Ok(()) => Vec::new(),
        Err(violations) => {
            let mut lines: Vec<_> = violations.iter().map(ToString::to_string).collect();
            lines.sort();
            lines
        }
    }
}

fn event_lines(value: &Value) -> Vec<String> {
    lines("Event", value)
}

#[test]
fn every_definition_compiles() {
    let validator = Validator::new();
    for definition in Definition::all() {
        // The answer is beside the point; asking compiles the definition.
        let _ = validator.definition(definition, &json!({}));
    }
}

#[test]
fn a_valid_event_of_every_kind_is_accepted() {
    let usage = json!([{"provider": "p", "model": "m", "inputTokens": 1}]);
    let messages = json!([
        {"id": "1", "role": "user", "content": [{"type": "text", "text": "hi"},
            {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}]},
        {"id": "2", "role": "assistant", "toolCalls":
            [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"id": "3", "role": "tool", "toolCallId": "c", "content": "done"},
        {"id": "4", "role": "activity", "activityType": "plan", "content": {"any": null}},
    ]);
    for event in [
        json!({"type": "RUN_STARTED", "threadId": "", "runId": "r", "protocolVersion": "1.0",
            "input": {"threadId": "", "runId": "r", "messages": messages, "state": {"a": null}}}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user", "timestamp": 1_730_000_000_000.0}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "metadata": {"x": null}}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": null}),
        json!({"type": "STATE_DELTA", "delta": [
            {"op": "add", "path": "/a", "value": null, "comment": "kept"}, {"op": "move", "from": "/a", "path": ""}]}),
        json!({"type": "CUSTOM", "name": "n", "value": null}),
        json!({"type": "RUN_FINISHED", "threadId": "", "runId": "r", "result": false, "usage": usage,
            "outcome": {"type": "success", "pendingToolCallIds": ["c"]}}),
    ] {
        assert_eq!(event_lines(&event), [""; 0], "{event}");
    }
}

#[test]
fn an_event_is_held_to_the_definition_its_type_names() {
    let event = json!({"type": "TOOL_CALL_START", "toolCallId": 7, "parentMessageId": null});
    assert_eq!(
        event_lines(&event),
        [
            r#"/: the member "toolCallName" is missing (ToolCallStartEvent, required)"#,
            "/parentMessageId: expected string, found null (ToolCallStartEvent, type)",
            "/toolCallId: expected string, found 7 (ToolCallStartEvent, type)",
        ]
    );
}

#[test]
fn an_event_without_a_usable_type_has_one_violation() {
    assert_eq!(event_lines(&json!({"delta": 1})), [r#"/: the member "type" is missing (Event, required)"#]);
    assert_eq!(event_lines(&json!({"type": 1})), ["/type: expected string, found 1 (Event, type)"]);
    assert_eq!(event_lines(&json!([1])), ["/: expected object, found [1] (Event, type)"]);
    let unknown = event_lines(&json!({"type": "THINKING_START"}));
    assert_eq!(unknown.len(), 1);
    assert!(unknown[0].starts_with(r#"/type: expected one of "TEXT_MESSAGE_START""#), "{unknown:?}");
    assert!(unknown[0].ends_with(r#"or 21 more, found "THINKING_START" (Event, enum)"#), "{unknown:?}");
}

#[test]
fn a_mistake_deep_in_a_snapshot_is_reported_where_it_stands() {
    let event = json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "1", "role": "user", "content": "fine"},
        {"id": "2", "role": "user", "content": [
            {"type": "text", "text": "fine"},
            {"type": "image", "source": {"type": "data", "value": 3}},
        ]},
        {"id": "3", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f"}}]},
    ]});
    assert_eq!(
        event_lines(&event),
        [
            "/messages/1/content/1/source/value: expected string, found 3 (DataSource, type)",
            r#"/messages/1/content/1/source: the member "mimeType" is missing (DataSource, required)"#,
            r#"/messages/2/toolCalls/0/function: the member "arguments" is missing (FunctionCall, required)"#,
        ]
    );
}

#[test]
fn an_unknown_discriminator_is_reported_at_the_discriminator() {
    let input = json!({"threadId": "t", "runId": "r", "messages": [
        {"id": "1", "role": "narrator"},
        {"id": "2"},
        {"id": "3", "role": "user", "content": [{"type": "image", "source": {"type": "blob"}}, {"type": null}]},
        {"id": "4", "role": "user", "content": 4},
        5,
    ]});
    assert_eq!(
        lines("RunAgentInput", &input),
        [
            r#"/messages/0/role: expected one of "developer", "system", "assistant", "user", "tool", "activity", "reasoning", found "narrator" (Message, enum)"#,
            r#"/messages/1: the member "role" is missing (Message, required)"#,
            r#"/messages/2/content/0/source/type: expected one of "data", "url", "file", found "blob" (PartSource, enum)"#,
            "/messages/2/content/1/type: expected string, found null (ContentPart, type)",
            "/messages/3/content: expected string or array, found 4 (UserMessage, type)",
            "/messages/4: expected object, found 5 (Message, type)",
        ]
    );
}

#[test]
fn patch_operations_are_judged_by_their_op() {
    let event = json!({"type": "STATE_DELTA", "delta": [
        {"op": "replace", "path": "/a"}, {"op": "copy", "from": "a", "path": "/a~2"}, {"op": "merge", "path": ""}]});
    assert_eq!(
        event_lines(&event),
        [
            r#"/delta/0: the member "value" is missing (ReplaceOperation, required)"#,
            r#"/delta/1/from: expected text that matches ^(/([^/~]|~[01])*)*$, found "a" (CopyOperation, pattern)"#,
            r#"/delta/1/path: expected text that matches ^(/([^/~]|~[01])*)*$, found "/a~2" (CopyOperation, pattern)"#,
            r#"/delta/2/op: expected one of "add", "remove", "replace", "move", "copy", "test", found "merge" (JsonPatchOperation, enum)"#,
        ]
    );
}

#[test]
fn outcomes_are_judged_by_their_type() {
    let finished =
        |outcome: Value| json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome});
    assert_eq!(
        event_lines(&finished(json!({"type": "interrupt", "interrupts": []}))),
        [
            "/outcome/interrupts: expected at least 1 in the list, found [] (RunFinishedInterruptOutcome, minItems)"
        ]
    );
    assert_eq!(
        event_lines(&finished(json!({"type": "success", "interrupts": []}))),
        [
            r#"/outcome/interrupts: the member "interrupts" is not known here (RunFinishedSuccessOutcome, unevaluatedProperties)"#
        ]
    );
    assert_eq!(
        event_lines(&finished(Value::Null)),
        ["/outcome: expected object, found null (RunFinishedOutcome, type)"]
    );
    let interrupt = json!({"id": "i", "reason": "r", "subagentRunId": 1, "extra": 1});
    assert_eq!(
        event_lines(&finished(json!({"type": "interrupt", "interrupts": [interrupt]}))),
        [
            r#"/outcome/interrupts/0/extra: the member "extra" is not known here (Interrupt, unevaluatedProperties)"#,
            "/outcome/interrupts/0/subagentRunId: expected string, found 1 (Interrupt, type)",
        ]
    );
}

#[test]
fn a_malformed_inherited_member_is_not_called_unknown_as_well() {
    let event =
        json!({"type": "STEP_STARTED", "stepName": "s", "timestamp": 1.5, "metadata": null, "a/b": 1});
    assert_eq!(
        event_lines(&event),
        [
            r#"/a~1b: the member "a/b" is not known here (StepStartedEvent, unevaluatedProperties)"#,
            "/metadata: expected object, found null (StepStartedEvent, type)",
            "/timestamp: expected integer, found 1.5 (StepStartedEvent, type)",
        ]
    );
}

#[test]
fn bounds_and_fixed_values_are_named() {
    let event = json!({"type": "STEP_STARTED", "stepName": "s", "timestamp": 9_007_199_254_740_992_u64});
    assert_eq!(
        event_lines(&event),
        ["/timestamp: expected at most 9007199254740991, found 9007199254740992 (StepStartedEvent, maximum)"]
    );
    assert_eq!(
        lines("TokenUsage", &json!({"inputTokens": -1})),
        ["/inputTokens: expected at least 0, found -1 (TokenUsage, minimum)"]
    );
    assert_eq!(
        event_lines(&json!({"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "assistant"})),
        [r#"/role: expected "reasoning", found "assistant" (ReasoningMessageStartEvent, const)"#]
    );
    assert_eq!(
        event_lines(&json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": null})),
        ["/role: expected string, found null (TextMessageStartEvent, type)"]
    );
    assert_eq!(
        event_lines(&json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "tool"})),
        [
            r#"/role: expected one of "developer", "system", "assistant", "user", found "tool" (TextMessageStartEvent, enum)"#
        ]
    );
}

#[test]
fn capabilities_are_judged_all_the_way_down() {
    let capabilities = json!({"identity": {"metadata": {"any": null}}, "multimodal": {"input": {"image": "yes"}},
        "tools": {"items": [{"name": "t"}]}, "custom": {"x": 1}, "smell": {}});
    assert_eq!(
        lines("AgentCapabilities", &capabilities),
        [
            "/multimodal/input/image: expected boolean, found \"yes\" (MultimodalInputCapabilities, type)",
            r#"/smell: the member "smell" is not known here (AgentCapabilities, unevaluatedProperties)"#,
            r#"/tools/items/0: the member "description" is missing (Tool, required)"#,
        ]
    );
}

#[test]
fn text_that_is_not_json_has_one_violation() {
    let violations = Validator::shared().event("[DONE]").unwrap_err();
    let [violation] = violations.as_slice() else { panic!("{violations}") };
    assert_eq!((violation.pointer(), violation.keyword()), ("", "json"));
    assert!(violation.message().starts_with("expected JSON: "), "{violation}");
}

#[test]
fn a_long_value_is_not_shown_in_full() {
    let event =
        json!({"type": "RUN_ERROR", "message": {"text": "x".repeat(100_000)}, "y".repeat(100_000): 1});
    let violations = Validator::shared().event(&event).unwrap_err();
    assert_eq!(violations.iter().count(), 2);
    assert!(violations.iter().all(|violation| violation.message().len() < 200), "{violations}");
}

#[test]
fn the_parts_of_a_violation_can_be_read_one_by_one() {
    let violations =
        Validator::shared().input(&json!({"threadId": "t", "runId": 1, "messages": []})).unwrap_err();
    let violation = violations.into_iter().next().unwrap();
    assert_eq!(violation.pointer(), "/runId");
    assert_eq!(violation.keyword(), "type");
    assert_eq!(violation.definition(), Definition::RUN_AGENT_INPUT);
    assert_eq!(violation.message(), "expected string, found 1");
}
