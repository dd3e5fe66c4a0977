//! Redis away, slow, or back without its data.

#![expect(clippy::panic, reason = "helpers fail their test")]

mod common;

use std::time::{Duration, Instant};

use agui_core::store::{
    AppendError, BeginError, Compaction, EventBatch, FollowError, NewRun, RunStore, StopSignal,
};
use agui_core::{Event, RunErrorEvent};
use agui_redis::RedisSettings;
use agui_redis_server::RedisServer;
use common::*;

const TIMEOUT: Duration = Duration::from_millis(300);
/// What an answer may take beyond the timeout.
const SLACK: Duration = Duration::from_millis(700);

fn impatient(server: &RedisServer) -> RedisSettings {
    settings(server).with_timeout(TIMEOUT)
}

/// Appends until it works.
async fn resume(store: &agui_redis::RedisRunStore, lease: &agui_core::store::RunLease, batch: &EventBatch) {
    until(async || match store.append(lease, EventBatch::clone(batch)).await {
        Ok(()) => true,
        Err(AppendError::Store(_)) => false,
        Err(other) => panic!("{other}"),
    })
    .await;
}

#[tokio::test]
async fn a_run_goes_on_when_redis_comes_back_with_its_data() {
    let mut server = RedisServer::start_persistent();
    let (one, two) = (store(impatient(&server)).await, store(impatient(&server)).await);
    let key = thread("t");
    let lease = begin(&one, &key, "r").await;
    append(&one, &lease, [started("r"), delta("a")]).await.unwrap();
    let mut follower = follow(&two, &key).await;
    assert_eq!(catch_up(&mut follower).await.len(), 2);
    let stopped = one.stop_requested(&lease);
    let story = async {
        server.kill();
        let batch: EventBatch = [delta("b"), delta("c")].into();
        let asked = Instant::now();
        let refused = one.append(&lease, EventBatch::clone(&batch)).await;
        assert!(matches!(refused, Err(AppendError::Store(_))), "{refused:?}");
        assert!(asked.elapsed() < TIMEOUT + SLACK, "{:?}", asked.elapsed());
        server.start_again();
        resume(&one, &lease, &batch).await;
        append(&one, &lease, [delta("d")]).await.unwrap();
        // The driver's wait and the follower's have outlived it.
        two.request_stop(&key, None).await
    };
    let (signal, asked) = tokio::join!(stopped, story);
    asked.unwrap();
    assert_eq!(signal.unwrap(), StopSignal::Stop);
    one.finish(lease, [finished("r")].into(), Compaction::Never).await.unwrap();
    assert_eq!(rest(&mut follower).await, [delta("b"), delta("c"), delta("d"), finished("r")]);
    assert_eq!(replayed(&two, &key).await.len(), 6);
}

#[tokio::test]
async fn a_run_is_lost_when_redis_comes_back_empty() {
    let mut server = RedisServer::start();
    let (one, two) = (store(impatient(&server)).await, store(impatient(&server)).await);
    let key = thread("t");
    let lease = begin(&one, &key, "r").await;
    append(&one, &lease, [started("r")]).await.unwrap();
    let mut follower = follow(&two, &key).await;
    assert_eq!(catch_up(&mut follower).await.len(), 1);
    server.kill();
    server.start_again();
    let batch: EventBatch = [delta("a")].into();
    let mut lost = false;
    until(async || {
        lost = matches!(one.append(&lease, EventBatch::clone(&batch)).await, Err(AppendError::LeaseLost));
        lost
    })
    .await;
    assert!(follower.next_page().await.is_err());
    assert_eq!(one.stop_requested(&lease).await.unwrap(), StopSignal::LeaseLost);
    until(async || two.thread(&key).await.is_ok_and(|thread| thread.is_none())).await;
    run(&two, &key, "r", 1).await;
}

