//! Newline-delimited JSON: one line of compact JSON per event (`BIND-6`), for pipes, files and logs.
//!
//! A JSON writer escapes line breaks, so a line is one event and the JSON is never searched for them.
//!
//! Invariant: a line is written whole or not at all.

use std::io;

use agui_core::Event;
use bytes::BytesMut;

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
/// # Ok::<(), serde_json::Error>(())
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
    pub fn encode(&self, event: &Event, buffer: &mut BytesMut) -> Result<(), serde_json::Error> {
        let start = buffer.len();
        if let Err(error) = serde_json::to_writer(Append(buffer), event) {
            buffer.truncate(start);
            return Err(error);
        }
        buffer.extend_from_slice(b"\n");
        Ok(())
    }
}

/// Appends what a serializer writes.
struct Append<'a>(&'a mut BytesMut);

impl io::Write for Append<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
