//! What a validator says about a value that breaks the schema.
//!
//! A violation never carries the value itself: it shows at most [`MAX_SHOWN`] bytes of it, because values may be
//! long and may be secret.

use std::{borrow::Cow, error::Error, fmt, io, slice, vec};

use serde_json::Value;

use crate::Definition;

/// How much of a value a message shows, in bytes of its JSON text.
const MAX_SHOWN: usize = 80;

/// One rule of the schema that a value breaks.
///
/// Displayed as `POINTER: MESSAGE (DEFINITION, KEYWORD)`, with `/` for the pointer of the whole value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub(crate) pointer: String,
    pub(crate) keyword: Cow<'static, str>,
    pub(crate) definition: Definition,
    pub(crate) message: String,
}

impl Violation {
    /// Where the value is wrong, as a JSON pointer (RFC 6901) from the root of what was validated.
    ///
    /// Empty for the root itself. A missing member is reported at the object that lacks it, an unknown one at the
    /// member.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The schema's keyword that was broken: `required`, `type`, `const`, `unevaluatedProperties` and so on.
    ///
    /// Two cases stand for more than their keyword: an unknown discriminator is `enum`, and text that is not JSON
    /// at all is `json`.
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// The innermost object or union definition of the schema whose rule was broken.
    pub const fn definition(&self) -> Definition {
        self.definition
    }

    /// What was expected, and what was found instead, the latter cut to a bounded length.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{pointer}: {} ({}, {})", self.message, self.definition, self.keyword)
    }
}

/// Everything found wrong with one value; at least one violation.
///
/// Displayed one per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// `Ok` when nothing was found.
    pub(crate) fn check(found: Vec<Violation>) -> Result<(), Self> {
        if found.is_empty() { Ok(()) } else { Err(Self(found)) }
    }

    /// The violations in the order in which they were found.
    pub fn as_slice(&self) -> &[Violation] {
        &self.0
    }

    /// Goes through the violations in the order in which they were found.
    pub fn iter(&self) -> slice::Iter<'_, Violation> {
        self.0.iter()
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl Error for Violations {}

/// The JSON text of a value, cut to [`MAX_SHOWN`] bytes. No more than that is ever written out.
pub(crate) fn shown(value: &Value) -> String {
    let mut writer = Bounded(Vec::with_capacity(MAX_SHOWN));
    let whole = serde_json::to_writer(&mut writer, value).is_ok();
    let mut text = String::from_utf8_lossy(&writer.0).into_owned();
    if !whole {
        // The cut may have gone through a character.
        while text.ends_with(char::REPLACEMENT_CHARACTER) {
            text.pop();
        }
        text.push('…');
    }
    text
}

/// A writer that fails once it is full.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(MAX_SHOWN - self.0.len());
        self.0.extend(bytes.iter().take(taken));
        // Zero is what `write_all` takes for "full".
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(shown(&json!({"a": [1, "x"]})), r#"{"a":[1,"x"]}"#);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        for lead in ["", "a", "ab"] {
            let text = shown(&json!(format!("{lead}{}", "€".repeat(1000))));
            assert!(text.len() <= MAX_SHOWN + '…'.len_utf8(), "{}", text.len());
            assert!(text.ends_with("€…"), "{text}");
        }
    }
}
