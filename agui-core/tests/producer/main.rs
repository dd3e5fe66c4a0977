//! What a handler calls and what a reader gets, behaviour by behaviour.

#![expect(clippy::unwrap_used, reason = "a test may panic in its helpers too")]

mod endings;
mod flow;
mod handles;
mod refusals;
mod state;
mod streams;
mod subagents;

use std::sync::Arc;

use agui_core::RunAgentInput;
use agui_core::producer::{Launched, RunHandler, RunSetup, launch};
use futures_util::future::join;
use serde_json::{Value, json};

fn input() -> RunAgentInput {
    RunAgentInput::new("t", "r", [])
}

/// Serves one run to its end and gives what a reader takes, as JSON. Every event is held to the schema.
fn serve(setup: RunSetup, handler: impl RunHandler) -> Vec<Value> {
    let Launched { task, mut events, control, .. } = launch(Arc::new(handler), setup);
    let work = async {
        let result = task.await;
        control.settle(result);
    };
    let reader = async {
        let mut taken = Vec::new();
        while let Some(event) = events.next().await {
            agui_schema::assert_valid_event!(&event);
            taken.push(json!(event));
        }
        taken
    };
    let ((), taken) = futures_executor::block_on(join(work, reader));
    taken
}

/// The events between `RUN_STARTED` and the terminal one of a run that ends as a success.
fn between(handler: impl RunHandler) -> Vec<Value> {
    let mut events = serve(RunSetup::new(input()), handler);
    assert_eq!(events.remove(0)["type"], "RUN_STARTED");
    assert_eq!(events.pop().unwrap()["type"], "RUN_FINISHED");
    events
}

/// The last event of a run.
fn ending(handler: impl RunHandler) -> Value {
    serve(RunSetup::new(input()), handler).pop().unwrap()
}

/// Each event in short: its type without the family's prefix, and what it names.
fn short(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let kind = event["type"].as_str().unwrap();
            let named = ["messageId", "toolCallId", "stepName", "name", "subagentRunId"]
                .into_iter()
                .find_map(|member| event[member].as_str());
            match (named, event["delta"].as_str()) {
                (Some(named), Some(delta)) => format!("{kind} {named} {delta}"),
                (Some(named), None) => format!("{kind} {named}"),
                _ => kind.to_owned(),
            }
        })
        .collect()
}
