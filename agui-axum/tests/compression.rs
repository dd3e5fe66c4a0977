//! The stream behind tower-http's compression layer, as the documentation says to use it.

mod common;

use std::pin::Pin;

use agui_axum::Endpoint;
use agui_suite::Server;
use axum::Router;
use axum::routing::get;
use http_body_util::Full;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

fn start(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let not_streams =
        DefaultPredicate::new().and(NotForContentType::const_new("application/vnd.ag-ui.event+proto"));
    let app = Router::new()
        .route("/agui", agui_axum::endpoint(endpoint))
        .route("/page", get(async || "x".repeat(10_000)))
        .layer(CompressionLayer::new().compress_when(not_streams));
    Box::pin(common::serve(app))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_neither_compressed_nor_held_back() {
    agui_suite::within_a_minute(agui_suite::streams::nothing_is_compressed(start)).await;
    agui_suite::within_a_minute(
        agui_suite::streams::a_compression_layer_that_exempts_streams_does_not_hold_events_back(start),
    )
    .await;
}

#[tokio::test]
async fn other_answers_are_compressed() {
    let server = start(Endpoint::new(async |_| Ok(agui_axum::RunEnd::success()))).await;
    let mut client = agui_suite::Client::connect(&server).await;
    let request = http::Request::get("/page").header("host", "localhost").header("accept-encoding", "gzip");
    let answer = client.send(request.body(Full::default()).unwrap()).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
}
