//! Random programs for the synchronous writer: it lets out exactly what the rules allow, and leaves nothing half done.

use agui_core::producer::{RunEnd, RunError, RunWriter};
use agui_core::{Event, RunAgentInput};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::oracle::{Oracle, Phase};
use crate::{input, is_valid};

/// Ids are few, so that events meet.
fn id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["m1", "m1", "m2", "r1", "c1", "c2", "u1", "a1", "c0", "p1", ""])
}

fn tag() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, None, None, Some("red"), Some("blue")])
}

/// Any event but `RUN_STARTED`; more often than not one that fits nowhere.
pub(crate) fn event() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec!["f", "g"]);
    let optional_id = prop::option::weighted(0.3, id());
    (0..31_u8, id(), id(), tag(), names, optional_id, any::<u8>()).prop_map(
        |(kind, id, other, tag, name, parent, dice)| {
            let mut event = match kind {
                0 | 1 => json!({"type": "TEXT_MESSAGE_START", "messageId": id}),
                2 => json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "x"}),
                3 | 4 => json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
                5 => json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "user", "name": name}),
                6 | 7 => json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}),
                8 => json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": "{"}),
                9 | 10 => json!({"type": "TOOL_CALL_END", "toolCallId": id}),
                11 => json!({"type": "TOOL_CALL_RESULT", "toolCallId": id, "messageId": other, "content": "ok"}),
                12 => json!({"type": "REASONING_START", "messageId": id}),
                13 => json!({"type": "REASONING_END", "messageId": id}),
                14 => json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
                15 => json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": "hm"}),
                16 => json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
                17 => json!({"type": "STEP_STARTED", "stepName": name}),
                18 => json!({"type": "STEP_FINISHED", "stepName": name}),
                19 => json!({"type": "SUBAGENT_STARTED", "subagentRunId": if dice % 2 == 0 { "red" } else { "blue" },
                             "name": name}),
                20 => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": if dice % 2 == 0 { "red" } else { "blue" }}),
                21 => json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": name, "content": {},
                             "replace": dice % 3 != 0}),
                22 => json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": name,
                             "patch": [match dice % 4 {
                                 0 => json!({"op": "replace", "path": "", "value": 5}),
                                 1 => json!({"op": "replace", "path": "", "value": {"x": 0}}),
                                 _ => json!({"op": "add", "path": "/x", "value": 1}),
                             }]}),
                23 => json!({"type": "REASONING_ENCRYPTED_VALUE", "entityId": id, "encryptedValue": "x",
                             "subtype": if dice % 2 == 0 { "message" } else { "tool-call" }}),
                24 => json!({"type": "MESSAGES_SNAPSHOT", "messages": snapshot(dice)}),
                25 => json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}),
                26 => json!({"type": "TOOL_CALL_CHUNK", "delta": "x"}),
                27 => json!({"type": "REASONING_MESSAGE_CHUNK", "delta": "x"}),
                28 => json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/plan", "value": name}]}),
                29 => json!({"type": "CUSTOM", "name": name, "value": null}),
                _ => json!({"type": "RAW", "event": null}),
            };
            let kind = event["type"].as_str().unwrap().to_owned();
            if kind.ends_with("_CHUNK") && dice % 3 != 0 {
                let member = if kind == "TOOL_CALL_CHUNK" { "toolCallId" } else { "messageId" };
                event[member] = json!(id);
                if kind == "TOOL_CALL_CHUNK" && dice % 5 != 0 {
                    event["toolCallName"] = json!(name);
                }
                if kind == "TEXT_MESSAGE_CHUNK" && dice % 5 == 0 {
                    event["role"] = json!("user");
                }
            }
            if let (Some(parent), "TOOL_CALL_START" | "TOOL_CALL_CHUNK") = (parent, kind.as_str()) {
                event["parentMessageId"] = json!(parent);
            }
            let fixed = kind.starts_with("SUBAGENT") || kind == "MESSAGES_SNAPSHOT";
            match tag {
                Some(tag) if kind == "SUBAGENT_STARTED" => event["parentSubagentRunId"] = json!(tag),
                Some(tag) if !fixed => event["subagentRunId"] = json!(tag),
                _ => {}
            }
            event
        },
    )
}

fn snapshot(dice: u8) -> Value {
    let all = [
        json!({"id": "u1", "role": "user", "content": "hi"}),
        json!({"id": "m1", "role": "assistant", "content": "x", "subagentRunId": "red"}),
        json!({"id": "m2", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function",
               "function": {"name": "f", "arguments": ""}}]}),
        json!({"id": "t9", "role": "tool", "toolCallId": "c1", "content": "ok"}),
        json!({"id": "r1", "role": "reasoning", "content": "hm"}),
        json!({"id": "p1", "role": "activity", "activityType": "f", "content": {}}),
    ];
    all.into_iter()
        .enumerate()
        .filter(|(bit, _)| dice & (1 << bit) != 0)
        .map(|(_, message)| message)
        .collect()
}

#[derive(Debug, Clone)]
enum End {
    Success,
    Cancel,
    Fail,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of every event the writer says what the rules say, and whatever it has let out can be ended in order.
    #[test]
    fn the_writer_lets_out_exactly_what_the_rules_allow(
        events in prop::collection::vec(event(), 0..60),
        end in prop::sample::select(vec![End::Success, End::Cancel, End::Fail]),
    ) {
        let input = input();
        let mut oracle = Oracle::new(&input);
        let input: RunAgentInput = serde_json::from_value(input).unwrap();
        let mut writer = RunWriter::new(input, Vec::new());
        writer.start().unwrap();
        oracle.judge(&json!(writer.sink().last())).unwrap();
        for json in events {
            let event: Event = serde_json::from_value(json.clone()).unwrap();
            let before = writer.sink().len();
            let written = writer.emit(event);
            let judged = oracle.judge(&json);
            prop_assert_eq!(written.is_ok(), judged.is_ok(), "{}: {:?}, {:?}", json, written, judged);
            prop_assert_eq!(writer.sink().len(), before + usize::from(written.is_ok()));
            prop_assert_eq!(json!(writer.sequence().unanswered_tool_calls()), json!(oracle.unanswered()));
            prop_assert_eq!(writer.state(), oracle.state());
        }
        let before = writer.sink().len();
        match end {
            End::Success => writer.finish(RunEnd::success()),
            End::Cancel => writer.cancel(),
            End::Fail => writer.fail(&RunError::public("no")),
        }
        prop_assert!(writer.is_over());
        let pending = oracle.unanswered();
        for event in &writer.sink()[before..] {
            prop_assert!(is_valid(&json!(event)));
            if let Err(rule) = oracle.judge(&json!(event)) {
                prop_assert!(false, "{}: {}", rule, json!(event));
            }
        }
        let last = json!(writer.sink().last());
        match end {
            End::Fail => prop_assert_eq!(oracle.phase(), Phase::Failed),
            End::Cancel => prop_assert_eq!(&last["outcome"], &json!({"type": "cancelled"})),
            End::Success if pending.is_empty() => prop_assert!(last.get("outcome").is_none()),
            End::Success => prop_assert_eq!(&last["outcome"]["pendingToolCallIds"], &json!(pending)),
        }
        let after = writer.sink().len();
        prop_assert!(writer.parent().custom("late", 1).is_err());
        writer.finish(RunEnd::success());
        writer.fail(&RunError::public("late"));
        prop_assert_eq!(writer.sink().len(), after);
    }
}
