//! Tags, lengths and wire types.
//!
//! A reader never looks beyond its own message, and every length is held against what is there before it is used.

use super::error::{ProtobufError, Reason};

/// Groups inside each other that are skipped; no known field is one.
const MAX_GROUPS: usize = 128;

/// A message being read: a part of the frame's payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Where `rest` starts in the payload.
    at: usize,
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) tag: u32,
    /// Where its content starts.
    pub(super) at: usize,
    pub(super) content: Content<'a>,
}

/// What a field holds, by its wire type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
    /// Skipped whole.
    Group,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, at: 0 }
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn len(&self) -> usize {
        self.rest.len()
    }

    fn fail(&self, why: &'static str) -> ProtobufError {
        ProtobufError::new(Reason::Malformed(why), self.at)
    }

    /// The next field, or nothing at the end of the message.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Field<'a>>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (tag, wire_type) = self.key()?;
        let content = match wire_type {
            0 => {
                return self
                    .varint()
                    .map(|(at, value)| Some(Field { tag, at, content: Content::Varint(value) }));
            }
            2 => {
                let (at, bytes) = self.delimited()?;
                return Ok(Some(Field { tag, at, content: Content::Bytes(bytes) }));
            }
            1 => {
                let at = self.at;
                let bytes = self.take(8)?;
                let value = bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
                return Ok(Some(Field { tag, at, content: Content::Fixed64(value) }));
            }
            3 => Content::Group,
            4 => return Err(self.fail("the end of a group that never began")),
            5 => Content::Fixed32,
            _ => return Err(self.fail("a wire type that does not exist")),
        };
        let at = self.at;
        if matches!(content, Content::Group) {
            self.skip_group(tag, 0)?;
        } else {
            self.take(4)?;
        }
        Ok(Some(Field { tag, at, content }))
    }

    #[inline]
    fn key(&mut self) -> Result<(u32, u32), ProtobufError> {
        if let [byte @ 8..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            self.at += 1;
            return Ok((u32::from(byte >> 3), u32::from(byte & 7)));
        }
        let (at, key) = self.varint()?;
        match u32::try_from(key) {
            Ok(key) if key >> 3 != 0 => Ok((key >> 3, key & 7)),
            _ => Err(ProtobufError::new(Reason::Malformed("a field number that does not exist"), at)),
        }
    }

    /// A varint, with the place where it starts.
    #[inline]
    fn varint(&mut self) -> Result<(usize, u64), ProtobufError> {
        let at = self.at;
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            self.at += 1;
            return Ok((at, u64::from(*byte)));
        }
        let mut value = 0u64;
        for (index, &byte) in self.rest.iter().take(10).enumerate() {
            if index == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.take(index + 1)?;
                return Ok((at, value));
            }
        }
        Err(self.fail("a number that does not end"))
    }

    #[inline]
    fn delimited(&mut self) -> Result<(usize, &'a [u8]), ProtobufError> {
        let (at, length) = self.varint()?;
        let start = self.at;
        match usize::try_from(length) {
            Ok(length) if length <= self.rest.len() => Ok((start, self.take(length)?)),
            _ => Err(ProtobufError::new(Reason::Malformed("a length past the end"), at)),
        }
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8], ProtobufError> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                self.at += count;
                Ok(taken)
            }
            None => Err(self.fail("a field past the end")),
        }
    }

    fn skip_group(&mut self, group: u32, depth: usize) -> Result<(), ProtobufError> {
        if depth >= MAX_GROUPS {
            return Err(ProtobufError::new(Reason::TooDeep, self.at));
        }
        loop {
            if self.rest.is_empty() {
                return Err(self.fail("a group that does not end"));
            }
            let (tag, wire_type) = self.key()?;
            match wire_type {
                0 => {
                    self.varint()?;
                }
                1 => {
                    self.take(8)?;
                }
                2 => {
                    self.delimited()?;
                }
                3 => self.skip_group(tag, depth + 1)?,
                4 if tag == group => return Ok(()),
                4 => return Err(self.fail("the end of another group")),
                5 => {
                    self.take(4)?;
                }
                _ => return Err(self.fail("a wire type that does not exist")),
            }
        }
    }
}

impl<'a> Field<'a> {
    pub(super) const fn fail(&self, reason: Reason) -> ProtobufError {
        ProtobufError::new(reason, self.at)
    }

    /// The field as a message.
    #[inline]
    pub(super) const fn message(&self) -> Result<Reader<'a>, ProtobufError> {
        match self.content {
            Content::Bytes(rest) => Ok(Reader { rest, at: self.at }),
            _ => Err(self.fail(Reason::WireType)),
        }
    }

    /// The field as a string.
    #[inline]
    pub(super) fn text(&self) -> Result<&'a str, ProtobufError> {
        match self.content {
            Content::Bytes(bytes) => std::str::from_utf8(bytes)
                .map_err(|error| ProtobufError::new(Reason::NotUtf8, self.at + error.valid_up_to())),
            _ => Err(self.fail(Reason::WireType)),
        }
    }

    /// The field as an integer, a boolean or an enum.
    #[inline]
    pub(super) const fn varint(&self) -> Result<u64, ProtobufError> {
        match self.content {
            Content::Varint(value) => Ok(value),
            _ => Err(self.fail(Reason::WireType)),
        }
    }

    /// The field as an integer that every JSON reader holds exactly (`SHAPE-3`).
    #[inline]
    pub(super) fn integer(&self) -> Result<i64, ProtobufError> {
        const MAX: i64 = (1 << 53) - 1;
        let value = self.varint()?.cast_signed();
        if (-MAX..=MAX).contains(&value) { Ok(value) } else { Err(self.fail(Reason::Unsafe)) }
    }

    /// The number of an enum value, which has 32 bits.
    #[inline]
    pub(super) fn number(&self) -> Result<i32, ProtobufError> {
        #[expect(clippy::cast_possible_truncation, reason = "the wire keeps the low 32 bits of an enum")]
        self.varint().map(|value| value as i32)
    }
}
