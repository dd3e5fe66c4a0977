//! Reading a recorded stream frame by frame, for every command that takes one.
//!
//! The decoders of agui-encoder do the cutting; this drives them from a blocking reader. One chunk and one frame are
//! held at a time, whatever the length of the recording. Frames are not judged here.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    ops::ControlFlow,
};

use agui_core::json::{self, Utf8};
use agui_encoder::decode::{
    DecodeError, Decoder, End, FrameRef, NdjsonDecoder, ProtobufDecoder, SseDecoder, Truncation,
};
use agui_encoder::protobuf::{Decoded, decode_tree};
use anyhow::{Context, bail};
use bytes::Bytes;
use serde_json::Value;

/// The most that is read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// How the frames of a stream are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wire {
    /// Server-sent events: one frame per event, its `data` lines joined.
    Sse,
    /// One frame per line.
    Ndjson,
    /// Length-prefixed protobuf.
    Protobuf,
}

impl Wire {
    /// The wire that a file's name suggests.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "sse" => Some(Self::Sse),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "pb" | "protobuf" | "binpb" => Some(Self::Protobuf),
            _ => None,
        }
    }

    fn decoder(self) -> Decoder {
        match self {
            Self::Sse => Decoder::Sse(SseDecoder::new()),
            Self::Ndjson => Decoder::Ndjson(NdjsonDecoder::new()),
            Self::Protobuf => Decoder::Protobuf(ProtobufDecoder::new()),
        }
    }
}

/// Why there are no more frames.
#[derive(Debug, PartialEq)]
pub(crate) enum Ending<B> {
    /// The recording ended between two frames.
    Clean,
    /// It ended inside one (`LIFE-11`).
    Truncated(Truncation),
    /// It cannot be cut into frames (`PROC-6`). The rest was not read.
    Refused(DecodeError),
    /// Whoever takes the frames wants no more of them. The rest was not read.
    Stopped(B),
}

/// What is wrong with the frame that a recording cannot be cut at, for a command that has its own way to number frames.
pub(crate) fn refusal(error: &DecodeError) -> String {
    match error {
        DecodeError::FrameTooLarge { offset, max_frame_bytes, .. } => {
            format!(
                "it starts at byte {offset} and is larger than {max_frame_bytes} bytes ({})",
                error.rule()
            )
        }
        // Better a second number than nothing.
        _ => error.to_string(),
    }
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(file: &str) -> anyhow::Result<Box<dyn Read>> {
    if file == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let opened = File::open(file).with_context(|| format!("cannot read {file}"))?;
    Ok(Box::new(opened))
}

/// Hands over the frames of a recording, in order.
///
/// # Errors
/// The reader fails. What was handed over before counts.
pub(crate) fn read<B>(
    mut source: impl Read,
    wire: Wire,
    mut take: impl FnMut(FrameRef<'_>) -> ControlFlow<B>,
) -> io::Result<Ending<B>> {
    let mut decoder = wire.decoder();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        while let Some(frame) = decoder.next_frame_ref() {
            match frame {
                Ok(frame) => {
                    if let ControlFlow::Break(reason) = take(frame) {
                        return Ok(Ending::Stopped(reason));
                    }
                }
                Err(error) => return Ok(Ending::Refused(error)),
            }
        }
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => decoder.push(Bytes::copy_from_slice(chunk.get(..count).unwrap_or_default())),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    loop {
        match decoder.finish() {
            Ok(End::Frame(frame)) => {
                if let ControlFlow::Break(reason) = take(frame.as_frame_ref()) {
                    return Ok(Ending::Stopped(reason));
                }
            }
            Ok(End::Truncated(truncation)) => return Ok(Ending::Truncated(truncation)),
            Ok(_) => return Ok(Ending::Clean),
            Err(error) => return Ok(Ending::Refused(error)),
        }
    }
}

/// What a frame says, as a tree, read as a consumer reads it and judged by nobody.
///
/// # Errors
/// It is no JSON, or no event of the binary wire, or one that JSON has no name for.
pub(crate) fn tree(frame: FrameRef<'_>) -> anyhow::Result<Value> {
    if frame.is_binary() {
        return match decode_tree(frame.text())? {
            Decoded::Tree { tree, warnings, .. } if warnings.is_empty() => Ok(tree),
            decoded => {
                let reasons: Vec<_> =
                    decoded.warnings().iter().map(|warning| warning.message().to_owned()).collect();
                bail!("it has something that JSON has no name for: {}", reasons.join("; "))
            }
        };
    }
    let utf8 = if frame.lossy() { Utf8::Lossy } else { Utf8::Strict };
    Ok(json::read(frame.text(), utf8, &mut Vec::new())?)
}

/// A body that arrives that many bytes at a time.
#[derive(Debug)]
pub(crate) struct Sliced<'a> {
    rest: &'a [u8],
    slice: usize,
}

impl<'a> Sliced<'a> {
    pub(crate) fn new(body: &'a [u8], slice: usize) -> Self {
        Self { rest: body, slice: slice.max(1) }
    }
}

impl Read for Sliced<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.slice);
        let (now, mut later) = self.rest.split_at(most.min(self.rest.len()));
        std::mem::swap(&mut self.rest, &mut later);
        buffer[..now.len()].copy_from_slice(now);
        Ok(now.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(body: &str, wire: Wire, slice: usize) -> (Vec<String>, Ending<()>) {
        let mut texts = Vec::new();
        let ending = read(Sliced::new(body.as_bytes(), slice), wire, |frame| {
            texts.push(String::from_utf8_lossy(frame.text()).into_owned());
            ControlFlow::Continue(())
        });
        (texts, ending.unwrap())
    }

    #[test]
    fn frames_do_not_depend_on_how_much_is_read_at_a_time() {
        for slice in [1, 2, 7, 1000] {
            let (frames, ending) = texts("data: 1\n\n: x\ndata:2\ndata: 3\n\ndata: 4", Wire::Sse, slice);
            assert_eq!(frames, ["1", "2\n3", "4"], "{slice}");
            assert_eq!(ending, Ending::Clean);
            assert_eq!(texts("1\r\n\n2", Wire::Ndjson, slice).0, ["1", "2"]);
        }
    }

    #[test]
    fn a_body_that_breaks_off_inside_a_frame_is_told_apart() {
        assert!(matches!(texts("data: 1\n\ndata: {\"ty", Wire::Sse, 4).1, Ending::Truncated(_)));
    }

    #[test]
    fn whoever_has_enough_stops_the_reading() {
        let lines = b"1\n2\n3\n".chain(io::repeat(b'\n'));
        let ending = read(lines, Wire::Ndjson, |frame| match frame.text() {
            b"2" => ControlFlow::Break(frame.index()),
            _ => ControlFlow::Continue(()),
        });
        assert_eq!(ending.unwrap(), Ending::Stopped(1));
    }

    #[test]
    fn the_wire_follows_the_ending() {
        assert_eq!(Wire::of_name("a/run.SSE"), Some(Wire::Sse));
        assert_eq!(Wire::of_name("run.v2.jsonl"), Some(Wire::Ndjson));
        for name in ["run.pb", "run.protobuf", "run.BINPB"] {
            assert_eq!(Wire::of_name(name), Some(Wire::Protobuf));
        }
        assert_eq!(Wire::of_name("run.json"), None);
        assert_eq!(Wire::of_name("-"), None);
    }
}
