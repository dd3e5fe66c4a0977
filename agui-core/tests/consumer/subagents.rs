//! Attribution (`SUB`).

use agui_core::consumer::Session;
use serde_json::{Value, json};

use crate::{exchange, in_a_run, messages, quiet, refused, stream, text};

fn announced(id: &str) -> Value {
    json!({"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": "scout"})
}

fn tagged(owner: &str, id: &str, delta: &str) -> Vec<Value> {
    let mut events = text(id, delta).to_vec();
    for event in &mut events {
        event["subagentRunId"] = owner.into();
    }
    events
}

#[test]
fn events_of_an_invocation_that_nobody_announced_are_accepted_quietly() {
    // SUB-1
    let (_, conversation) = quiet(&json!(tagged("unheard-of", "m", "x")));
    assert_eq!(messages(&conversation)[0]["subagentRunId"], "unheard-of");
    let (_, conversation) = quiet(&json!(text("m", "x")));
    assert_eq!(messages(&conversation)[0].get("subagentRunId"), None);
}

#[test]
fn an_invocations_end_is_not_the_runs() {
    // SUB-5
    let ended =
        |outcome: Value| json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": outcome});
    for end in [
        json!({"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "lost", "code": "x"}),
        ended(json!({"type": "success"})),
        ended(json!({"type": "suspended"})),
        ended(json!({"type": "suspended", "interruptIds": []})),
        ended(json!({"type": "suspended", "interruptIds": ["i"]})),
    ] {
        let (seen, conversation) = quiet(&json!([announced("s"), end]));
        assert_eq!(seen.events[2], end);
        assert_eq!(conversation.run_status().as_str(), "success");
    }
    let unknown = ended(json!({"type": "novel", "interruptIds": ["i"]}));
    let (seen, _) = stream(&in_a_run(&json!([announced("s"), unknown])));
    assert_eq!(seen.events[2], json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}));
    assert_eq!(seen.warnings, ["PROC-4 /outcome"]);
    let mixed = ended(json!({"type": "success", "interruptIds": ["i"]}));
    let (seen, _) = stream(&in_a_run(&json!([announced("s"), mixed])));
    assert_eq!(seen.warnings, ["PROC-3 /outcome/interruptIds"]);
    // In a later run the invocation may go on.
    let suspended = ended(json!({"type": "suspended"}));
    let twice = json!([
        crate::started("r1"),
        announced("s"),
        suspended,
        crate::finished("r1"),
        crate::started("r"),
        announced("s"),
        ended(json!({"type": "success"})),
        crate::finished("r"),
    ]);
    assert_eq!(stream(&twice).0.words, "");
    refused("SUB-2", &json!([announced("s"), suspended, announced("s")]));
}

#[test]
fn invocations_interleave_and_the_end_of_one_closes_nothing_of_another() {
    // SUB-6
    let (a, b) = (tagged("a", "ma", "A"), tagged("b", "mb", "B"));
    let end = |id: &str| json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id});
    let nested = json!({"type": "SUBAGENT_STARTED", "subagentRunId": "b", "name": "scout", "parentSubagentRunId": "a"});
    let (_, conversation) =
        quiet(&json!(
            [announced("a"), nested, a[0], b[0], b[1], a[1], a[2], end("a"), b[1], b[2], end("b"),]
        ));
    let held = messages(&conversation);
    assert_eq!((&held[0]["content"], &held[1]["content"]), (&json!("A"), &json!("BB")));
}

#[test]
fn an_attribution_where_none_belongs_is_an_unknown_member() {
    // SUB-7
    let mut events = in_a_run(&json!([{"type": "MESSAGES_SNAPSHOT", "messages": []}]));
    for event in events.as_array_mut().unwrap() {
        event["subagentRunId"] = "s".into();
    }
    let (seen, _) = stream(&events);
    assert_eq!(seen.warnings, ["PROC-3 /subagentRunId"; 3]);
    let mut failed = json!([crate::started("r"), {"type": "RUN_ERROR", "message": "jam"}]);
    failed[1]["subagentRunId"] = "s".into();
    assert_eq!(stream(&failed).0.warnings, ["PROC-3 /subagentRunId"]);

    let mut event = text("m", "x")[0].clone();
    event["subagentRunId"] = Value::Null;
    refused("SHAPE-6", &json!([event]));
    for event in [
        json!({"type": "SUBAGENT_STARTED", "name": "scout"}),
        json!({"type": "SUBAGENT_FINISHED"}),
        json!({"type": "SUBAGENT_ERROR", "message": "lost"}),
    ] {
        refused("PROC-5", &json!([event]));
    }
}

#[test]
fn a_snapshot_and_an_echoed_input_say_whose_their_messages_are() {
    // SUB-8
    let message = json!({"id": "m", "role": "assistant", "content": "x", "subagentRunId": "s", "toolCalls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]});
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [message]});
    let theirs = tagged("s", "m", "y");
    let call =
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "subagentRunId": "z"});
    let opened: Vec<Value> = [snapshot.clone()].into_iter().chain(theirs).collect();
    let (_, conversation) = quiet(&opened.into());
    assert_eq!(messages(&conversation)[0]["content"], "xy");
    let foreign = json!([snapshot, text("m", "y")[0], tagged("z", "m", "y")[1]]);
    refused("SUB-3", &foreign);
    refused("SUB-3", &json!([snapshot, tagged("z", "m", "y")[0]]));
    refused("SUB-3", &json!([snapshot, call]));

    let mut echoing = in_a_run(&json!([tagged("z", "m", "y")[0]]));
    echoing[0]["input"] = json!({"threadId": "t", "runId": "r", "messages": [message]});
    let seen = exchange(&mut Session::new(), crate::input(), &echoing);
    assert_eq!((seen.refusal(), seen.warnings.len()), (("SUB-3", 1, "/subagentRunId"), 0));
}
