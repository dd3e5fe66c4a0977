//! What is open: sets of items under identifiers, and the items as a list in opening order.
//!
//! A set finds the item it was last asked for with one comparison, any other with one hash, and what a subagent has open
//! without a look at the rest. It grows with the number of items open at a time and allocates nothing when it is asked.

use std::collections::{HashMap, HashSet};
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

/// The open items of one kind. Nothing but a pointer before the first one: most runs open one kind or two, and each
/// waiting stream keeps a run.
#[derive(Debug, Clone)]
pub(crate) struct OpenSet<K>(Option<Box<Slots<K>>>);

#[derive(Debug, Clone)]
struct Slots<K> {
    entries: Vec<Option<Entry<K>>>,
    free: Vec<usize>,
    index: HashMap<K, usize>,
    /// The slots of what subagents have open. The parent agent's are all the others.
    owned: HashMap<SubagentRunId, HashSet<usize>>,
    /// The slot that was asked for last.
    last: usize,
}

impl<K> Default for OpenSet<K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K> Default for Slots<K> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), index: HashMap::new(), owned: HashMap::new(), last: 0 }
    }
}

impl<K: Clone + Eq + Hash> OpenSet<K> {
    /// Whether the id is that of the item asked for last, which is open.
    #[inline]
    pub(super) fn is_last(&self, id: &K) -> bool {
        self.0.as_ref().is_some_and(|slots| slots.is_last(id))
    }

    /// The item of an id, remembered for the next question.
    #[inline]
    pub(super) fn get(&mut self, id: &K) -> Option<&Entry<K>> {
        let slots = self.0.as_mut()?;
        if !slots.is_last(id) {
            slots.last = *slots.index.get(id)?;
        }
        slots.entries.get(slots.last)?.as_ref()
    }

    /// The item of an id.
    pub(super) fn peek(&self, id: &K) -> Option<&Entry<K>> {
        let slots = self.0.as_ref()?;
        slots.entries.get(*slots.index.get(id)?)?.as_ref()
    }

    /// Puts the owner of an open item right, after a snapshot has restated it.
    pub(super) fn set_owner(&mut self, id: &K, owner: Option<&SubagentRunId>) {
        let Some(slots) = &mut self.0 else { return };
        let Some(&slot) = slots.index.get(id) else { return };
        if let Some(Some(entry)) = slots.entries.get_mut(slot) {
            let before = std::mem::replace(&mut entry.owner, owner.cloned());
            entry.established = owner.cloned();
            slots.disown(before.as_ref(), slot);
            slots.own(owner, slot);
        }
    }

    pub(crate) fn insert(&mut self, entry: Entry<K>) {
        let slots = self.0.get_or_insert_default();
        let id = entry.id.clone();
        let slot = slots.free.pop().unwrap_or(slots.entries.len());
        slots.own(entry.owner.as_ref(), slot);
        match slots.entries.get_mut(slot) {
            Some(free) => *free = Some(entry),
            None => slots.entries.push(Some(entry)),
        }
        slots.index.insert(id, slot);
        slots.last = slot;
    }

    pub(crate) fn remove(&mut self, id: &K) -> Option<Entry<K>> {
        let slots = self.0.as_mut()?;
        let slot = slots.index.remove(id)?;
        let entry = slots.entries.get_mut(slot)?.take()?;
        slots.free.push(slot);
        slots.disown(entry.owner.as_ref(), slot);
        Some(entry)
    }

    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |slots| slots.index.len())
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    fn iter(&self) -> impl Iterator<Item = &Entry<K>> {
        self.0.iter().flat_map(|slots| slots.entries.iter().flatten())
    }

    /// What one owner has open.
    fn of(&self, owner: Option<&SubagentRunId>) -> impl Iterator<Item = &Entry<K>> {
        let slots = self.0.as_deref();
        let found = slots.zip(owner).and_then(|(slots, owner)| slots.owned.get(owner));
        let all = slots.filter(|_| owner.is_none()).map_or(&[][..], |slots| slots.entries.as_slice());
        let parents = all.iter().flatten().filter(|entry| entry.owner.is_none());
        let entry = move |slot: &usize| slots?.entries.get(*slot)?.as_ref();
        found.into_iter().flatten().filter_map(entry).chain(parents)
    }
}

impl<K: Eq> Slots<K> {
    #[inline]
    fn is_last(&self, id: &K) -> bool {
        matches!(self.entries.get(self.last), Some(Some(entry)) if entry.id == *id)
    }

    fn own(&mut self, owner: Option<&SubagentRunId>, slot: usize) {
        if let Some(owner) = owner {
            self.owned.entry(owner.clone()).or_default().insert(slot);
        }
    }

