//! Newline-delimited JSON: one line of compact JSON per event (`BIND-6`), for pipes, files and logs.
//!
//! A JSON writer escapes line breaks, so a line is one event and the JSON is never searched for them.
//!
//! Invariant: a line is written whole or not at all.

use agui_core::Event;
use bytes::BytesMut;

use crate::EncodeError;
use crate::json::{self, Framing};

/// Writes newline-delimited JSON.
///
/// # Examples
/// ```
/// use agui_core::TextMessageEndEvent;
/// use agui_encoder::NdjsonEncoder;
/// use bytes::BytesMut;
///
/// let mut buffer = BytesMut::new();
/// NdjsonEncoder::new().encode(&TextMessageEndEvent::new("m1").into(), &mut buffer)?;
/// assert_eq!(&buffer[..], b"{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m1\"}\n");
/// # Ok::<(), agui_encoder::EncodeError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct NdjsonEncoder;

impl NdjsonEncoder {
    /// The content type of what it writes. None is registered; this is the one in use.
    pub const CONTENT_TYPE: &'static str = "application/x-ndjson";

    /// An encoder.
    pub const fn new() -> Self {
        Self
    }

    /// Appends one event. Allocates only where the buffer has to grow.
    ///
    /// # Errors
    /// The event has no JSON; the buffer is as it was.
    pub fn encode(&self, event: &Event, buffer: &mut BytesMut) -> Result<(), EncodeError> {
        json::write(event, Framing::Line, buffer)
    }
}
