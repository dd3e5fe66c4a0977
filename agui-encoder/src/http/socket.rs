//! What transports other than HTTP ask of an endpoint or a server: its judgements and its runs, one input at a time; and
//! the members by which they tell one message from another.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(feature = "websocket")]
use std::time::Duration;

use ::http::Response;
use agui_core::Warning;
use agui_core::json::{self, JsonError, Utf8};
use agui_core::producer::Extensions;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};
#[cfg(feature = "websocket")]
use tokio_util::sync::CancellationToken;

use super::authenticate::BearerToken;
use super::pending::{Accepted, Admitted};
#[cfg(feature = "websocket")]
use super::registry::Registry;
use super::server::Asked;
use super::settings::Settings;
use super::{
    AgentServer, Body, Endpoint, Refusal, RefusalCode, RequestBody, RequestHead, endpoint, judge, server,
};
use crate::Format;

/// Where the member of an input is that names the agent. It is not part of the input.
const AGENT_MEMBER: &str = "/agentId";

/// The members that decide what becomes of a message. Reading them passes over everything else without keeping it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Peek {
    /// What kind of message it is; an input has none.
    #[cfg(feature = "websocket")]
    #[serde(rename = "type", default)]
    pub(crate) kind: Option<Value>,
    #[cfg(feature = "websocket")]
    #[serde(rename = "runId", default)]
    pub(crate) run_id: Option<Value>,
    /// The agent that an input is for, where there are several.
    #[serde(rename = "agentId", default)]
    agent_id: Option<Value>,
}

impl Peek {
    /// Reads what the reader of inputs would find under these names. There is nothing in what is no object, or nested too
    /// deeply: what is wrong with that, the reader of inputs says.
    pub(crate) fn read(text: &[u8]) -> Result<Self, JsonError> {
        // An array would be taken for the members in their order.
        if text.trim_ascii_start().starts_with(b"{")
            && let Ok(peek) = serde_json::from_slice(text)
        {
            return Ok(peek);
        }
        // No object, a member twice, or one of the things that are put right in an input.
        Ok(match object(text) {
            Ok(mut members) => Self {
                #[cfg(feature = "websocket")]
                kind: members.remove("type"),
                #[cfg(feature = "websocket")]
                run_id: members.remove("runId"),
                agent_id: members.remove("agentId"),
            },
            Err(JsonError::TooDeep) => Self::default(),
            Err(error) => return Err(error),
        })
    }

    /// The name of the agent; none where none is named.
    pub(crate) fn agent(self) -> Result<Option<String>, Refusal> {
        optional_text("agentId", self.agent_id)
    }
}

/// All members of a message that is an object; none of one that is not. Of a name twice the last counts.
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Value>, JsonError> {
    match json::read(text, Utf8::Strict, &mut Vec::new())? {
        Value::Object(members) => Ok(members),
        _ => Ok(Map::new()),
    }
}

/// The text of a member that may be left out.
pub(crate) fn optional_text(name: &str, value: Option<Value>) -> Result<Option<String>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Refusal::new(RefusalCode::InvalidInput)
            .with_message(format!("{name} should be a string."))
            .with_path(name)),
    }
}

/// What an input comes to: a stream of one line of JSON per event, or a refusal.
pub(crate) type Started = Pin<Box<dyn Future<Output = Result<Body, Refusal>> + Send>>;

/// An endpoint or a server, as another transport sees it.
#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Endpoint(Arc<endpoint::Inner>),
    Server(Arc<server::Inner>),
}

impl Backend {
    fn settings(&self) -> &Settings {
        match self {
            Self::Endpoint(endpoint) => &endpoint.settings,
            Self::Server(server) => &server.settings,
        }
    }

    #[cfg(feature = "websocket")]
    fn registry(&self) -> &Arc<Registry> {
        match self {
            Self::Endpoint(endpoint) => &endpoint.registry,
            Self::Server(server) => &server.registry,
        }
    }

    /// The same agents, limits and runs behind this token.
    pub(crate) fn with_bearer_token(mut self, token: String) -> Self {
        let settings = match &mut self {
            Self::Endpoint(endpoint) => &mut Arc::make_mut(endpoint).settings,
            Self::Server(server) => &mut Arc::make_mut(server).settings,
        };
        settings.gate.token = Some(BearerToken::new(token));
        self
    }

    pub(crate) fn max_body_bytes(&self) -> usize {
        self.settings().max_body_bytes
    }

    /// Judges who calls, and gives what is known about the caller.
    #[cfg(feature = "websocket")]
    pub(crate) async fn authenticate(&self, head: &RequestHead) -> Result<Extensions, Refusal> {
        self.settings().gate.check(head).await
    }

    /// Judges an input and starts its run. No handler has been started if the future is dropped.
    pub(crate) fn start(
        &self,
        agent: Option<&str>,
        head: &RequestHead,
        mut extensions: Extensions,
        input: Bytes,
    ) -> Started {
        extensions.insert(head.clone());
        let format = Format::Ndjson;
        match self {
            Self::Endpoint(endpoint) => {
                let agent = match agent {
                    Some(name) => endpoint.handlers.named(name),
                    None => endpoint.handlers.choose(head.headers()),
                };
                let endpoint = Arc::clone(endpoint);
                Box::pin(async move {
                    let accepted = Accepted { endpoint, agent: agent?, format, extensions };
                    let mut admitted: Admitted = accepted.judge(RequestBody::Complete(input)).await?;
                    admitted.warnings.retain(is_surprise);
                    Ok(admitted.start().into_body())
                })
            }
            Self::Server(server) => {
                let agent = server.agent_or_only(agent);
                let server = Arc::clone(server);
                Box::pin(async move {
                    let agent = agent?;
                    let input = judge::complete(&server.settings, RequestBody::Complete(input))?;
                    let asked = Asked { server, format, extensions };
                    let (input, mut warnings) = asked.input(&input)?;
                    warnings.retain(is_surprise);
                    asked.run(agent, (input, warnings)).await.map(Response::into_body)
                })
            }
        }
    }

    /// Fires when the server begins to shut down.
    #[cfg(feature = "websocket")]
    pub(crate) fn shutting_down(&self) -> &CancellationToken {
        &self.registry().shutting_down
    }

    /// Shuts down; resolves when the last run is over.
    #[cfg(feature = "websocket")]
    pub(crate) fn shutdown(&self, grace: Duration) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(self.registry()).shutdown(grace)
    }
}

/// Whether there is reason to warn: the member that names the agent is expected here.
fn is_surprise(warning: &Warning) -> bool {
    warning.path() != AGENT_MEMBER
}

impl From<Endpoint> for Backend {
    fn from(endpoint: Endpoint) -> Self {
        Self::Endpoint(endpoint.inner)
    }
}

impl From<AgentServer> for Backend {
    fn from(server: AgentServer) -> Self {
        Self::Server(server.inner)
    }
}
