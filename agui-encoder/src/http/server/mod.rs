//! A whole server: many agents, found by discovery, whose runs are recorded, followed and stopped.
//!
//! | below the mount | |
//! | --- | --- |
//! | `GET /info` | which agents there are, and what they can do |
//! | `POST /agent/{id}/run` | starts a run; its events |
//! | `POST /agent/{id}/connect` | what the thread's record has, then the run in progress live |
//! | `POST /agent/{id}/stop/{threadId}` | stops the run in progress |
//! | `POST /` with an envelope | any of the four |
//!
//! A run belongs to its record, not to the connection that asked for it: that client is a reader like any other, and its
//! leaving ends nothing unless so [configured](AgentServer::with_on_disconnect).
//!
//! Whose thread it is, the client only claims. Without [`AgentServer::with_owner_of`] or an
//! [admission hook](AgentServer::with_admission), whoever knows a thread's id may read it, and stop its runs.

mod connect;
mod envelope;
mod info;
mod route;
mod run;
mod stop;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ::http::{Response, request};
use agui_core::producer::Extensions;
use agui_core::store::{BoxFuture, DynRunStore, MemoryRunStore, RunStore, StoreError, ThreadKey};
use agui_core::{DynRunHandler, RunHandler, ThreadId};

pub use info::AgentInfo;
use route::{Call, Route};
use tokio::sync::Semaphore;

use super::authenticate::guard_call;
use super::handlers::Agent;
use super::record::{OnRecordFailure, RecordSettings};
use super::registry::Registry;
use super::setters::setters;
use super::settings::{IdentityOf, Settings};
use super::{
    Begun, Body, OnDisconnect, Pending, Refusal, RefusalCode, RequestBody, RequestHead, judge, opening,
};
use crate::Format;

/// Agents behind HTTP, with a record of their threads. Cheap to clone; clones share runs, limits and shutdown.
///
/// # Examples
/// ```
/// use agui_core::{Run, RunEnd};
/// use agui_encoder::http::{AgentServer, Begun, RequestBody};
/// use http_body_util::BodyExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = AgentServer::new().with_agent("greeter", |run: Run| async move {
///     run.text("Hello").await?;
///     Ok(RunEnd::success())
/// });
///
/// // What an adapter does with a request. The path is what is below the mount.
/// let post = async |path: &str, body: &'static str| {
///     let (head, ()) =
///         http::Request::post(path).header("content-type", "application/json").body(()).unwrap().into_parts();
///     match server.begin(&head, path).await {
///         Begun::Refused(response) => response,
///         Begun::Accepted(pending) => pending.finish(RequestBody::Complete(body.into())).await,
///     }
/// };
/// let run = r#"{"threadId":"t","runId":"r","messages":[],"protocolVersion":"1.0"}"#;
/// let first = post("/agent/greeter/run", run).await.into_body().collect().await?.to_bytes();
///
/// // Another client, later: the same events.
/// let again = r#"{"threadId":"t","runId":"fresh","messages":[],"protocolVersion":"1.0"}"#;
/// let replayed = post("/agent/greeter/connect", again).await.into_body().collect().await?.to_bytes();
/// assert!(first.ends_with(b"data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"));
/// assert_eq!(replayed, first);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct AgentServer {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Clone)]
pub(crate) struct Inner {
    agents: BTreeMap<Arc<str>, Registered>,
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    store: Arc<dyn DynRunStore>,
    owner_of: Option<IdentityOf>,
    supersede: bool,
    envelope: bool,
    record: RecordSettings,
    /// Places for threads that are being opened.
    opening: Arc<Semaphore>,
}

#[derive(Clone)]
struct Registered {
    agent: Agent,
    info: AgentInfo,
}

impl Default for AgentServer {
    fn default() -> Self {
        Self::new()
    }
}

