//! `cargo xtask convert`: write the frames of a recording as another wire has them.
//!
//! Nothing is judged: what the reader accepts goes out, JSON or not, and JSON text goes out as it stands. Only line
//! breaks between tokens become spaces, since a frame gets one line. What the other wire would read as something else
//! is an error that names the frame; the frames before it have been written then. The binary wire has trees and not
//! text: what goes there is read first, and what comes from there is written as compact JSON. What is lost on it in any
//! case (empty optional lists, unknown members, digits beyond a double) is lost here without a word.

use std::{
    borrow::Cow,
    io::{self, Read, Write},
    ops::ControlFlow,
};

use agui_encoder::{decode::FrameRef, protobuf::encode_raw};
use anyhow::{Context, bail};
use bytes::{BufMut, BytesMut};
use serde_json::{Map, Value};

use crate::{
    Verdict,
    frames::{self, Ending, Wire},
};

/// The byte order mark, which a reader drops where a body starts with it.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How the frames are laid out.
    #[arg(long, value_enum)]
    from: Wire,
    /// How they are written to standard output.
    #[arg(long, value_enum)]
    to: Wire,
    /// The recorded stream, `-` for standard input.
    file: String,
}

/// Writes the frames to standard output.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    let converted = convert(frames::open(&args.file)?, args.from, args.to, &mut output);
    output.flush().context("cannot write to standard output")?;
    converted?;
    Ok(Verdict::Clean)
}

