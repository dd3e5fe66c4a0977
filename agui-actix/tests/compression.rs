//! The stream and actix-web's compression, around it and beside it.

mod common;

use std::pin::Pin;

use actix_web::middleware::Compress;
use actix_web::web::{self, ServiceConfig};
use agui_actix::Endpoint;
use agui_suite::Server;
use common::{HalfClosed, serve};

/// Everything behind the layer, the agent included.
fn around(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let routes = move |config: &mut ServiceConfig| {
        let all = web::scope("").wrap(Compress::default());
        config.service(all.route("/agui", agui_actix::endpoint(endpoint.clone())));
    };
    Box::pin(async move { serve(routes, HalfClosed::Gone) })
}

/// The agent beside what the layer is around.
fn beside(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let routes = move |config: &mut ServiceConfig| {
        let page = web::get().to(async || "x".repeat(10_000));
        config
            .route("/agui", agui_actix::endpoint(endpoint.clone()))
            .service(web::scope("/pages").wrap(Compress::default()).route("", page));
    };
    Box::pin(async move { serve(routes, HalfClosed::Gone) })
}

#[tokio::test]
async fn a_compressed_stream_is_not_held_back() {
    agui_suite::within_a_minute(agui_suite::compression::a_compressed_stream_is_not_held_back(around)).await;
}

#[tokio::test]
async fn an_exempted_stream_is_left_alone() {
    let case = agui_suite::compression::an_exempted_stream_is_left_alone(beside, "/pages");
    agui_suite::within_a_minute(case).await;
}
