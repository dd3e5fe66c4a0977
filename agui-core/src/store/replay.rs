//! What a client is sent of a record: the events of `connect`, made of recorded ones.
//!
//! A client that holds nothing gets each run in order, as it was recorded, by a [`Replay`]. One that holds some of the
//! conversation would append what is streamed again to what it has (`LIFE-8`); an [`Attachment`] gives it one run with
//! snapshots instead. Both are told the recorded events one by one and say what to send; neither reads a store.
//!
//! What is recorded is not judged here, and not repaired: only a run that has no ending gets one, because a reader that
//! verifies cannot go on to the next run without it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::realign::{self, Asides, onward};
use crate::chunk::ChunkExpander;
use crate::consumer::Conversation;
use crate::{
    Event, Message, MessageId, MessagesSnapshotEvent, RunErrorEvent, RunId, RunStartedEvent,
    StateSnapshotEvent, SubagentRunId, ToolCallId,
};

/// How a run ends whose producer is gone: `RUN_ERROR` with the code `producer_lost`, for stores that close it for whoever
/// follows.
pub fn lost() -> Event {
    RunErrorEvent::new("The run was lost.").with_code("producer_lost").into()
}

/// The replay for a client that holds nothing.
///
/// `RUN_STARTED` carries the input without state and forwarded properties, which are not for every reader of the thread.
/// Where an input does not continue the conversation, `MESSAGES_SNAPSHOT`s behind it make the reader's messages those
/// that the client which sent it goes on with: the last of them has the input's, and among them the activities, and
/// the reasoning of a client that sends none, which are not those of a discarded answer. The state of the first input is
/// a `STATE_SNAPSHOT`, and so is that of a later one whose run patches another state than the one replayed so far.
///
/// # Examples
/// ```
/// use agui_core::store::replay::Replay;
/// use agui_core::{Event, RunAgentInput, RunFinishedEvent, RunStartedEvent};
/// use serde_json::json;
///
/// let input = RunAgentInput::new("t", "r", []).with_state(json!({"step": 1}));
/// let mut replay = Replay::new();
/// let mut sent = Vec::new();
/// replay.feed(&Event::from(RunStartedEvent::new("t", "r").with_input(Box::new(input))), &mut sent);
/// replay.feed(&Event::from(RunFinishedEvent::new("t", "r")), &mut sent);
/// replay.finish(&mut sent);
/// let types: Vec<_> = sent.iter().map(|event| event.event_type().as_str()).collect();
/// assert_eq!(types, ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Replay {
    conversation: Conversation,
    expander: ChunkExpander,
    runs: u64,
    active: bool,
    /// What the run in progress was given as its state, as long as it has not said anything about it.
    baseline: Option<Value>,
    /// Whether anything has ever been said about the state.
    has_state: bool,
    /// Whether anything has been sent.
    said: bool,
}

impl Replay {
    /// A replay before its first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a recorded event, and adds what to send of it.
    pub fn feed(&mut self, event: &Event, out: &mut Vec<Event>) {
        match event {
            Event::RunStarted(started) => {
                self.finish(out);
                self.start(started, out);
                return;
            }
            // The record of a run that failed before it began. Behind another failure a reader that verifies would not
            // go on (LIFE-7), and behind a run that finished it would say that that one failed.
            Event::RunError(_) if !self.active && self.said => return,
            Event::RunFinished(_) | Event::RunError(_) => self.active = false,
            Event::StateSnapshot(_) => {
                self.baseline = None;
                self.has_state = true;
            }
            Event::StateDelta(delta) => {
                let baseline = self.baseline.take().filter(|baseline| baseline != self.conversation.state());
                if let Some(baseline) = baseline {
                    // Of the patch's owner, whose chunks the patch ends as well: nobody else's are cut short (CHUNK-4).
                    let mut snapshot = StateSnapshotEvent::new(baseline);
                    snapshot.subagent_run_id.clone_from(&delta.subagent_run_id);
                    self.say(snapshot.into(), out);
                }
                self.has_state = true;
            }
            _ => {}
        }
        self.say(event.clone(), out);
    }

