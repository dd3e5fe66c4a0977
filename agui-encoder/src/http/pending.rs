//! A request whose head was accepted and whose body is still to come.

use std::sync::Arc;

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use ::http::{HeaderName, HeaderValue, Response};
use agui_core::producer::{Extensions, RunSetup, launch};
use agui_core::{RunAgentInput, Warning};

use super::authenticate::{Admission, guard, guard_call};
use super::body::{EventBody, EventBodySetup};
use super::drive::{Drive, Reporter};
use super::endpoint::Inner;
use super::handlers::Agent;
use super::registry::{Quota, Slot};
use super::{Body, Refusal, RefusalCode, RequestBody, RequestHead, RunInfo, input};
use crate::{Encoder, Format};

/// Tells reverse proxies not to collect the stream.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A request that is accepted so far. Read its body under [`max_body_bytes`](Self::max_body_bytes), then
/// [`finish`](Self::finish) it.
#[derive(Debug)]
#[must_use = "the request has no answer before it is finished"]
pub struct Pending(Box<Accepted>);

#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) endpoint: Arc<Inner>,
    pub(crate) agent: Agent,
    pub(crate) format: Format,
    pub(crate) extensions: Extensions,
}

impl Pending {
    pub(crate) fn new(accepted: Accepted, head: RequestHead) -> Self {
        let mut accepted = Box::new(accepted);
        accepted.extensions.insert(head);
        Self(accepted)
    }

    /// How many bytes the body may have, inclusive.
    pub fn max_body_bytes(&self) -> usize {
        self.0.endpoint.settings.max_body_bytes
    }

    /// What the handler will find among its [extensions](agui_core::Run::extensions), to add to.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.0.extensions
    }

    /// Judges the body and answers. If the input is accepted, the run is spawned onto the current tokio runtime, and the
    /// response's body is its events.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    /// Nothing has been started if the future is dropped before it resolves.
    pub async fn finish(self, body: RequestBody) -> Response<Body> {
        match self.judge(body).await {
            Ok(admitted) => {
                let format = admitted.accepted.format;
                respond(admitted.start(), format)
            }
            Err(refusal) => refusal.into_response(),
        }
    }

    pub(crate) async fn judge(self, body: RequestBody) -> Result<Admitted, Refusal> {
        let accepted = self.0;
        let settings = &accepted.endpoint.settings;
        let body = match body {
            RequestBody::Complete(body) if body.len() <= settings.max_body_bytes => body,
            RequestBody::Complete(_) | RequestBody::TooLarge => {
                return Err(Refusal::new(RefusalCode::BodyTooLarge)
                    .with_message(format!("The body is larger than {} bytes.", settings.max_body_bytes)));
            }
            RequestBody::Vanished => {
                return Err(Refusal::new(RefusalCode::InvalidJson)
                    .with_message("The body ended before it was complete."));
            }
        };
        let (input, warnings) = input::read(&body, settings.generate_ids)?;
        let input = Arc::new(input);
        drop(body);
        if let Some(admit) = &settings.admit {
            let asked = Admission {
                extensions: accepted.extensions.clone(),
                input: Arc::clone(&input),
                agent: accepted.agent.name.clone(),
            };
            guard(|| admit(asked)).await??;
        }
        let identity = settings
            .max_runs_per_identity
            .as_ref()
            .map(|(limit, identity_of)| {
                guard_call(|| identity_of(&accepted.extensions)).map(|identity| Some((identity?, *limit)))
            })
            .transpose()?
            .flatten();
        let slot = accepted.endpoint.registry.enter(Quota { max_runs: settings.max_runs, identity })?;
        Ok(Admitted { accepted, input, warnings, slot })
    }
}

/// A run that may start.
#[must_use]
pub(crate) struct Admitted {
    accepted: Box<Accepted>,
    input: Arc<RunAgentInput>,
    pub(crate) warnings: Vec<Warning>,
    slot: Slot,
}

impl Admitted {
    /// Spawns the run; the body is its events.
    pub(crate) fn start(self) -> Body {
        let Self { accepted, input, warnings, slot } = self;
        let Accepted { endpoint, agent, format, extensions } = *accepted;
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
        let body = EventBody::new(EventBodySetup {
            events: launched.events,
            control: launched.control.clone(),
            on_disconnect: settings.drive.on_disconnect,
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
        Body::stream(body)
    }
}

/// The response that a stream of events is the body of.
fn respond(body: Body, format: Format) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    response
}
