//! Starts warp servers for the tests.

#![allow(dead_code, reason = "each test file uses its part of this")]
#![expect(clippy::unwrap_used, reason = "every function here is part of a test")]

use std::pin::Pin;

use agui_suite::{Server, TaskGuard};
use agui_warp::{AgentServer, Endpoint, WebSocketEndpoint};
use tokio::net::{TcpListener, TcpSocket};
use warp::filters::BoxedFilter;
use warp::filters::cors::Builder;
use warp::http::{HeaderValue, header::VARY};
use warp::reply::Response;
use warp::{Filter, Reply};

/// An endpoint as the documentation says to serve it.
pub(crate) fn start(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let app = warp::path!("agui").and(agui_warp::endpoint(endpoint)).with(cors()).map(vary_by_origin);
    Box::pin(async { serve(app.boxed()) })
}

/// A runtime surface as the documentation says to mount it.
pub(crate) fn start_server(
    agents: AgentServer,
    prefix: &'static str,
) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let segments = prefix.split('/').filter(|segment| !segment.is_empty());
    let mount = segments.fold(warp::any().boxed(), |mount, segment| mount.and(warp::path(segment)).boxed());
    let app = mount.and(agui_warp::server(agents)).with(cors()).map(vary_by_origin);
    Box::pin(async { serve(app.boxed()) })
}

fn cors() -> Builder {
    warp::cors()
        .allow_any_origin()
        .allow_headers(["authorization", "content-type", "x-agent-id"])
        .allow_methods(["GET", "POST"])
        .allow_credentials(true)
}

/// The layer does not say it itself.
fn vary_by_origin(reply: impl Reply) -> Response {
    let mut response = reply.into_response();
    response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
    response
}

/// Serves any application on a free port.
pub(crate) fn serve(app: BoxedFilter<(impl Reply + 'static,)>) -> Server {
    let listener = listen();
    let addr = listener.local_addr().unwrap();
    Server::new(addr, TaskGuard::spawn(warp::serve(app).incoming(listener).run()))
}

/// Listens as the documentation says to.
pub(crate) fn listen() -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_nodelay(true).unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    socket.listen(1024).unwrap()
}

/// Sockets as the documentation says to serve them.
pub(crate) fn start_sockets(endpoint: WebSocketEndpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let app = warp::path!("agui" / "ws").and(agui_warp::websocket(endpoint));
    Box::pin(async { serve(app.boxed()) })
}
