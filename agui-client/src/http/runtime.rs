//! The runtime surface below a base URL: discovery, run, connect, stop.

use std::borrow::BorrowMut;

use agui_core::consumer::prepare::Peer;
use agui_core::consumer::{Conversation, Exchange};
use agui_core::{RunAgentInput, ThreadId};
use http::Method;
use reqwest::Url;
use serde_json::json;
use uuid::Uuid;

use super::dial::{Dialer, parse_url};
use super::{RuntimeInfo, StopAnswer};
use crate::{Agent, AgentSession, DialError, FrameSource, RunStream};

/// A server of several agents, which keeps a record of their threads. Cheap to clone; clones share their connections.
///
/// # Examples
/// ```no_run
/// use agui_client::agui_core::consumer::Conversation;
/// use agui_client::{AgentSession, RuntimeClient};
///
/// # async fn reload() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = RuntimeClient::new("http://127.0.0.1:8080/api/copilotkit")?;
/// for (id, agent) in runtime.info().await?.agents {
///     println!("{id}: {}", agent.description.unwrap_or_default());
/// }
///
/// // What was said on the thread before, and what is going on there now.
/// let planner = runtime.agent("planner");
/// let mut replay = planner.connect("trip-7", Conversation::new()).await?;
/// replay.finish().await?;
/// let mut session = AgentSession::new(planner, "trip-7").with_conversation(replay.into_conversation());
/// session.say("And then?");
/// session.run().await?.finish().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RuntimeClient {
    dialer: Dialer,
    base: Url,
}

http_settings!(RuntimeClient);

impl RuntimeClient {
    /// The server below a base URL, with or without a slash at its end.
    ///
    /// # Errors
    /// The URL is malformed, or neither `http` nor `https`.
    pub fn new(base: impl AsRef<str>) -> Result<Self, DialError> {
        let mut base = parse_url(base.as_ref())?;
        base.set_query(None);
        base.set_fragment(None);
        Ok(Self { dialer: Dialer::new()?, base })
    }

    /// What the server says about itself and its agents.
    ///
    /// # Errors
    /// The server was not reached, refused, or answered with something else.
    pub async fn info(&self) -> Result<RuntimeInfo, DialError> {
        let request = self.dialer.request(Method::GET, self.url(&["info"]));
        self.dialer.document(request, None, "the runtime's description of itself").await
    }

    /// One of the agents. Whether the server has it, it says when it is asked for something.
    pub fn agent(&self, id: impl Into<String>) -> RuntimeAgent {
        RuntimeAgent { runtime: self.clone(), id: id.into() }
    }

    /// The address of a route; each segment is escaped.
    fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        // Every `http` URL has a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

/// One agent of a [`RuntimeClient`].
///
/// A run outlives its readers here: dropping a [`RunStream`] closes the connection, and the run goes on, to be
/// [connected](Self::connect) to again. [`stop`](Self::stop) ends it.
#[derive(Debug, Clone)]
pub struct RuntimeAgent {
    runtime: RuntimeClient,
    id: String,
}

impl RuntimeAgent {
    /// The id by which the server knows it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks for what the server has recorded of a thread, and for the run in progress as it goes on (`LIFE-8`).
    ///
    /// `conversation` is what is held of the thread, or a mutable reference to it. If it is empty, the whole record is
    /// streamed; else the server restates what there is, and nothing is held twice. Of a thread that the server does not
    /// know there are no events, which is no error.
    ///
    /// # Errors
    /// The server was not reached, or refused.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing at the server.
    pub async fn connect<C: BorrowMut<Conversation> + Send>(
        &self,
        thread_id: impl Into<ThreadId> + Send,
        conversation: C,
    ) -> Result<RunStream<C>, DialError> {
        let run_id = Uuid::new_v4().to_string();
        let exchange = Box::new(Exchange::replay(conversation, thread_id, run_id, self.peer()));
        let url = self.runtime.url(&["agent", &self.id, "connect"]);
        let source = self.runtime.dialer.stream(url, exchange.request()).await?;
        Ok(RunStream::replay(exchange, source))
    }

    /// Stops the run in progress on a thread, if any. Its stream ends with the cancelled outcome.
    ///
    /// # Errors
    /// The server was not reached, refused, or answered with something else.
    pub async fn stop(&self, thread_id: impl AsRef<str> + Send) -> Result<StopAnswer, DialError> {
        self.request_stop(thread_id.as_ref(), Vec::new()).await
    }

    /// Stops a run, and no other that may be in progress on the thread by now.
    ///
    /// # Errors
    /// As [`stop`](Self::stop).
    pub async fn stop_run(
        &self,
        thread_id: impl AsRef<str> + Send,
        run_id: impl AsRef<str> + Send,
    ) -> Result<StopAnswer, DialError> {
        let body = json!({ "runId": run_id.as_ref() });
        self.request_stop(thread_id.as_ref(), body.to_string().into_bytes()).await
    }

    async fn request_stop(&self, thread_id: &str, body: Vec<u8>) -> Result<StopAnswer, DialError> {
        let url = self.runtime.url(&["agent", &self.id, "stop", thread_id]);
        let request = self.runtime.dialer.request(Method::POST, url);
        self.runtime.dialer.document(request, Some(body), "an answer to a request to stop").await
    }
}

impl Agent for RuntimeAgent {
    async fn dial(&self, input: &RunAgentInput) -> Result<Box<dyn FrameSource>, DialError> {
        let url = self.runtime.url(&["agent", &self.id, "run"]);
        self.runtime.dialer.stream(url, input).await
    }

    fn peer(&self) -> Peer {
        self.runtime.dialer.peer
    }
}

impl AgentSession<RuntimeAgent> {
    /// Brings what is held up to the server's record of the thread, and follows the run in progress; as
    /// [`RuntimeAgent::connect`].
    ///
    /// # Errors
    /// As [`RuntimeAgent::connect`].
    ///
    /// # Cancel safety
    /// A dropped future changes nothing at the server.
    pub async fn connect(&mut self) -> Result<RunStream<&mut Conversation>, DialError> {
        let (agent, thread_id, conversation) = self.parts_mut();
        agent.connect(thread_id.clone(), conversation).await
    }
}
