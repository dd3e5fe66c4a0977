//! Events as Redis keeps them: compact JSON as the core writes it, one event on a line.
//!
//! Nothing is lost: the core's JSON is exact, and it has no line breaks, which it escapes inside of texts.

use agui_core::store::{EventBatch, StoreError};
use agui_core::{Event, RunId};

/// What a batch takes beside its events.
pub(crate) const BATCH_BYTES: u64 = 64;
/// What a run takes beside its batches and its id.
pub(crate) const RUN_BYTES: u64 = 512;
/// What is kept of what is set aside for a run, for its ending.
pub(crate) const ENDING_BYTES: u64 = 1024;

/// About what an event takes, to begin with.
const TYPICAL: usize = 128;

pub(crate) fn encode(events: &[Event]) -> Result<Vec<u8>, StoreError> {
    let mut text = Vec::with_capacity(events.len() * TYPICAL);
    for event in events {
        push(event, &mut text)?;
    }
    Ok(text)
}

/// Adds one event to a batch.
pub(crate) fn push(event: &Event, text: &mut Vec<u8>) -> Result<(), StoreError> {
    if !text.is_empty() {
        text.push(b'\n');
    }
    serde_json::to_writer(text, event)
        .map_err(|error| StoreError::new("an event has no JSON").with_source(error))
}

pub(crate) fn decode(text: &[u8]) -> Result<EventBatch, StoreError> {
    let events = text.split(|byte| *byte == b'\n').map(Event::from_json);
    events
        .collect::<Result<EventBatch, _>>()
        .map_err(|error| StoreError::new("an event in Redis cannot be read").with_source(error))
}

/// What a run takes beside its batches.
pub(crate) fn run_bytes(run_id: &RunId) -> u64 {
    RUN_BYTES + run_id.as_str().len() as u64
}

/// What a batch takes.
pub(crate) const fn size(text: &[u8]) -> u64 {
    text.len() as u64 + BATCH_BYTES
}

#[cfg(test)]
mod tests {
    use agui_core::{CustomEvent, TextMessageContentEvent};
    use serde_json::json;

    use super::*;

    #[test]
    fn events_come_back_as_they_were() {
        let events = [
            Event::from(TextMessageContentEvent::new("m", "a\n\u{2028}\r\"\0ü")),
            CustomEvent::new("x", json!({"b": 0.1, "a": [u64::MAX, i64::MIN, 1e300, null]})).into(),
        ];
        let text = encode(&events).unwrap();
        assert_eq!(text.split(|byte| *byte == b'\n').count(), 2);
        assert_eq!(&*decode(&text).unwrap(), events);
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        for odd in ["", "{}", "x", "{\"type\":\"RUN_ERROR\"}\n"] {
            assert!(decode(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
