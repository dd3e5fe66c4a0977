//! The WebSocket transport as a warp filter: the upgrade, and warp's messages as the session's.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::Version;
use ::http::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use ::http::request::Parts;
use agui_core::producer::Extensions;
use agui_encoder::http::{self, Refusal, RefusalCode};
use agui_encoder::ws::{Begun, Gone, Incoming, Outgoing, Socket, WebSocketEndpoint};
use futures_util::{Sink, Stream};
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite;
use warp::filters::ws::{Message, WebSocket, Ws};
use warp::reply::Response;
use warp::{Filter, Rejection, Reply};

use super::{answer, into_warp, request};

/// Serves an endpoint over WebSocket, whatever the path.
///
/// # Examples
/// ```
/// use agui_warp::{Endpoint, Run, RunEnd, WebSocketEndpoint};
/// use warp::Filter;
///
/// let hello = async |run: Run| { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let endpoint = Endpoint::new(hello);
/// let sockets = WebSocketEndpoint::new(endpoint.clone()).with_allowed_origins(["https://app.example"]);
/// let app = warp::path!("agui").and(agui_warp::endpoint(endpoint))
///     .or(warp::path!("agui" / "ws").and(agui_warp::websocket(sockets)));
/// # let _ = warp::serve(app);
/// ```
pub fn websocket(
    endpoint: WebSocketEndpoint,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static {
    request()
        .and(upgrade())
        .then(move |head, body, upgrade| serve(endpoint.clone(), head, body, upgrade, |_| {}))
}

/// [`websocket`], with a filter that extracts from the upgrade what the handlers shall find among the
/// [run's](agui_core::Run::extensions), by its type. A request that the filter rejects does not reach the endpoint.
pub fn websocket_with<F, T>(
    endpoint: WebSocketEndpoint,
    filter: F,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static
where
    F: Filter<Extract = (T,), Error = Rejection> + Clone + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    filter.and(request()).and(upgrade()).then(move |extracted: T, head, body, upgrade| {
        serve(endpoint.clone(), head, body, upgrade, |run| {
            run.insert(extracted);
        })
    })
}

/// What warp makes of an upgrade; nothing if it is none. Warp does not tell the version of HTTP, but only 1.1 comes with
/// the means to upgrade.
fn upgrade()
-> impl Filter<Extract = ((Version, Option<Ws>),), Error = Infallible> + Clone + Send + Sync + 'static {
    let none = warp::any().map(|| None);
    let upgrade = warp::ws().map(Some).or(none).unify();
    warp::ext::optional().and(upgrade).map(|means: Option<OnUpgrade>, upgrade| {
        (if means.is_some() { Version::HTTP_11 } else { Version::HTTP_10 }, upgrade)
    })
}

async fn serve<B>(
    endpoint: WebSocketEndpoint,
    mut head: Parts,
    body: B,
    (version, upgrade): (Version, Option<Ws>),
    copy: impl FnOnce(&mut Extensions),
) -> Response
where
    B: http_body::Body,
    B::Data: bytes::Buf,
{
    head.version = version;
    let mut session = match endpoint.begin(&head).await {
        Begun::Refused(response) => return answer(http::Begun::Refused(response), &head, body, |_| {}).await,
        Begun::Accepted(session) => session,
    };
    let Some(upgrade) = upgrade else {
        return into_warp(Refusal::new(RefusalCode::UpgradeRequired).into_response(), &head.method).await;
    };
    copy(session.extensions_mut());
    let (limit, protocol) = (session.max_message_bytes(), session.protocol());
    let upgrade = upgrade.max_message_size(limit).max_frame_size(limit);
    let mut response = upgrade.on_upgrade(|socket| session.serve(Warp(socket))).into_response();
    if let Some(protocol) = protocol {
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    response
}

/// A socket of warp's.
struct Warp(WebSocket);

impl Socket for Warp {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Incoming>> {
        loop {
            let message = match Pin::new(&mut self.0).poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(message) => message,
            };
            return Poll::Ready(match message {
                Some(Ok(message)) if message.is_text() => Some(Incoming::Text(message.into_bytes())),
                Some(Ok(message)) if message.is_pong() => Some(Incoming::Pong),
                Some(Ok(message)) if message.is_close() => Some(Incoming::Close),
                // Answered already.
                Some(Ok(message)) if message.is_ping() => continue,
                Some(Ok(_)) => Some(Incoming::Binary),
                Some(Err(error)) => failed(&error),
                None => None,
            });
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        Pin::new(&mut self.0).poll_ready(cx).map_err(|_| Gone)
    }

    fn start_send(&mut self, message: Outgoing) -> Result<(), Gone> {
        let message = match message {
            Outgoing::Text(text) => Message::text(String::from_utf8(text.into()).map_err(|_| Gone)?),
            Outgoing::Ping => Message::ping(bytes::Bytes::new()),
            Outgoing::Pong(payload) => Message::pong(payload),
            Outgoing::Close(code, reason) => Message::close_with(code.as_u16(), reason),
        };
        Pin::new(&mut self.0).start_send(message).map_err(|_| Gone)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        Pin::new(&mut self.0).poll_flush(cx).map_err(|_| Gone)
    }
}

/// What an error says about the peer; nothing if the connection is over.
fn failed(error: &warp::Error) -> Option<Incoming> {
    match error.source()?.downcast_ref()? {
        tungstenite::Error::Capacity(_) => Some(Incoming::TooLarge),
        tungstenite::Error::Utf8(_) => Some(Incoming::BadUtf8),
        tungstenite::Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => None,
        tungstenite::Error::Protocol(_) => Some(Incoming::Malformed),
        _ => None,
    }
}
