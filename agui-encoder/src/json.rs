//! The JSON text of an event, as both wires of text have it.
//!
//! Most events of a run are deltas of a few characters. What is the same in all of them is written in one piece, and a
//! text without anything to escape is copied as it is; serde writes everything else. Either way gives the same bytes.

use agui_core::{Event, Metadata, SubagentRunId};
use bytes::BytesMut;
use serde::Serialize;
use serde_json::Value;

use crate::EncodeError;
use crate::encode::Append;

/// Appends the text of an event. On an error the buffer has a part of it.
#[inline]
pub(crate) fn write(event: &Event, buffer: &mut BytesMut) -> Result<(), EncodeError> {
    /// The parts of an event that carries a delta for the item of a member.
    macro_rules! delta {
        ($event:ident, $id:ident, $head:literal) => {
            Some(Delta {
                head: $head,
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
            delta!(event, message_id, br#"{"type":"TEXT_MESSAGE_CONTENT","messageId":""#)
        }
        Event::ToolCallArgs(event) => {
            delta!(event, tool_call_id, br#"{"type":"TOOL_CALL_ARGS","toolCallId":""#)
        }
        Event::ReasoningMessageContent(event) => {
            delta!(event, message_id, br#"{"type":"REASONING_MESSAGE_CONTENT","messageId":""#)
        }
        _ => None,
    };
    let written = match delta.filter(Delta::is_plain) {
        Some(delta) => delta.write(buffer),
        None => value(event, buffer),
    };
    written.map_err(|error| EncodeError::json(event.event_type(), error))
}

/// A piece of text for an open item.
struct Delta<'e> {
    /// Everything before the item's id, its quote included.
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

    fn write(&self, buffer: &mut BytesMut) -> serde_json::Result<()> {
        buffer.reserve(self.head.len() + self.id.len() + self.text.len() + 32);
        buffer.extend_from_slice(self.head);
        buffer.extend_from_slice(self.id.as_bytes());
        if is_plain(self.text.as_bytes()) {
            buffer.extend_from_slice(br#"","delta":""#);
            buffer.extend_from_slice(self.text.as_bytes());
            buffer.extend_from_slice(b"\"");
        } else {
            buffer.extend_from_slice(br#"","delta":"#);
            value(&self.text, buffer)?;
        }
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
        buffer.extend_from_slice(b"}");
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
        is_plain_block::<16>(last) && text.as_chunks().0.iter().all(is_plain_block::<16>)
    } else if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        is_plain_block::<8>(first) & is_plain_block::<8>(last)
    } else {
        text.iter().all(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\')
    }
}

/// The same of so many bytes, without an early end: the compiler then looks at all of them at once.
#[inline]
fn is_plain_block<const BYTES: usize>(block: &[u8; BYTES]) -> bool {
    let mut special = 0;
    for &byte in block {
        special |= u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    }
    special == 0
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
            write(&event, &mut buffer).unwrap();
            prop_assert_eq!(std::str::from_utf8(&buffer).unwrap(), serde_json::to_string(&event).unwrap());
        }
    }

    #[test]
    fn every_character_that_json_escapes_is_seen_wherever_it_stands() {
        for length in [1, 5, 8, 11, 16, 17, 40] {
            for at in 0..length {
                for escaped in (0..0x20).chain([b'"', b'\\']) {
                    let mut text = vec![b'a'; length];
                    text[at] = escaped;
                    assert!(!is_plain(&text), "{escaped} at {at} of {length}");
                }
            }
            assert!(is_plain(&vec![b' '; length]) && is_plain(&vec![0xC3; length]));
        }
    }
}
