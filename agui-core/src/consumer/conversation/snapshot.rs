//! Lists of messages: snapshots (`STATE-6`), echoed inputs (`SUB-8`) and the input of an exchange.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::slots::{Origin, Slot};
use super::{Change, Conversation};
use crate::path::Path;
use crate::sequence::Quoted;
use crate::warning::Sink;
use crate::{EventType, Message, MessageId, Role, Warning};

impl Conversation {
    pub(super) fn messages_snapshot(
        &mut self,
        messages: Vec<Message>,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let mut sink = Sink::new(warnings);
        sink.set_event_type(EventType::MessagesSnapshot.as_str());
        let list = Path::Root.member("messages");
        // The last of an id counts, in the place of the first.
        let (mut wanted, places) = distinct(messages, |index, message| {
            sink.warn("SHAPE-9", &list.item(index), || {
                format!(
                    "message {} stands in the snapshot twice; this one counts",
                    Quoted(message.id().as_str())
                )
            });
        });
        let carries = |role| wanted.iter().flatten().any(|message| message.role() == role);
        let (activities, reasoning) = (carries(Role::Activity), carries(Role::Reasoning));
        for message in wanted.iter().flatten() {
            if let Message::Tool(result) = message {
                self.runs.call_restated_answered(&result.tool_call_id);
            }
        }
        let mut slots = Vec::with_capacity(wanted.len());
        for held in self.slots.take() {
            match places.get(held.message.id()) {
                Some(place) => {
                    let message = wanted.get_mut(*place).and_then(Option::take);
                    slots.extend(message.map(|message| Slot::new(message, Origin::Said)));
                }
                None if match held.message.role() {
                    Role::Activity => !activities,
                    Role::Reasoning => !reasoning,
                    _ => false,
                } =>
                {
                    slots.push(held);
                }
                None => {}
            }
        }
        slots.extend(wanted.into_iter().flatten().map(|message| Slot::new(message, Origin::Said)));
        self.slots.rebuild(slots);
        Change::MessagesReplaced
    }

    /// Adds the messages that are not held, at the end; says how many there were.
    pub(super) fn add_unheld(&mut self, messages: &[Message]) -> usize {
        let before = self.slots.len();
        for message in messages {
            if self.slots.peek(message.id().as_str()).is_none() {
                self.slots.push(message.clone(), Origin::Said);
            }
        }
        self.slots.len() - before
    }

    /// Makes the given messages the conversation. Activities that are held and not among them keep their place behind
    /// the message they follow, because an input that has been sent carries none (`STATE-9`).
    pub(super) fn adopt(&mut self, messages: &[Message]) {
        let (wanted, places) = distinct(messages.iter(), |_, _| {});
        let mut kept: HashMap<MessageId, Slot> = HashMap::new();
        let mut followers: HashMap<Option<MessageId>, Vec<Slot>> = HashMap::new();
        let mut leader = None;
        for held in self.slots.take() {
            if places.contains_key(held.message.id()) {
                leader = Some(held.message.id().clone());
                kept.insert(held.message.id().clone(), held);
            } else if let Message::Activity(_) = held.message {
                followers.entry(leader.clone()).or_default().push(held);
            }
        }
        let mut slots = followers.remove(&None).unwrap_or_default();
        for message in wanted.into_iter().flatten() {
            // What is held already is not copied.
            let slot = kept.remove(message.id()).filter(|held| held.message == *message);
            slots.push(slot.unwrap_or_else(|| Slot::new(message.clone(), Origin::Said)));
            slots.extend(followers.remove(&Some(message.id().clone())).unwrap_or_default());
        }
        self.slots.rebuild(slots);
    }
}

/// The messages, of one id only the last, in the place of the first; and where each stands.
fn distinct<M: std::borrow::Borrow<Message>>(
    messages: impl IntoIterator<Item = M>,
    mut repeated: impl FnMut(usize, &Message),
) -> (Vec<Option<M>>, HashMap<MessageId, usize>) {
    let messages = messages.into_iter();
    let mut list: Vec<Option<M>> = Vec::with_capacity(messages.size_hint().0);
    let mut places = HashMap::with_capacity(messages.size_hint().0);
    for (index, message) in messages.enumerate() {
        match places.entry(message.borrow().id().clone()) {
            Entry::Vacant(entry) => {
                entry.insert(list.len());
                list.push(Some(message));
            }
            Entry::Occupied(entry) => {
                repeated(index, message.borrow());
                if let Some(place) = list.get_mut(*entry.get()) {
                    *place = Some(message);
                }
            }
        }
    }
    (list, places)
}
