//! The chunk streams that are open, one per lane, found by owner, by identifier or as the only one of a kind.

use std::collections::{BTreeSet, HashMap};

use crate::sequence::{Owner, Quoted};
use crate::{
    EntityId, Event, MessageId, ReasoningMessageEndEvent, ReasoningMessageStartEvent, SubagentRunId,
    TextMessageEndEvent, TextMessageRole, TextMessageStartEvent, ToolCallEndEvent, ToolCallId,
    ToolCallStartEvent,
};

/// The kinds of chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Text,
    Reasoning,
    Call,
}

/// An open chunk stream.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    /// Whose lane it is in.
    pub(super) owner: Owner,
    /// What its opener said.
    pub(super) what: What,
}

/// What a chunk stream builds, with what later chunks have to agree with (`CHUNK-3`).
#[derive(Debug, Clone)]
pub(super) enum What {
    Text { id: MessageId, role: TextMessageRole, name: Option<String> },
    Reasoning { id: MessageId },
    Call { id: ToolCallId, name: String, parent: Option<MessageId> },
}

impl What {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Text { .. } => Kind::Text,
            Self::Reasoning { .. } => Kind::Reasoning,
            Self::Call { .. } => Kind::Call,
        }
    }

    pub(super) fn id(&self) -> &str {
        match self {
            Self::Text { id, .. } | Self::Reasoning { id } => id.as_str(),
            Self::Call { id, .. } => id.as_str(),
        }
    }

    fn entity(&self) -> EntityId {
        match self {
            Self::Text { id, .. } | Self::Reasoning { id } => id.clone().into(),
            Self::Call { id, .. } => id.clone().into(),
        }
    }

    /// The stream in words.
    pub(super) fn describe(&self) -> String {
        let noun = match self.kind() {
            Kind::Text => "text message",
            Kind::Reasoning => "reasoning message",
            Kind::Call => "tool call",
        };
        format!("{noun} {}", Quoted(self.id()))
    }
}

impl Stream {
    /// The START the opener stands for.
    pub(super) fn start_event(&self) -> Event {
        match &self.what {
            What::Text { id, role, name } => {
                let mut event = TextMessageStartEvent::new(id);
                event.role = Some(*role);
                event.name.clone_from(name);
                event.subagent_run_id.clone_from(&self.owner);
                event.into()
            }
            What::Reasoning { id } => {
                let mut event = ReasoningMessageStartEvent::new(id);
                event.subagent_run_id.clone_from(&self.owner);
                event.into()
            }
            What::Call { id, name, parent } => {
                let mut event = ToolCallStartEvent::new(id, name.as_str());
                event.parent_message_id.clone_from(parent);
                event.subagent_run_id.clone_from(&self.owner);
                event.into()
            }
        }
    }

    /// The END that the stream's end makes.
    pub(super) fn end_event(&self) -> Event {
        let mut event: Event = match &self.what {
            What::Text { id, .. } => TextMessageEndEvent::new(id).into(),
            What::Reasoning { id } => ReasoningMessageEndEvent::new(id).into(),
            What::Call { id, .. } => ToolCallEndEvent::new(id).into(),
        };
        event.set_subagent_run_id(self.owner.clone());
        event
    }
}

/// The open chunk streams. Nothing but a pointer until there are any: few producers write chunks.
///
/// Each question is answered in constant or logarithmic time, so that many lanes cost no more than one.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes(Option<Box<Streams>>);

#[derive(Debug, Clone, Default)]
struct Streams {
    parent: Option<Slot>,
    subagents: HashMap<SubagentRunId, Slot>,
    by_id: HashMap<(Kind, EntityId), Owner>,
    /// The subagents' lanes that hold a stream of a kind.
    text: BTreeSet<SubagentRunId>,
    reasoning: BTreeSet<SubagentRunId>,
    calls: BTreeSet<SubagentRunId>,
    opened: u64,
}

#[derive(Debug, Clone)]
struct Slot {
    /// Its place in opening order.
    seq: u64,
    stream: Stream,
}

/// The only lane of a kind, if there is one.
pub(super) enum Sole<'a> {
    None,
    One(&'a SubagentRunId),
    Several,
}

impl Lanes {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|streams| streams.parent.is_none() && streams.subagents.is_empty())
    }

    pub(super) fn get(&self, owner: Option<&SubagentRunId>) -> Option<&Stream> {
        let streams = self.0.as_ref()?;
        let slot = match owner {
            None => streams.parent.as_ref(),
            Some(owner) => streams.subagents.get(owner),
        };
        slot.map(|slot| &slot.stream)
    }

    /// The lane in which an item is being built.
    pub(super) fn lane_of(&self, kind: Kind, id: EntityId) -> Option<&Owner> {
        self.0.as_ref()?.by_id.get(&(kind, id))
    }

    /// The subagents' only stream of a kind.
    pub(super) fn sole(&self, kind: Kind) -> Sole<'_> {
        let Some(streams) = &self.0 else { return Sole::None };
        let lanes = match kind {
            Kind::Text => &streams.text,
            Kind::Reasoning => &streams.reasoning,
            Kind::Call => &streams.calls,
        };
        match lanes.first() {
            Some(only) if lanes.len() == 1 => Sole::One(only),
            Some(_) => Sole::Several,
            None => Sole::None,
        }
    }

    /// Every lane with a stream, in the order the streams were opened.
    pub(super) fn owners(&self) -> Vec<Owner> {
        let slots = self.0.iter().flat_map(|streams| streams.parent.iter().chain(streams.subagents.values()));
        let mut slots: Vec<&Slot> = slots.collect();
        slots.sort_unstable_by_key(|slot| slot.seq);
        slots.into_iter().map(|slot| slot.stream.owner.clone()).collect()
    }

    pub(super) fn open(&mut self, stream: Stream) {
        let streams = self.0.get_or_insert_default();
        streams.by_id.insert((stream.what.kind(), stream.what.entity()), stream.owner.clone());
        streams.opened += 1;
        let kind = stream.what.kind();
        let slot = Slot { seq: streams.opened, stream };
        match slot.stream.owner.clone() {
            None => streams.parent = Some(slot),
            Some(owner) => {
                streams.set(kind).insert(owner.clone());
                streams.subagents.insert(owner, slot);
            }
        }
    }

    pub(super) fn close(&mut self, owner: Option<&SubagentRunId>) -> Option<Stream> {
        let streams = self.0.as_mut()?;
        let stream = match owner {
            None => streams.parent.take()?.stream,
            Some(owner) => streams.subagents.remove(owner)?.stream,
        };
        let kind = stream.what.kind();
        streams.by_id.remove(&(kind, stream.what.entity()));
        if let Some(owner) = owner {
            streams.set(kind).remove(owner);
        }
        Some(stream)
    }
}

impl Streams {
    fn set(&mut self, kind: Kind) -> &mut BTreeSet<SubagentRunId> {
        match kind {
            Kind::Text => &mut self.text,
            Kind::Reasoning => &mut self.reasoning,
            Kind::Call => &mut self.calls,
        }
    }
}
