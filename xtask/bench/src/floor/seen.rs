//! What checking and folding look at, of a plain event and of the library's.
//!
//! The floors for the order and for the fold are fed with the library's events when those are measured alone, which are
//! the smaller ones, and with plain events at the end of the whole client path.

use agui_core::{Content, Event};

use super::plain::Plain;

/// Which ids are apart from which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Call,
    Thought,
    Span,
    Step,
    Subagent,
}

/// An event, as far as the floors care.
pub(crate) enum Seen<'e> {
    Start(Kind, &'e str),
    Delta(Kind, &'e str, &'e str),
    End(Kind, &'e str),
    /// A whole message.
    Whole(&'e str, &'e str),
    Other,
}

impl<'e> From<&'e Plain> for Seen<'e> {
    #[inline]
    fn from(event: &'e Plain) -> Self {
        match event {
            Plain::TextMessageContent(event) => Self::Delta(Kind::Text, &event.message_id, &event.delta),
            Plain::ToolCallArgs(event) => Self::Delta(Kind::Call, &event.tool_call_id, &event.delta),
            Plain::ReasoningMessageContent(event) => {
                Self::Delta(Kind::Thought, &event.message_id, &event.delta)
            }
            Plain::TextMessageStart(event) => Self::Start(Kind::Text, &event.message_id),
            Plain::TextMessageEnd(event) => Self::End(Kind::Text, &event.message_id),
            Plain::ToolCallStart(event) => Self::Start(Kind::Call, &event.tool_call_id),
            Plain::ToolCallEnd(event) => Self::End(Kind::Call, &event.tool_call_id),
            Plain::ToolCallResult(event) => Self::Whole(&event.message_id, &event.content),
            Plain::ReasoningStart(event) => Self::Start(Kind::Span, &event.message_id),
            Plain::ReasoningEnd(event) => Self::End(Kind::Span, &event.message_id),
            Plain::ReasoningMessageStart(event) => Self::Start(Kind::Thought, &event.message_id),
            Plain::ReasoningMessageEnd(event) => Self::End(Kind::Thought, &event.message_id),
            Plain::StepStarted(event) => Self::Start(Kind::Step, &event.step_name),
            Plain::StepFinished(event) => Self::End(Kind::Step, &event.step_name),
            Plain::SubagentStarted(event) => Self::Start(Kind::Subagent, &event.subagent_run_id),
            Plain::SubagentFinished(event) => Self::End(Kind::Subagent, &event.subagent_run_id),
            Plain::SubagentError(event) => Self::End(Kind::Subagent, &event.subagent_run_id),
            _ => Self::Other,
        }
    }
}

impl<'e> From<&'e Event> for Seen<'e> {
    #[inline]
    fn from(event: &'e Event) -> Self {
        match event {
            Event::TextMessageContent(event) => {
                Self::Delta(Kind::Text, event.message_id.as_str(), &event.delta)
            }
            Event::ToolCallArgs(event) => Self::Delta(Kind::Call, event.tool_call_id.as_str(), &event.delta),
            Event::ReasoningMessageContent(event) => {
                Self::Delta(Kind::Thought, event.message_id.as_str(), &event.delta)
            }
            Event::TextMessageStart(event) => Self::Start(Kind::Text, event.message_id.as_str()),
            Event::TextMessageEnd(event) => Self::End(Kind::Text, event.message_id.as_str()),
            Event::ToolCallStart(event) => Self::Start(Kind::Call, event.tool_call_id.as_str()),
            Event::ToolCallEnd(event) => Self::End(Kind::Call, event.tool_call_id.as_str()),
            Event::ToolCallResult(event) => {
                let Content::Text(content) = &event.content else { return Self::Other };
                Self::Whole(event.message_id.as_str(), content)
            }
            Event::ReasoningStart(event) => Self::Start(Kind::Span, event.message_id.as_str()),
            Event::ReasoningEnd(event) => Self::End(Kind::Span, event.message_id.as_str()),
            Event::ReasoningMessageStart(event) => Self::Start(Kind::Thought, event.message_id.as_str()),
            Event::ReasoningMessageEnd(event) => Self::End(Kind::Thought, event.message_id.as_str()),
            Event::StepStarted(event) => Self::Start(Kind::Step, &event.step_name),
            Event::StepFinished(event) => Self::End(Kind::Step, &event.step_name),
            Event::SubagentStarted(event) => Self::Start(Kind::Subagent, event.subagent_run_id.as_str()),
            Event::SubagentFinished(event) => Self::End(Kind::Subagent, event.subagent_run_id.as_str()),
            Event::SubagentError(event) => Self::End(Kind::Subagent, event.subagent_run_id.as_str()),
            _ => Self::Other,
        }
    }
}
