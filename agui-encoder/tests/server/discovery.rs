//! Which agents there are, and what is promised of them.

use agui_core::{AgentCapabilities, Run, RunEnd, RunError, RunHandler, TransportCapabilities};
use agui_encoder::http::{AgentInfo, AgentServer};
use http::Request;
use serde_json::{Value, json};

use crate::support::{ask, text};
use crate::{greet, wait};

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
    impl RunHandler for Proud {
        async fn run(&self, _: Run) -> Result<RunEnd, RunError> {
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
