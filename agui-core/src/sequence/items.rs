//! Items that open and close: messages, calls, reasoning, steps and subagents (`STREAM-1` to `STREAM-7`, `LIFE-10`,
//! `SUB-2` to `SUB-4`).

use std::hash::Hash;

use super::history::{CallRecord, MessageRecord, Name};
use super::open::OpenSet;
use super::{Entry, Notice, OpenKind, Owner, OwnerName, Quoted, Sequence, SequenceError};
use crate::{
    EventType, MessageId, ReasoningEndEvent, ReasoningMessageStartEvent, ReasoningStartEvent, Role,
    StepFinishedEvent, StepStartedEvent, SubagentRunId, SubagentStartedEvent, TextMessageRole,
    TextMessageStartEvent, ToolCallId, ToolCallStartEvent,
};

type Checked = Result<(), SequenceError>;

impl Sequence {
    pub(crate) fn continue_text(
        &mut self,
        id: &MessageId,
        tag: Option<&SubagentRunId>,
        kind: EventType,
    ) -> Checked {
        continues(&mut self.open.text, id, tag, kind, OpenKind::TextMessage)
    }

    pub(crate) fn continue_call(
        &mut self,
        id: &ToolCallId,
        tag: Option<&SubagentRunId>,
        kind: EventType,
    ) -> Checked {
        continues(&mut self.open.calls, id, tag, kind, OpenKind::ToolCall)
    }

    pub(crate) fn continue_reasoning(
        &mut self,
        id: &MessageId,
        tag: Option<&SubagentRunId>,
        kind: EventType,
    ) -> Checked {
        continues(&mut self.open.reasoning, id, tag, kind, OpenKind::ReasoningMessage)
    }

    pub(super) fn start_text(&mut self, event: &TextMessageStartEvent) -> Checked {
        let kind = EventType::TextMessageStart;
        let id = &event.message_id;
        if self.open.text.peek(id).is_some() {
            return Err(already_open(kind, OpenKind::TextMessage, id.as_str()));
        }
        let role = Role::from(event.role.unwrap_or(TextMessageRole::Assistant));
        let name = event.name.as_deref();
        let tag = event.subagent_run_id.as_ref();
        let mut notice = None;
        let established = match self.history.messages.get(id) {
            None => tag.cloned(),
            // Under another kind of message there is nothing to continue: the consumer's fold decides.
            Some(record) if !is_text(record.role) => {
                self.refuse_other_kind(record, role, id, kind)?;
                tag.cloned()
            }
            Some(record) => {
                if self.is_producer() {
                    if record.role != role {
                        return Err(disagrees(kind, id, "role", record.role.as_str(), role.as_str()));
                    }
                    if let Name::Said(known) = &record.name
                        && known.as_deref() != name
                    {
                        let known = known.as_deref().unwrap_or("none");
                        return Err(disagrees(kind, id, "name", known, name.unwrap_or("none")));
                    }
                }
                notice = self.reopen(kind, id.as_str(), tag, &record.owner, record.run)?;
                record.owner.clone()
            }
        };
        match self.history.messages.get_mut(id) {
            None => self.history.note_message(id, role, Name::said(name), tag, self.run),
            Some(record) if is_text(record.role) => {
                if record.name == Name::Unsaid {
                    record.name = Name::said(name);
                }
                if notice.is_none() {
                    record.run = self.run;
                }
            }
            Some(_) => {}
        }
        self.notices.extend(notice);
        let seq = self.open.next_seq();
        self.open.text.insert(entry(id, seq, tag, established));
        Ok(())
    }

    pub(super) fn start_reasoning(&mut self, event: &ReasoningMessageStartEvent) -> Checked {
        let kind = EventType::ReasoningMessageStart;
        let id = &event.message_id;
        if self.open.reasoning.peek(id).is_some() {
            return Err(already_open(kind, OpenKind::ReasoningMessage, id.as_str()));
        }
        let tag = event.subagent_run_id.as_ref();
        if let (Some(tag), Some(Some(span))) = (tag, self.this_run.spans.get(id))
            && tag != span
        {
            return Err(other_owner("SUB-3", kind, id.as_str(), Some(tag), Some(span)));
        }
        let mut notice = None;
        let established = match self.history.messages.get(id) {
            None => tag.cloned(),
            Some(record) if record.role != Role::Reasoning => {
                self.refuse_other_kind(record, Role::Reasoning, id, kind)?;
                tag.cloned()
            }
            Some(record) => {
                notice = self.reopen(kind, id.as_str(), tag, &record.owner, record.run)?;
                record.owner.clone()
            }
        };
        match self.history.messages.get_mut(id) {
            None => self.history.note_message(id, Role::Reasoning, Name::Said(None), tag, self.run),
            Some(record) if record.role == Role::Reasoning && notice.is_none() => record.run = self.run,
            Some(_) => {}
        }
        self.notices.extend(notice);
        let seq = self.open.next_seq();
        self.open.reasoning.insert(entry(id, seq, tag, established));
        Ok(())
    }

