//! The runtime surface below a base URL.

mod common;

use agui_client::agui_core::consumer::{Conversation, RunStatus};
use agui_client::agui_core::{Event, Message, RunAgentInput, UserMessage};
use agui_client::{Agent, AgentSession, DialError, RuntimeClient};
use common::{Scripted, Then, answer, sse, within_a_minute};
use serde_json::{Value, json};

const JSON: &str = "content-type: application/json\r\n";

#[expect(clippy::unwrap_used, reason = "this is part of tests")]
fn runtime(server: &Scripted) -> RuntimeClient {
    RuntimeClient::new(server.url.replace("/agui", "/api/?x#y")).unwrap()
}

/// The first line of a request, and its body.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
fn parts(request: &str) -> (&str, &str) {
    (request.lines().next().unwrap(), request.split_once("\r\n\r\n").unwrap().1)
}

#[tokio::test]
async fn discovery_asks_for_the_description_and_reads_it() {
    within_a_minute(async {
        let info = json!({ "version": "0.3.0", "mode": "sse", "agents": { "planner": { "description": "Plans." } } });
        let mut server = Scripted::answering("200 OK", JSON, info.to_string()).await;
        let info = runtime(&server).with_bearer_token("s").unwrap().info().await.unwrap();
        assert_eq!(info.agents["planner"].description.as_deref(), Some("Plans."));
        let request = server.request().await;
        assert_eq!(parts(&request), ("GET /api/info HTTP/1.1", ""));
        assert!(request.contains("authorization: Bearer s\r\n") && request.contains("accept: application/json\r\n"));

        for body in ["[]", "{}", "<html>", r#"{"agents":[]}"#] {
            let server = Scripted::answering("200 OK", JSON, body).await;
            let error = runtime(&server).info().await.unwrap_err();
            assert!(matches!(error, DialError::Unexpected { .. }), "{body}: {error:?}");
        }
        let server = Scripted::answering("401 Unauthorized", JSON, r#"{"code":"unauthorized"}"#).await;
        let error = runtime(&server).info().await.unwrap_err();
        assert!(matches!(&error, DialError::Refused(refused) if refused.code() == Some("unauthorized")), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_stop_names_the_thread_in_the_path_whatever_is_in_it() {
    within_a_minute(async {
        let stopped = answer("200 OK", JSON, br#"{"stopped":true,"runId":"r"}"#, 99);
        let idle = answer("200 OK", JSON, br#"{"stopped":false,"message":"No run is in progress."}"#, 99);
        let mut server = Scripted::start([(stopped, Then::Close), (idle, Then::Close)]).await;
        let agent = runtime(&server).agent("planner");
        let answer = agent.stop("trip/7?ü#%").await.unwrap();
        assert!(answer.stopped);
        assert_eq!(answer.run_id.unwrap(), *"r");
        let request = server.request().await;
        assert_eq!(parts(&request), ("POST /api/agent/planner/stop/trip%2F7%3F%C3%BC%23%25 HTTP/1.1", ""));
        let answer = agent.stop_run("t", "r").await.unwrap();
        assert_eq!((answer.stopped, answer.message.as_deref()), (false, Some("No run is in progress.")));
        assert_eq!(parts(&server.request().await).1, r#"{"runId":"r"}"#);
    })
    .await;
}

#[tokio::test]
async fn a_replay_of_several_runs_makes_one_conversation_and_no_warnings() {
    within_a_minute(async {
        let input = |messages: &str| format!(r#"{{"threadId":"t","runId":"x","messages":{messages}}}"#);
        let record = sse(&[
            &format!(
                r#"{{"type":"RUN_STARTED","threadId":"t","runId":"r1","input":{}}}"#,
                input(r#"[{"id":"q1","role":"user","content":"Where to?"}]"#)
            ),
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a1","delta":"Porto."}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}"#,
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r2"}"#,
            r#"{"type":"RUN_ERROR","message":"no","code":"x"}"#,
        ]);
        let stream = answer("200 OK", "content-type: text/event-stream\r\n", &record, 11);
        let mut server = Scripted::start([(stream, Then::Close)]).await;
        let mut session = AgentSession::new(runtime(&server).agent("planner"), "t");
        let mut replay = session.connect().await.unwrap();
        assert_eq!(replay.finish().await.unwrap(), RunStatus::Failed);
        assert_eq!(replay.warnings().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
        drop(replay);
        let texts: Vec<_> = session.conversation().messages().map(Message::text).collect();
        assert_eq!(texts, ["Where to?", "Porto."]);
        let request = server.request().await;
        let (line, body) = parts(&request);
        assert_eq!(line, "POST /api/agent/planner/connect HTTP/1.1");
        assert_eq!(serde_json::from_str::<Value>(body).unwrap()["messages"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn a_thread_that_nobody_knows_has_an_empty_replay_which_is_whole() {
    within_a_minute(async {
        let server = Scripted::streaming("").await;
        let agent = runtime(&server).agent("planner");
        let mut replay = agent.connect("t", Conversation::new()).await.unwrap();
        assert_eq!(replay.finish().await.unwrap(), RunStatus::Unended);
        // One that begins and does not end is not.
        let server =
            Scripted::streaming(sse(&[r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#])).await;
        let mut replay = runtime(&server).agent("planner").connect("t", Conversation::new()).await.unwrap();
        assert!(replay.finish().await.unwrap_err().is_truncation());
    })
    .await;
}

#[tokio::test]
async fn what_is_held_goes_out_with_a_connect_and_is_restated_once() {
    within_a_minute(async {
        let restated = sse(&[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r1"}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"q","role":"user","content":"Hi"},{"id":"a","role":"assistant","content":"Ho"}]}"#,
            r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}"#,
        ]);
        let mut server = Scripted::streaming(restated).await;
        let mut held = Conversation::new();
        held.push_message(UserMessage::new("q", "Hi"));
        let mut replay = runtime(&server).agent("planner").connect("t", &mut held).await.unwrap();
        assert_eq!(replay.finish().await.unwrap(), RunStatus::Success);
        drop(replay);
        assert_eq!((held.message_count(), held.state()), (2, &json!({ "n": 1 })));
        let body: Value = serde_json::from_str(parts(&server.request().await).1).unwrap();
        assert_eq!(body["messages"][0]["id"], "q");
    })
    .await;
}

#[tokio::test]
async fn a_run_is_asked_for_at_its_route() {
    within_a_minute(async {
        let mut server =
            Scripted::answering("409 Conflict", JSON, r#"{"code":"thread_busy","runId":"r0"}"#).await;
        let error = runtime(&server).agent("a b").run(RunAgentInput::new("t", "r", [])).await.unwrap_err();
        assert!(matches!(&error, DialError::Refused(refused) if refused.run_id() == Some("r0")), "{error:?}");
        assert_eq!(parts(&server.request().await).0, "POST /api/agent/a%20b/run HTTP/1.1");
    })
    .await;
}

/// A server of the demo's agents, with what it has recorded.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
async fn demo_runtime() -> RuntimeClient {
    let server = agui_demo::agent_server(&agui_demo::Settings::default());
    let app = axum::Router::new().nest_service("/api", agui_axum::server(server));
    RuntimeClient::new(format!("{}/api", common::serve(app).await)).unwrap()
}

#[tokio::test]
async fn a_real_server_is_discovered_run_restored_followed_and_stopped() {
    within_a_minute(async {
        let runtime = demo_runtime().await;
        let agents = runtime.info().await.unwrap().agents;
        assert_eq!(agents.keys().collect::<Vec<_>>(), ["echo", "script"]);
        let declared = agents["script"].capabilities.as_ref().unwrap();
        assert_eq!(declared.transport.as_ref().unwrap().streaming, Some(true));

        // A new chat connects before its first run.
        let mut session = AgentSession::new(runtime.agent("echo"), "trip/7 ü");
        assert_eq!(session.connect().await.unwrap().finish().await.unwrap(), RunStatus::Unended);
        for said in ["one", "two"] {
            session.say(said);
            assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Success);
        }
        let held = session.conversation().to_messages();
        // Another window gets all of it; one that has it gets it once.
        let mut other = AgentSession::new(runtime.agent("echo"), "trip/7 ü");
        for _ in 0..2 {
            let mut replay = other.connect().await.unwrap();
            assert_eq!(replay.finish().await.unwrap(), RunStatus::Success);
            assert_eq!(replay.warnings().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
            drop(replay);
            assert_eq!(other.conversation().to_messages(), held);
        }

        // A run outlives its reader, is followed by another, and stopped by a third.
        let script = runtime.agent("script");
        let long = common::script(&json!([{ "text": "a", "id": "m" }, { "sleepMs": 600_000 }]));
        let mut run = script.run(long).await.unwrap();
        while !matches!(run.next().await, Some(Ok(Event::TextMessageEnd(_)))) {}
        drop(run);
        let again = script.run(RunAgentInput::new("t", "r2", [])).await.unwrap_err();
        assert!(
            matches!(&again, DialError::Refused(refused) if refused.code() == Some("thread_busy")),
            "{again:?}"
        );
        let mut follower = script.connect("t", Conversation::new()).await.unwrap();
        assert!(matches!(follower.next().await, Some(Ok(Event::RunStarted(_)))));
        assert!(!script.stop_run("t", "r0").await.unwrap().stopped);
        let answer = script.stop_run("t", "r").await.unwrap();
        assert_eq!((answer.stopped, answer.run_id.unwrap().as_str()), (true, "r"));
        assert_eq!(follower.finish().await.unwrap(), RunStatus::Cancelled);
        assert_eq!(follower.conversation().message("m").unwrap().text(), "a");
        let answer = script.stop("t").await.unwrap();
        assert!(!answer.stopped && answer.message.is_some());
    })
    .await;
}
