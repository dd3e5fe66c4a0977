//! How much an event takes, for the limits on one event and on the queue, and the bounds of its integers.

use std::io;

use serde_json::Value;

use crate::sequence::SequenceError;
use crate::shape::MAX_SAFE_INTEGER;
use crate::{Event, JsonObject, TokenUsage};

/// What an event takes beside its texts: names of members, punctuation, ids of usual length.
pub(super) const FRAME: usize = 160;

/// How many bytes a byte of text becomes at the most (`\u0000`): most events are known to fit without a count.
pub(super) const ESCAPED: usize = 6;

/// About how many bytes an event takes before escaping. Never less than its texts; cheap for the events that come by
/// the thousand, and one walk over the values of a snapshot.
pub(super) fn hint(event: &Event) -> usize {
    let extra = event.metadata().map_or(0, |metadata| object(metadata))
        + event.raw_event().map_or(0, value)
        + event.subagent_run_id().map_or(0, |id| id.as_str().len());
    let own = match event {
        Event::TextMessageContent(event) => event.delta.len() + event.message_id.as_str().len(),
        Event::ToolCallArgs(event) => event.delta.len() + event.tool_call_id.as_str().len(),
        Event::ReasoningMessageContent(event) => event.delta.len() + event.message_id.as_str().len(),
        Event::StateSnapshot(event) => value(&event.snapshot),
        Event::Custom(event) => event.name.len() + value(&event.value),
        Event::Raw(event) => value(&event.event) + event.source.as_ref().map_or(0, String::len),
        Event::TextMessageEnd(event) => event.message_id.as_str().len(),
        Event::ToolCallEnd(event) => event.tool_call_id.as_str().len(),
        // Everything else is rare; what it takes exactly is its own upper bound.
        other => return encoded_len(other),
    };
    FRAME + own + extra
}

/// Refuses integers that the schema does not admit (`SHAPE-3`); nothing else in an event's type can be out of range.
pub(super) fn check_integers(event: &Event) -> Result<(), SequenceError> {
    let limit = MAX_SAFE_INTEGER.unsigned_abs();
    let refused = |what: &str| {
        let message =
            format!("{what} is beyond 2^53 \u{2212} 1, the largest integer that every reader holds");
        Err(SequenceError::new("SHAPE-3", event.event_type(), message))
    };
    if event.timestamp().is_some_and(|timestamp| timestamp.unsigned_abs() > limit) {
        return refused("timestamp");
    }
    let usage = match event {
        Event::RunFinished(event) => &event.usage,
        Event::RunError(event) => &event.usage,
        _ => return Ok(()),
    };
    let counts = usage.iter().flatten().flat_map(TokenUsage::counts);
    if counts.flatten().any(|count| count > limit) { refused("a token count") } else { Ok(()) }
}

/// How many bytes an event takes as JSON.
pub(super) fn encoded_len(event: &Event) -> usize {
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, event) {
        Ok(()) => counter.0,
        // Events are made of strings, numbers and trees of them; there is nothing in them that has no JSON.
        Err(_) => usize::MAX,
    }
}

fn value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 6,
        Value::Number(_) => 26,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(self::value).sum::<usize>() + 3,
        Value::Object(members) => object(members),
    }
}

fn object(members: &JsonObject) -> usize {
    members.iter().map(|(key, member)| key.len() + 4 + value(member)).sum::<usize>() + 3
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
