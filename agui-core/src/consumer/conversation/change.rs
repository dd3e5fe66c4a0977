//! What one event changed, without a copy of it.

/// Where a message stands in a [`Conversation`](super::Conversation).
///
/// Good until the next event is applied or the next exchange begun; a snapshot of the messages moves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageKey(pub(super) usize);

/// What one event changed in a [`Conversation`](super::Conversation).
///
/// Borrows and copies nothing, so that reporting a change costs nothing to whoever does not look at it.
/// [`message_at`](super::Conversation::message_at) gives the message of a key.
///
/// # Examples
/// ```
/// use agui_core::consumer::{Change, Conversation};
/// use agui_core::{Event, StateSnapshotEvent, TextMessageStartEvent};
///
/// let mut conversation = Conversation::new();
/// let mut warnings = Vec::new();
/// let change = conversation.apply(&Event::from(TextMessageStartEvent::new("m1")), &mut warnings);
/// let Change::MessageCreated(key) = change else { panic!("{change:?}") };
/// assert_eq!(conversation.message_at(key).unwrap().id(), "m1");
///
/// let change = conversation.apply(&Event::from(StateSnapshotEvent::new(7)), &mut warnings);
/// assert_eq!(change, Change::StateReplaced);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Nothing that the conversation holds.
    Nothing,
    /// A message was added: at the end, or after the call it answers.
    MessageCreated(MessageKey),
    /// Text was appended to a message.
    TextAppended(MessageKey),
    /// Something else about a message changed: its content as a whole, its metadata or its encrypted value.
    MessageChanged(MessageKey),
    /// A tool call was added to a message.
    ToolCallCreated {
        /// The message that carries the call.
        message: MessageKey,
        /// The call's position in the message.
        call: usize,
        /// Whether the message was made for it.
        message_created: bool,
    },
    /// Argument text was appended to a call.
    ArgumentsAppended {
        /// The message that carries the call.
        message: MessageKey,
        /// The call's position in the message.
        call: usize,
    },
    /// Something else about a call changed: its metadata or its encrypted value.
    ToolCallChanged {
        /// The message that carries the call.
        message: MessageKey,
        /// The call's position in the message.
        call: usize,
    },
    /// A snapshot took the place of the messages; every key from before is void.
    MessagesReplaced,
    /// The state is another one.
    StateReplaced,
    /// A patch was applied to the state.
    StatePatched,
    /// A run began.
    RunStarted {
        /// How many messages of the echoed input were new, and were added at the end.
        messages_added: usize,
    },
    /// The last run finished.
    RunFinished,
    /// The last run failed, or the stream did before a run began.
    RunFailed,
}