impl AgentServer {
    /// A server without agents whose threads are kept in memory.
    pub fn new() -> Self {
        let mut settings = Settings::default();
        settings.drive.on_disconnect = OnDisconnect::Detach;
        let record = RecordSettings {
            store_timeout: Duration::from_secs(5),
            patience: Duration::from_secs(30),
            on_failure: OnRecordFailure::default(),
        };
        let inner = Inner {
            agents: BTreeMap::new(),
            settings,
            registry: Arc::default(),
            store: Arc::new(MemoryRunStore::default()),
            owner_of: None,
            supersede: false,
            envelope: true,
            record,
            opening: Arc::new(Semaphore::new(opening::AT_A_TIME)),
        };
        Self { inner: Arc::new(inner) }
    }

    fn set(mut self, set: impl FnOnce(&mut Inner)) -> Self {
        set(Arc::make_mut(&mut self.inner));
        self
    }

    fn settings(self, set: impl FnOnce(&mut Settings)) -> Self {
        self.set(|inner| set(&mut inner.settings))
    }

    /// Adds an agent under an id, in place of an earlier one. The id is a segment of paths; letters, digits, `-`, `_`
    /// and `.` are safe with every client.
    pub fn with_agent(self, id: impl Into<String>, handler: impl RunHandler) -> Self {
        self.with_dyn_agent(id, Arc::new(handler))
    }

    /// [`with_agent`](Self::with_agent) for a handler that is behind a pointer already.
    pub fn with_dyn_agent(self, id: impl Into<String>, handler: Arc<dyn DynRunHandler>) -> Self {
        self.register(id.into(), AgentInfo::default(), handler)
    }

    /// [`with_agent`](Self::with_agent), with what discovery says about the agent.
    ///
    /// # Examples
    /// ```
    /// use agui_core::{Run, RunEnd};
    /// use agui_encoder::http::{AgentInfo, AgentServer};
    ///
    /// let planner = |_: Run| async { Ok(RunEnd::success()) };
    /// let info = AgentInfo::default().with_class_name("PlannerAgent").with_description("Plans trips.");
    /// let server = AgentServer::new().with_described_agent("planner", info, planner);
    /// # let _ = server;
    /// ```
    pub fn with_described_agent(
        self,
        id: impl Into<String>,
        info: AgentInfo,
        handler: impl RunHandler,
    ) -> Self {
        self.register(id.into(), info, Arc::new(handler))
    }

    fn register(self, id: String, info: AgentInfo, handler: Arc<dyn DynRunHandler>) -> Self {
        self.set(|inner| {
            let id: Arc<str> = id.into();
            let agent = Agent { name: Some(Arc::clone(&id)), handler };
            inner.agents.insert(id, Registered { agent, info });
        })
    }

    /// Sets where threads are recorded; by default in a [`MemoryRunStore`] of this server's. Servers that are given
    /// clones of one store share their threads.
    pub fn with_store(self, store: impl RunStore) -> Self {
        self.with_dyn_store(Arc::new(store))
    }

    /// [`with_store`](Self::with_store) for a store that is behind a pointer already.
    pub fn with_dyn_store(self, store: Arc<dyn DynRunStore>) -> Self {
        self.set(|inner| inner.store = store)
    }

    /// Asks this function whose threads a caller's are, from what the authenticator and the layers in front left. The
    /// owner of a thread's first run owns the thread; anybody else's run, connect and stop are a 403. `None` is an owner
    /// like any other, and the only one there is without this.
    ///
    /// # Examples
    /// ```
    /// use agui_encoder::http::{AgentServer, Refusal, RequestHead};
    ///
    /// struct User(String);
    ///
    /// let server = AgentServer::new()
    ///     .with_authenticator(|head: RequestHead| async move {
    ///         // Look the session up here.
    ///         head.header("x-session").map(|session| User(session.to_owned())).ok_or_else(Refusal::unauthorized)
    ///     })
    ///     .with_owner_of(|extensions| extensions.get::<User>().map(|user| user.0.clone()));
    /// # let _ = server;
    /// ```
    pub fn with_owner_of<F>(self, owner_of: F) -> Self
    where
        F: Fn(&Extensions) -> Option<String> + Send + Sync + 'static,
    {
        self.set(|inner| inner.owner_of = Some(Arc::new(owner_of)))
    }

