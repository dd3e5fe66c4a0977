//! Attaching to threads that are large, and what a client costs that attaches and does not read.

use std::sync::Arc;

use agui_core::producer::RunLimits;
use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{AgentServer, Body};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::reattach::fold;
use crate::support::{ask, chunk, events, parse, post_to, text, types};
use crate::{connect, input, refusals, run, wait};

/// What one event may take here.
const LIMIT: usize = 20_000;

/// A turn with a question, as its agent's client sends it.
fn turn(thread: &str, run: &str) -> Value {
    let mut input = input(thread, run);
    input["messages"] = json!([{ "id": format!("q-{run}"), "role": "user", "content": "And?" }]);
    input["state"] = json!({ "from": run });
    input
}

/// A client that holds something of the thread, and of other things.
fn stale(thread: &str) -> Value {
    let mut input = input(thread, "again");
    input["messages"] = json!([
        { "id": "q-r0", "role": "user", "content": "And?" },
        { "id": "r0:m0", "role": "assistant", "content": "half of" },
        { "id": "elsewhere", "role": "user", "content": "Never sent" },
    ]);
    input["state"] = json!({ "stale": true });
    input
}

/// A server whose agent says ten times half of what one event may take, the last part of it once it may.
fn talkative(may: &Arc<Semaphore>) -> AgentServer {
    let may = Arc::clone(may);
    let handler = move |run: Run| {
        let may = Arc::clone(&may);
        async move {
            for at in 0..10 {
                let mut message = run.message().with_id(format!("{}:m{at}", run.run_id()));
                message.delta("x".repeat(LIMIT / 4)).await?;
                if at == 9 {
                    may.acquire().await?.forget();
                }
                message.delta("y".repeat(LIMIT / 4)).await?;
                message.end().await?;
            }
            run.tool_call("note").result("noted").await?;
            run.state().set("/n", 1).await?;
            Ok::<_, RunError>(RunEnd::success())
        }
    };
    let limits = RunLimits::default().with_max_event_bytes(LIMIT);
    AgentServer::new().with_agent("talk", handler).with_agent("wait", wait).with_run_limits(limits)
}

/// The events of a stream, none of which is over the limit.
fn limited(text: &str) -> Vec<Value> {
    let longest = text.split("\n\n").map(|frame| frame.trim_start_matches("data: ").len()).max();
    assert!(longest <= Some(LIMIT), "{longest:?}");
    parse(text)
}

#[tokio::test]
async fn a_conversation_too_large_for_a_snapshot_is_sent_anew_to_whoever_holds_some_of_it() {
    let may = Arc::new(Semaphore::new(2));
    let server = talkative(&may);
    let (one, two) = (turn("t", "r0"), turn("t", "r"));
    for turn in [one, two] {
        limited(&text(run(&server, "talk", &turn).await).await);
    }
    let whole = fold(
        &input("t", "again"),
        &limited(&text(connect(&server, "talk", &input("t", "again")).await).await),
    );
    let again = limited(&text(connect(&server, "talk", &stale("t")).await).await);
    assert_eq!(types(&again)[..3], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "MESSAGES_SNAPSHOT"]);
    assert_eq!(fold(&stale("t"), &again), whole);
}

#[tokio::test]
async fn a_large_run_in_progress_is_sent_anew_and_goes_on() {
    let may = Arc::new(Semaphore::new(0));
    let server = talkative(&may);
    let mut first = run(&server, "talk", &turn("t", "r")).await;
    let mut begun = String::new();
    while !begun.contains("r:m9") {
        begun += std::str::from_utf8(&chunk(&mut first).await.unwrap()).unwrap();
    }
    let mut body = connect(&server, "talk", &stale("t")).await;
    let mut again = String::new();
    while !again.contains("r:m9") {
        again += std::str::from_utf8(&chunk(&mut body).await.unwrap()).unwrap();
    }
    may.add_permits(1);
    let first = parse(&(begun + &text(first).await));
    let again = limited(&(again + &text(body).await));
    assert_eq!(fold(&stale("t"), &again), fold(&turn("t", "r"), &first));
}

/// A server whose agent reasons and answers, five times.
fn thoughtful() -> AgentServer {
    talkative(&Arc::new(Semaphore::new(0))).with_agent("think", |run: Run| async move {
        for at in 0..5 {
            let mut thought = run.reasoning().with_id(format!("{}:h{at}", run.run_id()));
            thought.delta("x".repeat(LIMIT / 4)).await?;
            thought.end().await?;
            run.text("y".repeat(LIMIT / 4)).await?;
        }
        Ok::<_, RunError>(RunEnd::success())
    })
}

