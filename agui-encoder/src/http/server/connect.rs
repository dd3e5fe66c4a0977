//! Reading a thread: what is recorded, and then live.

use std::sync::Arc;

use ::http::Response;
use agui_core::Warning;
use agui_core::store::{FollowError, ThreadKey};

use super::run::Read;
use super::{Asked, Refusal, StoreRefusal};
use crate::Encoder;
use crate::http::authenticate::Intent;
use crate::http::body::{EventBody, EventBodySetup};
use crate::http::drive::Reporter;
use crate::http::follow::{FollowReader, View};
use crate::http::handlers::Agent;
use crate::http::source::Source;
use crate::http::{Body, RefusalCode, RunInfo, judge};

impl Asked {
    pub(super) async fn connect(
        self,
        agent: Agent,
        (input, warnings): Read,
    ) -> Result<Response<Body>, Refusal> {
        let settings = &self.server.settings;
        let input = Arc::new(input);
        judge::admit(settings, &self.extensions, &input, agent.name.as_ref(), Intent::Connect).await?;
        self.server.registry.check_open()?;
        let key = ThreadKey::new(agent.name.clone().unwrap_or_default(), input.thread_id.clone());
        // The thread is opened before its owner is asked for: one that is given up in between, and begun by somebody
        // else, is then not what was opened.
        let follower = self.server.within(self.server.store.follow_boxed(&key, None)).await?;
        let known = self.check_owner(&key).await?;
        let source = match follower.filter(|_| known) {
            // Every new chat asks, before its first run.
            None => Source::Empty,
            Some(follower) => {
                let view = match &*input.messages {
                    [] => View::replay(),
                    held => View::attachment(held),
                };
                let closed = self.server.registry.closed.clone().cancelled_owned();
                Source::Record(Box::new(FollowReader::new(follower, view, closed)))
            }
        };
        let info = RunInfo::new(&input, agent.name);
        let span = info.connect_span();
        span.in_scope(|| warnings.iter().for_each(Warning::log));
        let body = EventBody::new(EventBodySetup {
            source,
            encoder: Encoder::new(self.format),
            downgrade: input.protocol_version.is_none(),
            keep_alive: settings.keep_alive,
            reporter: Reporter { info, hook: settings.drive.on_error.clone() },
            span,
        });
        Ok(judge::stream(self.format, Body::stream(body)))
    }
}

impl From<StoreRefusal<FollowError>> for Refusal {
    fn from(StoreRefusal(error): StoreRefusal<FollowError>) -> Self {
        match error {
            FollowError::TooManyFollowers => {
                Self::new(RefusalCode::Unavailable).with_message("The run has as many readers as it may.")
            }
            FollowError::Store(error) => StoreRefusal(error).into(),
            error => {
                tracing::error!(%error, "the run store refused a reader");
                Self::new(RefusalCode::InternalError)
            }
        }
    }
}
