//! One run of a thread at a time: who may end it, and who does not.

use std::sync::Arc;
use std::time::Duration;

use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{AgentServer, OnDisconnect, RequestHead};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::site::{Site, expect, holding_nothing, older, said, soon, text_of, turn, words};
use crate::StartServer;
use crate::client::types;

/// An agent `a` that waits until it is cancelled, with a step open, and a report of each run's beginning and end.
fn waiting() -> (AgentServer, UnboundedReceiver<String>) {
    struct Report(tokio::sync::mpsc::UnboundedSender<String>, String);
    impl Drop for Report {
        fn drop(&mut self) {
            let _ = self.0.send(format!("{} over", self.1));
        }
    }
    let (sender, receiver) = unbounded_channel();
    let agents = AgentServer::new().with_agent("a", move |run: Run| {
        let sender = sender.clone();
        async move {
            let id = run.run_id().to_string();
            let _ = sender.send(id.clone());
            let _report = Report(sender, id);
            let _step = run.step("wait").await?;
            run.cancelled().await;
            Ok::<_, RunError>(RunEnd::success())
        }
    });
    (agents, receiver)
}

/// Its work goes on, and is recorded.
pub async fn a_client_that_leaves_does_not_end_its_run(start: StartServer) {
    const WORDS: usize = 20;
    let permits = Arc::new(Semaphore::new(3));
    // Short, because a framework may notice at a write at the earliest.
    let agents =
        AgentServer::new().with_agent("a", words(WORDS, &permits)).with_keep_alive(Duration::from_millis(20));
    let site = Site::new(start, agents).await;
    let mut call = site.run(&turn("t", "r")).await;
    call.read_to("2 ").await;
    drop(call);
    // Several keep-alives that nobody takes.
    tokio::time::sleep(Duration::from_millis(300)).await;
    permits.add_permits(WORDS);
    let events = soon(site.connect(&holding_nothing("t")).await.events()).await;
    assert_eq!(text_of(&events), said(WORDS));
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    assert!(events.last().unwrap().get("outcome").is_none());
}

/// The setting of the plain endpoint is there for a surface too.
pub async fn a_client_that_leaves_ends_its_run_where_the_server_says_so(start: StartServer) {
    let (agents, mut reports) = waiting();
    let agents = agents.with_keep_alive(Duration::from_millis(20)).with_on_disconnect(OnDisconnect::Cancel);
    let site = Site::new(start, agents).await;
    let mut call = site.run(&turn("t", "r")).await;
    call.read_to("STEP_STARTED").await;
    assert_eq!(reports.recv().await.as_deref(), Some("r"));
    drop(call);
    assert_eq!(soon(reports.recv()).await.as_deref(), Some("r over"));
    let events = soon(site.connect(&holding_nothing("t")).await.events()).await;
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    assert_eq!(events.last().unwrap()["outcome"]["type"], "cancelled");
}

/// The refusal names the run that is in the way; another agent's thread of that name is not.
pub async fn a_second_run_is_refused_and_the_first_is_untouched(start: StartServer) {
    const WORDS: usize = 4;
    let permits = Arc::new(Semaphore::new(1));
    let agents = AgentServer::new()
        .with_agent("a", words(WORDS, &permits))
        .with_agent("b", async |_: Run| Ok::<_, RunError>(RunEnd::success()));
    let site = Site::new(start, agents).await;
    let mut first = site.run(&turn("t", "r1")).await;
    first.read_to("0 ").await;
    for _ in 0..3 {
        let refusal = site.refused_run(&turn("t", "r2"), 409, "thread_busy").await;
        assert_eq!(refusal["runId"], "r1");
    }
    let other = site.post("/agent/b/run", turn("t", "r1").to_string()).await;
    assert_eq!(other.status(), StatusCode::OK);
    permits.add_permits(WORDS);
    let events = first.events().await;
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    site.refused_run(&turn("t", "r1"), 409, "run_exists").await;
    permits.add_permits(WORDS);
    let events = site.run(&turn("t", "r2")).await.events().await;
    assert_eq!(text_of(&events), said(WORDS));
}

/// A client asks for the next run in the moment it reads the end of the last one.
pub async fn the_thread_is_free_before_the_end_can_be_seen(start: StartServer) {
    let agents = AgentServer::new().with_agent("a", async |run: Run| match run.run_id().as_str().len() % 3 {
        0 => Err(RunError::public("no")),
        _ => Ok(RunEnd::success()),
    });
    let site = Site::new(start, agents).await;
    for number in 0..200 {
        let run = "r".repeat(number % 7 + 1) + &number.to_string();
        let mut call = site.run(&turn("t", &run)).await;
        // Not the end of the body, which may be later.
        assert_eq!(call.event().await["type"], "RUN_STARTED");
        let ending = call.event().await;
        assert!(ending["type"] == "RUN_FINISHED" || ending["type"] == "RUN_ERROR");
    }
}

