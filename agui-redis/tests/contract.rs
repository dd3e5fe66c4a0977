//! The store against what every store owes, on a server and on a cluster.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

mod common;

use std::time::{Duration, Instant};

use agui_core::store::{AppendError, Compaction, RunStore, StopSignal, contract};
use agui_redis::{RedisLimits, RedisRunStore, RedisSettings};
use agui_redis_server::{RedisCluster, RedisServer};
use common::*;

fn at(url: &str) -> RedisSettings {
    RedisSettings::new(url).unwrap().with_lease(CONTRACT_LEASE)
}

/// Whoever is idle longer than the retention is given up; the run in progress is renewed meanwhile.
async fn check_retention(url: &str) {
    let retention = Duration::from_secs(2);
    let settings = RedisSettings::new(url).unwrap().with_prefix("brief:");
    let store = store(settings.with_lease(Duration::from_millis(900)).with_retention(retention)).await;
    let interval = store.renew_interval().unwrap();
    let since = Instant::now();
    let pass = async || {
        tokio::time::sleep(interval).await;
        since.elapsed() < 2 * retention
    };
    contract::only_idle_threads_are_given_up(&store, pass).await;
}

#[tokio::test]
async fn it_keeps_the_contract_on_a_server() {
    let server = RedisServer::start();
    contract::check(&store(at(&server.url())).await).await;
    check_retention(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_the_contract_on_a_cluster_of_three() {
    let cluster = RedisCluster::start();
    contract::check(&store(at(&cluster.url())).await).await;
    check_retention(&cluster.url()).await;
    // All of them had something to do.
    for node in cluster.nodes() {
        assert_ne!(node.cli(&["dbsize"]).trim(), "0");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_while_its_slot_moves_to_another_node() {
    let cluster = RedisCluster::start();
    let (one, two) = (store(at(&cluster.url())).await, store(at(&cluster.url())).await);
    let key = thread("t");
    run(&one, &key, "before", 1).await;
    let lease = begin(&one, &key, "r").await;
    let mut expected = vec![started("r")];
    append(&one, &lease, [started("r")]).await.unwrap();
    let end = two.thread(&key).await.unwrap().unwrap().end;
    let mut follower = two.follow(&key, Some(&end)).await.unwrap().unwrap();
    let mut say = async |text: &str| {
        let batch: agui_core::store::EventBatch = [delta(text)].into();
        expected.extend(batch.iter().cloned());
        until(async || match one.append(&lease, batch.clone()).await {
            Ok(()) => true,
            Err(AppendError::Store(_)) => false,
            Err(other) => panic!("{other}"),
        })
        .await;
        one.renew(&lease).await.unwrap();
    };
    let named = |node: &RedisServer| {
        node.cli(&["--scan", "--pattern", "agui:{*:t"]).lines().next().map(str::to_owned)
    };
    let (from, name) = cluster.nodes().iter().find_map(|node| Some((node, named(node)?))).unwrap();
    let slot = from.cli(&["cluster", "keyslot", &name]).trim().to_owned();
    let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
    let id = |node: &RedisServer| node.cli(&["cluster", "myid"]).trim().to_owned();
    let told = |node: &RedisServer, what: &[&str]| {
        let answer = node.cli(&[&["cluster", "setslot", &slot], what].concat());
        assert_eq!(answer.trim(), "OK", "{what:?}");
    };
    say("at home").await;
    told(to, &["importing", &id(from)]);
    told(from, &["migrating", &id(to)]);
    say("announced").await;
    let keys = from.cli(&["cluster", "getkeysinslot", &slot, "100"]);
    let port = to.port().to_string();
    let mut migrate = vec!["migrate", "127.0.0.1", &port, "", "0", "5000", "keys"];
    migrate.extend(keys.lines());
    assert_eq!(from.cli(&migrate).trim(), "OK");
    // The first node sends those who ask to the other one, for once.
    say("gone").await;
    let signal = one.stop_requested(&lease);
    let (signal, _) = tokio::join!(signal, two.request_stop(&key, None));
    assert_eq!(signal.unwrap(), StopSignal::Stop);
    for node in [to, from] {
        told(node, &["node", &id(to)]);
    }
    // And from now on for good.
    say("moved").await;
    one.finish(lease, [finished("r")].into(), Compaction::Never).await.unwrap();
    expected.push(finished("r"));
    assert_eq!(rest(&mut follower).await, expected[1..]);
    assert_eq!(replayed(&two, &key).await.len(), 3 + expected.len());
    assert_eq!(named(to).as_ref(), Some(&name));
}

#[tokio::test]
async fn it_keeps_the_contract_where_every_append_needs_room_and_little_is_kept() {
    let server = RedisServer::start();
    let limits = RedisLimits::default().with_grant_bytes(1).with_max_threads(64).with_max_runs_per_thread(2);
    let settings = at(&server.url()).with_limits(limits).with_prefix("{odd}* prefix\n");
    contract::check(&store(settings).await).await;
}

#[tokio::test]
async fn stores_with_different_prefixes_have_nothing_in_common() {
    let server = RedisServer::start();
    for prefix in ["a:", "b:"] {
        let settings = RedisSettings::new(&server.url()).unwrap().with_prefix(prefix);
        let store = RedisRunStore::connect(settings).await.unwrap();
        contract::unknown_threads_are_unknown(&store).await;
        contract::a_run_id_is_used_once(&store).await;
    }
    let keys = server.cli(&["--scan"]);
    assert!(keys.lines().all(|key| key.starts_with("a:{") || key.starts_with("b:{")), "{keys}");
}
