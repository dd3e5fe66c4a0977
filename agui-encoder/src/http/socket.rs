//! What the WebSocket transport asks of an endpoint: the judgements and the runs of HTTP, one input at a time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agui_core::producer::Extensions;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::endpoint::Inner;
use super::pending::Accepted;
use super::{Body, Endpoint, Pending, Refusal, RequestBody, RequestHead};
use crate::Format;

/// The member of an input that names the agent, where there are several. It is not part of the input.
const AGENT_MEMBER: &str = "/agentId";

/// An endpoint, as the WebSocket transport sees it.
#[derive(Debug, Clone)]
pub(crate) struct Backend(Arc<Inner>);

impl Backend {
    pub(crate) fn max_body_bytes(&self) -> usize {
        self.0.settings.max_body_bytes
    }

    /// Judges who calls, and gives what is known about the caller.
    pub(crate) async fn authenticate(&self, head: &RequestHead) -> Result<Extensions, Refusal> {
        self.0.settings.gate.check(head).await
    }

    /// Judges an input and starts its run, whose body is one line of JSON per event. Nothing has been started if the
    /// future is dropped.
    pub(crate) fn start(
        &self,
        agent: Option<&str>,
        head: &RequestHead,
        extensions: Extensions,
        input: Bytes,
    ) -> impl Future<Output = Result<Body, Refusal>> + Send + use<> {
        let agent = match agent {
            Some(name) => self.0.handlers.named(name),
            None => self.0.handlers.choose(head.headers()),
        };
        let (endpoint, head) = (Arc::clone(&self.0), head.clone());
        async move {
            let accepted = Accepted { endpoint, agent: agent?, format: Format::Ndjson, extensions };
            let mut admitted = Pending::new(accepted, head).judge(RequestBody::Complete(input)).await?;
            admitted.warnings.retain(|warning| warning.path() != AGENT_MEMBER);
            Ok(admitted.start())
        }
    }

    /// Fires when the server begins to shut down.
    pub(crate) fn shutting_down(&self) -> &CancellationToken {
        &self.0.registry.shutting_down
    }

    /// Shuts the endpoint down; resolves when the last run is over.
    pub(crate) fn shutdown(&self, grace: Duration) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.0.registry).shutdown(grace)
    }
}

impl From<Endpoint> for Backend {
    fn from(endpoint: Endpoint) -> Self {
        Self(endpoint.inner)
    }
}
