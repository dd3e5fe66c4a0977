//! A server for the front end of a desktop application: on the loopback interface, on a port of the system's choice,
//! behind a token that is made for this start.
//!
//! Any page in any browser of the machine can reach the port, so a socket is opened only with the token and, from pages,
//! only from the origins that are named. The other routes are the application's own, and so is who may ask for them.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use agui_encoder::ws::{WebSocketEndpoint, fresh_token};
use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

/// A server for the front end of one application on one machine.
///
/// # Examples
/// ```
/// use agui_axum::{Endpoint, Loopback, Run, RunEnd, WebSocketEndpoint};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let agent = |run: Run| async move { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let sockets = WebSocketEndpoint::new(Endpoint::new(agent));
/// let host = Loopback::bind(sockets).await?.with_allowed_origins(["tauri://localhost"]);
///
/// // For the front end, which sends {"type":"hello","token":"…"} first:
/// let (url, token) = (host.url(), host.token().to_owned());
/// assert!(url.starts_with("ws://127.0.0.1:") && !token.is_empty());
/// # if false {
/// host.serve().await?;
/// # }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is served before `serve` is called"]
pub struct Loopback {
    listener: TcpListener,
    addr: SocketAddr,
    token: String,
    endpoint: WebSocketEndpoint,
    routes: Router,
}

impl Loopback {
    /// The path of the sockets.
    pub const PATH: &'static str = "/agui/ws";

    /// Listens, and makes a token that opens sockets. No page is served until its origin is
    /// [named](Self::with_allowed_origins).
    ///
    /// # Errors
    /// The system gives no port.
    pub async fn bind(endpoint: WebSocketEndpoint) -> io::Result<Self> {
        let token = fresh_token();
        let endpoint = endpoint.with_bearer_token(token.clone()).with_allowed_origins([""; 0]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        Ok(Self { listener, addr, token, endpoint, routes: Router::new() })
    }

    /// Serves pages of these origins and no others. A page that is one of the [routes](Self::with_routes) has this host's
    /// [own](Self::origin).
    pub fn with_allowed_origins<I>(mut self, origins: I) -> Self
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        self.endpoint = self.endpoint.with_allowed_origins(origins);
        self
    }

    /// Serves these routes beside the sockets. They are asked for no token.
    pub fn with_routes(mut self, routes: Router) -> Self {
        self.routes = routes;
        self
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The origin of the pages that it serves itself.
    pub fn origin(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The address of the sockets.
    pub fn url(&self) -> String {
        format!("ws://{}{}", self.addr, Self::PATH)
    }

    /// The token that the front end's hello has to bring.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What ends it in order: [`WebSocketEndpoint::shutdown`] on a clone.
    pub const fn endpoint(&self) -> &WebSocketEndpoint {
        &self.endpoint
    }

    /// Serves until it is dropped.
    ///
    /// # Errors
    /// Nothing can be accepted any more.
    ///
    /// # Panics
    /// A route of the application's is on the path of the sockets.
    pub async fn serve(self) -> io::Result<()> {
        let app = self.routes.route(Self::PATH, super::websocket(self.endpoint));
        axum::serve(self.listener.tap_io(|socket| drop(socket.set_nodelay(true))), app).await
    }
}

impl fmt::Debug for Loopback {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback").field("addr", &self.addr).finish_non_exhaustive()
    }
}