    /// Sets what a run on a busy thread means: a 409 by default; with `true` the run in progress is stopped first, and
    /// the new one begins when it has ended. One that does not end in time is a 409 all the same. Where a limit on runs
    /// leaves no place, the new run has the place of the one it supersedes, if that is the same caller's and in progress
    /// on this server.
    pub fn with_supersede(self, supersede: bool) -> Self {
        self.set(|inner| inner.supersede = supersede)
    }

    /// Sets whether all routes are served through `POST /` as well; they are by default.
    pub fn with_envelope(self, envelope: bool) -> Self {
        self.set(|inner| inner.envelope = envelope)
    }

    /// Sets what becomes of a run whose client goes away; it goes on by default. A cancelled one ends in its record as
    /// one that was stopped.
    pub fn with_on_disconnect(self, on_disconnect: OnDisconnect) -> Self {
        self.settings(|settings| settings.drive.on_disconnect = on_disconnect)
    }

    /// Sets how long a request waits for the store before it is a 503; 5 s by default. The ending of a run waits as long
    /// to be recorded before its client sees it.
    pub fn with_store_timeout(self, timeout: Duration) -> Self {
        self.set(|inner| inner.record.store_timeout = timeout)
    }

    /// Sets for how long a store that fails is tried again before the record of a run is given up; 30 s by default.
    /// Meanwhile the run goes on, as far as what is not recorded fits into the [run's limits](agui_core::producer::RunLimits).
    pub fn with_record_patience(self, patience: Duration) -> Self {
        self.set(|inner| inner.record.patience = patience)
    }

    /// Sets what becomes of a run whose record was given up; it goes on for its client by default.
    pub fn with_on_record_failure(self, on_failure: OnRecordFailure) -> Self {
        self.set(|inner| inner.record.on_failure = on_failure)
    }

    setters!();

    /// Judges the head of a request. `path` is what is below the path that the server is mounted at, as it came and
    /// still percent-encoded: `/agent/planner/run`, and `/` or nothing for the mount itself.
    pub async fn begin(&self, parts: &request::Parts, path: &str) -> Begun {
        let head = RequestHead::from(parts);
        match self.judge(head, path).await {
            Ok(begun) => begun,
            Err(refusal) => Begun::Refused(refusal.into_response()),
        }
    }

    async fn judge(&self, head: RequestHead, path: &str) -> Result<Begun, Refusal> {
        let inner = &self.inner;
        let mut extensions = inner.settings.gate.check(&head).await?;
        let route = Route::find(path, inner.envelope)?;
        route.check_method(head.method())?;
        let call = match route {
            Route::Info => return Ok(Begun::Refused(inner.info()?)),
            Route::Run(id) => Some(Call::Run(inner.agent(&route::decode(id)?)?)),
            Route::Connect(id) => Some(Call::Connect(inner.agent(&route::decode(id)?)?)),
            Route::Stop(id, thread) => {
                // Both are read before the agent is looked up: a bad escape is the path's fault.
                let (id, thread) = (route::decode(id)?, route::decode(thread)?);
                Some(Call::Stop(inner.agent(&id)?, ThreadId::from(thread)))
            }
            Route::Envelope => None,
        };
        // A stop may have no body, and then says nothing about its type.
        let is_json = judge::content_type(head.headers());
        if !matches!(call, Some(Call::Stop(..))) {
            is_json.clone()?;
        }
        let format = judge::format(&inner.settings, head.headers());
        extensions.insert(head);
        let server = Arc::clone(inner);
        Ok(Begun::Accepted(Pending::server(Accepted { server, call, is_json, format, extensions })))
    }

    /// Shuts down: new runs are refused from this call on, those in progress may end for as long as `grace` and are
    /// cancelled then. Resolves when the last one is over and its ending recorded. 10 s is a usual grace.
    pub fn shutdown(&self, grace: Duration) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.inner.registry).shutdown(grace)
    }
}

/// A request whose head is accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) server: Arc<Inner>,
    /// What is asked for; absent if the body says.
    call: Option<Call>,
    /// What there is to say about the type of a body that need not be there.
    is_json: Result<(), Refusal>,
    format: Format,
    pub(crate) extensions: Extensions,
}

