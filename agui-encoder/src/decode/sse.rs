//! Server-sent events: the whole grammar of lines and fields, of which only `data` matters here (`BIND-2`).
//!
//! Lines end with LF, CR or CRLF; a BOM may stand first; several `data` lines of a frame join with line feeds; comments
//! and every other field are skipped as they come, without being kept. A frame with no data, or with empty data, is
//! none. Whether a text is JSON is judged only where the body ends before the frame is closed; everywhere else that is
//! the next stage's business, and so are bytes that are not UTF-8 ([`Frame::lossy`]).
//!
//! Invariants: how the body is cut into chunks changes neither frames, offsets nor errors; a byte is searched for the
//! end of its line once; beyond the chunks that were pushed, a text takes no more memory than the limit (twice that for
//! the moment in which its buffer grows).

use bytes::Bytes;
use memchr::memchr2;

use super::frame::{DecodeError, End, Frame, FrameRef, Place, Truncation, Wire};
use super::input::{Held, Input, Text, TooLarge};
use super::{BOM, DEFAULT_MAX_FRAME_BYTES, is_whole_json};

const DATA: &[u8] = b"data";

/// Where in a line the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// At the start of the body, after that many bytes of a BOM.
    Bom(usize),
    /// After that many bytes of `data`, all the line has so far. At 0, the line starts.
    Field(usize),
    /// After `data:`, where one space is skipped.
    Colon,
    /// In the value of a `data` line.
    Value,
    /// In a line that is skipped, after that many bytes.
    Other(usize),
}

/// Cuts a body of server-sent events into frames, however it is cut into chunks.
///
/// Push a chunk, take frames until there are none, push the next; at the end of the body, call
/// [`finish`](Self::finish).
///
/// # Examples
/// ```
/// use agui_encoder::decode::{End, SseDecoder};
///
/// let mut decoder = SseDecoder::new();
/// let mut texts = Vec::new();
/// for chunk in [": welcome\n\ndata: {\"type\":\"A\"}\n", "\ndata: {\"type\":", "\"B\"}\r\n\r\n"] {
///     decoder.push(chunk);
///     while let Some(frame) = decoder.next_frame() {
///         texts.push(frame?.into_text());
///     }
/// }
/// assert_eq!(texts, [r#"{"type":"A"}"#, r#"{"type":"B"}"#]);
/// assert_eq!(decoder.finish()?, End::Clean);
/// # Ok::<(), agui_encoder::decode::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    input: Input,
    text: Text,
    position: Position,
    /// The last line ended with CR: an LF right after it belongs to that line end.
    after_cr: bool,
    /// Frames handed out.
    count: u64,
    /// Where the line starts.
    line_offset: u64,
    /// Where the text starts; means something once a `data` line has been met.
    text_offset: u64,
    failed: Option<DecodeError>,
}

impl SseDecoder {
    /// A decoder for one body, with a limit of [`DEFAULT_MAX_FRAME_BYTES`].
    pub const fn new() -> Self {
        Self {
            input: Input::new(),
            text: Text::new(DEFAULT_MAX_FRAME_BYTES),
            position: Position::Bom(0),
            after_cr: false,
            count: 0,
            line_offset: 0,
            text_offset: 0,
            failed: None,
        }
    }

    /// Sets the most bytes that a frame's text, or a line that is skipped, may have. A line that never ends is an error
    /// as soon as it is longer.
    #[must_use]
    pub const fn with_max_frame_bytes(mut self, max_frame_bytes: usize) -> Self {
        self.text.set_max_bytes(max_frame_bytes);
        self
    }

    /// Adds the next bytes of the body.
    ///
    /// [`Bytes`] are shared with the frames in them, not copied. Take the frames of a chunk before the next one is
    /// pushed: the limit says nothing about chunks that wait.
    pub fn push(&mut self, chunk: impl Into<Bytes>) {
        if self.failed.is_none() {
            self.input.push(chunk.into());
        }
    }

    /// The next frame, or nothing before more bytes are pushed.
    ///
    /// # Errors
    /// A frame or line passes the limit. The error comes once; after it there is nothing.
    #[inline]
    pub fn next_frame(&mut self) -> Option<Result<Frame, DecodeError>> {
        let found = self.advance()?;
        Some(found.map(|(held, place)| place.own(self.text.own(held, &self.input))))
    }