/// Where the application prefers the newer question to the older answer.
pub async fn a_newer_run_may_take_the_place_of_the_one_in_progress(start: StartServer) {
    let (agents, mut reports) = waiting();
    let site = Site::new(start, agents.with_supersede(true)).await;
    let mut first = site.run(&turn("t", "r1")).await;
    first.read_to("STEP_STARTED").await;
    let mut second = site.run(&turn("t", "r2")).await;
    let ending = soon(first.events()).await;
    assert_eq!(types(&ending), ["STEP_FINISHED", "RUN_FINISHED"]);
    assert_eq!(ending[1]["outcome"]["type"], "cancelled");
    assert_eq!(second.event().await["runId"], "r2");
    second.read_to("STEP_STARTED").await;
    assert_eq!(site.stop("t").await, json!({ "stopped": true, "runId": "r2" }));
    second.events().await;
    for expected in ["r1", "r1 over", "r2", "r2 over"] {
        assert_eq!(soon(reports.recv()).await.as_deref(), Some(expected), "one after the other");
    }
    let replay = site.connect(&holding_nothing("t")).await.events().await;
    assert_eq!(replay.iter().filter(|event| event["type"] == "RUN_STARTED").count(), 2);
}

/// The client keeps its streams open; it is the server that ends them.
pub async fn a_stop_ends_the_run_for_all_who_watch(start: StartServer) {
    let (agents, mut reports) = waiting();
    let site = Site::new(start, agents).await;
    let mut holding = holding_nothing("t");
    holding["messages"] = json!([{ "id": "h", "role": "user", "content": "?" }]);
    let mut streams = vec![(site.run(&turn("t", "r")).await, Some("cancelled"))];
    assert_eq!(reports.recv().await.as_deref(), Some("r"));
    for (consumer, outcome) in [
        (holding_nothing("t"), Some("cancelled")),
        (holding, Some("cancelled")),
        (older(holding_nothing("t")), None),
    ] {
        streams.push((site.connect(&consumer).await, outcome));
    }
    for (call, _) in &mut streams {
        call.read_to("STEP_STARTED").await;
    }
    assert_eq!(site.stop("t").await, json!({ "stopped": true, "runId": "r" }));
    for (call, outcome) in streams {
        let ending = soon(call.events()).await;
        assert_eq!(types(&ending), ["STEP_FINISHED", "RUN_FINISHED"]);
        assert_eq!(
            ending[1].get("outcome").map(|outcome| &outcome["type"]),
            outcome.map(Value::from).as_ref()
        );
        assert_eq!((&ending[1]["threadId"], &ending[1]["runId"]), (&json!("t"), &json!("r")));
    }
    assert_eq!(soon(reports.recv()).await.as_deref(), Some("r over"));
    assert_eq!(site.run(&turn("t", "r2")).await.status(), StatusCode::OK);
}

