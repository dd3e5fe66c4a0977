//! Which messages a client goes on with when it sends an input, and the snapshots that bring another client there.
//!
//! A `MESSAGES_SNAPSHOT` alone does not make a list what it says (`STATE-6`): known messages keep their places, and
//! reasoning and activities that it says nothing about stay. An empty one therefore clears a list only where there are
//! none of these. They are restated under an ordinary role first, in the place and under the id they have; what is
//! ordinary then goes like any other message. That is done only where less does not do, because a reader may show it
//! for a moment.
//!
//! The rule is all that is relied on: a snapshot replaces, by its id, a message of whatever role. JavaScript clients from
//! before 1.0 replace one of these only by a snapshot that carries a message of its role. For them a stand-in of the role
//! goes along where the messages to come carry the role too, and so take it away. Where they do not, it would be left
//! behind, and such a client keeps what it has.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Map;

use crate::{
    ActivityMessage, AssistantMessage, Event, Message, MessageId, MessagesSnapshotEvent, ReasoningMessage,
    Role,
};

/// The messages of a client that sends an input, in order, when it holds so many before.
///
/// They are those of the input, and what is held and not sent: activities never are (`STATE-9`), and reasoning is not by
/// every client; by one that sends some of it, the rest is gone. What stays does so behind the message it follows, and
/// behind the new results that come right after it, whose place is at their call. What belongs to a discarded answer
/// goes with it. That is what follows a discarded message, or comes before one in its turn, or answered a question
/// that has been rewritten. An input cannot tell of an answer that consisted of nothing else that it is gone.
pub(super) fn onward<'m>(held: &[&'m Message], input: &'m [Message]) -> Vec<&'m Message> {
    let mut wanted: Vec<&Message> = Vec::with_capacity(input.len());
    let mut places = HashMap::with_capacity(input.len());
    for message in input {
        // Of an id that stands twice the last message counts, in the place of the first.
        let place = *places.entry(message.id()).or_insert(wanted.len());
        match wanted.get_mut(place) {
            None => wanted.push(message),
            Some(first) => *first = message,
        }
    }
    let sends_reasoning = carries(&wanted, Role::Reasoning);
    let is_unsent = |message: &Message| {
        let never = message.role() == Role::Activity || message.role() == Role::Reasoning && !sends_reasoning;
        never && !places.contains_key(message.id())
    };

    let mut staying: HashMap<Option<&MessageId>, Vec<&Message>> = HashMap::new();
    // The message before those that wait to be settled.
    let mut before: Option<&Message> = None;
    let mut waiting = Vec::new();
    for message in held.iter().copied().map(Some).chain([None]) {
        if let Some(unsent) = message.filter(|message| is_unsent(message)) {
            waiting.push(unsent);
            continue;
        }
        let place = before.map(|before| places.get(before.id()));
        let begins_a_turn = message.is_none_or(|message| message.role() == Role::User);
        let stays = match (place, before) {
            (Some(None), _) => false,
            _ if message.is_some_and(|message| places.contains_key(message.id())) => true,
            (Some(Some(place)), Some(question @ Message::User(_))) => {
                begins_a_turn && wanted.get(*place) == Some(&question)
            }
            _ => begins_a_turn,
        };
        if stays && !waiting.is_empty() {
            staying.insert(before.map(Message::id), std::mem::take(&mut waiting));
        }
        waiting.clear();
        before = message;
    }
    if staying.is_empty() {
        return wanted;
    }
    let known: HashSet<_> = held.iter().map(|message| message.id()).collect();
    let mut onward = staying.remove(&None).unwrap_or_default();
    let mut wanted = wanted.into_iter().peekable();
    while let Some(message) = wanted.next() {
        onward.push(message);
        if let Some(unsent) = staying.remove(&Some(message.id())) {
            let is_new_result = |next: &&Message| next.role() == Role::Tool && !known.contains(next.id());
            while let Some(result) = wanted.next_if(is_new_result) {
                onward.push(result);
            }
            onward.extend(unsent);
        }
    }
    onward
}

