//! Two nodes behind a load balancer that knows nothing, with one Redis: who asks at either of them is served.
//!
//! The nodes are processes, so that one can be killed: this test binary, started again to be the demo server.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers fail their test")]

#[expect(dead_code, reason = "an example's own main is not called here")]
#[path = "../examples/demo.rs"]
mod demo;

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agui_demo::Settings;
use agui_redis_server::RedisServer;
use agui_suite::{Answer, Client, Server, TaskGuard, post_json};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

const RUNS: usize = 200;
const EVENTS: usize = 2_000;
/// How many runs there are at a time.
const AT_ONCE: usize = 16;
const LEASE: Duration = Duration::from_secs(2);
/// What noticing may take beyond the lease, on a machine that does other things.
const SLACK: Duration = Duration::from_secs(2);

/// What makes this binary a node, instead of a test.
const NODE: &str = "AGUI_TEST_NODE";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_the_other_tests() {
    if std::env::var_os(NODE).is_none() {
        return;
    }
    let settings = Settings::read(|name| std::env::var(name).ok(), []).unwrap().connect().await.unwrap();
    let listener = TcpListener::bind(&settings.addr).await.unwrap();
    println!("listening on {}", listener.local_addr().unwrap());
    demo::serve(&settings, listener, std::future::pending()).await.unwrap();
}

/// Starts a node. It is killed when the child is dropped.
async fn node(redis: &RedisServer) -> (Child, SocketAddr) {
    let mut node = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_node_of_the_other_tests", "--nocapture"])
        .env(NODE, "1")
        .env("AGUI_DEMO_ADDR", "127.0.0.1:0")
        .env("AGUI_DEMO_REDIS", redis.url())
        .env("AGUI_DEMO_LEASE_MS", LEASE.as_millis().to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(node.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some((_, addr)) = line.split_once("listening on ") {
            return (node, addr.parse().unwrap());
        }
    }
    panic!("the node ended before it listened");
}

/// Passes connections on to one node after the other.
async fn balancer(nodes: [SocketAddr; 2]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let turn = Arc::new(AtomicUsize::new(0));
    let accepting = TaskGuard::spawn(async move {
        loop {
            let (mut inbound, _) = listener.accept().await.unwrap();
            let to = nodes[turn.fetch_add(1, Ordering::Relaxed) % nodes.len()];
            tokio::spawn(async move {
                let mut outbound = TcpStream::connect(to).await.unwrap();
                // Either side may leave in the middle.
                let _ = copy_bidirectional(&mut inbound, &mut outbound).await;
            });
        }
    });
    Server::new(addr, accepting)
}

/// Asks for something of the agent `script`; the connection lives as long as the first of the two.
async fn ask(server: &Server, what: &str, body: &Value) -> (Client, Answer) {
    let mut client = Client::connect(server).await;
    let answer = client.send(post_json(&format!("/agent/script/{what}"), &[], body)).await;
    assert_eq!(answer.status().as_u16(), 200);
    (client, answer)
}

fn input(thread: &str, run: &str, script: &Value) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "messages": [],
        "forwardedProps": {"script": script},
    })
}

