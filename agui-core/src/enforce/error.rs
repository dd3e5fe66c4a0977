//! What a receiver rejects: malformed material, and text that is no JSON.

use std::borrow::Cow;
use std::fmt;

use crate::json::JsonError;
use crate::path::Path;

/// A known member that is malformed or missing (`PROC-5`), or an object that does not say what it is (`PROC-4`).
///
/// # Examples
/// ```
/// use agui_core::enforce;
/// use serde_json::json;
///
/// let raw = json!({"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "Hi"}]});
/// let error = enforce::input(raw, &mut Vec::new()).unwrap_err();
/// assert_eq!(error.rule(), "PROC-5");
/// assert_eq!(error.path(), "messages[0].id");
/// assert_eq!(error.pointer(), "/messages/0/id");
/// assert_eq!(error.message(), "`messages[0].id` is missing.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnforceError(Box<Malformed>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Malformed {
    rule: &'static str,
    pointer: String,
    dotted: String,
    noun: &'static str,
    event_type: Option<Cow<'static, str>>,
    /// What has to stand there; nothing if the member is missing.
    expected: Option<Cow<'static, str>>,
}

impl EnforceError {
    pub(crate) fn new(
        rule: &'static str,
        path: &Path<'_>,
        noun: &'static str,
        event_type: Option<Cow<'static, str>>,
        expected: Option<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Malformed {
            rule,
            pointer: path.pointer(),
            dotted: path.dotted(),
            noun,
            event_type,
            expected,
        }))
    }

    /// The error of a value that as a whole is not what it has to be.
    pub(crate) fn at_root(noun: &'static str, event_type: Option<Cow<'static, str>>) -> Self {
        Self::new("PROC-5", &Path::Root, noun, event_type, Some("what the schema describes".into()))
    }

    /// The number of the rule that is broken, such as `PROC-5`.
    pub fn rule(&self) -> &'static str {
        self.0.rule
    }

    /// The first offending member, `messages[0].id`; empty for the whole event or input.
    pub fn path(&self) -> &str {
        &self.0.dotted
    }

    /// The first offending member as a JSON Pointer, `/messages/0/id`.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The type of the event concerned; absent for an input and for an event that names none.
    pub fn event_type(&self) -> Option<&str> {
        self.0.event_type.as_deref()
    }

    /// Whether the member is missing rather than malformed.
    pub fn is_missing(&self) -> bool {
        self.0.expected.is_none()
    }

    /// What has to stand at the place, such as "a string"; absent where the member is missing.
    pub fn expected(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// One sentence for the sender's developer, safe to show: it names the member and nothing of its value.
    pub fn message(&self) -> String {
        let subject = if self.0.dotted.is_empty() {
            format!("The {}", self.0.noun)
        } else {
            format!("`{}`", self.0.dotted)
        };
        match &self.0.expected {
            None => format!("{subject} is missing."),
            Some(expected) => format!("{subject} must be {expected}."),
        }
    }
}

impl fmt::Display for EnforceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event_type) = &self.0.event_type {
            write!(f, "{event_type}: ")?;
        }
        if self.0.dotted.is_empty() {
            write!(f, "the {}", self.0.noun)?;
        } else {
            write!(f, "`{}`", self.0.dotted)?;
        }
        match &self.0.expected {
            None => f.write_str(" is missing")?,
            Some(expected) => write!(f, " must be {expected}")?,
        }
        write!(f, " ({})", self.0.rule)
    }
}

impl std::error::Error for EnforceError {}

/// Text that is no event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The text is no JSON that is read here (`PROC-6`).
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The event is malformed.
    #[error(transparent)]
    Malformed(#[from] EnforceError),
}

impl EventError {
    /// The number of the rule that is broken.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Json(_) => "PROC-6",
            Self::Malformed(error) => error.rule(),
        }
    }

    /// The malformed member, where the text is JSON.
    pub const fn malformed(&self) -> Option<&EnforceError> {
        match self {
            Self::Json(_) => None,
            Self::Malformed(error) => Some(error),
        }
    }
}

/// A request body that is no run input (`PROC-10`).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The text is no JSON that is read here.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The input is malformed.
    #[error(transparent)]
    Malformed(#[from] EnforceError),
}

impl InputError {
    /// The code for programs, as HTTP refusals carry it: `invalid_json` or `invalid_input`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "invalid_json",
            Self::Malformed(_) => "invalid_input",
        }
    }

    /// The first offending member, `messages[0].id`; absent where the text is no JSON or no object.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Json(_) => None,
            Self::Malformed(error) => Some(error.path()).filter(|path| !path.is_empty()),
        }
    }

    /// One sentence for the sender's developer, safe to show.
    pub fn message(&self) -> String {
        match self {
            Self::Json(error) => error.message().to_owned(),
            Self::Malformed(error) => error.message(),
        }
    }
}
