//! What requests are judged by on every surface, step by step; each surface takes the steps in the contract's order.

use std::sync::Arc;

use ::http::HeaderMap;
use ::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use ::http::{HeaderName, HeaderValue, Response};
use agui_core::RunAgentInput;
use agui_core::producer::Extensions;
use agui_core::store::ThreadKey;
use bytes::Bytes;

use super::authenticate::{Admission, Intent, guard, guard_call};
use super::registry::Quota;
use super::settings::Settings;
use super::{Body, Refusal, RefusalCode, RequestBody};
use crate::{Format, negotiate_with};

/// Tells reverse proxies not to collect the stream.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Which format the answer is in.
pub(crate) fn format(settings: &Settings, headers: &HeaderMap) -> Format {
    if settings.protobuf { negotiate_with(headers.get_all(ACCEPT), settings.wildcards) } else { Format::Sse }
}

/// Refuses a body that is not said to be JSON.
pub(crate) fn content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    if is_json(headers) { Ok(()) } else { Err(Refusal::new(RefusalCode::UnsupportedMediaType)) }
}

/// The body, if it is all there and within the limit.
pub(crate) fn complete(settings: &Settings, body: RequestBody) -> Result<Bytes, Refusal> {
    match body {
        RequestBody::Complete(body) if body.len() <= settings.max_body_bytes => Ok(body),
        RequestBody::Complete(_) | RequestBody::TooLarge => Err(Refusal::new(RefusalCode::BodyTooLarge)
            .with_message(format!("The body is larger than {} bytes.", settings.max_body_bytes))),
        RequestBody::Vanished => {
            Err(Refusal::new(RefusalCode::InvalidJson).with_message("The body ended before it was complete."))
        }
    }
}

/// Refuses a member of the body that is too long for an id of a thread or a run.
pub(crate) fn member_id(settings: &Settings, name: &'static str, id: &str) -> Result<(), Refusal> {
    if id.len() <= settings.max_id_bytes {
        return Ok(());
    }
    let message = format!("{name} is longer than {} bytes.", settings.max_id_bytes);
    Err(Refusal::new(RefusalCode::InvalidInput).with_message(message).with_path(name))
}

/// The same for the thread that a request names elsewhere.
pub(crate) fn named_thread(settings: &Settings, id: &str) -> Result<(), Refusal> {
    member_id(settings, "threadId", id).map_err(|refusal| {
        Refusal::new(RefusalCode::InvalidRequest).with_message(refusal.message().to_owned())
    })
}

/// Asks the application's hook.
pub(crate) async fn admit(
    settings: &Settings,
    extensions: &Extensions,
    input: &Arc<RunAgentInput>,
    agent: Option<&Arc<str>>,
    intent: Intent,
) -> Result<(), Refusal> {
    let Some(admit) = &settings.admit else { return Ok(()) };
    let asked =
        Admission { extensions: extensions.clone(), input: Arc::clone(input), agent: agent.cloned(), intent };
    guard(|| admit(asked)).await?
}

/// What limits the runs of a caller. A run on a thread is named by it where the thread has one at a time.
pub(crate) fn quota(
    settings: &Settings,
    extensions: &Extensions,
    thread: Option<ThreadKey>,
) -> Result<Quota, Refusal> {
    let identity = settings
        .max_runs_per_identity
        .as_ref()
        .map(|(limit, identity_of)| {
            guard_call(|| identity_of(extensions)).map(|identity| Some((identity?, *limit)))
        })
        .transpose()?
        .flatten();
    Ok(Quota { thread, max_runs: settings.max_runs, identity })
}

/// The head of every answer that is a stream.
pub(crate) fn stream(format: Format, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Whether the content type is JSON, by its own name or by its suffix. Two content types are none: which of them the
/// body is in, readers would disagree about.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
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