/// Writes the frames of a recording in the order they come; frames are counted from 1 in errors.
pub(crate) fn convert(
    source: impl Read,
    from: Wire,
    to: Wire,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let mut carried = BytesMut::new();
    let ending = frames::read(source, from, |frame| {
        let number = frame.index() + 1;
        let written = carry(frame, to, &mut carried)
            .with_context(|| format!("frame {number} cannot be carried"))
            .and_then(|()| output.write_all(&carried).context("cannot write the output"));
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    match ending.context("cannot read the input")? {
        Ending::Clean => Ok(()),
        Ending::Stopped(error) => Err(error),
        Ending::Truncated(truncation) => bail!("frame {} is broken off (LIFE-11)", truncation.index() + 1),
        Ending::Refused(error) => {
            bail!("frame {} cannot be read: {}", error.index() + 1, frames::refusal(&error))
        }
    }
}

/// Puts a frame as the other wire has it into the buffer, whatever was there before.
fn carry(frame: FrameRef<'_>, to: Wire, carried: &mut BytesMut) -> anyhow::Result<()> {
    carried.clear();
    match to {
        Wire::Sse => text(frame, b"data: ", b"\n\n", carried),
        Wire::Ndjson => text(frame, b"", b"\n", carried),
        Wire::Protobuf if frame.is_binary() => {
            carried.put_u32(u32::try_from(frame.text().len()).context("it is too long")?);
            carried.put_slice(frame.text());
            Ok(())
        }
        Wire::Protobuf => Ok(encode_raw(&frames::tree(frame)?, carried)?),
    }
}

fn text(frame: FrameRef<'_>, before: &[u8], after: &[u8], carried: &mut BytesMut) -> anyhow::Result<()> {
    carried.put_slice(before);
    if frame.is_binary() {
        serde_json::to_writer((&mut *carried).writer(), &type_first(frames::tree(frame)?))?;
    } else {
        carried.put_slice(&line(frame)?);
    }
    carried.put_slice(after);
    Ok(())
}

/// The event as producers write it: readers look for the type at the front.
fn type_first(mut event: Value) -> Value {
    if let Value::Object(members) = &mut event
        && let Some(event_type) = members.remove("type")
    {
        let mut ordered = Map::from_iter([("type".to_owned(), event_type)]);
        ordered.append(members);
        return Value::Object(ordered);
    }
    event
}

/// A frame's text as one line that every wire reads as the same text.
fn line(frame: FrameRef<'_>) -> anyhow::Result<Cow<'_, [u8]>> {
    let text = match std::str::from_utf8(frame.text()) {
        Ok(_) => Cow::Borrowed(frame.text()),
        // What the grammar of event streams reads there.
        Err(_) if frame.lossy() => {
            Cow::Owned(String::from_utf8_lossy(frame.text()).into_owned().into_bytes())
        }
        Err(_) => bail!("it is not UTF-8"),
    };
    if text.trim_ascii().is_empty() {
        bail!("it holds white space alone, which is no frame on a line of its own");
    }
    if text.starts_with(BOM) {
        bail!("it starts with a byte order mark");
    }
    if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return Ok(text);
    }
    // Between tokens a line break is a space; anywhere else it is part of what is said, and no line can hold it.
    if serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err() {
        bail!("it has line breaks and is not JSON");
    }
    let mut text = text.into_owned();
    for byte in &mut text {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use agui_core::Event;
    use agui_encoder::SseEncoder;
    use proptest::prelude::*;

    use super::*;
    use crate::{carried::carried, samples};

    fn converted(body: impl AsRef<[u8]>, from: Wire, to: Wire) -> Result<String, String> {
        let mut output = Vec::new();
        match convert(body.as_ref(), from, to, &mut output) {
            Ok(()) => Ok(String::from_utf8(output).unwrap()),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    proptest! {
        #[test]
        fn what_the_encoder_writes_survives_the_way_through_ndjson(
            events in prop::collection::vec(samples::event(), 0..8),
        ) {
            let written = encoded(&events);
            let lines = converted(&written, Wire::Sse, Wire::Ndjson).unwrap();
            prop_assert_eq!(lines.lines().count(), events.len());
            let back = converted(lines, Wire::Ndjson, Wire::Sse).unwrap();
            prop_assert_eq!(back.as_bytes(), &written[..]);
        }

        #[test]
        fn any_bytes_are_converted_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            for (from, to) in [(Wire::Sse, Wire::Ndjson), (Wire::Ndjson, Wire::Sse), (Wire::Sse, Wire::Sse)] {
                if let Ok(there) = converted(&body, from, to) {
                    let back = converted(&there, to, from).unwrap();
                    prop_assert_eq!(converted(back, from, to).unwrap(), there);
                }
            }
        }
    }

    /// The bytes of a wire, which for text is checked to be text elsewhere.
    fn bytes(body: impl AsRef<[u8]>, from: Wire, to: Wire) -> Result<Vec<u8>, String> {
        let mut output = Vec::new();
        convert(body.as_ref(), from, to, &mut output).map(|()| output).map_err(|error| format!("{error:#}"))
    }

    proptest! {
        #[test]
        fn what_the_encoder_writes_comes_off_the_binary_wire_as_that_wire_has_it(
            events in prop::collection::vec(samples::event(), 0..8),
        ) {
            let binary = bytes(encoded(&events), Wire::Sse, Wire::Protobuf).unwrap();
            let lines = converted(&binary, Wire::Protobuf, Wire::Ndjson).unwrap();
            let back: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let sent: Vec<_> = events.iter().map(|event| carried(serde_json::to_value(event).unwrap())).collect();
            prop_assert_eq!(back, sent);
            // What has gone over it once loses nothing more.
            let again = bytes(&lines, Wire::Ndjson, Wire::Protobuf).unwrap();
            prop_assert_eq!(converted(again, Wire::Protobuf, Wire::Ndjson).unwrap(), lines);
            prop_assert_eq!(bytes(&binary, Wire::Protobuf, Wire::Protobuf).unwrap(), binary);
        }

        #[test]
        fn any_bytes_are_read_as_binary_frames_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(there) = bytes(&body, Wire::Protobuf, Wire::Ndjson) {
                bytes(there, Wire::Ndjson, Wire::Protobuf).unwrap();
            }
        }
    }

    #[test]
    fn events_go_to_the_binary_wire_and_back() {
        let line = r#"{"type":"TEXT_MESSAGE_END","messageId":"a"}"#;
        let frame = b"\0\0\0\x09\x1a\x07\x0a\x02\x08\x02\x12\x01a";
        assert_eq!(bytes(format!("data: {line}\n\n"), Wire::Sse, Wire::Protobuf).unwrap(), frame);
        assert_eq!(converted(frame, Wire::Protobuf, Wire::Ndjson), Ok(format!("{line}\n")));
        assert_eq!(converted(frame, Wire::Protobuf, Wire::Sse), Ok(format!("data: {line}\n\n")));
        // A null in an optional member says nothing, and what has no field is left out.
        let more = r#"{"type":"TEXT_MESSAGE_END","messageId":"a","timestamp":null,"mood":1}"#;
        assert_eq!(bytes(more, Wire::Ndjson, Wire::Protobuf).unwrap(), frame);
    }

    #[test]
    fn what_the_binary_wire_cannot_carry_is_an_error_that_names_the_frame() {
        let good = r#"{"type":"STEP_STARTED","stepName":"s"}"#;
        for bad in ["[DONE]", "5", r#"{"type":"NEW"}"#, r#"{"type":"STEP_STARTED","stepName":7}"#, "{}"] {
            let error = bytes(format!("{good}\n{bad}\n"), Wire::Ndjson, Wire::Protobuf).unwrap_err();
            assert!(error.starts_with("frame 2 cannot be carried: "), "{error}");
        }
        let deep =
            format!(r#"{{"type":"CUSTOM","name":"n","value":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert!(bytes(deep, Wire::Ndjson, Wire::Protobuf).is_err());
    }

    #[test]
    fn a_binary_frame_without_a_name_in_json_is_an_error_that_names_it() {
        // An event of a later protocol, then nothing at all, then a length that is not there.
        for (body, start) in [
            (&b"\0\0\0\x03\x82\x02\0"[..], "frame 1 cannot be carried: "),
            (b"\0\0\0\0", "frame 1 cannot be carried: "),
            (b"\0\0\0\x09\x1a", "frame 1 is broken off (LIFE-11)"),
            (b"\xff\0\0\0", "frame 1 cannot be read: "),
        ] {
            let error = bytes(body, Wire::Protobuf, Wire::Ndjson).unwrap_err();
            assert!(error.starts_with(start), "{error}");
        }
    }

    #[test]
    fn a_frame_that_is_too_large_has_one_number() {
        let body = format!("1\n\"{}", "x".repeat(11 << 20));
        let error = converted(body, Wire::Ndjson, Wire::Sse).unwrap_err();
        let expected =
            "frame 2 cannot be read: it starts at byte 2 and is larger than 10485760 bytes (PROC-6)";
        assert_eq!(error, expected);
    }

    fn encoded(events: &[Event]) -> BytesMut {
        let mut written = BytesMut::new();
        for event in events {
            SseEncoder::new().encode(event, &mut written).unwrap();
        }
        written
    }

    #[test]
    fn json_text_passes_as_it_is() {
        let odd = r#"{"type":"NEW","a":1.0,"a":1e2, "b":"\ud800\u00e9"}"#;
        assert_eq!(
            converted(format!(": hello\nid: 7\ndata: {odd}\n\n"), Wire::Sse, Wire::Ndjson),
            Ok(format!("{odd}\n"))
        );
        assert_eq!(
            converted("[DONE]\r\n\r\n1", Wire::Ndjson, Wire::Sse),
            Ok("data: [DONE]\n\ndata: 1\n\n".into())
        );
    }

    #[test]
    fn several_data_lines_are_rejoined_onto_one() {
        let body = "data: {\ndata: \"a\":\ndata:1}\n\n";
        assert_eq!(converted(body, Wire::Sse, Wire::Ndjson), Ok("{ \"a\": 1}\n".into()));
        assert_eq!(converted("{\"a\":\r1}\n", Wire::Ndjson, Wire::Sse), Ok("data: {\"a\": 1}\n\n".into()));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_what_their_wire_reads() {
        assert_eq!(converted(b"data: \"\xff\"\n\n", Wire::Sse, Wire::Ndjson), Ok("\"\u{fffd}\"\n".into()));
        let error = converted(b"1\n\"\xff\"\n", Wire::Ndjson, Wire::Sse).unwrap_err();
        assert_eq!(error, "frame 2 cannot be carried: it is not UTF-8");
    }

    #[test]
    fn what_a_line_cannot_hold_is_an_error_that_names_the_frame() {
        for (body, reason) in [
            (
                "data: 1\n\ndata: \"a\ndata: b\"\n\n",
                "frame 2 cannot be carried: it has line breaks and is not JSON",
            ),
            (
                "data:  \n\n",
                "frame 1 cannot be carried: it holds white space alone, which is no frame on a line of its own",
            ),
            ("data: \u{feff}1\n\n", "frame 1 cannot be carried: it starts with a byte order mark"),
            ("data: 1\n\ndata: {\"ty", "frame 2 is broken off (LIFE-11)"),
        ] {
            assert_eq!(converted(body, Wire::Sse, Wire::Ndjson), Err(reason.to_owned()));
        }
    }
}
