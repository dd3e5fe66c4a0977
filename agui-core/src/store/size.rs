//! What a recorded event takes in memory, about.
//!
//! Meant to be no less than what the allocator is asked for, which a test counts. Close for what comes by the thousand,
//! generous for the rest.

use std::io;
use std::mem::size_of;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

use crate::{Event, JsonObject};

/// What an allocation takes beside its content.
const ALLOCATION: usize = 16;
/// What the boxed part of a rare event takes.
const BOXED: usize = 160;
/// What an object takes for every few of its members. The map of an object makes room for eleven at a time and keeps at
/// least five in each such piece.
const OBJECT: usize = 640;
const MEMBERS: usize = 6;

/// About how many bytes of memory an event takes that is kept, its share of a batch included.
///
/// # Examples
/// ```
/// use agui_core::store::held_bytes;
/// use agui_core::{Event, TextMessageContentEvent};
///
/// let event = Event::from(TextMessageContentEvent::new("m", "x".repeat(1000)));
/// assert!(held_bytes(&event) > 1000);
/// ```
pub fn held_bytes(event: &Event) -> usize {
    let extra = event.metadata().map_or(0, |metadata| object(metadata))
        + event.raw_event().map_or(0, value)
        + event.subagent_run_id().map_or(0, |id| id.as_str().len() + ALLOCATION);
    let own = match event {
        Event::TextMessageContent(event) => event.delta.len() + event.message_id.as_str().len(),
        Event::ToolCallArgs(event) => event.delta.len() + event.tool_call_id.as_str().len(),
        Event::ReasoningMessageContent(event) => event.delta.len() + event.message_id.as_str().len(),
        Event::TextMessageEnd(event) => event.message_id.as_str().len(),
        Event::ToolCallEnd(event) => event.tool_call_id.as_str().len(),
        Event::StateSnapshot(event) => value(&event.snapshot),
        Event::Custom(event) => BOXED + event.name.len() + value(&event.value),
        Event::Raw(event) => BOXED + value(&event.event) + event.source.as_ref().map_or(0, String::len),
        // Has what is extra in it, twice counted then.
        other => BOXED + weigh(other),
    };
    size_of::<Event>() + 2 * ALLOCATION + own + extra
}

fn value(value: &Value) -> usize {
    let content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() + ALLOCATION,
        Value::Array(items) => items.iter().map(self::value).sum::<usize>() + ALLOCATION,
        Value::Object(members) => object(members),
    };
    size_of::<Value>() + content
}

fn object(members: &JsonObject) -> usize {
    let own = OBJECT * members.len().div_ceil(MEMBERS);
    own + members.iter().map(|(key, held)| ALLOCATION + key.len() + value(held)).sum::<usize>()
}

/// Goes by the JSON of an event, with so much more for each object, list and text in it.
fn weigh(event: &Event) -> usize {
    let mut scale = Scale(0);
    match event.serialize(&mut Serializer::with_formatter(&mut scale, Weights)) {
        Ok(()) => scale.0,
        // Events are made of strings, numbers and trees of them; there is nothing in them that has no JSON.
        Err(_) => usize::MAX / 4,
    }
}

/// Counts what is written and keeps nothing.
struct Scale(usize);

impl io::Write for Scale {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes as many bytes as what is begun takes in memory.
struct Weights;

impl Formatter for Weights {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(&[0; OBJECT])
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, _first: bool) -> io::Result<()> {
        writer.write_all(&[0; OBJECT / (2 * MEMBERS)])
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, _first: bool) -> io::Result<()> {
        writer.write_all(&[0; 2 * size_of::<Value>()])
    }

    fn begin_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(&[0; ALLOCATION])
    }
}