/// What the deltas of a conversation come to.
fn text(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

/// What the step `flood` says.
fn flood(count: usize) -> String {
    let deltas: Vec<_> = (0..count).map(|at| format!("{at:08}:{}", "x".repeat(11))).collect();
    deltas.concat()
}

/// A number that looks like any, the same each time.
fn scattered(seed: usize, below: usize) -> usize {
    (seed.wrapping_mul(2_654_435_761) >> 7) % below
}

/// A run whose client leaves somewhere and re-attaches at whatever node is next; every fourth one is stopped.
async fn conversation(balancer: &Server, at: usize) {
    let thread = format!("thread/{at}");
    let stopped = at.is_multiple_of(4);
    let mut script = vec![json!({"flood": {"count": EVENTS, "bytes": 20}})];
    if stopped {
        script.push(json!({"sleepMs": 600_000}));
    }
    let (client, mut answer) = ask(balancer, "run", &input(&thread, "r", &json!(script))).await;
    let mut seen = Vec::new();
    for _ in 0..=scattered(at, EVENTS) {
        seen.push(answer.event().await);
    }
    client.leave();

    // Two of them: one that reads to the end, and one that leaves as well and comes back.
    let (_reader, reading) = ask(balancer, "connect", &input(&thread, "c1", &json!([]))).await;
    let (client, mut answer) = ask(balancer, "connect", &input(&thread, "c2", &json!([]))).await;
    // A run that has ended by now is told in fewer events.
    let some = if stopped { scattered(at + 1, seen.len()) } else { 0 };
    for _ in 0..=some {
        answer.event().await;
    }
    client.leave();
    if stopped {
        let path = format!("/agent/script/stop/{}", thread.replace('/', "%2F"));
        let mut client = Client::connect(balancer).await;
        let answer = client.send(post_json(&path, &[], &json!({}))).await.json().await;
        assert_eq!(answer, json!({"stopped": true, "runId": "r"}), "{at}");
    }
    let whole = reading.events().await;
    let (_client, answer) = ask(balancer, "connect", &input(&thread, "c3", &json!([]))).await;
    let again = answer.events().await;

    let expected = flood(EVENTS);
    let said = text(&whole);
    for (who, events) in [("the reader", &whole), ("the one that came back", &again)] {
        let said = text(events);
        // A run that is stopped while it speaks has said the beginning.
        assert!(if stopped { expected.starts_with(&said) } else { expected == said }, "{who} of {at}");
        let last = events.last().unwrap();
        assert_eq!(last["type"], "RUN_FINISHED", "{who} of {at}");
        assert_eq!(last["outcome"]["type"] == "cancelled", stopped, "{who} of {at}: {last}");
    }
    assert_eq!(text(&again), said, "{at}");
    assert!(said.starts_with(&text(&seen)), "{at}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_re_attach_and_stop_at_either_node_and_miss_nothing() {
    let redis = RedisServer::start();
    let (_one, one) = node(&redis).await;
    let (_two, two) = node(&redis).await;
    let balancer = balancer([one, two]).await;
    stream::iter(0..RUNS).for_each_concurrent(AT_ONCE, |at| conversation(&balancer, at)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_killed_ends_its_run_for_every_follower_within_the_lease() {
    let redis = RedisServer::start();
    let (mut one, one_addr) = node(&redis).await;
    let (_two, two_addr) = node(&redis).await;
    let (one_server, two_server) = (Server::new(one_addr, ()), Server::new(two_addr, ()));
    let script = json!([{"flood": {"count": 500, "bytes": 20}}, {"sleepMs": 600_000}]);
    let (_client, mut running) = ask(&one_server, "run", &input("t", "r", &script)).await;
    running.until("TEXT_MESSAGE_END").await;
    let mut followers = Vec::new();
    for at in 0..3 {
        let (client, mut answer) =
            ask(&two_server, "connect", &input("t", &format!("c{at}"), &json!([]))).await;
        answer.until("TEXT_MESSAGE_END").await;
        answer.until("\n\n").await;
        followers.push((client, answer));
    }
    one.start_kill().unwrap();
    let killed = Instant::now();
    for (_client, answer) in followers {
        let rest = answer.events().await;
        let [last] = &*rest else { panic!("{rest:?}") };
        assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("producer_lost")));
    }
    assert!(killed.elapsed() < LEASE + SLACK, "{:?}", killed.elapsed());
    one.wait().await.unwrap();

    let (_client, answer) = ask(&two_server, "run", &input("t", "s", &json!([{"text": "again"}]))).await;
    assert_eq!(answer.events().await.last().unwrap()["type"], "RUN_FINISHED");
    let (_client, answer) = ask(&two_server, "connect", &input("t", "c", &json!([]))).await;
    assert_eq!(text(&answer.events().await), flood(500) + "again");
}
