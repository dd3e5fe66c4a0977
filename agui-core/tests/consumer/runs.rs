//! How runs begin, follow each other and end (`LIFE`, `BIND-5`, `VER`).

use agui_core::consumer::{RunStatus, Session, StreamEnd};
use serde_json::{Value, json};

use crate::{exchange, finished, input, messages, quiet, started, stream, text};

fn run(events: impl IntoIterator<Item = Value>, end: Value) -> Value {
    let mut all = vec![started("r")];
    all.extend(events);
    all.push(end);
    all.into()
}

#[test]
fn a_cancelled_run_has_neither_succeeded_nor_failed_and_keeps_what_it_delivered() {
    // LIFE-5
    let cancelled = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}, "result": 7});
    let mut events = text("m", "half an ans").to_vec();
    events.push(json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}));
    events.push(json!({"type": "TOOL_CALL_END", "toolCallId": "c"}));
    let (seen, conversation) = stream(&run(events, cancelled));
    assert_eq!((seen.warnings.len(), seen.end), (0, StreamEnd::Complete));
    assert_eq!(conversation.run_status(), RunStatus::Cancelled);
    assert_eq!(conversation.last_run().unwrap().failure, None);
    assert_eq!(conversation.last_run().unwrap().result, Some(json!(7)));
    assert_eq!(messages(&conversation)[0]["content"], "half an ans");
    assert!(conversation.pending_tool_call_ids().is_empty());
}

#[test]
fn runs_follow_each_other_and_only_what_is_open_starts_afresh() {
    // LIFE-8
    let again = |events: &mut Vec<Value>, run: &str, delta: &str| {
        events.push(started(run));
        events.push(json!({"type": "STEP_STARTED", "stepName": "s"}));
        events.push(json!({"type": "SUBAGENT_STARTED", "subagentRunId": "sub", "name": "scout"}));
        events.extend(text(&format!("m-{run}"), delta));
        events.push(
            json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": format!("/{run}"), "value": 1}]}),
        );
    };
    let mut events = Vec::new();
    again(&mut events, "r1", "one");
    events.push(json!({"type": "RUN_ERROR", "message": "jam"}));
    again(&mut events, "r", "two");
    events.push(json!({"type": "STEP_FINISHED", "stepName": "s"}));
    events.push(json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "sub"}));
    events.push(finished("r"));
    let (seen, conversation) = stream(&events.into());
    assert_eq!((&seen.words[..], seen.end), ("", StreamEnd::Complete));
    let texts: Vec<_> = conversation.messages().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(*conversation.state(), json!({"r1": 1, "r": 1}));
    let ends: Vec<_> = conversation.runs().iter().map(|run| run.status.as_str()).collect();
    assert_eq!(ends, ["error", "success"]);
}

#[test]
fn what_a_failed_run_left_open_is_closed_for_the_next() {
    // LIFE-8, LIFE-6
    let open = json!({"type": "TEXT_MESSAGE_START", "messageId": "m"});
    let more = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"});
    let (seen, _) =
        stream(&json!([started("r1"), open, {"type": "RUN_ERROR", "message": "jam"}, started("r"), more]));
    assert_eq!(seen.refusal(), ("STREAM-1", 4, "/messageId"));
}

#[test]
fn attaching_again_is_a_replay_that_restates_history_as_a_snapshot() {
    // BIND-5: a broken stream is not gone on with; what is held is replaced, not appended to.
    let mut session = Session::new();
    let broken = json!([started("r"), {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "To the s"}]);
    assert_eq!(exchange(&mut session, input(), &broken).end, StreamEnd::Truncated);
    let held = json!([{"id": "m", "role": "assistant", "content": "To the sea."}]);
    let mut replay =
        vec![started("r"), json!({"type": "MESSAGES_SNAPSHOT", "messages": held}), finished("r")];
    replay.push(started("again"));
    replay.extend(text("n", "And back."));
    replay.push(finished("again"));
    let asked = json!({"threadId": "t", "runId": "again", "messages": messages(session.conversation())});
    let seen = exchange(&mut session, asked, &replay.into());
    assert_eq!((&seen.words[..], seen.end), ("", StreamEnd::Complete));
    let texts: Vec<_> =
        session.conversation().messages().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["To the sea.", "And back."]);
}

#[test]
fn token_counts_are_held_as_reported() {
    // LIFE-12: absent is not zero, and nothing is added up.
    let usage = json!([
        {"provider": "a", "model": "m", "inputTokens": 10, "outputTokens": 0, "cachedInputTokens": 4},
        {"provider": "b", "inputTokens": 3},
    ]);
    let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": usage});
    let (seen, conversation) = stream(&run([], end));
    assert_eq!(json!(conversation.last_run().unwrap().usage), usage, "{}", seen.words);
    let (_, conversation) = quiet(&json!([]));
    assert_eq!(conversation.last_run().unwrap().usage, None);
}

#[test]
fn false_zero_and_an_empty_text_are_results() {
    // LIFE-13
    for result in [json!(false), json!(0), json!(""), json!([]), json!({"a": null})] {
        let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": result});
        let (seen, conversation) = stream(&run([], end.clone()));
        assert_eq!((&seen.events[1], &seen.words[..]), (&end, ""));
        assert_eq!(conversation.last_run().unwrap().result, Some(result));
    }
    let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": null});
    let (seen, conversation) = stream(&run([], end));
    assert_eq!((conversation.last_run().unwrap().result.clone(), seen.warnings.len()), (None, 1));
}

#[test]
fn each_runs_own_version_is_held_as_declared() {
    // VER-8
    let declared = |run: &str, version: &str| json!({"type": "RUN_STARTED", "threadId": "t", "runId": run, "protocolVersion": version});
    let replayed = json!([started("r0"), finished("r0"), declared("r", "1.0"), finished("r")]);
    let (seen, conversation) = stream(&replayed);
    assert_eq!((json!(seen.events), &seen.words[..]), (replayed, ""));
    let versions: Vec<_> = conversation.runs().iter().map(|run| run.protocol_version.as_deref()).collect();
    assert_eq!(versions, [None, Some("1.0")]);
}

#[test]
fn an_addition_of_a_later_minor_version_is_stripped_like_anything_unknown() {
    // VER-4
    let mut events = text("m", "x").to_vec();
    events.push(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m",
        "encryptedValue": "e", "encryptedValueType": "acme.v2"}));
    let (seen, conversation) = stream(&run(events, finished("r")));
    assert_eq!(seen.warnings, ["PROC-3 /encryptedValueType"]);
    assert_eq!(messages(&conversation)[0]["encryptedValue"], "e");
    assert_eq!(messages(&conversation)[0].get("encryptedValueType"), None);
}
