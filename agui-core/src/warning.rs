//! What a tolerant reader has to say about material it removed, repaired or translated.
//!
//! A warning is a value: whoever reads collects it, and the edge that collected it hands it to `tracing` with
//! [`Warning::log`], once. It names the rule, the place and the event type concerned; a payload value never stands in
//! it, and a name from outside only up to a bounded length.
//!
//! The readers of this crate report at most [`MAX_PER_VALUE`] warnings for one event or input and then say how many
//! more there were: a body of a few megabytes can hold a million unknown members.

use std::borrow::Cow;
use std::fmt;

use crate::path::{Path, clip};

/// Most warnings about one event or input; what is beyond is counted.
pub const MAX_PER_VALUE: usize = 100;

/// One diagnostic for the developer; never an error.
///
/// # Examples
/// ```
/// # use agui_core::{enforce, Event};
/// let mut warnings = Vec::new();
/// let raw = serde_json::json!({"type": "TEXT_MESSAGE_END", "messageId": "m1", "mood": "calm"});
/// enforce::event(raw, &mut warnings)?;
/// assert_eq!(warnings[0].rule(), "PROC-3");
/// assert_eq!(warnings[0].path(), "/mood");
/// assert_eq!(warnings[0].event_type(), Some("TEXT_MESSAGE_END"));
/// assert_eq!(warnings[0].to_string(), "TEXT_MESSAGE_END at /mood: unknown member removed (PROC-3)");
/// # Ok::<(), agui_core::enforce::EnforceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    rule: &'static str,
    message: Cow<'static, str>,
    path: String,
    event_type: Option<Cow<'static, str>>,
    event_index: Option<u64>,
}

impl Warning {
    /// Creates a warning about a whole event, input or stream.
    pub fn new(rule: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { rule, message: message.into(), path: String::new(), event_type: None, event_index: None }
    }

    /// Names the place, as a JSON Pointer from the root of the event or the input.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Names the type of the event concerned.
    #[must_use]
    pub fn with_event_type(mut self, event_type: impl Into<Cow<'static, str>>) -> Self {
        self.event_type = Some(event_type.into());
        self
    }

    /// Gives the position of the event in its stream, counting from 0.
    #[must_use]
    pub const fn with_event_index(mut self, index: u64) -> Self {
        self.event_index = Some(index);
        self
    }

    /// The number of the rule that asks for the warning, such as `PROC-3`.
    pub const fn rule(&self) -> &'static str {
        self.rule
    }

    /// What happened, in one clause. The wording may change.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The place, as a JSON Pointer from the root of the event or the input; empty for the whole of it.
    ///
    /// A path longer than 512 bytes is cut and ends in `…`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The type of the event concerned, also one nobody knows; absent for an input.
    pub fn event_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// The position of the event in its stream, counting from 0; absent where the reader does not know it.
    pub const fn event_index(&self) -> Option<u64> {
        self.event_index
    }

    /// Sends the warning to `tracing`. For the edge that collected it, so that it is logged once.
    pub fn log(&self) {
        tracing::warn!(
            rule = self.rule,
            path = self.path,
            event_type = self.event_type(),
            event_index = self.event_index,
            "{}",
            self.message
        );
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut subject = false;
        if let Some(index) = self.event_index {
            write!(f, "event {index}")?;
            subject = true;
        }
        if let Some(event_type) = &self.event_type {
            write!(f, "{}{event_type}", if subject { " " } else { "" })?;
            subject = true;
        }
        if !self.path.is_empty() {
            write!(f, "{}at {}", if subject { " " } else { "" }, self.path)?;
            subject = true;
        }
        write!(f, "{}{} ({})", if subject { ": " } else { "" }, self.message, self.rule)
    }
}

/// Collects the warnings about one event or input, up to the limit.
pub(crate) struct Sink<'a> {
    list: &'a mut Vec<Warning>,
    start: usize,
    left_out: u64,
    last_rule: &'static str,
    event_type: Option<Cow<'static, str>>,
}

/// A state of a [`Sink`] to go back to.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    len: usize,
    left_out: u64,
}

impl<'a> Sink<'a> {
    pub(crate) const fn new(list: &'a mut Vec<Warning>) -> Self {
        let start = list.len();
        Self { list, start, left_out: 0, last_rule: "PROC-3", event_type: None }
    }

    /// Says which event the warnings are about, those given so far included.
    pub(crate) fn set_event_type(&mut self, event_type: &str) {
        let event_type = match crate::EventType::from_wire(event_type) {
            Some(known) => Cow::Borrowed(known.as_str()),
            None => Cow::Owned(clip(event_type, 64)),
        };
        for warning in self.list.iter_mut().skip(self.start) {
            warning.event_type = Some(event_type.clone());
        }
        self.event_type = Some(event_type);
    }

    pub(crate) fn event_type(&self) -> Option<Cow<'static, str>> {
        self.event_type.clone()
    }

    /// Adds a warning; its text is made only if there is room for it.
    pub(crate) fn warn<M: Into<Cow<'static, str>>>(
        &mut self,
        rule: &'static str,
        path: &Path<'_>,
        message: impl FnOnce() -> M,
    ) {
        self.last_rule = rule;
        if self.list.len() - self.start < MAX_PER_VALUE {
            self.list.push(Warning {
                rule,
                message: message().into(),
                path: path.pointer(),
                event_type: self.event_type.clone(),
                event_index: None,
            });
        } else {
            self.left_out += 1;
        }
    }

    pub(crate) const fn mark(&self) -> Mark {
        Mark { len: self.list.len(), left_out: self.left_out }
    }

    /// Takes back what was added since the mark: the value it was about is removed whole.
    pub(crate) fn rollback(&mut self, mark: Mark) {
        self.list.truncate(mark.len);
        self.left_out = mark.left_out;
    }
}

impl Drop for Sink<'_> {
    fn drop(&mut self) {
        if self.left_out > 0 {
            self.list.push(Warning {
                rule: self.last_rule,
                message: format!("{} more warnings left out", self.left_out).into(),
                path: String::new(),
                event_type: self.event_type.take(),
                event_index: None,
            });
        }
    }
}
