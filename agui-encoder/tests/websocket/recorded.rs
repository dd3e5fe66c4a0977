//! Sockets of a server of agents: its runs are recorded and outlive their socket.

#![expect(clippy::panic, reason = "a helper of tests, outside of a test function")]

use std::sync::Arc;

use agui_core::{Run, RunEnd};
use agui_encoder::http::{AgentServer, Begun, RequestBody};
use agui_encoder::ws::WebSocketEndpoint;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::peer::{Peer, input};
use super::support::{events, post, settle, types};

/// Says one word, and the other one when the gate opens.
fn server(gate: &Arc<Notify>) -> AgentServer {
    let gate = Arc::clone(gate);
    AgentServer::new().with_agent("patient", move |run: Run| {
        let gate = Arc::clone(&gate);
        async move {
            let mut message = run.message();
            message.delta("one").await?;
            tokio::select! {
                () = gate.notified() => message.delta("two").await?,
                () = run.cancelled() => {}
            }
            message.end().await?;
            Ok(RunEnd::success())
        }
    })
}

/// What a client that holds nothing is sent of the thread.
async fn record(server: &AgentServer) -> Vec<Value> {
    let (head, body) = post(&input("fresh").to_string()).into_parts();
    match server.begin(&head, "/agent/patient/connect").await {
        Begun::Accepted(pending) => {
            events(pending.finish(RequestBody::Complete(body.into())).await.into_body()).await
        }
        Begun::Refused(response) => panic!("refused: {response:?}"),
    }
}

#[tokio::test]
async fn a_run_whose_socket_is_gone_is_left_to_its_record() {
    let gate = Arc::new(Notify::new());
    let server = server(&gate);
    let peer = Peer::connect(&WebSocketEndpoint::new(server.clone())).await;
    peer.ask("r");
    for _ in 0..3 {
        peer.frame().await;
    }
    drop(peer);
    settle().await;
    gate.notify_one();
    let events = record(&server).await;
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!((text.as_str(), events.last().unwrap().get("outcome")), ("onetwo", None));
}

#[tokio::test]
async fn a_thread_has_one_run_whichever_socket_asks_and_its_own_socket_stops_it() {
    let server = server(&Arc::default());
    let sockets = WebSocketEndpoint::new(server.clone());
    let (first, second) = (Peer::connect(&sockets).await, Peer::connect(&sockets).await);
    first.ask("one");
    for _ in 0..3 {
        first.frame().await;
    }
    second.ask("two");
    assert_eq!(second.frame().await["code"], "thread_busy");
    first.say(&json!({ "type": "stop" }));
    assert_eq!(first.run().await.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(record(&server).await.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
    second.ask("two");
    assert_eq!(second.frame().await["type"], "RUN_STARTED", "the thread was free before the ending was seen");
}

#[tokio::test]
async fn one_agent_need_not_be_named_and_of_several_one_has_to_be() {
    let alone = server(&Arc::default());
    let several = alone.clone().with_agent("other", |_: Run| async { Ok(RunEnd::success()) });
    let peer = Peer::connect(&WebSocketEndpoint::new(several)).await;
    peer.ask("r");
    assert_eq!(peer.frame().await["code"], "agent_not_found");
    let mut named = input("r");
    named["agentId"] = json!("other");
    peer.say(&named);
    assert_eq!(types(&peer.run().await), ["RUN_STARTED", "RUN_FINISHED"]);
    let peer = Peer::connect(&WebSocketEndpoint::new(alone)).await;
    peer.ask("another");
    assert_eq!(peer.frame().await["type"], "RUN_STARTED");
}
