//! JSON text to a tree, tolerantly where the protocol asks for it.
//!
//! Used where the strict typed reading refused, and where a tree is wanted anyway. It accepts what `serde_json`
//! accepts, and settles what JSON leaves open:
//! - at most [`MAX_DEPTH`] containers inside each other;
//! - of a name twice in one object the last counts, with a warning;
//! - an escaped surrogate without its other half becomes U+FFFD, with a warning;
//! - invalid UTF-8 is an error or becomes U+FFFD with a warning, as the caller's wire has it ([`Utf8`]);
//! - integers of up to 64 bits are exact, other numbers the nearest double, and a number beyond every double is an
//!   error.
//!
//! It judges nothing about shapes (`PROC-6`); that is [`enforce`](crate::enforce). Memory is bounded by the text, so
//! the limit on its length is the caller's.

mod distinct;
mod repair;

pub(crate) use distinct::{read_object, read_value};

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::Warning;
use crate::path::Path;
use crate::warning::Sink;
use repair::{Repairs, repair};

/// Most containers inside each other that any reader of the protocol accepts.
pub const MAX_DEPTH: usize = 128;

/// What becomes of bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Utf8 {
    /// They are an error, as in a request body (`BIND-1`).
    #[default]
    Strict,
    /// They become U+FFFD with a warning, as in an event stream, whose grammar decodes that way.
    Lossy,
}

/// Text that is no JSON this crate reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 from byte {offset} on")]
    NotUtf8 {
        /// How many bytes are valid.
        offset: usize,
    },
    /// The text is empty, not JSON, goes on after the value, or holds a number beyond every double.
    #[error("not JSON (line {}, column {})", .0.line(), .0.column())]
    NotJson(#[source] serde_json::Error),
    /// More than [`MAX_DEPTH`] containers stand inside each other.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl JsonError {
    /// One sentence that is safe to show to whoever sent the text: no position, nothing of the text.
    pub const fn message(&self) -> &'static str {
        match self {
            Self::NotUtf8 { .. } => "The text is not UTF-8.",
            Self::NotJson(_) => "The text is not one JSON value.",
            Self::TooDeep => "The JSON is nested deeper than 128 levels.",
        }
    }
}

/// Reads one JSON value that fills the whole text.
///
/// # Errors
/// The text is no JSON, is nested too deeply, or is not UTF-8 where `utf8` asks for it.
///
/// # Examples
/// ```
/// use agui_core::json::{self, JsonError, Utf8};
///
/// let mut warnings = Vec::new();
/// let value = json::read(br#"{"a":1,"a":2}"#, Utf8::Strict, &mut warnings)?;
/// assert_eq!(value, serde_json::json!({"a": 2}));
/// assert_eq!(warnings[0].path(), "/a");
/// let deep = "[".repeat(129) + &"]".repeat(129);
/// assert!(matches!(json::read(deep.as_bytes(), Utf8::Strict, &mut warnings), Err(JsonError::TooDeep)));
/// # Ok::<(), JsonError>(())
/// ```
pub fn read(text: &[u8], utf8: Utf8, warnings: &mut Vec<Warning>) -> Result<Value, JsonError> {
    read_into(text, utf8, &mut Sink::new(warnings))
}

/// [`read`], into a collector that goes on with what comes after the reading.
pub(crate) fn read_into(text: &[u8], utf8: Utf8, sink: &mut Sink<'_>) -> Result<Value, JsonError> {
    let (text, repairs) = repair(text, utf8)?;
    let mut reading = Reading { sink, repairs, too_deep: false };
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    // The limit is kept by the reading itself, which counts 128 levels where serde_json stops at 127.
    deserializer.disable_recursion_limit();
    let seed = Tree { reading: &mut reading, path: &Path::Root, depth: 0 };
    let value = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(value) => Ok(value),
        Err(_) if reading.too_deep => Err(JsonError::TooDeep),
        Err(error) => Err(JsonError::NotJson(error)),
    }
}

/// What a reading carries from value to value.
struct Reading<'r, 's> {
    sink: &'r mut Sink<'s>,
    repairs: Repairs,
    too_deep: bool,
}

impl Reading<'_, '_> {
    /// Warns if a repair lies in the text that was just read at a place.
    fn check_text(&mut self, text: &str, path: &Path<'_>) {
        for why in self.repairs.in_text(text) {
            self.sink.warn("PROC-6", path, || why);
        }
    }

    /// Goes one level down.
    fn enter<E: de::Error>(&mut self, depth: usize) -> Result<usize, E> {
        if depth < MAX_DEPTH {
            return Ok(depth + 1);
        }
        self.too_deep = true;
        Err(E::custom("nested too deeply"))
    }
}

