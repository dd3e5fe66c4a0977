//! The endpoint of sockets: an endpoint of runs, and what is said beyond it about sockets.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agui_core::producer::Extensions;
use http::header::AUTHORIZATION;
use http::{Method, Response, request};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::settings::Settings;
use super::{Session, head};
use crate::http::{AgentServer, Backend, Body, Endpoint, Refusal, RefusalCode, RequestHead};

/// Agents behind WebSocket. Cheap to clone; clones share their runs' limits and shutdown with each other and with the
/// endpoint they are made of.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use agui_core::{Run, RunEnd};
/// use agui_encoder::http::Endpoint;
/// use agui_encoder::ws::WebSocketEndpoint;
///
/// let endpoint = Endpoint::new(|run: Run| async move {
///     run.text("Hello").await?;
///     Ok(RunEnd::success())
/// });
/// let sockets = WebSocketEndpoint::new(endpoint.with_bearer_token("s3cret"))
///     .with_allowed_origins(["https://app.example"])
///     .with_hello_timeout(Duration::from_secs(2));
/// # let _ = sockets;
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WebSocketEndpoint {
    backend: Backend,
    settings: Arc<Settings>,
    sockets: TaskTracker,
}

/// What becomes of a request once its head is judged.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a head is accepted or refused; adapters match both")]
pub enum Begun {
    /// This is the answer.
    Refused(Response<Body>),
    /// Answer with the upgrade, then serve the socket.
    Accepted(Session),
}

impl From<Endpoint> for WebSocketEndpoint {
    fn from(endpoint: Endpoint) -> Self {
        Self { backend: endpoint.into(), settings: Arc::default(), sockets: TaskTracker::new() }
    }
}

impl From<AgentServer> for WebSocketEndpoint {
    fn from(server: AgentServer) -> Self {
        Self { backend: server.into(), settings: Arc::default(), sockets: TaskTracker::new() }
    }
}

impl WebSocketEndpoint {
    /// Serves the agents of an endpoint or of a server under the settings it has. With a server, runs are recorded, and
    /// one whose socket is gone is left to its record; an input names its agent by the member `agentId`, unless there
    /// is just one.
    pub fn new(endpoint: impl Into<Self>) -> Self {
        endpoint.into()
    }

    fn settings(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(&mut self.settings));
        self
    }

    /// Asks every caller for this bearer token, in a header or in the hello, in place of one that the endpoint asks for
    /// over HTTP.
    pub fn with_bearer_token(mut self, token: impl Into<String>) -> Self {
        self.backend = self.backend.with_bearer_token(token.into());
        self
    }

    /// Admits sockets from pages of these origins, `https://app.example` or `http://localhost:5173`, and from no others.
    /// Without a list it is the server's own origin alone. Clients that are no browsers send none.
    ///
    /// The own origin is what the request's `Host` says. A page whose name somebody has let lead to this server (DNS
    /// rebinding) says its own name there, so a server that asks for no token, on the loopback interface or in a network
    /// of its own, should have a list, or look at `Host` before a request comes here.
    pub fn with_allowed_origins<I>(self, origins: I) -> Self
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        let origins = origins.into_iter().map(|origin| head::normalized(origin.as_ref())).collect();
        self.settings(|settings| settings.origins = Some(origins))
    }

    /// Sets whether a request without an origin is refused, which shuts out everything but browsers. Off by default.
    pub fn with_required_origin(self, required: bool) -> Self {
        self.settings(|settings| settings.origin_required = required)
    }

    /// Sets how long it may take until a client is known by the hello with its token, where it has to send one; 5 s by
    /// default. Judging the token is part of that.
    pub fn with_hello_timeout(self, timeout: Duration) -> Self {
        self.settings(|settings| settings.hello_timeout = timeout)
    }

    /// Sets how often the peer is asked for a sign of life; every 20 s by default. One that has not answered for two
    /// intervals counts as gone. Zero and `None` turn it off.
    pub fn with_ping_interval(self, interval: impl Into<Option<Duration>>) -> Self {
        let interval = interval.into().filter(|interval| !interval.is_zero());
        self.settings(|settings| settings.ping_interval = interval)
    }

    /// Sets how many frames and how many bytes may wait for a peer that does not read, each at least one; 256 and 1 MiB
    /// by default. The agent waits while that is reached.
    pub fn with_max_queued(self, frames: usize, bytes: usize) -> Self {
        self.settings(|settings| {
            settings.max_queued_frames = frames.max(1);
            settings.max_queued_bytes = bytes.max(1);
        })
    }

    /// Sets for how long a peer may leave its queue full before its socket is closed; 10 s by default.
    pub fn with_slow_reader_timeout(self, timeout: Duration) -> Self {
        self.settings(|settings| settings.slow_reader_timeout = timeout)
    }

    /// Judges the head of a request before the upgrade.
    pub async fn begin(&self, parts: &request::Parts) -> Begun {
        match self.judge(parts).await {
            Ok(session) => Begun::Accepted(session),
            Err(refusal) => Begun::Refused(refusal.into_response()),
        }
    }

    async fn judge(&self, parts: &request::Parts) -> Result<Session, Refusal> {
        let head = RequestHead::from(parts);
        let is_get = *head.method() == Method::GET;
        let is_upgrade = is_get && head::is_upgrade(parts.version, head.headers());
        let caller = match self.backend.authenticate(&head).await {
            Ok(caller) => Some(caller),
            // A browser cannot send the header, so its hello will tell.
            Err(refusal)
                if is_upgrade
                    && refusal.code() == RefusalCode::Unauthorized
                    && !head.headers().contains_key(AUTHORIZATION) =>
            {
                None
            }
            Err(refusal) => return Err(refusal),
        };
        if !is_get {
            return Err(Refusal::method_not_allowed("GET"));
        }
        if !is_upgrade {
            return Err(Refusal::new(RefusalCode::UpgradeRequired));
        }
        let protocol = head::judge(head.headers(), &self.settings)?;
        if self.backend.shutting_down().is_cancelled() {
            return Err(Refusal::new(RefusalCode::Unavailable).with_message("The server is shutting down."));
        }
        Ok(Session {
            backend: self.backend.clone(),
            settings: Arc::clone(&self.settings),
            head,
            protocol,
            caller,
            extensions: Extensions::new(),
            open: self.sockets.token(),
        })
    }

    /// Shuts down, together with the endpoint: new runs are refused from this call on, those in progress may end for as
    /// long as `grace` and are cancelled then. A socket closes as soon as no run is in progress on it. Resolves when the
    /// last run is over and the sockets are closed, which those of peers that do not answer may delay by another
    /// `grace` at most.
    pub fn shutdown(&self, grace: Duration) -> impl Future<Output = ()> + Send + use<> {
        let runs = self.backend.shutdown(grace);
        let sockets = self.sockets.clone();
        async move {
            runs.await;
            sockets.close();
            if tokio::time::timeout(grace, sockets.wait()).await.is_err() {
                tracing::debug!(open = sockets.len(), "sockets are left open at the end of the shutdown");
            }
        }
    }
}

/// A token that nobody can guess, for hosts that make one per start and hand it to their own front end.
pub fn fresh_token() -> String {
    let [first, second] = [Uuid::new_v4(), Uuid::new_v4()];
    format!("{}{}", first.simple(), second.simple())
}
