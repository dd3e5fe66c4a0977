//! The store under random interleavings, and compaction, dropping and re-attaching on random runs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers fail their test")]

mod common;

use std::collections::HashMap;
use std::task::{Context, Poll, Waker};

use agui_core::chunk::{ChunkExpander, SpelledSequence};
use agui_core::consumer::{Conversation, RunRecord};
use agui_core::sequence::Policy;
use agui_core::store::replay::{Attachment, Replay, restate};
use agui_core::store::{
    Compaction, Cursor, FollowError, Followed, Follower, MemoryLimits, MemoryRunStore, NewRun, RunLease,
    RunStore, ThreadKey, compact,
};
use agui_core::{
    CustomEvent, Event, Message, RunAgentInput, RunErrorEvent, RunFinishedEvent, RunStartedEvent, UserMessage,
};
use futures_executor::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A run of random events, as a producer writes one: those that may not stand where they do are left out. It ends in
/// order where it can.
fn run(id: &str, input: Option<RunAgentInput>, candidates: &[Event], before: &[Event]) -> Vec<Event> {
    let mut sequence = SpelledSequence::new(Policy::Producer);
    for event in before {
        sequence.check_spelled(event).unwrap();
    }
    let mut started = RunStartedEvent::new("t", id);
    started.input = input.map(Box::new);
    let mut events = vec![Event::from(started)];
    sequence.check_spelled(&events[0]).unwrap();
    for event in candidates {
        let boundary = matches!(event, Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_));
        if !boundary && sequence.clone().check_spelled(event).is_ok() {
            sequence.check_spelled(event).unwrap();
            events.push(event.clone());
        }
    }
    let finished: Event = RunFinishedEvent::new("t", id).into();
    let ending =
        if sequence.check_spelled(&finished).is_ok() { finished } else { RunErrorEvent::new("x").into() };
    events.push(ending);
    events
}

/// The event with ids that no other kind of item has (`SHAPE-9`): what becomes of one id for two kinds is not at issue
/// here, and random ids are few.
fn apart(event: &Event) -> Event {
    fn mark(value: &mut Value, name: &str, kind: &str) {
        if let Some(Value::String(id)) = value.get_mut(name) {
            id.insert_str(0, kind);
        }
    }
    let mut raw = json!(event);
    let kind = match event {
        Event::ReasoningStart(_) | Event::ReasoningEnd(_) => "span:",
        Event::ReasoningMessageStart(_)
        | Event::ReasoningMessageContent(_)
        | Event::ReasoningMessageEnd(_)
        | Event::ReasoningMessageChunk(_) => "reasoning:",
        Event::ToolCallResult(_) => "tool:",
        Event::ActivitySnapshot(_) | Event::ActivityDelta(_) => "activity:",
        _ => "text:",
    };
    mark(&mut raw, "messageId", kind);
    if matches!(event, Event::TextMessageStart(_) | Event::TextMessageChunk(_)) {
        // A call makes a message that a later START may still name; no snapshot or input tells that it may.
        let members = raw.as_object_mut().unwrap();
        members.remove("name");
        members.remove("role");
    }
    mark(&mut raw, "parentMessageId", "text:");
    mark(&mut raw, "toolCallId", "call:");
    if let Event::MessagesSnapshot(_) = event {
        for message in raw["messages"].as_array_mut().unwrap() {
            let kind = match message["role"].as_str().unwrap() {
                role @ ("reasoning" | "tool" | "activity") => format!("{role}:"),
                _ => "text:".to_owned(),
            };
            mark(message, "id", &kind);
            mark(message, "toolCallId", "call:");
            for call in message.get_mut("toolCalls").and_then(Value::as_array_mut).into_iter().flatten() {
                mark(call, "id", "call:");
            }
        }
    }
    serde_json::from_value(raw).unwrap()
}

fn candidates() -> impl Strategy<Value = Vec<Event>> {
    // Deltas get company of their kind; otherwise two of them hardly ever meet.
    let event = (common::event(), 1..4_usize).prop_map(|(event, times)| {
        let delta = event.event_type().as_str();
        let times = if delta.ends_with("CONTENT") || delta.ends_with("ARGS") || delta.ends_with("CHUNK") {
            times
        } else {
            1
        };
        vec![apart(&event); times]
    });
    vec(event, 0..40).prop_map(|events| events.concat())
}

/// What a consumer holds after a stream of its own.
#[derive(Debug, PartialEq)]
struct Held {
    messages: Vec<Message>,
    state: Value,
    runs: Vec<RunRecord>,
}

impl Held {
    fn of(conversation: &Conversation) -> Self {
        Self {
            messages: conversation.to_messages(),
            state: conversation.state().clone(),
            runs: conversation.runs().to_vec(),
        }
    }

