//! The grammar of server-sent events, a rule at a time.

use agui_core::Event;
use agui_encoder::decode::{Decoder, End, SseDecoder};

use crate::ways::{Decoded, Ending, every_way, sse};

fn decoded(body: impl AsRef<[u8]>) -> Decoded {
    every_way(sse, body.as_ref())
}

/// The texts of a body that ends in order.
#[track_caller]
fn assert_texts(body: impl AsRef<[u8]>, texts: &[&str]) {
    let decoded = decoded(body);
    assert_eq!(decoded.texts(), texts);
    assert_eq!(decoded.ending, Ending::Clean);
}

#[track_caller]
fn assert_truncated(body: &str, texts: &[&str], index: u64, offset: u64) {
    let decoded = decoded(body);
    assert_eq!(decoded.texts(), texts);
    let Ending::Truncated(truncation) = decoded.ending else { panic!("{:?}", decoded.ending) };
    assert_eq!((truncation.index(), truncation.offset()), (index, offset));
}

#[test]
fn an_empty_line_closes_a_frame() {
    assert_texts("data: 1\n\ndata: 2\n\n", &["1", "2"]);
}

#[test]
fn a_body_without_bytes_ends_in_order() {
    assert_texts("", &[]);
}

#[test]
fn lines_end_with_lf_cr_or_crlf() {
    for end in ["\n", "\r", "\r\n"] {
        assert_texts(format!("data: 1{end}{end}: c{end}data: 2{end}data: 3{end}{end}"), &["1", "2\n3"]);
    }
}

#[test]
fn line_ends_may_be_mixed() {
    assert_texts("data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\ndata: 4\n\rdata: 5\r\r", &["1", "2", "3", "4", "5"]);
}

#[test]
fn an_lf_after_a_cr_does_not_close_a_frame() {
    assert_texts("data: 1\r\ndata: 2\r\n\r\n", &["1\n2"]);
}

#[test]
fn a_frame_closed_by_cr_comes_before_the_next_byte() {
    let mut decoder = SseDecoder::new();
    decoder.push("data: 1\r\r");
    assert_eq!(decoder.next_frame().unwrap().unwrap().text(), "1");
    decoder.push("\ndata: 2\r\n\r");
    assert_eq!(decoder.next_frame().unwrap().unwrap().text(), "2");
}

#[test]
fn one_bom_at_the_start_is_skipped() {
    let decoded = decoded("\u{FEFF}data: 1\n\ndata: 2\n\n");
    assert_eq!(decoded.texts(), ["1", "2"]);
    assert_eq!(decoded.offsets(), [9, 18]);
}

#[test]
fn a_second_bom_is_part_of_the_name() {
    assert_texts("\u{FEFF}\u{FEFF}data: 1\n\ndata: 2\n\n", &["2"]);
}

#[test]
fn a_bom_anywhere_else_is_part_of_the_line() {
    assert_texts("data: 1\n\n\u{FEFF}data: 2\n\ndata:\u{FEFF}3\n\n", &["1", "\u{FEFF}3"]);
}

#[test]
fn half_a_bom_is_part_of_the_name() {
    assert_texts(b"\xEF\xBBdata: 1\n\ndata: 2\n\n", &["2"]);
    assert_texts(b"\xEF\n\ndata: 2\n\n", &["2"]);
    assert_texts(b"\xEF\xBB", &[]);
}

#[test]
fn one_space_after_the_colon_is_left_out() {
    assert_texts("data:1\n\ndata: 2\n\ndata:  3\n\ndata:\t4\n\n", &["1", "2", " 3", "\t4"]);
}

#[test]
fn spaces_at_the_end_of_a_line_stay() {
    assert_texts("data: 1  \n\n", &["1  "]);
}

#[test]
fn several_data_lines_join_with_line_feeds() {
    assert_texts("data: {\ndata:   \"a\":\ndata:1\ndata\ndata: }\n\n", &["{\n  \"a\":\n1\n\n}"]);
}

#[test]
fn data_lines_join_across_other_lines() {
    assert_texts("data: 1\n: comment\nid: 7\ndata: 2\n\n", &["1\n2"]);
}

/// `BIND-2`.
#[test]
fn comments_and_other_fields_are_skipped_wherever_they_stand() {
    assert_texts(
        ": hi\n\nretry: 10\n\n:\nevent: RUN_ERROR\nid\ndata: 1\n: in\nevent: x\n\n:bye\n\nid: 9\n",
        &["1"],
    );
}

#[test]
fn a_name_has_to_be_data_exactly() {
    assert_texts("Data: 1\ndat: 2\nda\ndatax: 3\n data: 4\ndata : 5\ndatadata: 6\n\ndata: 7\n\n", &["7"]);
}

#[test]
fn a_colon_in_the_value_is_part_of_it() {
    assert_texts("data: a:b\n\ndata::\n\n", &["a:b", ":"]);
}

#[test]
fn a_frame_with_empty_data_is_none() {
    assert_texts("data\n\ndata:\n\ndata: \n\n\n\ndata: 1\n\n", &["1"]);
}

#[test]
fn data_that_is_not_empty_is_a_frame_even_if_it_is_no_json() {
    assert_texts("data: [DONE]\n\ndata:\ndata:\n\n", &["[DONE]", "\n"]);
}

