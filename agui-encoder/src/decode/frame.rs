//! What a decoder yields, and how a body can end or fail.

use std::borrow::Cow;
use std::fmt;

use agui_core::json::Utf8;
use bytes::Bytes;

/// What the bytes of a frame are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// JSON text, in which bytes that are not UTF-8 are an error.
    Json,
    /// JSON text, in which bytes that are not UTF-8 stand for U+FFFD.
    LossyJson,
    /// One protobuf message.
    #[cfg(feature = "protobuf")]
    Protobuf,
}

/// The raw material of one event, as it came from the wire and judged by nobody (`PROC-6`).
///
/// A frame that lies whole in one chunk shares that chunk's memory and keeps it alive; one that had to be put together
/// has memory of its own.
///
/// # Examples
/// ```
/// use agui_core::Event;
/// use agui_encoder::decode::SseDecoder;
///
/// let mut decoder = SseDecoder::new();
/// decoder.push("data: {\"type\":\"STEP_STARTED\",\"stepName\":\"plan\"}\n\n");
/// let frame = decoder.next_frame().unwrap()?;
/// assert_eq!((frame.index(), frame.offset()), (0, 6));
/// assert!(matches!(Event::from_json(frame.text())?, Event::StepStarted(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    text: Bytes,
    index: u64,
    offset: u64,
    wire: Wire,
}

impl Frame {
    /// A frame that no decoder of this module made: a message of a transport that has frames of its own, for example.
    ///
    /// `index` counts the frames of a stream from 0. The offset is 0, and bytes that are not UTF-8 make the text
    /// unreadable.
    pub fn new(text: impl Into<Bytes>, index: u64) -> Self {
        Self { text: text.into(), index, offset: 0, wire: Wire::Json }
    }

    /// A frame of the binary wire that no decoder of this module made: the payload, without a header.
    #[cfg(feature = "protobuf")]
    pub fn binary(payload: impl Into<Bytes>, index: u64) -> Self {
        Self { text: payload.into(), index, offset: 0, wire: Wire::Protobuf }
    }

    /// What should be one JSON text: never empty, but neither known to be JSON nor to be UTF-8. Of a
    /// [binary](Self::is_binary) frame, the payload.
    pub const fn text(&self) -> &Bytes {
        &self.text
    }

    /// The text, without the frame.
    pub fn into_text(self) -> Bytes {
        self.text
    }

    /// The text as a string in which U+FFFD stands for what is not UTF-8; owned exactly if anything was replaced.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// Number of frames before this one in its body.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Where in the body the text starts, in bytes from 0.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether bytes that are not UTF-8 stand for U+FFFD, as the grammar of event streams has it, rather than make the
    /// text unreadable, as JSON by itself has it.
    ///
    /// Nobody has looked for such bytes. A strict JSON reader meets them in the strings it builds anyway, and only when
    /// it does is a second, lossy reading needed.
    pub const fn lossy(&self) -> bool {
        matches!(self.wire, Wire::LossyJson)
    }

    /// Whether this is a payload of the binary wire rather than JSON text.
    pub const fn is_binary(&self) -> bool {
        self.wire.is_binary()
    }

    /// The frame, borrowed.
    pub fn as_frame_ref(&self) -> FrameRef<'_> {
        FrameRef { text: &self.text, index: self.index, offset: self.offset, wire: self.wire }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_frame_ref().fmt(f)
    }
}

/// A [`Frame`] that borrows its text from the decoder: nothing is allocated or counted for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameRef<'a> {
    text: &'a [u8],
    index: u64,
    offset: u64,
    wire: Wire,
}

impl<'a> FrameRef<'a> {
    /// What should be one JSON text; as [`Frame::text`].
    pub const fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Number of frames before this one in its body.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Where in the body the text starts, in bytes from 0.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether bytes that are not UTF-8 stand for U+FFFD; as [`Frame::lossy`].
    pub const fn lossy(&self) -> bool {
        matches!(self.wire, Wire::LossyJson)
    }

    /// Whether this is a payload of the binary wire; as [`Frame::is_binary`].
    pub const fn is_binary(&self) -> bool {
        self.wire.is_binary()
    }
}

impl Wire {
    const fn is_binary(self) -> bool {
        !matches!(self, Self::Json | Self::LossyJson)
    }
}

