//! A store that fails, hangs, or gives a run away: what becomes of requests and of the run in progress.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agui_core::store::{
    AppendError, BeginError, Compaction, Cursor, EventBatch, Figures, FinishError, FollowError, FollowSource,
    Followed, Follower, MemoryRunStore, NewRun, RunLease, RunStore, StopOutcome, StopSignal, StoreError,
    ThreadKey, ThreadRecord,
};
use agui_core::{Event, Run, RunEnd, RunId};
use agui_encoder::http::{AgentServer, OnRecordFailure};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::support::{ask, chunk, events, parse, post_to, settle, text, types};
use crate::{answer, connect, greet, input, run, wait};

/// What is wrong with the store at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fault {
    #[default]
    None,
    /// Every answer is an error.
    Fails,
    /// No answer comes.
    Hangs,
    /// What is written is not taken, because somebody else has the run.
    Lost,
    /// What was recorded is not there any more as a whole.
    Gap,
}

/// A store with faults.
#[derive(Clone, Default)]
struct Faulty {
    inner: MemoryRunStore,
    fault: Arc<Mutex<Fault>>,
    renew: Option<Duration>,
}

impl Faulty {
    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn check(&self) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::None | Fault::Lost | Fault::Gap => Ok(()),
            Fault::Fails => Err(StoreError::new("no connection to s3cret-host")),
            Fault::Hangs => pending().await,
        }
    }

    async fn check_lease(&self) -> Result<(), AppendError> {
        self.check().await?;
        let lost = *self.fault.lock().unwrap() == Fault::Lost;
        if lost { Err(AppendError::LeaseLost) } else { Ok(()) }
    }

    async fn check_write(&self, events: &EventBatch) -> Result<(), AppendError> {
        self.check_lease().await?;
        let gap = *self.fault.lock().unwrap() == Fault::Gap;
        let fits = !gap || matches!(&**events, [Event::RunError(_)]);
        if fits { Ok(()) } else { Err(AppendError::Incomplete) }
    }
}

impl RunStore for Faulty {
    async fn begin(&self, key: &ThreadKey, run: NewRun) -> Result<RunLease, BeginError> {
        self.check().await?;
        self.inner.begin(key, run).await
    }

    async fn append(&self, lease: &RunLease, events: EventBatch) -> Result<(), AppendError> {
        self.check_write(&events).await?;
        self.inner.append(lease, events).await
    }

    async fn finish(
        &self,
        lease: RunLease,
        events: EventBatch,
        compaction: Compaction,
    ) -> Result<(), FinishError> {
        if let Err(error) = self.check_write(&events).await {
            return Err(FinishError::new(lease, error));
        }
        self.inner.finish(lease, events, compaction).await
    }

    fn renew_interval(&self) -> Option<Duration> {
        self.renew
    }

    async fn renew(&self, lease: &RunLease) -> Result<(), AppendError> {
        self.check_lease().await?;
        self.inner.renew(lease).await
    }

    async fn stop_requested(&self, lease: &RunLease) -> Result<StopSignal, StoreError> {
        self.inner.stop_requested(lease).await
    }

    async fn request_stop(&self, key: &ThreadKey, run_id: Option<&RunId>) -> Result<StopOutcome, StoreError> {
        self.check().await?;
        self.inner.request_stop(key, run_id).await
    }

    async fn follow(&self, key: &ThreadKey, after: Option<&Cursor>) -> Result<Option<Follower>, FollowError> {
        self.check().await?;
        let follower = self.inner.follow(key, after).await?;
        let fault = Arc::clone(&self.fault);
        Ok(follower.map(|follower| Follower::new(FaultySource { follower, fault })))
    }

    async fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRecord>, StoreError> {
        self.check().await?;
        self.inner.thread(key).await
    }

    async fn figures(&self) -> Result<Figures, StoreError> {
        self.inner.figures().await
    }
}

/// A follower that fails with its store.
struct FaultySource {
    follower: Follower,
    fault: Arc<Mutex<Fault>>,
}

