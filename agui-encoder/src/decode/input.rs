//! What both text decoders stand on: the chunks that have arrived, and the text of the frame being read.
//!
//! A text stays in the chunk it arrived in for as long as it can. It moves into a buffer when the chunk ends before the
//! frame does, or when the frame has several lines; so every byte is copied at most once, and nothing that follows it
//! in the chunk moves.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

/// The most an idle decoder keeps of a buffer that a large frame grew.
const KEPT_BYTES: usize = 64 * 1024;

/// Up to this size a text is copied out of the buffer, which stays; a larger one takes the buffer with it.
const COPIED_BYTES: usize = 4 * 1024;

/// The smallest buffer.
const FIRST_BYTES: usize = 256;

/// The bytes that have arrived and are not read yet.
pub(super) struct Input {
    chunk: Bytes,
    at: usize,
    /// Chunks pushed before the ones before them were read.
    waiting: VecDeque<Bytes>,
    /// Size of all the chunks before this one.
    before: u64,
}

impl Input {
    pub(super) const fn new() -> Self {
        Self { chunk: Bytes::new(), at: 0, waiting: VecDeque::new(), before: 0 }
    }

    pub(super) fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() && self.waiting.is_empty() {
            self.chunk = chunk;
        } else {
            self.waiting.push_back(chunk);
        }
    }

    /// Goes on to the next chunk, if one has arrived. Ranges of this one end here.
    pub(super) fn next_chunk(&mut self) -> bool {
        self.before += self.chunk.len() as u64;
        self.at = 0;
        let next = self.waiting.pop_front();
        let arrived = next.is_some();
        self.chunk = next.unwrap_or_default();
        arrived
    }

    /// What is not read of this chunk.
    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        self.chunk.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// The next `count` bytes, as a range of this chunk.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Range<usize> {
        let start = self.at;
        self.at += count;
        start..self.at
    }

    #[inline]
    pub(super) fn slice(&self, range: Range<usize>) -> &[u8] {
        self.chunk.get(range).unwrap_or_default()
    }

    fn share(&self, range: Range<usize>) -> Bytes {
        self.chunk.slice(range)
    }

    /// Where in the body the next byte stands.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Forgets everything that has arrived.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting: usize = self.waiting.iter().map(Bytes::len).sum();
        f.debug_struct("Input")
            .field("unread", &(self.rest().len() + waiting))
            .field("offset", &self.offset())
            .finish_non_exhaustive()
    }
}

/// Where a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// In the chunk being read.
    Chunk(Range<usize>),
    /// In the buffer, whole.
    Buffer,
}

/// The text of the frame being read.
pub(super) struct Text {
    held: Held,
    /// Means something only while the text is in it, or was handed out from it and nothing was read since.
    buffer: Vec<u8>,
    max_bytes: usize,
}

/// The text would pass the limit.
#[derive(Debug)]
pub(super) struct TooLarge;

impl Text {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { held: Held::Nothing, buffer: Vec::new(), max_bytes }
    }

    pub(super) const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    pub(super) const fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    #[inline]
    pub(super) fn is_nothing(&self) -> bool {
        self.held == Held::Nothing
    }

    pub(super) fn bytes<'a>(&'a self, input: &'a Input) -> &'a [u8] {
        lent(&self.held, &self.buffer, input)
    }

    /// Takes the next `count` bytes of the chunk up to the end of their line; they stay where they are if they are the
    /// first of the text.
    #[inline]
    pub(super) fn take_line(&mut self, input: &mut Input, count: usize) -> Result<(), TooLarge> {
        if self.is_nothing() {
            if count > self.max_bytes {
                return Err(TooLarge);
            }
            self.held = Held::Chunk(input.take(count));
            return Ok(());
        }
        self.take_part(input, count)
    }

    /// Takes the next `count` bytes of the chunk into the buffer.
    pub(super) fn take_part(&mut self, input: &mut Input, count: usize) -> Result<(), TooLarge> {
        let range = input.take(count);
        self.append(input.slice(range))
    }

    /// Makes room for one more line.
    pub(super) fn next_line(&mut self, input: &Input) -> Result<(), TooLarge> {
        self.keep(input)?;
        self.append(b"\n")
    }

    /// Moves a text that is in the chunk into the buffer, before the chunk goes.
    pub(super) fn keep(&mut self, input: &Input) -> Result<(), TooLarge> {
        if let Held::Chunk(range) = self.held.clone() {
            self.held = Held::Nothing;
            self.append(input.slice(range))?;
            self.held = Held::Buffer;
        }
        Ok(())
    }

    /// Adds bytes to the text, in the buffer.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.is_nothing() {
            self.buffer.clear();
            if bytes.is_empty() {
                return Ok(());
            }
        }
        let length = self.buffer.len();
        if bytes.len() > self.max_bytes.saturating_sub(length) {
            return Err(TooLarge);
        }
        // Grows by doubling, as a vector does, but never past the limit.
        let needed = length + bytes.len();
        if needed > self.buffer.capacity() {
            let doubled = self.buffer.capacity().saturating_mul(2).max(FIRST_BYTES).min(self.max_bytes);
            self.buffer.reserve_exact(doubled.max(needed) - length);
        }
        self.buffer.extend_from_slice(bytes);
        self.held = Held::Buffer;
        Ok(())
    }

    /// Leaves out a carriage return at the end.
    pub(super) fn strip_carriage_return(&mut self, input: &Input) {
        match &mut self.held {
            Held::Nothing => {}
            Held::Chunk(range) => {
                if input.slice(range.clone()).ends_with(b"\r") {
                    range.end -= 1;
                }
            }
            Held::Buffer => {
                if self.buffer.ends_with(b"\r") {
                    self.buffer.pop();
                }
            }
        }
    }

    /// Hands over what is held; the next text starts from nothing.
    #[inline]
    pub(super) fn finish(&mut self) -> Held {
        std::mem::replace(&mut self.held, Held::Nothing)
    }

    /// The text that [`finish`](Self::finish) handed over, borrowed.
    #[inline]
    pub(super) fn lend<'a>(&'a self, held: &Held, input: &'a Input) -> &'a [u8] {
        lent(held, &self.buffer, input)
    }

    /// The text that [`finish`](Self::finish) handed over, shared with the chunk if it lies there.
    pub(super) fn own(&mut self, held: Held, input: &Input) -> Bytes {
        match held {
            Held::Nothing => Bytes::new(),
            Held::Chunk(range) => input.share(range),
            Held::Buffer if self.buffer.len() <= COPIED_BYTES => Bytes::copy_from_slice(&self.buffer),
            Held::Buffer => Bytes::from(std::mem::take(&mut self.buffer)),
        }
    }

    /// Gives back a buffer that a large text grew and that no text is in.
    pub(super) fn shrink(&mut self) {
        if self.is_nothing() && self.buffer.capacity() > KEPT_BYTES {
            self.buffer = Vec::new();
        }
    }

    /// Forgets the text and gives back the buffer.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("held", &self.held)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

#[inline]
fn lent<'a>(held: &Held, buffer: &'a [u8], input: &'a Input) -> &'a [u8] {
    match held {
        Held::Nothing => &[],
        Held::Chunk(range) => input.slice(range.clone()),
        Held::Buffer => buffer,
    }
}
