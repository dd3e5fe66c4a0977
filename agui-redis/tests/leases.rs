//! Runs whose driver is gone, or whose lease is not renewed.

mod common;

use std::time::{Duration, Instant};

use agui_core::store::{AppendError, Compaction, RunLease, RunStore, StopOutcome, StopSignal};
use agui_redis_server::RedisServer;
use common::*;
use futures_util::future::join_all;

const LEASE: Duration = Duration::from_millis(600);
/// What noticing may take beyond the lease, on a machine that does other things.
const SLACK: Duration = Duration::from_millis(400);

/// The driver's process is gone, without a word.
fn die(lease: RunLease) {
    std::mem::forget(lease);
}

#[tokio::test]
async fn a_lost_run_is_closed_for_followers_at_every_node_within_the_lease() {
    let server = RedisServer::start();
    let (one, two) = (hasty(&server, LEASE).await, hasty(&server, LEASE).await);
    let key = thread("t");
    let lease = begin(&one, &key, "r").await;
    append(&one, &lease, [started("r"), delta("a")]).await.unwrap();
    let mut followers = Vec::new();
    for store in [&one, &one, &two, &two] {
        let mut follower = follow(store, &key).await;
        assert_eq!(catch_up(&mut follower).await.len(), 2);
        followers.push(follower);
    }
    let dead = Instant::now();
    die(lease);
    for events in join_all(followers.iter_mut().map(rest)).await {
        assert!(matches!(&*events, [event] if is_lost(event)), "{events:?}");
    }
    assert!(dead.elapsed() < LEASE + SLACK, "{:?}", dead.elapsed());
    // What was recorded is there, with one ending, and the thread is free.
    let events = replayed(&two, &key).await;
    assert_eq!(events[..2], [started("r"), delta("a")]);
    assert!(events.len() == 3 && is_lost(&events[2]), "{events:?}");
    run(&two, &key, "next", 1).await;
}

#[tokio::test]
async fn whoever_begins_stops_or_looks_next_closes_a_lost_run() {
    let server = RedisServer::start();
    let store = hasty(&server, Duration::from_millis(100)).await;
    let keys = ["begin", "stop", "look", "follow"].map(thread);
    for key in &keys {
        let lease = begin(&store, key, "r").await;
        append(&store, &lease, [started("r")]).await.unwrap();
        die(lease);
    }
    // A lease is a key that goes by itself.
    until(async || !server.cli(&["--scan", "--pattern", "*:l"]).contains(":l")).await;
    let next = begin(&store, &keys[0], "next").await;
    finish(&store, next).await;
    assert_eq!(store.request_stop(&keys[1], None).await.unwrap(), StopOutcome::Idle);
    let record = store.thread(&keys[2]).await.unwrap().unwrap();
    assert_eq!((record.active_run(), record.runs[0].events), (None, 2));
    for key in &keys {
        assert!(is_lost(&replayed(&store, key).await[1]), "{key:?}");
    }
}

#[tokio::test]
async fn a_lease_that_is_dropped_ends_its_run_at_once() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let mut follower = follow(&store, &key).await;
    drop(lease);
    let events = rest(&mut follower).await;
    assert!(events.len() == 2 && is_lost(&events[1]), "{events:?}");
}

#[tokio::test]
async fn a_lease_that_is_renewed_lasts() {
    let server = RedisServer::start();
    let store = hasty(&server, LEASE).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let mut follower = follow(&store, &key).await;
    assert_eq!(catch_up(&mut follower).await.len(), 1);
    let interval = store.renew_interval().unwrap();
    let since = Instant::now();
    let driven = async {
        while since.elapsed() < 3 * LEASE {
            tokio::time::sleep(interval).await;
            store.renew(&lease).await.unwrap();
        }
    };
    tokio::select! {
        () = driven => {}
        page = follower.next_page() => panic!("nothing has happened: {page:?}"),
    }
    finish(&store, lease).await;
    assert_eq!(rest(&mut follower).await, [finished("r")]);
}

#[tokio::test]
async fn a_lease_that_ran_out_unnoticed_is_taken_up_again_and_one_that_was_noticed_is_lost() {
    let server = RedisServer::start();
    let store = hasty(&server, Duration::from_millis(100)).await;
    let gone = async || !server.cli(&["--scan", "--pattern", "*:l"]).contains(":l");
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    until(gone).await;
    store.renew(&lease).await.unwrap();
    append(&store, &lease, [started("r")]).await.unwrap();
    until(gone).await;
    assert_eq!(store.request_stop(&key, None).await.unwrap(), StopOutcome::Idle);
    assert!(matches!(store.renew(&lease).await, Err(AppendError::LeaseLost)));
    assert!(matches!(append(&store, &lease, [delta("a")]).await, Err(AppendError::LeaseLost)));
    assert_eq!(store.stop_requested(&lease).await.unwrap(), StopSignal::LeaseLost);
    let refused = store.finish(lease, [finished("r")].into(), Compaction::Allowed).await.unwrap_err();
    assert!(matches!(refused.error, AppendError::LeaseLost));
}

#[tokio::test]
async fn a_driver_that_waits_is_told_of_a_stop_from_another_node_and_of_its_loss() {
    let server = RedisServer::start();
    let (one, two) = (hasty(&server, LEASE).await, hasty(&server, LEASE).await);
    let key = thread("t");
    let lease = begin(&one, &key, "r").await;
    let (signal, _) = tokio::join!(one.stop_requested(&lease), two.request_stop(&key, None));
    assert_eq!(signal.unwrap(), StopSignal::Stop);
    finish(&one, lease).await;
    let lease = begin(&one, &key, "s").await;
    let lost = async {
        until(async || !server.cli(&["--scan", "--pattern", "*:l"]).contains(":l")).await;
        assert!(!is_known(&two, &thread("other")).await);
        two.thread(&key).await.unwrap()
    };
    let (signal, _) = tokio::join!(one.stop_requested(&lease), lost);
    assert_eq!(signal.unwrap(), StopSignal::LeaseLost);
}
