//! Where an encoding goes: first to a ruler, then to the buffer.
//!
//! The length of a nested message stands before its content. So everything is walked twice by the same code: the
//! [`Sizer`] notes the length of each message in the order in which they begin, the [`Writer`] takes the notes in that
//! order. Each walk is linear, however deep the messages nest.

use agui_core::JsonObject;
use agui_core::json::MAX_DEPTH;
use bytes::{BufMut, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use serde_json::{Number, Value};

/// What the wire cannot carry.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("nested deeper than {MAX_DEPTH} levels (PROC-6)")]
    TooDeep,
    #[error("longer than a frame's length can say (BIND-3)")]
    TooLong,
    #[error("a kind of value that this version of the wire does not have (BIND-3)")]
    NoField,
    #[error("{what} at {:?} (BIND-3)", .path.as_str())]
    Raw { path: String, what: &'static str },
}

impl Fault {
    pub(super) const fn raw(what: &'static str) -> Self {
        Self::Raw { path: String::new(), what }
    }

    /// Says in which member it was met.
    pub(super) fn within(self, step: &str) -> Self {
        match self {
            Self::Raw { path, what } => Self::Raw { path: format!("/{step}{path}"), what },
            other => other,
        }
    }
}

pub(super) type Written = Result<(), Fault>;

/// Takes the fields of messages in the order of the wire.
pub(super) trait Out: Sized {
    /// A varint, written whatever it is.
    fn varint(&mut self, tag: u32, value: u64);

    /// A string, written also when empty.
    fn string(&mut self, tag: u32, text: &str);

    /// A message, written also when empty.
    fn message(&mut self, tag: u32, body: impl FnOnce(&mut Self) -> Written) -> Written;

    /// A `google.protobuf.Value` that holds a number.
    fn number(&mut self, tag: u32, value: &Number);

    /// A `google.protobuf.Value` that holds a string.
    fn string_value(&mut self, tag: u32, text: &str);

    /// A `google.protobuf.Value` that holds a flag, or null as the field 1.
    fn flag(&mut self, tag: u32, field: u8, flag: bool);

    /// A plain string: not written when empty.
    #[inline]
    fn text(&mut self, tag: u32, text: &str) {
        if !text.is_empty() {
            self.string(tag, text);
        }
    }

    /// An optional string: written when there is one.
    #[inline]
    fn optional<T: AsRef<str>>(&mut self, tag: u32, text: Option<&T>) {
        if let Some(text) = text {
            self.string(tag, text.as_ref());
        }
    }

    /// An integer, written whatever it is.
    #[inline]
    fn integer(&mut self, tag: u32, value: i64) {
        self.varint(tag, value.cast_unsigned());
    }
}

/// A JSON value as `google.protobuf.Value`. `level` is how deep in the event a container here stands, counting from 1.
pub(super) fn value<O: Out>(out: &mut O, tag: u32, value: &Value, level: usize) -> Written {
    // The length of a scalar is known without a note.
    match value {
        Value::Null => out.flag(tag, 1, false),
        Value::Number(number) => out.number(tag, number),
        Value::String(text) => out.string_value(tag, text),
        Value::Bool(flag) => out.flag(tag, 4, *flag),
        Value::Object(members) => return out.message(tag, |out| object(out, 5, members, level)),
        Value::Array(items) => {
            check(level)?;
            return out.message(tag, |out| {
                out.message(6, |out| items.iter().try_for_each(|item| self::value(out, 1, item, level + 1)))
            });
        }
    }
    Ok(())
}

/// A JSON object as `google.protobuf.Struct`, its entries in the order of the map.
pub(super) fn object<O: Out>(out: &mut O, tag: u32, members: &JsonObject, level: usize) -> Written {
    check(level)?;
    out.message(tag, |out| {
        members.iter().try_for_each(|(name, member)| {
            out.message(1, |out| {
                out.text(1, name);
                value(out, 2, member, level + 1)
            })
        })
    })
}

const fn check(level: usize) -> Written {
    if level > MAX_DEPTH { Err(Fault::TooDeep) } else { Ok(()) }
}

/// Notes the length of every message.
pub(super) struct Sizer<'a> {
    sizes: &'a mut Vec<u32>,
    total: usize,
}

impl<'a> Sizer<'a> {
    pub(super) fn new(sizes: &'a mut Vec<u32>) -> Self {
        sizes.clear();
        Self { sizes, total: 0 }
    }

    pub(super) const fn total(&self) -> usize {
        self.total
    }
}

