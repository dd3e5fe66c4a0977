//! What is open: sets of items under identifiers, and the items as a list in opening order.
//!
//! A set finds the item it was last asked for with one comparison, and any other with one hash. It grows with the
//! number of items open at a time and allocates nothing when it is asked.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::Owner;
use crate::{
    Event, ReasoningEndEvent, ReasoningMessageEndEvent, StepFinishedEvent, SubagentFinishedEvent,
    SubagentRunId, TextMessageEndEvent, ToolCallEndEvent,
};

/// What kind of item is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpenKind {
    /// A text message.
    TextMessage,
    /// A tool call whose arguments are not complete.
    ToolCall,
    /// A reasoning span, which is not a message (`STREAM-7`).
    ReasoningSpan,
    /// A reasoning message.
    ReasoningMessage,
    /// A step, matched by its name within its owner (`LIFE-10`).
    Step,
    /// An announced subagent's invocation.
    Subagent,
}

impl OpenKind {
    /// The kind in words.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::TextMessage => "text message",
            Self::ToolCall => "tool call",
            Self::ReasoningSpan => "reasoning span",
            Self::ReasoningMessage => "reasoning message",
            Self::Step => "step",
            Self::Subagent => "subagent",
        }
    }
}

/// An item that the run has opened and not closed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenItem {
    /// What it is.
    pub kind: OpenKind,
    /// Its identifier, or the step's name.
    pub id: Arc<str>,
    /// Who opened it; for a subagent, the invocation it belongs to. `None` is the parent agent.
    pub owner: Option<SubagentRunId>,
}

impl OpenItem {
    pub(crate) const fn new(kind: OpenKind, id: Arc<str>, owner: Option<SubagentRunId>) -> Self {
        Self { kind, id, owner }
    }

    /// The event that closes the item, attributed to its owner. A subagent ends with no outcome, which is success.
    pub fn close_event(&self) -> Event {
        let id = || Arc::clone(&self.id);
        let mut event: Event = match self.kind {
            OpenKind::TextMessage => TextMessageEndEvent::new(id()).into(),
            OpenKind::ToolCall => ToolCallEndEvent::new(id()).into(),
            OpenKind::ReasoningSpan => ReasoningEndEvent::new(id()).into(),
            OpenKind::ReasoningMessage => ReasoningMessageEndEvent::new(id()).into(),
            OpenKind::Step => StepFinishedEvent::new(&*self.id).into(),
            OpenKind::Subagent => SubagentFinishedEvent::new(id()).into(),
        };
        // A subagent's own event carries the invocation's id already, and refuses another.
        event.set_subagent_run_id(self.owner.clone());
        event
    }
}

/// One open item.
#[derive(Debug, Clone)]
pub(crate) struct Entry<K> {
    pub(crate) id: K,
    /// Its place in opening order.
    pub(crate) seq: u64,
    /// Who opened it.
    pub(crate) owner: Owner,
    /// Who owns the item it continues, which differs from `owner` only where a later run reopens under another tag.
    pub(crate) established: Owner,
}

impl<K> Entry<K> {
    /// Whether an event with this tag may continue the item (`SUB-3`).
    #[inline]
    pub(super) fn admits(&self, tag: Option<&SubagentRunId>) -> bool {
        tag.is_none() || tag == self.owner.as_ref() || tag == self.established.as_ref()
    }
}

/// The open items of one kind.
#[derive(Debug, Clone)]
pub(crate) struct OpenSet<K> {
    slots: Vec<Option<Entry<K>>>,
    free: Vec<usize>,
    index: HashMap<K, usize>,
    /// The slot that was asked for last.
    last: usize,
}

impl<K> Default for OpenSet<K> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashMap::new(), last: 0 }
    }
}

impl<K: Clone + Eq + Hash> OpenSet<K> {
    /// Whether the id is that of the item asked for last, which is open.
    #[inline]
    pub(super) fn is_last(&self, id: &K) -> bool {
        matches!(self.slots.get(self.last), Some(Some(entry)) if entry.id == *id)
    }

    /// The item of an id, remembered for the next question.
    #[inline]
    pub(super) fn get(&mut self, id: &K) -> Option<&Entry<K>> {
        if !self.is_last(id) {
            self.last = *self.index.get(id)?;
        }
        self.slots.get(self.last)?.as_ref()
    }

