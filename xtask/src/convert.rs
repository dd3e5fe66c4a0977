//! `cargo xtask convert`: write the frames of a recording as another wire has them.
//!
//! Nothing is judged: what the reader accepts goes out, JSON or not, and JSON text goes out as it stands. Only line
//! breaks between tokens become spaces, since a frame gets one line. What the other wire would read as something else
//! is an error that names the frame; the frames before it have been written then.

use std::{
    borrow::Cow,
    io::{self, Read, Write},
    ops::ControlFlow,
};

use agui_encoder::decode::FrameRef;
use anyhow::{Context, bail};

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
fn convert(source: impl Read, from: Wire, to: Wire, output: &mut impl Write) -> anyhow::Result<()> {
    let ending = frames::read(source, from, |frame| {
        let number = frame.index() + 1;
        let written = line(frame)
            .with_context(|| format!("frame {number} cannot be carried"))
            .and_then(|line| write(&line, to, output).context("cannot write the output"));
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
            let number = error.index() + 1;
            Err(error).with_context(|| format!("frame {number} cannot be read"))
        }
    }
}

fn write(line: &[u8], to: Wire, output: &mut impl Write) -> io::Result<()> {
    let (before, after): (&[u8], &[u8]) = match to {
        Wire::Sse => (b"data: ", b"\n\n"),
        Wire::Ndjson => (b"", b"\n"),
    };
    output.write_all(before)?;
    output.write_all(line)?;
    output.write_all(after)
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
    use bytes::BytesMut;
    use proptest::prelude::*;

    use super::*;
    use crate::samples;

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
