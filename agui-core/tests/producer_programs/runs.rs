//! Random programs of several tasks on one run: whatever they do and however they end, the stream keeps the rules and
//! says what was accepted.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use agui_core::producer::{Launched, Run, RunEnd, RunError, RunLimits, RunSetup, launch};
use agui_core::{Event, Interrupt, RunAgentInput};
use futures_util::future::join_all;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::oracle::{Oracle, Phase};
use crate::program::{Op, Shared, ops, play, wild_ops};
use crate::{input, is_valid};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    Success,
    Result,
    Error,
    Interrupt,
    Panic,
    /// Stopped after so many turns, when the future is dropped where it stands.
    Stopped(usize),
}

pub(crate) fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        3 => Just(End::Success),
        1 => Just(End::Result),
        1 => Just(End::Error),
        1 => Just(End::Interrupt),
        1 => Just(End::Panic),
        2 => (0..40_usize).prop_map(End::Stopped),
    ]
}

/// How the stream is read: how much may wait, and how many turns pass between two readings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    max_queued: usize,
    every: usize,
}

pub(crate) fn reader() -> impl Strategy<Value = Reader> {
    (1..6_usize, 1..5_usize).prop_map(|(max_queued, every)| Reader { max_queued, every })
}

pub(crate) struct Outcome {
    pub(crate) events: Vec<Value>,
    /// The state as the handler sees it after the end.
    pub(crate) state: Value,
    pub(crate) log: Shared,
}

/// Runs the tasks to their end, polling without wakers: nothing depends on when somebody is woken.
pub(crate) fn perform(tasks: Vec<Vec<Op>>, end: End, reader: Reader) -> Outcome {
    let log = Shared::default();
    let kept = Arc::new(Mutex::new(None::<Run>));
    let handler = {
        let (tasks, log, kept) = (Arc::new(tasks), log.clone(), Arc::clone(&kept));
        move |run: Run| {
            let (tasks, log) = (Arc::clone(&tasks), log.clone());
            *kept.lock().unwrap() = Some(run.clone());
            async move {
                join_all(tasks.iter().map(|ops| play(run.clone(), ops, &log))).await;
                match end {
                    End::Success | End::Stopped(_) => Ok(RunEnd::success()),
                    End::Result => Ok(RunEnd::success().with_result(json!([null]))),
                    End::Interrupt => Ok(RunEnd::interrupt(Interrupt::new("i-1", "confirm"))),
                    End::Error => Err(RunError::internal("postgres://app:pw@db/x refused")),
                    // Without the hook's message among the output of the tests.
                    End::Panic => std::panic::resume_unwind(Box::new("postgres://app:pw@db/x refused")),
                }
            }
        }
    };
    let limits = RunLimits::default().with_max_queued_events(reader.max_queued);
    let setup = RunSetup::new(serde_json::from_value::<RunAgentInput>(input()).unwrap()).with_limits(limits);
    let Launched { task, mut events, control, .. } = launch(Arc::new(handler), setup);
    let mut task = Some(Box::pin(task));
    let mut taken: Vec<Event> = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    for turn in 0.. {
        assert!(turn < 100_000, "the run is stuck");
        if let Some(work) = &mut task {
            let polled =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.as_mut().poll(&mut cx)));
            match polled {
                Ok(Poll::Pending) if end == End::Stopped(turn) => {
                    control.cancel(agui_core::producer::CancelReason::Stopped);
                    task = None;
                    control.settle_cancelled();
                }
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(result)) => {
                    task = None;
                    control.settle(result);
                }
                Err(_) => {
                    task = None;
                    control.settle_failed(&RunError::internal("the handler panicked"));
                }
            }
        }
        if turn % reader.every == 0 {
            let before = taken.len();
            if events.poll_take(&mut cx, &mut taken) == Poll::Ready(false) {
                break;
            }
            // What a task writes in one go may pass the limit, never by more than that.
            let all_at_once = 64;
            assert!(task.is_none() || taken.len() - before <= reader.max_queued + all_at_once);
        }
    }
    let run = kept.lock().unwrap().take().unwrap();
    let state = run.state().get();
    Outcome { events: taken.iter().map(|event| json!(event)).collect(), state, log }
}

