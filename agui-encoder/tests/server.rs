//! A server of agents: discovery, runs, re-attachment and stop, each through the two steps that an adapter takes.

mod support;

use agui_core::{AgentCapabilities, Run, RunEnd, TransportCapabilities};
use agui_encoder::http::{AgentInfo, AgentServer};
use http::Request;
use serde_json::{Value, json};

use support::{ask, events, post_to, text, types};

/// The smallest input of a 1.0 peer.
fn input(thread: &str, run: &str) -> Value {
    json!({ "threadId": thread, "runId": run, "protocolVersion": "1.0", "messages": [] })
}

async fn greet(run: Run) -> Result<RunEnd, agui_core::RunError> {
    run.text("Hello").await?;
    Ok(RunEnd::success())
}

/// Writes a message and waits for its cancellation.
async fn wait(run: Run) -> Result<RunEnd, agui_core::RunError> {
    let mut message = run.message();
    message.delta("wait").await?;
    run.cancelled().await;
    Ok(RunEnd::cancelled())
}

fn server() -> AgentServer {
    AgentServer::new().with_agent("greet", greet).with_agent("wait", wait)
}

async fn started(server: &AgentServer, agent: &str, input: &Value) -> agui_encoder::http::Body {
    let response = ask(server, post_to(&format!("/agent/{agent}/run"), input)).await;
    assert_eq!(response.status(), 200);
    response.into_body()
}

async fn connected(server: &AgentServer, agent: &str, input: &Value) -> agui_encoder::http::Body {
    let response = ask(server, post_to(&format!("/agent/{agent}/connect"), input)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

#[tokio::test]
async fn discovery_names_the_agents_and_what_they_and_the_server_can_do() {
    let info = AgentInfo::default().with_class_name("Greeter").with_description("Greets.");
    let server = AgentServer::new().with_described_agent("greet", info, greet).with_agent("wait", wait);
    let response = ask(&server, Request::get("/info").body(String::new()).unwrap()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer: Value = serde_json::from_str(&text(response.into_body()).await).unwrap();
    let binary = cfg!(feature = "protobuf").then_some(true);
    let mut transport = json!({ "streaming": true });
    if let Some(binary) = binary {
        transport["httpBinary"] = binary.into();
    }
    assert_eq!(
        answer,
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "mode": "sse",
            "agents": {
                "greet": {
                    "name": "greet",
                    "className": "Greeter",
                    "description": "Greets.",
                    "capabilities": { "transport": transport },
                },
                "wait": { "name": "wait", "capabilities": { "transport": transport } },
            },
            "audioFileTranscriptionEnabled": false,
            "suggestions": false,
            "a2uiEnabled": false,
            "openGenerativeUIEnabled": false,
            "threadEndpoints": {
                "list": false, "inspect": false, "mutations": false, "realtimeMetadata": false,
            },
            "telemetryDisabled": true,
        })
    );
}

#[tokio::test]
async fn discovery_promises_nothing_that_the_server_does_not_do() {
    struct Proud;
    impl agui_core::RunHandler for Proud {
        async fn run(&self, _: Run) -> Result<RunEnd, agui_core::RunError> {
            Ok(RunEnd::success())
        }
        fn capabilities(&self) -> AgentCapabilities {
            let transport = TransportCapabilities::default()
                .with_resumable(true)
                .with_http_binary(true)
                .with_streaming(false);
            AgentCapabilities::default().with_transport(transport)
        }
    }
    let server = AgentServer::new().with_agent("proud", Proud).with_protobuf(false);
    let response = ask(&server, Request::get("/info").body(String::new()).unwrap()).await;
    let answer: Value = serde_json::from_str(&text(response.into_body()).await).unwrap();
    assert_eq!(answer["agents"]["proud"]["capabilities"], json!({ "transport": { "streaming": true } }));
}

#[tokio::test]
async fn what_a_run_sent_is_what_a_later_client_gets() {
    let server = server();
    let mut asked = input("t", "r");
    asked["messages"] = json!([{ "id": "q", "role": "user", "content": "Hi" }]);
    asked["state"] = json!({ "step": 1 });
    asked["forwardedProps"] = json!({ "secret": 1 });
    let sent = events(started(&server, "greet", &asked).await).await;
    assert_eq!(
        sent[0]["input"],
        json!({ "threadId": "t", "runId": "r", "messages": asked["messages"], "tools": [], "context": [] })
    );
    let replayed = events(connected(&server, "greet", &input("t", "fresh")).await).await;
    // A client that holds nothing does not know the state the run was given.
    assert_eq!(replayed[1], json!({ "type": "STATE_SNAPSHOT", "snapshot": { "step": 1 } }));
    assert_eq!([&replayed[..1], &replayed[2..]].concat(), sent);
}

#[tokio::test]
async fn a_thread_nobody_knows_is_an_empty_stream() {
    let server = server();
    let response = ask(&server, post_to("/agent/greet/connect", &input("new", "r"))).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert!(!http_body::Body::is_end_stream(response.body()), "its length is not announced");
    assert_eq!(text(response.into_body()).await, "");
}

#[tokio::test]
async fn a_stopped_run_ends_as_cancelled_for_everybody() {
    let server = server();
    let runner = started(&server, "wait", &input("trip/7", "r")).await;
    let watcher = connected(&server, "wait", &input("trip/7", "fresh")).await;
    let response = ask(&server, post_to("/agent/wait/stop/trip%2F7", &json!({ "runId": "r" }))).await;
    let answer: Value = serde_json::from_str(&text(response.into_body()).await).unwrap();
    assert_eq!(answer, json!({ "stopped": true, "runId": "r" }));
    let (runner, watcher) = (events(runner).await, events(watcher).await);
    assert_eq!(
        types(&runner),
        ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]
    );
    assert_eq!(runner[4]["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(watcher, runner);
}
