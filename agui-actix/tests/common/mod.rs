//! Starts actix-web servers for the tests.

#![allow(dead_code, reason = "each test file uses its part of this")]
#![expect(clippy::unwrap_used, reason = "every function here is part of a test")]

use std::net::TcpListener;
use std::pin::Pin;
use std::sync::mpsc;
use std::thread;

use actix_cors::Cors;
use actix_web::dev::ServerHandle;
use actix_web::http::Method;
use actix_web::rt::System;
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer};
use agui_actix::Endpoint;
use agui_suite::Server;

/// What a client that closes its half of a connection is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HalfClosed {
    /// One that is gone.
    Gone,
    /// One that still reads, as actix-web has it by default.
    Reading,
}

/// An endpoint as the documentation says to serve it.
pub(crate) fn start(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    Box::pin(async move { serve(agent(endpoint), HalfClosed::Gone) })
}

/// The same on a server with actix-web's default for half-closed connections.
pub(crate) fn start_with_defaults(endpoint: Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>> {
    Box::pin(async move { serve(agent(endpoint), HalfClosed::Reading) })
}

fn agent(endpoint: Endpoint) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config.route("/agui", agui_actix::endpoint(endpoint.clone()));
    }
}

/// Serves any application on a free port, by two workers.
pub(crate) fn serve(
    configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    half_closed: HalfClosed,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let app = move || {
        let cors = Cors::default()
            .allow_any_origin()
            .allow_any_header()
            .allowed_methods([Method::GET, Method::POST])
            .supports_credentials();
        App::new().wrap(cors).configure(configure.clone())
    };
    let (started, handle) = mpsc::channel();
    // On a thread of its own, where it can end after the test's runtime has.
    thread::spawn(move || {
        System::new().block_on(async move {
            let server = HttpServer::new(app)
                .workers(2)
                .h1_allow_half_closed(half_closed == HalfClosed::Reading)
                .tcp_nodelay(true)
                .disable_signals()
                .listen_auto_h2c(listener)
                .unwrap()
                .run();
            started.send(server.handle()).unwrap();
            server.await.unwrap();
        });
    });
    Server::new(addr, Stop(handle.recv().unwrap()))
}

/// Stops a server when it is dropped.
struct Stop(ServerHandle);

impl Drop for Stop {
    fn drop(&mut self) {
        // The server is told here and now; nobody waits for it.
        drop(self.0.stop(false));
    }
}
