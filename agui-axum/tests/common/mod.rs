//! Starts axum servers for the tests.

#![allow(dead_code, reason = "each test file uses its part of this")]
#![expect(clippy::unwrap_used, reason = "every function here is part of a test")]

use std::pin::Pin;

use agui_axum::{AgentServer, Endpoint, WebSocketEndpoint};
use agui_suite::{Server, TaskGuard};
use axum::Router;
use axum::http::Method;
use axum::serve::ListenerExt;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

/// An endpoint as the documentation says to serve it.
pub(crate) fn start(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let app = Router::new().route("/agui", agui_axum::endpoint(endpoint)).layer(cors());
    Box::pin(serve(app))
}

/// A runtime surface as the documentation says to mount it.
pub(crate) fn start_server(
    agents: AgentServer,
    prefix: &'static str,
) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let service = agui_axum::server(agents);
    let app = if prefix.is_empty() {
        Router::new().fallback_service(service)
    } else {
        Router::new().nest_service(prefix, service)
    };
    Box::pin(serve(app.layer(cors())))
}

fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods(AllowMethods::list([Method::GET, Method::POST]))
        .allow_credentials(true)
}

/// Serves any application on a free port.
pub(crate) async fn serve(app: Router) -> Server {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    Server::new(addr, TaskGuard::spawn(async move { axum::serve(listener, app).await.unwrap() }))
}

/// Sockets as the documentation says to serve them.
pub(crate) fn start_sockets(endpoint: WebSocketEndpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    Box::pin(serve(Router::new().route("/agui/ws", agui_axum::websocket(endpoint))))
}