    pub(super) fn start_call(&mut self, event: &ToolCallStartEvent) -> Checked {
        let kind = EventType::ToolCallStart;
        let id = &event.tool_call_id;
        if self.open.calls.peek(id).is_some() {
            return Err(already_open(kind, OpenKind::ToolCall, id.as_str()));
        }
        let tag = event.subagent_run_id.as_ref();
        if let Some(record) = self.history.calls.get(id) {
            let mut notices = self.reopen_call(event, record)?;
            let established = record.owner.clone();
            if !notices.iter().any(|notice| notice.path == "/subagentRunId")
                && let Some(record) = self.history.calls.get_mut(id)
            {
                record.run = self.run;
            }
            self.notices.append(&mut notices);
            self.open_call(id, tag, established);
            return Ok(());
        }
        let parent = self.parent_of(event)?;
        let owner = parent.as_ref().map_or_else(|| tag.cloned(), |(_, owner)| owner.clone());
        let parent = parent.map_or_else(|| MessageId::from(id.clone()), |(parent, _)| parent);
        if !self.history.messages.contains_key(&parent) {
            self.history.note_message(&parent, Role::Assistant, Name::Unsaid, owner.as_ref(), self.run);
        }
        let record = CallRecord {
            name: event.tool_call_name.as_str().into(),
            parent,
            owner: owner.clone(),
            run: self.run,
        };
        self.history.calls.insert(id.clone(), record);
        self.open_call(id, owner.as_ref(), owner.clone());
        Ok(())
    }

    /// The message that carries a new call, and the call's owner by it (`SUB-4`). `None` gives the call a message of
    /// its own.
    fn parent_of(&self, event: &ToolCallStartEvent) -> Result<Option<(MessageId, Owner)>, SequenceError> {
        let own;
        let parent = match &event.parent_message_id {
            Some(parent) => parent,
            // The message it gets has the call's id, which is another message's already.
            None if self.is_producer() && self.history.messages.contains_key(event.tool_call_id.as_str()) => {
                own = MessageId::from(event.tool_call_id.clone());
                &own
            }
            None => return Ok(None),
        };
        let kind = EventType::ToolCallStart;
        let tag = event.subagent_run_id.as_ref();
        match self.history.messages.get(parent) {
            None => Ok(Some((parent.clone(), tag.cloned()))),
            Some(record) if record.role != Role::Assistant => {
                if self.is_producer() {
                    let message = format!(
                        "call {} would be carried by message {} of role {}, only an assistant message carries calls",
                        Quoted(event.tool_call_id.as_str()),
                        Quoted(parent.as_str()),
                        record.role
                    );
                    let rule = if event.parent_message_id.is_some() { "SUB-4" } else { "SHAPE-9" };
                    return Err(SequenceError::new(rule, kind, message));
                }
                Ok(None)
            }
            Some(record) if tag.is_some() && tag != record.owner.as_ref() => {
                let message = format!(
                    "call {} belongs to {}, the message {} that carries it to {}",
                    Quoted(event.tool_call_id.as_str()),
                    OwnerName(tag),
                    Quoted(parent.as_str()),
                    OwnerName(record.owner.as_ref())
                );
                Err(SequenceError::new("SUB-4", kind, message))
            }
            Some(record) => Ok(Some((parent.clone(), record.owner.clone()))),
        }
    }

