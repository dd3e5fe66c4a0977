//! Lines of JSON.

use agui_core::{Event, StepStartedEvent, TextMessageContentEvent};
use agui_encoder::NdjsonEncoder;
use agui_encoder::decode::NdjsonDecoder;
use bytes::BytesMut;

use crate::ways::{Decoded, Ending, every_way, ndjson};

fn decoded(body: impl AsRef<[u8]>) -> Decoded {
    every_way(ndjson, body.as_ref())
}

#[track_caller]
fn assert_texts(body: impl AsRef<[u8]>, texts: &[&str]) {
    let decoded = decoded(body);
    assert_eq!(decoded.texts(), texts);
    assert_eq!(decoded.ending, Ending::Clean);
}

#[test]
fn a_line_is_a_frame() {
    assert_texts("", &[]);
    assert_texts("{\"a\":1}\n[2]\n", &["{\"a\":1}", "[2]"]);
}

#[test]
fn lines_end_with_lf_or_crlf() {
    assert_texts("1\r\n2\n3\r\n", &["1", "2", "3"]);
}

#[test]
fn a_lone_cr_ends_nothing() {
    assert_texts("[1,\r2]\n", &["[1,\r2]"]);
}

#[test]
fn blank_lines_are_none() {
    assert_texts("\n\r\n  \t\n1\n\n \r\n2\n\n", &["1", "2"]);
    assert_texts("1\n \t", &["1"]);
}

#[test]
fn one_bom_at_the_start_is_skipped() {
    assert_texts("\u{FEFF}1\n", &["1"]);
    assert_eq!(decoded("\u{FEFF}\u{FEFF}1\n").texts(), ["\u{FEFF}1"]);
    assert_eq!(decoded(b"\xEF\xBB1\n").frames, [(b"\xEF\xBB1".to_vec(), 0, 0)]);
}

#[test]
fn frames_are_numbered_and_know_where_they_start() {
    let decoded = decoded("\u{FEFF}\n1\n\r\n22\n3");
    assert_eq!(decoded.frames, [(b"1".to_vec(), 0, 4), (b"22".to_vec(), 1, 8), (b"3".to_vec(), 2, 11)],);
}

#[test]
fn the_last_line_needs_no_end_if_it_is_whole_json() {
    assert_texts("1\n{\"a\":2}", &["1", "{\"a\":2}"]);
    assert_texts("{\"a\":2}\r", &["{\"a\":2}"]);
}

/// An end is told from a truncation (`BIND-6`).
#[test]
fn the_last_line_is_a_truncation_if_it_is_not() {
    let decoded = decoded("1\n{\"a\":");
    assert_eq!(decoded.texts(), ["1"]);
    let Ending::Truncated(truncation) = decoded.ending else { panic!("{:?}", decoded.ending) };
    assert_eq!((truncation.index(), truncation.offset()), (1, 2));
    assert_eq!(truncation.to_string(), "the body ends inside frame 1, which starts at byte 2 (LIFE-11)");
}

#[test]
fn a_line_that_is_no_json_is_passed_on() {
    assert_texts("data: 1\n{\n", &["data: 1", "{"]);
}

#[test]
fn invalid_utf_8_is_not_to_be_replaced() {
    let mut decoder = NdjsonDecoder::new();
    decoder.push(b"\"caf\xE9\"\n".to_vec());
    let frame = decoder.next_frame().unwrap().unwrap();
    assert!(!frame.lossy());
    assert!(Event::from_json(frame.text()).is_err());
}

#[test]
fn an_event_is_written_as_one_line_behind_what_is_there() {
    let mut buffer = BytesMut::from("1\n");
    let encoder = NdjsonEncoder::new();
    encoder.encode(&TextMessageContentEvent::new("m", "a\r\nb\u{2028}").into(), &mut buffer).unwrap();
    encoder.encode(&StepStartedEvent::new("s").into(), &mut buffer).unwrap();
    assert_eq!(
        std::str::from_utf8(&buffer).unwrap(),
        "1\n{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a\\r\\nb\u{2028}\"}\n\
         {\"type\":\"STEP_STARTED\",\"stepName\":\"s\"}\n",
    );
}
