//! The fold against a naive one, and what its cost does not depend on, counted in allocations.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers outside of test functions fail their tests too"
)]

use agui_core::consumer::Conversation;
use agui_core::sequence::{Policy, Sequence};
use agui_core::{
    ActivityMessage, ActivitySnapshotEvent, AssistantMessage, Content, Event, FunctionCall, Message,
    MessagesSnapshotEvent, Metadata, ReasoningMessage, ReasoningMessageContentEvent,
    ReasoningMessageEndEvent, ReasoningMessageStartEvent, Role, RunFinishedEvent, RunStartedEvent,
    TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent, ToolCall, ToolCallArgsEvent,
    ToolCallEndEvent, ToolCallResultEvent, ToolCallStartEvent, ToolMessage, ToolRole,
};
use proptest::prelude::*;
use serde_json::json;

/// What an event is about: a kind, two of a few ids, a text.
type Word = (u8, u8, u8, u8);

fn event((kind, id, other, text): Word) -> Event {
    let delta = ["", "x", "yz", "é"][usize::from(text % 4)];
    let metadata = (text > 5).then(|| Metadata::new().with(format!("k{}", text % 3), text));
    let (m, c, q) = (format!("m{id}"), format!("c{id}"), format!("q{id}"));
    let parent = format!("m{other}");
    let mut event: Event = match kind {
        0 => TextMessageStartEvent::new(m).into(),
        1..=4 => TextMessageContentEvent::new(m, delta).into(),
        5 => TextMessageEndEvent::new(m).into(),
        6 => ToolCallStartEvent::new(c, "f").with_parent_message_id(parent).into(),
        7 => ToolCallStartEvent::new(c, "f").into(),
        8..=10 => ToolCallArgsEvent::new(c, delta).into(),
        11 => ToolCallEndEvent::new(c).into(),
        12..=13 => {
            ToolCallResultEvent::new(format!("r{other}{text}"), c, delta).with_role(ToolRole::Tool).into()
        }
        14 => ReasoningMessageStartEvent::new(q).into(),
        15 => ReasoningMessageContentEvent::new(q, delta).into(),
        16 => ReasoningMessageEndEvent::new(q).into(),
        17 => ActivitySnapshotEvent::new(format!("a{id}"), delta, serde_json::Map::new()).into(),
        18 => {
            let call = ToolCall::new(c.as_str(), FunctionCall::new("f", delta));
            let mut messages: Vec<Message> = vec![
                AssistantMessage::new(parent).with_content(delta).into(),
                AssistantMessage::new(m).with_tool_calls(vec![call]).into(),
                ToolMessage::new(format!("r{other}{text}"), c, delta).into(),
            ];
            if text % 3 == 0 {
                messages.push(ReasoningMessage::new(q, delta).into());
            }
            MessagesSnapshotEvent::new(messages).into()
        }
        19 => RunFinishedEvent::new("t", "r").into(),
        _ => RunStartedEvent::new("t", "r").into(),
    };
    if kind < 18 {
        event.set_metadata(metadata);
    }
    event
}

/// The conversation as one would fold it without a thought for its cost.
#[derive(Default)]
struct Naive(Vec<Message>);

impl Naive {
    fn at(&self, id: &str) -> Option<usize> {
        self.0.iter().position(|message| *message.id() == *id)
    }

    fn call_at(&self, id: &str) -> Option<(usize, usize)> {
        // Of two messages that carry a call, the later one counts.
        self.0.iter().enumerate().rev().find_map(|(at, message)| {
            Some((at, message.tool_calls().iter().position(|call| call.id == *id)?))
        })
    }

    fn message(&mut self, id: &str, new: impl FnOnce() -> Message) -> usize {
        self.at(id).unwrap_or_else(|| {
            self.0.push(new());
            self.0.len() - 1
        })
    }