impl Accepted {
    pub(crate) async fn finish(self, body: RequestBody) -> Result<Response<Body>, Refusal> {
        let body = judge::complete(&self.server.settings, body)?;
        let asked = Asked { server: self.server, format: self.format, extensions: self.extensions };
        match self.call {
            None => asked.envelope(&body).await,
            Some(Call::Run(agent)) => {
                let read = asked.input(&body)?;
                asked.run(agent, read).await
            }
            Some(Call::Connect(agent)) => {
                let read = asked.input(&body)?;
                asked.connect(agent, read).await
            }
            Some(Call::Stop(agent, thread)) => {
                if !body.is_empty() {
                    self.is_json?;
                }
                let run = stop::read(&body)?;
                asked.stop(agent, thread, run).await
            }
        }
    }
}

/// A request, without what it asks for.
pub(crate) struct Asked {
    pub(crate) server: Arc<Inner>,
    pub(crate) format: Format,
    pub(crate) extensions: Extensions,
}

impl Asked {
    /// Whose threads the caller's are.
    fn owner(&self) -> Result<Option<Arc<str>>, Refusal> {
        let Some(owner_of) = &self.server.owner_of else { return Ok(None) };
        Ok(guard_call(|| owner_of(&self.extensions))?.map(Arc::from))
    }

    /// Refuses callers that the thread is not of. False if nothing is known of it.
    async fn check_owner(&self, key: &ThreadKey) -> Result<bool, Refusal> {
        let owner = self.owner()?;
        match self.server.within(self.server.store.thread_boxed(key)).await? {
            None => Ok(false),
            Some(record) if record.owner == owner => Ok(true),
            Some(_) => Err(foreign()),
        }
    }
}

impl Inner {
    /// The agent of a name. Where there is a single one, it need not be named.
    #[cfg(any(feature = "websocket", feature = "stdio"))]
    pub(crate) fn agent_or_only(&self, id: Option<&str>) -> Result<Agent, Refusal> {
        match id {
            Some(id) => self.agent(id),
            None if self.agents.len() == 1 => {
                let only = self.agents.values().next().map(|registered| registered.agent.clone());
                only.ok_or_else(|| Refusal::new(RefusalCode::AgentNotFound))
            }
            None => Err(Refusal::new(RefusalCode::AgentNotFound)
                .with_message("There are several agents here, and the input names none by agentId.")),
        }
    }

    fn agent(&self, id: &str) -> Result<Agent, Refusal> {
        let found = self.agents.get(id).map(|registered| registered.agent.clone());
        found.ok_or_else(|| Refusal::new(RefusalCode::AgentNotFound))
    }

    /// An answer of the store's, if it comes in time.
    async fn within<T, E>(&self, answer: BoxFuture<'_, Result<T, E>>) -> Result<T, Refusal>
    where
        Refusal: From<StoreRefusal<E>>,
    {
        if let Ok(answer) = tokio::time::timeout(self.record.store_timeout, answer).await {
            answer.map_err(|error| StoreRefusal(error).into())
        } else {
            tracing::error!("the run store does not answer");
            Err(unreachable_store())
        }
    }
}

/// An error of the store's on its way to a caller.
struct StoreRefusal<E>(E);

impl From<StoreRefusal<StoreError>> for Refusal {
    fn from(StoreRefusal(error): StoreRefusal<StoreError>) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the run store failed");
        unreachable_store()
    }
}

fn unreachable_store() -> Refusal {
    Refusal::new(RefusalCode::Unavailable).with_message("The record of runs cannot be reached.")
}

/// The thread is somebody else's.
fn foreign() -> Refusal {
    Refusal::forbidden("The thread belongs to somebody else.")
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("agents", &self.agents.keys())
            .field("settings", &self.settings)
            .field("registry", &self.registry)
            .field("owner_of", &self.owner_of.is_some())
            .field("supersede", &self.supersede)
            .field("envelope", &self.envelope)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}