/// Each time 200, with a sentence.
pub async fn a_stop_with_nothing_to_stop_says_so(start: StartServer) {
    let (agents, _reports) = waiting();
    let site = Site::new(start, agents).await;
    let not_stopped = |answer: &Value| {
        assert_eq!(answer["stopped"], false);
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
        assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    };
    not_stopped(&site.stop("never-heard-of").await);
    let mut call = site.run(&turn("t", "r")).await;
    call.read_to("STEP_STARTED").await;
    let other = site.post("/agent/a/stop/t", r#"{"runId":"other"}"#).await;
    assert_eq!(other.status(), StatusCode::OK);
    not_stopped(&other.json().await);
    let named = site.post("/agent/a/stop/t", r#"{"runId":"r"}"#).await;
    assert_eq!(named.json().await, json!({ "stopped": true, "runId": "r" }));
    not_stopped(&site.stop("t").await);
    soon(call.events()).await;
    not_stopped(&site.stop("t").await);
}

/// A client that does not know the run sends nothing, whatever it calls it.
pub async fn a_stop_needs_no_body_and_minds_a_bad_one(start: StartServer) {
    let (agents, _reports) = waiting();
    let site = Site::new(start, agents).await;
    for (body, code) in [
        ("{", "invalid_json"),
        ("[]", "invalid_input"),
        ("null", "invalid_input"),
        (r#"{"runId":5}"#, "invalid_input"),
    ] {
        expect(site.post("/agent/a/stop/t", body).await, 400, code).await;
    }
    for (number, content_type) in [None, Some("application/json"), Some("text/plain")].into_iter().enumerate()
    {
        let run = format!("r{number}");
        let mut call = site.run(&turn("t", &run)).await;
        call.read_to("STEP_STARTED").await;
        let headers: Vec<_> = content_type.map(|value| ("content-type", value)).into_iter().collect();
        let answer = site.send(Method::POST, "/agent/a/stop/t", &headers, "").await;
        assert_eq!(answer.status(), StatusCode::OK, "{content_type:?}");
        assert_eq!(answer.json().await, json!({ "stopped": true, "runId": run }));
        soon(call.events()).await;
    }
}

fn flooding(limits: MemoryLimits) -> AgentServer {
    AgentServer::new().with_store(MemoryRunStore::new(limits)).with_agent("a", async |run: Run| {
        let mut answer = run.message();
        loop {
            answer.delta("x".repeat(1000)).await?;
        }
        #[expect(unreachable_code, reason = "it says what the future gives")]
        Ok::<_, RunError>(RunEnd::success())
    })
}

/// Nothing of a run is lost while it goes on, so there is an end to how much it may say.
pub async fn a_run_that_outgrows_its_record_ends(start: StartServer) {
    let site = Site::new(start, flooding(MemoryLimits::default().with_max_run_bytes(500_000))).await;
    let events = soon(site.run(&turn("t", "r")).await.events()).await;
    let ending = events.last().unwrap();
    assert_eq!(ending["type"], "RUN_ERROR");
    assert_eq!(ending["code"], "record_full");
    let length = text_of(&events).len();
    assert!((100_000..500_000).contains(&length), "{length} bytes of text");
    let replay = soon(site.connect(&holding_nothing("t")).await.events()).await;
    assert_eq!(text_of(&replay).len(), length);
    assert_eq!(replay.last(), Some(ending));
}

/// A run starts only while its record has somewhere to go; runs in progress are never thrown out for it.
pub async fn a_run_that_the_store_has_no_room_for_is_refused(start: StartServer) {
    let (agents, mut reports) = waiting();
    let limits = MemoryLimits::default().with_max_threads(2);
    let site = Site::new(start, agents.with_store(MemoryRunStore::new(limits))).await;
    let mut calls = Vec::new();
    for thread in ["t1", "t2"] {
        calls.push(site.run(&turn(thread, "r")).await);
        soon(reports.recv()).await;
    }
    let refused = site.post("/agent/a/run", turn("t3", "r").to_string()).await;
    assert!(!refused.header("retry-after").is_empty());
    expect(refused, 503, "unavailable").await;
    assert_eq!(site.stop("t1").await["stopped"], true);
    soon(calls.remove(0).events()).await;
    // The thread that is idle now makes room.
    let mut third = site.run(&turn("t3", "r")).await;
    third.read_to("STEP_STARTED").await;
    assert_eq!(site.connect(&holding_nothing("t1")).await.text().await, "");
    assert_eq!(site.stop("t2").await["stopped"], true);
    soon(calls.remove(0).events()).await;
}

/// Runs that go on without a client count like any other.
pub async fn runs_are_limited_in_all_and_for_each_caller(start: StartServer) {
    let (agents, mut reports) = waiting();
    let agents = agents.with_max_runs(3).with_max_runs_per_identity(2, |extensions| {
        extensions.get::<RequestHead>().and_then(|head| head.header("x-user")).map(str::to_owned)
    });
    let mut site = Site::new(start, agents).await;
    site.set("x-user", "ada");
    for thread in ["t1", "t2"] {
        let mut call = site.run(&turn(thread, "r")).await;
        call.read_to("STEP_STARTED").await;
        soon(reports.recv()).await;
    }
    let refused = site.post("/agent/a/run", turn("t3", "r").to_string()).await;
    assert!(!refused.header("retry-after").is_empty());
    expect(refused, 429, "too_many_runs").await;
    site.set("x-user", "bob");
    let call = site.run(&turn("t3", "r")).await;
    soon(reports.recv()).await;
    let refused = site.post("/agent/a/run", turn("t4", "r").to_string()).await;
    assert!(!refused.header("retry-after").is_empty());
    expect(refused, 503, "unavailable").await;
    assert_eq!(site.stop("t3").await["stopped"], true);
    soon(call.events()).await;
    let mut next = site.run(&turn("t4", "r")).await;
    next.read_to("STEP_STARTED").await;
}
