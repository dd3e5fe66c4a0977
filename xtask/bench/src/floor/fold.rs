//! The folding floor: a vector of messages, a map from id to index, the last index kept aside, `push_str`.
//!
//! Snapshots take the place of what was held. Patches, runs, steps and subagents are not folded at all, which costs the
//! floor nothing.

use std::collections::HashMap;

use serde_json::Value;

use super::plain::Plain;
use super::seen::Seen;

/// The messages of a thread and its state.
pub(crate) struct Folder<M> {
    messages: Vec<(String, String)>,
    index: HashMap<String, usize>,
    last: usize,
    state: Value,
    restated: Vec<M>,
}

impl<M> Default for Folder<M> {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            index: HashMap::new(),
            last: 0,
            state: Value::Null,
            restated: Vec::new(),
        }
    }
}

impl<M> Folder<M> {
    /// Folds what needs no message or state of its own.
    #[inline]
    pub(crate) fn apply(&mut self, event: &Seen<'_>) {
        match *event {
            Seen::Start(_, id) => self.begin(id, String::new()),
            Seen::Whole(id, text) => self.begin(id, text.to_owned()),
            Seen::Delta(_, id, delta) => {
                if self.messages.get(self.last).is_none_or(|(held, _)| held != id) {
                    let Some(&at) = self.index.get(id) else { return };
                    self.last = at;
                }
                if let Some((_, text)) = self.messages.get_mut(self.last) {
                    text.push_str(delta);
                }
            }
            Seen::End(..) | Seen::Other => {}
        }
    }

    fn begin(&mut self, id: &str, text: String) {
        self.last = self.messages.len();
        self.index.insert(id.to_owned(), self.last);
        self.messages.push((id.to_owned(), text));
    }

    /// Takes a state for the one that was held.
    pub(crate) fn state(&mut self, state: Value) {
        self.state = state;
    }

    /// Takes messages for those that were held.
    pub(crate) fn restate(&mut self, messages: Vec<M>, id: impl Fn(&M) -> &str) {
        self.index = messages.iter().enumerate().map(|(at, message)| (id(message).to_owned(), at)).collect();
        self.restated = messages;
    }
}

impl Folder<super::plain::Message> {
    /// Folds a plain event that has come to its end.
    #[inline]
    pub(crate) fn take(&mut self, event: Plain) {
        match event {
            Plain::StateSnapshot(event) => self.state(event.snapshot),
            Plain::MessagesSnapshot(event) => self.restate(event.messages, |message| &message.id),
            event => self.apply(&Seen::from(&event)),
        }
    }
}