    fn disown(&mut self, owner: Option<&SubagentRunId>, slot: usize) {
        if let Some(owner) = owner
            && let Some(slots) = self.owned.get_mut(owner)
        {
            slots.remove(&slot);
            if slots.is_empty() {
                self.owned.remove(owner);
            }
        }
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
        let mut items = Vec::with_capacity(self.len());
        collect(&mut items, OpenKind::TextMessage, self.text.iter());
        collect(&mut items, OpenKind::ToolCall, self.calls.iter());
        collect(&mut items, OpenKind::ReasoningMessage, self.reasoning.iter());
        collect(&mut items, OpenKind::ReasoningSpan, self.spans.iter());
        collect(&mut items, OpenKind::Subagent, self.subagents.iter());
        for (owner, names) in &self.steps.by_owner {
            collect_steps(&mut items, owner.as_ref(), names);
        }
        in_order(items)
    }

    /// The items of one owner, and of the invocations among them and below, in the order they were opened.
    pub(super) fn items_of(&self, owner: Option<&SubagentRunId>) -> Vec<OpenItem> {
        let mut items = Vec::new();
        self.collect_of(owner, &mut items);
        let mut next = 0;
        while let Some((_, item)) = items.get(next) {
            next += 1;
            if item.kind == OpenKind::Subagent {
                let id = SubagentRunId::from(Arc::clone(&item.id));
                self.collect_of(Some(&id), &mut items);
            }
        }
        in_order(items)
    }

    fn collect_of(&self, owner: Option<&SubagentRunId>, items: &mut Vec<(u64, OpenItem)>) {
        collect(items, OpenKind::TextMessage, self.text.of(owner));
        collect(items, OpenKind::ToolCall, self.calls.of(owner));
        collect(items, OpenKind::ReasoningMessage, self.reasoning.of(owner));
        collect(items, OpenKind::ReasoningSpan, self.spans.of(owner));
        collect(items, OpenKind::Subagent, self.subagents.of(owner));
        if let Some(names) = self.steps.by_owner.get(&owner.cloned()) {
            collect_steps(items, owner, names);
        }
    }

    /// What is open of the items given, in the order they were opened. An item is found by its kind and id, and a
    /// step also by its owner; another may own it by now (`SUB-4`, `SUB-8`).
    pub(super) fn open_among<'a>(&self, items: impl IntoIterator<Item = &'a OpenItem>) -> Vec<OpenItem> {
        fn found<K: Clone + Eq + Hash + From<Arc<str>>>(
            set: &OpenSet<K>,
            item: &OpenItem,
        ) -> Option<(u64, Owner)> {
            let entry = set.peek(&K::from(Arc::clone(&item.id)))?;
            Some((entry.seq, entry.owner.clone()))
        }
        let found = items.into_iter().filter_map(|item| {
            let (seq, owner) = match item.kind {
                OpenKind::TextMessage => found(&self.text, item),
                OpenKind::ToolCall => found(&self.calls, item),
                OpenKind::ReasoningMessage => found(&self.reasoning, item),
                OpenKind::ReasoningSpan => found(&self.spans, item),
                OpenKind::Subagent => found(&self.subagents, item),
                OpenKind::Step => {
                    let seq = self.steps.by_owner.get(&item.owner)?.get(&*item.id)?;
                    Some((*seq, item.owner.clone()))
                }
            }?;
            Some((seq, OpenItem { kind: item.kind, id: Arc::clone(&item.id), owner }))
        });
        in_order(found.collect())
    }
}

fn collect<'a, K: Clone + Into<Arc<str>> + 'a>(
    items: &mut Vec<(u64, OpenItem)>,
    kind: OpenKind,
    entries: impl Iterator<Item = &'a Entry<K>>,
) {
    items.extend(entries.map(|entry| {
        (entry.seq, OpenItem { kind, id: entry.id.clone().into(), owner: entry.owner.clone() })
    }));
}

fn collect_steps(
    items: &mut Vec<(u64, OpenItem)>,
    owner: Option<&SubagentRunId>,
    names: &HashMap<String, u64>,
) {
    items.extend(names.iter().map(|(name, seq)| {
        (*seq, OpenItem { kind: OpenKind::Step, id: name.as_str().into(), owner: owner.cloned() })
    }));
}

fn in_order(mut items: Vec<(u64, OpenItem)>) -> Vec<OpenItem> {
    items.sort_unstable_by_key(|(seq, _)| *seq);
    items.into_iter().map(|(_, item)| item).collect()
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
        let Some(names) = self.by_owner.get_mut(owner) else { return false };
        let closed = names.remove(name).is_some();
        if names.is_empty() {
            self.by_owner.remove(owner);
        }
        self.count -= usize::from(closed);
        closed
    }
}
