//! What a peer that declares no protocol version is sent, row by row.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of a test function")]

mod support;

use std::borrow::Cow;

use agui_core::{Event, Run, RunEnd, RunFinishedCancelledOutcome};
use agui_encoder::Downgrade;
use agui_encoder::http::Endpoint;
use serde_json::{Value, json};
use support::{INPUT, Log, call, events, post, settle};

/// What a peer gets instead of an event, and what is lost; `None` where it passes as it is.
fn downgraded(event: &Value) -> (Option<Value>, Vec<&'static str>) {
    let event = Event::from_json(event.to_string().as_bytes()).unwrap();
    let mut downgrade = Downgrade::new();
    let changed = match downgrade.apply(&event) {
        Cow::Borrowed(_) => None,
        Cow::Owned(event) => Some(serde_json::to_value(&event).unwrap()),
    };
    (changed, downgrade.losses().collect())
}

fn finished(outcome: &Value) -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome})
}

fn snapshot(messages: &Value) -> Value {
    json!({"type": "MESSAGES_SNAPSHOT", "messages": messages})
}

#[test]
fn a_cancelled_outcome_is_left_out() {
    let (sent, lost) = downgraded(&finished(&json!({"type": "cancelled"})));
    assert_eq!(sent, Some(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})));
    assert_eq!(lost, ["RUN_FINISHED.outcome cancelled"]);
}

#[test]
fn pending_calls_are_left_for_the_peer_to_derive() {
    let (sent, lost) = downgraded(&finished(&json!({"type": "success", "pendingToolCallIds": ["c"]})));
    assert_eq!(sent, Some(finished(&json!({"type": "success"}))));
    assert_eq!(lost, [""; 0]);
}

#[test]
fn a_list_of_parts_in_a_tool_result_becomes_its_text() {
    let result = |content: Value| json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": content});
    let image = json!({"type": "image", "source": {"type": "url", "value": "https://a/b.png"}});
    for (content, text, lost) in [
        (json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", vec![]),
        (json!([]), "", vec![]),
        (json!([{"type": "text", "text": "a"}, image]), "a", vec!["content parts of a tool result"]),
        (json!([{"type": "text", "text": "a", "id": "p"}]), "a", vec!["content parts of a tool result"]),
    ] {
        assert_eq!(downgraded(&result(content.clone())), (Some(result(text.into())), lost.clone()));
        let message =
            |content: Value| json!([{"id": "m", "role": "tool", "toolCallId": "c", "content": content}]);
        assert_eq!(downgraded(&snapshot(&message(content))), (Some(snapshot(&message(text.into()))), lost));
    }
}

#[test]
fn a_part_with_a_file_source_is_left_out_of_messages() {
    let text = json!({"type": "text", "text": "look"});
    let file = json!({"type": "document", "source": {"type": "file", "value": "file-1"}});
    let user = |parts: Value| json!([{"id": "m", "role": "user", "content": parts}]);
    let lost = vec!["content parts with a file source"];
    assert_eq!(
        downgraded(&snapshot(&user(json!([text, file])))),
        (Some(snapshot(&user(json!([text])))), lost.clone())
    );
    let started = |messages: Value| {
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0", "input":
            {"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": []}})
    };
    assert_eq!(downgraded(&started(user(json!([file])))), (Some(started(user(json!([])))), lost));
}

#[test]
fn an_echoed_input_gets_the_lists_it_lacks() {
    let started =
        |input: Value| json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": input});
    let (sent, lost) = downgraded(&started(json!({"threadId": "t", "runId": "r", "messages": []})));
    let full = started(json!({"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []}));
    assert_eq!((sent, lost), (Some(full.clone()), vec![]));
    assert_eq!(downgraded(&full), (None, vec![]));
}

#[test]
fn everything_else_passes_unchanged() {
    for event in [
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": 1}),
        finished(&json!({"type": "success"})),
        finished(&json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirm"}]})),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "text"}),
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "planner"}),
        snapshot(&json!([
            {"id": "a", "role": "user", "content": "text"},
            {"id": "b", "role": "user", "content": [
                {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}]},
            {"id": "c", "role": "tool", "toolCallId": "c", "content": "text"},
        ])),
    ] {
        assert_eq!(downgraded(&event), (None, vec![]), "{event}");
    }
}

/// `VER-6`; what stands in the stream, its ids and its order stay (`VER-7`).
#[tokio::test]
async fn only_a_peer_without_a_version_gets_less_and_the_log_says_so_once() {
    let (log, _guard) = Log::start();
    let endpoint = Endpoint::new(|run: Run| async move {
        let files = json!([{"id": "m", "role": "user", "content": [
            {"type": "document", "source": {"type": "file", "value": "file-1"}}]}]);
        for _ in 0..2 {
            run.messages_snapshot(serde_json::from_value(files.clone())?).await?;
        }
        Ok(RunEnd::with_outcome(RunFinishedCancelledOutcome::new()))
    });
    let warnings = |log: &Log| log.text().matches("VER-6").count();

    let current = events(call(&endpoint, post(INPUT)).await.into_body()).await;
    assert_eq!(current[3]["outcome"]["type"], "cancelled");
    assert_eq!(current[1]["messages"][0]["content"][0]["type"], "document");
    settle().await;
    assert_eq!(warnings(&log), 0);

    let older = r#"{"threadId":"t","runId":"r","messages":[]}"#;
    let older = events(call(&endpoint, post(older)).await.into_body()).await;
    assert_eq!(older[0]["protocolVersion"], "1.0");
    assert_eq!(older[3].get("outcome"), None);
    for (older, current) in older.iter().zip(&current) {
        assert_eq!((&older["type"], &older["runId"]), (&current["type"], &current["runId"]));
    }
    assert_eq!(
        (older.len(), &older[1]["messages"][0]["id"]),
        (current.len(), &current[1]["messages"][0]["id"])
    );
    assert_eq!(older[1]["messages"][0]["content"], json!([]));
    settle().await;
    assert_eq!(warnings(&log), 1);
    assert!(log.text().contains("RUN_FINISHED.outcome cancelled"));
}
