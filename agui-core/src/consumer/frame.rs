//! What a reader hands over: one event's material, not yet judged (`PROC-6`).

use serde_json::Value;

use crate::json::Utf8;
use crate::{Event, Warning};

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
    Event(Event),
    /// A tree of which the wire left something out, and what it has to say about that.
    #[non_exhaustive]
    Noted {
        /// What is left; nothing if the wire dropped the frame whole.
        tree: Option<Value>,
        /// One for everything that was left out.
        warnings: Vec<Warning>,
    },
    /// Material that is no event of its wire. Fatal.
    #[non_exhaustive]
    Unreadable {
        /// The rule by which it is fatal.
        rule: &'static str,
        /// What is wrong, in one clause.
        message: String,
    },
}

impl Frame<'_> {
    /// A tree of which its wire left something out, or a frame that it dropped whole.
    pub const fn noted(tree: Option<Value>, warnings: Vec<Warning>) -> Self {
        Self::Noted { tree, warnings }
    }

    /// Material that is no event of its wire, with the rule by which that is fatal.
    ///
    /// # Examples
    /// ```
    /// use agui_core::consumer::{Frame, Pipeline};
    ///
    /// let frame = Frame::unreadable("BIND-8", "the bytes do not decode");
    /// let error = Pipeline::new().feed(frame, &mut |_| ()).unwrap_err();
    /// assert_eq!(error.rule(), "BIND-8");
    /// ```
    pub fn unreadable(rule: &'static str, message: impl Into<String>) -> Self {
        Self::Unreadable { rule, message: message.into() }
    }
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
        Self::Event(event)
    }
}