/// The snapshots that make a list of messages another one, as few as will do. Both are without repeated ids.
pub(super) fn snapshots(held: &[&Message], wanted: &[&Message]) -> Vec<Event> {
    if held == wanted {
        return Vec::new();
    }
    let held: Vec<_> = held.iter().map(|message| (message.id(), message.role())).collect();
    let asides: Vec<_> = held.iter().copied().filter(|(_, role)| is_aside(*role)).collect();
    let ordinary = || restated(asides.iter().map(|(id, _)| *id), wanted);
    let held_then = asides.iter().map(|(id, _)| (*id, Role::Assistant)).collect::<Vec<_>>();
    let list = || snapshot(wanted.iter().copied().cloned());
    if leads(&held, wanted) {
        vec![list()]
    } else if leads(&asides, wanted) {
        vec![snapshot([]), list()]
    } else if leads(&held_then, wanted) {
        vec![ordinary(), list()]
    } else {
        vec![ordinary(), snapshot([]), list()]
    }
}

/// What a thread has ever had of the messages that a snapshot without any of their kind leaves to its reader.
#[derive(Debug, Clone, Default)]
pub(super) struct Asides {
    reasoning: BTreeSet<MessageId>,
    activities: BTreeSet<MessageId>,
}

impl Asides {
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::ReasoningMessageStart(start) => {
                self.reasoning.insert(start.message_id.clone());
            }
            Event::ActivitySnapshot(snapshot) => {
                self.activities.insert(snapshot.message_id.clone());
            }
            Event::MessagesSnapshot(snapshot) => self.note_all(&snapshot.messages),
            Event::RunStarted(started) => {
                self.note_all(started.input.as_ref().map_or(&[], |input| &input.messages));
            }
            _ => {}
        }
    }

    fn note_all(&mut self, messages: &[Message]) {
        for message in messages {
            let asides = match message {
                Message::Reasoning(_) => &mut self.reasoning,
                Message::Activity(_) => &mut self.activities,
                _ => continue,
            };
            if !asides.contains(message.id()) {
                asides.insert(message.id().clone());
            }
        }
    }

    /// The snapshots for a reader that has told what it holds, as far as that is told.
    pub(super) fn snapshots(&self, told: &[Message], wanted: &[Message]) -> Vec<Event> {
        let told: Vec<_> = told.iter().filter(|message| message.role() != Role::Activity).collect();
        let wanted: Vec<_> = wanted.iter().collect();
        let reasoning = told.iter().filter(|message| message.role() == Role::Reasoning);
        let knows_all =
            self.activities.is_empty() && (self.reasoning.is_empty() || reasoning.clone().next().is_some());
        if knows_all {
            // The whole thread is restated, to whom it is nothing new as well.
            let snapshots = snapshots(&told, &wanted);
            return if snapshots.is_empty() {
                vec![snapshot(wanted.into_iter().cloned())]
            } else {
                snapshots
            };
        }
        // It may have any of them, and anywhere.
        let asides: BTreeSet<_> = self
            .reasoning
            .iter()
            .chain(&self.activities)
            .chain(reasoning.map(|message| message.id()))
            .collect();
        vec![restated(asides, &wanted), snapshot([]), snapshot(wanted.into_iter().cloned())]
    }

    /// The snapshots after which a reader that has told what it holds has none of it, and nothing of the thread.
    pub(super) fn emptied(&self, told: &[Message]) -> Vec<Event> {
        let told = told.iter().filter(|message| is_aside(message.role())).map(Message::id);
        let asides: BTreeSet<_> = self.reasoning.iter().chain(&self.activities).chain(told).collect();
        if asides.is_empty() { vec![snapshot([])] } else { vec![restated(asides, &[]), snapshot([])] }
    }
}

