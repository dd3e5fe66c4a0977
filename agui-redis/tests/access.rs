//! Who may do what, ids of any content, and how many connections it takes.

mod common;

use agui_core::store::{BeginError, RunStore, StopOutcome, ThreadKey, contract};
use agui_redis::{RedisRunStore, RedisSettings};
use agui_redis_server::RedisServer;
use common::*;
use futures_util::future::join_all;

#[tokio::test]
async fn a_user_with_the_documented_rights_is_enough_and_others_are_refused() {
    let server = RedisServer::start();
    let rights =
        ["~shop:*", "&shop:*", "+@read", "+@write", "+@connection", "+@pubsub", "+@scripting", "+time"];
    let mut user =
        vec!["acl", "setuser", "ann", "on", ">s3:cret@/", "nocommands", "resetkeys", "resetchannels"];
    user.extend(rights);
    assert_eq!(server.cli(&user).trim(), "OK");
    server.cli(&["acl", "setuser", "default", "off"]);
    let url = |password: &str| server.url().replace("//", &format!("//ann:{password}@"));
    let settings = RedisSettings::new(&url("s3%3Acret%40%2F")).unwrap();
    let store = store(settings.clone().with_prefix("shop:").with_lease(CONTRACT_LEASE)).await;
    contract::check(&store).await;
    assert!(!format!("{store:?}").contains("cret"));
    for refused in [RedisSettings::new(&url("wr0ng")).unwrap(), settings.with_prefix("other:")] {
        let error = RedisRunStore::connect(refused).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("cret") && !shown.contains("wr0ng"), "{shown}");
    }
}

#[tokio::test]
async fn no_id_reaches_into_a_script_a_key_or_another_thread() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let long = "x".repeat(100_000);
    let odd = [
        "",
        "|",
        "a|0|0|0|0|0|a|b",
        "'..redis.call('FLUSHALL')..'",
        "]]return redis.call('FLUSHALL')--",
        "%s%d%1",
        "{agui}",
        "*",
        "\r\nFLUSHALL\r\n",
        "\0",
        "n",
        "i:n",
        "\u{202e}ü",
        &long,
    ];
    run(&store, &thread("bystander"), "r", 1).await;
    for (at, id) in odd.iter().enumerate() {
        let key = ThreadKey::new(odd[odd.len() - 1 - at], *id);
        // A run's id has a limit.
        let run_id = id.get(..10_000).unwrap_or(id);
        let run = agui_core::store::NewRun::new(run_id).with_owner(*id);
        let lease = store.begin(&key, run.clone()).await.unwrap();
        append(&store, &lease, [started(id), delta(id)]).await.unwrap();
        let busy = store.begin(&key, run.clone()).await;
        assert!(matches!(busy, Err(BeginError::Busy { run_id: named }) if named == run_id));
        let stopped = store.request_stop(&key, Some(&run_id.into())).await.unwrap();
        assert_eq!(stopped, StopOutcome::Stopping { run_id: run_id.into() });
        let record = store.thread(&key).await.unwrap().unwrap();
        assert_eq!(record.owner.as_deref(), Some(*id));
        assert_eq!(record.active_run().unwrap().as_str(), run_id);
        finish(&store, lease).await;
        let used = store.begin(&key, run.clone()).await;
        assert!(matches!(used, Err(BeginError::RunIdUsed)), "{used:?}");
        assert_eq!(replayed(&store, &key).await, [started(id), delta(id), finished(run_id)]);
    }
    assert_eq!(replayed(&store, &thread("bystander")).await.len(), 3);
    assert_eq!(store.figures().await.unwrap().threads, odd.len() as u64 + 1);
}

#[tokio::test]
async fn followers_share_the_connections_of_their_process() {
    let server = RedisServer::start();
    let store = store(settings(&server)).await;
    let mut leases = Vec::new();
    let mut followers = Vec::new();
    for at in 0..20 {
        let key = thread(&at.to_string());
        let lease = begin(&store, &key, "r").await;
        append(&store, &lease, [started("r")]).await.unwrap();
        for _ in 0..10 {
            let mut follower = follow(&store, &key).await;
            catch_up(&mut follower).await;
            followers.push(follower);
        }
        leases.push(lease);
    }
    assert_eq!(store.figures().await.unwrap().followers, 200);
    // The one that asks is among them.
    let clients = server.cli(&["client", "list"]);
    assert_eq!(clients.lines().filter(|line| line.contains("addr=")).count(), 4, "{clients}");
    let reading = join_all(followers.iter_mut().map(rest));
    let finishing = join_all(leases.into_iter().map(|lease| finish(&store, lease)));
    let (read, _) = tokio::join!(reading, finishing);
    assert!(read.iter().all(|events| *events == [finished("r")]));
    drop(followers);
    assert_eq!(store.figures().await.unwrap().followers, 0);
    // Nobody waits for anything any more.
    until(async || !server.cli(&["pubsub", "channels"]).contains("agui")).await;
}

#[tokio::test]
async fn a_run_has_as_many_followers_as_it_may() {
    let server = RedisServer::start();
    let limits = agui_redis::RedisLimits::default().with_max_followers(2);
    let store = store(settings(&server).with_limits(limits)).await;
    let key = thread("t");
    let lease = begin(&store, &key, "r").await;
    let one = follow(&store, &key).await;
    let _two = follow(&store, &key).await;
    let refused = store.follow(&key, None).await;
    assert!(matches!(refused, Err(agui_core::store::FollowError::TooManyFollowers)), "{refused:?}");
    drop(one);
    follow(&store, &key).await;
    finish(&store, lease).await;
    // A record is nobody's burden.
    for _ in 0..3 {
        assert_eq!(replayed(&store, &key).await, [finished("r")]);
    }
}