    /// Ends a run that has no ending. Called behind the last event of a record; a live run ends by itself.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.active) {
            self.say(lost(), out);
        }
    }

    /// Whether a run has started and not ended.
    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// What a reader of the replay holds by now.
    pub const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    fn start(&mut self, started: &RunStartedEvent, out: &mut Vec<Event>) {
        self.active = true;
        self.runs += 1;
        let mut started = started.clone();
        self.baseline = started.input.as_mut().map(|input| {
            input.forwarded_props = None;
            input.tools.get_or_insert_default();
            input.context.get_or_insert_default();
            input.state.take().unwrap_or_else(|| Value::Object(Map::new()))
        });
        let restated = started.input.as_ref().map_or_else(Vec::new, |input| self.departure(&input.messages));
        self.say(Event::from(started), out);
        for snapshot in restated {
            self.say(snapshot, out);
        }
        if self.runs == 1 && self.baseline.as_ref().is_some_and(|state| *state != *self.conversation.state())
        {
            let state = self.baseline.take().unwrap_or_default();
            self.has_state = true;
            self.say(StateSnapshotEvent::new(state).into(), out);
        }
    }

    /// The snapshots behind the start of a run whose input is not simply what is held with more behind it.
    fn departure(&self, input: &[Message]) -> Vec<Event> {
        let held: Vec<_> = self.conversation.messages().collect();
        // Most inputs are, and need no more than a comparison of messages, whatever the thread is long.
        if let Some((same, more)) = input.split_at_checked(held.len())
            && same.iter().eq(held.iter().copied())
        {
            let mut new = HashSet::with_capacity(more.len());
            let is_new = |message: &Message| self.conversation.message(message.id()).is_none();
            if more.iter().all(|message| is_new(message) && new.insert(message.id())) {
                return Vec::new();
            }
        }
        let onward = onward(&held, input);
        // What the start adds to a reader's messages.
        let mut known: HashSet<_> = held.iter().map(|message| message.id()).collect();
        let mut told = held;
        told.extend(input.iter().filter(|message| known.insert(message.id())));
        realign::snapshots(&told, &onward)
    }

    /// Sends an event and folds it.
    fn say(&mut self, event: Event, out: &mut Vec<Event>) {
        let conversation = &mut self.conversation;
        // What there is to warn about was told when the run was recorded. A chunk that does not expand, which only
        // unjudged events can be, says nothing to the fold.
        let mut warnings = Vec::new();
        let _ = self.expander.expand(event.clone(), |event| {
            conversation.apply_owned(event, &mut warnings);
        });
        self.said = true;
        out.push(event);
    }
}

/// A run with everything before it as snapshots behind its `RUN_STARTED`, in place of the runs that are dropped. `None` if
/// it does not begin with one.
///
/// A [`Replay`] of the result leads to the messages and the state that a replay of everything leads to.
pub fn restate<'e>(
    dropped: impl IntoIterator<Item = &'e Event>,
    kept: impl IntoIterator<Item = &'e Event>,
) -> Option<Vec<Event>> {
    let mut replay = Replay::new();
    let mut out = Vec::new();
    for event in dropped {
        replay.feed(event, &mut out);
        out.clear();
    }
    let mut kept = kept.into_iter();
    let Event::RunStarted(started) = kept.next()? else { return None };
    replay.feed(&Event::RunStarted(started.clone()), &mut out);
    let state = replay.conversation.state().clone();
    out.clear();
    let mut started = started.clone();
    if let Some(input) = &mut started.input {
        // All of them are in the snapshot. The state that a later patch needs is told before the patch.
        input.messages.clear();
        input.state = None;
    }
    out.push(Event::RunStarted(started));
    out.push(MessagesSnapshotEvent::new(replay.conversation.to_messages()).into());
    out.push(StateSnapshotEvent::new(state).into());
    for event in kept {
        replay.feed(event, &mut out);
    }
    Some(out)
}

