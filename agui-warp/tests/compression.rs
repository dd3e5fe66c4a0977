//! The stream and warp's compression, around it and beside it.

mod common;

use std::pin::Pin;

use agui_suite::Server;
use agui_warp::Endpoint;
use warp::Filter;

/// Everything behind the filter, the agent included.
fn around(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let app = warp::path!("agui").and(agui_warp::endpoint(endpoint)).with(warp::filters::compression::gzip());
    Box::pin(async { common::serve(app.boxed()) })
}

/// The agent beside what the filter is around.
fn beside(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let page = warp::path!("page").map(|| "x".repeat(10_000)).with(warp::filters::compression::gzip());
    let app = warp::path!("agui").and(agui_warp::endpoint(endpoint)).or(page);
    Box::pin(async { common::serve(app.boxed()) })
}

#[tokio::test]
async fn a_compressed_stream_is_not_held_back() {
    agui_suite::within_a_minute(agui_suite::compression::a_compressed_stream_is_not_held_back(around)).await;
}

#[tokio::test]
async fn an_exempted_stream_is_left_alone() {
    let case = agui_suite::compression::an_exempted_stream_is_left_alone(beside, "/page");
    agui_suite::within_a_minute(case).await;
}
