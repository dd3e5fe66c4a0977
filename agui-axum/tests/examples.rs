//! The examples, at work.

mod common;

#[expect(dead_code, reason = "an example's own main is not called here")]
#[path = "../examples/auth.rs"]
mod auth;
#[expect(dead_code, reason = "an example's own main is not called here")]
#[path = "../examples/conversation.rs"]
mod conversation;
#[expect(dead_code, reason = "an example's own main is not called here")]
#[path = "../examples/demo.rs"]
mod demo;

use std::time::Duration;

use agui_demo::Settings;
use agui_suite::{Client, Server, post_json};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Starts the demo server, and gives what ends it and what tells that it has ended.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
async fn start() -> (Server, oneshot::Sender<()>, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (terminate, terminated) = oneshot::channel();
    let settings = Settings::default();
    let demo =
        tokio::spawn(async move { demo::serve(&settings, listener, async { drop(terminated.await) }).await });
    (Server::new(addr, ()), terminate, demo)
}

#[tokio::test]
async fn the_demo_serves_both_agents_and_nothing_else() {
    let (server, _terminate, _demo) = start().await;
    agui_suite::within_a_minute(agui_suite::demo::serves_both_agents(&server)).await;
    agui_suite::within_a_minute(agui_suite::demo::refuses_what_it_does_not_serve(&server)).await;
    agui_suite::within_a_minute(agui_suite::demo::survives_a_script_as_deep_as_json_may_be(&server)).await;
}

#[tokio::test]
async fn the_demo_serves_threads_wherever_its_server_is_mounted() {
    let (server, _terminate, _demo) = start().await;
    agui_suite::within_a_minute(agui_suite::threads::are_discovered_wherever_the_server_is_mounted(&server))
        .await;
    agui_suite::within_a_minute(agui_suite::threads::are_shared_by_all_mounts(&server)).await;
    agui_suite::within_a_minute(agui_suite::threads::are_stopped_by_their_escaped_names(&server)).await;
}

#[tokio::test]
async fn the_demo_ends_its_runs_and_then_itself() {
    let (server, terminate, demo) = start().await;
    // A connection on which nothing happens does not keep the server up.
    let _idle = Client::connect(&server).await;
    let terminate = || terminate.send(()).unwrap();
    let ended = async {
        agui_suite::demo::ends_its_runs_when_it_is_told_to_end(&server, terminate).await;
        demo.await.unwrap().unwrap();
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap();
}

#[tokio::test]
async fn what_a_middleware_knows_reaches_the_handler() {
    let server = common::serve(auth::app()).await;
    agui_suite::within_a_minute(agui_suite::demo::knows_who_asks(&server)).await;
}

/// One run of the conversation, with the rest of its input.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
async fn converse(server: &Server, run_id: &str, rest: Value) -> Vec<Value> {
    let mut input = json!({
        "threadId": "t", "runId": run_id, "protocolVersion": "1.0",
        "tools": [{ "name": "pick_place", "description": "Lets the user pick a place." }],
    });
    input.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    let mut client = Client::connect(server).await;
    let answer = client.send(post_json("/agui", &[], &input)).await;
    assert_eq!(answer.status(), 200);
    answer.events().await
}

/// The place of the first event of a type.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
fn place_of(events: &[Value], kind: &str) -> usize {
    events.iter().position(|event| event["type"] == kind).unwrap()
}

#[tokio::test]
async fn a_conversation_goes_through_a_tool_of_the_application_a_subagent_and_a_question() {
    let server = common::serve(conversation::app()).await;
    let user = json!({ "id": "u", "role": "user", "content": "I need a holiday." });

    let events = converse(&server, "r1", json!({ "messages": [user] })).await;
    let call = &events[place_of(&events, "TOOL_CALL_START")]["toolCallId"];
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(*outcome, json!({ "type": "success", "pendingToolCallIds": [call] }));

    let history = json!([
        user,
        { "id": "a", "role": "assistant", "toolCalls": [
            { "id": call, "type": "function", "function": { "name": "pick_place", "arguments": "" } }] },
        { "id": "p", "role": "tool", "toolCallId": call, "content": "Porto" },
    ]);
    let events = converse(&server, "r2", json!({ "messages": history })).await;
    let changed = &events[place_of(&events, "STATE_DELTA")]["delta"];
    assert_eq!(*changed, json!([{ "op": "add", "path": "/place", "value": "Porto" }]));
    let scout = &events[place_of(&events, "SUBAGENT_STARTED")]["subagentRunId"];
    let calls: Vec<_> = events.iter().filter(|event| event["type"] == "TOOL_CALL_START").collect();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call["subagentRunId"] == *scout), "{calls:?}");
    let second = events.iter().rposition(|event| event["type"] == "TOOL_CALL_START").unwrap();
    assert!(second < place_of(&events, "TOOL_CALL_RESULT"), "the calls overlap");
    let finished = &events[place_of(&events, "SUBAGENT_FINISHED")];
    assert_eq!(finished["result"], json!(["3 trains", "3 rooms"]));
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt");
    let question = &outcome["interrupts"][0];
    assert_eq!(question["responseSchema"], json!({ "type": "boolean" }));

    for (status, payload, said) in [
        ("resolved", json!(true), "Booked. Have a good time in Porto!"),
        ("resolved", json!(false), "Nothing is booked."),
        ("cancelled", json!(true), "Nothing is booked."),
    ] {
        let resume = json!([{ "interruptId": question["id"], "status": status, "payload": payload }]);
        let rest = json!({ "messages": history, "state": { "place": "Porto" }, "resume": resume });
        let events = converse(&server, "r3", rest).await;
        assert_eq!(events[place_of(&events, "TEXT_MESSAGE_CONTENT")]["delta"], said);
    }
}

#[tokio::test]
async fn a_conversation_without_the_tool_says_what_is_missing() {
    let server = common::serve(conversation::app()).await;
    let events = converse(&server, "r1", json!({ "messages": [], "tools": [] })).await;
    assert_eq!(events.last().unwrap()["message"], "This agent needs the tool pick_place.");
}
