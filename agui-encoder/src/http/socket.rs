//! What transports other than HTTP ask of an endpoint or a server: its judgements and its runs, one input at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(feature = "websocket")]
use std::time::Duration;

use ::http::Response;
use agui_core::Warning;
use agui_core::producer::Extensions;
use bytes::Bytes;
#[cfg(feature = "websocket")]
use tokio_util::sync::CancellationToken;

use super::authenticate::BearerToken;
use super::pending::{Accepted, Admitted};
#[cfg(feature = "websocket")]
use super::registry::Registry;
use super::server::Asked;
use super::settings::Settings;
use super::{AgentServer, Body, Endpoint, Refusal, RequestBody, RequestHead, endpoint, judge, server};
use crate::Format;

/// The member of an input that names the agent, where there are several. It is not part of the input.
const AGENT_MEMBER: &str = "/agentId";

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
