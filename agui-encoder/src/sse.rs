//! Server-sent events: one `data` line of compact JSON and an empty line per event (`BIND-2`).
//!
//! Nothing else goes out: no `event`, `id` or `retry` field and no closing mark. Line ends are LF alone, which is what
//! the published clients split on. A JSON writer escapes line breaks, so the JSON is never searched for them.
//!
//! Invariant: a frame is written whole or not at all.

use agui_core::Event;
use bytes::BytesMut;

use crate::EncodeError;
use crate::json::{self, Framing};

/// Writes server-sent events.
///
/// # Examples
/// ```
/// use agui_core::TextMessageEndEvent;
/// use agui_encoder::SseEncoder;
/// use bytes::BytesMut;
///
/// let mut buffer = BytesMut::new();
/// SseEncoder::new().encode(&TextMessageEndEvent::new("m1").into(), &mut buffer)?;
/// assert_eq!(&buffer[..], b"data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m1\"}\n\n");
/// # Ok::<(), agui_encoder::EncodeError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SseEncoder;

impl SseEncoder {
    /// The comment that keeps an idle stream open; readers skip it.
    pub const KEEP_ALIVE: &'static [u8] = b": keep-alive\n\n";

    /// An encoder.
    pub const fn new() -> Self {
        Self
    }

    /// Appends one event. Allocates only where the buffer has to grow.
    ///
    /// # Errors
    /// The event has no JSON; the buffer is as it was.
    pub fn encode(&self, event: &Event, buffer: &mut BytesMut) -> Result<(), EncodeError> {
        json::write(event, Framing::Sse, buffer)
    }
}