    /// Whether a START may reopen a call: name and parent stand, whatever it says (`STREAM-4`).
    fn reopen_call(
        &self,
        event: &ToolCallStartEvent,
        record: &CallRecord,
    ) -> Result<Vec<Notice>, SequenceError> {
        let kind = EventType::ToolCallStart;
        let id = &event.tool_call_id;
        let mut notices = Vec::new();
        let mut depart = |path: &'static str, known: &str, said: &str| {
            let error = disagrees(kind, id, path.trim_start_matches('/'), known, said);
            if self.is_producer() {
                return Err(error);
            }
            notices.push(Notice::new("STREAM-4", kind, path, error.message()));
            Ok(())
        };
        if *record.name != *event.tool_call_name {
            depart("/toolCallName", &record.name, &event.tool_call_name)?;
        }
        let own = MessageId::from(id.clone());
        let said = event.parent_message_id.as_ref();
        // A consumer need not notice what the new START leaves out.
        if (said.is_some() || self.is_producer()) && *said.unwrap_or(&own) != record.parent {
            depart("/parentMessageId", record.parent.as_str(), said.map_or("none", MessageId::as_str))?;
        }
        let tag = event.subagent_run_id.as_ref();
        notices.extend(self.reopen(kind, id.as_str(), tag, &record.owner, record.run)?);
        Ok(notices)
    }

    fn open_call(&mut self, id: &ToolCallId, tag: Option<&SubagentRunId>, established: Owner) {
        let seq = self.open.next_seq();
        self.open.calls.insert(entry(id, seq, tag, established));
        let place = self.this_run.calls.len();
        self.this_run.calls.entry(id.clone()).or_default().started.get_or_insert(place);
    }

    pub(super) fn start_span(&mut self, event: &ReasoningStartEvent) -> Checked {
        let kind = EventType::ReasoningStart;
        let id = &event.message_id;
        if self.open.spans.peek(id).is_some() {
            return Err(already_open(kind, OpenKind::ReasoningSpan, id.as_str()));
        }
        let tag = event.subagent_run_id.as_ref();
        let known = self.this_run.spans.get(id);
        if let (Some(tag), Some(known)) = (tag, known)
            && Some(tag) != known.as_ref()
        {
            return Err(other_owner("SUB-3", kind, id.as_str(), Some(tag), known.as_ref()));
        }
        // A message of the id that this run tagged: the two tags may not contradict each other.
        let message = self.history.messages.get(id).filter(|record| record.run == self.run);
        if let (Some(tag), Some(MessageRecord { role: Role::Reasoning, owner: Some(owner), .. })) =
            (tag, message)
            && tag != owner
        {
            return Err(other_owner("SUB-3", kind, id.as_str(), Some(tag), Some(owner)));
        }
        let established = known.cloned().unwrap_or_else(|| tag.cloned());
        self.this_run.spans.entry(id.clone()).or_insert_with(|| established.clone());
        let seq = self.open.next_seq();
        self.open.spans.insert(entry(id, seq, tag, established));
        Ok(())
    }

    pub(super) fn end_span(&mut self, event: &ReasoningEndEvent) -> Checked {
        let (id, tag) = (&event.message_id, event.subagent_run_id.as_ref());
        continues(&mut self.open.spans, id, tag, EventType::ReasoningEnd, OpenKind::ReasoningSpan)?;
        self.open.spans.remove(id);
        Ok(())
    }

    pub(super) fn start_step(&mut self, event: &StepStartedEvent) -> Checked {
        let (owner, name) = (&event.subagent_run_id, event.step_name.as_str());
        if self.open.steps.contains(owner, name) {
            let message = format!("step {} of {} is open", Quoted(name), OwnerName(owner.as_ref()));
            return Err(SequenceError::new("LIFE-10", EventType::StepStarted, message));
        }
        let seq = self.open.next_seq();
        self.open.steps.open(owner, name, seq);
        Ok(())
    }

    pub(super) fn finish_step(&mut self, event: &StepFinishedEvent) -> Checked {
        let (owner, name) = (&event.subagent_run_id, event.step_name.as_str());
        if self.open.steps.close(owner, name) {
            return Ok(());
        }
        let message = format!("{} has no step {} open", OwnerName(owner.as_ref()), Quoted(name));
        Err(SequenceError::new("LIFE-10", EventType::StepFinished, message))
    }

    pub(super) fn start_subagent(&mut self, event: &SubagentStartedEvent) -> Checked {
        let kind = EventType::SubagentStarted;
        let id = &event.subagent_run_id;
        if self.this_run.announced.contains(id) {
            let state =
                if self.open.subagents.peek(id).is_some() { "is active" } else { "has ended in this run" };
            let message = format!("subagent {} {state}", Quoted(id.as_str()));
            return Err(SequenceError::new("SUB-2", kind, message));
        }
        let parent = event.parent_subagent_run_id.as_ref();
        if let Some(parent) = parent.filter(|parent| !self.this_run.announced.contains(*parent)) {
            let message = format!(
                "parentSubagentRunId {} of subagent {} was not announced in this run",
                Quoted(parent.as_str()),
                Quoted(id.as_str())
            );
            return Err(SequenceError::new("SUB-2", kind, message));
        }
        self.this_run.announced.insert(id.clone());
        let seq = self.open.next_seq();
        self.open.subagents.insert(entry(id, seq, parent, parent.cloned()));
        Ok(())
    }

    pub(super) fn end_subagent(&mut self, id: &SubagentRunId, kind: EventType) -> Checked {
        if self.open.subagents.remove(id).is_some() {
            return Ok(());
        }
        Err(SequenceError::new("SUB-2", kind, format!("no subagent {} is active", Quoted(id.as_str()))))
    }

    /// Whether a START may reopen an item under its tag. Under another owner's it is fatal within a run, and across
    /// runs the owner stands. Without a tag it continues the owner; a producer says who the owner is (`STREAM-4`).
    fn reopen(
        &self,
        kind: EventType,
        id: &str,
        tag: Option<&SubagentRunId>,
        owner: &Owner,
        run: u64,
    ) -> Result<Option<Notice>, SequenceError> {
        if tag == owner.as_ref() || (tag.is_none() && !self.is_producer()) {
            return Ok(None);
        }
        if tag.is_some() && run == self.run {
            return Err(other_owner("SUB-3", kind, id, tag, owner.as_ref()));
        }
        let error = other_owner("STREAM-4", kind, id, tag, owner.as_ref());
        if self.is_producer() {
            return Err(error);
        }
        Ok(Some(Notice::new("STREAM-4", kind, "/subagentRunId", error.message())))
    }

    /// A producer gives an id to one message (`SHAPE-9`).
    fn refuse_other_kind(
        &self,
        record: &MessageRecord,
        role: Role,
        id: &MessageId,
        kind: EventType,
    ) -> Checked {
        if !self.is_producer() {
            return Ok(());
        }
        let message = format!(
            "{} is the id of a message of role {}, it cannot be opened as one of role {role}",
            Quoted(id.as_str()),
            record.role
        );
        Err(SequenceError::new("SHAPE-9", kind, message))
    }
}

