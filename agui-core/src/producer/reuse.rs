//! Events that have been read, used again for the next deltas.
//!
//! A string that one task makes and another one drops, with hundreds of others between, is the dearest part of a delta.
//! A sink that gets its events back offers them here, and the next delta takes the text of one of them, or all of it where
//! it is of the same message.

use std::borrow::Cow;
use std::mem;

use crate::{Event, MessageId, TextMessageContentEvent};

use super::EventSink;

/// The least room of a string for a delta, in bytes.
const USUAL_BYTES: usize = 24;
/// How large a string may be that is used again, in bytes. What a busy run keeps is then small whatever it has sent.
const REUSED_BYTES: usize = 1024;

/// A text delta.
#[inline]
pub(super) fn text_event<S: EventSink>(sink: &mut S, id: &MessageId, text: Cow<'_, str>) -> Event {
    match sink.used_event() {
        Some(Event::TextMessageContent(mut event))
            if event.message_id.is_same(id) && event.delta.capacity() <= REUSED_BYTES =>
        {
            event.delta.clear();
            event.delta.push_str(&text);
            event.subagent_run_id = None;
            event.timestamp = None;
            event.metadata = None;
            event.raw_event = None;
            Event::TextMessageContent(event)
        }
        used => TextMessageContentEvent::new(id, text_of(sink, used, text)).into(),
    }
}

/// The text of a delta of another kind.
pub(super) fn text<S: EventSink>(sink: &mut S, text: Cow<'_, str>) -> String {
    let used = sink.used_event();
    text_of(sink, used, text)
}

fn text_of<S: EventSink>(sink: &mut S, mut used: Option<Event>, text: Cow<'_, str>) -> String {
    while let Some(mut event) = used {
        if let Some(string) = delta_of(&mut event)
            && string.capacity() <= REUSED_BYTES
        {
            let mut string = mem::take(string);
            string.clear();
            string.push_str(&text);
            return string;
        }
        used = sink.used_event();
    }
    match text {
        Cow::Owned(text) => text,
        Cow::Borrowed(text) => {
            // Room for most that come after it, should it be used again.
            let mut string = String::with_capacity(text.len().max(USUAL_BYTES));
            string.push_str(text);
            string
        }
    }
}

const fn delta_of(event: &mut Event) -> Option<&mut String> {
    match event {
        Event::TextMessageContent(event) => Some(&mut event.delta),
        Event::ToolCallArgs(event) => Some(&mut event.delta),
        Event::ReasoningMessageContent(event) => Some(&mut event.delta),
        _ => None,
    }
}
