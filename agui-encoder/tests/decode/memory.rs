//! What is copied and what is allocated.

use agui_core::{Event, TextMessageContentEvent, ToolCallArgsEvent};
use agui_encoder::NdjsonEncoder;
use agui_encoder::decode::Decoder;
use bytes::{Bytes, BytesMut};

use crate::ways::{ndjson, sse};

/// A hundred frames in each format.
fn bodies() -> [(Decoder, String); 2] {
    let text = format!("{{\"type\":\"TEXT_MESSAGE_CONTENT\",\"delta\":\"{}\"}}", "x".repeat(40));
    [(sse(), format!("data: {text}\n\n").repeat(100)), (ndjson(), format!("{text}\n").repeat(100))]
}

#[test]
fn a_frame_that_lies_whole_in_its_chunk_is_a_slice_of_it() {
    for (mut decoder, body) in bodies() {
        let chunk = Bytes::from(body);
        let place = chunk.as_ptr_range();
        decoder.push(chunk.clone());
        let mut count = 0;
        while let Some(frame) = decoder.next_frame() {
            assert!(place.contains(&frame.unwrap().text().as_ptr()));
            count += 1;
        }
        assert_eq!(count, 100);
    }
}

#[test]
fn frames_of_shared_chunks_are_taken_without_an_allocation() {
    for (mut decoder, body) in bodies() {
        let chunk = Bytes::from(body.into_bytes());
        let keep = chunk.clone();
        decoder.push(chunk.slice(..0));
        assert!(decoder.next_frame().is_none());
        let used = allocation_counter::measure(|| {
            for _ in 0..100 {
                decoder.push(keep.clone());
                while let Some(frame) = decoder.next_frame() {
                    frame.unwrap();
                }
            }
        });
        assert_eq!(used.count_total, 0);
    }
}

#[test]
fn borrowed_frames_cost_no_allocation_wherever_the_chunks_are_cut() {
    for (mut decoder, body) in bodies() {
        let chunk = Bytes::from(body.into_bytes());
        let pieces: Vec<Bytes> =
            (0..chunk.len()).step_by(37).map(|at| chunk.slice(at..chunk.len().min(at + 37))).collect();
        let mut read = |times: usize| {
            let mut count = 0;
            for piece in pieces.iter().cycle().take(times * pieces.len()) {
                decoder.push(piece.clone());
                while let Some(frame) = decoder.next_frame_ref() {
                    assert!(frame.unwrap().text().ends_with(b"x\"}"));
                    count += 1;
                }
            }
            count
        };
        assert_eq!(read(1), 100);
        let mut count = 0;
        let used = allocation_counter::measure(|| count = read(100));
        assert_eq!((count, used.count_total), (10_000, 0));
    }
}

#[test]
fn a_large_frame_is_put_together_once_and_its_buffer_given_back() {
    let text = "1".repeat(1024 * 1024);
    for (mut decoder, body) in [(sse(), format!("data: {text}\n\n")), (ndjson(), format!("{text}\n"))] {
        let chunk = Bytes::from(body.into_bytes());
        let pieces: Vec<Bytes> =
            (0..chunk.len()).step_by(4096).map(|at| chunk.slice(at..chunk.len().min(at + 4096))).collect();
        let used = allocation_counter::measure(|| {
            for piece in &pieces {
                decoder.push(piece.clone());
                while let Some(frame) = decoder.next_frame_ref() {
                    assert_eq!(frame.unwrap().text().len(), text.len());
                }
            }
        });
        assert!(used.bytes_max >= 1024 * 1024 && used.bytes_current < 1024, "{used:?}");
        // Growing by doubling makes up to four times the text in all; a copy for each chunk would make 128 times.
        assert!(used.bytes_total < 5 * 1024 * 1024, "{used:?}");
    }
}

#[test]
fn ndjson_is_written_without_an_allocation() {
    let events: [Event; 2] = [
        TextMessageContentEvent::new("m1", "said \"x\"\n").into(),
        ToolCallArgsEvent::new("c1", "{\"q\":").into(),
    ];
    let encoder = NdjsonEncoder::new();
    let mut buffer = BytesMut::with_capacity(1024);
    let used = allocation_counter::measure(|| {
        for event in events.iter().cycle().take(10_000) {
            buffer.clear();
            encoder.encode(event, &mut buffer).unwrap();
        }
    });
    assert_eq!(used.count_total, 0);
}