impl From<FrameRef<'_>> for Frame {
    /// Copies the text.
    fn from(frame: FrameRef<'_>) -> Self {
        Self {
            text: Bytes::copy_from_slice(frame.text),
            index: frame.index,
            offset: frame.offset,
            wire: frame.wire,
        }
    }
}

/// A frame's place in its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) index: u64,
    pub(super) offset: u64,
    pub(super) wire: Wire,
}

impl Place {
    pub(super) const fn own(self, text: Bytes) -> Frame {
        Frame { text, index: self.index, offset: self.offset, wire: self.wire }
    }

    pub(super) const fn lend(self, text: &[u8]) -> FrameRef<'_> {
        FrameRef { text, index: self.index, offset: self.offset, wire: self.wire }
    }
}

/// What is left of a body once its last byte has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it may hold a frame, or say that the stream is truncated"]
#[non_exhaustive]
pub enum End {
    /// One more frame: one not yet taken, or the last one, which nothing closes but whose text is whole JSON. There
    /// may be more: ask again.
    Frame(Frame),
    /// The body ended between two frames.
    Clean,
    /// The body ended inside a frame: the run it belongs to is truncated (`LIFE-11`), not failed.
    Truncated(Truncation),
}

/// A body that ends inside a frame (`LIFE-11`). What came before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body ends inside frame {index}, which starts at byte {offset} (LIFE-11)")]
#[non_exhaustive]
pub struct Truncation {
    index: u64,
    offset: u64,
}

impl Truncation {
    pub(super) const fn new(index: u64, offset: u64) -> Self {
        Self { index, offset }
    }

    /// Number of whole frames before the broken one.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Where in the body the broken frame starts, in bytes from 0.
    pub const fn offset(&self) -> u64 {
        self.offset
    }
}

/// A body that cannot be cut into frames. Fatal: nothing after it is read.
///
/// # Examples
/// ```
/// use agui_encoder::decode::SseDecoder;
///
/// let mut decoder = SseDecoder::new().with_max_frame_bytes(4);
/// decoder.push("data: 12345");
/// let error = decoder.next_frame().unwrap().unwrap_err();
/// assert_eq!(error.code(), "frame_too_large");
/// assert_eq!(error.to_string(), "frame 0, which starts at byte 6, is larger than 4 bytes (PROC-6)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A frame, or a line of whatever kind, passes the limit.
    #[error("frame {index}, which starts at byte {offset}, is larger than {max_frame_bytes} bytes (PROC-6)")]
    #[non_exhaustive]
    FrameTooLarge {
        /// Number of whole frames before it.
        index: u64,
        /// Where in the body it starts, in bytes from 0.
        offset: u64,
        /// The limit.
        max_frame_bytes: usize,
    },
}

impl DecodeError {
    /// A word for programs, the same in every version.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::FrameTooLarge { .. } => "frame_too_large",
        }
    }

    /// The number of the rule by which the error is fatal.
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::FrameTooLarge { .. } => "PROC-6",
        }
    }

    /// Number of whole frames before the one at fault.
    pub const fn index(&self) -> u64 {
        match self {
            Self::FrameTooLarge { index, .. } => *index,
        }
    }

    /// Where in the body the frame at fault starts, in bytes from 0.
    pub const fn offset(&self) -> u64 {
        match self {
            Self::FrameTooLarge { offset, .. } => *offset,
        }
    }
}

/// For the consumer's pipeline, which judges what is in the frame. A binary frame is decoded here; one that does not
/// decode becomes [`Unreadable`](agui_core::consumer::Frame::Unreadable).
impl<'a> From<&'a Frame> for agui_core::consumer::Frame<'a> {
    fn from(frame: &'a Frame) -> Self {
        frame.as_frame_ref().into()
    }
}

/// As from a [`Frame`].
impl<'a> From<FrameRef<'a>> for agui_core::consumer::Frame<'a> {
    #[inline]
    fn from(frame: FrameRef<'a>) -> Self {
        match frame.wire {
            Wire::Json => Self::Json(frame.text, Utf8::Strict),
            Wire::LossyJson => Self::Json(frame.text, Utf8::Lossy),
            #[cfg(feature = "protobuf")]
            Wire::Protobuf => match crate::protobuf::decode(frame.text) {
                Ok(decoded) => decoded.into(),
                Err(error) => Self::unreadable(error.rule(), error.to_string()),
            },
        }
    }
}
