//! Random sequences: legal programs are accepted, and whatever comes, a refused event changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use agui_core::chunk::{ChunkExpander, SpelledSequence};
use agui_core::sequence::{Policy, Sequence};
use agui_core::{
    ActivityDeltaEvent, ActivitySnapshotEvent, AssistantMessage, Event, MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent, ReasoningEncryptedValueSubtype, ReasoningEndEvent,
    ReasoningMessageChunkEvent, ReasoningMessageEndEvent, ReasoningMessageStartEvent, ReasoningStartEvent,
    RunErrorEvent, RunFinishedEvent, RunStartedEvent, StateSnapshotEvent, StepFinishedEvent,
    StepStartedEvent, SubagentFinishedEvent, SubagentRunId, SubagentStartedEvent, TextMessageChunkEvent,
    TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent, ToolCallArgsEvent,
    ToolCallChunkEvent, ToolCallEndEvent, ToolCallResultEvent, ToolCallStartEvent,
};
use proptest::prelude::*;

/// What an event is about: a kind, one of a few ids, one of a few owners.
type Word = (u8, u8, u8);

fn word() -> impl Strategy<Value = Word> {
    (0..28_u8, 0..3_u8, 0..3_u8)
}

fn owner(number: u8) -> Option<SubagentRunId> {
    (number > 0).then(|| format!("o{number}").into())
}

fn event((kind, id, tag): Word) -> Event {
    let id = format!("i{id}");
    let mut event: Event = match kind {
        0 => TextMessageStartEvent::new(id).into(),
        1 => TextMessageContentEvent::new(id, "x").into(),
        2 => TextMessageEndEvent::new(id).into(),
        3 => ToolCallStartEvent::new(id, "f").into(),
        4 => ToolCallArgsEvent::new(id, "x").into(),
        5 => ToolCallEndEvent::new(id).into(),
        6 => ReasoningMessageStartEvent::new(id).into(),
        7 => ReasoningMessageEndEvent::new(id).into(),
        8 => ReasoningStartEvent::new(id).into(),
        9 => ReasoningEndEvent::new(id).into(),
        10 => StepStartedEvent::new(id).into(),
        11 => StepFinishedEvent::new(id).into(),
        12 => SubagentStartedEvent::new(id, "n").into(),
        13 => SubagentFinishedEvent::new(id).into(),
        14 => ToolCallResultEvent::new(format!("result-{id}"), id, "ok").into(),
        15 => ActivitySnapshotEvent::new(id, "x", serde_json::Map::new()).into(),
        16 => ActivityDeltaEvent::new(id, "x", Vec::new()).into(),
        17 => ReasoningEncryptedValueEvent::new(ReasoningEncryptedValueSubtype::Message, id, "v").into(),
        18 => {
            let mut message = AssistantMessage::new(id);
            message.subagent_run_id = owner(tag);
            MessagesSnapshotEvent::new([message.into()]).into()
        }
        19 => StateSnapshotEvent::new(1).into(),
        20 => RunStartedEvent::new("t", id).into(),
        21 => RunFinishedEvent::new("t", id).into(),
        22 => RunErrorEvent::new("x").into(),
        23 => ToolCallStartEvent::new(format!("of-{id}"), "f").with_parent_message_id(id).into(),
        24 => TextMessageChunkEvent::default().with_message_id(id).with_delta("x").into(),
        25 => TextMessageChunkEvent::default().with_delta("x").into(),
        26 => ToolCallChunkEvent::default().with_tool_call_id(id).with_tool_call_name("f").into(),
        _ => ReasoningMessageChunkEvent::default().with_message_id(id).into(),
    };
    event.set_subagent_run_id(owner(tag));
    event
}

/// The discipline of text, calls and steps, written down a second time: sets of strings, nothing else.
#[derive(Default)]
struct Oracle {
    text: BTreeSet<String>,
    calls: BTreeSet<String>,
    steps: BTreeSet<(Option<String>, String)>,
}