/// Whether messages of a role are streamed as text.
fn is_text(role: Role) -> bool {
    matches!(role, Role::Developer | Role::System | Role::Assistant | Role::User)
}

fn entry<K: Clone>(id: &K, seq: u64, tag: Option<&SubagentRunId>, established: Owner) -> Entry<K> {
    Entry { id: id.clone(), seq, owner: tag.cloned().or_else(|| established.clone()), established }
}

/// Whether an item is open and the event's tag agrees with its owner.
#[inline]
fn continues<K: Clone + Eq + Hash + AsRef<str>>(
    set: &mut OpenSet<K>,
    id: &K,
    tag: Option<&SubagentRunId>,
    kind: EventType,
    what: OpenKind,
) -> Checked {
    match set.get(id) {
        Some(entry) if entry.admits(tag) => Ok(()),
        Some(entry) => Err(other_owner("SUB-3", kind, id.as_ref(), tag, entry.owner.as_ref())),
        None => Err(not_open(kind, what, id.as_ref())),
    }
}

#[cold]
fn not_open(kind: EventType, what: OpenKind, id: &str) -> SequenceError {
    let rule = if what == OpenKind::ReasoningSpan { "STREAM-7" } else { "STREAM-1" };
    SequenceError::new(rule, kind, format!("no {} {} is open", what.noun(), Quoted(id)))
}

#[cold]
fn already_open(kind: EventType, what: OpenKind, id: &str) -> SequenceError {
    let rule = if what == OpenKind::ReasoningSpan { "STREAM-7" } else { "STREAM-1" };
    SequenceError::new(rule, kind, format!("{} {} is already open", what.noun(), Quoted(id)))
}

/// An event's tag contradicts the owner of what it names.
#[cold]
pub(super) fn other_owner(
    rule: &'static str,
    kind: EventType,
    id: &str,
    tag: Option<&SubagentRunId>,
    owner: Option<&SubagentRunId>,
) -> SequenceError {
    let message = format!("{} belongs to {}, not to {}", Quoted(id), OwnerName(owner), OwnerName(tag));
    SequenceError::new(rule, kind, message)
}

#[cold]
fn disagrees(kind: EventType, id: impl AsRef<str>, member: &str, known: &str, said: &str) -> SequenceError {
    let message = format!(
        "{} was opened with {member} {}, reopening it says {}",
        Quoted(id.as_ref()),
        Quoted(known),
        Quoted(said)
    );
    SequenceError::new("STREAM-4", kind, message)
}
