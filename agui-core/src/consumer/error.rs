//! Why a consumer rejected a stream.

use std::fmt;

use crate::enforce::{EnforceError, EventError};
use crate::sequence::SequenceError;

/// A stream was rejected: the run counts as failed, and what was delivered before stays delivered.
///
/// This is not a run that reports `RUN_ERROR`; that one is delivered as an event (`LIFE-6`).
#[derive(Debug, thiserror::Error)]
#[error("event {index}: {reason}")]
pub struct StreamError {
    index: u64,
    reason: Box<Reason>,
}

/// What was wrong.
#[derive(Debug)]
enum Reason {
    Event(EventError),
    Sequence(SequenceError),
    Wire { rule: &'static str, message: String },
    Stopped,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(error) => error.fmt(f),
            Self::Sequence(error) => error.fmt(f),
            // The errors of a wire may name the rule themselves.
            Self::Wire { rule, message } if message.ends_with(&format!("({rule})")) => f.write_str(message),
            Self::Wire { rule, message } => write!(f, "{message} ({rule})"),
            Self::Stopped => f.write_str("the stream has been rejected already"),
        }
    }
}

impl StreamError {
    /// A frame that its wire could not read; `index` counts frames from 0.
    pub fn wire(index: u64, rule: &'static str, message: impl Into<String>) -> Self {
        Self::new(index, Reason::Wire { rule, message: message.into() })
    }

    pub(super) fn event(index: u64, error: EventError) -> Self {
        Self::new(index, Reason::Event(error))
    }

    pub(super) fn malformed(index: u64, error: EnforceError) -> Self {
        Self::event(index, error.into())
    }

    pub(super) fn sequence(index: u64, error: SequenceError) -> Self {
        Self::new(index, Reason::Sequence(error))
    }

    pub(super) fn stopped(index: u64) -> Self {
        Self::new(index, Reason::Stopped)
    }

    fn new(index: u64, reason: Reason) -> Self {
        Self { index, reason: Box::new(reason) }
    }

    /// The position of the frame in the stream, counting from 0.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// The rule that was broken, such as `STREAM-1`.
    pub fn rule(&self) -> &'static str {
        match &*self.reason {
            Reason::Event(error) => error.rule(),
            Reason::Sequence(error) => error.rule(),
            Reason::Wire { rule, .. } => rule,
            Reason::Stopped => "PROC-1",
        }
    }

    /// The type of the event concerned, where it is known.
    pub fn event_type(&self) -> Option<&str> {
        match &*self.reason {
            Reason::Event(EventError::Malformed(error)) => error.event_type(),
            Reason::Sequence(error) => Some(error.event_type().as_str()),
            _ => None,
        }
    }

    /// The member concerned, as a JSON Pointer from the root of the event; empty for the whole event.
    pub fn path(&self) -> &str {
        match &*self.reason {
            Reason::Event(EventError::Malformed(error)) => error.pointer(),
            Reason::Sequence(error) => error.path(),
            _ => "",
        }
    }

    /// What was wrong, without the event's position.
    pub fn message(&self) -> String {
        self.reason.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::StreamError;

    #[test]
    fn a_wire_error_names_its_rule_once() {
        for message in ["too long", "too long (PROC-6)"] {
            let error = StreamError::wire(3, "PROC-6", message);
            assert_eq!(error.to_string(), "event 3: too long (PROC-6)");
        }
    }
}
