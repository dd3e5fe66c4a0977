//! What a reader hands over: one event's material, not yet judged (`PROC-6`).

use serde_json::Value;

use crate::Event;
use crate::json::Utf8;

/// The material of one event as a wire gives it.
///
/// A reader only turns bytes into frames. Whether the material is an event, and one that may stand where it does, is
/// for the [`Pipeline`](super::Pipeline) to judge, the same on every wire.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// JSON text, and what its wire makes of bytes that are not UTF-8.
    Json(&'a [u8], Utf8),
    /// A tree, from a wire that has no JSON text.
    Tree(Value),
    /// An event that its wire could read without a tree, and that the schema accepts as it is.
    Event(Box<Event>),
}

impl<'a> From<&'a [u8]> for Frame<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Json(text, Utf8::Strict)
    }
}

impl<'a> From<&'a str> for Frame<'a> {
    fn from(text: &'a str) -> Self {
        Self::Json(text.as_bytes(), Utf8::Strict)
    }
}

impl From<Value> for Frame<'_> {
    fn from(tree: Value) -> Self {
        Self::Tree(tree)
    }
}

impl From<Event> for Frame<'_> {
    fn from(event: Event) -> Self {
        Self::Event(Box::new(event))
    }
}
