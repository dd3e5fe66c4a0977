//! How a binding starts a server.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;

use agui_encoder::http::{AgentServer, Endpoint};
use agui_encoder::ws::WebSocketEndpoint;

/// Starts a server on a free port of the loopback interface. It accepts connections when the future resolves.
pub type Start = fn(Endpoint) -> Pin<Box<dyn Future<Output = Server> + Send>>;

/// [`Start`] for an endpoint of sockets, on `/agui/ws`.
pub type StartSockets = fn(WebSocketEndpoint) -> Pin<Box<dyn Future<Output = Server> + Send>>;

/// Starts a server whose runtime surface is below a prefix, which begins with a slash; an empty one is the root. Like
/// [`Start`] otherwise.
pub type StartServer = fn(AgentServer, &'static str) -> Pin<Box<dyn Future<Output = Server> + Send>>;

/// A server that is up until this is dropped.
pub struct Server {
    addr: SocketAddr,
    _running: Box<dyn Any + Send + Sync>,
}

impl Server {
    /// A server at an address. Dropping `running` stops it.
    pub fn new(addr: SocketAddr, running: impl Any + Send + Sync) -> Self {
        Self { addr, _running: Box::new(running) }
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// A task that ends when this is dropped.
#[derive(Debug)]
pub struct TaskGuard(tokio::task::JoinHandle<()>);

impl TaskGuard {
    /// Spawns the task.
    pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}
