//! How much is kept, for how long, and in what form.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

mod common;

use std::time::Duration;

use agui_core::store::{
    AppendError, BeginError, Compaction, Cursor, FollowError, MemoryLimits, MemoryRunStore, NewRun, RunStore,
};
use agui_core::{Event, EventType, RunErrorEvent, RunFinishedEvent};
use agui_redis::{RedisLimits, RedisRunStore};
use agui_redis_server::RedisServer;
use common::*;
use futures_util::future::join_all;

async fn limited(server: &RedisServer, limits: RedisLimits) -> RedisRunStore {
    store(settings(server).with_limits(limits)).await
}

#[tokio::test]
async fn a_run_beyond_its_cap_is_told_so_and_can_still_fail() {
    let server = RedisServer::start();
    let store = limited(&server, RedisLimits::default().with_max_run_bytes(10_000)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let refused = append(&store, &lease, [delta("a"), delta(&"x".repeat(10_000))]).await;
    assert!(matches!(refused, Err(AppendError::RecordFull)), "{refused:?}");
    append(&store, &lease, [delta("b")]).await.unwrap();
    let large: Event = RunFinishedEvent::new("t", "r").with_result("x".repeat(10_000)).into();
    let refused = store.finish(lease, [large].into(), Compaction::Allowed).await.unwrap_err();
    assert!(matches!(refused.error, AppendError::RecordFull));
    let full: Event = RunErrorEvent::new("The record is full.").with_code("record_full").into();
    store.finish(refused.lease, [full.clone()].into(), Compaction::Allowed).await.unwrap();
    assert_eq!(replayed(&store, &key).await, [started("r"), delta("b"), full]);
}

#[tokio::test]
async fn idle_threads_make_room_those_used_longest_ago_first() {
    let server = RedisServer::start();
    let store = limited(&server, RedisLimits::default().with_max_threads(3)).await;
    for name in ["a", "b", "c"] {
        run(&store, &thread(name), "r", 1).await;
    }
    let first = server.cli(&["zrange", "agui:{index}:u", "0", "0"]);
    replayed(&store, &thread("a")).await;
    // Whoever reads does not wait for it to be noted that they do.
    until(async || server.cli(&["zrange", "agui:{index}:u", "0", "0"]) != first).await;
    run(&store, &thread("d"), "r", 1).await;
    let known = ["a", "b", "c", "d"].map(|name| (name, thread(name)));
    for (name, key) in known {
        assert_eq!(is_known(&store, &key).await, name != "b", "{name}");
    }
    assert_eq!(store.figures().await.unwrap().threads, 3);
}

#[tokio::test]
async fn a_run_in_progress_is_never_given_up_and_no_other_begins_beyond_the_bound() {
    let server = RedisServer::start();
    let limits = RedisLimits::default().with_max_bytes(100_000).with_grant_bytes(20_000);
    let store = limited(&server, limits).await;
    let mut leases = Vec::new();
    let refused = loop {
        let key = thread(&leases.len().to_string());
        match store.begin(&key, NewRun::new("r")).await {
            Ok(lease) => leases.push(lease),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, BeginError::Full), "{refused}");
    assert_eq!(leases.len(), 5);
    let refused_thread = thread("5");
    until(async || !is_known(&store, &refused_thread).await).await;
    for lease in &leases {
        append(&store, lease, [delta(&"x".repeat(15_000))]).await.unwrap();
    }
    let more = append(&store, &leases[0], [delta(&"x".repeat(30_000))]).await;
    assert!(matches!(more, Err(AppendError::RecordFull)), "{more:?}");
    assert!(store.figures().await.unwrap().bytes <= 100_000);
    // One that ends makes room for another.
    finish(&store, leases.remove(0)).await;
    let lease = begin(&store, &thread("6"), "r").await;
    finish(&store, lease).await;
}

#[tokio::test]
async fn ten_thousand_threads_are_as_many_as_there_may_be() {
    let server = RedisServer::start();
    let limits = RedisLimits::default().with_max_threads(10_000);
    let store = limited(&server, limits).await;
    // Those that run at once are in no order.
    run(&store, &thread("0"), "r", 1).await;
    for chunk in (1..10_240).collect::<Vec<_>>().chunks(256) {
        let runs = chunk.iter().map(async |at| {
            let lease = begin(&store, &thread(&at.to_string()), "r").await;
            finish(&store, lease).await;
        });
        join_all(runs).await;
    }
    let figures = store.figures().await.unwrap();
    assert_eq!((figures.threads, figures.active_runs), (10_000, 0));
    assert!(!is_known(&store, &thread("0")).await);
    assert!(is_known(&store, &thread("10239")).await);
    let threads = server.cli(&["--scan", "--pattern", "agui:*:t"]).lines().count();
    assert_eq!(threads, 10_000);
}

#[tokio::test]
async fn a_thread_is_unknown_when_its_time_is_over_and_is_counted_no_longer() {
    let server = RedisServer::start();
    let settings = settings(&server).with_lease(Duration::from_millis(300));
    let store = store(settings.with_retention(Duration::from_secs(1))).await;
    run(&store, &thread("old"), "r", 1).await;
    assert!(is_known(&store, &thread("old")).await);
    let end = store.thread(&thread("old")).await.unwrap().unwrap().end;
    until(async || !is_known(&store, &thread("old")).await).await;
    assert!(store.follow(&thread("old"), None).await.unwrap().is_none());
    let refused = store.follow(&thread("old"), Some(&end)).await;
    assert!(matches!(refused, Err(FollowError::CursorExpired)), "{refused:?}");
    until(async || store.figures().await.unwrap().threads == 0).await;
    // Nothing stays behind.
    until(async || server.cli(&["dbsize"]).trim() == "0").await;
}

#[tokio::test]
async fn every_run_of_a_thread_lives_as_long_as_the_thread() {
    let server = RedisServer::start();
    let settings = settings(&server).with_lease(Duration::from_millis(300));
    let store = store(settings.with_retention(Duration::from_secs(2))).await;
    let key = thread("t");
    for round in 0..6 {
        run(&store, &key, &round.to_string(), 1).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(replayed(&store, &key).await.len(), 18);
}

#[tokio::test]
async fn a_thread_with_a_run_missing_is_unknown() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let key = thread("t");
    for name in ["a", "b"] {
        run(&store, &key, name, 1).await;
    }
    let streams = server.cli(&["--scan", "--pattern", "*:r:*"]);
    server.cli(&["unlink", streams.lines().next().unwrap()]);
    assert!(store.follow(&key, None).await.unwrap().is_none());
    assert!(!is_known(&store, &key).await);
    run(&store, &key, "a", 1).await;
    assert_eq!(replayed(&store, &key).await.len(), 3);
}

#[tokio::test]
async fn a_thread_of_more_runs_than_a_command_takes_arguments_can_be_given_up() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let key = thread("t");
    run(&store, &key, "r", 1).await;
    // The same run again and again, which has no stream then: a thread with a run missing is given up.
    let name = server.cli(&["--scan", "--pattern", "*:t"]);
    let more = "for at = 2, 20000 do redis.call('HSET', KEYS[1], 'r' .. at, 'x' .. redis.call('HGET', KEYS[1], 'r1')) end \
                return redis.call('HSET', KEYS[1], 'n', 20000)";
    server.cli(&["eval", more, "1", name.trim()]);
    assert!(!is_known(&store, &key).await);
    assert_eq!(server.cli(&["exists", name.trim()]).trim(), "0");
}