#[test]
fn a_nul_is_a_byte_like_any_other() {
    assert_texts("data: \0\n\n\0data: 1\n\n", &["\0"]);
}

#[test]
fn frames_are_numbered_and_know_where_their_text_starts() {
    let body = ": c\n\ndata\n\ndata: 1\n\nid: 1\ndata:2\ndata:3\n\ndata: 4";
    let decoded = decoded(body);
    assert_eq!(decoded.offsets(), [17, 31, 47]);
    assert_eq!(decoded.frames.iter().map(|frame| frame.1).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(body[47..].starts_with('4'));
}

#[test]
fn a_frame_that_nothing_closes_counts_if_it_is_whole_json() {
    assert_texts("data: 1\n\ndata: {\"a\":2}", &["1", "{\"a\":2}"]);
    assert_texts("data: {\"a\":2}\n", &["{\"a\":2}"]);
    assert_texts("data: {\"a\":2}\r", &["{\"a\":2}"]);
    assert_texts("data: {\ndata: \"a\":2}", &["{\n\"a\":2}"]);
    assert_texts("data: {\"a\":2}\n: comme", &["{\"a\":2}"]);
    assert_texts("data: {\"a\":2}\ndata:", &["{\"a\":2}"]);
}

#[test]
fn a_frame_that_nothing_closes_is_a_truncation_if_it_is_not() {
    assert_truncated("data: 1\n\ndata: {\"a\":", &["1"], 1, 15);
    assert_truncated("data: {\"a\":\n", &[], 0, 6);
    assert_truncated("data: {\"a\":\n: comment\n", &[], 0, 6);
    assert_truncated("data: {\"a\":1}\ndata: }", &[], 0, 6);
    assert_truncated("data: [DONE]", &[], 0, 6);
}

#[test]
fn a_body_that_ends_in_what_may_be_a_data_line_is_truncated() {
    for tail in ["d", "da", "dat", "data", "data:", "data: "] {
        assert_truncated(&format!("data: 1\n\n{tail}"), &["1"], 1, 9);
    }
}

#[test]
fn a_body_that_ends_in_a_line_of_another_kind_ends_in_order() {
    for tail in [":", ": keep-al", "id: 1", "event", "datax", "\r", "data:\n", "dat\n"] {
        assert_texts(format!("data: 1\n\n{tail}"), &["1"]);
    }
}

#[test]
fn deep_json_at_the_end_is_judged_without_a_stack() {
    let depth = 1_000_000;
    let body = format!("data: {}{}", "[".repeat(depth), "]".repeat(depth));
    let mut decoder = SseDecoder::new();
    decoder.push(body);
    assert!(matches!(decoder.finish(), Ok(End::Frame(_))));
}

#[test]
fn invalid_utf_8_is_passed_on_and_read_as_replacement_characters() {
    let body = b"data: \"caf\xE9\"\n\n\xFFdata: 1\n\ndata: \"\xE2\x82\ndata: \"\n\n";
    let frames = decoded(body).frames;
    let texts: Vec<_> = frames.iter().map(|(text, ..)| text.as_slice()).collect();
    assert_eq!(texts, [b"\"caf\xE9\"".as_slice(), b"\"\xE2\x82\n\""]);

    let mut decoder = SseDecoder::new();
    decoder.push(body.to_vec());
    let frame = decoder.next_frame().unwrap().unwrap();
    assert!(frame.lossy());
    assert_eq!(frame.to_str_lossy(), "\"caf\u{FFFD}\"");
}

#[test]
fn a_frame_is_what_an_event_is_read_from() {
    let mut decoder = Decoder::for_content_type("text/event-stream").unwrap();
    decoder.push("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\ndata: \"messageId\":\"m\",\"delta\":\"x\"}\n\n");
    let frame = decoder.next_frame_ref().unwrap().unwrap();
    assert!(matches!(Event::from_json(frame.text()).unwrap(), Event::TextMessageContent(_)));
}

#[test]
fn undrained_frames_are_not_lost_at_the_end() {
    let mut decoder = SseDecoder::new();
    decoder.push("data: 1\n\ndata: 2\n\n");
    decoder.push("data: 3");
    let mut texts = Vec::new();
    while let End::Frame(frame) = decoder.finish().unwrap() {
        texts.push(frame.into_text());
    }
    assert_eq!(texts, ["1", "2", "3"]);
    assert_eq!(decoder.finish(), Ok(End::Clean));
}

#[test]
fn content_types_are_read_leniently() {
    for name in
        ["text/event-stream", "TEXT/Event-Stream", " text/event-stream ;charset=utf-8", "text/event-stream;"]
    {
        assert!(matches!(Decoder::for_content_type(name), Some(Decoder::Sse(_))), "{name}");
    }
    for name in ["application/x-ndjson", "application/NDJSON; charset=utf-8", "application/jsonl"] {
        assert!(matches!(Decoder::for_content_type(name), Some(Decoder::Ndjson(_))), "{name}");
    }
    for name in ["", ";", "text/event-streams", "text", "application/json"] {
        assert!(Decoder::for_content_type(name).is_none(), "{name}");
    }
}
