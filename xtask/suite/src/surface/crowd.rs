//! A crowd of clients that come, go and come back while long runs are under way.
//!
//! Each client joins at a moment of its own, holding nothing; two thirds of them leave again after a part of what they
//! are sent and re-attach, as a reloaded page that holds nothing or as one that holds what it has seen. All end with
//! exactly the conversation of the client that asked for the run, as our own consumer folds it, and whoever held nothing
//! has been sent exactly its events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agui_core::consumer::prepare::next_input;
use agui_core::consumer::{Session, StreamEnd};
use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_core::{JsonObject, JsonPatchOperation, Run, RunAgentInput, RunEnd, RunError, UserMessage};
use agui_encoder::http::AgentServer;
use serde_json::{Value, json};

use super::site::Site;
use crate::StartServer;

const RUNS: usize = 4;
const CLIENTS: usize = 200;
/// Events between a run's first and its last.
const EVENTS: usize = 5_000;
/// How long all of it may take. It is a million events that are parsed and folded by a build without optimisation.
const PATIENCE: Duration = Duration::from_secs(300);

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }
}

/// An agent that does a bit of everything, with a text and a call open all the time, and takes about two seconds.
async fn busy(run: Run) -> Result<RunEnd, RunError> {
    let id = run.run_id().to_string();
    let mut long = run.message().with_id(format!("{id}:long"));
    let open = run.tool_call("collect").with_id(format!("{id}:open"));
    let activity = run.activity("progress").with_id(format!("{id}:activity"));
    activity.snapshot(JsonObject::from_iter([("done".to_owned(), json!(0))])).await?;
    run.state().set("/rounds", json!([])).await?;
    let mut written = 1 + 1 + 3;
    let mut round = 0;
    while written < EVENTS {
        long.delta(format!("{round} ")).await?;
        open.args(format!("{round},")).await?;
        run.state().set("/rounds/-", json!({ "round": round })).await?;
        let done = JsonPatchOperation::replace("/done".parse()?, json!(round));
        activity.patch(vec![done]).await?;
        run.custom("demo.round", json!(round)).await?;
        match round % 4 {
            0 => {
                let mut text = run.message().with_id(format!("{id}:m{round}"));
                for word in ["größe ", "東京 ", "🦀"] {
                    text.delta(word).await?;
                }
                text.end().await?;
                written += 5;
            }
            1 => {
                let call = run.tool_call("search").with_id(format!("{id}:c{round}"));
                call.args("{\"q\":").await?;
                call.args(format!("{round}}}")).await?;
                call.result(format!("{round} hits")).await?;
                written += 5;
            }
            2 => {
                let mut thought = run.reasoning().with_id(format!("{id}:r{round}"));
                thought.delta("hm, ").await?;
                thought.delta(format!("{round}")).await?;
                thought.end().await?;
                written += 6;
            }
            _ => {
                let step = run.step(format!("step {round}")).await?;
                let scout = run.subagent("scout").with_id(format!("{id}:s{round}")).start().await?;
                let mut text = scout.run().message().with_id(format!("{id}:sm{round}"));
                text.delta("found").await?;
                text.end().await?;
                scout.finish(json!(round)).await?;
                step.finish().await?;
                written += 7;
            }
        }
        written += 5;
        round += 1;
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    Ok(RunEnd::success())
}

/// A client and what it has come to hold.
struct Consumer {
    session: Session,
    thread: String,
    /// What it was sent since it last held nothing, frame by frame.
    frames: Vec<String>,
    ended: bool,
}

impl Consumer {
    fn new(thread: &str) -> Self {
        Self { session: Session::new(), thread: thread.to_owned(), frames: Vec::new(), ended: false }
    }

    /// Sends a request and reads so many events of the answer, or all.
    async fn read(&mut self, site: &Site, path: &str, input: RunAgentInput, most: Option<usize>) {
        let mut exchange = self.session.send(input, 0).unwrap();
        let body = serde_json::to_string(exchange.request()).unwrap();
        let mut call = site.post(path, body).await;
        assert_eq!(call.status(), http::StatusCode::OK);
        for _ in 0..most.unwrap_or(usize::MAX) {
            let Some(frame) = call.frame().await else {
                let end = exchange.finish();
                let unknown = self.frames.is_empty();
                assert_eq!(end, if unknown { StreamEnd::Empty } else { StreamEnd::Complete });
                self.ended = true;
                break;
            };
            exchange.feed(frame.as_str(), &mut |_, _| {}).unwrap();
            self.frames.push(frame);
        }
        // A replay has no run of the id that a connect has to name.
        let warnings: Vec<_> = exchange.warnings().filter(|warning| warning.rule() != "LIFE-9").collect();
        assert!(warnings.is_empty(), "a stream that our own consumer warns about: {warnings:?}");
    }

    /// Comes as a page that has just been loaded.
    async fn load(&mut self, site: &Site, most: Option<usize>) {
        *self = Self::new(&self.thread);
        let input = RunAgentInput::new(self.thread.as_str(), "attach", []);
        self.read(site, "/agent/a/connect", input, most).await;
    }

    /// Comes back with what it holds.
    async fn come_back(&mut self, site: &Site) {
        let input = next_input(self.session.conversation(), self.thread.as_str(), "attach");
        self.frames.clear();
        self.read(site, "/agent/a/connect", input, None).await;
    }

    /// What it holds in the end.
    fn holds(&self) -> Value {
        let conversation = self.session.conversation();
        let run = conversation.last_run().and_then(|run| run.run_id.as_ref().map(ToString::to_string));
        json!({
            "messages": serde_json::to_value(conversation.to_messages()).unwrap(),
            "state": conversation.state(),
            "pending": conversation.pending_tool_call_ids(),
            "status": format!("{:?}", conversation.run_status()),
            "run": run,
        })
    }
}

/// The events of frames, with adjacent deltas of one item merged and without the inputs: what a run has been, whether it
/// was compacted or not.
fn told(frames: &[String]) -> Vec<Value> {
    let mut told: Vec<Value> = Vec::new();
    for frame in frames {
        let mut event: Value = serde_json::from_str(frame).unwrap();
        event.as_object_mut().unwrap().remove("input");
        let same = |last: &&mut Value| {
            ["type", "messageId", "toolCallId", "subagentRunId"]
                .iter()
                .all(|name| last.get(*name) == event.get(*name))
                && last.get("delta").is_some_and(Value::is_string)
        };
        if let Some(last) = told.last_mut().filter(same) {
            let delta = last["delta"].as_str().unwrap().to_owned() + event["delta"].as_str().unwrap();
            last["delta"] = json!(delta);
        } else {
            told.push(event);
        }
    }
    told
}

/// See the module.
pub async fn two_hundred_clients_that_re_attach_see_one_conversation(start: StartServer) {
    let crowd = async {
        let limits = MemoryLimits::default().with_max_followers(2 * CLIENTS);
        let agents = AgentServer::new().with_store(MemoryRunStore::new(limits)).with_agent("a", busy);
        let site = Arc::new(Site::new(start, agents).await);
        let mut runs = tokio::task::JoinSet::new();
        for run in 0..RUNS {
            runs.spawn(one_run(Arc::clone(&site), run));
        }
        while let Some(run) = runs.join_next().await {
            run.unwrap();
        }
    };
    assert!(tokio::time::timeout(PATIENCE, crowd).await.is_ok(), "the crowd hangs");
}

/// One run with its share of the clients.
async fn one_run(site: Arc<Site>, run: usize) {
    let thread = format!("thread {run}");
    let input = RunAgentInput::new(
        thread.as_str(),
        format!("run {run}"),
        [UserMessage::new(format!("q{run}"), "Go.").into()],
    );
    let mut first = Consumer::new(&thread);
    let first_run = async {
        first.read(&site, "/agent/a/run", input, None).await;
        assert!(first.frames.len() >= EVENTS, "{} events", first.frames.len());
        (first.holds(), first.frames, Instant::now())
    };

    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS / RUNS {
        let (site, thread) = (Arc::clone(&site), thread.clone());
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (((run * CLIENTS + client) as u64 + 1) << 20));
        clients.spawn(async move {
            tokio::time::sleep(Duration::from_millis(random.below(2_000) as u64)).await;
            let mut consumer = Consumer::new(&thread);
            // Whoever is there before the run gets a stream without events, and comes again.
            loop {
                let most = (client % 3 != 0).then(|| 1 + random.below(EVENTS));
                consumer.load(&site, most).await;
                if !consumer.frames.is_empty() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let mut held_nothing = true;
            let mut attached = Instant::now();
            if !consumer.ended {
                tokio::time::sleep(Duration::from_millis(random.below(500) as u64)).await;
                attached = Instant::now();
                if client % 3 == 1 {
                    consumer.load(&site, None).await;
                } else {
                    consumer.come_back(&site).await;
                    held_nothing = false;
                }
            }
            assert!(consumer.ended);
            (consumer.holds(), held_nothing.then_some(consumer.frames), attached)
        });
    }
    let (holds, frames, end) = first_run.await;
    let (mut seen, mut in_progress) = (0, 0);
    while let Some(client) = clients.join_next().await {
        let (theirs, sent, attached) = client.unwrap();
        assert_eq!(theirs, holds);
        if let Some(sent) = sent {
            // Word for word, but for the input that the first one carries, unless the run has been compacted meanwhile.
            let same = sent.get(1..) == frames.get(1..) || told(&sent) == told(&frames);
            assert!(same, "somebody was sent other events");
        }
        seen += 1;
        in_progress += usize::from(attached < end);
    }
    assert_eq!(seen, CLIENTS / RUNS);
    assert!(in_progress > seen / 4, "only {in_progress} re-attached while the run was in progress");
}
