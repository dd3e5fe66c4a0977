//! How runs of the script agent are stopped and counted.

mod runner;

use agui_demo::ScriptAgent;
use runner::{Running, finished_with, perform, script_input, start};
use serde_json::{Value, json};

/// Starts a script and reads its events up to one of a type.
async fn start_until(script: Value, kind: &str) -> Running {
    let mut running = start(ScriptAgent, script_input(&script));
    while running.next().await["type"] != kind {}
    running
}

async fn stats(label: &str) -> Value {
    perform(json!([{ "stats": label }])).await.remove(0)["value"].take()
}

fn counts(label: &str, active: u64, completed: u64, cancelled: u64, failed: u64) -> Value {
    json!({ "label": label, "active": active, "completed": completed, "cancelled": cancelled, "failed": failed })
}

#[tokio::test]
async fn a_stop_ends_the_wait_and_closes_what_is_open() {
    let script = json!([{ "step": { "name": "s", "do": [{ "sleepMs": 3_600_000 }, { "text": "never" }] } }]);
    let running = start_until(script, "STEP_STARTED").await;
    running.stop();
    assert_eq!(
        running.rest().await,
        [json!({ "type": "STEP_FINISHED", "stepName": "s" }), finished_with(json!({ "type": "cancelled" }))]
    );
}

#[tokio::test]
async fn a_stop_ends_the_gap_between_deltas() {
    let script = json!([{ "deltas": ["a", "b"], "gapMs": 3_600_000 }]);
    let running = start_until(script, "TEXT_MESSAGE_CONTENT").await;
    running.stop();
    let rest = running.rest().await;
    assert_eq!(rest[0]["type"], "TEXT_MESSAGE_END");
    assert_eq!(rest[1], finished_with(json!({ "type": "cancelled" })));
}

#[tokio::test]
async fn a_stop_ends_the_wait_for_a_slow_reader() {
    let script = json!([{ "flood": { "count": 1_000_000, "bytes": 100 } }]);
    let running = start_until(script, "TEXT_MESSAGE_START").await;
    running.stop();
    let rest = running.rest().await;
    assert!(rest.len() < 1000, "{} events", rest.len());
    assert_eq!(rest.last().unwrap(), &finished_with(json!({ "type": "cancelled" })));
}

#[tokio::test]
async fn runs_are_counted_by_how_they_end() {
    let track = json!({ "track": "ends" });
    assert_eq!(stats("ends").await, counts("ends", 0, 0, 0, 0));
    let events = perform(json!([track, track, { "stats": "ends" }])).await;
    assert_eq!(events[0]["value"], counts("ends", 1, 0, 0, 0), "the run counts itself, once");
    assert_eq!(stats("ends").await, counts("ends", 0, 1, 0, 0));

    for end in [
        json!({ "interrupt": [{ "id": "i", "reason": "r" }] }),
        json!({ "event": { "type": "RUN_FINISHED", "threadId": "t", "runId": "r" } }),
    ] {
        perform(json!([track, end])).await;
    }
    assert_eq!(stats("ends").await, counts("ends", 0, 3, 0, 0));

    for end in [json!({ "cancel": true }), json!({ "finish": { "outcome": { "type": "cancelled" } } })] {
        perform(json!([track, end])).await;
    }
    assert_eq!(stats("ends").await, counts("ends", 0, 3, 2, 0));

    for end in [
        json!({ "error": "E" }),
        json!({ "panic": "P" }),
        json!({}),
        json!({ "event": { "type": "RUN_ERROR", "message": "E" } }),
        json!({ "event": { "type": "STEP_FINISHED", "stepName": "none" } }),
    ] {
        perform(json!([track, end])).await;
    }
    assert_eq!(stats("ends").await, counts("ends", 0, 3, 2, 5));
}

#[tokio::test]
async fn a_run_that_is_dropped_was_abandoned() {
    let script = json!([{ "track": "dropped" }, { "text": "a" }, { "sleepMs": 3_600_000 }]);
    let running = start_until(script, "TEXT_MESSAGE_END").await;
    assert_eq!(stats("dropped").await, counts("dropped", 1, 0, 0, 0));
    running.abandon().await;
    assert_eq!(stats("dropped").await, counts("dropped", 0, 0, 1, 0));
}