/// The stream for a client that holds some of the conversation: one run, with what came before it as snapshots.
///
/// It is told what the client [holds](Self::with_held), then the record. When the follower has caught up, or the record
/// is at its end, [`open`](Self::open) gives what to send; what comes after goes through [`live`](Self::live).
///
/// # Examples
/// ```
/// use agui_core::store::replay::Attachment;
/// use agui_core::{Event, RunStartedEvent, TextMessageContentEvent, TextMessageStartEvent};
///
/// let mut attachment = Attachment::new();
/// attachment.record(&Event::from(RunStartedEvent::new("t", "r")));
/// attachment.record(&Event::from(TextMessageStartEvent::new("m")));
/// attachment.record(&Event::from(TextMessageContentEvent::new("m", "Hel")));
/// let types: Vec<_> = attachment.open().iter().map(|event| event.event_type().as_str()).collect();
/// assert_eq!(types, ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "TEXT_MESSAGE_START"]);
///
/// let mut sent = Vec::new();
/// attachment.live(Event::from(TextMessageContentEvent::new("m", "lo")), &mut sent);
/// assert_eq!(sent.len(), 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Attachment {
    replay: Replay,
    expander: ChunkExpander,
    /// What the reader says it holds.
    held: Vec<Message>,
    asides: Asides,
    /// What would leave the reader with nothing.
    emptied: Vec<Event>,
    /// The last run's beginning and ending.
    started: Option<Box<RunStartedEvent>>,
    ended: Option<Event>,
    /// The announcements of this run's subagents and their ends, as they came.
    subagents: Vec<Event>,
    /// What this run has open, in the order opened, with the event that opened it.
    open: Vec<(Item, Event)>,
    /// What was open and no longer held when the attachment was opened: a snapshot has dropped it since it began, and
    /// what follows for it goes nowhere, unless another snapshot brings it back.
    astray: Vec<(Item, Event)>,
    scratch: Vec<Event>,
}

/// What is open, by what closes it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Text(MessageId),
    Call(ToolCallId),
    Span(MessageId),
    Reasoning(MessageId),
    Step(String, Option<SubagentRunId>),
}

impl Attachment {
    /// An attachment that has not been told anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// An attachment of a reader that holds these messages: those of its request, among which there are no activities
    /// (`STATE-9`).
    ///
    /// A snapshot leaves known messages where they are, and what it says nothing about (`STATE-6`). A reader whose
    /// messages would not come to be those of the thread by one alone is sent others before it.
    #[must_use]
    pub fn with_held(mut self, messages: impl Into<Vec<Message>>) -> Self {
        self.held = messages.into();
        self
    }

    /// Takes an event of the record.
    pub fn record(&mut self, event: &Event) {
        let mut expanded = std::mem::take(&mut self.scratch);
        // What does not expand was never judged and has nothing to add.
        let _ = self.expander.expand(event.clone(), |event| expanded.push(event));
        for event in expanded.drain(..) {
            self.track(&event);
            self.asides.note(&event);
            self.replay.feed(&event, &mut Vec::new());
        }
        self.scratch = expanded;
    }

    /// The run that the record ends with; absent if there is none.
    pub fn run_id(&self) -> Option<&RunId> {
        self.started.as_ref().map(|started| &started.run_id)
    }

    /// Whether that run goes on.
    pub const fn is_active(&self) -> bool {
        self.replay.is_active()
    }

    /// What to send of the record: a run in progress as far as it is, or the last run with its ending. Nothing if no run
    /// is recorded. Called once: what has been folded until then is let go of, for a reader that may take hours.
    pub fn open(&mut self) -> Vec<Event> {
        let Some(started) = &mut self.started else { return Vec::new() };
        // All messages are in the snapshot, in their order, which an echoed input could only disturb.
        started.input = None;
        let started = started.clone();
        let conversation = self.replay.conversation();
        let mut out = vec![Event::RunStarted(started)];
        out.extend(self.asides.snapshots(&self.held, &conversation.to_messages()));
        if self.is_active() {
            // The run's patches are for what it was given, whatever the thread has come to.
            let state = self.replay.baseline.as_ref().unwrap_or_else(|| conversation.state());
            out.push(StateSnapshotEvent::new(state.clone()).into());
            out.extend(self.subagents.iter().cloned());
            let (held, astray): (Vec<_>, _) =
                self.open.iter().cloned().partition(|(item, _)| item.is_among(conversation.messages()));
            out.extend(held.into_iter().map(|(_, opener)| bare(opener)));
            self.astray = astray;
        } else {
            if self.replay.has_state {
                out.push(StateSnapshotEvent::new(conversation.state().clone()).into());
            }
            out.push(self.ended.clone().unwrap_or_else(lost));
        }
        self.emptied = self.asides.emptied(&self.held);
        (self.held, self.asides) = (Vec::new(), Asides::default());
        self.replay = Replay { active: self.replay.active, ..Replay::default() };
        self.subagents = Vec::new();
        self.open = Vec::new();
        out
    }

