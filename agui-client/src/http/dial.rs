//! One request, and what its answer is: a stream of frames, a document, or a refusal.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use agui_core::RunAgentInput;
use agui_core::consumer::prepare::Peer;
use agui_encoder::Format;
use agui_encoder::decode::{DEFAULT_MAX_FRAME_BYTES, Decoder, Frame, FrameError, Frames};
use futures_core::Stream;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use reqwest::{Client, RequestBuilder, Response, Url};

use crate::error::{Refused, RefusedHead};
use crate::{DialError, FrameSource, RunFailure};

/// How much of a refusal's body is read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// How large a document may be.
const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;

/// What every request to one server shares.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) client: Client,
    pub(super) headers: HeaderMap,
    pub(super) max_frame_bytes: usize,
    pub(super) peer: Peer,
    /// Whether the binary wire is offered, if this build reads it.
    pub(super) protobuf: bool,
}

impl Dialer {
    pub(super) fn new() -> Result<Self, DialError> {
        // An input and its credentials are for the address they were given to.
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true).build();
        Ok(Self {
            client: client
                .map_err(|error| DialError::Settings(format!("cannot make an HTTP client: {error}")))?,
            headers: HeaderMap::new(),
            max_frame_bytes: DEFAULT_MAX_FRAME_BYTES,
            peer: Peer::Current,
            protobuf: true,
        })
    }

    pub(super) fn set_bearer_token(&mut self, token: &str) -> Result<(), DialError> {
        self.headers.insert(AUTHORIZATION, bearer(token)?);
        Ok(())
    }

    /// What this build reads, named exactly: a wildcard would promise more (`BIND-3`).
    fn accept(&self) -> HeaderValue {
        if cfg!(feature = "protobuf") && self.protobuf {
            const BOTH: &str = "application/vnd.ag-ui.event+proto, text/event-stream";
            return HeaderValue::from_static(BOTH);
        }
        HeaderValue::from_static(Format::Sse.media_type())
    }

    /// Posts an input and gives the frames of the answer.
    pub(super) async fn stream(
        &self,
        url: Url,
        input: &RunAgentInput,
    ) -> Result<Box<dyn FrameSource>, DialError> {
        let body = serde_json::to_vec(input)
            .map_err(|error| DialError::Settings(format!("the input has no JSON: {error}")))?;
        let request = self.client.post(url);
        let response = self.send(request, Some(body), self.accept()).await?;
        let content_type = content_type(response.headers());
        let Some(decoder) = content_type.and_then(Decoder::for_content_type) else {
            return Err(unexpected(&response, "a stream of events (BIND-1)"));
        };
        let decoder = decoder.with_max_frame_bytes(self.max_frame_bytes);
        Ok(Box::new(Body(Box::pin(Frames::new(Box::pin(response.bytes_stream()), decoder)))))
    }

    /// Asks for a JSON document.
    pub(super) async fn document<T: serde::de::DeserializeOwned>(
        &self,
        request: RequestBuilder,
        body: Option<Vec<u8>>,
        expected: &'static str,
    ) -> Result<T, DialError> {
        let json = HeaderValue::from_static("application/json");
        let mut response = self.send(request, body, json).await?;
        let (bytes, complete) =
            read_up_to(&mut response, MAX_DOCUMENT_BYTES).await.map_err(DialError::unreachable)?;
        let document = complete.then(|| serde_json::from_slice(&bytes).ok()).flatten();
        document.ok_or_else(|| unexpected(&response, expected))
    }

    pub(super) fn request(&self, method: http::Method, url: Url) -> RequestBuilder {
        self.client.request(method, url)
    }

    /// Sends a request; what is not success is a refusal.
    async fn send(
        &self,
        request: RequestBuilder,
        body: Option<Vec<u8>>,
        accept: HeaderValue,
    ) -> Result<Response, DialError> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, accept);
        let mut request = request;
        if let Some(body) = body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request = request.body(body);
        }
        let mut response = request.headers(headers).send().await.map_err(DialError::unreachable)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let head = refused_head(response.status(), response.headers());
        // What has arrived of a body that breaks off is worth more than why it did.
        let (body, _) = read_up_to(&mut response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
        Err(Refused::new(head, &body).into())
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Header values may be secrets that nobody has marked as such.
        let headers: Vec<_> = self.headers.keys().collect();
        f.debug_struct("Dialer")
            .field("headers", &headers)
            .field("max_frame_bytes", &self.max_frame_bytes)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// A bearer token as a header's value, which `Debug` does not show.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue, DialError> {
    let Ok(mut value) = HeaderValue::try_from(format!("Bearer {token}")) else {
        return Err(DialError::Settings("the token is not fit for a header".to_owned()));
    };
    value.set_sensitive(true);
    Ok(value)
}

/// What the head of a refusal says.
pub(crate) fn refused_head(status: StatusCode, headers: &HeaderMap) -> RefusedHead {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    RefusedHead {
        status,
        retry_after: text(RETRY_AFTER).and_then(|value| value.parse().ok()).map(Duration::from_secs),
        location: text(LOCATION).map(str::to_owned),
    }
}

/// Reads the address of a server.
pub(super) fn parse_url(url: &str) -> Result<Url, DialError> {
    let parsed =
        Url::parse(url).map_err(|error| DialError::Settings(format!("the URL is malformed: {error}")))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(DialError::Settings(format!("the URL should be http or https, and is {other}"))),
    }
}

/// The one content type. With two, readers would disagree about which the body is in.
fn content_type(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

fn unexpected(response: &Response, expected: &'static str) -> DialError {
    DialError::Unexpected {
        status: response.status(),
        content_type: content_type(response.headers()).map(str::to_owned),
        expected,
    }
}

/// A body up to a limit, and whether that was all of it.
async fn read_up_to(response: &mut Response, limit: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut read = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - read.len();
        read.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            return Ok((read, false));
        }
    }
    Ok((read, true))
}

/// The frames of a body.
struct Body(Pin<Box<dyn Stream<Item = Result<Frame, FrameError<reqwest::Error>>> + Send>>);

impl FrameSource for Body {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>> {
        self.0.as_mut().poll_next(cx).map(|frame| frame.map(|frame| frame.map_err(RunFailure::from)))
    }
}
