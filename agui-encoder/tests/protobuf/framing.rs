//! Bodies into frames, however they are cut.

use agui_core::StepStartedEvent;
use agui_encoder::ProtobufEncoder;
use agui_encoder::decode::{DEFAULT_MAX_FRAME_BYTES, Decoder, End, FrameError, Frames, ProtobufDecoder};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt, stream};
use proptest::prelude::*;

fn body(names: &[&str]) -> Bytes {
    let mut body = BytesMut::new();
    for name in names {
        ProtobufEncoder::new().encode(&StepStartedEvent::new(*name).into(), &mut body).unwrap();
    }
    body.freeze()
}

/// Index, offset and payload of every frame, and how the body ended.
fn read(chunks: &[&[u8]], borrowed: bool) -> (Vec<(u64, u64, Vec<u8>)>, String) {
    let mut decoder = ProtobufDecoder::new();
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk.to_vec());
        if borrowed {
            while let Some(frame) = decoder.next_frame_ref() {
                let frame = frame.unwrap();
                frames.push((frame.index(), frame.offset(), frame.text().to_vec()));
            }
        } else {
            while let Some(frame) = decoder.next_frame() {
                let frame = frame.unwrap();
                frames.push((frame.index(), frame.offset(), frame.text().to_vec()));
            }
        }
    }
    (frames, format!("{:?}", decoder.finish()))
}

proptest! {
    #[test]
    fn frames_do_not_depend_on_chunks(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        end in any::<prop::sample::Index>(),
        borrowed in any::<bool>(),
    ) {
        let long = "x".repeat(5000);
        let body = body(&["a", "", &long, "b"]);
        let body = &body[..end.index(body.len() + 1)];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &body[cut[0]..cut[1]]).collect();
        let whole = read(&[body], false);
        assert_eq!(read(&chunks, borrowed), whole);
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(read(&bytes, borrowed), whole);
    }
}

#[test]
fn a_body_ends_between_frames_or_is_truncated() {
    let body = body(&["a", "b"]);
    let first = body.len() / 2;
    for length in 0..=body.len() {
        let (frames, end) = read(&[&body[..length]], false);
        assert_eq!(frames.len(), length / first);
        assert_eq!(end.contains("Clean"), length % first == 0, "{length}: {end}");
        assert_eq!(end.contains("Truncated"), length % first != 0, "{length}: {end}");
    }
}

#[test]
fn a_truncation_says_where_the_frame_starts() {
    let body = body(&["a", "b"]);
    let mut decoder = ProtobufDecoder::new();
    decoder.push(body.slice(..body.len() - 1));
    assert!(decoder.next_frame().unwrap().is_ok());
    assert!(decoder.next_frame().is_none());
    let Ok(End::Truncated(truncation)) = decoder.finish() else { panic!("not truncated") };
    assert_eq!((truncation.index(), truncation.offset()), (1, body.len() as u64 / 2));
}

#[test]
fn a_frame_may_have_ten_mebibytes_with_its_header_and_not_one_byte_more() {
    let largest = u32::try_from(DEFAULT_MAX_FRAME_BYTES - 4).unwrap();
    let mut decoder = ProtobufDecoder::new();
    decoder.push(largest.to_be_bytes().to_vec());
    assert!(decoder.next_frame().is_none());
    decoder.push(vec![0; largest as usize]);
    assert_eq!(decoder.next_frame().unwrap().unwrap().text().len(), largest as usize);

    for length in [largest + 1, u32::MAX] {
        let mut decoder = ProtobufDecoder::new();
        decoder.push(length.to_be_bytes().to_vec());
        let error = decoder.next_frame().unwrap().unwrap_err();
        assert_eq!((error.code(), error.offset()), ("frame_too_large", 0));
        assert!(decoder.next_frame().is_none());
        assert!(decoder.finish().is_err());
    }
}

#[test]
fn an_announced_length_allocates_nothing() {
    let mut decoder = ProtobufDecoder::new();
    let header = Bytes::from_static(b"\x00\x9f\xff\xf0\x1a");
    let used = allocation_counter::measure(|| {
        decoder.push(header);
        assert!(decoder.next_frame().is_none());
    });
    assert!(used.bytes_max < 1024, "{used:?}");
}

#[test]
fn the_content_type_is_read_leniently() {
    for content_type in
        ["application/vnd.ag-ui.event+proto", "Application/VND.ag-ui.Event+Proto; charset=binary"]
    {
        assert!(matches!(Decoder::for_content_type(content_type), Some(Decoder::Protobuf(_))));
    }
    assert!(Decoder::for_content_type("application/x-protobuf").is_none());
}

#[test]
fn frames_come_from_an_asynchronous_body() {
    let body = body(&["a", "b"]);
    let chunks: Vec<_> =
        body[..body.len() - 1].chunks(3).map(Bytes::copy_from_slice).map(Ok::<_, ()>).collect();
    let decoder = Decoder::for_content_type("application/vnd.ag-ui.event+proto").unwrap();
    let frames: Vec<_> = Frames::new(stream::iter(chunks), decoder).collect().now_or_never().unwrap();
    assert_eq!(frames.len(), 2);
    assert!(frames[0].as_ref().unwrap().is_binary());
    assert!(matches!(frames[1], Err(FrameError::Truncated(_))));
}
