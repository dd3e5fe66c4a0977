//! Reading JSON text down to the one depth that every wire carries.
//!
//! The limit of `serde_json` is one level short of it. Nothing is repaired here: text that a tolerant reader would
//! still make something of is an error.

use serde::{Deserialize, de::Error as _};
use serde_json::{Deserializer, Error, Value};

/// Levels of nesting that a frame may have; deeper text is no JSON to a consumer either (`PROC-6`).
pub const MAX_DEPTH: usize = 128;

/// Reads one JSON value that fills the whole text and nests at most `levels` objects and lists.
///
/// # Errors
/// The text is no JSON, or is nested more deeply.
///
/// # Examples
/// ```
/// use agui_schema::json;
///
/// let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
/// assert!(json::read(&nested(128), json::MAX_DEPTH).is_ok());
/// let error = json::read(&nested(129), json::MAX_DEPTH).unwrap_err();
/// assert_eq!(error.to_string(), "nested deeper than 128 levels");
/// ```
pub fn read(text: &str, levels: usize) -> Result<Value, Error> {
    // Counted beforehand, because a tree that is read without a limit can exhaust the stack.
    if depth(text.as_bytes()) > levels {
        return Err(Error::custom(format_args!("nested deeper than {levels} levels")));
    }
    let mut deserializer = Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let value = Value::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// The most brackets that are open at once: for JSON its depth, for other text no less than a parser goes down.
fn depth(text: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                open += 1;
                most = most.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_text_are_no_levels() {
        for text in [r#"["[[[", "\"[[", "\\", {"[{": []}]"#, r#"[[[1, "[[[\"#, "]]][[["] {
            assert_eq!(depth(text.as_bytes()), 3, "{text}");
        }
    }

    #[test]
    fn text_that_is_nested_without_end_is_an_error() {
        for text in ["[".repeat(1_000_000), r#"{"a":"#.repeat(1_000_000)] {
            assert!(read(&text, MAX_DEPTH).is_err());
        }
    }

    #[test]
    fn a_value_has_to_fill_the_text() {
        assert_eq!(read(" [1] ", MAX_DEPTH).unwrap(), serde_json::json!([1]));
        for text in ["", "[1] 2", "[1]]", "[1"] {
            assert!(read(text, MAX_DEPTH).is_err(), "{text}");
        }
    }
}