    fn by(mut conversation: Conversation, events: &[Event]) -> Self {
        let mut expander = ChunkExpander::new();
        let mut warnings = Vec::new();
        for event in events {
            expander
                .expand(event.clone(), |event| {
                    conversation.apply_owned(event, &mut warnings);
                })
                .unwrap();
        }
        Self::of(&conversation)
    }
}

fn is_delta(event: &Event) -> bool {
    matches!(
        event,
        Event::TextMessageContent(_)
            | Event::TextMessageChunk(_)
            | Event::ToolCallArgs(_)
            | Event::ToolCallChunk(_)
            | Event::ReasoningMessageContent(_)
            | Event::ReasoningMessageChunk(_)
    )
}

fn replay(events: &[Event]) -> (Vec<Event>, Conversation) {
    let (mut replay, mut sent) = (Replay::new(), Vec::new());
    for event in events {
        replay.feed(event, &mut sent);
    }
    replay.finish(&mut sent);
    (sent, replay.conversation().clone())
}

/// The input of a run: the conversation so far as a client sends it, sometimes another one.
fn input(id: &str, held: &Conversation, edit: u8) -> RunAgentInput {
    let mut messages: Vec<Message> =
        held.messages().filter(|message| !matches!(message, Message::Activity(_))).cloned().collect();
    match edit % 4 {
        1 => messages.truncate(usize::from(edit / 4)),
        2 => messages.retain(|message| !matches!(message, Message::Reasoning(_))),
        _ => {}
    }
    messages.push(UserMessage::new(format!("question of {id}"), "?").into());
    let state = if edit > 200 { json!({"a": edit}) } else { held.state().clone() };
    let input = RunAgentInput::new("t", id, messages);
    if state.is_null() { input } else { input.with_state(state) }
}

/// Runs of a thread, as recorded: each with its input.
fn thread(parts: &[(Vec<Event>, u8)]) -> Vec<Vec<Event>> {
    let mut runs: Vec<Vec<Event>> = Vec::new();
    for (at, (candidates, edit)) in parts.iter().enumerate() {
        let before = runs.concat();
        let (_, held) = replay(&before);
        let id = format!("r{at}");
        runs.push(run(&id, Some(input(&id, &held, *edit)), candidates, &before));
    }
    runs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_compacted_run_folds_to_the_same(candidates in candidates()) {
        let events = run("r", None, &candidates, &[]);
        let compacted = compact(&events);
        prop_assert_eq!(Held::by(Conversation::new(), &events), Held::by(Conversation::new(), &compacted));
        let rest = |events: &[Event]| -> Vec<Event> {
            events.iter().filter(|event| !is_delta(event)).cloned().collect()
        };
        prop_assert_eq!(rest(&events), rest(&compacted));
        prop_assert_eq!(compact(&compacted), compacted.clone());
        let mut sequence = SpelledSequence::new(Policy::Consumer);
        for event in &compacted {
            prop_assert!(sequence.check_spelled(event).is_ok());
        }
    }

    #[test]
    fn a_replay_ends_where_the_last_input_and_its_run_lead(parts in vec((candidates(), any::<u8>()), 1..4)) {
        let runs = thread(&parts);
        let (sent, held) = replay(&runs.concat());
        // A reader who is sent it holds what the replay says.
        prop_assert_eq!(Held::by(Conversation::new(), &sent), Held::of(&held));
        let last = runs.last().unwrap();
        let Event::RunStarted(started) = &last[0] else { panic!("{last:?}") };
        let live = Held::by(Conversation::from_input(started.input.as_deref().unwrap()), last);
        let aside = |message: &Message| matches!(message, Message::Activity(_) | Message::Reasoning(_));
        let apart = held.messages().any(aside);
        let said = |messages: &[Message]| -> Vec<Message> {
            // Activities and reasoning stay with a reader that has them, and a late result may stand behind them.
            let mut said: Vec<_> = messages.iter().filter(|message| !aside(message)).cloned().collect();
            if apart {
                said.sort_by(|one, other| one.id().cmp(other.id()));
            }
            said
        };
        prop_assert_eq!(said(&Held::of(&held).messages), said(&live.messages));
        // And the whole of it is one stream that a consumer accepts.
        let mut sequence = SpelledSequence::new(Policy::Consumer);
        for event in &sent {
            prop_assert!(sequence.check_spelled(event).is_ok(), "{:?}", event);
        }
    }

    #[test]
    fn dropped_runs_leave_what_they_led_to(parts in vec((candidates(), any::<u8>()), 2..4), cut in any::<u8>()) {
        let runs = thread(&parts);
        let cut = 1 + usize::from(cut) % (runs.len() - 1);
        let dropped = runs[..cut].concat();
        let restated = restate(&dropped, &runs[cut]).unwrap();
        let kept = [restated, runs[cut + 1..].concat()].concat();
        let (whole, shorter) = (Held::of(&replay(&runs.concat()).1), Held::of(&replay(&kept).1));
        prop_assert_eq!(whole.messages, shorter.messages);
        prop_assert_eq!(whole.state, shorter.state);
        prop_assert_eq!(&whole.runs[cut..], &shorter.runs[..]);
    }

    #[test]
    fn whoever_attaches_anywhere_ends_up_with_the_whole(
        parts in vec((candidates(), any::<u8>()), 1..3), at in any::<prop::sample::Index>(),
    ) {
        // A snapshot that drops an open message, or gives it away, leaves nothing to go on from.
        let mut parts = parts;
        for (candidates, _) in &mut parts {
            candidates.retain(|event| !matches!(event, Event::MessagesSnapshot(_)));
        }
        let runs = thread(&parts);
        let (_, whole) = replay(&runs.concat());
        let last = runs.last().unwrap();
        // From behind the last run's start to the end.
        let joined = runs.concat().len() - last.len() + 1 + at.index(last.len());
        let all = runs.concat();
        let mut attachment = Attachment::new();
        for event in &all[..joined] {
            attachment.record(event);
        }
        let mut sent = attachment.open();
        for event in &all[joined..] {
            attachment.live(event.clone(), &mut sent);
        }
        let reader = Held::by(Conversation::new(), &sent);
        // A run that says nothing about the state leaves a reader who joins it with what the run was given.
        let says = |event: &Event| matches!(event, Event::StateSnapshot(_) | Event::StateDelta(_));
        if joined == all.len() || last.iter().any(says) {
            prop_assert_eq!(reader.state, whole.state().clone());
        }
        let whole = Held::of(&whole);
        prop_assert_eq!(reader.messages, whole.messages);
        prop_assert_eq!(reader.runs.last().map(|run| run.status), whole.runs.last().map(|run| run.status));
        let mut sequence = SpelledSequence::new(Policy::Consumer);
        for event in &sent {
            let judged = sequence.check_spelled(event);
            prop_assert!(judged.is_ok(), "{:?}: {:?}", event, judged);
        }
    }
}

