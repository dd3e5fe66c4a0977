//! Events as a peer from before 1.0 reads them (`VER-6`).
//!
//! Such a peer declares no `protocolVersion`, validates with a closed schema and silently ends its stream at the first
//! event that fails it. So what it cannot read is reshaped on its way out, for this reader alone. Everything that is
//! not named here passes unchanged. Nothing is invented, and what is lost is reported once per stream.

use std::borrow::Cow;
use std::mem;

use agui_core::{
    Content, ContentPart, Event, Message, PartSource, RunAgentInput, RunFinishedOutcome,
    RunFinishedSuccessOutcome, TextPart,
};

/// Translates the events of one stream for a peer from before 1.0 and remembers what got lost.
///
/// # Examples
/// ```
/// use agui_core::{Event, RunFinishedCancelledOutcome, RunFinishedEvent};
/// use agui_encoder::Downgrade;
///
/// let event: Event = RunFinishedEvent::new("t", "r").with_outcome(RunFinishedCancelledOutcome::new()).into();
/// let mut downgrade = Downgrade::new();
/// assert_eq!(*downgrade.apply(&event), RunFinishedEvent::new("t", "r").into());
/// assert_eq!(downgrade.losses().collect::<Vec<_>>(), ["RUN_FINISHED.outcome cancelled"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Downgrade {
    lost_outcome: bool,
    lost_content: bool,
    lost_files: bool,
}

impl Downgrade {
    /// Nothing translated yet.
    pub const fn new() -> Self {
        Self { lost_outcome: false, lost_content: false, lost_files: false }
    }

    /// The event as the peer can read it; borrowed where it needs no change, which costs one look at its type.
    pub fn apply<'a>(&mut self, event: &'a Event) -> Cow<'a, Event> {
        match event {
            Event::RunFinished(finished) => match &finished.outcome {
                Some(RunFinishedOutcome::Cancelled(_)) => {
                    self.lost_outcome = true;
                    let mut finished = finished.clone();
                    finished.outcome = None;
                    Cow::Owned(Event::RunFinished(finished))
                }
                // The peer derives the open calls from the stream, so nothing is lost.
                Some(RunFinishedOutcome::Success(success)) if success.pending_tool_call_ids.is_some() => {
                    let mut finished = finished.clone();
                    finished.outcome = Some(RunFinishedSuccessOutcome::new().into());
                    Cow::Owned(Event::RunFinished(finished))
                }
                _ => Cow::Borrowed(event),
            },
            Event::ToolCallResult(result) if matches!(result.content, Content::Parts(_)) => {
                let mut result = result.clone();
                self.flatten(&mut result.content);
                Cow::Owned(Event::ToolCallResult(result))
            }
            Event::MessagesSnapshot(snapshot) if snapshot.messages.iter().any(needs_change) => {
                let mut snapshot = snapshot.clone();
                self.messages(&mut snapshot.messages);
                Cow::Owned(Event::MessagesSnapshot(snapshot))
            }
            Event::RunStarted(started) => match &started.input {
                Some(input) if input_needs_change(input) => {
                    let mut started = started.clone();
                    if let Some(input) = &mut started.input {
                        input.tools.get_or_insert_default();
                        input.context.get_or_insert_default();
                        self.messages(&mut input.messages);
                    }
                    Cow::Owned(Event::RunStarted(started))
                }
                _ => Cow::Borrowed(event),
            },
            _ => Cow::Borrowed(event),
        }
    }

    /// What got lost so far, by shape; nothing for translations without a loss.
    pub fn losses(&self) -> impl Iterator<Item = &'static str> + use<> {
        [
            (self.lost_outcome, "RUN_FINISHED.outcome cancelled"),
            (self.lost_content, "content parts of a tool result"),
            (self.lost_files, "content parts with a file source"),
        ]
        .into_iter()
        .filter_map(|(lost, shape)| lost.then_some(shape))
    }

    fn messages(&mut self, messages: &mut [Message]) {
        for message in messages {
            match message {
                Message::Tool(tool) if matches!(tool.content, Content::Parts(_)) => {
                    self.flatten(&mut tool.content);
                }
                Message::User(user) => {
                    if let Content::Parts(parts) = &mut user.content {
                        let before = parts.len();
                        parts.retain(|part| !is_file(part));
                        self.lost_files |= parts.len() < before;
                    }
                }
                _ => {}
            }
        }
    }

    /// The text parts in order with nothing between them; nothing in place of the others.
    fn flatten(&mut self, content: &mut Content) {
        if let Content::Parts(parts) = &*content {
            self.lost_content |= !parts.iter().all(is_bare_text);
            *content = Content::Text(mem::replace(content, Content::Parts(Vec::new())).text().into_owned());
        }
    }
}

fn input_needs_change(input: &RunAgentInput) -> bool {
    input.tools.is_none() || input.context.is_none() || input.messages.iter().any(needs_change)
}

fn needs_change(message: &Message) -> bool {
    match message {
        Message::Tool(tool) => matches!(tool.content, Content::Parts(_)),
        Message::User(user) => user.content.parts().iter().any(is_file),
        _ => false,
    }
}

fn is_file(part: &ContentPart) -> bool {
    matches!(part.source(), Some(PartSource::File(_)))
}

/// Whether joining a part to its neighbours keeps all of it.
const fn is_bare_text(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Text(TextPart { id: None, metadata: None, .. }))
}
