//! Whose thread it is, and what is known of one.

use std::sync::{Arc, Mutex};

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{Admission, AgentServer, Intent, Refusal, RequestHead};
use http::StatusCode;
use serde_json::json;
use tokio::sync::Semaphore;

use super::site::{Site, expect, holding_nothing, older, said, silent, soon, text_of, turn, words};
use crate::StartServer;
use crate::client::types;

/// Every new chat connects before its first run, and an error would show in it.
pub async fn an_unknown_thread_is_a_stream_without_events(start: StartServer) {
    let site = Site::new(start, silent()).await;
    let mut holding = holding_nothing("t");
    holding["messages"] = json!([{ "id": "h", "role": "user", "content": "?" }]);
    for consumer in [holding_nothing("t"), older(holding_nothing("t")), holding] {
        let answer = site.connect(&consumer).await;
        assert_eq!(answer.header("content-type"), "text/event-stream");
        assert_eq!(soon(answer.text()).await, "");
    }
}

/// What is asked for has to be understood.
pub async fn a_connect_with_a_bad_body_is_refused(start: StartServer) {
    let site = Site::new(start, silent()).await;
    for (body, code, path) in [
        ("", "invalid_json", None),
        ("{", "invalid_json", None),
        ("[]", "invalid_input", None),
        (r#"{"runId":"r","messages":[]}"#, "invalid_input", Some("threadId")),
        (r#"{"threadId":5,"runId":"r","messages":[]}"#, "invalid_input", Some("threadId")),
        (r#"{"threadId":"t","runId":"r"}"#, "invalid_input", Some("messages")),
        (
            r#"{"threadId":"t","runId":"r","messages":[{"role":"user","content":"x"}]}"#,
            "invalid_input",
            Some("messages[0].id"),
        ),
    ] {
        let refusal = expect(site.post("/agent/a/connect", body).await, 400, code).await;
        if let Some(path) = path {
            assert_eq!(refusal["path"], path, "{body}");
        }
    }
    let extra = r#"{"threadId":"t","runId":"r","messages":[],"lastSeenEventId":7}"#;
    assert_eq!(site.post("/agent/a/connect", extra).await.status(), StatusCode::OK);
}

/// Agents whose callers name themselves; a thread is theirs who started it.
fn owned(agents: AgentServer) -> AgentServer {
    struct User(String);
    agents
        .with_authenticator(|head: RequestHead| async move {
            head.header("x-user").map(|user| User(user.to_owned())).ok_or_else(Refusal::unauthorized)
        })
        .with_owner_of(|extensions| extensions.get::<User>().map(|user| user.0.clone()))
}

/// A run, a re-attachment and a stop by somebody else are refused, during a run and after it.
pub async fn another_owners_thread_is_forbidden(start: StartServer) {
    let permits = Arc::new(Semaphore::new(1));
    let mut site = Site::new(start, owned(AgentServer::new().with_agent("a", words(2, &permits)))).await;
    expect(site.post("/agent/a/connect", holding_nothing("t").to_string()).await, 401, "unauthorized").await;
    site.set("x-user", "ada");
    let mut running = site.run(&turn("t", "r")).await;
    running.read_to("0 ").await;

    for still_running in [true, false] {
        site.set("x-user", "bob");
        for (path, body) in [
            ("/agent/a/run", turn("t", "b").to_string()),
            ("/agent/a/connect", holding_nothing("t").to_string()),
            ("/agent/a/stop/t", String::new()),
            ("/agent/a/stop/t", r#"{"runId":"r"}"#.to_owned()),
            ("", json!({ "method": "agent/stop", "params": { "agentId": "a", "threadId": "t" } }).to_string()),
            ("", json!({ "method": "agent/connect", "params": { "agentId": "a" }, "body": holding_nothing("t") }).to_string()),
        ] {
            let refusal = expect(site.post(path, body).await, 403, "forbidden").await;
            assert!(!refusal.to_string().contains("ada"), "{refusal}");
        }
        site.set("x-user", "ada");
        if still_running {
            permits.add_permits(1);
            let events = soon(running.events()).await;
            assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
            assert!(events.last().unwrap().get("outcome").is_none(), "nobody else stops it");
            // Taken by value at the end of the first round.
            running = site.connect(&holding_nothing("t")).await;
        }
    }
    assert_eq!(text_of(&soon(running.events()).await), said(2));
    // What the thread of another agent is called is nobody's claim.
    site.set("x-user", "bob");
    assert_eq!(soon(site.connect(&holding_nothing("u")).await.text()).await, "");
}

/// The application's own hook sees every call on a thread, and is told which it is.
pub async fn the_admission_hook_is_asked_about_every_call(start: StartServer) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let agents = silent().with_admission(move |admission: Admission| {
        let seen = Arc::clone(&seen);
        async move {
            let thread = admission.input.thread_id.to_string();
            let agent = admission.agent.as_deref().unwrap_or_default().to_owned();
            seen.lock().unwrap().push((admission.intent, agent, thread.clone()));
            if thread.starts_with("ada/") { Ok(()) } else { Err(Refusal::forbidden("Not yours.")) }
        }
    });
    let site = Site::new(start, agents).await;
    for (thread, segment, allowed) in [("ada/1", "ada%2F1", true), ("bob/1", "bob%2F1", false)] {
        for (intent, path, body) in [
            (Intent::Run, "/agent/a/run".to_owned(), turn(thread, "r").to_string()),
            (Intent::Connect, "/agent/a/connect".to_owned(), holding_nothing(thread).to_string()),
            (Intent::Stop, format!("/agent/a/stop/{segment}"), String::new()),
        ] {
            let answer = site.post(&path, body).await;
            if allowed {
                assert_eq!(answer.status(), StatusCode::OK, "{path}");
                answer.text().await;
            } else {
                let refusal = expect(answer, 403, "forbidden").await;
                assert_eq!(refusal["message"], "Not yours.");
            }
            let last = asked.lock().unwrap().pop();
            assert_eq!(last, Some((intent, "a".to_owned(), thread.to_owned())));
        }
    }
    assert_eq!(asked.lock().unwrap().len(), 0, "each call was asked about once");
}

/// Refusing does not reach the run.
pub async fn a_stranger_to_the_thread_does_not_disturb_its_run(start: StartServer) {
    let agents = AgentServer::new().with_agent("a", async |run: Run| {
        run.message().with_id("m").delta("on").await?;
        run.cancelled().await;
        Ok::<_, RunError>(RunEnd::success())
    });
    let mut site = Site::new(start, owned(agents).with_supersede(true)).await;
    site.set("x-user", "ada");
    let mut running = site.run(&turn("t", "r")).await;
    running.read_to("\"on\"").await;
    site.set("x-user", "bob");
    // Not even where a newer run takes the place of the older one.
    site.refused_run(&turn("t", "b"), 403, "forbidden").await;
    site.set("x-user", "ada");
    assert_eq!(site.stop("t").await, json!({ "stopped": true, "runId": "r" }));
    assert_eq!(types(&soon(running.events()).await).last(), Some(&"RUN_FINISHED"));
}
