//! The messages in their order, found by their id and by the ids of their calls.
//!
//! Messages live in slots that are linked in order, so that inserting one costs the same wherever it goes. What was
//! asked for last is found again with one comparison. Slots are given up only where the whole list is made anew, which
//! costs what the list is long; keys of slots are void then.
//!
//! Where many messages stream at once, every event asks for another one, and finding it is what the event costs. The
//! indexes therefore have no copies of the ids, which would be another place in memory to visit, and ids are
//! hashed and compared in place: three fifths of the time that a map of ids takes.
//!
//! Invariants: every slot is linked exactly once; no two messages have one id; a call in the index is where it says.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::{AssistantMessage, Message, MessageId, ToolCall, ToolCallId};

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

/// A slot in the index, with the hash of its id: growing the index reads no ids, and an id is compared with its own only.
#[derive(Debug, Clone, Copy)]
struct Entered {
    at: usize,
    hash: u64,
}

/// A call in the index, with the hash of its id.
#[derive(Debug, Clone, Copy)]
struct EnteredCall {
    at: CallAt,
    hash: u64,
}

/// An id that no message has, to be [filled](Slots::fill) before anything else is added.
#[derive(Debug)]
pub(super) struct Vacant {
    hash: u64,
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
    /// Slots by the ids of their messages, which stay where they are.
    index: HashTable<Entered>,
    /// Calls by their ids, which stay where they are, too.
    calls: HashTable<EnteredCall>,
    hasher: RandomState,
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
            index: HashTable::new(),
            calls: HashTable::new(),
            hasher: RandomState::default(),
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

    /// The message that was asked for last, if it is the assistant's and has the id.
    #[inline]
    pub(super) fn again(&mut self, id: &MessageId) -> Option<(usize, &mut AssistantMessage)> {
        match &mut self.list.get_mut(self.last)?.message {
            Message::Assistant(message) if same(message.id.as_str(), id.as_str()) => {
                Some((self.last, message))
            }
            _ => None,
        }
    }

    /// The assistant's message of an id, remembered for the next question. For an id that [`again`](Self::again) does
    /// not know.
    #[inline]
    pub(super) fn seek(&mut self, id: &MessageId) -> Option<(usize, &mut AssistantMessage)> {
        let hash = hash(&self.hasher, id.as_str());
        let holds = |entered: &Entered| {
            entered.hash == hash
                && match self.list.get(entered.at) {
                    Some(Slot { message: Message::Assistant(message), .. }) => {
                        same(message.id.as_str(), id.as_str())
                    }
                    _ => false,
                }
        };
        self.last = self.index.find(hash, holds)?.at;
        match &mut self.list.get_mut(self.last)?.message {
            Message::Assistant(message) => Some((self.last, message)),
            _ => None,
        }
    }

    /// The slot of an id, remembered for the next question.
    #[inline]
    pub(super) fn find(&mut self, id: &MessageId) -> Option<usize> {
        if self.list.get(self.last).is_none_or(|slot| !same(slot.message.id().as_str(), id.as_str())) {
            self.last = self.peek(id.as_str())?;
        }
        Some(self.last)
    }

    /// The slot of an id.
    pub(super) fn peek(&self, id: &str) -> Option<usize> {
        self.peek_hashed(hash(&self.hasher, id), id)
    }

    #[inline]
    fn peek_hashed(&self, hash: u64, id: &str) -> Option<usize> {
        let holds = |entered: &Entered| {
            entered.hash == hash
                && self.list.get(entered.at).is_some_and(|slot| same(slot.message.id().as_str(), id))
        };
        Some(self.index.find(hash, holds)?.at)
    }

    /// The slot of an id, remembered for the next question, or else what adds one without hashing the id again. For an
    /// id that is likely to be new.
    #[inline]
    pub(super) fn find_or_vacant(&mut self, id: &MessageId) -> Result<usize, Vacant> {
        let hash = hash(&self.hasher, id.as_str());
        match self.peek_hashed(hash, id.as_str()) {
            Some(at) => {
                self.last = at;
                Ok(at)
            }
            None => Err(Vacant { hash }),
        }
    }

    /// Puts the slot of an id that is not held into the index; the message is at its place already.
    fn enter(&mut self, at: usize) {
        let Some(slot) = self.list.get(at) else { return };
        let hash = hash(&self.hasher, slot.message.id().as_str());
        self.enter_hashed(at, hash);
    }

    #[inline]
    fn enter_hashed(&mut self, at: usize, hash: u64) {
        self.index.insert_unique(hash, Entered { at, hash }, |entered| entered.hash);
    }

    /// The place of a call, remembered for the next question.
    #[inline]
    pub(super) fn find_call(&mut self, id: &ToolCallId) -> Option<CallAt> {
        if self.call(self.last_call).is_none_or(|call| !same(call.id.as_str(), id.as_str())) {
            self.last_call = self.peek_call(id.as_str())?;
        }
        Some(self.last_call)
    }

