//! Starts warp servers for the tests.

#![allow(dead_code, reason = "each test file uses its part of this")]
#![expect(clippy::unwrap_used, reason = "every function here is part of a test")]

use std::pin::Pin;

use agui_suite::{Server, TaskGuard};
use agui_warp::Endpoint;
use tokio::net::{TcpListener, TcpSocket};
use warp::filters::BoxedFilter;
use warp::http::{HeaderValue, header::VARY};
use warp::{Filter, Reply};

/// An endpoint as the documentation says to serve it.
pub(crate) fn start(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    let cors = warp::cors()
        .allow_any_origin()
        .allow_headers(["authorization", "content-type", "x-agent-id"])
        .allow_methods(["GET", "POST"])
        .allow_credentials(true);
    let app = warp::path!("agui").and(agui_warp::endpoint(endpoint)).with(cors).map(|reply| {
        let mut response = Reply::into_response(reply);
        response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
        response
    });
    Box::pin(async { serve(app.boxed()) })
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