#[tokio::test]
async fn reasoning_that_is_held_is_sent_anew_in_its_place() {
    let server = thoughtful();
    let sent = limited(&text(run(&server, "think", &turn("t", "r")).await).await);
    let thought = sent.iter().find(|event| event["type"] == "REASONING_MESSAGE_START").unwrap();
    let mut holds = stale("t");
    holds["messages"][1] = json!({ "id": thought["messageId"], "role": "reasoning", "content": "Hm" });
    let again = limited(&text(connect(&server, "think", &holds).await).await);
    assert_eq!(fold(&holds, &again), fold(&turn("t", "r"), &sent));
}

#[tokio::test]
async fn an_older_client_keeps_reasoning_so_that_a_snapshot_too_large_is_an_error() {
    let server = thoughtful();
    text(run(&server, "think", &turn("t", "r")).await).await;
    let mut holds = stale("t");
    holds["messages"][1]["role"] = json!("reasoning");
    holds.as_object_mut().unwrap().remove("protocolVersion");
    let sent = limited(&text(connect(&server, "think", &holds).await).await);
    assert_eq!(types(&sent).last(), Some(&"RUN_ERROR"));
    assert_eq!(sent.last().unwrap()["code"], "event_too_large");
}

#[tokio::test]
async fn a_snapshot_of_dropped_runs_that_is_too_large_ends_a_replay_with_an_error() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_runs_per_thread(1));
    let server = talkative(&Arc::new(Semaphore::new(0))).with_store(store).with_agent(
        "think",
        |run: Run| async move {
            for _ in 0..10 {
                let mut thought = run.reasoning();
                thought.delta("x".repeat(LIMIT / 4)).await?;
                thought.end().await?;
            }
            Ok::<_, RunError>(RunEnd::success())
        },
    );
    let one = turn("t", "r0");
    let mut two = turn("t", "r");
    two["messages"].as_array_mut().unwrap().insert(0, one["messages"][0].clone());
    for turn in [one, two] {
        limited(&text(run(&server, "think", &turn).await).await);
    }
    for asked in [input("t", "again"), stale("t")] {
        let sent = limited(&text(connect(&server, "think", &asked).await).await);
        assert_eq!(sent.last().unwrap()["code"], "event_too_large", "{:?}", types(&sent));
    }
}

#[tokio::test]
async fn readers_of_a_thread_at_rest_are_counted() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_followers(2));
    let server = talkative(&Arc::new(Semaphore::new(1))).with_store(store);
    text(run(&server, "talk", &turn("t", "r")).await).await;
    let first = connect(&server, "talk", &stale("t")).await;
    let _second = connect(&server, "talk", &input("t", "again")).await;
    let refused = refusals::refused(&server, post_to("/agent/talk/connect", &stale("t"))).await;
    assert_eq!(refused, (503, "unavailable".to_owned()));
    drop(first);
    // What reads for a client that is gone goes with it.
    crate::support::settle().await;
    let third = ask(&server, post_to("/agent/talk/connect", &stale("t"))).await;
    assert_eq!(events(third.into_body()).await.last().unwrap()["type"], "RUN_FINISHED");
}

/// Takes the first chunk of many streams, as the transport of a client does that reads nothing, and gives how many bytes
/// are held for all of them then.
fn held_by_stalled(
    runtime: &tokio::runtime::Runtime,
    server: &AgentServer,
    asked: &Value,
    clients: usize,
) -> u64 {
    let mut bodies: Vec<Body> = Vec::with_capacity(clients);
    let used = allocation_counter::measure(|| {
        runtime.block_on(async {
            for _ in 0..clients {
                let mut body = connect(server, "large", asked).await;
                assert!(chunk(&mut body).await.is_some());
                bodies.push(body);
            }
        });
    });
    u64::try_from(used.bytes_current).unwrap()
}

#[test]
fn a_client_that_attaches_and_stalls_holds_none_of_the_conversation() {
    const CLIENTS: usize = 40;
    const MESSAGE: usize = 128 * 1024;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for messages in [8, 96] {
        let server = AgentServer::new()
            .with_agent("large", move |run: Run| async move {
                for _ in 0..messages {
                    run.text("x".repeat(MESSAGE)).await?;
                }
                run.cancelled().await;
                Ok::<_, RunError>(RunEnd::cancelled())
            })
            .with_agent("wait", wait);
        let read = async {
            let mut body = run(&server, "large", &turn("t", "r")).await;
            let mut read = 0;
            while read < messages * MESSAGE {
                read += chunk(&mut body).await.unwrap().len();
            }
            body
        };
        // The run goes on, so that what its readers hold is all that there is to it.
        let _runner = runtime.block_on(read);
        for asked in [stale("t"), input("t", "again")] {
            let held = held_by_stalled(&runtime, &server, &asked, CLIENTS);
            let most = u64::try_from(CLIENTS * 2 * MESSAGE).unwrap();
            assert!(held < most, "{held} bytes are held for {CLIENTS} clients of {messages} messages");
        }
    }
}
