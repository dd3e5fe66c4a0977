//! What goes wrong: before a run has begun ([`DialError`]) and in its stream ([`RunFailure`]).
//!
//! A run that the agent says has failed or was cancelled is neither: it is an ending, delivered as an event.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use agui_core::consumer::{SendError, StreamError};
use agui_encoder::decode::{DecodeError, FrameError, Truncation};
use http::StatusCode;
use serde_json::Value;

/// An error of whatever carries the bytes.
type TransportError = Box<dyn Error + Send + Sync>;

/// How much of a text that came from outside stands in an error's own text, in bytes.
const MAX_SHOWN_BYTES: usize = 300;

/// Why there is no run: nothing was sent, or what came back is no stream of events.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// Where to dial, or what to say with it, is not well formed. Nothing was sent.
    #[error("{0}")]
    Settings(String),
    /// The input may not be sent as it is. Nothing was sent.
    #[error(transparent)]
    NotSent(#[from] SendError),
    /// The server was not reached, or the connection broke before it answered. Whether the run has begun there is not
    /// known.
    #[error("the server gave no answer")]
    Unreachable(#[source] TransportError),
    /// The server closed the socket instead of acknowledging the hello.
    #[cfg(feature = "websocket")]
    #[error("there is no run: {0}")]
    Closed(TruncationCause),
    /// The server opened a socket and does not say that it speaks `ag-ui.1` on it.
    #[cfg(feature = "websocket")]
    #[error("the server opened a socket for another protocol than ag-ui.1")]
    Subprotocol,
    /// The server answered the hello with something that is no acknowledgement.
    #[cfg(feature = "websocket")]
    #[error("the server did not acknowledge the hello")]
    Unacknowledged,
    /// The server answered that it does not serve this.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The server answered with success, and with something that is not what was asked for: a page for people, say
    /// (`BIND-1`).
    #[error(
        "the server answered {status} with {}, which is not {expected}",
        content_type.as_deref().map_or_else(|| "no content type".to_owned(), shown)
    )]
    #[non_exhaustive]
    Unexpected {
        /// The status.
        status: StatusCode,
        /// The content type; absent where there is none, several, or one that is no text.
        content_type: Option<String>,
        /// What was asked for, in a few words.
        expected: &'static str,
    },
}

impl DialError {
    pub(crate) fn unreachable(error: impl Into<TransportError>) -> Self {
        Self::Unreachable(error.into())
    }
}

/// A refusal: the server's answer in place of a stream.
///
/// Servers of this workspace say why in JSON; of any other server there is at least the status and the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(Box<Refusal>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Refusal {
    status: StatusCode,
    code: Option<String>,
    message: Option<String>,
    path: Option<String>,
    run_id: Option<String>,
    retry_after: Option<Duration>,
    location: Option<String>,
    body: String,
}

/// What the head of a refusal says.
#[derive(Debug)]
pub(crate) struct RefusedHead {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) location: Option<String>,
}

impl Refused {
    pub(crate) fn new(head: RefusedHead, body: &[u8]) -> Self {
        let json = serde_json::from_slice(body).unwrap_or(Value::Null);
        let member = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        Self(Box::new(Refusal {
            status: head.status,
            code: member("code"),
            message: member("message"),
            path: member("path"),
            run_id: member("runId"),
            retry_after: head.retry_after,
            location: head.location,
            body: String::from_utf8_lossy(body).into_owned(),
        }))
    }

    /// The HTTP status.
    pub const fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable word for programs, `thread_busy`; absent where the server gives none.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The sentence for the developer; absent where the server gives none.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// The first offending member of the input, `messages[0].id`; absent unless the input is at fault.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// The run that is in the way; absent unless one is.
    pub fn run_id(&self) -> Option<&str> {
        self.0.run_id.as_deref()
    }

    /// After how long to try again; absent where the server does not say, or says it as a date.
    pub const fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Where a redirect leads. None is followed: the input and the credentials are for the address that was given.
    pub fn location(&self) -> Option<&str> {
        self.0.location.as_deref()
    }

    /// The body as it came, up to 64 KiB of it, with U+FFFD for what is not UTF-8.
    pub fn body(&self) -> &str {
        &self.0.body
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server refused with status {}", self.0.status.as_u16())?;
        if let Some(code) = self.code() {
            write!(f, " ({})", shown(code))?;
        }
        if let Some(message) = self.message().or(self.location()) {
            write!(f, ": {}", shown(message))?;
        }
        Ok(())
    }
}

