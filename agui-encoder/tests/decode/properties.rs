//! Random bodies: no panic, the same whatever the chunks, the same as a reader that sees the body at once.

use agui_core::{Event, TextMessageContentEvent};
use agui_encoder::NdjsonEncoder;
use agui_encoder::decode::Decoder;
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::ways::{Ending, chunks, every_way, ndjson, sse};

/// Bytes that mean something, far more often than chance would have it.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => Just(b"data: ".to_vec()),
        2 => Just(b"data:".to_vec()),
        1 => Just(b"data".to_vec()),
        1 => Just(b"da".to_vec()),
        1 => Just(b": ".to_vec()),
        1 => Just(b"id: ".to_vec()),
        4 => Just(b"\n".to_vec()),
        3 => Just(b"\n\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\xEF\xBB\xBF".to_vec()),
        3 => Just(b"{\"a\":1}".to_vec()),
        1 => Just(b"{".to_vec()),
        1 => Just(b" ".to_vec()),
        2 => vec(any::<u8>(), 0..4),
    ];
    vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Lines of a body, by the grammar: LF, CR or CRLF; what follows the last of them is no line yet.
fn lines(mut body: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(at) = body.iter().position(|byte| b"\r\n".contains(byte)) {
        lines.push(&body[..at]);
        let width = if body[at..].starts_with(b"\r\n") { 2 } else { 1 };
        body = &body[at + width..];
    }
    lines
}

/// The texts of the closed frames of a body, read line by line from all of it.
fn oracle(body: &[u8]) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    let mut data: Vec<&[u8]> = Vec::new();
    for line in lines(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body)) {
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        if line.is_empty() {
            let text = data.join(&b'\n');
            data.clear();
            if !text.is_empty() {
                texts.push(text);
            }
        } else if name == b"data" {
            data.push(value.strip_prefix(b" ").unwrap_or(value));
        }
    }
    texts
}

/// A body cut at random places.
fn cut(body: &[u8], places: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(body.len() + 1)).collect();
    places.extend([0, body.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| body[pair[0]..pair[1]].to_vec()).collect()
}

proptest! {
    /// `BIND-2`: several data lines join, and it does not matter where the bytes are cut.
    #[test]
    fn frames_are_those_of_the_grammar(body in body()) {
        let decoded = every_way(sse, &body);
        let expected = oracle(&body);
        let closed: Vec<&Vec<u8>> = decoded.frames.iter().map(|(text, ..)| text).take(expected.len()).collect();
        prop_assert_eq!(closed, expected.iter().collect::<Vec<_>>());
        // Beyond these there is at most one that nothing closes.
        prop_assert!(decoded.frames.len() <= expected.len() + 1);
        for (index, (text, number, offset)) in decoded.frames.iter().enumerate() {
            prop_assert_eq!(index as u64, *number);
            let start = usize::try_from(*offset).unwrap();
            let line = text.split(|&byte| byte == b'\n').next().unwrap();
            prop_assert!(body[start..].starts_with(line));
        }
    }

    #[test]
    fn lines_are_those_of_the_body(body in body()) {
        let decoded = every_way(ndjson, &body);
        let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&body);
        let mut expected: Vec<&[u8]> = start.split(|&byte| byte == b'\n').collect();
        expected.pop();
        let expected: Vec<&[u8]> = expected
            .into_iter()
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.trim_ascii().is_empty())
            .collect();
        let ended: Vec<&[u8]> = decoded.frames.iter().map(|(text, ..)| &text[..]).take(expected.len()).collect();
        prop_assert_eq!(ended, expected);
    }

    #[test]
    fn limits_are_met_in_the_same_place_whatever_the_chunks(body in body(), max_frame_bytes in 0..12_usize) {
        for decoder in [sse, ndjson] {
            let decoded = every_way(|| decoder().with_max_frame_bytes(max_frame_bytes), &body);
            prop_assert!(decoded.frames.iter().all(|(text, ..)| text.len() <= max_frame_bytes));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(body in vec(any::<u8>(), 0..256)) {
        every_way(sse, &body);
        every_way(ndjson, &body);
    }

    #[test]
    fn what_was_encoded_comes_back(
        deltas in vec(any::<String>(), 0..20),
        places in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let events: Vec<Event> =
            deltas.into_iter().map(|delta| TextMessageContentEvent::new("m", delta).into()).collect();
        let mut lines = BytesMut::new();
        let mut frames = Vec::new();
        for event in &events {
            NdjsonEncoder::new().encode(event, &mut lines).unwrap();
            frames.extend_from_slice(b"data: ");
            serde_json::to_writer(&mut frames, event).unwrap();
            frames.extend_from_slice(b"\n\n");
        }
        let bodies: [(Decoder, Vec<u8>); 2] = [(sse(), frames), (ndjson(), lines.to_vec())];
        for (decoder, body) in bodies {
            let pieces = cut(&body, &places);
            let decoded = chunks(decoder, pieces.iter().map(Vec::as_slice));
            prop_assert_eq!(&decoded.ending, &Ending::Clean);
            let back: Vec<Event> =
                decoded.frames.iter().map(|(text, ..)| Event::from_json(text).unwrap()).collect();
            prop_assert_eq!(&back, &events);
        }
    }
}
