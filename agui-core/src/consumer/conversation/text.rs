//! Text and reasoning messages (`STREAM-1` to `STREAM-8`).

use super::slots::{Origin, Slot, Vacant};
use super::{Change, Conversation, MessageKey, merge, warn};
use crate::sequence::Quoted;
use crate::{
    AssistantMessage, Content, ContentPart, DeveloperMessage, EventType, Message, MessageId, Metadata,
    ReasoningMessage, ReasoningMessageStartEvent, SystemMessage, TextMessageRole, TextMessageStartEvent,
    TextPart, UserMessage, Warning,
};

/// Which of the two kinds of streamed messages an event builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Text,
    Reasoning,
}

impl Stream {
    /// Whether a message is of the kind.
    #[inline]
    fn fits(self, message: &Message) -> bool {
        match message {
            Message::Assistant(_) | Message::User(_) | Message::Developer(_) | Message::System(_) => {
                self == Self::Text
            }
            Message::Reasoning(_) => self == Self::Reasoning,
            Message::Tool(_) | Message::Activity(_) => false,
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

impl Conversation {
    pub(super) fn text_start(
        &mut self,
        event: &TextMessageStartEvent,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let id = &event.message_id;
        let at = match self.slots.find_or_vacant(id) {
            Ok(at) => at,
            Err(vacant) => return self.create(vacant, id, Stream::Text, || text_message(event)),
        };
        // A message that only a call has named so far gets its name by its first START; otherwise what is established
        // stands (STREAM-4).
        if let Some(slot) = self.slots.get_mut(at)
            && slot.origin != Origin::Said
        {
            slot.origin = Origin::Said;
            if let Message::Assistant(message) = &mut slot.message {
                message.name.clone_from(&event.name);
            }
        }
        let metadata = event.metadata.as_ref();
        self.reopen(at, id, Stream::Text, metadata, EventType::TextMessageStart, warnings)
    }

    pub(super) fn reasoning_start(
        &mut self,
        event: &ReasoningMessageStartEvent,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let id = &event.message_id;
        let at = match self.slots.find_or_vacant(id) {
            Ok(at) => at,
            Err(vacant) => return self.create(vacant, id, Stream::Reasoning, || reasoning_message(event)),
        };
        let metadata = event.metadata.as_ref();
        self.reopen(at, id, Stream::Reasoning, metadata, EventType::ReasoningMessageStart, warnings)
    }

    #[inline]
    fn create(
        &mut self,
        vacant: Vacant,
        id: &MessageId,
        stream: Stream,
        message: impl FnOnce() -> Message,
    ) -> Change {
        if !self.astray.is_empty() {
            self.astray.forget(stream, id);
        }
        Change::MessageCreated(MessageKey(self.slots.fill(vacant, message)))
    }

    fn reopen(
        &mut self,
        at: usize,
        id: &MessageId,
        stream: Stream,
        metadata: Option<&Metadata>,
        kind: EventType,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let Some(slot) = self.slots.get_mut(at) else { return Change::Nothing };
        slot.part_open = false;
        let fits = stream.fits(&slot.message);
        if !self.astray.is_empty() {
            self.astray.forget(stream, id);
        }
        if !fits {
            self.warn_other_kind(at, id, stream, kind, warnings);
        }
        self.merge_into_message(at, metadata)
    }

    /// Appends text to a message; in the common case one comparison and the copy of the delta.
    #[inline]
    pub(super) fn append(
        &mut self,
        id: &MessageId,
        delta: &str,
        stream: Stream,
        metadata: Option<&Metadata>,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let kind = match stream {
            Stream::Text => EventType::TextMessageContent,
            Stream::Reasoning => EventType::ReasoningMessageContent,
        };
        let Some(at) = self.slots.find(id) else {
            if !delta.is_empty() || metadata.is_some() {
                self.warn_lost_message(id, stream, kind, warnings);
            }
            return Change::Nothing;
        };
        let Some(slot) = self.slots.get_mut(at) else { return Change::Nothing };
        if !stream.fits(&slot.message) {
            self.warn_other_kind(at, id, stream, kind, warnings);
        }
        let Some(slot) = self.slots.get_mut(at) else { return Change::Nothing };
        let appended = push_text(slot, delta);
        if metadata.is_some() {
            self.merge_into_message(at, metadata);
        }
        if appended { Change::TextAppended(MessageKey(at)) } else { Change::Nothing }
    }

    pub(super) fn text_end(
        &mut self,
        id: &MessageId,
        stream: Stream,
        metadata: Option<&Metadata>,
        kind: EventType,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        if let Some(at) = self.slots.find(id) {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.part_open = false;
            }
            return if metadata.is_some() { self.merge_into_message(at, metadata) } else { Change::Nothing };
        }
        // An END with nothing on it has nothing to lose.
        if metadata.is_some() {
            self.warn_lost_message(id, stream, kind, warnings);
        }
        Change::Nothing
    }

    /// What the events of a text or reasoning item carry lands on the message, whatever kind it is; an activity is left
    /// alone (`META-2`).
    fn merge_into_message(&mut self, at: usize, metadata: Option<&Metadata>) -> Change {
        match self.slots.get_mut(at) {
            None | Some(Slot { message: Message::Activity(_), .. }) => Change::Nothing,
            Some(slot) => {
                merge(metadata_mut(&mut slot.message), metadata);
                Change::MessageChanged(MessageKey(at))
            }
        }
    }

    /// Tells once per item that its message is of another kind, which stays.
    #[cold]
    fn warn_other_kind(
        &mut self,
        at: usize,
        id: &MessageId,
        stream: Stream,
        kind: EventType,
        warnings: &mut Vec<Warning>,
    ) {
        if !self.astray.note(stream, id) {
            return;
        }
        let Some(slot) = self.slots.get(at) else { return };
        let role = slot.message.role();
        let what = match slot.message {
            Message::Activity(_) => "is left as it is",
            _ => "gets the text and keeps its role",
        };
        let message = format!(
            "{} streams under {}, the id of a message of role {role}, which {what}",
            stream.noun(),
            Quoted(id.as_str())
        );
        warn(warnings, "SHAPE-9", kind, "/messageId", message);
    }

    /// Tells once per item that a snapshot has dropped its message.
    #[cold]
    fn warn_lost_message(
        &mut self,
        id: &MessageId,
        stream: Stream,
        kind: EventType,
        warnings: &mut Vec<Warning>,
    ) {
        if self.astray.note(stream, id) {
            let message = format!(
                "{} for message {} goes nowhere: a snapshot has dropped the message",
                stream.noun(),
                Quoted(id.as_str())
            );
            warn(warnings, "STATE-6", kind, "/messageId", message);
        }
    }
}

/// The message that a START opens; an absent role means the assistant (`STREAM-4`).
///
/// Written as one literal: a message that is changed once it is made is put together on the stack and copied.
#[inline]
fn text_message(event: &TextMessageStartEvent) -> Message {
    let id = &event.message_id;
    macro_rules! named {
        ($Message:ident, $message:expr) => {
            $Message {
                name: event.name.clone(),
                subagent_run_id: event.subagent_run_id.clone(),
                metadata: event.metadata.clone(),
                ..$message
            }
            .into()
        };
    }
    match event.role.unwrap_or(TextMessageRole::Assistant) {
        TextMessageRole::Assistant => {
            let content = Some(streamed_text());
            named!(AssistantMessage, AssistantMessage { content, ..AssistantMessage::new(id) })
        }
        TextMessageRole::User => named!(UserMessage, UserMessage::new(id, "")),
        TextMessageRole::Developer => named!(DeveloperMessage, DeveloperMessage::new(id, "")),
        TextMessageRole::System => named!(SystemMessage, SystemMessage::new(id, "")),
    }
}

#[inline]
fn reasoning_message(event: &ReasoningMessageStartEvent) -> Message {
    ReasoningMessage {
        subagent_run_id: event.subagent_run_id.clone(),
        metadata: event.metadata.clone(),
        ..ReasoningMessage::new(&event.message_id, streamed_text())
    }
    .into()
}

/// Text that is about to be streamed, of a message or as arguments of a call: room for two dozen tokens, so that a string does not grow six times
/// before it is a line long. Growing costs more than the deltas that it makes room for.
pub(super) fn streamed_text() -> String {
    String::with_capacity(128)
}

/// Appends text; says whether the message can have any.
#[inline]
fn push_text(slot: &mut Slot, delta: &str) -> bool {
    match &mut slot.message {
        Message::Assistant(message) => message.content.get_or_insert_default().push_str(delta),
        Message::Reasoning(message) => message.content.push_str(delta),
        Message::Developer(message) => message.content.push_str(delta),
        Message::System(message) => message.content.push_str(delta),
        Message::User(message) => push_content(&mut message.content, &mut slot.part_open, delta),
        Message::Tool(message) => push_content(&mut message.content, &mut slot.part_open, delta),
        Message::Activity(_) => return false,
    }
    true
}

/// Text for a list is a text part of its own, one from START to END; the parts that are there stay as they are.
fn push_content(content: &mut Content, part_open: &mut bool, delta: &str) {
    match content {
        Content::Text(text) => text.push_str(delta),
        Content::Parts(parts) => match parts.last_mut() {
            Some(ContentPart::Text(part)) if *part_open => part.text.push_str(delta),
            _ if delta.is_empty() => {}
            _ => {
                parts.push(TextPart::new(delta).into());
                *part_open = true;
            }
        },
    }
}

pub(super) fn metadata_mut(message: &mut Message) -> &mut Option<Metadata> {
    match message {
        Message::Developer(message) => &mut message.metadata,
        Message::System(message) => &mut message.metadata,
        Message::Assistant(message) => &mut message.metadata,
        Message::User(message) => &mut message.metadata,
        Message::Tool(message) => &mut message.metadata,
        Message::Activity(message) => &mut message.metadata,
        Message::Reasoning(message) => &mut message.metadata,
    }
}
