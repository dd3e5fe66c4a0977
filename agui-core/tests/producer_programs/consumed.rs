//! Random programs read by the consumer: it has nothing to say about what our producer writes, and holds in the end what
//! the program said.

use agui_core::consumer::{RunStatus, Session, StreamEnd};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::input;
use crate::oracle::Oracle;
use crate::program::{Op, ops};
use crate::runs::{End, end, perform, reader};

/// The program without snapshots of the messages, which would take away what has been said.
fn keeping(ops: Vec<Op>) -> Vec<Op> {
    ops.into_iter()
        .filter_map(|op| match op {
            Op::MessagesSnapshot => None,
            Op::Subagent(ops, end) => Some(Op::Subagent(keeping(ops), end)),
            Op::Attributed(ops) => Some(Op::Attributed(keeping(ops))),
            op => Some(op),
        })
        .collect()
}

/// What is held of an item: a message's text, or a call's arguments.
fn held(messages: &Value, id: &str) -> Option<String> {
    let all = messages.as_array().unwrap();
    let text = all.iter().find(|message| message["id"] == id && message["content"].is_string());
    let calls = all.iter().filter_map(|message| message["toolCalls"].as_array()).flatten();
    let arguments =
        calls.into_iter().find(|call| call["id"] == id).map(|call| &call["function"]["arguments"]);
    arguments.or(text.map(|message| &message["content"])).map(|text| text.as_str().unwrap().to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_the_writer_writes_passes_in_silence_and_folds_to_what_it_was_told(
        tasks in prop::collection::vec(ops(), 1..4),
        end in end(),
        reader in reader(),
    ) {
        let outcome = perform(tasks.into_iter().map(keeping).collect(), end, reader);
        let mut session = Session::new();
        let mut exchange = session.send_json(input(), 0).unwrap();
        let mut delivered = Vec::new();
        for event in &outcome.events {
            let text = event.to_string();
            let fed = exchange.feed(text.as_str(), &mut |event, _| delivered.push(json!(event)));
            prop_assert!(fed.is_ok(), "{:?}", fed);
        }
        prop_assert_eq!(exchange.finish(), StreamEnd::Complete);
        let warnings: Vec<String> = exchange.warnings().map(ToString::to_string).collect();
        prop_assert_eq!(warnings, Vec::<String>::new());
        prop_assert_eq!(&delivered, &outcome.events);

        let conversation = session.conversation();
        prop_assert_eq!(conversation.state(), &outcome.state);
        let messages = json!(conversation.to_messages());
        let log = outcome.log.log();
        for (id, text) in &log.said {
            // Of an empty delta nothing is written, so that there may be no item.
            prop_assert_eq!(&held(&messages, id).unwrap_or_default(), text, "of {}", id);
        }
        let of_type = |kind: &str| outcome.events.iter().filter(|event| event["type"] == kind).count();
        let of_role = |role: &str| {
            messages.as_array().unwrap().iter().filter(|message| message["role"] == role).count()
        };
        prop_assert_eq!(of_role("tool"), 1 + of_type("TOOL_CALL_RESULT"));
        prop_assert_eq!(of_role("reasoning"), of_type("REASONING_MESSAGE_START"));

        let record = conversation.last_run().unwrap();
        let last = outcome.events.last().unwrap();
        let stopped = last["outcome"]["type"] == "cancelled";
        let status = match end {
            _ if stopped => RunStatus::Cancelled,
            End::Error | End::Panic => RunStatus::Failed,
            End::Interrupt => RunStatus::Interrupted,
            _ => RunStatus::Success,
        };
        prop_assert_eq!(record.status, status);
        prop_assert_eq!(conversation.open_interrupts().len(), usize::from(status == RunStatus::Interrupted));
        prop_assert_eq!(&record.result, &(end == End::Result && !stopped).then(|| json!([null])));
        let tokens: u64 = record.usage.iter().flatten().filter_map(|usage| usage.input_tokens).sum();
        prop_assert_eq!(tokens, log.tokens);
        let mut oracle = Oracle::new(&input());
        for event in &outcome.events {
            oracle.judge(event).unwrap();
        }
        let left = if matches!(status, RunStatus::Cancelled | RunStatus::Failed) { vec![] } else { oracle.unanswered() };
        prop_assert_eq!(json!(conversation.pending_tool_call_ids()), json!(left));
    }
}
