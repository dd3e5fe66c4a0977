//! NDJSON: one JSON value per line (`BIND-6`).
//!
//! Lines end with LF or CRLF; a lone CR ends nothing, it is white space of JSON. Lines of white space alone are none,
//! and a BOM may stand first. The last line needs no end if it is whole JSON. Whether any other line is JSON is the next
//! stage's business. The text of a line is JSON by itself, so bytes that are not UTF-8 make it unreadable.
//!
//! Invariants: as for server-sent events.

use bytes::Bytes;
use memchr::memchr;

use super::frame::{DecodeError, End, Frame, FrameRef, Place, Truncation, Wire};
use super::input::{Held, Input, Text, TooLarge};
use super::{BOM, DEFAULT_MAX_FRAME_BYTES, is_whole_json};

/// Cuts a body of newline-delimited JSON into frames, however it is cut into chunks.
///
/// Used as [`SseDecoder`](super::SseDecoder).
///
/// # Examples
/// ```
/// use agui_encoder::decode::{End, NdjsonDecoder};
///
/// let mut decoder = NdjsonDecoder::new();
/// decoder.push("{\"type\":\"A\"}\n\n{\"type\":");
/// assert_eq!(decoder.next_frame().unwrap()?.text(), r#"{"type":"A"}"#);
/// assert!(decoder.next_frame().is_none());
/// decoder.push("\"B\"}");
/// assert!(decoder.next_frame().is_none());
/// let End::Frame(last) = decoder.finish()? else { panic!("whole JSON") };
/// assert_eq!(last.text(), r#"{"type":"B"}"#);
/// assert_eq!(decoder.finish()?, End::Clean);
/// # Ok::<(), agui_encoder::decode::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct NdjsonDecoder {
    input: Input,
    text: Text,
    /// Bytes of a BOM at the start of the body; nothing once its end, or its absence, is known.
    bom: Option<usize>,
    /// Frames handed out.
    count: u64,
    /// Where the line starts, if any of it is held.
    line_offset: u64,
    failed: Option<DecodeError>,
}

impl NdjsonDecoder {
    /// A decoder for one body, with a limit of [`DEFAULT_MAX_FRAME_BYTES`].
    pub const fn new() -> Self {
        Self {
            input: Input::new(),
            text: Text::new(DEFAULT_MAX_FRAME_BYTES),
            bom: Some(0),
            count: 0,
            line_offset: 0,
            failed: None,
        }
    }

    /// Sets the most bytes that a line may have, its LF not counted. A line that never ends is an error as soon as it
    /// is longer.
    #[must_use]
    pub const fn with_max_frame_bytes(mut self, max_frame_bytes: usize) -> Self {
        self.text.set_max_bytes(max_frame_bytes);
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
    /// A line passes the limit. The error comes once; after it there is nothing.
    pub fn next_frame(&mut self) -> Option<Result<Frame, DecodeError>> {
        let found = self.advance()?;
        Some(found.map(|(held, place)| place.own(self.text.own(held, &self.input))))
    }

    /// The next frame, borrowed: as [`next_frame`](Self::next_frame), without an allocation or a reference count.
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    pub fn next_frame_ref(&mut self) -> Option<Result<FrameRef<'_>, DecodeError>> {
        match self.advance()? {
            Ok((held, place)) => Some(Ok(place.lend(self.text.lend(&held, &self.input)))),
            Err(error) => Some(Err(error)),
        }
    }

    /// Says what is left once the last byte of the body has been pushed; as
    /// [`SseDecoder::finish`](super::SseDecoder::finish).
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
        let text = self.text.bytes(&self.input);
        if text.trim_ascii().is_empty() {
            return Ok(End::Clean);
        }
        if !is_whole_json(text) {
            return Ok(End::Truncated(Truncation::new(self.count, self.line_offset)));
        }
        self.text.strip_carriage_return(&self.input);
        let held = self.text.finish();
        let place = self.place();
        self.count += 1;
        Ok(End::Frame(place.own(self.text.own(held, &self.input))))
    }

    fn advance(&mut self) -> Option<Result<(Held, Place), DecodeError>> {
        match self.read() {
            Ok(Some(held)) => {
                let place = self.place();
                self.count += 1;
                Some(Ok((held, place)))
            }
            Ok(None) => None,
            Err(TooLarge) => {
                let error = DecodeError::FrameTooLarge {
                    index: self.count,
                    offset: self.line_offset,
                    max_frame_bytes: self.text.max_bytes(),
                };
                self.input.clear();
                self.text.clear();
                self.failed = Some(error.clone());
                Some(Err(error))
            }
        }
    }

    fn read(&mut self) -> Result<Option<Held>, TooLarge> {
        loop {
            let rest = self.input.rest();
            let Some(&next) = rest.first() else {
                if self.input.next_chunk() {
                    continue;
                }
                self.text.shrink();
                return Ok(None);
            };
            if let Some(matched) = self.bom {
                self.read_bom(matched, next)?;
                continue;
            }
            if self.text.is_nothing() {
                self.line_offset = self.input.offset();
            }
            let Some(count) = memchr(b'\n', rest) else {
                let count = rest.len();
                self.text.take_part(&mut self.input, count)?;
                continue;
            };
            self.text.take_line(&mut self.input, count)?;
            self.input.skip(1);
            self.text.strip_carriage_return(&self.input);
            let held = self.text.finish();
            // JSON hardly ever starts with white space, so this looks at one byte.
            if !self.text.lend(&held, &self.input).trim_ascii_start().is_empty() {
                return Ok(Some(held));
            }
        }
    }

    /// Reads one byte of what may be a BOM. What only begins like one belongs to the first line.
    fn read_bom(&mut self, matched: usize, next: u8) -> Result<(), TooLarge> {
        match BOM.get(matched) {
            Some(&byte) if byte == next => {
                self.input.skip(1);
                self.bom = (matched + 1 < BOM.len()).then_some(matched + 1);
                Ok(())
            }
            _ => {
                self.bom = None;
                self.text.append(BOM.get(..matched).unwrap_or_default())
            }
        }
    }

    const fn place(&self) -> Place {
        Place { index: self.count, offset: self.line_offset, wire: Wire::Json }
    }
}

impl Default for NdjsonDecoder {
    fn default() -> Self {
        Self::new()
    }
}
