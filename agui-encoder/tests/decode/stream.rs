//! Frames from an asynchronous body.

use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use agui_encoder::decode::{Decoder, FrameError, Frames};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::{FutureExt, StreamExt, stream};

use crate::ways::{ndjson, sse};

type Item = Result<Bytes, io::ErrorKind>;

#[expect(clippy::unnecessary_wraps, reason = "an item of a body")]
fn chunk(text: &'static str) -> Item {
    Ok(Bytes::from_static(text.as_bytes()))
}

/// All texts, and the error at the end.
fn read(
    decoder: Decoder,
    chunks: impl IntoIterator<Item = Item>,
) -> (Vec<String>, Option<FrameError<io::ErrorKind>>) {
    let mut frames = Frames::new(stream::iter(chunks), decoder);
    let mut texts = Vec::new();
    let mut error = None;
    while let Some(frame) = frames.next().now_or_never().unwrap() {
        assert!(error.is_none(), "an error is the last item");
        match frame {
            Ok(frame) => texts.push(frame.to_str_lossy().into_owned()),
            Err(met) => error = Some(met),
        }
    }
    assert!(frames.next().now_or_never().unwrap().is_none());
    (texts, error)
}

#[test]
fn a_body_that_ends_in_order_ends_the_frames_without_an_error() {
    let (texts, error) = read(sse(), [chunk("data: 1\n"), chunk(""), chunk("\ndata: 2\n\ndata: 3")]);
    assert_eq!((texts, error), (vec!["1".into(), "2".into(), "3".into()], None));
    assert_eq!(read(ndjson(), [chunk("1\n2")]), (vec!["1".into(), "2".into()], None));
    assert_eq!(read(sse(), []), (vec![], None));
}

#[test]
fn a_body_that_ends_inside_a_frame_is_a_truncation() {
    let (texts, error) = read(sse(), [chunk("data: 1\n\ndata: {")]);
    assert_eq!(texts, ["1"]);
    let error = error.unwrap();
    assert!(error.is_truncation());
    assert_eq!(error.rule(), "LIFE-11");
    assert!(matches!(error, FrameError::Truncated(truncation) if truncation.index() == 1));
}

#[test]
fn a_body_that_fails_hands_out_what_was_whole_and_then_the_failure() {
    let failure = Err(io::ErrorKind::ConnectionReset);
    let (texts, error) = read(sse(), [chunk("data: 1\n\ndata: 2"), failure, chunk("\n\n")]);
    assert_eq!(texts, ["1"]);
    assert_eq!(error, Some(FrameError::Transport(io::ErrorKind::ConnectionReset)));
    assert!(error.unwrap().is_truncation());
}

#[test]
fn a_frame_beyond_the_limit_is_fatal_and_the_body_is_let_go() {
    struct Guard<'a>(&'a Cell<bool>);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }

    let dropped = Cell::new(false);
    let guard = Guard(&dropped);
    let body = stream::iter([chunk("data: 1\n\ndata: 12345")]).chain(stream::pending()).inspect(move |_| {
        let _held = &guard;
    });
    let mut frames = pin!(Frames::new(body, sse().with_max_frame_bytes(4)));
    assert!(frames.next().now_or_never().unwrap().unwrap().is_ok());
    assert!(!dropped.get());
    let error = frames.next().now_or_never().unwrap().unwrap().unwrap_err();
    assert!(matches!(error, FrameError::Decode(_)) && !error.is_truncation());
    assert!(dropped.get());
    assert!(frames.next().now_or_never().unwrap().is_none());
}

#[test]
fn a_frame_goes_out_before_the_body_is_asked_for_more() {
    let mut polls = 0;
    let body = stream::poll_fn(|_| {
        polls += 1;
        match polls {
            1 => Poll::Ready(Some(chunk("data: 1\n\ndata: 2\n\ndata: "))),
            _ => Poll::Pending,
        }
    });
    {
        let mut frames = pin!(Frames::new(body, sse()));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(frames.as_mut().poll_next(&mut cx), Poll::Ready(Some(Ok(_)))));
        assert!(matches!(frames.as_mut().poll_next(&mut cx), Poll::Ready(Some(Ok(_)))));
        assert!(frames.as_mut().poll_next(&mut cx).is_pending());
    }
    assert_eq!(polls, 2);
}

#[test]
fn errors_say_what_to_look_at() {
    let error: FrameError<io::Error> = FrameError::Transport(io::Error::other("gone"));
    assert_eq!(error.to_string(), "the body broke off (LIFE-11)");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "gone");
}

#[test]
fn everything_can_be_sent_between_threads() {
    fn assert_send<T: Send + Sync>() {}
    assert_send::<Decoder>();
    assert_send::<Frames<stream::Empty<Item>>>();
    assert_send::<FrameError<io::Error>>();
}