/// What holds of every stream, whatever the program did.
fn judge(outcome: &Outcome) -> Result<Oracle, TestCaseError> {
    let mut oracle = Oracle::new(&input());
    for (place, event) in outcome.events.iter().enumerate() {
        prop_assert!(is_valid(event));
        if let Err(rule) = oracle.judge(event) {
            let stream: Vec<String> = outcome.events[..=place].iter().map(Value::to_string).collect();
            prop_assert!(false, "{}\n{}", rule, stream.join("\n"));
        }
        let terminal = event["type"] == "RUN_FINISHED" || event["type"] == "RUN_ERROR";
        prop_assert_eq!(terminal, place + 1 == outcome.events.len(), "{} at {}", event, place);
        prop_assert_ne!(&event["delta"], "", "an empty delta");
    }
    let first = &outcome.events[0];
    prop_assert_eq!(
        first,
        &json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"})
    );
    prop_assert_eq!(&outcome.state, oracle.state());
    let stream = json!(outcome.events).to_string();
    prop_assert!(!stream.contains("postgres"), "an internal error leaked");
    Ok(oracle)
}

/// What was said of each item, put together from the stream.
fn content(events: &[Value]) -> HashMap<String, String> {
    let mut content = HashMap::<String, String>::new();
    for event in events {
        let id = event["messageId"].as_str().or(event["toolCallId"].as_str());
        if let (Some(id), Some(delta)) = (id, event["delta"].as_str()) {
            content.entry(id.to_owned()).or_default().push_str(delta);
        }
    }
    content
}

fn ids_are_unique(events: &[Value]) -> Result<(), TestCaseError> {
    let mut ids = HashSet::new();
    for event in events {
        let id = match event["type"].as_str().unwrap() {
            "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START" | "TOOL_CALL_RESULT" => &event["messageId"],
            "TOOL_CALL_START" => &event["toolCallId"],
            "SUBAGENT_STARTED" => &event["subagentRunId"],
            _ => continue,
        };
        prop_assert!(ids.insert(id), "{} is not the first of its id", event);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Helpers alone: nothing is refused, nothing lost, and the end says what was left.
    #[test]
    fn programs_of_helpers_give_legal_streams_that_lose_nothing(
        tasks in prop::collection::vec(ops(), 1..4),
        end in end(),
        reader in reader(),
    ) {
        let outcome = perform(tasks, end, reader);
        let oracle = judge(&outcome)?;
        let log = outcome.log.log();
        prop_assert!(log.refused.is_empty(), "{:?}", log.refused);
        prop_assert_eq!(oracle.misfits(), 0, "a state helper's patch does not apply");
        ids_are_unique(&outcome.events)?;
        let said = content(&outcome.events);
        for (id, text) in &log.said {
            prop_assert_eq!(said.get(id).map_or("", String::as_str), text, "what was accepted of {}", id);
        }
        prop_assert!(said.keys().all(|id| log.said.contains_key(id)), "something nobody said");
        let last = outcome.events.last().unwrap();
        let tokens: u64 = last["usage"].as_array().into_iter().flatten().map(|usage| usage["inputTokens"].as_u64().unwrap()).sum();
        prop_assert_eq!(tokens, log.tokens);
        let failed = matches!(end, End::Error | End::Panic);
        prop_assert_eq!(oracle.phase(), if failed { Phase::Failed } else { Phase::Finished });
        let stopped = last["outcome"]["type"] == "cancelled";
        match end {
            End::Error | End::Panic => prop_assert_eq!(&last["code"], "internal_error"),
            End::Interrupt => prop_assert_eq!(&last["outcome"]["type"], "interrupt"),
            End::Result => prop_assert_eq!(&last["result"], &json!([null])),
            // A short program may be over before it is stopped.
            _ if stopped => prop_assert!(matches!(end, End::Stopped(_)) && last.get("result").is_none()),
            _ => {}
        }
        if matches!(end, End::Success | End::Result | End::Stopped(_)) && !stopped {
            let pending = oracle.unanswered();
            let named = last["outcome"].get("pendingToolCallIds").cloned().unwrap_or_else(|| json!([]));
            prop_assert_eq!(named, json!(pending));
        }
    }

    /// Helpers and events that may be illegal: what is refused never leaves, and the run still ends in order.
    #[test]
    fn programs_with_events_of_their_own_give_legal_streams(
        tasks in prop::collection::vec(wild_ops(), 1..4),
        end in end(),
        reader in reader(),
    ) {
        let outcome = perform(tasks, end, reader);
        let oracle = judge(&outcome)?;
        let failed = matches!(end, End::Error | End::Panic);
        prop_assert_eq!(oracle.phase(), if failed { Phase::Failed } else { Phase::Finished });
    }
}
