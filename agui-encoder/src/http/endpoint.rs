//! One path, one agent (or several chosen by a header), POST in, events out.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, Method, Response, request};
use agui_core::producer::{Extensions, RunLimits};
use agui_core::{DynRunHandler, RunError, RunHandler};

use super::authenticate::{Admission, BearerToken};
use super::handlers::{Agent, Handlers};
use super::pending::Accepted;
use super::registry::Registry;
use super::settings::Settings;
use super::{Body, OnDisconnect, Pending, Refusal, RefusalCode, RequestHead, RunInfo};
use crate::{Format, Wildcards, negotiate_with};

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
    pub(crate) inner: Arc<Inner>,
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
    /// This is the answer. The body need not be read; [`drain_body`](super::drain_body) keeps a client that is still
    /// sending from missing it.
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

    /// Sets how many bytes a request's body may have, inclusive; 8 MiB by default.
    pub fn with_max_body_bytes(self, bytes: usize) -> Self {
        self.settings(|settings| settings.max_body_bytes = bytes)
    }

    /// Sets after how much silence a comment goes out on SSE; 15 s by default. The binary wire has none. Zero and `None` turn it off.
    pub fn with_keep_alive(self, interval: impl Into<Option<Duration>>) -> Self {
        // Longer than any run; a clock cannot be asked for just any time.
        const MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let interval =
            interval.into().filter(|interval| !interval.is_zero()).map(|interval| interval.min(MAX));
        self.settings(|settings| settings.keep_alive = interval)
    }

    /// Sets what wildcards in `Accept` admit.
    pub fn with_wildcards(self, wildcards: Wildcards) -> Self {
        self.settings(|settings| settings.wildcards = wildcards)
    }

    /// Sets whether the binary wire answers where `Accept` admits it; it does by default. Without the feature
    /// `protobuf` the answer is SSE in any case.
    ///
    /// # Examples
    /// ```
    /// use agui_core::{Run, RunEnd};
    /// use agui_encoder::http::Endpoint;
    ///
    /// let endpoint = Endpoint::new(|_: Run| async { Ok(RunEnd::success()) }).with_protobuf(false);
    /// # let _ = endpoint;
    /// ```
    pub fn with_protobuf(self, protobuf: bool) -> Self {
        self.settings(|settings| settings.protobuf = protobuf)
    }

    /// Asks every caller for this bearer token. It is compared in constant time, and an empty one admits nobody.
    pub fn with_bearer_token(self, token: impl Into<String>) -> Self {
        let token = BearerToken::new(token);
        self.settings(|settings| settings.gate.token = Some(token))
    }

    /// Asks this function who calls, before anything else is judged. What it returns is found among the run's
    /// [extensions](agui_core::Run::extensions); a refusal is the answer.
    ///
    /// # Examples
    /// ```
    /// use agui_core::{Run, RunEnd};
    /// use agui_encoder::http::{Endpoint, Refusal, RequestHead};
    ///
    /// struct User(String);
    ///
    /// let endpoint = Endpoint::new(|run: Run| async move {
    ///     let name = run.extensions().get::<User>().map(|user| user.0.clone()).unwrap_or_default();
    ///     run.text(format!("Hello {name}")).await?;
    ///     Ok(RunEnd::success())
    /// })
    /// .with_authenticator(|head: RequestHead| async move {
    ///     // Look the session up here.
    ///     head.header("x-session").map(|session| User(session.to_owned())).ok_or_else(Refusal::unauthorized)
    /// });
    /// # let _ = endpoint;
    /// ```
    pub fn with_authenticator<F, Fut, T>(self, authenticate: F) -> Self
    where
        F: Fn(RequestHead) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, Refusal>> + Send + 'static,
        T: Send + Sync + 'static,
    {
        self.settings(|settings| {
            settings.gate.authenticate = Some(Arc::new(move |head| {
                let identity = authenticate(head);
                Box::pin(async move {
                    let mut extensions = Extensions::new();
                    extensions.insert(identity.await?);
                    Ok(extensions)
                })
            }));
        })
    }

    /// Asks this function whether a well-formed run may start, with everything known about it. The thread id is a claim
    /// of the client's: whose thread it is has to be checked here.
    ///
    /// # Examples
    /// ```
    /// use agui_core::{Run, RunEnd};
    /// use agui_encoder::http::{Admission, Endpoint, Refusal};
    ///
    /// let endpoint = Endpoint::new(|_: Run| async { Ok(RunEnd::success()) }).with_admission(|asked: Admission| async move {
    ///     if asked.input.thread_id.as_str().starts_with("ada/") {
    ///         Ok(())
    ///     } else {
    ///         Err(Refusal::forbidden("The thread belongs to somebody else."))
    ///     }
    /// });
    /// # let _ = endpoint;
    /// ```
    pub fn with_admission<F, Fut>(self, admit: F) -> Self
    where
        F: Fn(Admission) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Refusal>> + Send + 'static,
    {
        self.settings(|settings| settings.admit = Some(Arc::new(move |asked| Box::pin(admit(asked)))))
    }

    /// Makes up the ids a client left out: `runId`, `threadId` and those of messages. Off by default, where a missing
    /// one is a 400.
    pub fn with_generated_ids(self, generate: bool) -> Self {
        self.settings(|settings| settings.generate_ids = generate)
    }

    /// Puts the input on `RUN_STARTED` (`INPUT-5`). Off by default.
    pub fn with_echoed_input(self, echo: bool) -> Self {
        self.settings(|settings| settings.echo_input = echo)
    }

    /// Sets how much one run may hold.
    pub fn with_run_limits(self, limits: RunLimits) -> Self {
        self.settings(|settings| settings.limits = limits)
    }

    /// Sets how long a run may take before it ends with `RUN_ERROR` with the code `timeout`; forever by default.
    pub fn with_run_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.settings(|settings| settings.drive.timeout = timeout)
    }

    /// Sets how many runs may be in progress at once; one more is a 503. Without bound by default.
    pub fn with_max_runs(self, runs: impl Into<Option<usize>>) -> Self {
        let runs = runs.into();
        self.settings(|settings| settings.max_runs = runs)
    }

    /// Sets how many runs one caller may have in progress; one more is a 429. `identity_of` says who the caller is, from
    /// what the authenticator and the layers in front left; `None` counts for nobody.
    pub fn with_max_runs_per_identity<F>(self, runs: usize, identity_of: F) -> Self
    where
        F: Fn(&Extensions) -> Option<String> + Send + Sync + 'static,
    {
        self.settings(|settings| settings.max_runs_per_identity = Some((runs, Arc::new(identity_of))))
    }

    /// Sets how long a handler may go on after its client went away; zero by default. Nothing it writes goes anywhere.
    pub fn with_abandon_grace(self, grace: Duration) -> Self {
        self.settings(|settings| settings.drive.abandon_grace = grace)
    }

    /// Sets how long a handler may go on after its run was stopped; 2 s by default.
    pub fn with_stop_grace(self, grace: Duration) -> Self {
        self.settings(|settings| settings.drive.stop_grace = grace)
    }

    /// Sets what becomes of a run whose client goes away; it is cancelled by default.
    pub fn with_on_disconnect(self, on_disconnect: OnDisconnect) -> Self {
        self.settings(|settings| settings.drive.on_disconnect = on_disconnect)
    }

    /// Tells this function of every run that fails, with the full error that the client does not see. The error goes to
    /// `tracing` as well.
    pub fn with_error_hook<F>(self, hook: F) -> Self
    where
        F: Fn(&RunError, &RunInfo) + Send + Sync + 'static,
    {
        self.settings(|settings| settings.drive.on_error = Some(Arc::new(hook)))
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
        if !is_json(head.headers()) {
            return Err(Refusal::new(RefusalCode::UnsupportedMediaType));
        }
        let format = if settings.protobuf {
            negotiate_with(head.headers().get_all(ACCEPT), settings.wildcards)
        } else {
            Format::Sse
        };
        let accepted = Accepted { endpoint: Arc::clone(&self.inner), agent, format, extensions };
        Ok(Pending::new(accepted, head))
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

/// Whether the content type is JSON, by its own name or by its suffix. Two content types are none: which of them the
/// body is in, readers would disagree about.
fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let essence = value.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let Some((kind, subtype)) = essence.split_at_checked(b"application/".len()) else { return false };
    kind.eq_ignore_ascii_case(b"application/")
        && subtype.iter().all(|&byte| is_token(byte))
        && (subtype.eq_ignore_ascii_case(b"json")
            || subtype.len() > b"+json".len()
                && subtype.last_chunk().is_some_and(|end: &[u8; 5]| end.eq_ignore_ascii_case(b"+json")))
}

/// Whether a byte may stand in a type's name.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}
