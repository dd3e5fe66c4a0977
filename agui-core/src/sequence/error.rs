//! What a sequence does wrong: fatal errors, and notices about what a consumer lets pass.
//!
//! Both name the rule, the event and the identifier concerned. Identifiers come from outside, so they are quoted up
//! to a bounded length, and a list of them up to a bounded number.

use std::fmt;

use crate::{EventType, SubagentRunId, Warning};

/// Longest part of an identifier that a message repeats, in characters.
const MAX_QUOTED_CHARS: usize = 80;

/// The reason why an event may not stand where it stands.
///
/// # Examples
/// ```
/// use agui_core::sequence::{Policy, Sequence};
/// use agui_core::{Event, EventType, TextMessageContentEvent};
///
/// let mut sequence = Sequence::new(Policy::Consumer);
/// let error = sequence.check(&Event::from(TextMessageContentEvent::new("m1", "Hel"))).unwrap_err();
/// assert_eq!(error.rule(), "LIFE-1");
/// assert_eq!(error.event_type(), EventType::TextMessageContent);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {} ({})", .0.event_type, .0.message, .0.rule)]
#[non_exhaustive]
pub struct SequenceError(Box<Violation>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    rule: &'static str,
    event_type: EventType,
    message: String,
}

// The error travels in the result of every check.
const _: () = assert!(size_of::<SequenceError>() == size_of::<usize>());

impl SequenceError {
    #[cold]
    pub(crate) fn new(rule: &'static str, event_type: EventType, message: impl Into<String>) -> Self {
        Self(Box::new(Violation { rule, event_type, message: message.into() }))
    }

    /// The rule that is broken, such as `STREAM-1`.
    pub fn rule(&self) -> &'static str {
        self.0.rule
    }

    /// The kind of the event that breaks it. Where a chunk breaks it by what it stands for, the event it was expanded
    /// to, or the chunk itself if it was judged [as it is spelled](crate::chunk::SpelledSequence).
    pub fn event_type(&self) -> EventType {
        self.0.event_type
    }

    /// What is wrong, without the event's kind and the rule; names the identifier or the step concerned.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The member that is at fault, as a JSON Pointer from the root of the event: the identifier of the item concerned,
    /// or the attribution. Empty where the event as a whole may not stand where it does.
    pub fn path(&self) -> &'static str {
        match self.0.rule {
            "LIFE-1" | "LIFE-2" | "LIFE-3" | "LIFE-7" | "LIFE-9" => return "",
            "SUB-3" | "SUB-4" => return "/subagentRunId",
            "INT-7" => return "/outcome/pendingToolCallIds",
            "LIFE-4" => return "/outcome",
            _ => {}
        }
        match self.0.event_type {
            EventType::TextMessageStart
            | EventType::TextMessageContent
            | EventType::TextMessageEnd
            | EventType::TextMessageChunk
            | EventType::ReasoningStart
            | EventType::ReasoningMessageStart
            | EventType::ReasoningMessageContent
            | EventType::ReasoningMessageEnd
            | EventType::ReasoningMessageChunk
            | EventType::ReasoningEnd
            | EventType::ActivitySnapshot
            | EventType::ActivityDelta => "/messageId",
            EventType::ToolCallStart
            | EventType::ToolCallArgs
            | EventType::ToolCallEnd
            | EventType::ToolCallChunk
            | EventType::ToolCallResult => "/toolCallId",
            EventType::StepStarted | EventType::StepFinished => "/stepName",
            EventType::SubagentStarted | EventType::SubagentFinished | EventType::SubagentError => {
                "/subagentRunId"
            }
            EventType::RunStarted | EventType::RunFinished => "/runId",
            EventType::ReasoningEncryptedValue => "/entityId",
            EventType::StateSnapshot
            | EventType::StateDelta
            | EventType::MessagesSnapshot
            | EventType::Raw
            | EventType::Custom
            | EventType::RunError => "",
        }
    }

    /// The same violation, ascribed to the event as it was spelled.
    pub(crate) fn spelled(mut self, event_type: EventType) -> Self {
        self.0.event_type = event_type;
        self
    }
}

/// A departure that a consumer tells the developer about and lets pass.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The rule that is departed from.
    pub rule: &'static str,
    /// The kind of the event concerned.
    pub event_type: EventType,
    /// The member concerned, as a JSON Pointer from the root of the event.
    pub path: &'static str,
    /// What departs; names the identifier concerned.
    pub message: String,
}

impl Notice {
    pub(super) fn new(
        rule: &'static str,
        event_type: EventType,
        path: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { rule, event_type, path, message: message.into() }
    }
}

impl From<Notice> for Warning {
    fn from(notice: Notice) -> Self {
        Self::new(notice.rule, notice.message)
            .with_event_type(notice.event_type.as_str())
            .with_path(notice.path)
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {} ({})", self.event_type, self.path, self.message, self.rule)
    }
}

/// An identifier in a message: quoted, escaped, and cut where it is long.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_QUOTED_CHARS) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => write!(f, "{:?}…", self.0.get(..end).unwrap_or_default()),
        }
    }
}

/// An owner in a message: the parent agent, or a subagent's invocation.
pub(crate) struct OwnerName<'a>(pub(crate) Option<&'a SubagentRunId>);

impl fmt::Display for OwnerName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("the parent agent"),
            Some(id) => write!(f, "subagentRunId {}", Quoted(id.as_str())),
        }
    }
}
