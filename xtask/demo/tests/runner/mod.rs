//! Runs an agent in this process, without a server, and gives its events as JSON.

#![expect(clippy::expect_used, reason = "every function here is part of a test")]
#![allow(dead_code, reason = "each test file uses its part of this")]

use std::sync::Arc;

use agui_core::RunAgentInput;
use agui_core::producer::{
    CancelReason, DynRunHandler, RunControl, RunEnd, RunError, RunEvents, RunSetup, launch,
};
use agui_demo::ScriptAgent;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// An agent at work.
pub(crate) struct Running {
    task: JoinHandle<Result<RunEnd, RunError>>,
    pub(crate) events: RunEvents,
    pub(crate) control: RunControl,
}

/// Starts a run of this input.
pub(crate) fn start(agent: impl DynRunHandler, input: Value) -> Running {
    let input: RunAgentInput = serde_json::from_value(input).expect("the input is valid");
    let launched = launch(Arc::new(agent), RunSetup::new(input));
    Running { task: tokio::spawn(launched.task), events: launched.events, control: launched.control }
}

/// The input of a run `r` that performs a script.
pub(crate) fn script_input(script: &Value) -> Value {
    json!({
        "threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [],
        "forwardedProps": { "script": script },
    })
}

impl Running {
    /// The next event as JSON.
    pub(crate) async fn next(&mut self) -> Value {
        let event = self.events.next().await.expect("the run goes on");
        serde_json::to_value(event).expect("events are JSON")
    }

    /// Tells the run to stop.
    pub(crate) fn stop(&self) {
        self.control.cancel(CancelReason::Stopped);
    }

    /// The rest of the events, with the ending that a driver would bring about.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let control = self.control.clone();
        let driver = tokio::spawn(async move {
            match self.task.await {
                Ok(result) => control.settle(result),
                Err(_panic) => control.settle_failed(&RunError::internal("the agent panicked")),
            }
        });
        let mut events = Vec::new();
        while let Some(event) = self.events.next().await {
            events.push(serde_json::to_value(event).expect("events are JSON"));
        }
        driver.await.expect("the driver does not fail");
        events
    }
}

/// Every event of a script after `RUN_STARTED`, which is looked at here.
pub(crate) async fn perform(script: Value) -> Vec<Value> {
    let mut events = start(ScriptAgent, script_input(&script)).rest().await;
    let started = events.remove(0);
    assert_eq!(
        started,
        json!({ "type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0" })
    );
    events
}

/// The ordinary end of a run.
pub(crate) fn finished() -> Value {
    json!({ "type": "RUN_FINISHED", "threadId": "t", "runId": "r" })
}

/// The end of a run with an outcome.
pub(crate) fn finished_with(outcome: Value) -> Value {
    let mut end = finished();
    end["outcome"] = outcome;
    end
}

/// The three events of a short message of the assistant.
pub(crate) fn message(id: &str, text: &str) -> [Value; 3] {
    [
        json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }),
        json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text }),
        json!({ "type": "TEXT_MESSAGE_END", "messageId": id }),
    ]
}

impl Running {
    /// Drops the agent's future in the middle of its work, as a driver does whose grace is over.
    pub(crate) async fn abandon(self) {
        self.control.close();
        self.task.abort();
        let _ = self.task.await;
    }
}
