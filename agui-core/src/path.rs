//! Where in a JSON value a reader stands.
//!
//! A path lives on the stack of the reader that walks, one link per level, and becomes text only when something is
//! reported. The text is bounded ([`MAX_TEXT`]): a hostile member name may be as long as the body it came in, and is
//! otherwise repeated for everything that is found below it.

use std::fmt::Write as _;

/// Longest path text in bytes; what is cut ends in `…`.
const MAX_TEXT: usize = 512;

/// A place in a JSON value, as a chain of steps back to the root.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Member(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl<'a> Path<'a> {
    /// The place of a member of the object here.
    pub(crate) const fn member(&'a self, name: &'a str) -> Self {
        Self::Member(self, name)
    }

    /// The place of an element of the list here.
    pub(crate) const fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }

    /// The place as a JSON Pointer, `/messages/0/id`; empty at the root.
    pub(crate) fn pointer(&self) -> String {
        let mut text = String::new();
        self.write_pointer(&mut text);
        text
    }

    /// The place as programs write it, `messages[0].id`; empty at the root.
    pub(crate) fn dotted(&self) -> String {
        let mut text = String::new();
        self.write_dotted(&mut text);
        text
    }

    fn write_pointer(&self, text: &mut String) {
        match self {
            Self::Root => {}
            Self::Member(parent, name) => {
                parent.write_pointer(text);
                push_bounded(text, "/");
                for character in name.chars() {
                    let full = match character {
                        '~' => push_bounded(text, "~0"),
                        '/' => push_bounded(text, "~1"),
                        other => push_bounded(text, other.encode_utf8(&mut [0; 4])),
                    };
                    if full {
                        break;
                    }
                }
            }
            Self::Item(parent, index) => {
                parent.write_pointer(text);
                push_bounded(text, &format!("/{index}"));
            }
        }
    }

    fn write_dotted(&self, text: &mut String) {
        match self {
            Self::Root => {}
            Self::Member(parent, name) => {
                parent.write_dotted(text);
                if !text.is_empty() {
                    push_bounded(text, ".");
                }
                push_bounded(text, &clip(name, MAX_TEXT));
            }
            Self::Item(parent, index) => {
                parent.write_dotted(text);
                push_bounded(text, &format!("[{index}]"));
            }
        }
    }
}

/// Appends while there is room; says whether the text is full.
fn push_bounded(text: &mut String, piece: &str) -> bool {
    if text.len() > MAX_TEXT {
        return true;
    }
    if text.len() + piece.len() > MAX_TEXT {
        text.push('…');
        return true;
    }
    text.push_str(piece);
    false
}

/// The beginning of a text, at most `limit` bytes of it; what is cut ends in `…`.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut clipped = text.get(..end).unwrap_or_default().to_owned();
    clipped.push('…');
    clipped
}

/// A name from outside for a message: quoted, escaped and bounded.
pub(crate) fn quoted(name: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{:?}", clip(name, 64));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_in_both_spellings() {
        let messages = Path::Root.member("messages");
        let first = messages.item(0);
        let member = first.member("a/b~c");
        assert_eq!(member.pointer(), "/messages/0/a~1b~0c");
        assert_eq!(first.member("id").dotted(), "messages[0].id");
        assert_eq!(Path::Root.pointer(), "");
        assert_eq!(Path::Root.dotted(), "");
    }

    #[test]
    fn a_long_name_does_not_make_a_long_path() {
        let name = "é".repeat(100_000);
        let long = Path::Root.member(&name);
        let below = long.item(7);
        for text in [below.pointer(), below.dotted(), clip(&name, 64)] {
            assert!(text.len() <= MAX_TEXT + '…'.len_utf8());
            assert!(text.ends_with('…'));
        }
    }
}
