//! The stream behind tower-http's compression layer, as the documentation says to use it.

mod common;

use std::pin::Pin;

use agui_axum::Endpoint;
use agui_suite::Server;
use axum::Router;
use axum::routing::get;
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
    agui_suite::within_a_minute(agui_suite::compression::an_exempted_stream_is_left_alone(start, "/page"))
        .await;
}