    /// The item of an id.
    pub(super) fn peek(&self, id: &K) -> Option<&Entry<K>> {
        self.slots.get(*self.index.get(id)?)?.as_ref()
    }

    /// Puts the owner of an open item right, after a snapshot has restated it.
    pub(super) fn set_owner(&mut self, id: &K, owner: Option<&SubagentRunId>) {
        let slot = self.index.get(id).and_then(|slot| self.slots.get_mut(*slot));
        if let Some(Some(entry)) = slot {
            entry.owner = owner.cloned();
            entry.established = owner.cloned();
        }
    }

    pub(crate) fn insert(&mut self, entry: Entry<K>) {
        let id = entry.id.clone();
        let slot = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(slot) {
            Some(free) => *free = Some(entry),
            None => self.slots.push(Some(entry)),
        }
        self.index.insert(id, slot);
        self.last = slot;
    }

    pub(crate) fn remove(&mut self, id: &K) -> Option<Entry<K>> {
        let slot = self.index.remove(id)?;
        let entry = self.slots.get_mut(slot)?.take();
        self.free.push(slot);
        entry
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.index.clear();
        self.last = 0;
    }

    fn iter(&self) -> impl Iterator<Item = &Entry<K>> {
        self.slots.iter().flatten()
    }
}

/// Everything the run has open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Open {
    pub(crate) text: OpenSet<crate::MessageId>,
    pub(crate) calls: OpenSet<crate::ToolCallId>,
    pub(crate) reasoning: OpenSet<crate::MessageId>,
    pub(super) spans: OpenSet<crate::MessageId>,
    pub(super) subagents: OpenSet<SubagentRunId>,
    pub(super) steps: Steps,
    next: u64,
}

impl Open {
    /// The next place in opening order.
    pub(super) fn next_seq(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        seq
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
            + self.calls.len()
            + self.reasoning.len()
            + self.spans.len()
            + self.subagents.len()
            + self.steps.count
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.calls.clear();
        self.reasoning.clear();
        self.spans.clear();
        self.subagents.clear();
        self.steps = Steps::default();
    }

    /// The items in the order they were opened.
    pub(super) fn items(&self) -> Vec<OpenItem> {
        fn collect<'a, K: Clone + Into<Arc<str>> + 'a>(
            items: &mut Vec<(u64, OpenItem)>,
            kind: OpenKind,
            entries: impl Iterator<Item = &'a Entry<K>>,
        ) {
            items.extend(entries.map(|entry| {
                (entry.seq, OpenItem { kind, id: entry.id.clone().into(), owner: entry.owner.clone() })
            }));
        }
        let mut items = Vec::with_capacity(self.len());
        collect(&mut items, OpenKind::TextMessage, self.text.iter());
        collect(&mut items, OpenKind::ToolCall, self.calls.iter());
        collect(&mut items, OpenKind::ReasoningMessage, self.reasoning.iter());
        collect(&mut items, OpenKind::ReasoningSpan, self.spans.iter());
        collect(&mut items, OpenKind::Subagent, self.subagents.iter());
        for (owner, names) in &self.steps.by_owner {
            items.extend(names.iter().map(|(name, seq)| {
                (*seq, OpenItem { kind: OpenKind::Step, id: name.as_str().into(), owner: owner.clone() })
            }));
        }
        items.sort_unstable_by_key(|(seq, _)| *seq);
        items.into_iter().map(|(_, item)| item).collect()
    }
}

/// The open steps, by owner and name (`LIFE-10`).
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    by_owner: HashMap<Owner, HashMap<String, u64>>,
    count: usize,
}

impl Steps {
    pub(super) fn contains(&self, owner: &Owner, name: &str) -> bool {
        self.by_owner.get(owner).is_some_and(|names| names.contains_key(name))
    }

    pub(super) fn open(&mut self, owner: &Owner, name: &str, seq: u64) {
        self.by_owner.entry(owner.clone()).or_default().insert(name.to_owned(), seq);
        self.count += 1;
    }

    /// Closes a step; says whether it was open.
    pub(super) fn close(&mut self, owner: &Owner, name: &str) -> bool {
        let closed = self.by_owner.get_mut(owner).is_some_and(|names| names.remove(name).is_some());
        self.count -= usize::from(closed);
        closed
    }
}
