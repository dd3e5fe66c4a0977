//! One path, one agent (or several chosen by a header), POST in, events out.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, Method, Response, request};
use agui_core::{DynRunHandler, RunHandler};

use super::handlers::{Agent, Handlers};
use super::pending::Accepted;
use super::registry::Registry;
use super::setters::setters;
use super::settings::Settings;
use super::{Body, OnDisconnect, Pending, Refusal, RefusalCode, RequestHead, judge};

/// A handler behind HTTP. Cheap to clone; clones share their runs' limits and shutdown.
///
/// # Examples
/// ```
/// use agui_core::{Run, RunEnd};
/// use agui_encoder::http::{Begun, Endpoint, RequestBody};
/// use http_body_util::BodyExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Endpoint::new(|run: Run| async move {
///     run.text("Hello").await?;
///     Ok(RunEnd::success())
/// });
///
/// // What an adapter does with a request:
/// let (head, ()) = http::Request::post("/agui").header("content-type", "application/json").body(())?.into_parts();
/// let response = match endpoint.begin(&head).await {
///     Begun::Refused(response) => response,
///     Begun::Accepted(pending) => {
///         let body = r#"{"threadId":"t","runId":"r","messages":[],"protocolVersion":"1.0"}"#;
///         pending.finish(RequestBody::Complete(body.into())).await
///     }
/// };
///
/// assert_eq!(response.status(), 200);
/// let events = response.into_body().collect().await?.to_bytes();
/// assert!(events.starts_with(b"data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\""));
/// assert!(events.ends_with(b"data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Endpoint {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
pub(crate) struct Inner {
    pub(crate) handlers: Handlers,
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
}

/// What becomes of a request once its head is judged.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a head is accepted or refused; adapters match both")]
pub enum Begun {
    /// This is the answer, most often a refusal. The body need not be read; [`drain_body`](super::drain_body) keeps a
    /// client that is still sending from missing it.
    Refused(Response<Body>),
    /// The body decides.
    Accepted(Pending),
}

impl Endpoint {
    /// An endpoint that serves every run with this handler.
    pub fn new(handler: impl RunHandler) -> Self {
        Self::from_dyn(Arc::new(handler))
    }

    /// [`new`](Self::new) for a handler that is behind a pointer already.
    pub fn from_dyn(handler: Arc<dyn DynRunHandler>) -> Self {
        Self::with_handlers(Handlers::One(Agent { name: None, handler }))
    }

    /// An endpoint that serves several agents and chooses by this header; a name it does not know is a 404.
    ///
    /// # Panics
    /// The name is no header name in lower case.
    ///
    /// # Examples
    /// ```
    /// use agui_core::{Run, RunEnd};
    /// use agui_encoder::http::Endpoint;
    ///
    /// let echo = |run: Run| async move { run.text("echo").await?; Ok(RunEnd::success()) };
    /// let count = |run: Run| async move { run.text("1, 2, 3").await?; Ok(RunEnd::success()) };
    /// let endpoint = Endpoint::by_header("x-agent-id")
    ///     .with_agent("echo", echo)
    ///     .with_agent("count", count)
    ///     .with_default("echo");
    /// # let _ = endpoint;
    /// ```
    pub fn by_header(name: &'static str) -> Self {
        Self::with_handlers(Handlers::Named {
            header: HeaderName::from_static(name),
            agents: HashMap::new(),
            default: None,
        })
    }

    fn with_handlers(handlers: Handlers) -> Self {
        let inner = Inner { handlers, settings: Settings::default(), registry: Arc::default() };
        Self { inner: Arc::new(inner) }
    }

    fn settings(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut Arc::make_mut(&mut self.inner).settings);
        self
    }

    /// Adds an agent under a name to an endpoint that chooses [by header](Self::by_header). One that has a single
    /// handler stays as it is, with a warning in the log.
    pub fn with_agent(self, name: impl Into<String>, handler: impl RunHandler) -> Self {
        self.with_dyn_agent(name, Arc::new(handler))
    }

    /// [`with_agent`](Self::with_agent) for a handler that is behind a pointer already.
    pub fn with_dyn_agent(mut self, name: impl Into<String>, handler: Arc<dyn DynRunHandler>) -> Self {
        if let Handlers::Named { agents, .. } = &mut Arc::make_mut(&mut self.inner).handlers {
            let name: Arc<str> = Arc::from(name.into());
            agents.insert(Arc::clone(&name), Agent { name: Some(name), handler });
        } else {
            tracing::warn!("an endpoint with a single handler has no named agents; see Endpoint::by_header");
        }
        self
    }

    /// Sets which agent answers when the header is absent; without one that is a 404 as well.
    pub fn with_default(mut self, name: impl Into<String>) -> Self {
        if let Handlers::Named { default, .. } = &mut Arc::make_mut(&mut self.inner).handlers {
            *default = Some(Arc::from(name.into()));
        }
        self
    }

    setters!();

    /// Puts the input on `RUN_STARTED` (`INPUT-5`). Off by default.
    pub fn with_echoed_input(self, echo: bool) -> Self {
        self.settings(|settings| settings.echo_input = echo)
    }

    /// Sets how long a handler may go on after its client went away; zero by default. Nothing it writes goes anywhere.
    pub fn with_abandon_grace(self, grace: Duration) -> Self {
        self.settings(|settings| settings.drive.abandon_grace = grace)
    }

    /// Sets what becomes of a run whose client goes away; it is cancelled by default.
    pub fn with_on_disconnect(self, on_disconnect: OnDisconnect) -> Self {
        self.settings(|settings| settings.drive.on_disconnect = on_disconnect)
    }

    /// Judges the head of a request.
    pub async fn begin(&self, parts: &request::Parts) -> Begun {
        match self.judge(parts).await {
            Ok(pending) => Begun::Accepted(pending),
            Err(refusal) => Begun::Refused(refusal.into_response()),
        }
    }

    async fn judge(&self, parts: &request::Parts) -> Result<Pending, Refusal> {
        let head = RequestHead::from(parts);
        let settings = &self.inner.settings;
        let extensions = settings.gate.check(&head).await?;
        if *head.method() != Method::POST {
            return Err(Refusal::method_not_allowed("POST"));
        }
        let agent = self.inner.handlers.choose(head.headers())?;
        judge::content_type(head.headers())?;
        let format = judge::format(settings, head.headers());
        let accepted = Accepted { endpoint: Arc::clone(&self.inner), agent, format, extensions };
        Ok(Pending::endpoint(accepted, head))
    }

    /// Answers a request for a path that does not exist: 404, but only to callers who present what this endpoint asks
    /// for. To strangers every path looks the same.
    pub async fn not_found(&self, parts: &request::Parts) -> Response<Body> {
        let refusal = match self.inner.settings.gate.check(&RequestHead::from(parts)).await {
            Ok(_) => Refusal::new(RefusalCode::NotFound),
            Err(refusal) => refusal,
        };
        refusal.into_response()
    }

    /// Shuts down: new runs are refused from this call on, those in progress may end for as long as `grace` and are
    /// cancelled then. Resolves when the last one is over. 10 s is a usual grace.
    pub fn shutdown(&self, grace: Duration) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.inner.registry).shutdown(grace)
    }
}
