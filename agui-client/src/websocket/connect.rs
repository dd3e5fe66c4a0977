//! Opens a socket: the upgrade, then the hello and its acknowledgement.

use std::collections::BTreeMap;
use std::fmt;
use std::future;
use std::pin::Pin;
use std::task::Poll;

use futures_core::Stream;
use futures_util::{SinkExt, StreamExt};
use http::header::SEC_WEBSOCKET_PROTOCOL;
use http::{HeaderMap, HeaderValue, Uri};
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::error::Refused;
use crate::{DialError, TruncationCause};

/// The subprotocol's name.
const SUBPROTOCOL: &str = "ag-ui.1";

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What the hello says.
#[derive(Clone, Default, Serialize)]
#[serde(tag = "type", rename = "hello")]
pub(super) struct Greeting {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    #[serde(flatten)]
    pub(super) attributes: BTreeMap<String, String>,
}

impl Greeting {
    fn says_nothing(&self) -> bool {
        self.token.is_none() && self.attributes.is_empty()
    }
}

impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Greeting").field("attributes", &self.attributes).finish_non_exhaustive()
    }
}

/// Opens a socket, and introduces the client where there is something to say.
pub(super) async fn connect(
    url: &Uri,
    headers: &HeaderMap,
    greeting: &Greeting,
    max_frame_bytes: usize,
) -> Result<Socket, DialError> {
    let mut request = url.into_client_request().map_err(DialError::unreachable)?;
    for (name, value) in headers {
        request.headers_mut().insert(name, value.clone());
    }
    request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    let config = WebSocketConfig::default()
        .max_message_size(Some(max_frame_bytes))
        .max_frame_size(Some(max_frame_bytes));
    let no_delay = true;
    let (mut socket, _) =
        connect_async_with_config(request, Some(config), no_delay).await.map_err(refused)?;
    if !greeting.says_nothing() {
        let hello = serde_json::to_string(greeting)
            .map_err(|error| DialError::Settings(format!("the hello has no JSON: {error}")))?;
        socket.send(Message::text(hello)).await.map_err(DialError::unreachable)?;
        acknowledged(&mut socket).await?;
    }
    Ok(socket)
}

/// An answer that is no upgrade is a refusal as on HTTP.
fn refused(error: Error) -> DialError {
    match error {
        Error::Http(response) => {
            let head = crate::http::refused_head(response.status(), response.headers());
            Refused::new(head, response.body().as_deref().unwrap_or_default()).into()
        }
        Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(_)) => DialError::Subprotocol,
        error => DialError::unreachable(error),
    }
}

/// Waits for the hello to be acknowledged.
async fn acknowledged(socket: &mut Socket) -> Result<(), DialError> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Text(text))) => {
                let frame: Option<Value> = serde_json::from_str(&text).ok();
                return match frame.as_ref().and_then(|frame| frame.get("type")).and_then(Value::as_str) {
                    Some("hello_ack") => Ok(()),
                    _ => Err(DialError::Unacknowledged),
                };
            }
            Some(Ok(other)) => return Err(DialError::Closed(closed(other))),
            Some(Err(error)) => return Err(DialError::unreachable(error)),
            None => return Err(DialError::Closed(TruncationCause::Ended)),
        }
    }
}

/// What a message says that is no event.
pub(super) fn closed(message: Message) -> TruncationCause {
    match message {
        Message::Close(Some(frame)) => TruncationCause::Closed {
            code: Some(frame.code.into()),
            reason: frame.reason.as_str().to_owned(),
        },
        _ => TruncationCause::Closed { code: None, reason: String::new() },
    }
}

/// Whether a socket on which nothing was going on can still be used. Answers what pings have come meanwhile.
pub(super) async fn is_usable(socket: &mut Socket) -> bool {
    // What has arrived is not there to be read before the runtime has looked.
    tokio::task::yield_now().await;
    future::poll_fn(|cx| {
        loop {
            match Pin::new(&mut *socket).poll_next(cx) {
                Poll::Pending => return Poll::Ready(true),
                Poll::Ready(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                // It is closed, or says something that nobody has asked for.
                Poll::Ready(_) => return Poll::Ready(false),
            }
        }
    })
    .await
}
