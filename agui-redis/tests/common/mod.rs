//! What the tests of the store say in one word.

#![expect(dead_code, clippy::unwrap_used, reason = "each test uses some of it, and fails by a panic")]

use std::time::Duration;

use agui_core::store::{
    AppendError, Compaction, EventBatch, Followed, Follower, NewRun, RunLease, RunStore, ThreadKey,
};
use agui_core::{
    Event, RunFinishedEvent, RunStartedEvent, TextMessageContentEvent, TextMessageEndEvent,
    TextMessageStartEvent,
};
use agui_redis::{RedisRunStore, RedisSettings};
use agui_redis_server::RedisServer;

/// Long enough for the contract's runs, which are not renewed, and short enough to wait for.
pub(crate) const CONTRACT_LEASE: Duration = Duration::from_secs(3);

pub(crate) fn settings(server: &RedisServer) -> RedisSettings {
    RedisSettings::new(&server.url()).unwrap()
}

pub(crate) async fn store(settings: RedisSettings) -> RedisRunStore {
    RedisRunStore::connect(settings).await.unwrap()
}

/// A store whose leases are short.
pub(crate) async fn hasty(server: &RedisServer, lease: Duration) -> RedisRunStore {
    store(settings(server).with_lease(lease)).await
}

pub(crate) fn thread(name: &str) -> ThreadKey {
    ThreadKey::new("agent", name)
}

pub(crate) async fn begin(store: &RedisRunStore, key: &ThreadKey, run: &str) -> RunLease {
    store.begin(key, NewRun::new(run)).await.unwrap()
}

pub(crate) async fn append(
    store: &RedisRunStore,
    lease: &RunLease,
    events: impl Into<EventBatch>,
) -> Result<(), AppendError> {
    store.append(lease, events.into()).await
}

pub(crate) async fn finish(store: &RedisRunStore, lease: RunLease) {
    let ending = [finished(lease.run_id().as_str())];
    store.finish(lease, ending.into(), Compaction::Allowed).await.unwrap();
}

/// A whole run with some text.
pub(crate) async fn run(store: &RedisRunStore, key: &ThreadKey, run: &str, bytes: usize) {
    let lease = begin(store, key, run).await;
    append(store, &lease, [started(run), delta(&"x".repeat(bytes))]).await.unwrap();
    finish(store, lease).await;
}

pub(crate) async fn follow(store: &RedisRunStore, key: &ThreadKey) -> Follower {
    store.follow(key, None).await.unwrap().unwrap()
}

pub(crate) async fn rest(follower: &mut Follower) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(page) = follower.next_page().await.unwrap() {
        events.extend(page.events.iter().cloned());
    }
    events
}

/// Reads what is recorded of a run in progress.
pub(crate) async fn catch_up(follower: &mut Follower) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        match follower.next().await.unwrap().unwrap() {
            Followed::Page(page) => events.extend(page.events.iter().cloned()),
            _ => return events,
        }
    }
}

pub(crate) async fn replayed(store: &RedisRunStore, key: &ThreadKey) -> Vec<Event> {
    rest(&mut follow(store, key).await).await
}

pub(crate) async fn is_known(store: &RedisRunStore, key: &ThreadKey) -> bool {
    store.thread(key).await.unwrap().is_some()
}

pub(crate) fn started(run: &str) -> Event {
    RunStartedEvent::new("t", run).into()
}

pub(crate) fn finished(run: &str) -> Event {
    RunFinishedEvent::new("t", run).into()
}

pub(crate) fn delta(text: &str) -> Event {
    TextMessageContentEvent::new("m", text).into()
}

pub(crate) fn message(texts: &[&str]) -> Vec<Event> {
    let mut events = vec![TextMessageStartEvent::new("m").into()];
    events.extend(texts.iter().map(|text| delta(text)));
    events.push(TextMessageEndEvent::new("m").into());
    events
}

/// Whether it is the ending of a run whose producer is lost.
pub(crate) fn is_lost(event: &Event) -> bool {
    matches!(event, Event::RunError(error) if error.code.as_deref() == Some("producer_lost"))
}

/// Asks until the answer is yes. What is waited for happens on a task that nobody can wait for.
pub(crate) async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
}
