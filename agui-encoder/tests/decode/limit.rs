//! The size that a frame may have.

use agui_encoder::decode::{DEFAULT_MAX_FRAME_BYTES, DecodeError, Decoder};

use crate::ways::{Decoded, Ending, every_way, ndjson, sse};

fn sse_within(max_frame_bytes: usize, body: &str) -> Decoded {
    every_way(|| sse().with_max_frame_bytes(max_frame_bytes), body.as_bytes())
}

fn ndjson_within(max_frame_bytes: usize, body: &str) -> Decoded {
    every_way(|| ndjson().with_max_frame_bytes(max_frame_bytes), body.as_bytes())
}

#[track_caller]
fn assert_too_large(decoded: &Decoded, index: u64, offset: u64) {
    let Ending::Failed(error) = &decoded.ending else { panic!("{:?}", decoded.ending) };
    assert_eq!((error.index(), error.offset()), (index, offset));
    assert_eq!((error.code(), error.rule()), ("frame_too_large", "PROC-6"));
    assert_eq!(decoded.frames.len() as u64, index);
}

#[test]
fn data_of_exactly_the_limit_passes() {
    let decoded = sse_within(8, "data: 12345678\n\ndata:12\ndata:45678\n\ndata:12345678");
    assert_eq!(decoded.texts(), ["12345678", "12\n45678", "12345678"]);
    assert_eq!(decoded.ending, Ending::Clean);
    assert_eq!(ndjson_within(4, "1234\n123\r\n1234").texts(), ["1234", "123", "1234"]);
}

#[test]
fn one_byte_more_does_not() {
    assert_too_large(&sse_within(8, "data: 1\n\ndata: 123456789\n\n"), 1, 15);
    assert_too_large(&sse_within(8, "data: 1\n\ndata: 123456789"), 1, 15);
    assert_too_large(&ndjson_within(4, "1\n12345\n"), 1, 2);
    assert_too_large(&ndjson_within(4, "1\n12345"), 1, 2);
    assert_too_large(&ndjson_within(4, "1234\r\n"), 0, 0);
}

#[test]
fn the_lines_of_a_frame_count_together_with_what_joins_them() {
    assert_too_large(&sse_within(8, "data:12\ndata:456789\n\n"), 0, 5);
    assert_too_large(&sse_within(3, "data\ndata\ndata\ndata\ndata\n\n"), 0, 4);
    assert_too_large(&sse_within(4, "data:1234\ndata\n\n"), 0, 5);
}

#[test]
fn skipped_lines_count_each_by_itself() {
    let decoded = sse_within(8, ": 345678\n: 345678\nid: 5678\ndata:12345678\n: 345678\n\n");
    assert_eq!(decoded.texts(), ["12345678"]);
    assert_too_large(&sse_within(8, "data: 1\n\n: 3456789\n\n"), 1, 9);
    assert_too_large(&sse_within(8, "data: 1\nid: 56789"), 0, 8);
    assert_too_large(&sse_within(8, "datadata:"), 0, 0);
}

#[test]
fn a_limit_below_the_names_of_fields_still_holds() {
    let decoded = sse_within(0, "\n\ndata\n\ndata:\n\n\r\n");
    assert_eq!((decoded.frames.len(), decoded.ending), (0, Ending::Clean));
    assert_too_large(&sse_within(0, "\n:\n"), 0, 1);
    assert_too_large(&sse_within(2, "dat\n"), 0, 0);
    assert_too_large(&sse_within(0, "data: 1\n\n"), 0, 6);
}

#[test]
fn the_limit_is_10_mib_unless_it_is_set() {
    let text = "1".repeat(DEFAULT_MAX_FRAME_BYTES);
    for (mut decoder, start) in [(sse(), "data: "), (ndjson(), "")] {
        decoder.push(format!("{start}{text}\n\n{start}{text}1"));
        assert_eq!(decoder.next_frame().unwrap().unwrap().text().len(), DEFAULT_MAX_FRAME_BYTES);
        assert!(matches!(decoder.next_frame(), Some(Err(DecodeError::FrameTooLarge { .. }))));
    }
}

/// Feeds 64 MiB of a line that never ends, in chunks of 16 KiB that exist one at a time, and returns the most memory
/// taken by it.
fn endless(start: &'static str, mut decoder: Decoder) -> u64 {
    const CHUNK: [u8; 16 * 1024] = [b'x'; 16 * 1024];

    let used = allocation_counter::measure(|| {
        decoder.push(start);
        assert!(decoder.next_frame().is_none());
        let mut errors = 0;
        for _ in 0..64 * 64 {
            decoder.push(&CHUNK[..]);
            errors += usize::from(matches!(decoder.next_frame(), Some(Err(_))));
        }
        assert_eq!(errors, 1);
    });
    used.bytes_max
}

#[test]
fn an_endless_line_takes_no_more_memory_than_the_limit() {
    // The second is no step of a vector that doubles.
    for limit in [1024 * 1024, 1_100_000] {
        // A vector that grows may exist twice for a moment, neither larger than the limit.
        let most = 2 * limit as u64 + 4096;
        assert!(endless("data: ", sse().with_max_frame_bytes(limit)) <= most);
        assert!(endless("{", ndjson().with_max_frame_bytes(limit)) <= most);
        assert!(endless("data: 1\ndata: ", sse().with_max_frame_bytes(limit)) <= most);
        for skipped in [":", "id: ", "x", "dat"] {
            assert!(endless(skipped, sse().with_max_frame_bytes(limit)) < 1024, "{skipped} is not kept");
        }
    }
}
