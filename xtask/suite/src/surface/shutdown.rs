//! A server that is to end: nothing new begins, and every stream gets its ending.

use std::sync::Arc;
use std::time::Duration;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::AgentServer;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::unbounded_channel;

use super::site::{Site, expect, holding_nothing, said, soon, text_of, turn, words};
use crate::StartServer;
use crate::client::types;

/// Runs on two threads, with who watches them.
pub async fn a_shutdown_ends_the_runs_and_all_who_watch(start: StartServer) {
    let agents = AgentServer::new()
        .with_agent("a", async |run: Run| {
            run.message().with_id("m").delta("on").await?;
            std::future::pending::<()>().await;
            Ok::<_, RunError>(RunEnd::success())
        })
        .with_stop_grace(Duration::from_millis(50));
    let site = Site::new(start, agents.clone()).await;
    let mut calls = Vec::new();
    for thread in ["t1", "t2"] {
        calls.push(site.run(&turn(thread, "r")).await);
        for consumer in [holding_nothing(thread), turn(thread, "again")] {
            calls.push(site.connect(&consumer).await);
        }
    }
    for call in &mut calls {
        call.read_to("\"on\"").await;
    }
    let shutdown = agents.shutdown(Duration::from_millis(50));
    let refused = site.post("/agent/a/run", turn("t3", "r").to_string()).await;
    assert!(!refused.header("retry-after").is_empty());
    expect(refused, 503, "unavailable").await;
    soon(shutdown).await;
    for call in calls {
        let events = soon(call.events()).await;
        // The end of the message may have been read with what came before it.
        assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
        assert_eq!(events.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
    }
}

/// A run that ends by itself in time is not cancelled.
pub async fn a_shutdown_waits_for_runs_within_its_grace(start: StartServer) {
    let permits = Arc::new(Semaphore::new(1));
    let agents = AgentServer::new().with_agent("a", words(3, &permits));
    let site = Site::new(start, agents.clone()).await;
    let mut running = site.run(&turn("t", "r")).await;
    running.read_to("0 ").await;
    let follower = site.connect(&holding_nothing("t")).await;
    let shutdown = tokio::spawn(agents.shutdown(Duration::from_secs(60)));
    permits.add_permits(2);
    for (call, text) in [(running, "1 2 "), (follower, &said(3))] {
        let events = soon(call.events()).await;
        assert_eq!(text_of(&events), *text);
        assert!(events.last().unwrap().get("outcome").is_none());
    }
    soon(shutdown).await.unwrap();
}

/// Their clients have left, and may be back after the restart: the work stops all the same.
pub async fn a_shutdown_ends_runs_that_nobody_reads(start: StartServer) {
    let (sender, mut reports) = unbounded_channel();
    let agents = AgentServer::new()
        .with_agent("a", move |run: Run| {
            let sender = sender.clone();
            async move {
                run.cancelled().await;
                let _ = sender.send(run.cancel_reason().is_some());
                Ok::<_, RunError>(RunEnd::success())
            }
        })
        .with_keep_alive(Duration::from_millis(20));
    let site = Site::new(start, agents.clone()).await;
    let mut call = site.run(&turn("t", "r")).await;
    call.read_to("RUN_STARTED").await;
    drop(call);
    soon(agents.shutdown(Duration::ZERO)).await;
    assert_eq!(reports.recv().await, Some(true));
}