#[tokio::test]
async fn everything_that_is_asked_while_redis_is_silent_is_refused_in_time() {
    let server = RedisServer::start();
    let store = store(impatient(&server)).await;
    let (key, other) = (thread("t"), thread("other"));
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    server.freeze();
    let asked = Instant::now();
    let batch: EventBatch = [delta("a")].into();
    let (appended, begun, followed, looked, stopped, counted, renewed) = tokio::join!(
        store.append(&lease, EventBatch::clone(&batch)),
        store.begin(&other, NewRun::new("r")),
        store.follow(&key, None),
        store.thread(&key),
        store.request_stop(&key, None),
        store.figures(),
        store.renew(&lease),
    );
    assert!(asked.elapsed() < TIMEOUT + SLACK, "{:?}", asked.elapsed());
    assert!(matches!(appended, Err(AppendError::Store(_))), "{appended:?}");
    assert!(matches!(begun, Err(BeginError::Store(_))), "{begun:?}");
    assert!(matches!(followed, Err(FollowError::Store(_))), "{followed:?}");
    assert!(looked.is_err() && stopped.is_err() && counted.is_err());
    assert!(matches!(renewed, Err(AppendError::Store(_))), "{renewed:?}");
    server.thaw();
    // What was refused may have happened all the same, and does not happen twice.
    resume(&store, &lease, &batch).await;
    append(&store, &lease, [delta("b")]).await.unwrap();
    finish(&store, lease).await;
    let text: String = replayed(&store, &key)
        .await
        .iter()
        .filter_map(|event| match event {
            Event::TextMessageContent(event) => Some(event.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "ab");
}

#[tokio::test]
async fn a_run_that_nobody_was_given_is_taken_back_when_redis_answers_again() {
    let server = RedisServer::start();
    // Its lease is of no help: it is longer than this test bears with.
    let lease = Duration::from_secs(600);
    let store = store(impatient(&server).with_lease(lease)).await;
    let key = thread("t");
    // Redis knows by now how a run begins, and will do so when it goes on.
    run(&store, &thread("other"), "r", 1).await;
    server.freeze();
    let refused = store.begin(&key, NewRun::new("r")).await;
    assert!(matches!(refused, Err(BeginError::Store(_))), "{refused:?}");
    // So long that whoever tries once to take the run back has tried in vain.
    tokio::time::sleep(4 * TIMEOUT).await;
    server.thaw();
    until(async || store.begin(&key, NewRun::new("s")).await.is_ok()).await;
}

#[tokio::test]
async fn a_run_of_which_redis_lost_the_last_writes_is_incomplete() {
    let mut server = RedisServer::start();
    let (one, two) = (store(impatient(&server)).await, store(impatient(&server)).await);
    let (key, other) = (thread("t"), thread("other"));
    let lease = begin(&one, &key, "r").await;
    let ended = begin(&one, &other, "r").await;
    for lease in [&lease, &ended] {
        append(&one, lease, [started("r")]).await.unwrap();
        append(&one, lease, [delta("a")]).await.unwrap();
    }
    server.cli(&["save"]);
    for lease in [&lease, &ended] {
        append(&one, lease, [delta("b")]).await.unwrap();
    }
    let mut follower = follow(&two, &key).await;
    assert_eq!(catch_up(&mut follower).await.len(), 3);
    server.kill();
    server.start_again();
    let batch: EventBatch = [delta("c")].into();
    let mut refused = None;
    until(async || match one.append(&lease, EventBatch::clone(&batch)).await {
        Err(AppendError::Store(_)) => false,
        answer => {
            refused = Some(answer);
            true
        }
    })
    .await;
    assert!(matches!(refused, Some(Err(AppendError::Incomplete))), "{refused:?}");
    let refused = one.finish(ended, [finished("r")].into(), Compaction::Allowed).await.unwrap_err();
    assert!(matches!(refused.error, AppendError::Incomplete), "{refused:?}");
    // An ending that says so is taken, and reaches those who have seen what is lost.
    let ending: Event = RunErrorEvent::new("incomplete").into();
    for lease in [lease, refused.lease] {
        one.finish(lease, [ending.clone()].into(), Compaction::Never).await.unwrap();
    }
    assert_eq!(rest(&mut follower).await, std::slice::from_ref(&ending));
    for key in [&key, &other] {
        assert_eq!(replayed(&two, key).await, [started("r"), delta("a"), ending.clone()]);
    }
}

#[tokio::test]
async fn an_ending_whose_answer_was_lost_can_be_written_again() {
    let server = RedisServer::start();
    let store = store(impatient(&server)).await;
    let key = thread("t");
    let mut lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let ending: EventBatch = [finished("r")].into();
    server.freeze();
    let refused = store.finish(lease, EventBatch::clone(&ending), Compaction::Allowed).await.unwrap_err();
    assert!(matches!(refused.error, AppendError::Store(_)), "{refused:?}");
    lease = refused.lease;
    server.thaw();
    loop {
        match store.finish(lease, EventBatch::clone(&ending), Compaction::Allowed).await {
            Ok(()) => break,
            Err(refused) => {
                assert!(matches!(refused.error, AppendError::Store(_)), "{refused:?}");
                lease = refused.lease;
            }
        }
    }
    assert_eq!(replayed(&store, &key).await, [started("r"), finished("r")]);
}

#[tokio::test]
async fn a_follower_gives_up_when_redis_stays_away_for_a_lease() {
    let mut server = RedisServer::start();
    let lease_time = Duration::from_millis(600);
    let store = store(impatient(&server).with_lease(lease_time)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let mut follower = follow(&store, &key).await;
    assert_eq!(catch_up(&mut follower).await.len(), 1);
    server.kill();
    let since = Instant::now();
    assert!(follower.next().await.is_err());
    assert!(since.elapsed() < 2 * lease_time + TIMEOUT + SLACK, "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_follower_of_a_lost_run_gives_up_when_redis_takes_no_writes_for_a_lease() {
    let server = RedisServer::start();
    let lease_time = Duration::from_millis(600);
    let store = store(impatient(&server).with_lease(lease_time)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    append(&store, &lease, [started("r")]).await.unwrap();
    let mut follower = follow(&store, &key).await;
    assert_eq!(catch_up(&mut follower).await.len(), 1);
    server.cli(&["config", "set", "maxmemory", "1"]);
    // The driver's process is gone, without a word.
    std::mem::forget(lease);
    server.cli(&["config", "resetstat"]);
    let since = Instant::now();
    assert!(follower.next().await.is_err());
    assert!(since.elapsed() < 2 * lease_time + TIMEOUT + SLACK, "{:?}", since.elapsed());
    // It does not ask without a pause in between.
    let stats = server.cli(&["info", "commandstats"]);
    let asked = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next());
    assert!(asked.unwrap().parse::<u32>().unwrap() < 50, "{stats}");
    // With room again, whoever looks next closes the run.
    server.cli(&["config", "set", "maxmemory", "0"]);
    let events = replayed(&store, &key).await;
    assert!(events.len() == 2 && is_lost(&events[1]), "{events:?}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_in_time() {
    let mut server = RedisServer::start();
    server.kill();
    let since = Instant::now();
    let settings = RedisSettings::new(&server.url().replace("//", "//ann:s3cret@")).unwrap();
    let error = agui_redis::RedisRunStore::connect(settings.with_timeout(TIMEOUT)).await.unwrap_err();
    assert!(since.elapsed() < TIMEOUT + SLACK);
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}