    /// What has the reader let go of all messages, to be sent behind a `RUN_STARTED` in place of what
    /// [`open`](Self::open) gave, where that is too large. A [`Replay`] of the record can follow.
    pub fn emptied(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.emptied)
    }

    /// Takes an event that came after [`open`](Self::open), and adds what to send of it: chunks in the form that goes on
    /// from what was sent.
    pub fn live(&mut self, event: Event, out: &mut Vec<Event>) {
        let astray = &mut self.astray;
        let expanded = self.expander.expand(event.clone(), |event| {
            if is_astray(astray, &event) {
                return;
            }
            let mut back = Vec::new();
            if let Event::MessagesSnapshot(snapshot) = &event {
                back.extend(astray.extract_if(.., |(item, _)| item.is_among(&snapshot.messages)));
            }
            out.push(event);
            out.extend(back.into_iter().map(|(_, opener)| bare(opener)));
        });
        if expanded.is_err() {
            // Never judged; the reader is to see it as it is.
            out.push(event);
        }
    }

    fn track(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => {
                self.started = Some(started.clone());
                self.ended = None;
                self.subagents.clear();
                self.open.clear();
            }
            // One of a run that failed before it began is not the ending of the run before it.
            Event::RunFinished(_) | Event::RunError(_) if self.replay.is_active() => {
                self.ended = Some(event.clone());
            }
            Event::SubagentStarted(_) | Event::SubagentFinished(_) | Event::SubagentError(_) => {
                self.subagents.push(event.clone());
            }
            Event::TextMessageStart(start) => self.opened(Item::Text(start.message_id.clone()), event),
            Event::TextMessageEnd(end) => self.closed(&Item::Text(end.message_id.clone())),
            Event::ToolCallStart(start) => self.opened(Item::Call(start.tool_call_id.clone()), event),
            Event::ToolCallEnd(end) => self.closed(&Item::Call(end.tool_call_id.clone())),
            Event::ReasoningStart(start) => self.opened(Item::Span(start.message_id.clone()), event),
            Event::ReasoningEnd(end) => self.closed(&Item::Span(end.message_id.clone())),
            Event::ReasoningMessageStart(start) => {
                self.opened(Item::Reasoning(start.message_id.clone()), event);
            }
            Event::ReasoningMessageEnd(end) => self.closed(&Item::Reasoning(end.message_id.clone())),
            Event::StepStarted(start) => {
                self.opened(Item::Step(start.step_name.clone(), start.subagent_run_id.clone()), event);
            }
            Event::StepFinished(end) => {
                self.closed(&Item::Step(end.step_name.clone(), end.subagent_run_id.clone()));
            }
            _ => {}
        }
    }

    fn opened(&mut self, item: Item, opener: &Event) {
        self.open.push((item, opener.clone()));
    }

    fn closed(&mut self, item: &Item) {
        if let Some(at) = self.open.iter().rposition(|(open, _)| open == item) {
            self.open.remove(at);
        }
    }
}

impl Item {
    /// Whether the messages have what the item adds to; a span and a step add to nothing.
    fn is_among<'m>(&self, messages: impl IntoIterator<Item = &'m Message>) -> bool {
        let mut messages = messages.into_iter();
        match self {
            Self::Text(id) | Self::Reasoning(id) => messages.any(|message| message.id() == id),
            Self::Call(id) => messages.any(|message| message.tool_calls().iter().any(|call| call.id == *id)),
            Self::Span(_) | Self::Step(..) => true,
        }
    }
}

/// Whether an event is for an item that its reader has never been told of. The end of the item is the last such event.
fn is_astray(astray: &mut Vec<(Item, Event)>, event: &Event) -> bool {
    if astray.is_empty() {
        return false;
    }
    let (item, ends) = match event {
        Event::TextMessageContent(content) => (Item::Text(content.message_id.clone()), false),
        Event::TextMessageEnd(end) => (Item::Text(end.message_id.clone()), true),
        Event::ToolCallArgs(args) => (Item::Call(args.tool_call_id.clone()), false),
        Event::ToolCallEnd(end) => (Item::Call(end.tool_call_id.clone()), true),
        Event::ReasoningMessageContent(content) => (Item::Reasoning(content.message_id.clone()), false),
        Event::ReasoningMessageEnd(end) => (Item::Reasoning(end.message_id.clone()), true),
        _ => return false,
    };
    let Some(at) = astray.iter().position(|(astray, _)| *astray == item) else { return false };
    if ends {
        astray.remove(at);
    }
    true
}

/// An opener without what the item in the snapshot has by now: merging its metadata again would bring old values back
/// (`META-1`).
fn bare(mut opener: Event) -> Event {
    opener.set_metadata(None);
    opener
}