impl Oracle {
    fn judge(&mut self, event: &Event) -> bool {
        let tag = event.subagent_run_id().map(|id| id.as_str().to_owned());
        match event {
            Event::TextMessageStart(event) => self.text.insert(event.message_id.to_string()),
            Event::TextMessageContent(event) => self.text.contains(event.message_id.as_str()),
            Event::TextMessageEnd(event) => self.text.remove(event.message_id.as_str()),
            Event::ToolCallStart(event) => self.calls.insert(event.tool_call_id.to_string()),
            Event::ToolCallArgs(event) => self.calls.contains(event.tool_call_id.as_str()),
            Event::ToolCallEnd(event) => self.calls.remove(event.tool_call_id.as_str()),
            Event::StepStarted(event) => self.steps.insert((tag, event.step_name.clone())),
            Event::StepFinished(event) => self.steps.remove(&(tag, event.step_name.clone())),
            Event::RunFinished(_) => self.text.is_empty() && self.calls.is_empty() && self.steps.is_empty(),
            _ => unreachable!("the oracle is asked about text, calls, steps and the end"),
        }
    }
}

/// A legal run, written by drawing what is done next from what is possible.
fn legal_program(choices: &[(u8, u8)]) -> Vec<Event> {
    let mut events = vec![Event::from(RunStartedEvent::new("t", "r"))];
    // What is open, by what closes it; each item belongs to the owner its id ends with.
    let mut open: BTreeMap<(u8, String), Option<SubagentRunId>> = BTreeMap::new();
    let close = |kind: u8, id: &str, owner: Option<SubagentRunId>| {
        let mut event: Event = match kind {
            0 => TextMessageEndEvent::new(id).into(),
            1 => ToolCallEndEvent::new(id).into(),
            2 => ReasoningMessageEndEvent::new(id).into(),
            3 => ReasoningEndEvent::new(id).into(),
            _ => StepFinishedEvent::new(id).into(),
        };
        event.set_subagent_run_id(owner);
        event
    };
    for (kind, number) in choices {
        let (kind, owner) = (kind % 5, owner(number % 3));
        let key = (kind, format!("{kind}-{number}"));
        let id = key.1.clone();
        if let Some(owner) = open.get(&key).cloned() {
            match kind {
                0 => events.push(TextMessageContentEvent::new(&*id, "x").into()),
                1 => events.push(ToolCallArgsEvent::new(&*id, "x").into()),
                _ => {}
            }
            if number % 2 == 0 {
                open.remove(&key);
                events.push(close(kind, &id, owner));
            }
            continue;
        }
        let mut start: Event = match kind {
            0 => TextMessageStartEvent::new(&*id).into(),
            1 => ToolCallStartEvent::new(&*id, "f").into(),
            2 => ReasoningMessageStartEvent::new(&*id).into(),
            3 => ReasoningStartEvent::new(&*id).into(),
            _ => StepStartedEvent::new(&*id).into(),
        };
        start.set_subagent_run_id(owner.clone());
        events.push(start);
        open.insert(key, owner);
    }
    events.extend(open.into_iter().map(|((kind, id), owner)| close(kind, &id, owner)));
    events.push(RunFinishedEvent::new("t", "r").into());
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn legal_programs_are_accepted(choices in prop::collection::vec((0..5_u8, 0..12_u8), 0..80)) {
        for policy in [Policy::Producer, Policy::Consumer] {
            let mut sequence = Sequence::new(policy);
            for event in legal_program(&choices) {
                prop_assert_eq!(sequence.check(&event), Ok(()));
            }
            prop_assert!(sequence.is_over());
            prop_assert_eq!(sequence.take_notices(), []);
        }
    }

    #[test]
    fn text_calls_and_steps_are_judged_as_the_oracle_does(
        words in prop::collection::vec((0..9_u8, 0..3_u8, 0..2_u8), 0..60),
    ) {
        let mut sequence = Sequence::new(Policy::Consumer);
        let mut oracle = Oracle::default();
        sequence.check(&RunStartedEvent::new("t", "r").into()).unwrap();
        for (kind, id, tag) in words {
            // Only steps are told apart by their owners here; the rest stays the parent agent's.
            let event = match kind {
                6 => event((10, id, tag)),
                7 => event((11, id, tag)),
                8 => RunFinishedEvent::new("t", "r").into(),
                kind => event((kind, id, 0)),
            };
            let verdict = sequence.check(&event).is_ok();
            prop_assert_eq!(verdict, oracle.judge(&event), "{:?}", event);
            if sequence.is_over() {
                break;
            }
        }
    }

    #[test]
    fn a_refused_event_changes_nothing(words in prop::collection::vec(word(), 0..60), producer: bool) {
        let policy = if producer { Policy::Producer } else { Policy::Consumer };
        let mut sequence = Sequence::new(policy);
        // Its twin is never shown what the sequence refuses, and has to agree for ever after.
        let mut twin = Sequence::new(policy);
        for sequence in [&mut sequence, &mut twin] {
            sequence.check(&RunStartedEvent::new("t", "r").into()).unwrap();
        }
        for word in words {
            let event = event(word);
            match sequence.check(&event) {
                Ok(()) => prop_assert_eq!(twin.check(&event), Ok(())),
                Err(error) => prop_assert_eq!(error.event_type(), event.event_type()),
            }
            prop_assert_eq!(sequence.open_items(), twin.open_items());
            prop_assert_eq!(sequence.unanswered_tool_calls(), twin.unanswered_tool_calls());
            prop_assert_eq!(sequence.take_notices(), twin.take_notices());
        }
    }

    #[test]
    fn a_refused_event_of_either_spelling_changes_nothing(
        words in prop::collection::vec(word(), 0..60),
        producer: bool,
    ) {
        let policy = if producer { Policy::Producer } else { Policy::Consumer };
        let (mut sequence, mut twin) = (SpelledSequence::new(policy), SpelledSequence::new(policy));
        for sequence in [&mut sequence, &mut twin] {
            sequence.check_spelled(&RunStartedEvent::new("t", "r").into()).unwrap();
        }
        for word in words {
            let event = event(word);
            match sequence.check_spelled(&event) {
                Ok(()) => prop_assert_eq!(twin.check_spelled(&event), Ok(())),
                Err(error) => prop_assert_eq!(error.event_type(), event.event_type()),
            }
            prop_assert_eq!(sequence.sequence().open_items(), twin.sequence().open_items());
            prop_assert_eq!(sequence.close_events(), twin.close_events());
        }
    }

    #[test]
    fn judging_as_spelled_and_judging_what_is_expanded_agree(words in prop::collection::vec(word(), 0..40)) {
        let mut spelled = SpelledSequence::new(Policy::Consumer);
        let mut sequence = Sequence::new(Policy::Consumer);
        let mut expander = ChunkExpander::new();
        spelled.check_spelled(&RunStartedEvent::new("t", "r").into()).unwrap();
        sequence.check(&RunStartedEvent::new("t", "r").into()).unwrap();
        for word in words {
            let event = event(word);
            let before = (sequence.clone(), expander.clone());
            let as_spelled = spelled.check_spelled(&event);
            let mut made = Vec::new();
            let expanded = expander.expand(event.clone(), |event| made.push(event));
            let checked = expanded.and_then(|()| made.iter().try_for_each(|event| sequence.check(event)));
            prop_assert_eq!(as_spelled.is_ok(), checked.is_ok(), "{:?}: {:?} and {:?}", event, as_spelled, checked);
            // A consumer stops here, having seen part of what the event was expanded to; try the next one instead.
            if checked.is_err() {
                (sequence, expander) = before;
            }
            prop_assert_eq!(spelled.sequence().open_items(), sequence.open_items());
        }
    }

    #[test]
    fn what_is_open_can_always_be_closed(words in prop::collection::vec(word(), 0..60), producer: bool) {
        let policy = if producer { Policy::Producer } else { Policy::Consumer };
        let mut sequence = SpelledSequence::new(policy);
        sequence.check_spelled(&RunStartedEvent::new("t", "r").into()).unwrap();
        for word in words.into_iter().filter(|(kind, ..)| !(20..=22).contains(kind)) {
            // Refusals are part of it.
            let _ = sequence.check_spelled(&event(word));
        }
        for event in sequence.close_events() {
            prop_assert_eq!(sequence.check_spelled(&event), Ok(()));
        }
        prop_assert!(!sequence.needs_closing());
        prop_assert_eq!(sequence.check_spelled(&RunFinishedEvent::new("t", "r").into()), Ok(()));
    }
}
