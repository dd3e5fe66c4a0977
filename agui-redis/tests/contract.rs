//! The store against what every store owes, on a server and on a cluster.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

use std::time::Duration;

use agui_core::store::contract;
use agui_redis::{RedisLimits, RedisRunStore, RedisSettings};
use agui_redis_server::{RedisCluster, RedisServer};

async fn store(url: &str) -> RedisRunStore {
    RedisRunStore::connect(RedisSettings::new(url).unwrap()).await.unwrap()
}

#[tokio::test]
async fn it_keeps_the_contract_on_a_server() {
    let server = RedisServer::start();
    contract::check(&store(&server.url()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_the_contract_on_a_cluster_of_three() {
    let cluster = RedisCluster::start();
    contract::check(&store(&cluster.url()).await).await;
    // All of them had something to do.
    for node in cluster.nodes() {
        assert_ne!(node.cli(&["dbsize"]).trim(), "0");
    }
}

#[tokio::test]
async fn it_keeps_the_contract_where_every_append_needs_room_and_little_is_kept() {
    let server = RedisServer::start();
    let limits = RedisLimits::default().with_grant_bytes(1).with_max_threads(64).with_max_runs_per_thread(2);
    let settings = RedisSettings::new(&server.url()).unwrap();
    let settings =
        settings.with_limits(limits).with_lease(Duration::from_secs(2)).with_prefix("{odd}* prefix\n");
    contract::check(&RedisRunStore::connect(settings).await.unwrap()).await;
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