impl Error for Refused {}

/// Why the stream of a run did not come to its end. What was delivered before stays delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFailure {
    /// An event is malformed or breaks a rule of order: the producer is at fault.
    #[error(transparent)]
    Rejected(#[from] StreamError),
    /// The bytes cannot be cut into frames: one passes the limit.
    #[error(transparent)]
    Undecodable(#[from] DecodeError),
    /// The stream was cut off before the run had ended. The run has no outcome, and is no success (`LIFE-11`).
    #[error("the run was cut off: {0} (LIFE-11)")]
    Truncated(TruncationCause),
}

impl RunFailure {
    /// The number of the rule that was broken, or that says what the ending means.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Rejected(error) => error.rule(),
            Self::Undecodable(error) => error.rule(),
            Self::Truncated(_) => "LIFE-11",
        }
    }

    /// Whether the run was cut off, rather than rejected.
    pub const fn is_truncation(&self) -> bool {
        matches!(self, Self::Truncated(_))
    }

    /// The transport broke off.
    pub fn transport(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Truncated(TruncationCause::Transport(error.into()))
    }
}

impl<E: Error + Send + Sync + 'static> From<FrameError<E>> for RunFailure {
    fn from(error: FrameError<E>) -> Self {
        match error {
            FrameError::Transport(error) => Self::transport(error),
            FrameError::Decode(error) => error.into(),
            FrameError::Truncated(truncation) => Self::Truncated(TruncationCause::InsideFrame(truncation)),
            // A way to fail that this version does not know is no success in any case.
            other => Self::transport(other),
        }
    }
}

/// How a stream was cut off.
#[derive(Debug)]
#[non_exhaustive]
pub enum TruncationCause {
    /// It ended in order, without the run's terminal event.
    Ended,
    /// It ended inside a frame.
    InsideFrame(Truncation),
    /// The socket was closed.
    #[cfg(feature = "websocket")]
    #[non_exhaustive]
    Closed {
        /// The code that says why; absent where the other end gave none.
        code: Option<u16>,
        /// What the other end says about it; often empty.
        reason: String,
    },
    /// The transport failed.
    Transport(Box<dyn Error + Send + Sync>),
}

impl TruncationCause {
    /// The code with which the socket was closed; absent for everything else.
    #[cfg(feature = "websocket")]
    pub const fn close_code(&self) -> Option<u16> {
        match self {
            Self::Closed { code, .. } => *code,
            _ => None,
        }
    }
}

impl fmt::Display for TruncationCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the stream ended without a terminal event"),
            Self::InsideFrame(truncation) => {
                write!(f, "the stream ended inside frame {}", truncation.index())
            }
            #[cfg(feature = "websocket")]
            Self::Closed { code: Some(code), reason } if reason.is_empty() => {
                write!(f, "the socket was closed with code {code}")
            }
            #[cfg(feature = "websocket")]
            Self::Closed { code: Some(code), reason } => {
                write!(f, "the socket was closed with code {code}: {}", shown(reason))
            }
            #[cfg(feature = "websocket")]
            Self::Closed { code: None, .. } => f.write_str("the socket was closed without a code"),
            Self::Transport(error) => write!(f, "the transport failed: {error}"),
        }
    }
}

/// The beginning of a text from outside, with its control characters escaped: whoever prints an error may do so on a
/// terminal or into a log of lines.
fn shown(text: &str) -> String {
    let mut end = text.len().min(MAX_SHOWN_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut shown = String::new();
    for c in text.get(..end).unwrap_or_default().chars() {
        if c.is_control() || is_invisible(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Whether a character changes how the text around it is laid out.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_shown_without_its_control_characters() {
        let head = RefusedHead { status: StatusCode::BAD_REQUEST, retry_after: None, location: None };
        let body = br#"{"code":"a\nb","message":"\u001b[2Jgone\r\u202e \u00fc \"x\""}"#;
        let refused = Refused::new(head, body);
        assert_eq!(
            refused.to_string(),
            r#"the server refused with status 400 (a\nb): \u{1b}[2Jgone\r\u{202e} ü "x""#
        );
        assert_eq!(refused.code(), Some("a\nb"), "programs get it as it came");
        assert_eq!(shown(&"ü".repeat(400)), "ü".repeat(150));
    }
}