/// What the store's keys of a kind have left, in milliseconds.
fn left(server: &RedisServer, pattern: &str) -> Vec<u64> {
    let names = server.cli(&["--scan", "--pattern", pattern]);
    names.lines().map(|name| server.cli(&["pttl", name]).trim().parse().unwrap()).collect()
}

#[tokio::test]
async fn a_run_in_progress_has_more_time_than_its_lease_whatever_the_retention() {
    let server = RedisServer::start();
    let lease_ms = 30_000;
    let settings = settings(&server).with_lease(Duration::from_millis(lease_ms));
    let store = store(settings.with_retention(Duration::from_secs(1))).await;
    let key = thread("t");
    run(&store, &key, "a", 1).await;
    // The last moment of a thread, with another run.
    for name in server.cli(&["--scan"]).lines() {
        server.cli(&["pexpire", name, "10000"]);
    }
    let lease = begin(&store, &key, "b").await;
    append(&store, &lease, [started("b")]).await.unwrap();
    for pattern in ["*:t", "*:r:*", "*{index}*"] {
        let left = left(&server, pattern);
        assert!(!left.is_empty() && left.iter().all(|left| *left > lease_ms), "{pattern}: {left:?}");
    }
    // And when it is renewed late.
    for name in server.cli(&["--scan"]).lines() {
        server.cli(&["pexpire", name, "10000"]);
    }
    store.renew(&lease).await.unwrap();
    for pattern in ["*:t", "*:r:*"] {
        let left = left(&server, pattern);
        assert!(!left.is_empty() && left.iter().all(|left| *left > lease_ms), "{pattern}: {left:?}");
    }
    until(async || left(&server, "*{index}*").iter().all(|left| *left > lease_ms)).await;
    finish(&store, lease).await;
}

