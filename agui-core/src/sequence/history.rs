//! The messages and calls of the thread, as far as a sequence has to know them: who owns each, and what it is.
//!
//! They outlive the run that made them, because a later run may continue them (`STREAM-4`, `LIFE-8`). Contents are not
//! kept; that is the business of whoever folds the events.

use std::collections::HashMap;

use super::Owner;
use crate::{Message, MessageId, Role, SubagentRunId, ToolCall, ToolCallId};

/// What is known of a message.
#[derive(Debug, Clone)]
pub(super) struct MessageRecord {
    pub(super) role: Role,
    pub(super) name: Name,
    pub(super) owner: Owner,
    /// The run in which the owner was said last; contradicting it in that run is fatal (`SUB-3`).
    pub(super) run: u64,
}

/// What is known of a speaker's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// Nothing: only a call has named the message as its parent, and it may still be opened with any name.
    Unsaid,
    /// The name, or that there is none.
    Said(Option<Box<str>>),
}

impl Name {
    pub(super) fn said(name: Option<&str>) -> Self {
        Self::Said(name.map(Into::into))
    }
}

/// What is known of a tool call.
#[derive(Debug, Clone)]
pub(super) struct CallRecord {
    pub(super) name: Box<str>,
    /// The message that carries the call; its own id stands for a message of its own.
    pub(super) parent: MessageId,
    pub(super) owner: Owner,
    pub(super) run: u64,
}

/// How the events of a message list relate to what is known already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adopt {
    /// The list is the conversation now (`STATE-6`).
    Replace,
    /// The list only tells of what is not known yet (`SUB-8`).
    Fill,
}

#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) messages: HashMap<MessageId, MessageRecord>,
    pub(super) calls: HashMap<ToolCallId, CallRecord>,
}

impl History {
    /// Takes over a list of messages, said in the given run.
    pub(super) fn adopt(&mut self, messages: &[Message], run: u64, how: Adopt) {
        if how == Adopt::Replace {
            let carries = |role| messages.iter().any(|message| message.role() == role);
            let (activities, reasoning) = (carries(Role::Activity), carries(Role::Reasoning));
            self.messages.retain(|_, record| match record.role {
                Role::Activity => !activities,
                Role::Reasoning => !reasoning,
                _ => false,
            });
            self.calls.clear();
        }
        for message in messages {
            self.adopt_message(message, run, how);
        }
    }

    fn adopt_message(&mut self, message: &Message, run: u64, how: Adopt) {
        let owner = message.subagent_run_id();
        match self.messages.get_mut(message.id()) {
            Some(record) if how == Adopt::Fill => {
                if record.owner.as_ref() != owner {
                    return;
                }
                record.run = run;
            }
            _ => {
                let record = MessageRecord {
                    role: message.role(),
                    name: Name::said(name(message)),
                    owner: owner.cloned(),
                    run,
                };
                self.messages.insert(message.id().clone(), record);
            }
        }
        for call in message.tool_calls() {
            self.adopt_call(call, message.id(), owner, run, how);
        }
    }

    fn adopt_call(
        &mut self,
        call: &ToolCall,
        parent: &MessageId,
        owner: Option<&SubagentRunId>,
        run: u64,
        how: Adopt,
    ) {
        match self.calls.get_mut(&call.id) {
            Some(record) if how == Adopt::Fill => {
                if record.owner.as_ref() == owner {
                    record.run = run;
                }
            }
            _ => {
                let record = CallRecord {
                    name: call.function.name.as_str().into(),
                    parent: parent.clone(),
                    owner: owner.cloned(),
                    run,
                };
                self.calls.insert(call.id.clone(), record);
            }
        }
    }

    /// Makes a message known that nothing has told of yet.
    pub(super) fn note_message(
        &mut self,
        id: &MessageId,
        role: Role,
        name: Name,
        owner: Option<&SubagentRunId>,
        run: u64,
    ) {
        let record = MessageRecord { role, name, owner: owner.cloned(), run };
        self.messages.insert(id.clone(), record);
    }
}

/// The name of a message's speaker.
fn name(message: &Message) -> Option<&str> {
    match message {
        Message::Developer(message) => message.name.as_deref(),
        Message::System(message) => message.name.as_deref(),
        Message::Assistant(message) => message.name.as_deref(),
        Message::User(message) => message.name.as_deref(),
        Message::Tool(_) | Message::Activity(_) | Message::Reasoning(_) => None,
    }
}
