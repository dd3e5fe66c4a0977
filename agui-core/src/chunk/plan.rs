//! What an event means for the chunk streams, decided before anything changes.

use super::ChunkExpander;
use super::lanes::{Kind, Sole, Stream, What};
use crate::sequence::{Owner, OwnerName, Quoted, SequenceError};
use crate::{EntityId, Event, EventType, MessageId, SubagentRunId, TextMessageRole, ToolCallId};

/// What is to be done about an event.
pub(super) struct Plan {
    /// The lanes whose streams end before it, in this order.
    pub(super) closes: Vec<Owner>,
    pub(super) act: Act,
    /// Whether it is an explicit event that names an item a chunk stream is building (`CHUNK-6`).
    pub(super) mixes: bool,
}

pub(super) enum Act {
    /// It passes as it is.
    Pass,
    /// It opens a chunk stream.
    Open(Stream),
    /// It continues the stream of a lane.
    Continue(Owner),
}

/// A chunk of any kind, with what its stream has to agree with.
struct Chunk<'a> {
    kind: Kind,
    event_type: EventType,
    /// The member that carries the id.
    id_member: &'static str,
    id: Option<EntityId>,
    tag: Option<&'a SubagentRunId>,
}

pub(super) fn is_chunk(event: &Event) -> bool {
    matches!(event, Event::TextMessageChunk(_) | Event::ToolCallChunk(_) | Event::ReasoningMessageChunk(_))
}

impl ChunkExpander {
    /// Decides about an event without changing anything.
    pub(super) fn plan(&self, event: &Event) -> Result<Plan, SequenceError> {
        let chunk = match event {
            Event::TextMessageChunk(chunk) => Chunk {
                kind: Kind::Text,
                event_type: EventType::TextMessageChunk,
                id_member: "messageId",
                id: chunk.message_id.clone().map(Into::into),
                tag: chunk.subagent_run_id.as_ref(),
            },
            Event::ReasoningMessageChunk(chunk) => Chunk {
                kind: Kind::Reasoning,
                event_type: EventType::ReasoningMessageChunk,
                id_member: "messageId",
                id: chunk.message_id.clone().map(Into::into),
                tag: chunk.subagent_run_id.as_ref(),
            },
            Event::ToolCallChunk(chunk) => Chunk {
                kind: Kind::Call,
                event_type: EventType::ToolCallChunk,
                id_member: "toolCallId",
                id: chunk.tool_call_id.clone().map(Into::into),
                tag: chunk.subagent_run_id.as_ref(),
            },
            event => return Ok(self.plan_explicit(event)),
        };
        if let Some(owner) = self.continued(&chunk)? {
            if let Some(stream) = self.lanes.get(owner.as_ref()) {
                agrees(event, &stream.what)?;
            }
            return Ok(Plan { closes: Vec::new(), act: Act::Continue(owner), mixes: false });
        }
        let Some(id) = chunk.id else {
            let message = format!("the first chunk of an item carries {}", chunk.id_member);
            return Err(SequenceError::new("CHUNK-1", chunk.event_type, message));
        };
        let stream = Stream { owner: chunk.tag.cloned(), what: opened(event, id)? };
        // A lane holds one stream: the one before ends (CHUNK-2, CHUNK-4).
        let closes = self.lanes.get(chunk.tag).map(|before| before.owner.clone()).into_iter().collect();
        Ok(Plan { closes, act: Act::Open(stream), mixes: false })
    }

    /// The lane whose stream a chunk continues; `None` if it opens one (`CHUNK-5`).
    fn continued(&self, chunk: &Chunk<'_>) -> Result<Option<Owner>, SequenceError> {
        let in_lane = |owner: Option<&SubagentRunId>| {
            self.lanes.get(owner).filter(|stream| stream.what.kind() == chunk.kind)
        };
        let own = in_lane(chunk.tag);
        if let Some(id) = &chunk.id {
            if own.is_some_and(|stream| stream.what.id() == id.as_str()) {
                return Ok(Some(chunk.tag.cloned()));
            }
            let Some(owner) = self.lanes.lane_of(chunk.kind, id.clone()) else { return Ok(None) };
            if chunk.tag.is_none() {
                return Ok(Some(owner.clone()));
            }
            let message = format!(
                "{} is being built by {}, not by {}",
                Quoted(id.as_str()),
                OwnerName(owner.as_ref()),
                OwnerName(chunk.tag)
            );
            return Err(SequenceError::new("SUB-3", chunk.event_type, message));
        }
        if own.is_some() {
            return Ok(Some(chunk.tag.cloned()));
        }
        if chunk.tag.is_some() {
            return Ok(None);
        }
        match self.lanes.sole(chunk.kind) {
            Sole::None => Ok(None),
            Sole::One(owner) => Ok(Some(Some(owner.clone()))),
            Sole::Several => {
                let message = format!(
                    "several subagents have such a stream open: without {} or subagentRunId it is ambiguous which \
                     one continues",
                    chunk.id_member
                );
                Err(SequenceError::new("CHUNK-5", chunk.event_type, message))
            }
        }
    }