    fn metadata(&mut self, at: usize) -> &mut Option<Metadata> {
        match &mut self.0[at] {
            Message::Assistant(message) => &mut message.metadata,
            Message::Reasoning(message) => &mut message.metadata,
            Message::Tool(message) => &mut message.metadata,
            Message::Activity(message) => &mut message.metadata,
            other => panic!("{other:?}"),
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        let (at, call) = self.call_at(id)?;
        let Message::Assistant(message) = &mut self.0[at] else { panic!() };
        Some(&mut message.tool_calls.as_mut().unwrap()[call])
    }

    fn append(&mut self, id: &str, delta: &str) {
        let Some(at) = self.at(id) else { return };
        match &mut self.0[at] {
            Message::Assistant(message) => message.content.get_or_insert_default().push_str(delta),
            Message::Reasoning(message) => message.content.push_str(delta),
            other => panic!("{other:?}"),
        }
    }

    fn apply(&mut self, event: &Event) {
        let mut item = None;
        match event {
            Event::TextMessageStart(event) => {
                let id = &event.message_id;
                item = Some(self.message(id.as_str(), || AssistantMessage::new(id).with_content("").into()));
            }
            Event::TextMessageContent(event) => {
                self.append(event.message_id.as_str(), &event.delta);
                item = self.at(event.message_id.as_str());
            }
            Event::TextMessageEnd(event) => item = self.at(event.message_id.as_str()),
            Event::ReasoningMessageStart(event) => {
                let id = &event.message_id;
                item = Some(self.message(id.as_str(), || ReasoningMessage::new(id, "").into()));
            }
            Event::ReasoningMessageContent(event) => {
                self.append(event.message_id.as_str(), &event.delta);
                item = self.at(event.message_id.as_str());
            }
            Event::ReasoningMessageEnd(event) => item = self.at(event.message_id.as_str()),
            Event::ActivitySnapshot(event) => {
                let id = &event.message_id;
                let at = self.message(id.as_str(), || {
                    ActivityMessage::new(id, event.activity_type.as_str(), event.content.clone()).into()
                });
                let Message::Activity(message) = &mut self.0[at] else { panic!() };
                message.activity_type.clone_from(&event.activity_type);
                item = Some(at);
            }
            Event::ToolCallStart(start) => {
                let id = start.tool_call_id.as_str();
                if self.call_at(id).is_none() {
                    let carrier = start.parent_message_id.as_ref().map_or(id, |parent| parent.as_str());
                    let at = self.message(carrier, || AssistantMessage::new(carrier).into());
                    let Message::Assistant(message) = &mut self.0[at] else { panic!() };
                    let call = ToolCall::new(id, FunctionCall::new(start.tool_call_name.as_str(), ""));
                    message.tool_calls.get_or_insert_default().push(call);
                }
                self.merge_into_call(id, event.metadata());
            }
            Event::ToolCallArgs(args) => {
                if let Some(call) = self.call(args.tool_call_id.as_str()) {
                    call.function.arguments.push_str(&args.delta);
                }
                self.merge_into_call(args.tool_call_id.as_str(), event.metadata());
            }
            Event::ToolCallEnd(end) => self.merge_into_call(end.tool_call_id.as_str(), event.metadata()),
            Event::ToolCallResult(event) => {
                let content: Content = event.content.clone();
                let mut message = ToolMessage::new(&event.message_id, &event.tool_call_id, content);
                message.metadata.clone_from(&event.metadata);
                self.result(message);
            }
            Event::MessagesSnapshot(event) => self.snapshot(&event.messages),
            _ => {}
        }
        if let (Some(at), Some(metadata)) = (item, event.metadata()) {
            self.metadata(at).get_or_insert_default().merge(metadata);
        }
    }

    fn merge_into_call(&mut self, id: &str, metadata: Option<&Metadata>) {
        if let (Some(call), Some(metadata)) = (self.call(id), metadata) {
            call.metadata.get_or_insert_default().merge(metadata);
        }
    }

    fn result(&mut self, message: ToolMessage) {
        if let Some(at) = self.at(message.id.as_str()) {
            self.0[at] = message.into();
            return;
        }
        let place = match self.call_at(message.tool_call_id.as_str()) {
            Some((carrier, _)) => {
                let after = self.0[carrier + 1..].iter().take_while(|next| next.role() == Role::Tool).count();
                carrier + 1 + after
            }
            None => self.0.len(),
        };
        self.0.insert(place, message.into());
    }

    fn snapshot(&mut self, messages: &[Message]) {
        let last = |id: &str| messages.iter().rev().find(|message| *message.id() == *id);
        let counting: Vec<&Message> = messages
            .iter()
            .enumerate()
            .filter(|(at, message)| messages[..*at].iter().all(|before| before.id() != message.id()))
            .filter_map(|(_, message)| last(message.id().as_str()))
            .collect();
        let carries = |role| counting.iter().any(|message| message.role() == role);
        self.0.retain(|held| match held.role() {
            _ if last(held.id().as_str()).is_some() => true,
            Role::Activity => !carries(Role::Activity),
            Role::Reasoning => !carries(Role::Reasoning),
            _ => false,
        });
        for message in counting {
            match self.at(message.id().as_str()) {
                Some(at) => self.0[at] = message.clone(),
                None => self.0.push(message.clone()),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_fold_agrees_with_a_naive_one(
        words in prop::collection::vec((0..21_u8, 0..3_u8, 0..3_u8, 0..9_u8), 0..80),
    ) {
        let mut sequence = Sequence::new(Policy::Consumer);
        let mut conversation = Conversation::new();
        let mut naive = Naive::default();
        let mut warnings = Vec::new();
        let started = Event::from(RunStartedEvent::new("t", "r"));
        for event in std::iter::once(started).chain(words.into_iter().map(event)) {
            if sequence.check(&event).is_err() {
                continue;
            }
            let unanswered = sequence.unanswered_tool_calls();
            naive.apply(&event);
            let finished = matches!(event, Event::RunFinished(_));
            conversation.apply_owned(event, &mut warnings);
            prop_assert_eq!(conversation.to_messages(), &naive.0[..]);
            if finished {
                // The fold and the sequence derive the pending calls alike.
                prop_assert_eq!(conversation.pending_tool_call_ids(), unanswered);
            }
        }
        for message in &naive.0 {
            prop_assert_eq!(conversation.message(message.id()), Some(message));
        }
    }
}

const DELTA: &str = " word";

fn opened(messages: usize) -> (Conversation, Vec<Event>) {
    let mut conversation = Conversation::new();
    conversation.apply(&RunStartedEvent::new("t", "r").into(), &mut Vec::new());
    let mut deltas = Vec::new();
    for number in 0..messages {
        let id = format!("message-{number:024x}");
        conversation.apply(&TextMessageStartEvent::new(id.as_str()).into(), &mut Vec::new());
        deltas.push(TextMessageContentEvent::new(id, DELTA).into());
    }
    (conversation, deltas)
}

/// Allocations of so many deltas, spread over so many open messages.
fn allocations(messages: usize, deltas: usize) -> u64 {
    let (mut conversation, events) = opened(messages);
    let mut warnings = Vec::new();
    let used = allocation_counter::measure(|| {
        for event in events.iter().cycle().take(deltas) {
            conversation.apply(event, &mut warnings);
        }
    });
    let held: usize = conversation.messages().map(|message| message.text().len()).sum();
    assert_eq!((held, warnings.len()), (deltas * DELTA.len(), 0));
    used.count_total
}

#[test]
fn a_hundred_times_the_deltas_allocate_a_few_times_more() {
    // A growing string doubles: the count follows the logarithm of the length.
    let (short, long) = (allocations(1, 2_000), allocations(1, 200_000));
    assert!(short <= 14 && long <= short + 8, "{short}, {long}");
}

#[test]
fn what_a_delta_allocates_does_not_depend_on_how_many_messages_are_open() {
    // Each message pays for its own string and for nothing else.
    let each = allocations(1, 200);
    assert!(allocations(1_000, 200_000) <= 1_000 * each);
}

#[test]
fn deltas_of_many_calls_in_one_message_allocate_for_their_text_only() {
    let mut conversation = Conversation::new();
    let mut warnings = Vec::new();
    let ids: Vec<String> = (0..1_000).map(|number| format!("call-{number}")).collect();
    for id in &ids {
        let start = ToolCallStartEvent::new(id.as_str(), "f").with_parent_message_id("m");
        conversation.apply(&start.into(), &mut warnings);
    }
    // A start makes room for the first tokens; what does not fit in there grows the string once.
    for (length, allocations) in [(8, 0), (200, 1_000)] {
        let delta = "x".repeat(length);
        let deltas: Vec<Event> =
            ids.iter().map(|id| ToolCallArgsEvent::new(id.as_str(), delta.as_str()).into()).collect();
        let used = allocation_counter::measure(|| {
            for event in &deltas {
                conversation.apply(event, &mut warnings);
            }
        });
        assert_eq!(used.count_total, allocations);
    }
    assert_eq!(conversation.message_count(), 1);
}

#[test]
fn a_snapshot_that_is_handed_over_is_not_copied() {
    let text = "x".repeat(1 << 20);
    let messages: Vec<Message> = vec![AssistantMessage::new("m").with_content(text.as_str()).into()];
    let snapshot = Event::from(MessagesSnapshotEvent::new(messages));
    let state = Event::from(agui_core::StateSnapshotEvent::new(json!([text])));
    let mut conversation = Conversation::new();
    let used = allocation_counter::measure(|| {
        conversation.apply_owned(snapshot, &mut Vec::new());
        conversation.apply_owned(state, &mut Vec::new());
    });
    assert!(used.bytes_total < 16 << 10, "{used:?}");
    assert_eq!(conversation.message("m").unwrap().text().len(), 1 << 20);
}

#[test]
fn memory_does_not_grow_with_messages_opened_and_closed_again() {
    let (mut conversation, _) = opened(1);
    let id = conversation.messages().next().unwrap().id().clone();
    let mut round = |times: usize| {
        let events: [Event; 3] = [
            TextMessageStartEvent::new(&id).into(),
            TextMessageContentEvent::new(&id, "").into(),
            TextMessageEndEvent::new(&id).into(),
        ];
        let mut warnings = Vec::new();
        allocation_counter::measure(|| {
            for event in events.iter().cycle().take(3 * times) {
                conversation.apply(event, &mut warnings);
            }
        })
    };
    assert_eq!(round(10_000).count_total, 0);
}
