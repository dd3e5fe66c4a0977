//! Many readers of one run: what each is sent, and that none is another's business.

use std::sync::Arc;
use std::time::Duration;

use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::AgentServer;
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

use super::site::{Site, expect, holding_nothing, older, said, soon, text_of, turn, words};
use crate::StartServer;
use crate::client::types;

/// The history first, then what there is of the run, then the rest as it comes.
pub async fn a_follower_sees_the_run_from_its_beginning_to_its_end(start: StartServer) {
    const WORDS: usize = 6;
    let permits = Arc::new(Semaphore::new(WORDS));
    let site = Site::new(start, AgentServer::new().with_agent("a", words(WORDS, &permits))).await;
    let first = site.run(&turn("t", "r1")).await.events().await;
    permits.add_permits(3);
    let mut running = site.run(&turn("t", "r2")).await;
    running.read_to("2 ").await;

    let mut follower = site.connect(&holding_nothing("t")).await;
    for (index, kind) in ["RUN_STARTED", "TEXT_MESSAGE_START"].into_iter().enumerate() {
        let event = follower.event().await;
        assert_eq!(event["type"], kind);
        if index == 0 {
            assert_eq!(event["runId"], "r1");
            assert_eq!(event["input"]["messages"], turn("t", "r1")["messages"]);
            assert!(event["input"]["tools"].is_array() && event["input"]["context"].is_array());
            assert!(event["input"].get("forwardedProps").is_none() && event["input"].get("state").is_none());
        }
    }
    let history = follower.read_to("RUN_FINISHED").await;
    assert_eq!(history.matches("TEXT_MESSAGE_END").count(), 1);
    let started = follower.event().await;
    assert_eq!((&started["type"], &started["runId"]), (&json!("RUN_STARTED"), &json!("r2")));
    let so_far = follower.read_to("2 ").await;
    assert!(so_far.contains("\"0 \"") && so_far.contains("\"1 \""), "the run in progress is exact: {so_far}");
    permits.add_permits(3);
    let live = soon(follower.text()).await;
    assert_eq!(live, soon(running.text()).await);
    assert!(live.contains("\"5 \"") && live.contains("RUN_FINISHED"));
    assert_eq!(text_of(&first), said(WORDS));
}

