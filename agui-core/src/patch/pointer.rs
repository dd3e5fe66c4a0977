//! JSON Pointer (RFC 6901).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::shape::{Kind, Text, Wire};

/// A place in a JSON value, in the syntax of RFC 6901: `""` is the whole value, `/a/0` the first element of `a`.
///
/// # Examples
/// ```
/// # use agui_core::JsonPointer;
/// let pointer = JsonPointer::from_tokens(["plan", "a/b", "0"]);
/// assert_eq!(pointer.as_str(), "/plan/a~1b/0");
/// assert_eq!(pointer.tokens().collect::<Vec<_>>(), ["plan", "a/b", "0"]);
/// assert!("plan".parse::<JsonPointer>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct JsonPointer(String);

/// Text that is no JSON Pointer: it does not start with `/`, or has a `~` that is neither `~0` nor `~1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON Pointer: it is empty or starts with '/', and '~' stands only before 0 or 1 (RFC 6901)")]
#[non_exhaustive]
pub struct JsonPointerError;

impl JsonPointer {
    /// The pointer to the whole value.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Builds a pointer from member names and list positions, escaping them.
    pub fn from_tokens<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Self {
        let mut pointer = Self::root();
        for token in tokens {
            pointer.push(token.as_ref());
        }
        pointer
    }

    /// Goes one step down.
    pub fn push(&mut self, token: &str) {
        self.0.push('/');
        for character in token.chars() {
            match character {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
    }

    /// Goes one step down, to a list position.
    pub(super) fn push_position(&mut self, position: usize) {
        self.0.push('/');
        self.0.push_str(&position.to_string());
    }

    /// Goes back up to a pointer that was `length` bytes long.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the whole value.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The member names and list positions, unescaped (`~1` before `~0`, as `STATE-2` has it).
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
        tokens_of(&self.0)
    }

    /// The place above, as text, and the last step; `None` for the root.
    pub(super) fn split_last(&self) -> Option<(&str, Cow<'_, str>)> {
        self.0.rsplit_once('/').map(|(parent, token)| (parent, unescape(token)))
    }

    /// The pointer of the first `steps` steps; the whole pointer if it has no more.
    pub(super) fn prefix(&self, steps: usize) -> Self {
        let end = self.0.match_indices('/').nth(steps).map_or(self.0.len(), |(at, _)| at);
        Self(self.0.get(..end).unwrap_or_default().to_owned())
    }

    /// How many steps the place lies below the root.
    pub(super) fn depth(&self) -> usize {
        self.0.bytes().filter(|byte| *byte == b'/').count()
    }

    /// Whether `other` lies inside the value that stands here.
    ///
    /// Comparing text is enough, because every token has exactly one escaped spelling.
    pub(super) fn contains(&self, other: &Self) -> bool {
        other.0.strip_prefix(&self.0).is_some_and(|rest| rest.starts_with('/'))
    }

    fn is_valid(text: &str) -> bool {
        let escapes = text.bytes().zip(text.bytes().skip(1).chain([0]));
        (text.is_empty() || text.starts_with('/'))
            && escapes.filter(|(byte, _)| *byte == b'~').all(|(_, next)| matches!(next, b'0' | b'1'))
    }
}

/// The steps of a pointer's text, unescaped.
pub(super) fn tokens_of(text: &str) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
    let mut tokens = text.split('/');
    tokens.next();
    tokens.map(unescape)
}

fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

impl FromStr for JsonPointer {
    type Err = JsonPointerError;

    fn from_str(text: &str) -> Result<Self, JsonPointerError> {
        Self::is_valid(text).then(|| Self(text.to_owned())).ok_or(JsonPointerError)
    }
}

impl TryFrom<String> for JsonPointer {
    type Error = JsonPointerError;

    fn try_from(text: String) -> Result<Self, JsonPointerError> {
        if Self::is_valid(&text) { Ok(Self(text)) } else { Err(JsonPointerError) }
    }
}

impl TryFrom<&str> for JsonPointer {
    type Error = JsonPointerError;

    fn try_from(text: &str) -> Result<Self, JsonPointerError> {
        text.parse()
    }
}

impl AsRef<str> for JsonPointer {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JsonPointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JsonPointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Text::deserialize(deserializer)?.0.into_owned()).map_err(de::Error::custom)
    }
}

impl Wire for JsonPointer {
    const KIND: Kind = Kind::Pointer;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl_json_schema!(JsonPointer);
