//! The examples, at work.

mod common;

#[path = "../examples/auth.rs"]
mod auth;
#[path = "../examples/demo.rs"]
mod demo;

use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use actix_web::rt::System;
use agui_demo::Settings;
use agui_suite::{Client, Server};
use common::{HalfClosed, serve};
use tokio::sync::oneshot;

/// Starts the demo server, and gives what ends it and what tells that it has ended.
#[expect(clippy::unwrap_used, reason = "this is part of tests")]
fn start() -> (Server, oneshot::Sender<()>, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (terminate, terminated) = oneshot::channel();
    let demo = thread::spawn(move || {
        let settings = Settings::default();
        System::new().block_on(demo::serve(&settings, listener, async { drop(terminated.await) }))
    });
    (Server::new(addr, ()), terminate, demo)
}

#[tokio::test]
async fn the_demo_serves_both_agents_and_nothing_else() {
    let (server, _terminate, _demo) = start();
    agui_suite::within_a_minute(agui_suite::demo::serves_both_agents(&server)).await;
    agui_suite::within_a_minute(agui_suite::demo::refuses_what_it_does_not_serve(&server)).await;
    agui_suite::within_a_minute(agui_suite::demo::survives_a_script_as_deep_as_json_may_be(&server)).await;
}

#[tokio::test]
async fn the_demo_serves_threads_wherever_its_server_is_mounted() {
    let (server, _terminate, _demo) = start();
    agui_suite::within_a_minute(agui_suite::threads::are_discovered_wherever_the_server_is_mounted(&server))
        .await;
    agui_suite::within_a_minute(agui_suite::threads::are_shared_by_all_mounts(&server)).await;
    agui_suite::within_a_minute(agui_suite::threads::are_stopped_by_their_escaped_names(&server)).await;
}

#[tokio::test]
async fn the_demo_ends_its_runs_and_then_itself() {
    let (server, terminate, demo) = start();
    // A connection on which nothing happens does not keep the server up.
    let _idle = Client::connect(&server).await;
    let terminate = || terminate.send(()).unwrap();
    let ended = async {
        agui_suite::demo::ends_its_runs_when_it_is_told_to_end(&server, terminate).await;
        tokio::task::spawn_blocking(|| demo.join().unwrap()).await.unwrap().unwrap();
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap();
}

#[tokio::test]
async fn what_a_middleware_knows_reaches_the_handler() {
    let server = serve(auth::app(), HalfClosed::Gone);
    agui_suite::within_a_minute(agui_suite::demo::knows_who_asks(&server)).await;
}
