//! The compact spelling: chunks, and the starts, contents and ends they stand for (`CHUNK-1` to `CHUNK-7`).
//!
//! [`ChunkExpander`] turns chunks into events of the open-content-close kind, which a
//! [`Sequence`](crate::sequence::Sequence) then judges; [`SpelledSequence`] judges events of both spellings by
//! reference, for whoever sends chunks as they are.
//!
//! A chunk stream lives in the lane of its owner, and a lane holds one. The end of a stream is made just before the
//! event that causes it. What is open when the stream of events breaks off gets no end (`LIFE-11`).
//!
//! An event's lane is the one its tag names, the parent agent's where it has none. Nothing here knows what was opened
//! by a START: that is the sequence's to know.

mod lanes;
mod plan;
mod spelled;

use lanes::{Lanes, What};
use plan::Act;

pub use spelled::SpelledSequence;

use crate::sequence::SequenceError;
use crate::{
    Event, Metadata, ReasoningMessageContentEvent, SubagentRunId, TextMessageContentEvent, ToolCallArgsEvent,
};

/// Expands the chunks of one stream, in order.
///
/// # Examples
/// ```
/// use agui_core::chunk::ChunkExpander;
/// use agui_core::{Event, RunFinishedEvent, TextMessageChunkEvent};
///
/// let mut expander = ChunkExpander::new();
/// let mut expanded = Vec::new();
/// let opener = TextMessageChunkEvent::default().with_message_id("m1").with_delta("Hel");
/// for event in [
///     Event::from(opener),
///     TextMessageChunkEvent::default().with_delta("lo").into(),
///     RunFinishedEvent::new("trip-7", "turn-1").into(),
/// ] {
///     expander.expand(event, |event| expanded.push(event))?;
/// }
/// let types: Vec<_> = expanded.iter().map(|event| event.event_type().as_str()).collect();
/// assert_eq!(types, [
///     "TEXT_MESSAGE_START",
///     "TEXT_MESSAGE_CONTENT",
///     "TEXT_MESSAGE_CONTENT",
///     "TEXT_MESSAGE_END",
///     "RUN_FINISHED",
/// ]);
/// # Ok::<(), agui_core::sequence::SequenceError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ChunkExpander {
    lanes: Lanes,
}

impl ChunkExpander {
    /// An expander with no chunk stream open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no chunk stream is open. An event that is no chunk then passes as it is.
    pub fn is_idle(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Hands the event on to `out`, after the ends it causes; a chunk as the events it stands for, which may be none.
    ///
    /// Made events carry the chunk's attribution and metadata; the provider's event rides on the content; the
    /// timestamp stays behind (`CHUNK-7`). A chunk with a provider event and no delta, or one that continues with
    /// metadata alone, becomes a content with an empty delta.
    ///
    /// # Errors
    /// A chunk lacks what opening needs (`CHUNK-1`), contradicts what its stream was opened with (`CHUNK-3`, `SUB-3`)
    /// or does not tell which stream it continues (`CHUNK-5`). Nothing has been handed on then, and nothing has
    /// changed.
    pub fn expand(&mut self, event: Event, mut out: impl FnMut(Event)) -> Result<(), SequenceError> {
        if self.is_idle() && !plan::is_chunk(&event) {
            out(event);
            return Ok(());
        }
        let plan = self.plan(&event)?;
        for owner in &plan.closes {
            if let Some(stream) = self.lanes.close(owner.as_ref()) {
                out(stream.end_event());
            }
        }
        match plan.act {
            Act::Pass => out(event),
            Act::Open(stream) => {
                let payload = Payload::of(event);
                let mut start = stream.start_event();
                start.set_metadata(payload.metadata.clone());
                out(start);
                if payload.delta.is_some() || payload.raw.is_some() {
                    out(payload.into_content(&stream.what, stream.owner.clone()));
                }
                self.lanes.open(stream);
            }
            Act::Continue(owner) => {
                let payload = Payload::of(event);
                let says = payload.delta.is_some() || payload.raw.is_some() || payload.metadata.is_some();
                if let Some(stream) = self.lanes.get(owner.as_ref())
                    && says
                {
                    out(payload.into_content(&stream.what, owner.clone()));
                }
            }
        }
        Ok(())
    }
}

/// What of a chunk becomes content.
#[derive(Default)]
struct Payload {
    delta: Option<String>,
    metadata: Option<Metadata>,
    raw: Option<Box<serde_json::Value>>,
}

impl Payload {
    fn of(event: Event) -> Self {
        match event {
            Event::TextMessageChunk(chunk) => {
                Self { delta: chunk.delta, metadata: chunk.metadata, raw: chunk.raw_event }
            }
            Event::ReasoningMessageChunk(chunk) => {
                Self { delta: chunk.delta, metadata: chunk.metadata, raw: chunk.raw_event }
            }
            Event::ToolCallChunk(chunk) => {
                Self { delta: chunk.delta, metadata: chunk.metadata, raw: chunk.raw_event }
            }
            _ => Self::default(),
        }
    }

    fn into_content(self, what: &What, owner: Option<SubagentRunId>) -> Event {
        let delta = self.delta.unwrap_or_default();
        macro_rules! content {
            ($Event:ident, $id:expr) => {{
                let mut event = $Event::new($id, delta);
                event.subagent_run_id = owner;
                event.metadata = self.metadata;
                event.raw_event = self.raw;
                event.into()
            }};
        }
        match what {
            What::Text { id, .. } => content!(TextMessageContentEvent, id),
            What::Reasoning { id } => content!(ReasoningMessageContentEvent, id),
            What::Call { id, .. } => content!(ToolCallArgsEvent, id),
        }
    }
}
