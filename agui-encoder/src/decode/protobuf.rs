//! Length-prefixed protobuf (`BIND-8`): a length of four bytes, the highest first, and that many bytes of payload.
//!
//! What is in the payload is not looked at. A frame of length zero is one like any other; that it names no event is
//! found out by whoever decodes it.
//!
//! Invariants: as for server-sent events. The limit is held against the header before anything is allocated, and
//! memory then follows the bytes that arrive, not the length that was announced.

use bytes::Bytes;

use super::DEFAULT_MAX_FRAME_BYTES;
use super::frame::{DecodeError, End, Frame, FrameRef, Place, Truncation, Wire};
use super::input::{Held, Input, Text};

/// The length of a frame's header.
const HEADER: usize = 4;

/// Cuts a body of length-prefixed protobuf into frames, however it is cut into chunks.
///
/// Used as [`SseDecoder`](super::SseDecoder). A frame's text is its payload; the consumer's pipeline takes it like any
/// other frame, and [`protobuf::decode`](crate::protobuf::decode()) decodes it by itself.
///
/// # Examples
/// ```
/// use agui_encoder::decode::{End, ProtobufDecoder};
///
/// let mut decoder = ProtobufDecoder::new();
/// decoder.push(&b"\0\0\0\x09\x1a\x07\x0a\x02\x08\x02\x12"[..]);
/// assert!(decoder.next_frame().is_none());
/// decoder.push(&b"\x01a"[..]);
/// let frame = decoder.next_frame().unwrap()?;
/// assert!(frame.is_binary());
/// assert_eq!(frame.text(), &b"\x1a\x07\x0a\x02\x08\x02\x12\x01a"[..]);
/// assert_eq!(decoder.finish()?, End::Clean);
/// # Ok::<(), agui_encoder::decode::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct ProtobufDecoder {
    input: Input,
    payload: Text,
    /// The header, as far as it has arrived.
    header: [u8; HEADER],
    header_length: usize,
    /// What is missing of the payload; nothing before the header is whole.
    missing: Option<usize>,
    /// Frames handed out.
    count: u64,
    /// Where the frame starts, its header included.
    frame_offset: u64,
    max_frame_bytes: usize,
    failed: Option<DecodeError>,
}

impl ProtobufDecoder {
    /// A decoder for one body, with a limit of [`DEFAULT_MAX_FRAME_BYTES`].
    pub const fn new() -> Self {
        Self {
            input: Input::new(),
            payload: Text::new(DEFAULT_MAX_FRAME_BYTES),
            header: [0; HEADER],
            header_length: 0,
            missing: None,
            count: 0,
            frame_offset: 0,
            max_frame_bytes: DEFAULT_MAX_FRAME_BYTES,
            failed: None,
        }
    }

    /// Sets the most bytes that a frame may have, its header included. A longer one is an error as soon as its header
    /// is there.
    #[must_use]
    pub const fn with_max_frame_bytes(mut self, max_frame_bytes: usize) -> Self {
        self.max_frame_bytes = max_frame_bytes;
        self.payload.set_max_bytes(max_frame_bytes);
        self
    }

    /// Adds the next bytes of the body; as [`SseDecoder::push`](super::SseDecoder::push).
    pub fn push(&mut self, chunk: impl Into<Bytes>) {
        if self.failed.is_none() {
            self.input.push(chunk.into());
        }
    }

    /// The next frame, or nothing before more bytes are pushed.
    ///
    /// # Errors
    /// A frame passes the limit. The error comes once; after it there is nothing.
    #[inline]
    pub fn next_frame(&mut self) -> Option<Result<Frame, DecodeError>> {
        let found = self.advance()?;
        Some(found.map(|(held, place)| place.own(self.payload.own(held, &self.input))))
    }

    /// The next frame, borrowed: as [`next_frame`](Self::next_frame), without an allocation or a reference count.
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    #[inline]
    pub fn next_frame_ref(&mut self) -> Option<Result<FrameRef<'_>, DecodeError>> {
        match self.advance()? {
            Ok((held, place)) => Some(Ok(place.lend(self.payload.lend(&held, &self.input)))),
            Err(error) => Some(Err(error)),
        }
    }

    /// Says what is left once the last byte of the body has been pushed; as
    /// [`SseDecoder::finish`](super::SseDecoder::finish). A part of a frame is a truncation, of a header as well.
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame), every time.
    pub fn finish(&mut self) -> Result<End, DecodeError> {
        if let Some(frame) = self.next_frame() {
            return frame.map(End::Frame);
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.header_length == 0 && self.missing.is_none() {
            return Ok(End::Clean);
        }
        Ok(End::Truncated(Truncation::new(self.count, self.frame_offset)))
    }

    fn advance(&mut self) -> Option<Result<(Held, Place), DecodeError>> {
        match self.read() {
            Ok(Some(held)) => {
                let offset = self.frame_offset + HEADER as u64;
                let place = Place { index: self.count, offset, wire: Wire::Protobuf };
                self.count += 1;
                Some(Ok((held, place)))
            }
            Ok(None) => None,
            Err(error) => {
                self.input.clear();
                self.payload.clear();
                self.failed = Some(error.clone());
                Some(Err(error))
            }
        }
    }

    fn read(&mut self) -> Result<Option<Held>, DecodeError> {
        if self.failed.is_some() {
            return Ok(None);
        }
        loop {
            let missing = match self.missing {
                Some(missing) => missing,
                None => match self.read_header()? {
                    Some(length) => length,
                    None => return Ok(None),
                },
            };
            let there = self.input.rest().len();
            if there >= missing {
                let taken = self.payload.take_line(&mut self.input, missing);
                taken.map_err(|_| self.too_large())?;
                self.missing = None;
                self.header_length = 0;
                return Ok(Some(self.payload.finish()));
            }
            if there > 0 {
                let taken = self.payload.take_part(&mut self.input, there);
                taken.map_err(|_| self.too_large())?;
                self.missing = Some(missing - there);
            }
            if !self.input.next_chunk() {
                return Ok(None);
            }
        }
    }

    /// Reads the header; the length of the payload once it is whole.
    fn read_header(&mut self) -> Result<Option<usize>, DecodeError> {
        while let Some(slot) = self.header.get_mut(self.header_length) {
            let Some(&byte) = self.input.rest().first() else {
                if self.input.next_chunk() {
                    continue;
                }
                self.payload.shrink();
                return Ok(None);
            };
            if self.header_length == 0 {
                self.frame_offset = self.input.offset();
            }
            *slot = byte;
            self.header_length += 1;
            self.input.skip(1);
        }
        match usize::try_from(u32::from_be_bytes(self.header)) {
            Ok(length) if length <= self.max_frame_bytes.saturating_sub(HEADER) => {
                self.missing = Some(length);
                Ok(Some(length))
            }
            _ => Err(self.too_large()),
        }
    }

    const fn too_large(&self) -> DecodeError {
        DecodeError::FrameTooLarge {
            index: self.count,
            offset: self.frame_offset,
            max_frame_bytes: self.max_frame_bytes,
        }
    }
}

impl Default for ProtobufDecoder {
    fn default() -> Self {
        Self::new()
    }
}
