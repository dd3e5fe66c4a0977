//! A socket as the session sees it, and what goes over it.

use std::task::{Context, Poll};

use bytes::Bytes;

/// A WebSocket of some framework. The four functions are those of a stream and a sink.
pub trait Socket {
    /// The next message; `None` once the connection is over, however it ended.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Incoming>>;

    /// Whether a message can be taken. Pending while the peer does not read and the socket's own buffer is full.
    ///
    /// # Errors
    /// The connection is over.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>>;

    /// Takes a message, after [`poll_ready`](Self::poll_ready) said that it can. It need not go out before the flush.
    ///
    /// # Errors
    /// The connection is over, or the closing handshake has begun.
    fn start_send(&mut self, message: Outgoing) -> Result<(), Gone>;

    /// Sends what was taken.
    ///
    /// # Errors
    /// The connection is over.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>>;
}

/// The connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the connection is over")]
#[expect(clippy::exhaustive_structs, reason = "there is nothing more to say")]
pub struct Gone;

/// What comes from a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "RFC 6455 fixes the kinds of messages, and adapters make them all"
)]
pub enum Incoming {
    /// A whole text message.
    Text(Bytes),
    /// A binary message.
    Binary,
    /// A ping, with what the answer has to repeat. Libraries that answer by themselves leave it out.
    Ping(Bytes),
    /// The answer to a ping.
    Pong,
    /// The peer closes. Libraries that answer by themselves may refuse the answer of the session.
    Close,
    /// A message larger than the library was told to take. Nothing can be received after it.
    TooLarge,
    /// A text message that is not UTF-8. Nothing can be received after it.
    BadUtf8,
    /// Bytes that are not the WebSocket protocol. Nothing can be received after them.
    Malformed,
}

/// What goes to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the session sends nothing else, and adapters map them all")]
pub enum Outgoing {
    /// A text message. The bytes are UTF-8.
    Text(Bytes),
    /// A ping.
    Ping,
    /// The answer to a ping, with what it repeats.
    Pong(Bytes),
    /// The socket closes, for a reason that reads as a short sentence.
    Close(CloseCode, &'static str),
}

/// Why a server closes a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum CloseCode {
    /// Either side is done.
    Normal = 1000,
    /// The server shuts down. The run that was in progress has ended.
    GoingAway = 1001,
    /// A frame that is not JSON, a hello that is not the first frame, or a breach of the WebSocket protocol.
    Protocol = 1002,
    /// A binary frame.
    Unsupported = 1003,
    /// A text frame that is not UTF-8.
    BadUtf8 = 1007,
    /// The token is wrong or missing.
    Policy = 1008,
    /// A frame over the body limit.
    TooLarge = 1009,
    /// No hello in time.
    HelloTimeout = 4408,
    /// An input while a run is in progress.
    RunInProgress = 4409,
    /// The peer does not read.
    SlowReader = 4429,
}

impl CloseCode {
    /// The number on the wire.
    pub const fn as_u16(self) -> u16 {
        self as u16
    }
}