impl FollowSource for FaultySource {
    fn poll_followed(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Followed, StoreError>>> {
        if *self.fault.lock().unwrap() == Fault::Fails {
            return std::task::Poll::Ready(Some(Err(StoreError::new("no connection to s3cret-host"))));
        }
        self.follower.poll_followed(cx)
    }
}

/// An agent that writes one delta each time it is let.
fn stepping(gate: &Arc<Semaphore>) -> impl agui_core::RunHandler {
    let gate = Arc::clone(gate);
    move |run: Run| {
        let gate = Arc::clone(&gate);
        async move {
            let mut message = run.message();
            for at in 0..4 {
                message.delta(format!("{at} ")).await?;
                gate.acquire().await?.forget();
            }
            message.end().await?;
            Ok(RunEnd::success())
        }
    }
}

/// An agent that says all it has to say and ends when it is let.
fn ending(gate: &Arc<Semaphore>) -> impl agui_core::RunHandler {
    let gate = Arc::clone(gate);
    move |run: Run| {
        let gate = Arc::clone(&gate);
        async move {
            let mut message = run.message();
            message.delta("all").await?;
            message.end().await?;
            gate.acquire().await?.forget();
            Ok(RunEnd::success())
        }
    }
}

fn said(events: &[serde_json::Value]) -> String {
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

fn faulty() -> (Faulty, Arc<Semaphore>, AgentServer) {
    let store = Faulty::default();
    let gate = Arc::new(Semaphore::new(0));
    let server = AgentServer::new()
        .with_agent("greet", greet)
        .with_agent("wait", wait)
        .with_agent("steps", stepping(&gate))
        .with_agent("ends", ending(&gate))
        .with_store(store.clone());
    (store, gate, server)
}

#[tokio::test(start_paused = true)]
async fn requests_that_need_the_store_are_refused_and_do_not_hang() {
    let (store, _, server) = faulty();
    for fault in [Fault::Fails, Fault::Hangs] {
        store.set(fault);
        for path in ["/agent/greet/run", "/agent/greet/connect", "/agent/greet/stop/t"] {
            let body = if path.contains("stop") { json!({}) } else { input("t", "r") };
            let asked = Instant::now();
            let response = ask(&server, post_to(path, &body)).await;
            assert_eq!(response.status(), 503, "{path}");
            assert_eq!(response.headers()["retry-after"], "1");
            let answer = answer(response).await;
            assert_eq!(answer["code"], "unavailable");
            assert!(!answer.to_string().contains("s3cret"), "{answer}");
            assert!(asked.elapsed() <= Duration::from_secs(6));
        }
    }
    // What needs no store is as it was.
    assert_eq!(ask(&server, http::Request::get("/info").body(String::new()).unwrap()).await.status(), 200);
    store.set(Fault::None);
    assert_eq!(events(run(&server, "greet", &input("t", "r")).await).await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_run_serves_its_client_while_the_store_is_away_and_is_recorded_when_it_is_back() {
    for fault in [Fault::Fails, Fault::Hangs] {
        let (store, gate, server) = faulty();
        // A store that never answers is given up, one that fails is tried again.
        let server = server.with_record_patience(Duration::from_secs(600));
        let mut body = run(&server, "steps", &input("t", "r")).await;
        let mut sent = String::new();
        let mut read_until = async |sent: &mut String, what: &str| {
            while !sent.contains(what) {
                let more = tokio::time::timeout(Duration::from_secs(1), chunk(&mut body)).await;
                sent.push_str(std::str::from_utf8(&more.expect("at once").expect("more")).unwrap());
            }
        };
        read_until(&mut sent, "\"0 \"").await;
        store.set(fault);
        for step in ["\"1 \"", "\"2 \""] {
            gate.add_permits(1);
            read_until(&mut sent, step).await;
        }
        if fault == Fault::Hangs {
            // Nothing would come of an answer that never comes.
            continue;
        }
        store.set(Fault::None);
        gate.add_permits(2);
        sent.push_str(&text(body).await);
        let sent = parse(&sent);
        assert_eq!(said(&sent), "0 1 2 3 ");
        let later = events(connect(&server, "steps", &input("t", "x")).await).await;
        assert_eq!((said(&later), later.last()), (said(&sent), sent.last()), "all of it, none of it twice");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_record_is_given_up_goes_on_and_its_record_says_that_it_is_incomplete() {
    for fault in [Fault::Fails, Fault::Hangs] {
        let (store, gate, server) = faulty();
        let server = server.with_record_patience(Duration::from_secs(1));
        let body = run(&server, "steps", &input("t", "r")).await;
        settle().await;
        store.set(fault);
        gate.add_permits(1);
        tokio::time::sleep(Duration::from_secs(2)).await;
        store.set(Fault::None);
        gate.add_permits(3);
        let sent = events(body).await;
        assert_eq!(
            (said(&sent), &sent.last().unwrap()["type"]),
            ("0 1 2 3 ".to_owned(), &json!("RUN_FINISHED"))
        );
        let later = events(connect(&server, "steps", &input("t", "x")).await).await;
        assert_eq!(said(&later), "0 ");
        assert_eq!(later.last().unwrap()["message"], "The record of the run is incomplete.");
        // The thread is free.
        assert_eq!(events(run(&server, "greet", &input("t", "s")).await).await.len(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_has_lost_something_says_that_it_is_incomplete_and_the_client_has_all() {
    // Noticed with something that the run says, or with its ending, which is all that is left.
    for (agent, whole) in [("steps", "0 1 2 3 "), ("ends", "all")] {
        let (store, gate, server) = faulty();
        let body = run(&server, agent, &input("t", "r")).await;
        settle().await;
        store.set(Fault::Gap);
        gate.add_permits(4);
        let sent = events(body).await;
        let last = sent.last().unwrap();
        assert_eq!((&*said(&sent), &last["type"]), (whole, &json!("RUN_FINISHED")));
        let later = events(connect(&server, agent, &input("t", "x")).await).await;
        assert!(whole.starts_with(&said(&later)));
        assert_eq!(later.last().unwrap()["message"], "The record of the run is incomplete.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_record_is_given_up_ends_where_that_is_wanted() {
    let (store, gate, server) = faulty();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let server = server
        .with_record_patience(Duration::from_secs(1))
        .with_on_record_failure(OnRecordFailure::End)
        .with_error_hook(move |error, info| {
            hook.lock().unwrap().push((error.code().to_owned(), info.run_id.to_string()));
        });
    let body = run(&server, "steps", &input("t", "r")).await;
    settle().await;
    store.set(Fault::Fails);
    gate.add_permits(1);
    let sent = text(body).await;
    assert!(!sent.contains("s3cret"), "{sent}");
    let sent = parse(&sent);
    assert_eq!(sent.last().unwrap()["code"], "internal_error");
    assert_eq!(*told.lock().unwrap(), [("internal_error".to_owned(), "r".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn an_ending_that_cannot_be_recorded_is_told_all_the_same() {
    for fault in [Fault::Fails, Fault::Hangs] {
        let (store, gate, server) = faulty();
        let body = run(&server, "steps", &input("t", "r")).await;
        gate.add_permits(3);
        settle().await;
        store.set(fault);
        gate.add_permits(1);
        let asked = Instant::now();
        let sent = events(body).await;
        assert_eq!(sent.last().unwrap()["type"], "RUN_FINISHED");
        assert!(asked.elapsed() < Duration::from_secs(40), "{:?}", asked.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_no_longer_ours_ends_as_lost() {
    // Told when it writes, or when the lease is renewed.
    for renews in [false, true] {
        let gate = Arc::new(Semaphore::new(0));
        let store = Faulty { renew: renews.then_some(Duration::from_secs(3)), ..Faulty::default() };
        let server = AgentServer::new().with_agent("steps", stepping(&gate)).with_store(store.clone());
        let body = run(&server, "steps", &input("t", "r")).await;
        settle().await;
        store.set(Fault::Lost);
        if !renews {
            gate.add_permits(1);
        }
        let sent = events(body).await;
        let last = sent.last().unwrap();
        assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("producer_lost")));
        assert_eq!(said(&sent), "0 ", "what the record has not, nobody sees");
        let shutdown = server.shutdown(Duration::from_secs(100));
        assert!(
            tokio::time::timeout(Duration::from_secs(5), shutdown).await.is_ok(),
            "the handler has ended"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_whose_store_fails_is_told_so() {
    let (store, gate, server) = faulty();
    let runner = run(&server, "steps", &input("t", "r")).await;
    settle().await;
    let mut watcher = connect(&server, "steps", &input("t", "x")).await;
    let first = chunk(&mut watcher).await.unwrap();
    store.set(Fault::Fails);
    gate.add_permits(1);
    // The watcher is woken by what comes; here nothing does, so it asks.
    let mut sent = String::from_utf8(first.to_vec()).unwrap();
    sent.push_str(&text(watcher).await);
    let sent = parse(&sent);
    assert_eq!(types(&sent).last(), Some(&"RUN_ERROR"));
    assert_eq!(sent.last().unwrap()["code"], "internal_error");
    drop(runner);
}
