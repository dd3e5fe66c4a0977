//! What appending costs, against a bare loop that pipelines `XADD` on the same kind of connection, and what a client waits
//! longer for the first event than with the memory store.
//!
//! `cargo bench -p agui-redis`. Starts a Redis of its own. Both sides write batches of one size, one after the other, each
//! of them answered before the next; the bare loop writes one entry for each event, JSON that it has made before. Rounds
//! alternate, and the median of their ratios counts. Exit code 1 when a limit is missed.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may fail")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use agui_core::store::{Compaction, EventBatch, MemoryRunStore, NewRun, RunStore, ThreadKey};
use agui_core::{Event, RunFinishedEvent, RunStartedEvent, TextMessageContentEvent};
use agui_redis::{RedisRunStore, RedisSettings};
use agui_redis_server::RedisServer;

/// What the store has to reach of the bare loop's events per second.
const LEAST: f64 = 0.7;
const ROUNDS: usize = 9;
/// How long one side of a round takes, about.
const EVENTS: [(usize, usize); 4] = [(1, 3_000), (8, 16_000), (64, 64_000), (256, 128_000)];
const FIRST_EVENTS: usize = 1_000;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run())
}

async fn run() -> ExitCode {
    let server = RedisServer::start();
    let store = RedisRunStore::connect(RedisSettings::new(&server.url()).unwrap()).await.unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let connection = client.get_connection_manager().await.unwrap();
    let event =
        Event::from(TextMessageContentEvent::new("message-1", "a few words of an answer, as they come "));
    let mut missed = false;
    for (size, events) in EVENTS {
        let mut ratios = Vec::new();
        let mut bests = (Duration::MAX, Duration::MAX);
        for round in 0..ROUNDS {
            let ours = appended(&store, &event, size, events, &format!("{size}/{round}")).await;
            let bare = bare(connection.clone(), &event, size, events, &format!("bare/{size}/{round}")).await;
            bests = (bests.0.min(ours), bests.1.min(bare));
            ratios.push(bare.as_secs_f64() / ours.as_secs_f64());
        }
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ROUNDS / 2];
        let verdict = if ratio < LEAST { "MISSED" } else { "ok" };
        missed |= ratio < LEAST;
        let rate = |took: Duration| f64::from(u32::try_from(events).unwrap()) / took.as_secs_f64();
        println!(
            "batches of {size:>3}: {:>9.0} events/s, bare {:>9.0}, ratio {ratio:.2} (least {LEAST})  {verdict}",
            rate(bests.0),
            rate(bests.1),
        );
    }
    let memory = first_events(&MemoryRunStore::default()).await;
    let redis = first_events(&store).await;
    for (what, at) in [("median", FIRST_EVENTS / 2), ("p99", FIRST_EVENTS * 99 / 100)] {
        println!(
            "begin to first event seen, {what}: memory {:?}, redis {:?}, added {:?}",
            memory[at],
            redis[at],
            redis[at].saturating_sub(memory[at])
        );
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn appended(store: &RedisRunStore, event: &Event, size: usize, events: usize, name: &str) -> Duration {
    let lease = store.begin(&ThreadKey::new("bench", name), NewRun::new("r")).await.unwrap();
    let batches: Vec<EventBatch> = (0..events / size).map(|_| vec![event.clone(); size].into()).collect();
    let start = Instant::now();
    for batch in batches {
        store.append(&lease, batch).await.unwrap();
    }
    let took = start.elapsed();
    let ending = [Event::from(RunFinishedEvent::new("t", "r"))].into();
    store.finish(lease, ending, Compaction::Never).await.unwrap();
    took
}

async fn bare(
    mut connection: redis::aio::ConnectionManager,
    event: &Event,
    size: usize,
    events: usize,
    key: &str,
) -> Duration {
    let text = serde_json::to_string(event).unwrap();
    let start = Instant::now();
    for _ in 0..events / size {
        let mut pipeline = redis::pipe();
        for _ in 0..size {
            pipeline.cmd("XADD").arg(key).arg("*").arg("e").arg(&text).ignore();
        }
        pipeline.exec_async(&mut connection).await.unwrap();
    }
    let took = start.elapsed();
    redis::cmd("UNLINK").arg(key).exec_async(&mut connection).await.unwrap();
    took
}

/// How long it takes from beginning a run to a follower's having its first event, in order.
async fn first_events(store: &impl RunStore) -> Vec<Duration> {
    let mut took = Vec::new();
    for at in 0..FIRST_EVENTS {
        let key = ThreadKey::new("first", at.to_string());
        let start = Instant::now();
        let lease = store.begin(&key, NewRun::new("r")).await.unwrap();
        let started = Event::from(RunStartedEvent::new("t", "r"));
        store.append(&lease, [started].into()).await.unwrap();
        let mut follower = store.follow(&key, None).await.unwrap().unwrap();
        follower.next_page().await.unwrap().unwrap();
        took.push(start.elapsed());
        let ending = [Event::from(RunFinishedEvent::new("t", "r"))].into();
        store.finish(lease, ending, Compaction::Never).await.unwrap();
    }
    took.sort_unstable();
    took
}
