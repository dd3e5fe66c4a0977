//! Decodes one body in many ways and requires them all to agree.

use agui_encoder::decode::{DecodeError, Decoder, End, NdjsonDecoder, SseDecoder, Truncation};

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Clean,
    Truncated(Truncation),
    Failed(DecodeError),
}

/// Everything that a decoder says about a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Text, number and offset.
    pub(crate) frames: Vec<(Vec<u8>, u64, u64)>,
    pub(crate) ending: Ending,
}

impl Decoded {
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.frames.iter().map(|(text, ..)| std::str::from_utf8(text).unwrap()).collect()
    }

    pub(crate) fn offsets(&self) -> Vec<u64> {
        self.frames.iter().map(|frame| frame.2).collect()
    }
}

pub(crate) fn sse() -> Decoder {
    Decoder::Sse(SseDecoder::new())
}

pub(crate) fn ndjson() -> Decoder {
    Decoder::Ndjson(NdjsonDecoder::new())
}

/// Decodes chunks, taking the frames of each before the next is pushed.
pub(crate) fn chunks<'a>(mut decoder: Decoder, chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk.to_vec());
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(frame) => frames.push((frame.text().to_vec(), frame.index(), frame.offset())),
                Err(error) => {
                    assert!(decoder.next_frame().is_none(), "an error comes once");
                    assert_eq!(decoder.finish(), Err(error.clone()));
                    return Decoded { frames, ending: Ending::Failed(error) };
                }
            }
        }
    }
    rest(decoder, frames)
}

/// Decodes chunks, borrowing each frame.
fn borrowed<'a>(mut decoder: Decoder, chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk.to_vec());
        while let Some(frame) = decoder.next_frame_ref() {
            match frame {
                Ok(frame) => frames.push((frame.text().to_vec(), frame.index(), frame.offset())),
                Err(error) => return Decoded { frames, ending: Ending::Failed(error) },
            }
        }
    }
    rest(decoder, frames)
}

/// Decodes chunks, all of them pushed before a frame is taken.
fn hoarded<'a>(mut decoder: Decoder, chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    for chunk in chunks {
        decoder.push(chunk.to_vec());
    }
    rest(decoder, Vec::new())
}

fn rest(mut decoder: Decoder, mut frames: Vec<(Vec<u8>, u64, u64)>) -> Decoded {
    let ending = loop {
        match decoder.finish() {
            Ok(End::Frame(frame)) => frames.push((frame.text().to_vec(), frame.index(), frame.offset())),
            Ok(End::Clean) => break Ending::Clean,
            Ok(End::Truncated(truncation)) => break Ending::Truncated(truncation),
            Ok(end) => panic!("{end:?}"),
            Err(error) => break Ending::Failed(error),
        }
    };
    Decoded { frames, ending }
}

/// Decodes a body whole, byte by byte, and cut at every place, and requires the same each time.
pub(crate) fn every_way(decoder: impl Fn() -> Decoder, body: &[u8]) -> Decoded {
    let whole = chunks(decoder(), [body]);
    for size in [1, 2, 3] {
        assert_eq!(chunks(decoder(), body.chunks(size)), whole, "in chunks of {size}");
        assert_eq!(borrowed(decoder(), body.chunks(size)), whole, "borrowed, in chunks of {size}");
        assert_eq!(hoarded(decoder(), body.chunks(size)), whole, "hoarded, in chunks of {size}");
    }
    for at in 0..=body.len() {
        let (first, second) = body.split_at(at);
        assert_eq!(chunks(decoder(), [first, second]), whole, "cut at {at}");
        assert_eq!(borrowed(decoder(), [first, &[], second]), whole, "borrowed, cut at {at}");
    }
    whole
}
