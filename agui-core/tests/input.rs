//! What a handler looks up in its input.

use agui_core::{ResumeStatus, RunAgentInput};
use serde_json::{Value, json};

#[expect(clippy::unwrap_used, reason = "this is part of tests")]
fn input(rest: &Value) -> RunAgentInput {
    let mut input = json!({ "threadId": "t", "runId": "r", "messages": [] });
    input.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    serde_json::from_value(input).unwrap()
}

#[test]
fn an_answer_is_found_by_its_interrupt_and_the_first_counts() {
    let input = input(&json!({ "resume": [
        { "interruptId": "i-1", "status": "cancelled" },
        { "interruptId": "i-2", "status": "resolved", "payload": "yes" },
        { "interruptId": "i-2", "status": "resolved", "payload": "no" },
    ] }));
    assert_eq!(input.resume_entry("i-1").unwrap().status, ResumeStatus::Cancelled);
    assert_eq!(input.resume_entry("i-2").unwrap().payload, Some(json!("yes")));
    assert_eq!(input.resume_entry("i-3"), None);
    assert_eq!(input.resume().len(), 3);
}

#[test]
fn a_result_is_found_by_its_call_and_the_last_counts() {
    let input = input(&json!({ "messages": [
        { "id": "c-1", "role": "assistant", "toolCalls": [
            { "id": "c-1", "type": "function", "function": { "name": "f", "arguments": "" } },
            { "id": "c-2", "type": "function", "function": { "name": "f", "arguments": "" } }] },
        { "id": "m-1", "role": "tool", "toolCallId": "c-1", "content": "first" },
        { "id": "m-2", "role": "tool", "toolCallId": "c-1", "content": "second" },
        { "id": "m-3", "role": "user", "content": "thanks" },
    ] }));
    assert_eq!(input.tool_result(&"c-1".into()).unwrap().id, "m-2");
    assert_eq!(input.tool_result(&"c-2".into()), None, "it has no answer");
    assert_eq!(input.tool_result(&"m-1".into()), None, "that is the message, not the call");
}

#[test]
fn a_tool_of_the_application_is_one_that_the_input_offers() {
    let input = input(&json!({ "tools": [
        { "name": "paint", "description": "Paints.", "parameters": { "type": "object" } },
        { "name": "clock", "description": "Tells the time." },
    ] }));
    assert_eq!(input.tool("clock").unwrap().description, "Tells the time.");
    assert_eq!(input.tool("paint").unwrap().parameters, Some(json!({ "type": "object" })));
    assert!(input.is_frontend_tool("paint"));
    for unknown in ["Paint", "paint ", "", "search"] {
        assert_eq!(input.tool(unknown), None);
        assert!(!input.is_frontend_tool(unknown));
    }
}

#[test]
fn an_input_without_lists_offers_and_answers_nothing() {
    let input = input(&json!({}));
    assert!(input.tools().is_empty() && input.context().is_empty() && input.resume().is_empty());
    assert!(!input.is_frontend_tool("paint"));
    assert_eq!(input.resume_entry("i-1"), None);
    assert_eq!(input.tool_result(&"c-1".into()), None);
    assert_eq!(input.last_user_message(), None);
    assert_eq!(input.initial_state(), json!({}));
}
