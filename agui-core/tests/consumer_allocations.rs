//! What a consumer allocates for a delta: its two strings when it is read, next to nothing when it is folded.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of a test function")]

use agui_core::consumer::{Conversation, Session};
use agui_core::{
    Event, ReasoningMessageContentEvent, ReasoningMessageStartEvent, RunAgentInput, RunStartedEvent,
    TextMessageContentEvent, TextMessageStartEvent, ToolCallArgsEvent, ToolCallStartEvent,
};

const DELTAS: u64 = 100_000;

/// One delta of each kind.
fn deltas() -> [Event; 3] {
    [
        TextMessageContentEvent::new("m1", " token").into(),
        ToolCallArgsEvent::new("c1", "\"quoted\"").into(),
        ReasoningMessageContentEvent::new("r1", " tóken").into(),
    ]
}

/// What opens the items of the deltas.
fn openers() -> [Event; 4] {
    [
        RunStartedEvent::new("t", "r").into(),
        TextMessageStartEvent::new("m1").into(),
        ToolCallStartEvent::new("c1", "search").into(),
        ReasoningMessageStartEvent::new("r1").into(),
    ]
}

fn text(event: &Event) -> Vec<u8> {
    serde_json::to_vec(event).unwrap()
}

#[test]
fn a_delta_is_read_with_an_allocation_for_its_id_and_one_for_its_text() {
    for delta in deltas() {
        let text = text(&delta);
        let used = allocation_counter::measure(|| {
            for _ in 0..1000 {
                assert!(Event::from_json(&text).is_ok());
            }
        });
        // A text with escapes is put together in a buffer first, which is one more.
        let limit = if matches!(delta, Event::ToolCallArgs(_)) { 3000 } else { 2000 };
        assert!(used.count_total <= limit, "{delta:?}: {used:?}");
    }
}

#[test]
fn folding_allocates_as_texts_grow_and_not_with_every_delta() {
    let (mut conversation, mut warnings) = (Conversation::new(), Vec::new());
    for event in openers() {
        conversation.apply(&event, &mut warnings);
    }
    let deltas = deltas();
    let mut fold = |times: u64| {
        allocation_counter::measure(|| {
            for event in deltas.iter().cycle().take(usize::try_from(times).unwrap()) {
                conversation.apply(event, &mut warnings);
            }
        })
        .count_total
    };
    fold(10);
    assert!(fold(DELTAS) < DELTAS / 1000);
}

#[test]
fn the_whole_way_of_a_delta_allocates_what_reading_it_does() {
    let mut session = Session::new();
    let mut exchange = session.send(RunAgentInput::new("t", "r", []), 0).unwrap();
    for event in openers() {
        exchange.absorb(&text(&event)[..], &mut |_| {}).unwrap();
    }
    let delta = text(&deltas()[0]);
    let used = allocation_counter::measure(|| {
        for _ in 0..DELTAS {
            exchange.absorb(&delta[..], &mut |_| {}).unwrap();
        }
    });
    // Texts double as they grow, which is a handful.
    assert!(used.count_total <= 2 * DELTAS + 50, "{used:?}");
}
