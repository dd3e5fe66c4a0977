//! Many clients that come back at random moments of a long run see what its own client saw.

use std::collections::HashMap;
use std::sync::Arc;

use agui_core::consumer::Session;
use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_core::{Run, RunEnd};
use agui_encoder::http::AgentServer;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{parse, text};
use crate::{connect, input, run};

const CLIENTS: u64 = 200;
const DELTAS: usize = 4_980;

/// What a client comes to hold.
#[derive(Debug, PartialEq)]
struct Held {
    messages: Value,
    state: Value,
    status: &'static str,
}

/// Folds a stream, which has to keep every rule.
fn fold(input: &Value, sent: &[Value]) -> Held {
    let mut session = Session::new();
    // A client that comes back makes a run id up, which no run has (`LIFE-9`).
    let mut input = input.clone();
    input["runId"] = "r".into();
    let mut exchange = session.send_json(input, 0).unwrap();
    for event in sent {
        exchange.feed(event.to_string().as_bytes(), &mut |_, _| {}).unwrap();
    }
    exchange.finish();
    let warnings: Vec<_> = exchange.warnings().map(ToString::to_string).collect();
    assert_eq!(warnings, [""; 0]);
    let conversation = exchange.conversation();
    Held {
        messages: json!(conversation.to_messages()),
        state: conversation.state().clone(),
        status: conversation.run_status().as_str(),
    }
}

/// Numbers that look random and are the same every time.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// A long run with several messages, calls and changes of the state, that tells how far it is.
fn long(progress: watch::Sender<usize>) -> impl agui_core::RunHandler {
    let progress = Arc::new(progress);
    move |run: Run| {
        let progress = Arc::clone(&progress);
        async move {
            let mut message = run.message();
            for at in 0..DELTAS {
                message.delta(format!("{at} ")).await?;
                if at % 1_000 == 500 {
                    message.end().await?;
                    let call = run.tool_call("count");
                    call.args(format!("{{\"at\":{at}}}")).await?;
                    call.result("counted").await?;
                    run.state().set("/at", at).await?;
                    message = run.message();
                }
                if at % 64 == 0 {
                    progress.send_replace(at);
                    tokio::task::yield_now().await;
                }
            }
            progress.send_replace(usize::MAX);
            message.end().await?;
            Ok(RunEnd::success())
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_clients_that_come_back_see_what_the_first_one_saw() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_followers(1_000));
    for round in 1..=2 {
        let (told, progress) = watch::channel(0);
        let server = AgentServer::new().with_agent("long", long(told)).with_store(store.clone());
        let thread = format!("t{round}");
        let mut asked = input(&thread, "r");
        asked["messages"] = json!([{ "id": "q", "role": "user", "content": "Count" }]);
        asked["state"] = json!({ "from": 0 });
        let first = run(&server, "long", &asked).await;
        let mut clients = tokio::task::JoinSet::new();
        for (client, number) in (0..CLIENTS).zip(numbers(round)) {
            let (server, mut progress) = (server.clone(), progress.clone());
            let mut again = input(&thread, "again");
            // Every third one holds the question already.
            let holds = client % 3 == 0;
            if holds {
                again["messages"] = asked["messages"].clone();
                again["state"] = asked["state"].clone();
            }
            clients.spawn(async move {
                let moment = usize::try_from(number % DELTAS as u64).unwrap();
                progress.wait_for(|at| *at >= moment).await.unwrap();
                let body = connect(&server, "long", &again).await;
                (again, text(body).await)
            });
        }
        let sent = parse(&text(first).await);
        assert!(sent.len() >= 5_000, "{}", sent.len());
        let held = fold(&asked, &sent);
        assert_eq!((&held.state, held.status), (&json!({ "from": 0, "at": 4_500 }), "success"));
        // Many of them were sent the same bytes.
        let mut seen = HashMap::new();
        while let Some(client) = clients.join_next().await {
            let (again, text) = client.unwrap();
            seen.entry(text).or_insert(again);
        }
        for (text, again) in &seen {
            assert_eq!(fold(again, &parse(text)), held);
        }
        assert!(seen.len() > 5, "they came at different moments: {}", seen.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_begins_in_the_middle_of_a_run_has_every_event_once() {
    let (told, progress) = watch::channel(0);
    let server = AgentServer::new().with_agent("long", long(told));
    let first = run(&server, "long", &input("t", "r")).await;
    let mut clients = tokio::task::JoinSet::new();
    for number in numbers(7).take(20) {
        let (server, mut progress) = (server.clone(), progress.clone());
        clients.spawn(async move {
            let moment = usize::try_from(number % 4_000).unwrap();
            progress.wait_for(|at| *at >= moment).await.unwrap();
            text(connect(&server, "long", &input("t", "again")).await).await
        });
    }
    let sent = text(first).await;
    while let Some(replayed) = clients.join_next().await {
        // Event for event, as long as the run was in progress; the others read it compacted.
        let replayed = replayed.unwrap();
        assert!(replayed == sent || parse(&replayed).len() < 100, "neither the run nor its compact form");
    }
}