#[tokio::test]
async fn the_ids_of_runs_and_owners_are_kept_once_and_counted() {
    let server = RedisServer::start();
    let store = limited(&server, RedisLimits::default().with_max_bytes(200_000).with_grant_bytes(1)).await;
    let key = thread("t");
    let owner = "o".repeat(5_000);
    let id = |at: usize| format!("{at}{}", "x".repeat(10_000));
    let mut begun = 0;
    let refused = loop {
        match store.begin(&key, NewRun::new(id(begun)).with_owner(owner.as_str())).await {
            Ok(lease) => {
                let ending: Event = RunErrorEvent::new("no").into();
                store.finish(lease, [ending].into(), Compaction::Allowed).await.unwrap();
            }
            Err(error) => break error,
        }
        begun += 1;
    };
    assert!(matches!(refused, BeginError::Full), "{refused}");
    assert!((10..20).contains(&begun), "{begun}");
    let name = server.cli(&["--scan", "--pattern", "*:t"]);
    // The one that was refused is taken back.
    until(async || server.cli(&["hget", name.trim(), "a"]).trim().is_empty()).await;
    let held: u64 = server.cli(&["memory", "usage", name.trim(), "samples", "0"]).trim().parse().unwrap();
    let counted = || async { store.figures().await.unwrap().bytes };
    // What is said of the thread meanwhile is put right when it is looked after.
    until(async || counted().await > held.max(begun as u64 * 10_000 + 5_000)).await;
    assert!(counted().await < 200_000);
    let refused = store.begin(&thread("u"), NewRun::new("x".repeat(20_000))).await;
    assert!(matches!(refused, Err(BeginError::Store(_))), "{refused:?}");
}

/// Runs that the record has fewer events of.
async fn is_compacted(store: &RedisRunStore, key: &agui_core::store::ThreadKey, events: u64) -> bool {
    store.thread(key).await.unwrap().unwrap().runs[0].events == events
}

#[tokio::test]
async fn a_finished_run_is_compacted_as_in_memory_and_its_old_places_are_void() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    append(&store, &lease, message(&["a", "b", "c"])).await.unwrap();
    let mut early = follow(&store, &key).await;
    let page = early.next_page().await.unwrap().unwrap();
    let behind = store.thread(&key).await.unwrap().unwrap().end;
    finish(&store, lease).await;
    until(async || is_compacted(&store, &key, 5).await).await;

    let mut expected = vec![started("r")];
    expected.extend(message(&["abc"]));
    expected.push(finished("r"));
    assert_eq!(replayed(&store, &key).await, expected);
    // Whoever was reading goes on with what they began with.
    let mut whole = page.events.to_vec();
    whole.extend(rest(&mut early).await);
    assert_eq!(whole.len(), 7);
    // A place inside is void; the one behind everything is not.
    for inside in [&page.cursor, &behind] {
        let refused = store.follow(&key, Some(inside)).await;
        assert!(matches!(refused, Err(FollowError::CursorExpired)), "{refused:?}");
    }
    let last = Cursor::new(format!("{}.0.3", behind.as_str().split('.').next().unwrap()));
    let mut nothing = store.follow(&key, Some(&last)).await.unwrap().unwrap();
    assert_eq!(rest(&mut nothing).await, []);
}

#[tokio::test]
async fn the_oldest_runs_are_dropped_as_in_memory() {
    let server = RedisServer::start();
    let redis = limited(&server, RedisLimits::default().with_max_runs_per_thread(2)).await;
    let memory = MemoryRunStore::new(MemoryLimits::default().with_max_runs_per_thread(2));
    let key = thread("t");
    for name in ["a", "b", "c", "d", "e"] {
        let mut batch = vec![started(name)];
        batch.extend(message(&["x", name]));
        let lease = begin(&redis, &key, name).await;
        append(&redis, &lease, batch.clone()).await.unwrap();
        finish(&redis, lease).await;
        let lease = memory.begin(&key, NewRun::new(name)).await.unwrap();
        memory.append(&lease, batch.into()).await.unwrap();
        memory.finish(lease, [finished(name)].into(), Compaction::Allowed).await.unwrap();
        until(async || redis.thread(&key).await.unwrap().unwrap().runs.len() <= 2).await;
    }
    let runs = redis.thread(&key).await.unwrap().unwrap().runs;
    assert_eq!(runs, memory.thread(&key).await.unwrap().unwrap().runs);
    let events = replayed(&redis, &key).await;
    assert_eq!(events[1].event_type(), EventType::MessagesSnapshot);
    let mut expected = Vec::new();
    let mut follower = memory.follow(&key, None).await.unwrap().unwrap();
    while let Some(page) = follower.next_page().await.unwrap() {
        expected.extend(page.events.iter().cloned());
    }
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_long_run_is_read_in_pieces_and_compacted_into_several() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let text = "y".repeat(1_000);
    for _ in 0..300 {
        append(&store, &lease, vec![delta(&text); 10]).await.unwrap();
    }
    assert_eq!(follow_count(&store, &key).await, 3_000_000);
    finish(&store, lease).await;
    until(async || store.thread(&key).await.unwrap().unwrap().runs[0].events < 20).await;
    let compacted: usize = replayed(&store, &key).await.iter().map(length).sum();
    assert_eq!(compacted, 3_000_000);
}

fn length(event: &Event) -> usize {
    if let Event::TextMessageContent(event) = event { event.delta.len() } else { 0 }
}

async fn follow_count(store: &RedisRunStore, key: &agui_core::store::ThreadKey) -> usize {
    catch_up(&mut follow(store, key).await).await.iter().map(length).sum()
}