impl Out for Sizer<'_> {
    #[inline]
    fn varint(&mut self, tag: u32, value: u64) {
        self.total += key_len(tag) + encoded_len_varint(value);
    }

    #[inline]
    fn number(&mut self, _: u32, _: &Number) {
        self.total += 1 + 1 + usize::from(NUMBER);
    }

    #[inline]
    fn string_value(&mut self, _: u32, text: &str) {
        let size = string_size(text);
        self.total += 1 + encoded_len_varint(size) + 1 + encoded_len_varint(text.len() as u64) + text.len();
    }

    #[inline]
    fn flag(&mut self, _: u32, _: u8, _: bool) {
        self.total += 1 + 1 + usize::from(FLAG);
    }

    #[inline]
    fn string(&mut self, tag: u32, text: &str) {
        self.total += key_len(tag) + encoded_len_varint(text.len() as u64) + text.len();
    }

    #[inline]
    fn message(&mut self, tag: u32, body: impl FnOnce(&mut Self) -> Written) -> Written {
        let note = self.sizes.len();
        let start = self.total;
        self.sizes.push(0);
        body(self)?;
        let size = u32::try_from(self.total - start).map_err(|_| Fault::TooLong)?;
        if let Some(noted) = self.sizes.get_mut(note) {
            *noted = size;
        }
        self.total += key_len(tag) + encoded_len_varint(u64::from(size));
        Ok(())
    }
}

/// Writes, with the lengths that a [`Sizer`] noted of the same walk.
pub(super) struct Writer<'a> {
    sizes: std::slice::Iter<'a, u32>,
    buffer: &'a mut BytesMut,
}

impl<'a> Writer<'a> {
    pub(super) fn new(sizes: &'a [u32], buffer: &'a mut BytesMut) -> Self {
        Self { sizes: sizes.iter(), buffer }
    }

    /// A key and the number behind it. Nearly all are one byte each, and go out in one step.
    #[inline]
    fn head(&mut self, tag: u32, wire_type: WireType, number: u64) {
        if let (Ok(tag @ ..16), Ok(number @ ..0x80)) = (u8::try_from(tag), u8::try_from(number)) {
            self.buffer.extend_from_slice(&[tag << 3 | wire_type as u8, number]);
        } else {
            encode_key(tag, wire_type, self.buffer);
            encode_varint(number, self.buffer);
        }
    }
}

impl Out for Writer<'_> {
    #[inline]
    fn varint(&mut self, tag: u32, value: u64) {
        self.head(tag, WireType::Varint, value);
    }

    #[inline]
    fn number(&mut self, tag: u32, value: &Number) {
        let mut bytes = [key(tag), NUMBER, 0x11, 0, 0, 0, 0, 0, 0, 0, 0];
        if let Some(double) = bytes.last_chunk_mut() {
            *double = double_of(value).to_le_bytes();
        }
        self.buffer.extend_from_slice(&bytes);
    }

    #[inline]
    fn string_value(&mut self, tag: u32, text: &str) {
        let size = string_size(text);
        if let (Ok(size @ ..0x80), Ok(length)) = (u8::try_from(size), u8::try_from(text.len())) {
            self.buffer.extend_from_slice(&[key(tag), size, 0x1a, length]);
        } else {
            self.buffer.put_u8(key(tag));
            encode_varint(size, self.buffer);
            self.buffer.put_u8(0x1a);
            encode_varint(text.len() as u64, self.buffer);
        }
        self.buffer.extend_from_slice(text.as_bytes());
    }

    #[inline]
    fn flag(&mut self, tag: u32, field: u8, flag: bool) {
        self.buffer.extend_from_slice(&[key(tag), FLAG, field << 3, u8::from(flag)]);
    }

    #[inline]
    fn string(&mut self, tag: u32, text: &str) {
        self.head(tag, WireType::LengthDelimited, text.len() as u64);
        self.buffer.extend_from_slice(text.as_bytes());
    }

    #[inline]
    fn message(&mut self, tag: u32, body: impl FnOnce(&mut Self) -> Written) -> Written {
        let size = self.sizes.next().copied().unwrap_or_default();
        self.head(tag, WireType::LengthDelimited, u64::from(size));
        body(self)
    }
}

/// The length of a value that holds a number, and of one that holds a flag or null.
const NUMBER: u8 = 9;
const FLAG: u8 = 2;

/// The length of a value that holds this string.
#[inline]
fn string_size(text: &str) -> u64 {
    let length = text.len() as u64;
    1 + encoded_len_varint(length) as u64 + length
}

/// The key of a value's field. No field of the wire that holds one has a number of 16 or more, so it is one byte.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "field numbers of values are below 16")]
const fn key(tag: u32) -> u8 {
    (tag << 3) as u8 | WireType::LengthDelimited as u8
}

/// The nearest double; infinity for digits that no double reaches, which only `arbitrary_precision` keeps.
fn double_of(number: &Number) -> f64 {
    number.as_f64().unwrap_or_else(|| number.to_string().parse().unwrap_or(f64::NAN))
}
