//! Runs and who reads them: their own client, those who come later, and those who leave.

use std::sync::Arc;
use std::time::Duration;

use agui_core::store::{MemoryLimits, MemoryRunStore, RunStore, ThreadKey};
use agui_core::{Run, RunEnd, RunError, RunStartedEvent, TextMessageContentEvent, TextMessageStartEvent};
use agui_encoder::http::{AgentServer, OnDisconnect};
use http::{Request, header};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use crate::support::{Log, OnDrop, ask, chunk, events, parse, post_to, ready_chunk, settle, text, types};
use crate::{answer, connect, input, run, server, stop};

#[tokio::test]
async fn what_a_run_sent_is_what_a_later_client_gets() {
    let server = server();
    let mut asked = input("t", "r");
    asked["messages"] = json!([{ "id": "q", "role": "user", "content": "Hi" }]);
    asked["state"] = json!({ "step": 1 });
    asked["forwardedProps"] = json!({ "secret": 1 });
    let sent = events(run(&server, "greet", &asked).await).await;
    assert_eq!(
        sent[0]["input"],
        json!({ "threadId": "t", "runId": "r", "messages": asked["messages"], "tools": [], "context": [] })
    );
    let replayed = events(connect(&server, "greet", &input("t", "fresh")).await).await;
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
    let runner = run(&server, "wait", &input("trip/7", "r")).await;
    let watcher = connect(&server, "wait", &input("trip/7", "fresh")).await;
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

#[tokio::test]
async fn a_stop_is_told_what_became_of_it() {
    let server = server().with_agent("deaf", |run: Run| async move {
        run.text("I do not listen").await?;
        std::future::pending::<()>().await;
        Ok(RunEnd::success())
    });
    let runner = run(&server, "deaf", &input("t", "r")).await;
    let other = stop(&server, "deaf", "t", &json!({ "runId": "s" })).await;
    assert_eq!(
        other,
        json!({ "stopped": false, "message": "Another run, 'r', is in progress on thread 't'." })
    );
    assert_eq!(stop(&server, "deaf", "t", &json!({})).await, json!({ "stopped": true, "runId": "r" }));
    let again = stop(&server, "deaf", "t", &json!({ "runId": "r", "why": "?" })).await;
    assert_eq!(
        again,
        json!({ "stopped": false, "message": "Run 'r' on thread 't' is being stopped already." })
    );
    drop(runner);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_hear_of_the_stop_is_dropped_after_its_grace() {
    let (guard, mut dropped) = OnDrop::new();
    let guard = Arc::new(std::sync::Mutex::new(Some(guard)));
    let server = server().with_agent("deaf", move |run: Run| {
        let guard = guard.lock().unwrap().take();
        async move {
            let mut message = run.message();
            message.delta("x").await?;
            std::future::pending::<()>().await;
            drop((message, guard));
            Ok(RunEnd::success())
        }
    });
    let runner = run(&server, "deaf", &input("t", "r")).await;
    stop(&server, "deaf", "t", &json!({})).await;
    settle().await;
    assert!(dropped.try_recv().is_err(), "it has its grace");
    let sent = events(runner).await;
    assert_eq!(types(&sent)[3..], ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    assert_eq!(sent[4]["outcome"], json!({ "type": "cancelled" }));
    dropped.await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_does_not_end_the_run() {
    let go = Arc::new(Notify::new());
    let going = Arc::clone(&go);
    let server = server().with_agent("slow", move |run: Run| {
        let going = Arc::clone(&going);
        async move {
            let mut message = run.message();
            message.delta("one").await?;
            going.notified().await;
            message.delta("two").await?;
            message.end().await?;
            Ok(RunEnd::success())
        }
    });
    let mut body = run(&server, "slow", &input("t", "r")).await;
    assert!(chunk(&mut body).await.is_some());
    drop(body);
    settle().await;
    let watcher = connect(&server, "slow", &input("t", "x")).await;
    go.notify_one();
    let sent = events(watcher).await;
    let said: Vec<_> = sent.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(said, ["one", "two"]);
    assert_eq!(sent.last().unwrap().get("outcome"), None);
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_run_where_that_is_wanted_and_the_record_says_so() {
    let server = server().with_on_disconnect(OnDisconnect::Cancel);
    let mut body = run(&server, "wait", &input("t", "r")).await;
    assert!(chunk(&mut body).await.is_some());
    let watcher = connect(&server, "wait", &input("t", "x")).await;
    // A watcher that leaves is nobody's end.
    drop(connect(&server, "wait", &input("t", "y")).await);
    drop(body);
    let sent = events(watcher).await;
    assert_eq!(sent.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_thread_is_free_before_the_ending_can_be_seen() {
    let server = server();
    for round in 0..200 {
        let mut body = run(&server, "greet", &input("t", &format!("r{round}"))).await;
        let mut sent = String::new();
        while !sent.contains("RUN_FINISHED") {
            sent.push_str(std::str::from_utf8(&chunk(&mut body).await.unwrap()).unwrap());
        }
        // The body of the run before is still open.
        let next = run(&server, "greet", &input("t", &format!("s{round}"))).await;
        assert_eq!(events(next).await.len(), 5);
        assert_eq!(chunk(&mut body).await, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_up_nobody_and_gets_everything_later() {
    const DELTAS: usize = 400;
    let flood = |run: Run| async move {
        let mut message = run.message();
        for at in 0..DELTAS {
            message.delta(format!("{at}:{}", "x".repeat(10_000))).await?;
        }
        message.end().await?;
        Ok(RunEnd::success())
    };
    let server = AgentServer::new().with_agent("flood", flood);
    for (first_chunks, round) in [(0, "a"), (1, "b"), (3, "c")] {
        let mut asked = input(round, "r");
        asked["state"] = json!({ "private": 1 });
        let mut stalled = run(&server, "flood", &asked).await;
        let mut had = String::new();
        for _ in 0..first_chunks {
            had.push_str(std::str::from_utf8(&chunk(&mut stalled).await.unwrap()).unwrap());
        }
        // It reads nothing while the run ends and somebody else reads all of it.
        let watched = events(connect(&server, "flood", &input(round, "x")).await).await;
        let watched: Vec<_> = watched.into_iter().filter(|event| event["type"] != "STATE_SNAPSHOT").collect();
        assert_eq!(watched.len(), DELTAS + 4);
        had.push_str(&text(stalled).await);
        assert_eq!(parse(&had), watched);
        // Once nobody reads it, the run is compacted.
        assert!(events(connect(&server, "flood", &input(round, "y")).await).await.len() < 50);
    }
}

#[tokio::test]
async fn a_new_run_supersedes_the_one_in_progress_where_that_is_wanted() {
    let server = server().with_supersede(true);
    let old = run(&server, "wait", &input("t", "old")).await;
    let new = run(&server, "wait", &input("t", "new")).await;
    let old = events(old).await;
    assert_eq!(old.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(stop(&server, "wait", "t", &json!({})).await["runId"], "new");
    assert_eq!(events(new).await[0]["runId"], "new");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_end_in_time_is_not_superseded() {
    let server = server().with_supersede(true).with_stop_grace(Duration::from_secs(60));
    let server = server.with_agent("deaf", |_: Run| async {
        std::future::pending::<()>().await;
        Ok(RunEnd::success())
    });
    let held = MemoryRunStore::default();
    let server = server.with_store(held.clone());
    // Somebody else's, who does not answer stops.
    let key = ThreadKey::new("deaf", "t");
    let lease = held.begin(&key, agui_core::store::NewRun::new("theirs")).await.unwrap();
    let response = ask(&server, post_to("/agent/deaf/run", &input("t", "mine"))).await;
    assert_eq!(answer(response).await["code"], "thread_busy");
    drop(lease);
}

#[tokio::test]
async fn a_record_that_is_full_ends_the_run_for_everybody() {
    let limits = MemoryLimits::default().with_max_run_bytes(2 * 1024 * 1024);
    let server = AgentServer::new().with_store(MemoryRunStore::new(limits)).with_agent(
        "flood",
        |run: Run| async move {
            let mut message = run.message();
            loop {
                message.delta("x".repeat(1000)).await?;
            }
        },
    );
    let sent = events(run(&server, "flood", &input("t", "r")).await).await;
    let last = sent.last().unwrap();
    assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("record_full")));
    // Whoever comes later reads neither more nor less.
    let later = events(connect(&server, "flood", &input("t", "x")).await).await;
    let said = |events: &[Value]| -> usize {
        events.iter().filter_map(|event| event["delta"].as_str()).map(str::len).sum()
    };
    assert!(said(&sent) > 1_000_000);
    assert_eq!((said(&later), later.last()), (said(&sent), sent.last()));
    // The thread goes on.
    assert_eq!(ask(&server, post_to("/agent/flood/run", &input("t", "s"))).await.status(), 200);
}

#[tokio::test]
async fn a_run_that_was_not_judged_is_replayed_as_it_was() {
    let server = AgentServer::new().with_agent("odd", |run: Run| async move {
        run.emit_unchecked(TextMessageContentEvent::new("none", "a")).await?;
        run.emit_unchecked(TextMessageContentEvent::new("none", "b")).await?;
        run.emit_unchecked(RunStartedEvent::new("t", "odd")).await?;
        Ok(RunEnd::success())
    });
    let sent = events(run(&server, "odd", &input("t", "r")).await).await;
    assert_eq!(sent.len(), 5);
    let replayed = text(connect(&server, "odd", &input("t", "x")).await).await;
    assert!(replayed.contains(r#""delta":"a""#) && replayed.contains(r#""delta":"b""#), "{replayed}");
}

#[tokio::test]
async fn an_older_reader_gets_a_replay_it_can_read_and_a_current_one_all_of_it() {
    let server = server();
    let runner = run(&server, "wait", &input("t", "r")).await;
    let old = json!({ "threadId": "t", "runId": "x", "messages": [] });
    let live = connect(&server, "wait", &old).await;
    stop(&server, "wait", "t", &json!({})).await;
    let sent = events(runner).await;
    assert_eq!(sent.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
    for body in [live, connect(&server, "wait", &old).await] {
        let replayed = events(body).await;
        assert_eq!(replayed.last().unwrap()["type"], "RUN_FINISHED");
        assert_eq!(replayed.last().unwrap().get("outcome"), None);
    }
    let current = events(connect(&server, "wait", &input("t", "y")).await).await;
    assert_eq!(current.last(), sent.last());
}

#[tokio::test]
async fn a_reader_that_holds_some_of_it_gets_snapshots_and_then_the_rest() {
    let gate = Arc::new(Semaphore::new(0));
    let gated = Arc::clone(&gate);
    let server = server().with_agent("slow", move |run: Run| {
        let gate = Arc::clone(&gated);
        async move {
            run.emit(TextMessageStartEvent::new("m")).await?;
            run.emit(TextMessageContentEvent::new("m", "one ")).await?;
            gate.acquire().await?.forget();
            run.emit(TextMessageContentEvent::new("m", "two")).await?;
            Ok(RunEnd::success())
        }
    });
    let mut asked = input("t", "r");
    asked["messages"] = json!([{ "id": "q", "role": "user", "content": "Hi" }]);
    let runner = run(&server, "slow", &asked).await;
    settle().await;
    let mut holding = input("t", "x");
    holding["messages"] = asked["messages"].clone();
    let live = connect(&server, "slow", &holding).await;
    gate.add_permits(1);
    let rest = events(live).await;
    assert_eq!(
        types(&rest),
        [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "STATE_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(rest[1]["messages"][1]["content"], "one ");
    assert_eq!(rest[4]["delta"], "two");
    let sent = events(runner).await;
    let after = events(connect(&server, "slow", &holding).await).await;
    assert_eq!(types(&after), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert_eq!(after[1]["messages"][1]["content"], "one two");
    assert_eq!(after.last(), sent.last());
}

#[cfg(feature = "protobuf")]
#[tokio::test]
async fn a_replay_is_in_the_format_that_is_asked_for() {
    let server = server();
    events(run(&server, "greet", &input("t", "r")).await).await;
    let mut asked = post_to("/agent/greet/connect", &input("t", "x"));
    let binary = "application/vnd.ag-ui.event+proto";
    asked.headers_mut().insert(header::ACCEPT, binary.parse().unwrap());
    let response = ask(&server, asked).await;
    assert_eq!(response.headers()["content-type"], binary);
    let mut body = response.into_body();
    let first = chunk(&mut body).await.unwrap();
    let length = u32::from_be_bytes(first[..4].try_into().unwrap());
    assert!(length > 0 && first.len() >= 4 + length as usize);
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_a_silent_run_is_kept_alive() {
    let server = server().with_keep_alive(Duration::from_secs(5));
    let mut runner = run(&server, "wait", &input("t", "r")).await;
    let mut watcher = connect(&server, "wait", &input("t", "x")).await;
    for body in [&mut runner, &mut watcher] {
        loop {
            let chunk = chunk(body).await.unwrap();
            if chunk.starts_with(b":") {
                assert_eq!(&chunk[..], b": keep-alive\n\n");
                break;
            }
        }
        assert!(ready_chunk(body).is_pending());
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_over_its_time_ends_with_an_error_in_its_record() {
    let server = server().with_run_timeout(Duration::from_secs(1));
    let sent = events(run(&server, "wait", &input("t", "r")).await).await;
    assert_eq!(sent.last().unwrap()["code"], "timeout");
    let later = events(connect(&server, "wait", &input("t", "x")).await).await;
    assert_eq!(later.last(), sent.last());
}

#[tokio::test]
async fn a_panic_is_in_the_record_without_its_text() {
    let server = server().with_agent("panic", |run: Run| async move {
        run.text("so far").await?;
        if run.run_id().as_str() == "r" {
            panic!("s3cret");
        }
        Ok(RunEnd::success())
    });
    let sent = text(run(&server, "panic", &input("t", "r")).await).await;
    let later = text(connect(&server, "panic", &input("t", "x")).await).await;
    assert!(!sent.contains("s3cret") && sent.contains("internal_error"), "{sent}");
    assert_eq!(later, sent);
}

#[tokio::test]
async fn a_run_is_logged_with_its_names_its_outcome_and_no_payload() {
    let (log, guard) = Log::start();
    let server = server();
    let mut asked = input("the-thread", "the-run");
    asked["messages"] = json!([{ "id": "q", "role": "user", "content": "s3cret" }]);
    events(run(&server, "greet", &asked).await).await;
    settle().await;
    drop(guard);
    let log = log.text();
    for part in [
        "thread_id=\"the-thread\"",
        "run_id=\"the-run\"",
        "agent=\"greet\"",
        "outcome=\"finished\"",
        "duration_ms=",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert!(!log.contains("s3cret"), "{log}");
}

#[tokio::test]
async fn servers_of_one_store_share_their_threads() {
    let store = MemoryRunStore::default();
    let (one, two) = (server().with_store(store.clone()), server().with_store(store));
    let runner = run(&one, "wait", &input("t", "r")).await;
    let watcher = connect(&two, "wait", &input("t", "x")).await;
    assert_eq!(ask(&two, post_to("/agent/wait/run", &input("t", "s"))).await.status(), 409);
    assert_eq!(stop(&two, "wait", "t", &json!({})).await["runId"], "r");
    assert_eq!(events(watcher).await, events(runner).await);
}

#[tokio::test]
async fn the_request_reaches_the_handler() {
    let server = AgentServer::new().with_agent("echo", |run: Run| async move {
        let head = run.extensions().get::<agui_encoder::http::RequestHead>();
        let said = head.and_then(|head| head.header("x-said")).unwrap_or_default().to_owned();
        run.text(said).await?;
        Ok::<_, RunError>(RunEnd::success())
    });
    let mut asked: Request<String> = post_to("/agent/echo/run", &input("t", "r"));
    asked.headers_mut().insert("x-said", "hi".parse().unwrap());
    let sent = events(ask(&server, asked).await.into_body()).await;
    assert_eq!(sent[2]["delta"], "hi");
}
