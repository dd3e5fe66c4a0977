//! The WebSocket transport as an actix-web route: the upgrade, and actix-http's frames as the session's messages.
//!
//! What a client sends arrives in the payload of its request, and what it is sent is the body of the response. The
//! codec is actix-http's; it cuts bytes into frames and leaves it to others to join what comes in fragments and to look
//! at the text.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_http::ws::{CloseReason, Codec, Frame, Item, Message, handshake};
use actix_web::body::BodyStream;
use actix_web::http::header::SEC_WEBSOCKET_PROTOCOL;
use actix_web::web::{Bytes, BytesMut, Payload};
use actix_web::{HttpRequest, HttpResponse, Route, rt, web};
use agui_core::producer::Extensions;
use agui_encoder::http::{self, Refusal, RefusalCode};
use agui_encoder::ws::{Begun, Gone, Incoming, Outgoing, Socket, WebSocketEndpoint};
use futures_util::Stream;
use futures_util::stream::poll_fn;
use tokio::sync::mpsc;
use tokio_util::codec::{Decoder, Encoder};
use tokio_util::sync::PollSender;

use super::{answer, head_of, into_actix};

/// How many frames wait for the connection before the session does.
const QUEUED_FRAMES: usize = 16;

/// Serves an endpoint over WebSocket on a route.
///
/// # Examples
/// ```
/// use actix_web::App;
/// use agui_actix::{Endpoint, Run, RunEnd, WebSocketEndpoint};
///
/// let hello = async |run: Run| { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let endpoint = Endpoint::new(hello);
/// let sockets = WebSocketEndpoint::new(endpoint.clone()).with_allowed_origins(["https://app.example"]);
/// let app = App::new()
///     .route("/agui", agui_actix::endpoint(endpoint))
///     .route("/agui/ws", agui_actix::websocket(sockets));
/// # let _ = app;
/// ```
pub fn websocket(endpoint: WebSocketEndpoint) -> Route {
    websocket_with(endpoint, |_, _| {})
}

/// [`websocket`], with a function that copies from the request of the upgrade what the handlers shall find among the
/// [run's](agui_core::Run::extensions).
pub fn websocket_with<F>(endpoint: WebSocketEndpoint, copy: F) -> Route
where
    F: Fn(&HttpRequest, &mut Extensions) + Clone + 'static,
{
    web::route().to(move |request: HttpRequest, payload: Payload| {
        let (endpoint, copy) = (endpoint.clone(), copy.clone());
        async move {
            let head = head_of(&request);
            let mut session = match endpoint.begin(&head).await {
                Begun::Refused(response) => {
                    return Ok(answer(http::Begun::Refused(response), &head, payload, |_| {}).await);
                }
                Begun::Accepted(session) => session,
            };
            copy(&request, session.extensions_mut());
            let Ok(mut response) = handshake(request.head()) else {
                return Ok(into_actix(Refusal::new(RefusalCode::UpgradeRequired).into_response()));
            };
            if let Some(protocol) = session.protocol() {
                response.insert_header((SEC_WEBSOCKET_PROTOCOL, protocol));
            }
            let (sender, mut receiver) = mpsc::channel(QUEUED_FRAMES);
            let watched = sender.clone();
            let limit = session.max_message_bytes();
            rt::spawn(session.serve(Actix {
                payload,
                codec: Codec::new().max_size(limit),
                limit,
                read: BytesMut::new(),
                fragments: BytesMut::new(),
                sender: PollSender::new(sender),
                over: Box::pin(async move { watched.closed().await }),
            }));
            let frames = BodyStream::new(poll_fn(move |cx| receiver.poll_recv(cx)));
            let response: HttpResponse = response.message_body(frames)?.map_into_boxed_body().into();
            Ok::<_, actix_web::Error>(response)
        }
    })
}

/// The socket as the session has it.
struct Actix {
    payload: Payload,
    codec: Codec,
    limit: usize,
    read: BytesMut,
    fragments: BytesMut,
    sender: PollSender<Result<Bytes, Infallible>>,
    /// Resolves when actix-web drops the body of the response: the connection is over, also if the payload does not say so.
    over: Pin<Box<dyn Future<Output = ()>>>,
}

impl Actix {
    /// The message of a frame; none as long as more fragments of it are to come.
    fn message(&mut self, frame: Frame) -> Option<Incoming> {
        match frame {
            Frame::Text(text) => Some(text_of(text)),
            Frame::Binary(_) | Frame::Continuation(Item::FirstBinary(_)) => Some(Incoming::Binary),
            Frame::Ping(payload) => Some(Incoming::Ping(payload)),
            Frame::Pong(_) => Some(Incoming::Pong),
            Frame::Close(_) => Some(Incoming::Close),
            Frame::Continuation(Item::FirstText(part) | Item::Continue(part)) => self.join(&part),
            Frame::Continuation(Item::Last(part)) => {
                self.join(&part).or_else(|| Some(text_of(std::mem::take(&mut self.fragments).freeze())))
            }
        }
    }

    fn join(&mut self, part: &Bytes) -> Option<Incoming> {
        if part.len() > self.limit.saturating_sub(self.fragments.len()) {
            return Some(Incoming::TooLarge);
        }
        self.fragments.extend_from_slice(part);
        None
    }
}

/// How long the frame is that these bytes begin with, if that takes eight bytes to say. Shorter ones are no concern: the
/// limit is never below what two bytes can say.
fn announced(frame: &[u8]) -> u64 {
    match frame {
        [_, second, length @ ..] if second & 0x7f == 127 => {
            length.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
        }
        _ => 0,
    }
}

fn text_of(text: Bytes) -> Incoming {
    if std::str::from_utf8(&text).is_ok() { Incoming::Text(text) } else { Incoming::BadUtf8 }
}

impl Socket for Actix {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Incoming>> {
        loop {
            // The codec would look at the size of a frame only when all of it is here.
            if announced(&self.read) > self.limit as u64 {
                return Poll::Ready(Some(Incoming::TooLarge));
            }
            match self.codec.decode(&mut self.read) {
                Ok(Some(frame)) => match self.message(frame) {
                    Some(message) => return Poll::Ready(Some(message)),
                    None => continue,
                },
                Ok(None) => {}
                Err(_) => return Poll::Ready(Some(Incoming::Malformed)),
            }
            match Pin::new(&mut self.payload).poll_next(cx) {
                Poll::Ready(Some(Ok(bytes))) => self.read.extend_from_slice(&bytes),
                Poll::Ready(_) => return Poll::Ready(None),
                Poll::Pending => return self.over.as_mut().poll(cx).map(|()| None),
            }
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        self.sender.poll_reserve(cx).map_err(|_| Gone)
    }

    fn start_send(&mut self, message: Outgoing) -> Result<(), Gone> {
        let message = match message {
            Outgoing::Text(text) => Message::Text(text.try_into().map_err(|_| Gone)?),
            Outgoing::Ping => Message::Ping(Bytes::new()),
            Outgoing::Pong(payload) => Message::Pong(payload),
            Outgoing::Close(code, reason) => Message::Close(Some(CloseReason {
                code: code.as_u16().into(),
                description: Some(reason.to_owned()),
            })),
        };
        let mut frame = BytesMut::new();
        self.codec.encode(message, &mut frame).map_err(|_| Gone)?;
        self.sender.send_item(Ok(frame.freeze())).map_err(|_| Gone)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        // actix-web takes what it is given as soon as it can.
        Poll::Ready(Ok(()))
    }
}