/// What it holds would be appended to, so it gets the whole as a snapshot and goes on from there.
pub async fn one_that_holds_messages_gets_snapshots_and_the_rest(start: StartServer) {
    const WORDS: usize = 4;
    let permits = Arc::new(Semaphore::new(2));
    let site = Site::new(start, AgentServer::new().with_agent("a", words(WORDS, &permits))).await;
    let mut running = site.run(&turn("t", "r")).await;
    running.read_to("\"1 \"").await;
    let mut holding = holding_nothing("t");
    holding["messages"] = turn("t", "r")["messages"].clone();
    let mut follower = site.connect(&holding).await;
    for kind in ["RUN_STARTED", "MESSAGES_SNAPSHOT"] {
        let event = follower.event().await;
        assert_eq!(event["type"], kind);
        if kind == "MESSAGES_SNAPSHOT" {
            assert_eq!(event["messages"][1], json!({ "id": "r:m", "role": "assistant", "content": "0 1 " }));
        }
    }
    let mut event = follower.event().await;
    if event["type"] == "STATE_SNAPSHOT" {
        assert_eq!(event["snapshot"], json!({}));
        event = follower.event().await;
    }
    assert_eq!(event, json!({ "type": "TEXT_MESSAGE_START", "messageId": "r:m", "role": "assistant" }));
    permits.add_permits(2);
    let rest = soon(follower.events()).await;
    assert_eq!(text_of(&rest), "2 3 ");
    assert_eq!(types(&rest).last(), Some(&"RUN_FINISHED"));

    let over = soon(site.connect(&holding).await.events()).await;
    assert_eq!(types(&over), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(over[1]["messages"][1]["content"], said(WORDS));
    assert_eq!(over[0]["runId"], "r");
}

/// Each is sent what it can read.
pub async fn readers_of_two_generations_follow_one_run(start: StartServer) {
    let go_on = Arc::new(Notify::new());
    let waits = Arc::clone(&go_on);
    let agents = AgentServer::new().with_agent("a", move |run: Run| {
        let waits = Arc::clone(&waits);
        async move {
            run.custom("before", json!(1)).await?;
            waits.notified().await;
            run.tool_call("paint").with_id("c").args("{}").await?;
            Ok::<_, RunError>(RunEnd::success())
        }
    });
    let site = Site::new(start, agents).await;
    let mut streams = vec![(site.run(&older(turn("t", "r"))).await, None)];
    streams.push((site.connect(&holding_nothing("t")).await, Some(json!(["c"]))));
    streams.push((site.connect(&older(holding_nothing("t"))).await, None));
    for (call, _) in &mut streams {
        call.read_to("\"before\"").await;
    }
    go_on.notify_one();
    for (call, pending) in streams {
        let events = soon(call.events()).await;
        let outcome = &events.last().unwrap()["outcome"];
        assert_eq!(outcome["type"], "success");
        assert_eq!(outcome.get("pendingToolCallIds").cloned(), pending);
    }
}

/// Neither the run nor who stays.
pub async fn a_follower_that_leaves_disturbs_nobody(start: StartServer) {
    const WORDS: usize = 20;
    let permits = Arc::new(Semaphore::new(2));
    let agents =
        AgentServer::new().with_agent("a", words(WORDS, &permits)).with_keep_alive(Duration::from_millis(20));
    let site = Site::new(start, agents).await;
    let running = site.run(&turn("t", "r")).await;
    let mut calls = Vec::new();
    for _ in 0..10 {
        let mut call = site.connect(&holding_nothing("t")).await;
        call.read_to("\"1 \"").await;
        calls.push(call);
    }
    let stays = calls.split_off(5);
    drop(calls);
    permits.add_permits(WORDS);
    assert_eq!(text_of(&soon(running.events()).await), said(WORDS));
    for call in stays {
        let rest = text_of(&soon(call.events()).await);
        assert_eq!(format!("0 1 {rest}"), said(WORDS));
    }
}

/// The record is the buffer: one that does not read holds up neither the run, its own client included, nor the others, and
/// gets everything later.
pub async fn a_slow_follower_does_not_slow_the_run(start: StartServer) {
    const DELTAS: usize = 20_000;
    let done = Arc::new(Notify::new());
    let finished = Arc::clone(&done);
    let begin = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&begin);
    let agents = AgentServer::new().with_agent("a", move |run: Run| {
        let (finished, permits) = (Arc::clone(&finished), Arc::clone(&permits));
        async move {
            permits.acquire().await.map(tokio::sync::SemaphorePermit::forget)?;
            let mut answer = run.message();
            for index in 0..DELTAS {
                answer.delta(format!("{index:0>400},")).await?;
            }
            answer.end().await?;
            finished.notify_one();
            Ok::<_, RunError>(RunEnd::success())
        }
    });
    let site = Site::new(start, agents).await;
    // Neither of these is read until the run is over: eight megabytes, more than every buffer on the way holds.
    let mut stalled = vec![site.run(&turn("t", "r")).await];
    stalled.push(site.connect(&holding_nothing("t")).await);
    let mut quick = site.connect(&holding_nothing("t")).await;
    quick.read_to("RUN_STARTED").await;
    begin.add_permits(1);
    soon_enough(done.notified()).await;
    let complete: String = (0..DELTAS).fold(String::new(), |text, index| text + &format!("{index:0>400},"));
    assert!(text_of(&soon_enough(quick.events()).await) == complete, "the reader that reads gets all of it");
    for call in stalled {
        let events = soon_enough(call.events()).await;
        assert!(text_of(&events) == complete, "one that paused gets all of it");
        assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    }
}

/// [`soon`] for megabytes.
async fn soon_enough<T>(what: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(Duration::from_secs(25), what).await else {
        panic!("it does not come")
    };
    done
}

/// A proxy between them would give up.
pub async fn silence_is_broken_for_followers_too(start: StartServer) {
    let permits = Arc::new(Semaphore::new(1));
    let agents =
        AgentServer::new().with_agent("a", words(2, &permits)).with_keep_alive(Duration::from_millis(20));
    let site = Site::new(start, agents).await;
    let running = site.run(&turn("t", "r")).await;
    let mut follower = site.connect(&holding_nothing("t")).await;
    follower.read_to("0 ").await;
    for _ in 0..3 {
        soon(follower.until(": keep-alive\n\n")).await;
    }
    permits.add_permits(1);
    assert_eq!(text_of(&soon(follower.events()).await), "1 ");
    soon(running.events()).await;
}

/// One more is told to come back, and the run goes on.
pub async fn followers_are_limited(start: StartServer) {
    let permits = Arc::new(Semaphore::new(1));
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_followers(3));
    let agents = AgentServer::new().with_store(store).with_agent("a", words(2, &permits));
    let site = Site::new(start, agents.with_keep_alive(Duration::from_millis(20))).await;
    let running = site.run(&turn("t", "r")).await;
    let mut followers = Vec::new();
    let refused = loop {
        let mut call = site.post("/agent/a/connect", holding_nothing("t").to_string()).await;
        if call.status() != http::StatusCode::OK {
            break call;
        }
        call.read_to("0 ").await;
        followers.push(call);
        assert!(followers.len() <= 3, "there is no limit");
    };
    assert!(followers.len() >= 2);
    assert!(!refused.header("retry-after").is_empty());
    expect(refused, 503, "unavailable").await;
    permits.add_permits(1);
    for call in followers {
        assert_eq!(text_of(&soon(call.events()).await), "1 ");
    }
    soon(running.events()).await;
    soon(site.connect(&holding_nothing("t")).await.events()).await;
}
