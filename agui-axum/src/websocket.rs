//! The WebSocket transport as an axum route: the upgrade, and axum's messages as the session's.

use std::pin::Pin;
use std::task::{Context, Poll};

use agui_core::producer::Extensions;
use agui_encoder::http;
use agui_encoder::ws::{Begun, Gone, Incoming, Outgoing, Socket, WebSocketEndpoint};
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite;

use super::answer;

/// What a socket keeps for reading, and what it joins before it writes. Sockets are many and mostly idle.
const BUFFER_BYTES: usize = 8 * 1024;

/// Serves an endpoint over WebSocket on a route.
///
/// # Examples
/// ```
/// use agui_axum::{Endpoint, Run, RunEnd, WebSocketEndpoint};
///
/// let hello = |run: Run| async move { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let endpoint = Endpoint::new(hello);
/// let sockets = WebSocketEndpoint::new(endpoint.clone()).with_allowed_origins(["https://app.example"]);
/// let app = axum::Router::<()>::new()
///     .route("/agui", agui_axum::endpoint(endpoint))
///     .route("/agui/ws", agui_axum::websocket(sockets));
/// # let _ = app;
/// ```
pub fn websocket<S>(endpoint: WebSocketEndpoint) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    websocket_with(endpoint, |_, _| {})
}

/// [`websocket`], with a function that copies from the extensions of the upgrade's request what the handlers shall find
/// among the [run's](agui_core::Run::extensions).
pub fn websocket_with<S, F>(endpoint: WebSocketEndpoint, copy: F) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(&::http::Extensions, &mut Extensions) + Clone + Send + Sync + 'static,
{
    any(move |request: Request| async move {
        let (mut head, body) = request.into_parts();
        let mut session = match endpoint.begin(&head).await {
            Begun::Refused(response) => {
                return answer(http::Begun::Refused(response), &head, body, |_, _| {}).await;
            }
            Begun::Accepted(session) => session,
        };
        copy(&head.extensions, session.extensions_mut());
        let upgrade = match WebSocketUpgrade::from_request_parts(&mut head, &()).await {
            Ok(upgrade) => upgrade,
            // The server in front of the router does not do upgrades.
            Err(rejection) => return rejection.into_response(),
        };
        let limit = session.max_message_bytes();
        let upgrade = upgrade
            .protocols(session.protocol())
            .max_message_size(limit)
            .max_frame_size(limit)
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES);
        let response: Response = upgrade.on_upgrade(|socket| session.serve(Axum(socket)));
        response
    })
}

/// A socket of axum's.
struct Axum(WebSocket);

impl Socket for Axum {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Incoming>> {
        loop {
            let message = match Pin::new(&mut self.0).poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(message) => message,
            };
            return Poll::Ready(match message {
                Some(Ok(Message::Text(text))) => Some(Incoming::Text(Bytes::from(text))),
                Some(Ok(Message::Binary(_))) => Some(Incoming::Binary),
                // Answered already.
                Some(Ok(Message::Ping(_))) => continue,
                Some(Ok(Message::Pong(_))) => Some(Incoming::Pong),
                Some(Ok(Message::Close(_))) => Some(Incoming::Close),
                Some(Err(error)) => failed(error),
                None => None,
            });
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        Pin::new(&mut self.0).poll_ready(cx).map_err(|_| Gone)
    }

    fn start_send(&mut self, message: Outgoing) -> Result<(), Gone> {
        let message = match message {
            Outgoing::Text(text) => Message::Text(Utf8Bytes::try_from(text).map_err(|_| Gone)?),
            Outgoing::Ping => Message::Ping(Bytes::new()),
            Outgoing::Pong(payload) => Message::Pong(payload),
            Outgoing::Close(code, reason) => Message::Close(Some(CloseFrame {
                code: code.as_u16(),
                reason: Utf8Bytes::from_static(reason),
            })),
        };
        Pin::new(&mut self.0).start_send(message).map_err(|_| Gone)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        Pin::new(&mut self.0).poll_flush(cx).map_err(|_| Gone)
    }
}

/// What an error says about the peer; nothing if the connection is over.
fn failed(error: axum::Error) -> Option<Incoming> {
    match error.into_inner().downcast_ref()? {
        tungstenite::Error::Capacity(_) => Some(Incoming::TooLarge),
        tungstenite::Error::Utf8(_) => Some(Incoming::BadUtf8),
        tungstenite::Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => None,
        tungstenite::Error::Protocol(_) => Some(Incoming::Malformed),
        _ => None,
    }
}