/// One thing that happens to the store.
#[derive(Debug, Clone)]
enum Step {
    Begin(u8),
    Append(u8, u8),
    Finish(u8),
    Follow(u8, Option<u8>),
    Poll(u8, u8),
    Leave(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..6_u8;
    prop_oneof![
        3 => thread.clone().prop_map(Step::Begin),
        8 => (thread.clone(), 0..5_u8).prop_map(|(thread, events)| Step::Append(thread, events)),
        2 => thread.clone().prop_map(Step::Finish),
        4 => (thread, prop::option::of(any::<u8>())).prop_map(|(thread, from)| Step::Follow(thread, from)),
        8 => (any::<u8>(), 1..6_u8).prop_map(|(reader, pages)| Step::Poll(reader, pages)),
        1 => any::<u8>().prop_map(Step::Leave),
    ]
}

/// A thread as it should be.
#[derive(Debug, Default)]
struct Model {
    /// Counts how often the thread was given up and begun anew.
    life: u32,
    events: Vec<Event>,
    lease: Option<RunLease>,
    cursors: Vec<(usize, Cursor)>,
}

struct Reader {
    follower: Follower,
    thread: u8,
    life: u32,
    at: usize,
    over: bool,
}

struct World {
    store: MemoryRunStore,
    models: HashMap<u8, Model>,
    readers: Vec<Reader>,
    counter: u32,
}

impl World {
    fn key(thread: u8) -> ThreadKey {
        ThreadKey::new("a", thread.to_string())
    }

    fn next_event(&mut self) -> Event {
        self.counter += 1;
        CustomEvent::new("n", self.counter).into()
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Begin(thread) => {
                self.counter += 1;
                let run = self.counter.to_string();
                if let Ok(lease) = block_on(self.store.begin(&Self::key(thread), NewRun::new(run))) {
                    self.notice_evictions(Some(thread));
                    let model = self.models.entry(thread).or_default();
                    assert!(model.lease.replace(lease).is_none());
                }
            }
            Step::Append(thread, events) => {
                let events: Vec<Event> = (0..events).map(|_| self.next_event()).collect();
                let model = self.models.entry(thread).or_default();
                let Some(lease) = &model.lease else { return };
                if block_on(self.store.append(lease, events.clone().into())).is_ok() {
                    model.events.extend(events);
                }
            }
            Step::Finish(thread) => {
                let last: Event = RunErrorEvent::new(thread.to_string()).into();
                let model = self.models.entry(thread).or_default();
                let Some(lease) = model.lease.take() else { return };
                block_on(self.store.finish(lease, [last.clone()].into(), Compaction::Allowed)).unwrap();
                model.events.push(last);
            }
            Step::Follow(thread, from) => self.follow(thread, from),
            Step::Poll(reader, pages) => self.poll(reader, pages),
            Step::Leave(reader) => {
                if !self.readers.is_empty() {
                    let reader = usize::from(reader) % self.readers.len();
                    self.readers.swap_remove(reader);
                }
            }
        }
        self.notice_evictions(None);
        assert!(
            block_on(self.store.figures()).unwrap().bytes <= self.store.limits().max_bytes as u64 + 4_096
        );
    }

