//! One run on a socket.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agui_core::RunId;
use agui_core::consumer::StreamError;
use agui_encoder::decode::Frame;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::Sink;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::agent::Sockets;
use super::connect::{Socket, closed};
use crate::{FrameSource, RunFailure};

/// Where a run is listed while it is in progress, and where its socket goes when it is over.
#[derive(Debug)]
pub(super) struct Place {
    sockets: Arc<Sockets>,
    run_id: RunId,
    stop: CancellationToken,
}

impl Place {
    pub(super) fn new(sockets: Arc<Sockets>, run_id: RunId) -> Self {
        let stop = CancellationToken::new();
        sockets.lock().running.insert(run_id.clone(), stop.clone());
        Self { sockets, run_id, stop }
    }

    fn put_back(&self, socket: Socket) {
        self.sockets.lock().idle.get_or_insert(socket);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.sockets.lock().running.remove(&self.run_id);
    }
}

/// The frames of one run.
pub(super) struct SocketSource {
    /// Absent once the run is over, or the socket is no good any more.
    socket: Option<Socket>,
    place: Place,
    index: u64,
    /// Absent once it has fired.
    stop_asked: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    /// To be sent.
    stop_frame: Option<Message>,
    unflushed: bool,
}

impl SocketSource {
    pub(super) fn new(socket: Socket, place: Place) -> Self {
        let stop_asked = Some(Box::pin(place.stop.clone().cancelled_owned()));
        Self { socket: Some(socket), place, index: 0, stop_asked, stop_frame: None, unflushed: false }
    }

    /// Gets the stop frame out, if there is one. Reading goes on meanwhile.
    fn poll_stop(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let mut socket = Pin::new(socket);
        if let Some(asked) = &mut self.stop_asked
            && asked.as_mut().poll(cx).is_ready()
        {
            self.stop_asked = None;
            let stop = json!({ "type": "stop", "runId": self.place.run_id.as_str() });
            self.stop_frame = Some(Message::text(stop.to_string()));
        }
        if self.stop_frame.is_some()
            && let Poll::Ready(room) = socket.as_mut().poll_ready(cx)
        {
            room?;
            if let Some(frame) = self.stop_frame.take() {
                socket.as_mut().start_send(frame)?;
                self.unflushed = true;
            }
        }
        if self.unflushed
            && let Poll::Ready(flushed) = socket.poll_flush(cx)
        {
            flushed?;
            self.unflushed = false;
        }
        Ok(())
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>> {
        loop {
            let Some(socket) = &mut self.socket else { return Poll::Ready(None) };
            let Some(message) = ready!(Pin::new(socket).poll_next(cx)) else { return Poll::Ready(None) };
            return Poll::Ready(Some(match message {
                Ok(Message::Text(text)) => {
                    let frame = Frame::new(Bytes::from(text), self.index);
                    self.index += 1;
                    Ok(frame)
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(Message::Binary(_)) => Err(self.rejected("BIND-6", "a binary frame is no event")),
                Ok(message) => Err(RunFailure::Truncated(closed(message))),
                Err(Error::Capacity(error)) => Err(self.rejected("PROC-6", &error.to_string())),
                Err(error) => Err(RunFailure::transport(error)),
            }));
        }
    }

    fn rejected(&self, rule: &'static str, message: &str) -> RunFailure {
        StreamError::wire(self.index, rule, message).into()
    }
}

impl FrameSource for SocketSource {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>> {
        // A socket that cannot be written to may still hold what the server said before it closed.
        if self.poll_stop(cx).is_err() {
            (self.stop_frame, self.unflushed) = (None, false);
        }
        let polled = ready!(self.poll_message(cx));
        if !matches!(polled, Some(Ok(_))) {
            self.socket = None;
        }
        Poll::Ready(polled)
    }

    fn run_ended(&mut self) {
        // A stop that is half on its way would be read as part of what comes next.
        if let Some(socket) = self.socket.take()
            && !self.unflushed
        {
            self.place.put_back(socket);
        }
    }
}
