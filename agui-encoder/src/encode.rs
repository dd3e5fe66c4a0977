//! The encoder of a stream, whichever format was negotiated, and why an event could not be written.

use std::io;

use agui_core::{Event, EventType};
use bytes::BytesMut;

#[cfg(feature = "protobuf")]
use crate::ProtobufEncoder;
use crate::{Format, NdjsonEncoder, SseEncoder};

/// Writes the events of one stream in its format.
///
/// # Examples
/// ```
/// use agui_core::StepStartedEvent;
/// use agui_encoder::{Encoder, Format};
/// use bytes::BytesMut;
///
/// let mut buffer = BytesMut::new();
/// Encoder::new(Format::Sse).encode(&StepStartedEvent::new("plan").into(), &mut buffer)?;
/// assert!(buffer.ends_with(b"\n\n"));
/// # Ok::<(), agui_encoder::EncodeError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Encoder {
    /// Server-sent events.
    Sse(SseEncoder),
    /// Length-prefixed protobuf.
    #[cfg(feature = "protobuf")]
    Protobuf(ProtobufEncoder),
    /// Newline-delimited JSON.
    Ndjson(NdjsonEncoder),
    /// Cannot write events of one type, for tests of what follows.
    #[cfg(test)]
    Broken(EventType),
}

impl Encoder {
    /// The encoder of a format.
    pub const fn new(format: Format) -> Self {
        match format {
            Format::Sse => Self::Sse(SseEncoder::new()),
            #[cfg(feature = "protobuf")]
            Format::Protobuf => Self::Protobuf(ProtobufEncoder::new()),
            Format::Ndjson => Self::Ndjson(NdjsonEncoder::new()),
        }
    }

    /// Appends one event to the buffer, whole or not at all. Allocates only where the buffer has to grow.
    ///
    /// # Errors
    /// The format cannot carry the event; the buffer is as it was.
    pub fn encode(&mut self, event: &Event, buffer: &mut BytesMut) -> Result<(), EncodeError> {
        match self {
            Self::Sse(sse) => sse.encode(event, buffer),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(protobuf) => protobuf.encode(event, buffer),
            Self::Ndjson(ndjson) => ndjson.encode(event, buffer),
            #[cfg(test)]
            Self::Broken(event_type) if event.event_type() == *event_type => {
                Err(EncodeError { event_type: Some(*event_type), source: "broken for the test".into() })
            }
            #[cfg(test)]
            Self::Broken(_) => SseEncoder::new().encode(event, buffer),
        }
    }

    /// What keeps an idle stream open, in the formats that have such a thing.
    pub const fn keep_alive(&self) -> Option<&'static [u8]> {
        match self {
            Self::Sse(_) => Some(SseEncoder::KEEP_ALIVE),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(_) => None,
            Self::Ndjson(_) => None,
            #[cfg(test)]
            Self::Broken(_) => None,
        }
    }
}

/// An event that the format cannot carry. Nothing of it was written.
#[derive(Debug, thiserror::Error)]
#[error("an event{} cannot be encoded", .event_type.map(|known| format!(" of type {known}")).unwrap_or_default())]
pub struct EncodeError {
    event_type: Option<EventType>,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl EncodeError {
    pub(crate) fn json(event_type: EventType, source: serde_json::Error) -> Self {
        Self { event_type: Some(event_type), source: source.into() }
    }

    #[cfg(feature = "protobuf")]
    pub(crate) fn wire(
        event_type: Option<EventType>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self { event_type, source: Box::new(source) }
    }

    /// The type of the event; nothing for an unjudged one of a type that 1.0 does not have.
    pub const fn event_type(&self) -> Option<EventType> {
        self.event_type
    }
}

/// Appends what a serializer writes.
pub(crate) struct Append<'a>(pub(crate) &'a mut BytesMut);

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