    /// The next frame, borrowed: as [`next_frame`](Self::next_frame), without an allocation or a reference count.
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    ///
    /// # Examples
    /// ```
    /// # use agui_encoder::decode::SseDecoder;
    /// let mut decoder = SseDecoder::new();
    /// decoder.push("data: 1\n\n");
    /// while let Some(frame) = decoder.next_frame_ref() {
    ///     assert_eq!(frame?.text(), b"1");
    /// }
    /// # Ok::<(), agui_encoder::decode::DecodeError>(())
    /// ```
    #[inline]
    pub fn next_frame_ref(&mut self) -> Option<Result<FrameRef<'_>, DecodeError>> {
        match self.advance()? {
            Ok((held, place)) => Some(Ok(place.lend(self.text.lend(&held, &self.input)))),
            Err(error) => Some(Err(error)),
        }
    }

    /// Says what is left once the last byte of the body has been pushed. Call it until it is not
    /// [`End::Frame`]; after that the answer stays.
    ///
    /// A frame that no empty line closes counts if its text is whole JSON, and is a truncation if not.
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame), every time.
    ///
    /// # Examples
    /// ```
    /// # use agui_encoder::decode::{End, SseDecoder};
    /// let mut decoder = SseDecoder::new();
    /// decoder.push("data: {\"type\":\"A\"}\n\ndata: {\"type\"");
    /// assert!(matches!(decoder.finish()?, End::Frame(_)));
    /// let End::Truncated(truncation) = decoder.finish()? else { panic!("half a frame") };
    /// assert_eq!((truncation.index(), truncation.offset()), (1, 26));
    /// # Ok::<(), agui_encoder::decode::DecodeError>(())
    /// ```
    pub fn finish(&mut self) -> Result<End, DecodeError> {
        if let Some(frame) = self.next_frame() {
            return frame.map(End::Frame);
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let text = self.text.bytes(&self.input);
        if is_whole_json(text) {
            let held = self.text.finish();
            let place = self.place();
            self.count += 1;
            self.position = Position::Field(0);
            return Ok(End::Frame(place.own(self.text.own(held, &self.input))));
        }
        let cut = match self.position {
            // The beginning of what may be a `data` line, of which nothing is known.
            Position::Field(1..) | Position::Colon | Position::Value => true,
            Position::Bom(_) | Position::Field(_) | Position::Other(_) => !text.is_empty(),
        };
        if !cut {
            return Ok(End::Clean);
        }
        let offset = if self.text.is_nothing() { self.line_offset } else { self.text_offset };
        Ok(End::Truncated(Truncation::new(self.count, offset)))
    }

    /// Reads on to the end of a frame.
    fn advance(&mut self) -> Option<Result<(Held, Place), DecodeError>> {
        match self.read() {
            Ok(Some(held)) => {
                let place = self.place();
                self.count += 1;
                Some(Ok((held, place)))
            }
            Ok(None) => None,
            Err(TooLarge) => {
                // The line's beginning, unless it adds to a frame.
                let in_data = matches!(self.position, Position::Colon | Position::Value | Position::Field(4));
                let offset = if in_data { self.text_offset } else { self.line_offset };
                let max_frame_bytes = self.text.max_bytes();
                let error = DecodeError::FrameTooLarge { index: self.count, offset, max_frame_bytes };
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
                self.text.keep(&self.input)?;
                if self.input.next_chunk() {
                    continue;
                }
                self.text.shrink();
                return Ok(None);
            };
            match self.position {
                Position::Field(0) => {
                    if let Some(value) = rest.strip_prefix(b"data:") {
                        let value = value.strip_prefix(b" ").unwrap_or(value);
                        let found = memchr2(b'\n', b'\r', value);
                        let (count, name) = (found.unwrap_or(value.len()), rest.len() - value.len());
                        let whole = value.get(count..).is_some_and(|rest| rest.starts_with(b"\n\n"));
                        let end = value.get(count).copied();
                        self.after_cr = false;
                        // A frame of one line that is whole in the chunk: nearly all are.
                        if whole && self.text.is_nothing() && (1..=self.text.max_bytes()).contains(&count) {
                            self.input.skip(name);
                            self.text_offset = self.input.offset();
                            let range = self.input.take(count);
                            self.input.skip(2);
                            return Ok(Some(Held::Chunk(range)));
                        }
                        self.read_data_line(name, count, end)?;
                        continue;
                    }
                    if next == b'\n' && self.after_cr {
                        self.after_cr = false;
                        self.input.skip(1);
                        continue;
                    }
                    if next == b'\n' || next == b'\r' {
                        self.end_line(next);
                        let held = self.text.finish();
                        if !self.text.lend(&held, &self.input).is_empty() {
                            return Ok(Some(held));
                        }
                        continue;
                    }
                    self.line_offset = self.input.offset();
                    self.after_cr = false;
                    self.read_name(0, next)?;
                }
                Position::Field(matched) => self.read_name(matched, next)?,
                Position::Colon => {
                    if next == b' ' {
                        self.input.skip(1);
                    }
                    self.start_value()?;
                }
                Position::Value => {
                    if let Some(count) = memchr2(b'\n', b'\r', rest) {
                        let end = rest.get(count).copied().unwrap_or(b'\n');
                        self.text.take_line(&mut self.input, count)?;
                        self.end_line(end);
                    } else {
                        let count = rest.len();
                        self.text.take_part(&mut self.input, count)?;
                    }
                }
                Position::Other(length) => {
                    let count = memchr2(b'\n', b'\r', rest);
                    let length = length.saturating_add(count.unwrap_or(rest.len()));
                    if length > self.text.max_bytes() {
                        return Err(TooLarge);
                    }
                    let end = count.and_then(|count| rest.get(count)).copied();
                    let count = count.unwrap_or(rest.len());
                    self.input.skip(count);
                    match end {
                        Some(end) => self.end_line(end),
                        None => self.position = Position::Other(length),
                    }
                }
                Position::Bom(matched) => match BOM.get(matched) {
                    Some(&byte) if byte == next => {
                        self.input.skip(1);
                        self.position = Position::Bom(matched + 1);
                    }
                    // All of it, or none of it.
                    None => self.position = Position::Field(0),
                    Some(_) if matched == 0 => self.position = Position::Field(0),
                    Some(_) => self.position = Position::Other(matched),
                },
            }
        }
    }

    /// Reads a `data` line, or as much of it as the chunk has: its name, then `count` bytes of value, then the end.
    fn read_data_line(&mut self, name: usize, count: usize, end: Option<u8>) -> Result<(), TooLarge> {
        self.line_offset = self.input.offset();
        self.input.skip(name);
        self.position = Position::Colon;
        if name == b"data:".len() && count == 0 && end.is_none() {
            // The space may be in the next chunk.
            return Ok(());
        }
        self.start_value()?;
        match end {
            Some(end) => {
                self.text.take_line(&mut self.input, count)?;
                self.end_line(end);
            }
            None => self.text.take_part(&mut self.input, count)?,
        }
        Ok(())
    }

    /// Reads one byte of what may be the name of the field `data`.
    fn read_name(&mut self, matched: usize, next: u8) -> Result<(), TooLarge> {
        match DATA.get(matched) {
            Some(&byte) if byte == next => {
                self.input.skip(1);
                self.position = Position::Field(matched + 1);
            }
            None if next == b':' => {
                self.input.skip(1);
                self.position = Position::Colon;
            }
            // A line without a colon is a field with an empty value.
            None if next == b'\n' || next == b'\r' => self.start_value()?,
            _ => self.position = Position::Other(matched),
        }
        Ok(())
    }

    fn start_value(&mut self) -> Result<(), TooLarge> {
        if self.text.is_nothing() {
            self.text_offset = self.input.offset();
        } else {
            self.text.next_line(&self.input)?;
        }
        self.position = Position::Value;
        Ok(())
    }

    fn end_line(&mut self, end: u8) {
        self.input.skip(1);
        self.after_cr = end == b'\r';
        self.position = Position::Field(0);
    }

    const fn place(&self) -> Place {
        Place { index: self.count, offset: self.text_offset, wire: Wire::LossyJson }
    }
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new()
    }
}
