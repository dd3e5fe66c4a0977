//! Many clients that come back at random moments of a long run see what its own client saw.

use std::collections::HashMap;
use std::sync::Arc;

use agui_core::consumer::Session;
use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_core::{Run, RunEnd};
use agui_encoder::http::AgentServer;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{parse, ready_chunk, text, types};
use crate::{connect, input, run};

const CLIENTS: usize = 200;
const DELTAS: usize = 4_980;

/// What a client comes to hold.
#[derive(Debug, PartialEq)]
pub(crate) struct Held {
    messages: Value,
    state: Value,
    status: &'static str,
}

/// Folds a stream, which has to keep every rule.
pub(crate) fn fold(input: &Value, sent: &[Value]) -> Held {
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

/// A long run and the clients that come at certain moments of it. Each tells the other how far it is, so that they meet
/// in the middle whatever else the machine does.
struct Meeting {
    /// How far the run is.
    progress: watch::Sender<usize>,
    /// How many clients have come.
    come: watch::Sender<usize>,
    /// When clients come.
    moments: Vec<usize>,
}

/// How far the run goes on without a client that is due.
const LEAD: usize = 256;

impl Meeting {
    fn new(moments: impl Iterator<Item = usize>) -> Arc<Self> {
        let (progress, come) = (watch::Sender::new(0), watch::Sender::new(0));
        Arc::new(Self { progress, come, moments: moments.collect() })
    }

    /// Waits for the run to be there.
    async fn reached(&self, moment: usize) {
        self.progress.subscribe().wait_for(|at| *at >= moment).await.unwrap();
    }

    fn has_come(&self) {
        self.come.send_modify(|come| *come += 1);
    }

    /// Tells how far the run is, and waits for clients that are late.
    async fn reach(&self, at: usize) {
        self.progress.send_replace(at);
        let due = self.moments.iter().filter(|moment| **moment + LEAD <= at).count();
        self.come.subscribe().wait_for(|come| *come >= due).await.unwrap();
    }
}

/// A long run with several messages, calls and changes of the state.
fn long(meeting: Arc<Meeting>) -> impl agui_core::RunHandler {
    move |run: Run| {
        let meeting = Arc::clone(&meeting);
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
                    meeting.reach(at).await;
                }
            }
            meeting.progress.send_replace(usize::MAX);
            message.end().await?;
            Ok(RunEnd::success())
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_clients_that_come_back_see_what_the_first_one_saw() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_followers(1_000));
    for round in 1..=2 {
        let moments =
            numbers(round).take(CLIENTS).map(|number| usize::try_from(number % DELTAS as u64).unwrap());
        let meeting = Meeting::new(moments);
        let server =
            AgentServer::new().with_agent("long", long(Arc::clone(&meeting))).with_store(store.clone());
        let thread = format!("t{round}");
        let mut asked = input(&thread, "r");
        asked["messages"] = json!([{ "id": "q", "role": "user", "content": "Count" }]);
        asked["state"] = json!({ "from": 0 });
        let first = run(&server, "long", &asked).await;
        let mut clients = tokio::task::JoinSet::new();
        for (client, moment) in meeting.moments.iter().copied().enumerate() {
            let (server, meeting) = (server.clone(), Arc::clone(&meeting));
            let mut again = input(&thread, "again");
            // Every third one holds the question already.
            let holds = client % 3 == 0;
            if holds {
                again["messages"] = asked["messages"].clone();
                again["state"] = asked["state"].clone();
            }
            clients.spawn(async move {
                meeting.reached(moment).await;
                let mut body = connect(&server, "long", &again).await;
                let beginning = body.frame().await.unwrap().unwrap().into_data().unwrap();
                meeting.has_come();
                (again, String::from_utf8(beginning.to_vec()).unwrap() + &text(body).await)
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
        assert!(seen.len() > 10, "they came at different moments: {}", seen.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_begins_in_the_middle_of_a_run_has_every_event_once() {
    let moments = numbers(7).take(20).map(|number| usize::try_from(number % 4_000).unwrap());
    let meeting = Meeting::new(moments);
    let server = AgentServer::new().with_agent("long", long(Arc::clone(&meeting)));
    let first = run(&server, "long", &input("t", "r")).await;
    let mut clients = tokio::task::JoinSet::new();
    for moment in meeting.moments.clone() {
        let (server, meeting) = (server.clone(), Arc::clone(&meeting));
        clients.spawn(async move {
            meeting.reached(moment).await;
            let body = connect(&server, "long", &input("t", "again")).await;
            meeting.has_come();
            text(body).await
        });
    }
    let sent = text(first).await;
    while let Some(replayed) = clients.join_next().await {
        // Event for event, as long as the run was in progress; the others read it compacted.
        let replayed = replayed.unwrap();
        assert!(replayed == sent || parse(&replayed).len() < 100, "neither the run nor its compact form");
    }
}

#[tokio::test]
async fn a_client_that_comes_before_anything_of_a_run_is_recorded_gets_that_run() {
    let agent = |run: Run| async move {
        run.state().set("/n", 8).await?;
        run.text("Hello").await?;
        Ok(RunEnd::success())
    };
    let server = AgentServer::new().with_agent("step", agent);
    let mut earlier = input("t", "r0");
    earlier["messages"] = json!([{ "id": "q", "role": "user", "content": "One" }]);
    text(run(&server, "step", &earlier).await).await;
    // The turn is edited, and so is the state.
    let mut asked = input("t", "r");
    asked["messages"] = json!([{ "id": "q", "role": "user", "content": "Two" }]);
    asked["state"] = json!({ "n": 7, "own": true });
    let mut again = input("t", "again");
    again["messages"] = earlier["messages"].clone();

    // The recorder of this runtime's one thread has had no turn yet.
    let first = run(&server, "step", &asked).await;
    let mut body = connect(&server, "step", &again).await;
    assert!(ready_chunk(&mut body).is_pending());
    let held = fold(&asked, &parse(&text(first).await));
    let sent = parse(&text(body).await);
    assert_eq!(types(&sent)[..3], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]);
    assert_eq!(fold(&again, &sent), held);
}
