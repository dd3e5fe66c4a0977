//! Checking a delta allocates nothing, however many there are.

use agui_core::chunk::SpelledSequence;
use agui_core::sequence::{Policy, Sequence};
use agui_core::{
    Event, RunStartedEvent, TextMessageChunkEvent, TextMessageContentEvent, TextMessageStartEvent,
    ToolCallArgsEvent, ToolCallStartEvent,
};

const DELTAS: usize = 1_000_000;

#[test]
fn a_million_deltas_allocate_nothing() {
    let mut sequence = Sequence::new(Policy::Consumer);
    sequence.check(&RunStartedEvent::new("t", "r").into()).unwrap();
    sequence.check(&TextMessageStartEvent::new("m1").into()).unwrap();
    sequence.check(&TextMessageStartEvent::new("m2").with_subagent_run_id("red").into()).unwrap();
    sequence.check(&ToolCallStartEvent::new("c", "f").into()).unwrap();
    // Read apart, so that no two share an identifier's storage.
    let deltas: [Event; 4] = [
        TextMessageContentEvent::new("m1", "x").into(),
        TextMessageContentEvent::new("m2", "x").with_subagent_run_id("red").into(),
        TextMessageContentEvent::new("m2", "x").into(),
        ToolCallArgsEvent::new("c", "x").into(),
    ];
    let used = allocation_counter::measure(|| {
        for event in deltas.iter().cycle().take(DELTAS) {
            sequence.check(event).unwrap();
        }
    });
    assert_eq!((used.count_total, used.bytes_max), (0, 0));
}

#[test]
fn a_million_chunks_judged_as_spelled_allocate_nothing() {
    let mut sequence = SpelledSequence::new(Policy::Producer);
    sequence.check_spelled(&RunStartedEvent::new("t", "r").into()).unwrap();
    let chunk = TextMessageChunkEvent::default().with_message_id("m").with_delta("x");
    sequence.check_spelled(&chunk.clone().into()).unwrap();
    let chunks: [Event; 2] = [chunk.into(), TextMessageChunkEvent::default().with_delta("y").into()];
    let used = allocation_counter::measure(|| {
        for event in chunks.iter().cycle().take(DELTAS) {
            sequence.check_spelled(event).unwrap();
        }
    });
    assert_eq!((used.count_total, used.bytes_max), (0, 0));
}

#[test]
fn memory_does_not_grow_with_items_opened_and_closed_again() {
    let mut sequence = Sequence::new(Policy::Producer);
    sequence.check(&RunStartedEvent::new("t", "r").into()).unwrap();
    let cycle: [Event; 3] = [
        TextMessageStartEvent::new("m").into(),
        TextMessageContentEvent::new("m", "x").into(),
        agui_core::TextMessageEndEvent::new("m").into(),
    ];
    let mut round = |times: usize| {
        allocation_counter::measure(|| {
            for event in cycle.iter().cycle().take(3 * times) {
                sequence.check(event).unwrap();
            }
        })
    };
    round(10);
    assert_eq!(round(10_000).bytes_current, 0);
}
