//! What the wire costs in allocations.

mod support;

use agui_core::{
    CustomEvent, Event, MessagesSnapshotEvent, Run, RunEnd, StateSnapshotEvent, TextMessageContentEvent,
    ToolCallArgsEvent, UserMessage,
};
use agui_encoder::http::Endpoint;
use agui_encoder::{Downgrade, Encoder, Format};
use bytes::BytesMut;
use serde_json::json;
use support::{ready_chunk, run, settle};

#[test]
fn encoding_into_a_grown_buffer_allocates_nothing() {
    let tree = json!({"plan": [{"step": 1, "done": false, "ratio": 0.1}], "note": "a \"quoted\" line\n"});
    let events: [Event; 5] = [
        TextMessageContentEvent::new("m1", "a \"quoted\" tóken\n").into(),
        ToolCallArgsEvent::new("c1", r#"{"q":"rust"}"#).into(),
        StateSnapshotEvent::new(tree.clone()).into(),
        CustomEvent::new("x", tree).into(),
        MessagesSnapshotEvent::new([UserMessage::new("q1", "Where to?").into()]).into(),
    ];
    let mut encoder = Encoder::new(Format::Sse);
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    let used = allocation_counter::measure(|| {
        for event in &events {
            encoder.encode(event, &mut buffer).unwrap();
        }
    });
    assert_eq!(used.count_total, 0);
    assert!(buffer.len() > 300);
}

#[test]
fn an_event_that_needs_no_downgrade_costs_no_allocation() {
    let event = Event::from(TextMessageContentEvent::new("m1", "token"));
    let mut downgrade = Downgrade::new();
    let used = allocation_counter::measure(|| {
        downgrade.apply(&event);
    });
    assert_eq!(used.count_total, 0);
}

#[tokio::test]
async fn a_joined_chunk_costs_a_few_allocations_however_many_events_it_joins() {
    let endpoint = Endpoint::new(|run: Run| async move {
        let mut message = run.message();
        for _ in 0..100 {
            message.delta("token").await?;
        }
        message.end().await?;
        Ok(RunEnd::success())
    });
    let mut body = run(&endpoint).await;
    settle().await;
    let used = allocation_counter::measure(|| {
        assert!(ready_chunk(&mut body).is_ready());
    });
    assert!(used.count_total <= 4, "{used:?}");
}
