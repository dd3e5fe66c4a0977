//! The same endpoint by HTTP/2, on a connection that speaks it from its first byte.

use std::sync::Arc;

use agui_core::{Run, RunEnd};
use http::{StatusCode, Version};
use http_body_util::Full;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::cancelling::{KEEP_ALIVE, silent, soon};
use crate::client::{Client, input, post, types};
use crate::streams::hello;
use crate::{Start, endpoint};

/// A request for a run with an id of its own.
fn run(run_id: &str) -> http::Request<Full<bytes::Bytes>> {
    let mut input = input();
    input["runId"] = json!(run_id);
    post().body(Full::from(input.to_string())).unwrap()
}

/// Head, events, end; and none of the headers that HTTP/2 forbids.
pub async fn a_run_is_the_same_by_http2(start: Start) {
    let server = start(endpoint(hello)).await;
    let mut client = Client::connect_http2(&server).await;
    for _ in 0..2 {
        let answer = client.run().await;
        assert_eq!(answer.version(), Version::HTTP_2);
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.header("content-type"), "text/event-stream");
        for forbidden in ["connection", "transfer-encoding", "keep-alive"] {
            assert!(!answer.headers().contains_key(forbidden), "{forbidden}");
        }
        assert_eq!(answer.events().await.len(), 6);
    }
    let refused = client.send(post().body(Full::from("{")).unwrap()).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert_eq!(refused.json().await["code"], "invalid_json");
    let server = start(endpoint(hello).with_max_body_bytes(100)).await;
    let mut client = Client::connect_http2(&server).await;
    let refused = client.send(post().body(Full::from("x".repeat(300_000))).unwrap()).await;
    assert_eq!(refused.json().await["code"], "body_too_large");
}

/// More of it comes than is read for the sake of the answer.
pub async fn a_body_far_over_the_limit_gets_its_answer_by_http2(start: Start) {
    let server = start(endpoint(hello).with_max_body_bytes(100)).await;
    let mut client = Client::connect_http2(&server).await;
    let refused = client.send(post().body(Full::from(vec![b'x'; 40_000_000])).unwrap()).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(refused.json().await["code"], "body_too_large");
    // And the connection goes on.
    assert_eq!(client.run().await.events().await.len(), 6);
}

/// Runs of one connection do not wait for each other, and no event of theirs waits.
pub async fn runs_share_a_connection_without_waiting_for_each_other(start: Start) {
    let go_on = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&go_on);
    let server = start(endpoint(move |run: Run| {
        let waits = Arc::clone(&waits);
        async move {
            let mut answer = run.message();
            answer.delta("a").await?;
            waits.acquire().await?.forget();
            answer.delta("b").await?;
            Ok(RunEnd::success())
        }
    }))
    .await;
    let mut client = Client::connect_http2(&server).await;
    let mut answers = Vec::new();
    for run_id in ["one", "two", "three"] {
        let mut answer = client.send(run(run_id)).await;
        assert_eq!(answer.event().await["runId"], run_id);
        assert_eq!(answer.event().await["type"], "TEXT_MESSAGE_START");
        assert_eq!(answer.event().await["delta"], "a");
        answers.push(answer);
    }
    go_on.add_permits(answers.len());
    for answer in answers {
        let events = answer.events().await;
        assert_eq!(types(&events), ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
    }
}

/// A client that wants no more of one stream keeps its connection; the run ends, its neighbour does not.
pub async fn a_client_that_gives_up_a_stream_ends_its_run_alone(start: Start) {
    let (handler, mut reports) = silent();
    let handler = Arc::new(handler);
    let server = start(
        endpoint(move |run: Run| {
            let handler = Arc::clone(&handler);
            async move {
                if run.run_id() == "given up" {
                    return agui_core::RunHandler::run(&*handler, run).await;
                }
                let mut answer = run.message();
                answer.delta("a").await?;
                tokio::time::sleep(KEEP_ALIVE * 6).await;
                answer.delta("b").await?;
                Ok(RunEnd::success())
            }
        })
        .with_keep_alive(KEEP_ALIVE),
    )
    .await;
    let mut client = Client::connect_http2(&server).await;
    let neighbour = client.send(run("neighbour")).await;
    let mut given_up = client.send(run("given up")).await;
    given_up.until("\n\n").await;
    drop(given_up);
    soon(&mut reports, "dropped").await;
    assert_eq!(types(&neighbour.events().await).last(), Some(&"RUN_FINISHED"));
}
