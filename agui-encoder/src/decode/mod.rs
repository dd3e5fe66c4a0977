//! The reader's first step: bytes become frames (`PROC-1`), however the transport cuts them.
//!
//! [`SseDecoder`], [`NdjsonDecoder`] and, with the feature `protobuf`, `ProtobufDecoder` are synchronous and know no
//! input or output: push chunks, take frames. [`Decoder`] is any of them, chosen by a content type, and [`Frames`] puts one on an asynchronous body. What comes
//! out is a [`Frame`]: the text of one event with its place in the body, judged by nobody (`PROC-6`). Whether it is
//! JSON, and an event, is what the next stage finds out.
//!
//! A frame that lies whole in one chunk, as nearly all do, is a slice of that chunk: nothing is copied, and with
//! [`next_frame_ref`](SseDecoder::next_frame_ref) not even a reference is counted.

mod frame;
mod input;
mod ndjson;
#[cfg(feature = "protobuf")]
mod protobuf;
mod sse;
mod stream;

pub use frame::{DecodeError, End, Frame, FrameRef, Truncation};
pub use ndjson::NdjsonDecoder;
#[cfg(feature = "protobuf")]
pub use protobuf::ProtobufDecoder;
pub use sse::SseDecoder;
pub use stream::{FrameError, Frames};

use bytes::Bytes;

/// The most bytes that one frame may have unless a decoder is told otherwise: 10 MiB.
pub const DEFAULT_MAX_FRAME_BYTES: usize = 10 * 1024 * 1024;

/// The byte order mark that may open a text.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A decoder for whichever format a body has.
///
/// # Examples
/// ```
/// use agui_encoder::decode::Decoder;
///
/// let decoder = Decoder::for_content_type("Text/Event-Stream; charset=utf-8");
/// assert!(matches!(decoder, Some(Decoder::Sse(_))));
/// assert!(Decoder::for_content_type("text/html").is_none());
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Decoder {
    /// Server-sent events.
    Sse(SseDecoder),
    /// Newline-delimited JSON.
    Ndjson(NdjsonDecoder),
    /// Length-prefixed protobuf.
    #[cfg(feature = "protobuf")]
    Protobuf(ProtobufDecoder),
}

impl Decoder {
    /// The decoder for a body of that content type, read leniently: case and parameters do not matter. Nothing if no
    /// decoder here reads such a body.
    ///
    /// NDJSON has no registered type; `application/x-ndjson`, `application/ndjson`, `application/jsonl` and
    /// `application/x-jsonlines` are read as it.
    pub fn for_content_type(content_type: &str) -> Option<Self> {
        const NDJSON: [&str; 4] =
            ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];

        let essence = content_type.split_once(';').map_or(content_type, |(essence, _)| essence).trim();
        if essence.eq_ignore_ascii_case("text/event-stream") {
            Some(Self::Sse(SseDecoder::new()))
        } else if NDJSON.iter().any(|name| essence.eq_ignore_ascii_case(name)) {
            Some(Self::Ndjson(NdjsonDecoder::new()))
        } else {
            Self::for_binary(essence)
        }
    }

    #[cfg(feature = "protobuf")]
    fn for_binary(essence: &str) -> Option<Self> {
        let matches = essence.eq_ignore_ascii_case(crate::protobuf::MEDIA_TYPE);
        matches.then(|| Self::Protobuf(ProtobufDecoder::new()))
    }

    #[cfg(not(feature = "protobuf"))]
    const fn for_binary(_: &str) -> Option<Self> {
        None
    }

    /// Sets the most bytes that a frame may have.
    #[must_use]
    pub fn with_max_frame_bytes(self, max_frame_bytes: usize) -> Self {
        match self {
            Self::Sse(decoder) => Self::Sse(decoder.with_max_frame_bytes(max_frame_bytes)),
            Self::Ndjson(decoder) => Self::Ndjson(decoder.with_max_frame_bytes(max_frame_bytes)),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(decoder) => Self::Protobuf(decoder.with_max_frame_bytes(max_frame_bytes)),
        }
    }

    /// Adds the next bytes of the body; as [`SseDecoder::push`].
    pub fn push(&mut self, chunk: impl Into<Bytes>) {
        match self {
            Self::Sse(decoder) => decoder.push(chunk),
            Self::Ndjson(decoder) => decoder.push(chunk),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(decoder) => decoder.push(chunk),
        }
    }

    /// The next frame, or nothing before more bytes are pushed.
    ///
    /// # Errors
    /// A frame passes the limit. The error comes once; after it there is nothing.
    pub fn next_frame(&mut self) -> Option<Result<Frame, DecodeError>> {
        match self {
            Self::Sse(decoder) => decoder.next_frame(),
            Self::Ndjson(decoder) => decoder.next_frame(),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(decoder) => decoder.next_frame(),
        }
    }

    /// The next frame, borrowed; as [`SseDecoder::next_frame_ref`].
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    pub fn next_frame_ref(&mut self) -> Option<Result<FrameRef<'_>, DecodeError>> {
        match self {
            Self::Sse(decoder) => decoder.next_frame_ref(),
            Self::Ndjson(decoder) => decoder.next_frame_ref(),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(decoder) => decoder.next_frame_ref(),
        }
    }

    /// Says what is left once the last byte of the body has been pushed; as [`SseDecoder::finish`].
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame), every time.
    pub fn finish(&mut self) -> Result<End, DecodeError> {
        match self {
            Self::Sse(decoder) => decoder.finish(),
            Self::Ndjson(decoder) => decoder.finish(),
            #[cfg(feature = "protobuf")]
            Self::Protobuf(decoder) => decoder.finish(),
        }
    }
}

/// Whether a text that nothing closes is one whole JSON value all the same.
///
/// Values are skipped, not built, and however deep they nest, that takes no stack.
fn is_whole_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}
