//! The encoder, and the one for frames that nobody has judged.

use std::cell::Cell;

use agui_core::{Event, EventType};
use bytes::{BufMut, BytesMut};
use serde_json::Value;

use super::out::{Fault, Sizer, Writer, Written};
use super::{raw, write};
use crate::EncodeError;

/// Lengths that a thread keeps room for, 1 MiB of them; what a larger event needed is given back.
const KEPT_SIZES: usize = 256 * 1024;

thread_local! {
    /// The lengths of the event being written. They belong to the thread, so that a stream that waits keeps nothing
    /// and none of a thread's streams allocates.
    static SIZES: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Writes length-prefixed protobuf frames, byte for byte as the reference encoder does.
///
/// Open objects keep the order of their map: with the feature `preserve_order` that is the order of the JSON document,
/// without it the order of the keys. Numbers in open values are doubles, as the wire has no others.
///
/// # Examples
/// ```
/// use agui_core::TextMessageEndEvent;
/// use agui_encoder::protobuf::ProtobufEncoder;
/// use bytes::BytesMut;
///
/// let mut buffer = BytesMut::new();
/// ProtobufEncoder::new().encode(&TextMessageEndEvent::new("a").into(), &mut buffer)?;
/// assert_eq!(&buffer[..], b"\0\0\0\x09\x1a\x07\x0a\x02\x08\x02\x12\x01a");
/// # Ok::<(), agui_encoder::EncodeError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ProtobufEncoder;

impl ProtobufEncoder {
    /// An encoder.
    pub const fn new() -> Self {
        Self
    }

    /// Appends one event as a frame, whole or not at all. Allocates only where the buffer has to grow.
    ///
    /// # Errors
    /// The event is nested deeper than any reader accepts, or longer than the frame's header can say. The buffer is as
    /// it was.
    pub fn encode(&self, event: &Event, buffer: &mut BytesMut) -> Result<(), EncodeError> {
        frame(buffer, |sizer| write::event(event, sizer), |writer| write::event(event, writer))
            .map_err(|fault| EncodeError::wire(Some(event.event_type()), fault))
    }
}

/// Appends one event that nobody has judged as a frame, whole or not at all.
///
/// What the wire has no field for is left out, and `null` in an optional member is the same as its absence. Everything
/// else goes out as it is, known to this version or not.
///
/// # Errors
/// The wire cannot say it: the event or its type is unknown, a member has another JSON type than its field, a
/// required one is missing where the reader would make something up, a content part or a source is of a kind without
/// an arm, an integer is fractional or beyond ±(2^53 − 1). The buffer is as it was.
///
/// # Examples
/// ```
/// use agui_encoder::protobuf::encode_raw;
/// use bytes::BytesMut;
/// use serde_json::json;
///
/// let mut buffer = BytesMut::new();
/// encode_raw(&json!({"type": "TEXT_MESSAGE_END", "messageId": "a", "mood": "calm"}), &mut buffer)?;
/// assert_eq!(buffer.len(), 13);
/// let error = encode_raw(&json!({"type": "TEXT_MESSAGE_END", "messageId": 5}), &mut buffer).unwrap_err();
/// assert!(std::error::Error::source(&error).unwrap().to_string().contains("/messageId"));
/// # Ok::<(), agui_encoder::EncodeError>(())
/// ```
pub fn encode_raw(event: &Value, buffer: &mut BytesMut) -> Result<(), EncodeError> {
    let event_type = event.get("type").and_then(Value::as_str).and_then(EventType::from_wire);
    frame(
        buffer,
        |sizer| raw::event(event, event_type, sizer),
        |writer| raw::event(event, event_type, writer),
    )
    .map_err(|fault| EncodeError::wire(event_type, fault))
}

/// Writes a frame in two walks over the same event.
#[inline]
fn frame(
    buffer: &mut BytesMut,
    size: impl FnOnce(&mut Sizer<'_>) -> Written,
    write: impl FnOnce(&mut Writer<'_>) -> Written,
) -> Result<(), Fault> {
    let mut sizes = SIZES.try_with(Cell::take).unwrap_or_default();
    let start = buffer.len();
    let result = (|| {
        let mut ruler = Sizer::new(&mut sizes);
        size(&mut ruler)?;
        let total = u32::try_from(ruler.total()).map_err(|_| Fault::TooLong)?;
        buffer.reserve(ruler.total() + size_of::<u32>());
        buffer.put_u32(total);
        write(&mut Writer::new(&sizes, buffer))
    })();
    if result.is_err() {
        buffer.truncate(start);
    }
    if sizes.capacity() <= KEPT_SIZES {
        // A thread that is ending keeps nothing.
        let _ = SIZES.try_with(|kept| kept.set(sizes));
    }
    result
}
