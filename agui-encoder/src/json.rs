//! The JSON text of an event, framed as either wire of text frames it.
//!
//! Most events of a run are deltas of a few characters. What is the same in all of them is written in as few pieces as
//! there can be, the frame's own bytes included, and a text without anything to escape is copied as it is; serde writes
//! everything else. Either way gives the same bytes.

use agui_core::{Event, Metadata, SubagentRunId};
use bytes::BytesMut;
use serde::Serialize;
use serde_json::Value;

use crate::EncodeError;
use crate::encode::Append;

/// What stands around an event's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A `data` line and an empty one.
    Sse,
    /// A line break after it.
    Line,
}

/// What stands before the text in the first framing, and in the second not.
const LEAD: &[u8] = b"data: ";

/// Appends the frame of an event. On an error the buffer is as it was.
#[inline]
pub(crate) fn write(event: &Event, framing: Framing, buffer: &mut BytesMut) -> Result<(), EncodeError> {
    /// The parts of an event that carries a delta for the item of a member.
    macro_rules! delta {
        ($event:ident, $id:ident, $head:literal) => {
            Some(Delta {
                head: concat!("data: ", $head).as_bytes(),
                id: $event.$id.as_str(),
                text: &$event.delta,
                owner: $event.subagent_run_id.as_ref().map(SubagentRunId::as_str),
                timestamp: $event.timestamp,
                metadata: $event.metadata.as_ref(),
                raw_event: $event.raw_event.as_deref(),
            })
        };
    }

    let delta = match event {
        Event::TextMessageContent(event) => {
            delta!(event, message_id, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":""#)
        }
        Event::ToolCallArgs(event) => {
            delta!(event, tool_call_id, r#"{"type":"TOOL_CALL_ARGS","toolCallId":""#)
        }
        Event::ReasoningMessageContent(event) => {
            delta!(event, message_id, r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":""#)
        }
        _ => None,
    };
    let start = buffer.len();
    let written = match delta {
        Some(delta) if delta.is_plain() => delta.write(framing, buffer),
        _ => whole(event, framing, buffer),
    };
    written.map_err(|error| {
        buffer.truncate(start);
        EncodeError::json(event.event_type(), error)
    })
}

fn whole(event: &Event, framing: Framing, buffer: &mut BytesMut) -> serde_json::Result<()> {
    if framing == Framing::Sse {
        buffer.extend_from_slice(LEAD);
    }
    value(event, buffer)?;
    buffer.extend_from_slice(if framing == Framing::Sse { b"\n\n" } else { b"\n" });
    Ok(())
}

/// A piece of text for an open item.
struct Delta<'e> {
    /// Everything before the item's id, its quote included, with what leads it in.
    head: &'static [u8],
    id: &'e str,
    text: &'e str,
    owner: Option<&'e str>,
    timestamp: Option<i64>,
    metadata: Option<&'e Metadata>,
    raw_event: Option<&'e Value>,
}

impl Delta<'_> {
    /// Whether its ids can be copied as they are.
    #[inline]
    fn is_plain(&self) -> bool {
        is_plain(self.id.as_bytes()) && self.owner.is_none_or(|owner| is_plain(owner.as_bytes()))
    }

    #[inline]
    fn write(&self, framing: Framing, buffer: &mut BytesMut) -> serde_json::Result<()> {
        let head = if framing == Framing::Sse { self.head } else { &self.head[LEAD.len()..] };
        // With room for all of it, nothing is moved half written.
        buffer.reserve(head.len() + self.id.len() + self.text.len() + 16);
        buffer.extend_from_slice(head);
        buffer.extend_from_slice(self.id.as_bytes());
        if !is_plain(self.text.as_bytes()) {
            buffer.extend_from_slice(br#"","delta":"#);
            value(&self.text, buffer)?;
            return self.write_rest(framing, buffer);
        }
        buffer.extend_from_slice(br#"","delta":""#);
        buffer.extend_from_slice(self.text.as_bytes());
        if self.has_more() {
            buffer.extend_from_slice(b"\"");
            return self.write_rest(framing, buffer);
        }
        buffer.extend_from_slice(if framing == Framing::Sse { b"\"}\n\n" } else { b"\"}\n" });
        Ok(())
    }

    const fn has_more(&self) -> bool {
        self.owner.is_some()
            || self.timestamp.is_some()
            || self.metadata.is_some()
            || self.raw_event.is_some()
    }

    /// Everything after the text and its quote.
    fn write_rest(&self, framing: Framing, buffer: &mut BytesMut) -> serde_json::Result<()> {
        if let Some(owner) = self.owner {
            buffer.extend_from_slice(br#","subagentRunId":""#);
            buffer.extend_from_slice(owner.as_bytes());
            buffer.extend_from_slice(b"\"");
        }
        if let Some(timestamp) = &self.timestamp {
            buffer.extend_from_slice(br#","timestamp":"#);
            value(timestamp, buffer)?;
        }
        if let Some(metadata) = self.metadata {
            buffer.extend_from_slice(br#","metadata":"#);
            value(metadata, buffer)?;
        }
        if let Some(raw_event) = self.raw_event {
            buffer.extend_from_slice(br#","rawEvent":"#);
            value(raw_event, buffer)?;
        }
        buffer.extend_from_slice(if framing == Framing::Sse { b"}\n\n" } else { b"}\n" });
        Ok(())
    }
}

fn value(value: &impl Serialize, buffer: &mut BytesMut) -> serde_json::Result<()> {
    serde_json::to_writer(Append(buffer), value)
}

/// Whether JSON has the text as it is: without control characters, quotes and backslashes. Looks at a block of bytes at
/// a time, and at the last block whether or not a part of it has been looked at.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk() {
        is_plain_block(last) && text.as_chunks().0.iter().all(is_plain_block)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        is_plain_word(u64::from_le_bytes(*first)) && is_plain_word(u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        is_plain_word(u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)))
    } else {
        text.iter().all(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\')
    }
}

/// The same of sixteen bytes, without an early end: the compiler then looks at all of them at once.
#[inline]
fn is_plain_block(block: &[u8; 16]) -> bool {
    let mut special = 0;
    for &byte in block {
        special |= u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    }
    special == 0
}

/// The same of eight bytes in a word. Taking one from a byte borrows where it is zero and sets its highest bit, which was
/// not set before; the lowest such byte is told exactly, and that there is none is all that is asked.
#[inline]
const fn is_plain_word(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x80 * ONES;
    const fn less(word: u64, than: u64) -> u64 {
        word.wrapping_sub(than * ONES) & !word
    }
    let quote = less(word ^ (ONES * b'"' as u64), 1);
    let backslash = less(word ^ (ONES * b'\\' as u64), 1);
    (less(word, 0x20) | quote | backslash) & HIGHEST == 0
}

#[cfg(test)]
mod tests {
    use agui_core::{ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Texts of every length around a block's, with something to escape now and then.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z é]{0,40}",
            proptest::collection::vec(prop_oneof![9 => any::<char>(), 1 => Just('"')], 0..40)
                .prop_map(|text| text.into_iter().collect()),
        ]
    }

    proptest! {
        #[test]
        fn a_delta_is_written_as_serde_writes_it(
            kind in 0..3,
            id in text(),
            delta in text(),
            owner in proptest::option::of(text()),
            timestamp in proptest::option::of(any::<i64>()),
            note in proptest::option::of(text()),
        ) {
            let mut event: Event = match kind {
                0 => TextMessageContentEvent::new(id, delta).into(),
                1 => ToolCallArgsEvent::new(id, delta).into(),
                _ => ReasoningMessageContentEvent::new(id, delta).into(),
            };
            event.set_subagent_run_id(owner.map(Into::into));
            event.set_timestamp(timestamp);
            if let Some(note) = note {
                event.set_metadata(Some(Metadata::new().with("note", note.clone())));
                event.set_raw_event(Some(json!([note])));
            }
            let mut buffer = BytesMut::new();
            write(&event, Framing::Sse, &mut buffer).unwrap();
            let text = serde_json::to_string(&event).unwrap();
            prop_assert_eq!(std::str::from_utf8(&buffer).unwrap(), format!("data: {text}\n\n"));
            buffer.clear();
            write(&event, Framing::Line, &mut buffer).unwrap();
            prop_assert_eq!(std::str::from_utf8(&buffer).unwrap(), format!("{text}\n"));
        }
    }

    #[test]
    fn every_character_that_json_escapes_is_seen_wherever_it_stands() {
        for length in [1, 3, 4, 5, 7, 8, 11, 16, 17, 40] {
            for at in 0..length {
                for escaped in (0..0x20).chain([b'"', b'\\']) {
                    let mut text = vec![b'a'; length];
                    text[at] = escaped;
                    assert!(!is_plain(&text), "{escaped} at {at} of {length}");
                }
            }
            for plain in (0x20..=0xFF).filter(|byte| !matches!(byte, b'"' | b'\\')) {
                assert!(is_plain(&vec![plain; length]), "{length} of {plain}");
            }
        }
    }
}
