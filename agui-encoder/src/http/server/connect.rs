//! Reading a thread: what is recorded, and then live.

use std::sync::Arc;

use ::http::Response;
use agui_core::store::{FollowError, Follower, ThreadKey};
use agui_core::{Message, Warning};

use super::run::Read;
use super::{Asked, Inner, Refusal, StoreRefusal};
use crate::Encoder;
use crate::http::authenticate::Intent;
use crate::http::body::{EventBody, EventBodySetup};
use crate::http::drive::Reporter;
use crate::http::follow::{FollowReader, View};
use crate::http::handlers::Agent;
use crate::http::opening::{Again, Opening};
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
            Some(follower) if input.messages.is_empty() => {
                Source::Record(Box::new(self.server.reader(follower, View::replay())))
            }
            Some(follower) => {
                // Clients from before 1.0 let go of reasoning only for other reasoning, and would add to what they have.
                let reasons = input.messages.iter().any(|message| matches!(message, Message::Reasoning(_)));
                let keeps = reasons && input.protocol_version.is_none();
                let owner = self.owner()?;
                let again = (!keeps).then(|| Arc::clone(&self.server).again(key, owner));
                let reader = self.server.reader(follower, View::attachment(&input.messages));
                Source::Opening(Opening::spawn(reader, again, Arc::clone(&self.server.opening)))
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

impl Inner {
    fn reader(&self, follower: Follower, view: View) -> FollowReader {
        let closed = self.registry.closed.clone().cancelled_owned();
        FollowReader::new(follower, view, self.settings.limits.max_event_bytes, closed)
    }

    /// Opens a thread once more. It may have become somebody else's.
    fn again(self: Arc<Self>, key: ThreadKey, owner: Option<Arc<str>>) -> Again {
        Box::new(move |emptied| {
            Box::pin(async move {
                let follower = self.within(self.store.follow_boxed(&key, None)).await.ok()??;
                let record = self.within(self.store.thread_boxed(&key)).await.ok()??;
                (record.owner == owner).then(|| self.reader(follower, View::anew(emptied)))
            })
        })
    }
}

impl From<StoreRefusal<FollowError>> for Refusal {
    fn from(StoreRefusal(error): StoreRefusal<FollowError>) -> Self {
        match error {
            FollowError::TooManyFollowers => {
                Self::new(RefusalCode::Unavailable).with_message("The thread has as many readers as it may.")
            }
            FollowError::Store(error) => StoreRefusal(error).into(),
            error => {
                tracing::error!(%error, "the run store refused a reader");
                Self::new(RefusalCode::InternalError)
            }
        }
    }
}