/// Reads the value at one place.
struct Tree<'t, 'r, 's> {
    reading: &'t mut Reading<'r, 's>,
    path: &'t Path<'t>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Tree<'_, '_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_, '_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        self.reading.check_text(v, self.path);
        Ok(v.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let Self { reading, path, depth } = self;
        let depth = reading.enter(depth)?;
        let mut list = Vec::new();
        loop {
            let at = path.item(list.len());
            match seq.next_element_seed(Tree { reading: &mut *reading, path: &at, depth })? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Self { reading, path, depth } = self;
        let depth = reading.enter(depth)?;
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if object.is_empty() && is_number_key(&name) {
                return read_number(map);
            }
            let at = path.member(&name);
            reading.check_text(&name, &at);
            let value = map.next_value_seed(Tree { reading: &mut *reading, path: &at, depth })?;
            if object.contains_key(&name) {
                reading.sink.warn("PROC-6", &at, || "a member twice in one object; the last one counts");
            }
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

/// Whether a map is a number in disguise: with `serde_json`'s feature `arbitrary_precision`, which any crate of a build
/// can turn on, a number reaches visitors as an object with this one member.
fn is_number_key(name: &str) -> bool {
    // Without the feature the name is one like any other, and no number is beyond the doubles.
    name == "$serde_json::private::Number" && "1e400".parse::<Number>().is_ok()
}

/// Reads the number of such a map.
fn read_number<'de, A: MapAccess<'de>>(mut map: A) -> Result<Value, A::Error> {
    let digits: String = map.next_value()?;
    digits.parse::<Number>().map(Value::Number).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> (Value, Vec<(String, String)>) {
        let mut warnings = Vec::new();
        let value = read(text.as_bytes(), Utf8::Strict, &mut warnings).unwrap();
        (value, warnings.iter().map(|w| (w.path().to_owned(), w.message().to_owned())).collect())
    }

    #[test]
    fn a_lone_surrogate_is_replaced_at_its_own_place() {
        let (value, warnings) = read_all(
            r#"{"ok":"\ufffd \\ud800 \ud83d\ude00","a":["�","x\uD800y\udc00"],"\udfff":{"b":"\ud800\ud83d\ude00"}}"#,
        );
        assert_eq!(
            value,
            serde_json::json!({
                "ok": "\u{FFFD} \\ud800 😀", "a": ["\u{FFFD}", "x\u{FFFD}y\u{FFFD}"],
                "\u{FFFD}": {"b": "\u{FFFD}😀"}
            })
        );
        let paths: Vec<&str> = warnings.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["/a/1", "/\u{FFFD}", "/\u{FFFD}/b"]);
        assert!(warnings[0].1.contains("surrogate"));
    }

    #[test]
    fn invalid_utf8_is_an_error_or_a_warning() {
        let text = b"{\"a\":\"\xEF\xBF\xBD\",\"b\":\"x\xFF\xC3y\"}";
        let mut warnings = Vec::new();
        assert!(matches!(read(text, Utf8::Strict, &mut warnings), Err(JsonError::NotUtf8 { offset: 17 })));
        assert!(warnings.is_empty());
        let value = read(text, Utf8::Lossy, &mut warnings).unwrap();
        assert_eq!(value, serde_json::json!({"a": "\u{FFFD}", "b": "x\u{FFFD}\u{FFFD}y"}));
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].path(), "/b");
        assert!(warnings[0].message().contains("UTF-8"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in
            ["", " ", "{", "[1,]", "1e400", "-1e400", "{} x", "01", "\"\u{1}\"", r#""\ud80""#, "nul", "NaN"]
        {
            let result = read(text.as_bytes(), Utf8::Lossy, &mut Vec::new());
            assert!(matches!(result, Err(JsonError::NotJson(_))), "{text}: {result:?}");
        }
    }

    #[test]
    fn numbers_are_exact_to_64_bits_and_then_the_nearest_double() {
        for text in
            ["18446744073709551615", "-9223372036854775808", "0.1", "5e-324", "1.7976931348623157e+308"]
        {
            assert_eq!(read_all(text).0.to_string(), text);
        }
        assert_eq!(read_all("18446744073709551616").0, serde_json::json!(18_446_744_073_709_551_616.0));
    }

    #[test]
    fn depth_is_counted_in_containers() {
        let nested = |open: &str, close: &str, depth| open.repeat(depth) + "1" + &close.repeat(depth);
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            assert!(read(nested(open, close, 128).as_bytes(), Utf8::Strict, &mut Vec::new()).is_ok());
            for depth in [129, 130, 100_000] {
                let result = read(nested(open, close, depth).as_bytes(), Utf8::Strict, &mut Vec::new());
                assert!(matches!(result, Err(JsonError::TooDeep)));
            }
        }
    }

    #[test]
    fn a_flood_of_warnings_is_counted_and_not_kept() {
        let text = format!("{{{}\"a\":1}}", r#""a":1,"#.repeat(1000));
        let mut warnings = vec![Warning::new("VER-2", "an earlier one")];
        read(text.as_bytes(), Utf8::Strict, &mut warnings).unwrap();
        assert_eq!(warnings.len(), 1 + crate::warning::MAX_PER_VALUE + 1);
        assert_eq!(warnings.last().unwrap().message(), "900 more warnings left out");
    }
}
