//! The messages in their order, found by their id and by the ids of their calls.
//!
//! Messages live in slots that are linked in order, so that inserting one costs the same wherever it goes. What was
//! asked for last is found again with one comparison. Slots are given up only where the whole list is made anew, which
//! costs what the list is long; keys of slots are void then.
//!
//! Invariants: every slot is linked exactly once; no two messages have one id; a call in the index is where it says.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use crate::{Message, MessageId, ToolCall, ToolCallId};

/// No slot.
const NIL: usize = usize::MAX;

/// How a message came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By an event or a list of its own: role and name are established.
    Said,
    /// Because a call named it as its parent. A text START still gives it its name.
    Parent,
    /// For a call without a parent. Its id is of our making.
    Call,
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) message: Message,
    pub(super) origin: Origin,
    /// Whether the last part of the content is the one that streamed text makes.
    pub(super) part_open: bool,
    next: usize,
    /// A message of the row of results after this one, the last as far as is known.
    last_result: usize,
}

impl Slot {
    pub(super) const fn new(message: Message, origin: Origin) -> Self {
        Self { message, origin, part_open: false, next: NIL, last_result: NIL }
    }
}

/// Where a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallAt {
    pub(super) slot: usize,
    pub(super) call: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Slots {
    list: Vec<Slot>,
    head: usize,
    tail: usize,
    index: HashMap<MessageId, usize, RandomState>,
    calls: HashMap<ToolCallId, CallAt, RandomState>,
    /// The slot that was asked for last.
    last: usize,
    /// The call that was asked for last.
    last_call: CallAt,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            head: NIL,
            tail: NIL,
            index: HashMap::default(),
            calls: HashMap::default(),
            last: NIL,
            last_call: CallAt { slot: NIL, call: NIL },
        }
    }
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Slot> {
        self.list.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Slot> {
        self.list.get_mut(at)
    }

    /// The slot that was asked for last.
    #[inline]
    pub(super) fn last_mut(&mut self) -> Option<(usize, &mut Slot)> {
        self.list.get_mut(self.last).map(|slot| (self.last, slot))
    }

    /// The slot of an id, remembered for the next question.
    #[inline]
    pub(super) fn find(&mut self, id: &MessageId) -> Option<usize> {
        if self.list.get(self.last).is_none_or(|slot| slot.message.id() != id) {
            self.last = *self.index.get(id)?;
        }
        Some(self.last)
    }

    /// The slot of an id.
    pub(super) fn peek(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// The place of a call, remembered for the next question.
    #[inline]
    pub(super) fn find_call(&mut self, id: &ToolCallId) -> Option<CallAt> {
        if self.call(self.last_call).is_none_or(|call| call.id != *id) {
            self.last_call = *self.calls.get(id)?;
        }
        Some(self.last_call)
    }

    /// The place of a call.
    pub(super) fn peek_call(&self, id: &str) -> Option<CallAt> {
        self.calls.get(id).copied()
    }

    #[inline]
    fn call(&self, at: CallAt) -> Option<&ToolCall> {
        self.list.get(at.slot)?.message.tool_calls().get(at.call)
    }

    #[inline]
    pub(super) fn call_mut(&mut self, at: CallAt) -> Option<&mut ToolCall> {
        match &mut self.list.get_mut(at.slot)?.message {
            Message::Assistant(message) => message.tool_calls.as_mut()?.get_mut(at.call),
            _ => None,
        }
    }

    /// Adds a call to an assistant message; `None` for a message of another role.
    pub(super) fn push_call(&mut self, slot: usize, call: ToolCall) -> Option<CallAt> {
        let Message::Assistant(message) = &mut self.list.get_mut(slot)?.message else { return None };
        let calls = message.tool_calls.get_or_insert_default();
        let at = CallAt { slot, call: calls.len() };
        self.calls.insert(call.id.clone(), at);
        calls.push(call);
        self.last_call = at;
        Some(at)
    }

    /// Adds a message whose id is not held, at the end.
    pub(super) fn push(&mut self, message: Message, origin: Origin) -> usize {
        let after = self.tail;
        self.insert_after(after, Slot::new(message, origin))
    }

    /// Adds a result whose id is not held: after the given message and the results that follow it.
    pub(super) fn push_result(&mut self, carrier: usize, message: Message) -> usize {
        // What is known of the row is walked once, not again with every result.
        let mut after = self.list.get(carrier).map_or(NIL, |slot| slot.last_result);
        if after == NIL {
            after = carrier;
        }
        while let Some(next) = self.list.get(after).map(|slot| slot.next)
            && matches!(self.list.get(next), Some(Slot { message: Message::Tool(_), .. }))
        {
            after = next;
        }
        let at = self.insert_after(after, Slot::new(message, Origin::Said));
        if let Some(slot) = self.list.get_mut(carrier) {
            slot.last_result = at;
        }
        at
    }

    fn insert_after(&mut self, after: usize, mut slot: Slot) -> usize {
        let at = self.list.len();
        self.index.insert(slot.message.id().clone(), at);
        for (call, known) in slot.message.tool_calls().iter().enumerate() {
            self.calls.entry(known.id.clone()).or_insert(CallAt { slot: at, call });
        }
        match self.list.get_mut(after) {
            Some(before) => slot.next = std::mem::replace(&mut before.next, at),
            None => slot.next = std::mem::replace(&mut self.head, at),
        }
        if self.tail == after {
            self.tail = at;
        }
        self.list.push(slot);
        self.last = at;
        at
    }

    /// Puts a message in the place of one of the same id.
    pub(super) fn replace(&mut self, at: usize, message: Message) {
        let Some(slot) = self.list.get_mut(at) else { return };
        let old = std::mem::replace(&mut slot.message, message);
        slot.origin = Origin::Said;
        slot.part_open = false;
        for call in old.tool_calls() {
            if self.calls.get(&call.id).is_some_and(|known| known.slot == at) {
                self.calls.remove(&call.id);
            }
        }
        for (call, known) in slot.message.tool_calls().iter().enumerate() {
            self.calls.entry(known.id.clone()).or_insert(CallAt { slot: at, call });
        }
    }

    /// Gives an assistant message another id, which is not held.
    pub(super) fn rename(&mut self, at: usize, id: MessageId) {
        if let Some(Slot { message: Message::Assistant(message), .. }) = self.list.get_mut(at) {
            self.index.remove(&message.id);
            self.index.insert(id.clone(), at);
            message.id = id;
        }
    }

    /// Takes all slots out, in order.
    pub(super) fn take(&mut self) -> Vec<Slot> {
        let Self { list, head, .. } = std::mem::take(self);
        let mut slots: Vec<Option<Slot>> = list.into_iter().map(Some).collect();
        let mut ordered = Vec::with_capacity(slots.len());
        let mut at = head;
        while let Some(slot) = slots.get_mut(at).and_then(Option::take) {
            at = slot.next;
            ordered.push(slot);
        }
        ordered
    }

    /// The given slots, in their order. Their ids are distinct; of a call that two messages carry, the later counts.
    pub(super) fn rebuild(&mut self, slots: Vec<Slot>) {
        *self = Self { list: slots, ..Self::default() };
        let count = self.list.len();
        self.index.reserve(count);
        for (at, slot) in self.list.iter_mut().enumerate() {
            slot.last_result = NIL;
            slot.next = if at + 1 < count { at + 1 } else { NIL };
            self.index.insert(slot.message.id().clone(), at);
            for (call, known) in slot.message.tool_calls().iter().enumerate() {
                match self.calls.entry(known.id.clone()) {
                    // Twice in one message: the first is the one that deltas reach.
                    Entry::Occupied(entry) if entry.get().slot == at => {}
                    Entry::Occupied(mut entry) => {
                        entry.insert(CallAt { slot: at, call });
                    }
                    Entry::Vacant(entry) => {
                        entry.insert(CallAt { slot: at, call });
                    }
                }
            }
        }
        if count > 0 {
            self.head = 0;
            self.tail = count - 1;
        }
    }

    /// The messages in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Message> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let slot = self.list.get(at)?;
            at = slot.next;
            Some(&slot.message)
        })
    }
}