const fn is_aside(role: Role) -> bool {
    matches!(role, Role::Activity | Role::Reasoning)
}

fn snapshot(messages: impl IntoIterator<Item = Message>) -> Event {
    MessagesSnapshotEvent::new(messages.into_iter().collect::<Vec<_>>()).into()
}

/// Makes ordinary messages of others, with nothing to show. The stand-ins go with the wanted messages.
fn restated<'i>(ids: impl IntoIterator<Item = &'i MessageId>, wanted: &[&Message]) -> Event {
    let mut messages: Vec<Message> =
        ids.into_iter().map(|id| AssistantMessage::new(id.clone()).into()).collect();
    if carries(wanted, Role::Reasoning) {
        messages.push(ReasoningMessage::new("stand-in:reasoning", "").into());
    }
    if carries(wanted, Role::Activity) {
        messages.push(ActivityMessage::new("stand-in:activity", "stand-in", Map::new()).into());
    }
    snapshot(messages)
}

fn carries(messages: &[&Message], role: Role) -> bool {
    messages.iter().any(|message| message.role() == role)
}

/// Whether a snapshot of the wanted messages leaves exactly them, in their order (`STATE-6`).
fn leads(held: &[(&MessageId, Role)], wanted: &[&Message]) -> bool {
    let (activities, reasoning) = (carries(wanted, Role::Activity), carries(wanted, Role::Reasoning));
    let known: HashSet<_> = wanted.iter().map(|message| message.id()).collect();
    let mut rest = wanted.iter();
    held.iter().all(|(id, role)| {
        if known.contains(id) {
            rest.next().is_some_and(|message| message.id() == *id)
        } else {
            match role {
                Role::Activity => activities,
                Role::Reasoning => reasoning,
                _ => true,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserMessage;

    /// The ids that a JavaScript client from before 1.0 has after a snapshot.
    fn older(held: Vec<Message>, event: &Event) -> Vec<Message> {
        let Event::MessagesSnapshot(snapshot) = event else { panic!("{event:?}") };
        let carries = |role| snapshot.messages.iter().any(|message| message.role() == role);
        let stays = |message: &Message| is_aside(message.role()) && !carries(message.role());
        let said = |id: &MessageId| snapshot.messages.iter().find(|message| message.id() == id).cloned();
        let mut after: Vec<Message> = held
            .into_iter()
            .filter_map(|message| if stays(&message) { Some(message) } else { said(message.id()) })
            .collect();
        for message in &snapshot.messages {
            if after.iter().all(|held| held.id() != message.id()) {
                after.push(message.clone());
            }
        }
        after
    }

    #[test]
    fn reasoning_comes_to_its_place_in_an_older_client_as_well() {
        let message = |id: &str| -> Message {
            match id.as_bytes() {
                [b'h', ..] => ReasoningMessage::new(id, "hm").into(),
                [b'p', ..] => ActivityMessage::new(id, "plan", Map::new()).into(),
                [b'a', ..] => AssistantMessage::new(id).into(),
                _ => UserMessage::new(id, "?").into(),
            }
        };
        let list = |ids: &[&str]| ids.iter().map(|id| message(id)).collect::<Vec<_>>();
        for (held, wanted) in [
            (&["q", "h", "a1", "a2"][..], &["q", "h", "a1", "new", "a2"][..]),
            (&["q", "h1", "a1", "h2"], &["new", "q", "h2", "a1"]),
            (&["q", "p", "h", "a1", "a2"], &["q", "p", "h", "a1", "new", "a2"]),
            (&["p1", "q", "h1", "p2", "a", "h2"], &["q", "h1", "p2", "a"]),
        ] {
            let (held, wanted) = (list(held), list(wanted));
            let sent = snapshots(&held.iter().collect::<Vec<_>>(), &wanted.iter().collect::<Vec<_>>());
            assert_eq!(sent.iter().fold(held, older), wanted);
        }
    }
}
