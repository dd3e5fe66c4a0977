//! The input of the next exchange (`INPUT-8`, `INT-10`, `STATE-9`, `STATE-10`, `VER-1`).
//!
//! [`next_input`] drafts it from what the conversation holds; the application adds to it; [`prepare_input`] makes it ready
//! and begins the exchange. [`outgoing`] is the last step alone, for an input that comes from elsewhere. They work on
//! typed inputs: what an application wrote as raw JSON is cleaned before by [`enforce::input`](crate::enforce::input)
//! (`PROC-9`).

use serde_json::{Map, Value};

use super::Conversation;
use super::resume::{self, ResumeError};
use crate::{Message, PROTOCOL_VERSION, RunAgentInput, RunId, ThreadId, Warning};

/// What is known of the peer that an input goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Peer {
    /// Nothing, or that it speaks a version: the input declares ours.
    #[default]
    Current,
    /// It predates declared versions, and the input declares none (`VER-1`).
    Undeclared,
}

/// Drafts the input of the next run of a thread: the messages as they now stand, without activities, and the state
/// (`INPUT-8`, `INT-10`).
///
/// A null state stands in the draft as null, and is left out when the input is [made ready](outgoing).
pub fn next_input(
    conversation: &Conversation,
    thread_id: impl Into<ThreadId>,
    run_id: impl Into<RunId>,
) -> RunAgentInput {
    let messages = conversation.messages().filter(|message| !is_activity(message)).cloned();
    let mut input = RunAgentInput::new(thread_id, run_id, messages.collect::<Vec<_>>());
    input.state = Some(conversation.state().clone());
    input
}

/// Makes an input ready to be sent and begins its exchange: checks it against the pending interrupts (`INT-2`), makes its
/// messages and state those of the conversation, and hands back [what goes out](outgoing). An input without a state leaves
/// a null one in place, and goes out without one (`STATE-10`).
///
/// `now_ms` is the time in milliseconds since the Unix epoch.
///
/// # Errors
/// The input leaves a pending interrupt uncovered or resolves an expired one. Nothing may be sent then, and the
/// conversation is as it was.
///
/// # Examples
/// ```
/// use agui_core::consumer::Conversation;
/// use agui_core::consumer::prepare::{Peer, next_input, prepare_input};
/// use agui_core::{Message, UserMessage};
///
/// let mut conversation = Conversation::new();
/// let mut draft = next_input(&conversation, "trip-7", "turn-1");
/// draft.messages.push(UserMessage::new("q1", "Where to?").into());
///
/// let now_ms = 1_788_264_000_000;
/// let input = prepare_input(&mut conversation, draft, Peer::Current, now_ms, &mut Vec::new())?;
/// assert_eq!(
///     serde_json::to_value(&input)?,
///     serde_json::json!({
///         "threadId": "trip-7", "runId": "turn-1", "protocolVersion": "1.0",
///         "messages": [{"id": "q1", "role": "user", "content": "Where to?"}],
///         "state": {}, "tools": [], "context": [], "forwardedProps": {},
///     }),
/// );
/// assert_eq!(conversation.message_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare_input(
    conversation: &mut Conversation,
    mut input: RunAgentInput,
    peer: Peer,
    now_ms: i64,
    warnings: &mut Vec<Warning>,
) -> Result<RunAgentInput, ResumeError> {
    resume::check(conversation.open_interrupts(), &input, now_ms, warnings)?;
    conversation.begin(&input);
    outgoing(&mut input, peer);
    if conversation.state().is_null() {
        // Held and not sent (STATE-10): an empty object would say that the state has changed.
        input.state = None;
    }
    Ok(input)
}

/// Makes an input what goes out: without activity messages (`STATE-9`), declaring our version (`VER-1`), with `tools`,
/// `context`, `forwardedProps` and `state` even where they are empty, which older producers require. Only a null state is
/// left out (`STATE-10`).
///
/// A state that the input has none of becomes `{}`, which is what its absence means (`INPUT-1`). A version that the
/// application wrote gives way.
pub fn outgoing(input: &mut RunAgentInput, peer: Peer) {
    input.messages.retain(|message| !is_activity(message));
    input.protocol_version = match peer {
        Peer::Current => Some(PROTOCOL_VERSION.to_owned()),
        Peer::Undeclared => None,
    };
    input.tools.get_or_insert_default();
    input.context.get_or_insert_default();
    if input.forwarded_props.as_ref().is_none_or(Value::is_null) {
        input.forwarded_props = Some(Value::Object(Map::new()));
    }
    match &input.state {
        None => input.state = Some(Value::Object(Map::new())),
        Some(Value::Null) => input.state = None,
        Some(_) => {}
    }
}

fn is_activity(message: &Message) -> bool {
    matches!(message, Message::Activity(_))
}