    /// What ends before an event that is no chunk (`CHUNK-4`, `CHUNK-6`).
    fn plan_explicit(&self, event: &Event) -> Plan {
        let own_lane =
            |owner: Option<&SubagentRunId>| self.lanes.get(owner).map(|stream| stream.owner.clone());
        let mut named = None;
        let lane = match event {
            Event::Raw(_)
            | Event::ActivitySnapshot(_)
            | Event::ActivityDelta(_)
            | Event::ReasoningEncryptedValue(_)
            | Event::SubagentStarted(_) => None,
            Event::RunStarted(_)
            | Event::RunFinished(_)
            | Event::RunError(_)
            | Event::MessagesSnapshot(_) => {
                return Plan { closes: self.lanes.owners(), act: Act::Pass, mixes: false };
            }
            event => {
                named = named_item(event).and_then(|(kind, id)| self.lanes.lane_of(kind, id));
                own_lane(event.subagent_run_id())
            }
        };
        let mut closes: Vec<Owner> = lane.into_iter().collect();
        if let Some(named) = named.filter(|named| !closes.contains(named)) {
            closes.push(named.clone());
        }
        Plan { closes, act: Act::Pass, mixes: named.is_some() }
    }
}

/// The item that an explicit event names.
fn named_item(event: &Event) -> Option<(Kind, EntityId)> {
    let message = |kind, id: &MessageId| Some((kind, EntityId::from(id.clone())));
    let call = |id: &ToolCallId| Some((Kind::Call, EntityId::from(id.clone())));
    match event {
        Event::TextMessageStart(event) => message(Kind::Text, &event.message_id),
        Event::TextMessageContent(event) => message(Kind::Text, &event.message_id),
        Event::TextMessageEnd(event) => message(Kind::Text, &event.message_id),
        Event::ReasoningMessageStart(event) => message(Kind::Reasoning, &event.message_id),
        Event::ReasoningMessageContent(event) => message(Kind::Reasoning, &event.message_id),
        Event::ReasoningMessageEnd(event) => message(Kind::Reasoning, &event.message_id),
        Event::ToolCallStart(event) => call(&event.tool_call_id),
        Event::ToolCallArgs(event) => call(&event.tool_call_id),
        Event::ToolCallEnd(event) => call(&event.tool_call_id),
        Event::ToolCallResult(event) => call(&event.tool_call_id),
        _ => None,
    }
}

/// What a chunk opens (`CHUNK-1`).
fn opened(event: &Event, id: EntityId) -> Result<What, SequenceError> {
    let id: std::sync::Arc<str> = id.into();
    match event {
        Event::TextMessageChunk(chunk) => Ok(What::Text {
            id: id.into(),
            role: chunk.role.unwrap_or(TextMessageRole::Assistant),
            name: chunk.name.clone(),
        }),
        Event::ToolCallChunk(chunk) => {
            let Some(name) = &chunk.tool_call_name else {
                let message = format!("the first chunk of call {} carries toolCallName", Quoted(&id));
                return Err(SequenceError::new("CHUNK-1", EventType::ToolCallChunk, message));
            };
            Ok(What::Call { id: id.into(), name: name.clone(), parent: chunk.parent_message_id.clone() })
        }
        _ => Ok(What::Reasoning { id: id.into() }),
    }
}

/// Whether a continuation repeats what the opener said, where it says anything (`CHUNK-3`).
fn agrees(event: &Event, what: &What) -> Result<(), SequenceError> {
    match (event, what) {
        (Event::TextMessageChunk(chunk), What::Text { role, name, .. }) => {
            if let Some(said) = chunk.role.filter(|said| said != role) {
                return Err(conflict(event, what, "role", Some(role.as_str()), said.as_str()));
            }
            if let Some(said) = chunk.name.as_deref().filter(|said| Some(*said) != name.as_deref()) {
                return Err(conflict(event, what, "name", name.as_deref(), said));
            }
        }
        (Event::ToolCallChunk(chunk), What::Call { name, parent, .. }) => {
            if let Some(said) = chunk.tool_call_name.as_deref().filter(|said| said != name) {
                return Err(conflict(event, what, "toolCallName", Some(name), said));
            }
            if let Some(said) = chunk.parent_message_id.as_ref().filter(|said| Some(*said) != parent.as_ref())
            {
                let parent = parent.as_ref().map(MessageId::as_str);
                return Err(conflict(event, what, "parentMessageId", parent, said.as_str()));
            }
        }
        _ => {}
    }
    Ok(())
}

#[cold]
fn conflict(event: &Event, what: &What, member: &str, opener: Option<&str>, said: &str) -> SequenceError {
    let opener = opener.map_or_else(|| "none".to_owned(), |value| Quoted(value).to_string());
    let message =
        format!("{} of {} is {} here, its first chunk said {opener}", member, what.describe(), Quoted(said));
    SequenceError::new("CHUNK-3", event.event_type(), message)
}
