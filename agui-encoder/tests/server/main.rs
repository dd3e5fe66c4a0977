//! A server of agents, through the two steps that an adapter takes.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

mod attaching;
mod discovery;
mod failing;
mod places;
mod reattach;
mod refusals;
mod runs;
#[path = "../support/mod.rs"]
mod support;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{AgentServer, Body};
use http::Response;
use serde_json::{Value, json};

use support::{ask, post_to, text};

/// The smallest input of a 1.0 peer.
fn input(thread: &str, run: &str) -> Value {
    json!({ "threadId": thread, "runId": run, "protocolVersion": "1.0", "messages": [] })
}

/// An agent that is done at once.
async fn greet(run: Run) -> Result<RunEnd, RunError> {
    run.text("Hello").await?;
    Ok(RunEnd::success())
}

/// An agent that writes a message and waits for its cancellation.
async fn wait(run: Run) -> Result<RunEnd, RunError> {
    let mut message = run.message();
    message.delta("wait").await?;
    run.cancelled().await;
    Ok(RunEnd::cancelled())
}

fn server() -> AgentServer {
    AgentServer::new().with_agent("greet", greet).with_agent("wait", wait)
}

/// Starts a run.
async fn run(server: &AgentServer, agent: &str, input: &Value) -> Body {
    let response = ask(server, post_to(&format!("/agent/{agent}/run"), input)).await;
    assert_eq!(response.status(), 200);
    response.into_body()
}

/// Reads a thread.
async fn connect(server: &AgentServer, agent: &str, input: &Value) -> Body {
    let response = ask(server, post_to(&format!("/agent/{agent}/connect"), input)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

/// Stops a run.
async fn stop(server: &AgentServer, agent: &str, thread: &str, body: &Value) -> Value {
    let response = ask(server, post_to(&format!("/agent/{agent}/stop/{thread}"), body)).await;
    assert_eq!(response.status(), 200);
    answer(response).await
}

/// An answer that is JSON.
async fn answer(response: Response<Body>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_str(&text(response.into_body()).await).unwrap()
}
