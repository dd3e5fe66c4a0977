//! What the wire costs in allocations.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of a test function")]

mod support;

use std::task::Poll;

use agui_core::{
    CustomEvent, Event, MessagesSnapshotEvent, Run, RunEnd, RunFinishedEvent, StateSnapshotEvent,
    TextMessageContentEvent, TextMessageStartEvent, ToolCallArgsEvent, ToolCallResultEvent, UserMessage,
};
use agui_encoder::decode::SseDecoder;
use agui_encoder::http::Endpoint;
use agui_encoder::{Downgrade, Encoder, Format, NdjsonEncoder, SseEncoder};
use bytes::{Bytes, BytesMut};
use serde_json::json;
use support::{chunk, ready_chunk, run, settle};

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

/// The deltas and ends of a stream, which have no tree in them.
fn without_trees() -> [Event; 5] {
    [
        TextMessageStartEvent::new("m1").into(),
        TextMessageContentEvent::new("m1", "tóken").into(),
        ToolCallArgsEvent::new("c1", r#"{"q":"rust"}"#).into(),
        ToolCallResultEvent::new("m2", "c1", "3 hits\n").into(),
        RunFinishedEvent::new("t", "r").into(),
    ]
}

#[test]
fn so_does_encoding_a_line() {
    let (encoder, mut buffer) = (NdjsonEncoder::new(), BytesMut::with_capacity(64 * 1024));
    let events = without_trees();
    let used = allocation_counter::measure(|| {
        for event in &events {
            encoder.encode(event, &mut buffer).unwrap();
        }
    });
    assert_eq!(used.count_total, 0);
}

#[cfg(feature = "protobuf")]
#[test]
fn so_does_encoding_an_event_without_a_tree_on_the_binary_wire() {
    let (mut encoder, mut buffer) = (Encoder::new(Format::Protobuf), BytesMut::with_capacity(64 * 1024));
    let mut encode = |event: &Event| {
        allocation_counter::measure(|| encoder.encode(event, &mut buffer).unwrap()).count_total
    };
    // The first one of a thread makes room for lengths.
    encode(&without_trees()[0]);
    for event in &without_trees() {
        assert_eq!(encode(event), 0, "{event:?}");
    }
}

#[test]
fn cutting_a_body_into_frames_allocates_nothing() {
    let (encoder, mut body) = (SseEncoder::new(), BytesMut::new());
    for event in without_trees().iter().cycle().take(10_000) {
        encoder.encode(event, &mut body).unwrap();
    }
    let chunks: Vec<Bytes> = body.chunks(16 * 1024).map(Bytes::copy_from_slice).collect();
    let mut decoder = SseDecoder::new();
    let mut frames = 0_u64;
    let used = allocation_counter::measure(|| {
        for chunk in &chunks {
            decoder.push(chunk.clone());
            while let Some(frame) = decoder.next_frame_ref() {
                assert!(!frame.unwrap().text().is_empty());
                frames += 1;
            }
        }
    });
    // A frame that a chunk cuts in two is put together in a buffer.
    assert_eq!(frames, 10_000);
    assert!(used.count_total <= 3 * chunks.len() as u64, "{used:?}");
}

#[test]
fn a_stream_whose_events_are_ready_allocates_hardly_anything_for_them() {
    const DELTAS: u64 = 10_000;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let endpoint = Endpoint::new(|run: Run| async move {
        let mut message = run.message();
        for _ in 0..DELTAS {
            message.delta("token").await?;
        }
        message.end().await?;
        Ok(RunEnd::success())
    });
    let mut bytes = 0;
    let used = allocation_counter::measure(|| {
        runtime.block_on(async {
            let mut body = run(&endpoint).await;
            while let Some(chunk) = chunk(&mut body).await {
                bytes += chunk.len();
            }
        });
    });
    assert!(bytes > 500_000);
    // The handler lends the text of each delta, and the string for it is one that has been read.
    let allocated = used.count_total;
    assert!(allocated < DELTAS / 10, "{allocated} for {DELTAS} events");
}

/// Bytes that a stream keeps which has sent so many deltas, all of them read, and waits.
fn kept_by_an_idle_stream(deltas: usize) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let endpoint = Endpoint::new(move |run: Run| async move {
        let mut message = run.message();
        for _ in 0..deltas {
            message.delta("token").await?;
        }
        run.cancelled().await;
        Ok(RunEnd::success())
    });
    let mut held = Vec::with_capacity(1);
    let used = allocation_counter::measure(|| {
        runtime.block_on(async {
            let mut body = run(&endpoint).await;
            let mut idle = 0;
            while idle < 3 {
                match ready_chunk(&mut body) {
                    Poll::Ready(_) => idle = 0,
                    Poll::Pending => idle += 1,
                }
                settle().await;
            }
            held.push(body);
        });
    });
    used.bytes_current
}

#[test]
fn an_idle_stream_keeps_no_buffers_however_much_it_has_sent() {
    kept_by_an_idle_stream(1);
    let (short, long) = (kept_by_an_idle_stream(1), kept_by_an_idle_stream(10_000));
    assert!(short < 8 * 1024, "{short} bytes");
    assert!(long < short + 1024, "{short} bytes after one event, {long} after ten thousand");
}
