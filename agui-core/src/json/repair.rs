//! Makes text that a JSON parser refuses for its characters alone acceptable to it, and remembers where.
//!
//! The parser reports no positions of values, so a repair is found again by counting: it is the n-th U+FFFD of the
//! text, written or escaped, and strings are read in the order of the text.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::{JsonError, Utf8};

const SURROGATE: &str = "an escaped lone surrogate became U+FFFD";
const INVALID: &str = "bytes that are not UTF-8 became U+FFFD";

/// What was repaired, found again while the text is read.
pub(super) struct Repairs {
    /// Position among the replacement characters of the text, and what was repaired; in order.
    places: VecDeque<(u64, &'static str)>,
    /// Replacement characters read so far.
    seen: u64,
}

impl Repairs {
    /// The repairs that lie in the next string of the text, one of a kind.
    pub(super) fn in_text(&mut self, text: &str) -> impl Iterator<Item = &'static str> + use<> {
        let (mut surrogate, mut invalid) = (None, None);
        if !self.places.is_empty() {
            self.seen += text.matches(char::REPLACEMENT_CHARACTER).count() as u64;
            while let Some((place, why)) = self.places.front().copied()
                && place < self.seen
            {
                let slot = if why == SURROGATE { &mut surrogate } else { &mut invalid };
                *slot = Some(why);
                self.places.pop_front();
            }
        }
        surrogate.into_iter().chain(invalid)
    }
}

/// Replaces escaped lone surrogates, and invalid bytes where the wire tolerates them.
pub(super) fn repair(bytes: &[u8], utf8: Utf8) -> Result<(Cow<'_, str>, Repairs), JsonError> {
    let mut invalid = VecDeque::new();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) if utf8 == Utf8::Strict => {
            return Err(JsonError::NotUtf8 { offset: error.valid_up_to() });
        }
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                if !chunk.invalid().is_empty() {
                    invalid.push_back(text.len());
                    text.push(char::REPLACEMENT_CHARACTER);
                }
            }
            Cow::Owned(text)
        }
    };
    let surrogates = lone_surrogates(text.as_bytes());
    let repairs = locate(text.as_bytes(), &surrogates, invalid);
    Ok((replace(text, &surrogates), repairs))
}

/// The offsets of escaped surrogates without their other half.
///
/// A backslash stands only inside strings, so the escapes can be found without parsing.
fn lone_surrogates(text: &[u8]) -> Vec<usize> {
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(skipped) = text.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += skipped;
        match escaped(text, at) {
            Some(0xD800..=0xDBFF) if matches!(escaped(text, at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                lone.push(at);
                at += 6;
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    lone
}

/// The code unit of the `\uXXXX` escape at an offset.
fn escaped(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(br"\u")?;
    digits.iter().try_fold(0u16, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((unit << 4) | u16::try_from(digit).ok()?)
    })
}

/// The position of every repair among the replacement characters of the text.
fn locate(text: &[u8], surrogates: &[usize], mut invalid: VecDeque<usize>) -> Repairs {
    let mut places = VecDeque::new();
    let mut surrogates = surrogates.iter().copied().peekable();
    let (mut at, mut count) = (0, 0);
    while surrogates.peek().is_some() || !invalid.is_empty() {
        match text.get(at) {
            None => break,
            Some(b'\\') => match escaped(text, at) {
                Some(unit) => {
                    if surrogates.next_if_eq(&at).is_some() {
                        places.push_back((count, SURROGATE));
                        count += 1;
                    } else if unit == 0xFFFD {
                        count += 1;
                    }
                    at += 6;
                }
                None => at += 2,
            },
            Some(0xEF) if text.get(at..at + 3) == Some("\u{FFFD}".as_bytes()) => {
                if invalid.front() == Some(&at) {
                    invalid.pop_front();
                    places.push_back((count, INVALID));
                }
                count += 1;
                at += 3;
            }
            Some(_) => at += 1,
        }
    }
    Repairs { places, seen: 0 }
}

/// Writes `\ufffd` in the place of every lone surrogate.
fn replace<'a>(text: Cow<'a, str>, surrogates: &[usize]) -> Cow<'a, str> {
    if surrogates.is_empty() {
        return text;
    }
    let mut replaced = String::with_capacity(text.len());
    let mut from = 0;
    for at in surrogates {
        replaced.push_str(text.get(from..*at).unwrap_or_default());
        replaced.push_str(r"\ufffd");
        from = at + 6;
    }
    replaced.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(replaced)
}