    fn follow(&mut self, thread: u8, from: Option<u8>) {
        let model = self.models.entry(thread).or_default();
        let from = from.filter(|_| !model.cursors.is_empty());
        let from = from.map(|from| model.cursors[usize::from(from) % model.cursors.len()].clone());
        let cursor = from.as_ref().map(|(_, cursor)| cursor);
        match block_on(self.store.follow(&Self::key(thread), cursor)) {
            Ok(Some(follower)) => {
                let (at, life) = (from.map_or(0, |(at, _)| at), model.life);
                self.readers.push(Reader { follower, thread, life, at, over: false });
            }
            Ok(None) => assert!(model.lease.is_none() && model.events.is_empty()),
            Err(FollowError::CursorExpired) => assert!(from.is_some()),
            Err(other) => panic!("{other}"),
        }
    }

    fn poll(&mut self, reader: u8, pages: u8) {
        if self.readers.is_empty() {
            return;
        }
        let reader = usize::from(reader) % self.readers.len();
        let reader = &mut self.readers[reader];
        let model = self.models.get_mut(&reader.thread).unwrap();
        for _ in 0..pages {
            let mut cx = Context::from_waker(Waker::noop());
            match reader.follower.poll_followed(&mut cx) {
                Poll::Ready(Some(Ok(Followed::Page(page)))) => {
                    assert!(!reader.over && reader.life == model.life);
                    let end = reader.at + page.events.len();
                    assert_eq!(&page.events[..], &model.events[reader.at..end]);
                    reader.at = end;
                    model.cursors.push((end, page.cursor));
                }
                Poll::Ready(Some(Ok(_))) => assert!(model.lease.is_some() && reader.at == model.events.len()),
                Poll::Ready(Some(Err(_))) => {
                    assert!(reader.life != model.life, "only a reader of a thread that went is told so");
                    reader.over = true;
                }
                Poll::Ready(None) => {
                    // The run that was on when it joined has ended; a later one is not its business.
                    let done =
                        matches!(model.events.get(reader.at.wrapping_sub(1)), Some(Event::RunError(_)));
                    assert!(
                        reader.over
                            || reader.life != model.life
                            || done
                            || reader.at == 0
                            || reader.at == model.events.len()
                    );
                    reader.over = true;
                    return;
                }
                Poll::Pending => {
                    assert!(model.lease.is_some() && reader.at == model.events.len());
                    return;
                }
            }
        }
    }

    /// What the store has given up, the model forgets; it must not have been in progress. A thread that has just begun
    /// may have been given up before.
    fn notice_evictions(&mut self, begun: Option<u8>) {
        for (thread, model) in &mut self.models {
            let record = block_on(self.store.thread(&Self::key(*thread))).unwrap();
            let anew = begun == Some(*thread) && record.as_ref().is_some_and(|record| record.runs.len() == 1);
            if record.is_none() || anew {
                assert!(model.lease.is_none(), "a run in progress was given up");
                if !model.events.is_empty() {
                    *model = Model { life: model.life + 1, ..Model::default() };
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_follower_sees_what_was_recorded_once_and_in_order(steps in vec(step(), 1..200)) {
        let limits = MemoryLimits::default().with_max_bytes(30_000).with_grant_bytes(2_048).with_max_threads(4);
        let mut world = World {
            store: MemoryRunStore::new(limits),
            models: HashMap::new(),
            readers: Vec::new(),
            counter: 0,
        };
        for step in &steps {
            world.take(step);
        }
        // In the end every run ends, and everybody reads to the end.
        for thread in 0..6 {
            world.take(&Step::Finish(thread));
        }
        for reader in 0..world.readers.len() {
            let reader = u8::try_from(reader).unwrap();
            for _ in 0..100 {
                world.poll(reader, 255);
            }
            prop_assert!(world.readers[usize::from(reader)].over);
        }
        let followers = world.readers.len() as u64;
        world.readers.retain(|reader| !reader.over);
        prop_assert!(followers >= world.readers.len() as u64);
        prop_assert_eq!(block_on(world.store.figures()).unwrap().followers, 0);
    }
}
