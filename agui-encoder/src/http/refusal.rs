//! Refusals: what is answered instead of a stream, in one JSON shape with one status per code.
//!
//! A message is for the developer of the client and safe to show: no parser positions, type names or secrets.

use std::borrow::Cow;
use std::time::Duration;

use ::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE};
use ::http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

use super::Body;

/// Why a request is refused, for programs. The names do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalCode {
    /// The body is no JSON.
    InvalidJson,
    /// The body is JSON, but not what the route takes.
    InvalidInput,
    /// The request is malformed elsewhere: an envelope, an escape in the path.
    InvalidRequest,
    /// No credentials, or wrong ones.
    Unauthorized,
    /// A known caller that may not do this.
    Forbidden,
    /// No agent of that name.
    AgentNotFound,
    /// No such path.
    NotFound,
    /// The path takes other methods.
    MethodNotAllowed,
    /// The thread has a run in progress.
    ThreadBusy,
    /// The thread's record has a run of that id.
    RunExists,
    /// The body is over the limit.
    BodyTooLarge,
    /// The content type is not JSON.
    UnsupportedMediaType,
    /// The path speaks WebSocket alone.
    UpgradeRequired,
    /// The caller has too many runs in progress.
    TooManyRuns,
    /// A failure of the server before the stream.
    InternalError,
    /// Shutting down, or at capacity.
    Unavailable,
}

impl RefusalCode {
    /// The code as it stands in the body.
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The status that goes with it.
    pub const fn status(self) -> StatusCode {
        self.row().0
    }

    /// Status, code, and what `error` says.
    const fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::InvalidJson => (StatusCode::BAD_REQUEST, "invalid_json", "Invalid JSON"),
            Self::InvalidInput => (StatusCode::BAD_REQUEST, "invalid_input", "Invalid request body"),
            Self::InvalidRequest => (StatusCode::BAD_REQUEST, "invalid_request", "Invalid request"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden", "Forbidden"),
            Self::AgentNotFound => (StatusCode::NOT_FOUND, "agent_not_found", "Agent not found"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "Not found"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed")
            }
            Self::ThreadBusy => (StatusCode::CONFLICT, "thread_busy", "Thread busy"),
            Self::RunExists => (StatusCode::CONFLICT, "run_exists", "Run exists"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "Request body too large"),
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "Unsupported media type")
            }
            Self::UpgradeRequired => (StatusCode::UPGRADE_REQUIRED, "upgrade_required", "Upgrade required"),
            Self::TooManyRuns => (StatusCode::TOO_MANY_REQUESTS, "too_many_runs", "Too many runs"),
            Self::InternalError => (StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "Internal error"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Unavailable"),
        }
    }
}

/// A request that is refused before a stream opens.
///
/// # Examples
/// ```
/// use agui_encoder::http::{Refusal, RefusalCode};
///
/// let refusal = Refusal::new(RefusalCode::Forbidden).with_message("The thread belongs to somebody else.");
/// let response = refusal.into_response();
/// assert_eq!(response.status(), 403);
/// assert_eq!(response.headers()["content-type"], "application/json");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Refusal(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    code: RefusalCode,
    message: Cow<'static, str>,
    path: Option<String>,
    run_id: Option<String>,
    retry_after: Option<Duration>,
    allow: Option<&'static str>,
}

impl Refusal {
    /// A refusal with this code and a message that fits every case of it.
    pub fn new(code: RefusalCode) -> Self {
        let message = match code {
            RefusalCode::InvalidJson => "The body is not valid JSON.",
            RefusalCode::InvalidInput => "The body is not a valid run input.",
            RefusalCode::InvalidRequest => "The request is malformed.",
            RefusalCode::Unauthorized => "Valid credentials are required.",
            RefusalCode::Forbidden => "The caller may not do this.",
            RefusalCode::AgentNotFound => "There is no agent of this name.",
            RefusalCode::NotFound => "There is nothing at this path.",
            RefusalCode::MethodNotAllowed => "The method is not allowed here.",
            RefusalCode::ThreadBusy => "A run is in progress on this thread.",
            RefusalCode::RunExists => "The thread has a run of this id already.",
            RefusalCode::BodyTooLarge => "The body is larger than the server accepts.",
            RefusalCode::UnsupportedMediaType => "The content type must be application/json.",
            RefusalCode::UpgradeRequired => "Only a WebSocket upgrade is served here.",
            RefusalCode::TooManyRuns => "The caller has too many runs in progress.",
            RefusalCode::InternalError => "The server failed before the run began.",
            RefusalCode::Unavailable => "The server takes no new runs at the moment.",
        };
        let retry_after = matches!(code, RefusalCode::TooManyRuns | RefusalCode::Unavailable)
            .then_some(Duration::from_secs(1));
        Self(Box::new(Inner {
            code,
            message: message.into(),
            path: None,
            run_id: None,
            retry_after,
            allow: None,
        }))
    }

    /// The caller is unknown: 401.
    pub fn unauthorized() -> Self {
        Self::new(RefusalCode::Unauthorized)
    }

    /// The caller is known and may not do this: 403.
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(RefusalCode::Forbidden).with_message(message)
    }

    /// The caller has too many runs in progress: 429.
    pub fn too_many_runs(retry_after: Duration) -> Self {
        Self::new(RefusalCode::TooManyRuns).with_retry_after(retry_after)
    }

    /// The server takes nothing at the moment: 503.
    pub fn unavailable(retry_after: Duration) -> Self {
        Self::new(RefusalCode::Unavailable).with_retry_after(retry_after)
    }

    pub(crate) fn method_not_allowed(allow: &'static str) -> Self {
        let mut refusal =
            Self::new(RefusalCode::MethodNotAllowed).with_message(format!("Only {allow} is allowed here."));
        refusal.0.allow = Some(allow);
        refusal
    }

    /// Sets the sentence for the developer. The client can read it.
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Names the first offending member of the body, `messages[0].id`.
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Names the run that is in the way.
    pub fn with_run_id(mut self, run_id: impl Into<String>) -> Self {
        self.0.run_id = Some(run_id.into());
        self
    }

    /// Sets after how long to try again, rounded up to whole seconds.
    pub const fn with_retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// Why.
    pub const fn code(&self) -> RefusalCode {
        self.0.code
    }

    /// The sentence for the developer.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The body as JSON text, also for transports that are not HTTP.
    pub fn to_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Shape<'a> {
            error: &'static str,
            message: &'a str,
            code: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            path: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            run_id: Option<&'a str>,
        }
        let (_, code, error) = self.0.code.row();
        let shape = Shape {
            error,
            message: &self.0.message,
            code,
            path: self.0.path.as_deref(),
            run_id: self.0.run_id.as_deref(),
        };
        // Strings alone always have a JSON.
        serde_json::to_vec(&shape).unwrap_or_default()
    }

    /// The refusal as a response.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::full(self.to_json()));
        *response.status_mut() = self.0.code.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.0.code == RefusalCode::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.0.code == RefusalCode::UpgradeRequired {
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        if let Some(allow) = self.0.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(after) = self.0.retry_after {
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
