//! Compaction: a run that has ended, in fewer events.
//!
//! Only the deltas of an item that stand next to each other are merged, and only where nothing but text tells them apart.
//! So a consumer of the compacted run folds the same messages, state, activities, custom events and outcomes, meets the
//! same order of everything that is not a delta, and is refused or warned about the same things.

use crate::Event;

/// How many bytes of text a merged delta may have before another one begins. Far below what readers admit as one frame.
const MAX_MERGED: usize = 256 * 1024;

/// The events with adjacent deltas of one item merged; every other event is kept.
///
/// Two deltas merge if they name the same item and owner and neither carries metadata or a provider's event. The time is
/// that of the first. Meant for runs whose events were judged; a store keeps the others as they are.
///
/// # Examples
/// ```
/// use agui_core::store::compact;
/// use agui_core::{Event, TextMessageContentEvent, TextMessageEndEvent};
///
/// let end = Event::from(TextMessageEndEvent::new("m"));
/// let delta = |text: &str| Event::from(TextMessageContentEvent::new("m", text));
/// assert_eq!(compact(&[delta("Hel"), delta("lo"), end.clone()]), [delta("Hello"), end]);
/// ```
pub fn compact(events: &[Event]) -> Vec<Event> {
    compact_batches([events])
}

/// [`compact()`] over events that lie in pieces.
pub(super) fn compact_batches<'e>(batches: impl IntoIterator<Item = &'e [Event]>) -> Vec<Event> {
    let mut compacted: Vec<Event> = Vec::new();
    for event in batches.into_iter().flatten() {
        let merged = compacted.last_mut().is_some_and(|last| merge(last, event));
        if !merged {
            compacted.push(event.clone());
        }
    }
    compacted.shrink_to_fit();
    compacted
}

/// Appends the text of a delta to the one before it, if that is all there is to it.
fn merge(last: &mut Event, event: &Event) -> bool {
    /// Whether `$id` and the owner agree, and there is nothing on either that belongs to one event.
    macro_rules! alike {
        ($last:ident, $next:ident, $id:ident) => {
            $last.$id == $next.$id
                && $last.subagent_run_id == $next.subagent_run_id
                && $last.metadata.is_none()
                && $next.metadata.is_none()
                && $last.raw_event.is_none()
                && $next.raw_event.is_none()
        };
    }
    /// A continuation in the compact spelling; what an opener says is the opener's alone.
    macro_rules! chunk_text {
        ($last:ident, $next:ident) => {
            match (&mut $last.delta, &$next.delta) {
                (Some(text), Some(more)) => push(text, more),
                _ => false,
            }
        };
    }
    match (last, event) {
        (Event::TextMessageContent(last), Event::TextMessageContent(next)) => {
            alike!(last, next, message_id) && push(&mut last.delta, &next.delta)
        }
        (Event::ToolCallArgs(last), Event::ToolCallArgs(next)) => {
            alike!(last, next, tool_call_id) && push(&mut last.delta, &next.delta)
        }
        (Event::ReasoningMessageContent(last), Event::ReasoningMessageContent(next)) => {
            alike!(last, next, message_id) && push(&mut last.delta, &next.delta)
        }
        (Event::TextMessageChunk(last), Event::TextMessageChunk(next)) => {
            alike!(last, next, message_id)
                && next.role.is_none()
                && next.name.is_none()
                && chunk_text!(last, next)
        }
        (Event::ReasoningMessageChunk(last), Event::ReasoningMessageChunk(next)) => {
            alike!(last, next, message_id) && chunk_text!(last, next)
        }
        (Event::ToolCallChunk(last), Event::ToolCallChunk(next)) => {
            alike!(last, next, tool_call_id)
                && next.tool_call_name.is_none()
                && next.parent_message_id.is_none()
                && chunk_text!(last, next)
        }
        _ => false,
    }
}

fn push(text: &mut String, more: &str) -> bool {
    if text.len() + more.len() > MAX_MERGED {
        return false;
    }
    text.push_str(more);
    true
}
