//! An agent behind a WebSocket, and its sockets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agui_core::consumer::prepare::Peer;
use agui_core::{RunAgentInput, RunId};
use agui_encoder::decode::DEFAULT_MAX_FRAME_BYTES;
use futures_util::SinkExt;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use serde::Serialize;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::connect::{Greeting, Socket, connect, is_usable};
use super::source::{Place, SocketSource};
use crate::{Agent, DialError, FrameSource};

/// An agent behind a WebSocket. Cheap to clone; clones share the socket, unless they are set to open theirs in another
/// way.
///
/// The first run connects. One socket carries runs one after another; runs at the same time have a socket each. A run
/// that is dropped takes its socket with it, which cancels it; [`stop`](Self::stop) ends it in order instead and keeps
/// the socket.
///
/// An input that the server refuses is a run that fails: it ends with `RUN_ERROR`, whose code is the one that the refusal
/// has on HTTP. [`DialError::Refused`] is about the connection.
///
/// # Examples
/// ```no_run
/// use agui_client::agui_core::consumer::RunStatus;
/// use agui_client::{AgentSession, WebSocketAgent};
///
/// # async fn converse() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = WebSocketAgent::new("ws://127.0.0.1:8080/agui/ws")?
///     .with_token("secret")
///     .with_attribute("client", "terminal/1.0")?;
/// let mut session = AgentSession::new(agent.clone(), "trip-7");
/// session.say("Where to?");
/// let mut run = session.run().await?;
/// let run_id = run.request().run_id.clone();
/// while let Some(event) = run.next().await {
///     event?;
///     agent.stop(&run_id); // that is enough
/// }
/// assert_eq!(run.status(), RunStatus::Cancelled);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct WebSocketAgent {
    url: Uri,
    headers: HeaderMap,
    greeting: Greeting,
    agent_id: Option<String>,
    max_frame_bytes: usize,
    peer: Peer,
    sockets: Arc<Sockets>,
}

impl WebSocketAgent {
    /// The agent behind a URL.
    ///
    /// # Errors
    /// The URL is malformed, or neither `ws` nor `wss`.
    pub fn new(url: impl AsRef<str>) -> Result<Self, DialError> {
        let url: Uri = url
            .as_ref()
            .parse()
            .map_err(|error| DialError::Settings(format!("the URL is malformed: {error}")))?;
        if !matches!(url.scheme_str(), Some("ws" | "wss")) || url.host().is_none_or(str::is_empty) {
            return Err(DialError::Settings("the URL should be ws or wss, with a host".to_owned()));
        }
        Ok(Self {
            url,
            headers: HeaderMap::new(),
            greeting: Greeting::default(),
            agent_id: None,
            max_frame_bytes: DEFAULT_MAX_FRAME_BYTES,
            peer: Peer::Current,
            sockets: Arc::default(),
        })
    }

    /// Sends a token in the hello, as browsers do. It stays out of `Debug`.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.greeting.token = Some(token.into());
        self.apart()
    }

    /// Says something about this client in the hello, for the agent to read.
    ///
    /// # Errors
    /// The name is `type` or `token`, which mean something else there.
    pub fn with_attribute(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, DialError> {
        let name = name.into();
        if matches!(name.as_str(), "type" | "token") {
            return Err(DialError::Settings(format!("{name} is no name for an attribute")));
        }
        self.greeting.attributes.insert(name, value.into());
        Ok(self.apart())
    }

    /// Sends a header with the request that opens a socket, in place of one of the same name: `origin`, say.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self.apart()
    }

    /// Sends a bearer token with the request that opens a socket, to be judged before the socket is open. It stays out of
    /// `Debug`.
    ///
    /// # Errors
    /// The token holds what no header may, such as a line break.
    pub fn with_bearer_token(self, token: impl AsRef<str>) -> Result<Self, DialError> {
        Ok(self.with_header(AUTHORIZATION, crate::http::bearer(token.as_ref())?))
    }

    /// Names the agent, where the server has several.
    #[must_use]
    pub fn with_agent_id(mut self, agent_id: impl Into<String>) -> Self {
        self.agent_id = Some(agent_id.into());
        self
    }

    /// Sets the most bytes that one event may have on the wire; 10 MiB by default.
    #[must_use]
    pub fn with_max_frame_bytes(mut self, max_frame_bytes: usize) -> Self {
        self.max_frame_bytes = max_frame_bytes;
        self.apart()
    }

    /// Says what is known of the producer: inputs declare no version to one from before 1.0 (`VER-1`).
    #[must_use]
    pub const fn with_peer(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }

    /// Shares sockets with no agent that opens them in another way.
    fn apart(mut self) -> Self {
        self.sockets = Arc::default();
        self
    }

    /// Asks the server to stop a run, whose stream then ends with the cancelled outcome if it is read on. Says whether
    /// there is such a run.
    pub fn stop(&self, run_id: &RunId) -> bool {
        let stop = self.sockets.lock().running.get(run_id).cloned();
        stop.inspect(CancellationToken::cancel).is_some()
    }

    /// Closes the idle socket, if there is one. The next run connects again.
    pub async fn close(&self) {
        let idle = self.sockets.lock().idle.take();
        if let Some(mut socket) = idle {
            // What cannot be closed in order is closed by being dropped.
            drop(socket.close(None).await);
        }
    }

    /// The idle socket if it is good, else a new one.
    async fn socket(&self) -> Result<Socket, DialError> {
        let idle = self.sockets.lock().idle.take();
        if let Some(mut socket) = idle
            && is_usable(&mut socket).await
        {
            return Ok(socket);
        }
        // With TLS the handshake takes tens of KiB, which would be in the future of everybody who dials.
        Box::pin(connect(&self.url, &self.headers, &self.greeting, self.max_frame_bytes)).await
    }
}

impl Agent for WebSocketAgent {
    async fn dial(&self, input: &RunAgentInput) -> Result<Box<dyn FrameSource>, DialError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            agent_id: Option<&'a str>,
            #[serde(flatten)]
            input: &'a RunAgentInput,
        }
        let asked = Asked { agent_id: self.agent_id.as_deref(), input };
        let text = serde_json::to_string(&asked)
            .map_err(|error| DialError::Settings(format!("the input has no JSON: {error}")))?;
        let mut socket = self.socket().await?;
        socket.send(Message::text(text)).await.map_err(DialError::unreachable)?;
        let place = Place::new(Arc::clone(&self.sockets), input.run_id.clone());
        Ok(Box::new(SocketSource::new(socket, place)))
    }

    fn peer(&self) -> Peer {
        self.peer
    }
}

/// The sockets that clones of an agent share.
#[derive(Debug, Default)]
pub(super) struct Sockets(Mutex<Inner>);

#[derive(Debug, Default)]
pub(super) struct Inner {
    /// Open, with no run on it.
    pub(super) idle: Option<Socket>,
    /// How the runs in progress are told to stop.
    pub(super) running: HashMap<RunId, CancellationToken>,
}

impl Sockets {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
