//! A request whose head was accepted and whose body is still to come.

use std::sync::Arc;

use ::http::Response;
use agui_core::producer::{Extensions, RunSetup, launch};
use agui_core::{RunAgentInput, Warning};

use super::authenticate::Intent;
use super::body::{EventBody, EventBodySetup};
use super::drive::{Drive, Reporter};
use super::endpoint::Inner;
use super::handlers::Agent;
use super::registry::Slot;
use super::source::{RunSource, Source};
use super::{Body, Refusal, RequestBody, RequestHead, RunInfo, input, judge, server};
use crate::{Encoder, Format};

/// A request that is accepted so far. Read its body under [`max_body_bytes`](Self::max_body_bytes), then
/// [`finish`](Self::finish) it.
#[derive(Debug)]
#[must_use = "the request has no answer before it is finished"]
pub struct Pending(Box<Repr>);

#[derive(Debug)]
enum Repr {
    Endpoint(Accepted),
    Server(server::Accepted),
}

#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) endpoint: Arc<Inner>,
    pub(crate) agent: Agent,
    pub(crate) format: Format,
    pub(crate) extensions: Extensions,
}

impl Pending {
    pub(crate) fn endpoint(mut accepted: Accepted, head: RequestHead) -> Self {
        accepted.extensions.insert(head);
        Self(Box::new(Repr::Endpoint(accepted)))
    }

    pub(crate) fn server(accepted: server::Accepted) -> Self {
        Self(Box::new(Repr::Server(accepted)))
    }

    /// How many bytes the body may have, inclusive.
    pub fn max_body_bytes(&self) -> usize {
        match &*self.0 {
            Repr::Endpoint(accepted) => accepted.endpoint.settings.max_body_bytes,
            Repr::Server(accepted) => accepted.server.settings.max_body_bytes,
        }
    }

    /// What the handler will find among its [extensions](agui_core::Run::extensions), to add to.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        match &mut *self.0 {
            Repr::Endpoint(accepted) => &mut accepted.extensions,
            Repr::Server(accepted) => &mut accepted.extensions,
        }
    }

    /// Judges the body and answers. If the input of a run is accepted, the run is spawned onto the current tokio
    /// runtime, and the response's body is its events.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    /// No handler has been started if the future is dropped before it resolves.
    pub async fn finish(self, body: RequestBody) -> Response<Body> {
        let answer = match *self.0 {
            Repr::Endpoint(accepted) => accepted.judge(body).await.map(Admitted::start),
            Repr::Server(accepted) => accepted.finish(body).await,
        };
        answer.unwrap_or_else(Refusal::into_response)
    }
}

impl Accepted {
    pub(crate) async fn judge(self, body: RequestBody) -> Result<Admitted, Refusal> {
        let settings = &self.endpoint.settings;
        let body = judge::complete(settings, body)?;
        let (input, warnings) = input::read(&body, settings)?;
        let input = Arc::new(input);
        drop(body);
        judge::admit(settings, &self.extensions, &input, self.agent.name.as_ref(), Intent::Run).await?;
        let slot = self.endpoint.registry.enter(judge::quota(settings, &self.extensions, None)?)?;
        Ok(Admitted { accepted: self, input, warnings, slot })
    }
}

/// A run that may start.
#[must_use]
pub(crate) struct Admitted {
    accepted: Accepted,
    input: Arc<RunAgentInput>,
    pub(crate) warnings: Vec<Warning>,
    slot: Slot,
}

impl Admitted {
    /// Starts the run and answers with its events.
    pub(crate) fn start(self) -> Response<Body> {
        let Self { accepted, input, warnings, slot } = self;
        let Accepted { endpoint, agent, format, extensions } = accepted;
        let settings = &endpoint.settings;
        let info = RunInfo::new(&input, agent.name);
        let span = info.span();
        span.in_scope(|| warnings.iter().for_each(Warning::log));
        // A peer that declares no version is from before 1.0.
        let downgrade = input.protocol_version.is_none();
        let mut setup = RunSetup::new(input).with_extensions(extensions).with_limits(settings.limits);
        setup.echo_input = settings.echo_input;
        let launched = launch(agent.handler, setup);
        slot.attach(&launched.control);
        let reporter = Reporter { info, hook: settings.drive.on_error.clone() };
        let source = Source::Run(RunSource {
            events: launched.events,
            control: launched.control.clone(),
            on_disconnect: settings.drive.on_disconnect,
        });
        let body = EventBody::new(EventBodySetup {
            source,
            encoder: Encoder::new(format),
            downgrade,
            keep_alive: settings.keep_alive,
            reporter: reporter.clone(),
            span: span.clone(),
        });
        Drive {
            task: launched.task,
            control: launched.control,
            slot,
            settings: settings.drive.clone(),
            reporter,
        }
        .spawn(span);
        judge::stream(format, Body::stream(body))
    }
}
