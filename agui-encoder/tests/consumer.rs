//! From bytes to a conversation: what a consumer gets does not depend on the wire, nor on where its bytes are cut.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

use agui_core::Event;
use agui_core::consumer::Session;
use agui_encoder::decode::{Decoder, End, NdjsonDecoder, SseDecoder};
use agui_encoder::{NdjsonEncoder, SseEncoder};
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything that a consumer can tell of a body.
#[derive(Debug, PartialEq)]
struct Read {
    events: Vec<Value>,
    warnings: Vec<String>,
    error: Option<String>,
    end: String,
    messages: Value,
    state: Value,
    status: &'static str,
}

fn read(mut decoder: Decoder, chunks: &[&[u8]]) -> Read {
    let input = json!({"threadId": "t", "runId": "r", "messages": [{"id": "q", "role": "user", "content": "Hi"}], "state": {"n": 1}});
    let mut session = Session::new();
    let mut exchange = session.send_json(input, 0).unwrap();
    let mut events = Vec::new();
    let mut error = None;
    let mut feed = |text: &[u8]| {
        if error.is_none() {
            let fed = exchange.feed(text, &mut |event, _| events.push(json!(event)));
            error = fed.err().map(|error| error.to_string());
        }
    };
    for chunk in chunks {
        decoder.push(chunk.to_vec());
        while let Some(frame) = decoder.next_frame_ref() {
            feed(frame.unwrap().text());
        }
    }
    let mut last = decoder.finish().unwrap();
    while let End::Frame(frame) = last {
        feed(frame.text());
        last = decoder.finish().unwrap();
    }
    let end = format!("{:?}, {last:?}", exchange.finish());
    let warnings = exchange.warnings().map(ToString::to_string).collect();
    let conversation = exchange.conversation();
    Read {
        messages: json!(conversation.to_messages()),
        state: conversation.state().clone(),
        status: conversation.run_status().as_str(),
        events,
        warnings,
        error,
        end,
    }
}

/// Lines of a body: what fits, what does not, what is unknown, retired or no event.
fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"é\n😀"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"k","delta":"x","mood":"calm"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"y"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","delta":"{}"}"#,
        r#"{"delta":[{"op":"add","path":"/a","value":1.50}],"type":"STATE_DELTA"}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/none"}]}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":2,"n":3}}"#,
        r#"{"type":"NOVEL","x":[{"y":null}]}"#,
        r#"{"type":"CUSTOM","name":"n","value":null,"metadata":{"a":{}}}"#,
        r#" {"type":"STEP_STARTED","stepName":"s"} "#,
        r#"{"type":"STEP_FINISHED","stepName":"s"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        r#"{"type":"RUN_ERROR","message":"jam"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":5}"#,
        "[DONE]",
        "{",
    ])
}

/// The body cut at the given places.
fn cut<'b>(body: &'b [u8], places: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(body.len() + 1)).collect();
    places.extend([0, body.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect()
}

fn sse() -> Decoder {
    Decoder::Sse(SseDecoder::new())
}

fn ndjson() -> Decoder {
    Decoder::Ndjson(NdjsonDecoder::new())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// `PROC-1`, `PROC-6`, `BIND-2`.
    #[test]
    fn any_cut_of_either_wire_gives_the_same(
        lines in vec(line(), 0..12),
        places in vec(any::<prop::sample::Index>(), 0..24),
        line_end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let start = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
        let lines: Vec<&str> = std::iter::once(start).chain(lines).collect();
        let frames: String =
            lines.iter().map(|line| [": ping", line_end, "data: ", line, line_end, line_end].concat()).collect();
        let text: String = lines.iter().map(|line| [line, line_end].concat()).collect();
        let whole = read(sse(), &[frames.as_bytes()]);
        prop_assert_eq!(whole.events.first().map(|event| &event["type"]), Some(&json!("RUN_STARTED")));
        prop_assert_eq!(&read(sse(), &cut(frames.as_bytes(), &places)), &whole);
        prop_assert_eq!(&read(sse(), &frames.as_bytes().chunks(1).collect::<Vec<_>>()), &whole);
        prop_assert_eq!(&read(ndjson(), &[text.as_bytes()]), &whole);
        prop_assert_eq!(&read(ndjson(), &cut(text.as_bytes(), &places)), &whole);
    }

    /// What our encoders write goes from one wire to the other and back without a byte changed.
    #[test]
    fn from_one_wire_to_the_other_and_back_is_the_identity(lines in vec(line(), 0..12)) {
        let events: Vec<Event> = lines.iter().filter_map(|line| Event::from_json(line.as_bytes()).ok()).collect();
        let (mut frames, mut text) = (BytesMut::new(), BytesMut::new());
        for event in &events {
            SseEncoder::new().encode(event, &mut frames).unwrap();
            NdjsonEncoder::new().encode(event, &mut text).unwrap();
        }
        let decoded = |mut decoder: Decoder, body: &BytesMut| {
            decoder.push(body.to_vec());
            let mut events = Vec::new();
            while let Some(frame) = decoder.next_frame_ref() {
                events.push(Event::from_json(frame.unwrap().text()).unwrap());
            }
            events
        };
        let (mut frames_again, mut text_again) = (BytesMut::new(), BytesMut::new());
        for event in decoded(sse(), &frames) {
            NdjsonEncoder::new().encode(&event, &mut text_again).unwrap();
        }
        for event in decoded(ndjson(), &text_again) {
            SseEncoder::new().encode(&event, &mut frames_again).unwrap();
        }
        prop_assert_eq!(text, text_again);
        prop_assert_eq!(frames, frames_again);
    }
}