    /// The place of a call.
    #[inline]
    pub(super) fn peek_call(&self, id: &str) -> Option<CallAt> {
        self.peek_call_hashed(hash(&self.hasher, id), id)
    }

    #[inline]
    fn peek_call_hashed(&self, hash: u64, id: &str) -> Option<CallAt> {
        let holds = |entered: &EnteredCall| {
            entered.hash == hash && self.call(entered.at).is_some_and(|call| same(call.id.as_str(), id))
        };
        Some(self.calls.find(hash, holds)?.at)
    }

    /// Puts the calls of a message into the index; those whose ids it has already stay as they are.
    fn enter_calls(&mut self, slot: usize) {
        let count = self.list.get(slot).map_or(0, |slot| slot.message.tool_calls().len());
        for call in 0..count {
            let at = CallAt { slot, call };
            let Some(id) = self.call(at).map(|call| call.id.as_str()) else { return };
            let hash = hash(&self.hasher, id);
            if self.peek_call_hashed(hash, id).is_none() {
                self.enter_call(at, hash);
            }
        }
    }

    #[inline]
    fn enter_call(&mut self, at: CallAt, hash: u64) {
        self.calls.insert_unique(hash, EnteredCall { at, hash }, |entered| entered.hash);
    }

    #[inline]
    fn call(&self, at: CallAt) -> Option<&ToolCall> {
        match &self.list.get(at.slot)?.message {
            Message::Assistant(message) => message.tool_calls.as_ref()?.get(at.call),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn call_mut(&mut self, at: CallAt) -> Option<&mut ToolCall> {
        match &mut self.list.get_mut(at.slot)?.message {
            Message::Assistant(message) => message.tool_calls.as_mut()?.get_mut(at.call),
            _ => None,
        }
    }

    /// Adds a call whose id is not held to an assistant message; `None` for a message of another role.
    pub(super) fn push_call(&mut self, slot: usize, call: ToolCall) -> Option<CallAt> {
        let Message::Assistant(message) = &mut self.list.get_mut(slot)?.message else { return None };
        let calls = message.tool_calls.get_or_insert_default();
        let at = CallAt { slot, call: calls.len() };
        let hash = hash(&self.hasher, call.id.as_str());
        calls.push(call);
        self.enter_call(at, hash);
        self.last_call = at;
        Some(at)
    }

    /// Adds a message whose id is not held, at the end.
    pub(super) fn push(&mut self, message: Message, origin: Origin) -> usize {
        let hash = hash(&self.hasher, message.id().as_str());
        self.insert_after(self.tail, hash, origin, || message)
    }

    /// Adds the message of a vacant id at the end.
    #[inline]
    pub(super) fn fill(&mut self, Vacant { hash }: Vacant, message: impl FnOnce() -> Message) -> usize {
        self.insert_after(self.tail, hash, Origin::Said, message)
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
        let hash = hash(&self.hasher, message.id().as_str());
        let at = self.insert_after(after, hash, Origin::Said, || message);
        if let Some(slot) = self.list.get_mut(carrier) {
            slot.last_result = at;
        }
        at
    }

    /// Adds a message, which is made where it stays: made elsewhere and moved, it costs half as much again.
    #[inline]
    fn insert_after(
        &mut self,
        after: usize,
        hash: u64,
        origin: Origin,
        message: impl FnOnce() -> Message,
    ) -> usize {
        let at = self.list.len();
        let before = match self.list.get_mut(after) {
            Some(before) => &mut before.next,
            None => &mut self.head,
        };
        let next = std::mem::replace(before, at);
        if self.tail == after {
            self.tail = at;
        }
        // `push` would make the slot first and see to the room for it then.
        self.list.extend(std::iter::once_with(|| Slot { next, ..Slot::new(message(), origin) }));
        self.enter_calls(at);
        self.enter_hashed(at, hash);
        self.last = at;
        at
    }

    /// Puts a message in the place of one of the same id.
    pub(super) fn replace(&mut self, at: usize, message: Message) {
        let Some(slot) = self.list.get_mut(at) else { return };
        let old = std::mem::replace(&mut slot.message, message);
        slot.origin = Origin::Said;
        slot.part_open = false;
        for (call, known) in old.tool_calls().iter().enumerate() {
            let held = CallAt { slot: at, call };
            let hash = hash(&self.hasher, known.id.as_str());
            if let Ok(entry) = self.calls.find_entry(hash, |entered| entered.at == held) {
                entry.remove();
            }
        }
        self.enter_calls(at);
    }

    /// Gives an assistant message another id, which is not held.
    pub(super) fn rename(&mut self, at: usize, id: MessageId) {
        let Some(Slot { message: Message::Assistant(message), .. }) = self.list.get_mut(at) else { return };
        let held = hash(&self.hasher, message.id.as_str());
        if let Ok(entry) = self.index.find_entry(held, |entered| entered.at == at) {
            entry.remove();
        }
        message.id = id;
        self.enter(at);
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
        self.index = HashTable::with_capacity(count);
        for (at, slot) in self.list.iter_mut().enumerate() {
            slot.last_result = NIL;
            slot.next = if at + 1 < count { at + 1 } else { NIL };
        }
        for at in 0..count {
            self.enter(at);
        }
        // The later messages first: theirs are the calls that stay. Of two in one message it is the first, which is the
        // one that deltas reach.
        for at in (0..count).rev() {
            self.enter_calls(at);
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

/// A hash of an id, keyed so that a producer cannot choose ids that meet.
///
/// The hasher takes text of more than 16 bytes out of line, which for an id costs more than the hashing. Such text goes in
/// by blocks; the last one overlaps the one before, and no more than 16 ids have the same blocks.
#[inline]
fn hash(hasher: &RandomState, id: &str) -> u64 {
    let id = id.as_bytes();
    let mut hasher = hasher.build_hasher();
    match id.last_chunk() {
        Some(end) => {
            for block in id.as_chunks().0 {
                hasher.write_u128(u128::from_ne_bytes(*block));
            }
            hasher.write_u128(u128::from_ne_bytes(*end));
        }
        None => hasher.write(id),
    }
    hasher.finish()
}

/// Whether two ids are the same: without a call, and the ends first, since the ids of a producer begin alike.
#[inline]
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    match (one.last_chunk(), other.last_chunk()) {
        (Some(end), Some(other_end)) => {
            u128::from_ne_bytes(*end) == u128::from_ne_bytes(*other_end)
                && one.as_chunks().0.iter().zip(other.as_chunks().0).all(|(block, other_block)| {
                    u128::from_ne_bytes(*block) == u128::from_ne_bytes(*other_block)
                })
        }
        _ => one.iter().zip(other).all(|(byte, other_byte)| byte == other_byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserMessage;

    /// Ids of 0 to 50 bytes that differ in one byte, or only in length.
    fn alike() -> Vec<String> {
        let mut ids = Vec::new();
        for length in 0..=50 {
            let plain = "-".repeat(length);
            for at in 0..length {
                let mut id = plain.clone();
                id.replace_range(at..=at, "x");
                ids.push(id);
            }
            ids.push(plain);
        }
        ids
    }

    #[test]
    fn ids_that_are_much_alike_are_told_apart() {
        let ids = alike();
        for one in &ids {
            for other in &ids {
                assert_eq!(same(one, other), one == other, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_message_is_found_by_its_id_and_by_no_other() {
        let ids = alike();
        let mut slots = Slots::default();
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(slots.peek(id), None);
            let filled = match slots.find_or_vacant(&MessageId::from(id)) {
                Ok(held) => Err(held),
                Err(vacant) if at % 2 == 0 => Ok(slots.fill(vacant, || AssistantMessage::new(id).into())),
                Err(_) => Ok(slots.push(UserMessage::new(id, "").into(), Origin::Said)),
            };
            assert_eq!(filled, Ok(at));
        }
        for (at, id) in ids.iter().enumerate().rev() {
            let id = MessageId::from(id);
            assert_eq!(slots.seek(&id).map(|(at, _)| at), (at % 2 == 0).then_some(at));
            assert_eq!(slots.find(&id), Some(at));
            assert_eq!(slots.find_or_vacant(&id).ok(), Some(at));
            assert_eq!(slots.again(&id).map(|(at, _)| at), (at % 2 == 0).then_some(at));
        }
    }

    #[test]
    fn a_renamed_message_is_found_by_its_new_id_alone() {
        let mut slots = Slots::default();
        for id in ["a", "b", "c"] {
            slots.push(AssistantMessage::new(id).into(), Origin::Call);
        }
        slots.rename(1, "b/call".into());
        assert_eq!((slots.peek("b"), slots.peek("b/call")), (None, Some(1)));
        assert_eq!(slots.push(AssistantMessage::new("b").into(), Origin::Said), 3);
        assert_eq!((slots.peek("b"), slots.peek("b/call")), (Some(3), Some(1)));
    }

    #[test]
    fn no_more_than_sixteen_ids_of_one_byte_repeated_share_a_hash() {
        let hasher = RandomState::default();
        let mut found: Vec<u64> = (0..160).map(|length| hash(&hasher, &"-".repeat(length))).collect();
        found.sort_unstable();
        let most = found.chunk_by(|one, other| one == other).map(<[u64]>::len).max();
        assert!(most.is_some_and(|most| most <= 16), "{most:?}");
    }
}
