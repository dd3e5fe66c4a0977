//! Starting a run that is recorded.

use std::sync::Arc;
use std::time::Duration;

use ::http::Response;
use agui_core::producer::{RunSetup, launch};
use agui_core::store::{BeginError, NewRun, RunLease, ThreadKey};
use agui_core::{RunAgentInput, RunId, Warning};
use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Asked, Refusal, StoreRefusal, foreign};
use crate::Encoder;
use crate::http::authenticate::Intent;
use crate::http::body::{EventBody, EventBodySetup};
use crate::http::drive::{Drive, Reporter};
use crate::http::handlers::Agent;
use crate::http::record::{Recorder, Tail, TailReader};
use crate::http::registry::Slot;
use crate::http::source::{RecordedSource, Source};
use crate::http::{Body, RefusalCode, RunInfo, input, judge};

/// How much longer than its own grace a superseded run may take to end.
const SUPERSEDE_MARGIN: Duration = Duration::from_secs(3);

/// An input, with what was odd about it.
pub(crate) type Read = (RunAgentInput, Vec<Warning>);

impl Asked {
    pub(crate) fn input(&self, body: &Bytes) -> Result<Read, Refusal> {
        input::read(body, &self.server.settings)
    }

    pub(crate) async fn run(self, agent: Agent, (input, warnings): Read) -> Result<Response<Body>, Refusal> {
        let settings = &self.server.settings;
        let input = Arc::new(input);
        judge::admit(settings, &self.extensions, &input, agent.name.as_ref(), Intent::Run).await?;
        let agent_id = agent.name.clone().unwrap_or_default();
        let key = ThreadKey::new(agent_id, input.thread_id.clone());
        let mut new = NewRun::new(input.run_id.clone());
        new.owner = self.owner()?;
        let slot = self.enter(&key).await?;
        let lease = self.begin(&key, new).await?;
        Ok(self.start(agent, input, &warnings, slot, lease))
    }

    /// Takes a place for a run. Where the limits leave none, it is the thread that is said to be busy if it is, and a run
    /// that supersedes another has the place of that.
    async fn enter(&self, key: &ThreadKey) -> Result<Slot, Refusal> {
        let registry = &self.server.registry;
        registry.check_open()?;
        let quota = judge::quota(&self.server.settings, &self.extensions, Some(key.clone()))?;
        let identity = quota.identity.as_ref().map(|(identity, _)| identity.clone());
        let full = match registry.enter(quota) {
            Ok(slot) => return Ok(slot),
            Err(full) => full,
        };
        let owner = self.owner()?;
        let Some(record) = self.server.within(self.server.store.thread_boxed(key)).await? else {
            return Err(full);
        };
        if record.owner != owner {
            return Err(foreign());
        }
        match record.active_run() {
            None => Err(full),
            Some(_) if self.server.supersede => registry.inherit(key, identity.as_deref()).ok_or(full),
            Some(run_id) => Err(busy(run_id)),
        }
    }

    /// Makes the run the thread's, after the one in progress where that is superseded.
    async fn begin(&self, key: &ThreadKey, new: NewRun) -> Result<RunLease, Refusal> {
        let server = &self.server;
        let deadline = Instant::now() + server.settings.drive.stop_grace + SUPERSEDE_MARGIN;
        loop {
            let begun = match server.within(server.store.begin_boxed(key, new.clone())).await {
                Err(refusal)
                    if refusal.code() == RefusalCode::ThreadBusy
                        && server.supersede
                        && Instant::now() < deadline =>
                {
                    self.supersede(key, deadline).await?;
                    continue;
                }
                begun => begun,
            };
            return begun;
        }
    }

    /// Stops the run in progress and waits for its end.
    async fn supersede(&self, key: &ThreadKey, deadline: Instant) -> Result<(), Refusal> {
        let server = &self.server;
        server.within(server.store.request_stop_boxed(key, None)).await?;
        let Some(record) = server.within(server.store.thread_boxed(key)).await? else { return Ok(()) };
        let ended = async {
            match server.store.follow_boxed(key, Some(&record.end)).await {
                // To the end, which is the run's; a failure shows when the new run is begun.
                Ok(Some(mut follower)) if record.active_run().is_some() => {
                    while let Ok(Some(_)) = follower.next_page().await {}
                }
                // It has ended just now, or as many watch it as may.
                _ => sleep(Duration::from_millis(20)).await,
            }
        };
        // One that does not end in time is in the way as before.
        let _ = timeout_at(deadline, ended).await;
        Ok(())
    }

    fn start(
        self,
        agent: Agent,
        input: Arc<RunAgentInput>,
        warnings: &[Warning],
        slot: Slot,
        lease: RunLease,
    ) -> Response<Body> {
        let Self { server, format, extensions } = self;
        let settings = &server.settings;
        let info = RunInfo::new(&input, agent.name);
        let span = info.span();
        span.in_scope(|| warnings.iter().for_each(Warning::log));
        let downgrade = input.protocol_version.is_none();
        let run_id = input.run_id.clone();
        let setup =
            RunSetup::new(input).with_extensions(extensions).with_limits(settings.limits).with_echoed_input();
        let launched = launch(agent.handler, setup);
        slot.attach(&launched.control);
        let reporter = Reporter { info, hook: settings.drive.on_error.clone() };
        let tail = Arc::new(Tail::new(settings.limits.max_queued_bytes));
        let source = Source::Recorded(RecordedSource {
            reader: TailReader::new(Arc::clone(&tail), run_id),
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
        Recorder {
            store: Arc::clone(&server.store),
            events: launched.events,
            control: launched.control.clone(),
            tail,
            settings: server.record.clone(),
            max_backlog_bytes: settings.limits.max_queued_bytes,
            reporter: reporter.clone(),
            tracked: slot.track(),
        }
        .spawn(lease, span.clone());
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

fn busy(run_id: &RunId) -> Refusal {
    Refusal::new(RefusalCode::ThreadBusy).with_run_id(run_id.as_str())
}

impl From<StoreRefusal<BeginError>> for Refusal {
    fn from(StoreRefusal(error): StoreRefusal<BeginError>) -> Self {
        match error {
            BeginError::Busy { run_id } => busy(&run_id),
            BeginError::RunIdUsed => Self::new(RefusalCode::RunExists),
            BeginError::OtherOwner => foreign(),
            BeginError::Full => Self::new(RefusalCode::Unavailable)
                .with_message("The record of runs has no room for another one."),
            BeginError::Store(error) => StoreRefusal(error).into(),
            error => {
                tracing::error!(%error, "the run store refused a run");
                Self::new(RefusalCode::InternalError)
            }
        }
    }
}
