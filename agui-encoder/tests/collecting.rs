//! Reading a request's body: the limit, with and without a declared length, and what is read beyond it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use agui_encoder::http::{BodyCollector, RequestBody, collect_body, drain_body};
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body, Frame};

/// A body of pieces that counts how much of it was read, and then ends, fails or hangs.
struct Pieces {
    queue: Vec<Bytes>,
    read: Arc<AtomicUsize>,
    then: Poll<Option<Result<Frame<Bytes>, &'static str>>>,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Vec<u8>>) -> (Self, Arc<AtomicUsize>) {
        let mut pieces: Vec<_> = pieces.into_iter().map(Bytes::from).collect();
        pieces.reverse();
        let read = Arc::new(AtomicUsize::new(0));
        (Self { queue: pieces, read: Arc::clone(&read), then: Poll::Ready(None) }, read)
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        match self.queue.pop() {
            Some(piece) => {
                self.read.fetch_add(piece.len(), Ordering::Relaxed);
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            None => std::mem::replace(&mut self.then, Poll::Ready(None)),
        }
    }
}

fn declared(length: usize) -> HeaderMap {
    HeaderMap::from_iter([(header::CONTENT_LENGTH, length.into())])
}

fn undeclared() -> HeaderMap {
    HeaderMap::new()
}

#[tokio::test]
async fn a_body_of_the_limit_is_complete_however_it_is_cut() {
    for cut in 1..=10 {
        for headers in [undeclared(), declared(10)] {
            let (body, _) = Pieces::new(b"0123456789".chunks(cut).map(<[u8]>::to_vec));
            assert_eq!(collect_body(body, &headers, 10).await, RequestBody::Complete("0123456789".into()));
            let (body, _) = Pieces::new(b"0123456789".chunks(cut).map(<[u8]>::to_vec));
            assert_eq!(collect_body(body, &headers, 9).await, RequestBody::TooLarge);
        }
    }
    let (body, _) = Pieces::new([]);
    assert_eq!(collect_body(body, &undeclared(), 0).await, RequestBody::Complete(Bytes::new()));
}

#[tokio::test]
async fn behind_an_upgrade_no_more_is_read_than_is_declared() {
    let asks = |mut headers: HeaderMap| {
        headers.insert(header::UPGRADE, http::HeaderValue::from_static("websocket"));
        headers
    };
    let endless = |pieces: &[&str]| {
        let (mut body, read) = Pieces::new(pieces.iter().map(|piece| piece.as_bytes().to_vec()));
        body.then = Poll::Pending;
        (body, read)
    };
    for pieces in [&["0123", "456789"][..], &["0123456789frame"], &["0123456789", "frame"]] {
        let (body, _) = endless(pieces);
        let read = collect_body(body, &asks(declared(10)), 10).await;
        assert_eq!(read, RequestBody::Complete("0123456789".into()));
        let (body, _) = endless(pieces);
        assert_eq!(collect_body(body, &asks(declared(10)), 9).await, RequestBody::TooLarge);
        let (body, _) = endless(pieces);
        drain_body(body, &asks(declared(10))).await;
    }
    let (body, read) = endless(&["frame"]);
    assert_eq!(collect_body(body, &asks(undeclared()), 10).await, RequestBody::Complete(Bytes::new()));
    let (body, drained) = endless(&["frame"]);
    drain_body(body, &asks(undeclared())).await;
    assert_eq!((read.load(Ordering::Relaxed), drained.load(Ordering::Relaxed)), (0, 0));
    // Chunks have an end of their own.
    let chunked = [(header::TRANSFER_ENCODING, http::HeaderValue::from_static("chunked"))];
    let (body, _) = Pieces::new([b"01".to_vec(), b"23".to_vec()]);
    let read = collect_body(body, &asks(HeaderMap::from_iter(chunked)), 10).await;
    assert_eq!(read, RequestBody::Complete("0123".into()));
}

#[tokio::test]
async fn a_piece_that_fills_the_body_is_not_copied() {
    let piece = Bytes::from(vec![7; 1000]);
    let (mut body, _) = Pieces::new([]);
    body.queue.push(piece.clone());
    let RequestBody::Complete(bytes) = collect_body(body, &declared(1000), 1000).await else {
        panic!("refused")
    };
    assert_eq!(bytes.as_ptr(), piece.as_ptr());
}

#[tokio::test]
async fn a_bounded_rest_of_a_body_over_the_limit_is_read() {
    const MIB: usize = 1024 * 1024;
    for headers in [undeclared(), declared(5 * MIB)] {
        let (body, read) = Pieces::new((0..5).map(|_| vec![0; MIB]));
        assert_eq!(collect_body(body, &headers, MIB).await, RequestBody::TooLarge);
        assert_eq!(read.load(Ordering::Relaxed), 5 * MIB, "all of a moderate one");
    }
    let (body, read) = Pieces::new((0..100).map(|_| vec![0; MIB]));
    assert_eq!(collect_body(body, &undeclared(), MIB).await, RequestBody::TooLarge);
    assert!(read.load(Ordering::Relaxed) <= 18 * MIB, "and not all of any");
}

#[tokio::test(start_paused = true)]
async fn the_rest_is_not_waited_for_without_end() {
    let (mut body, _) = Pieces::new([vec![0; 20]]);
    body.then = Poll::Pending;
    assert_eq!(collect_body(body, &undeclared(), 10).await, RequestBody::TooLarge);
}

#[tokio::test]
async fn a_client_that_asks_first_is_not_asked_for_what_nobody_reads() {
    let mut headers = declared(20);
    headers.insert(header::EXPECT, "100-continue".parse().unwrap());
    let (body, read) = Pieces::new([vec![0; 20]]);
    assert_eq!(collect_body(body, &headers, 10).await, RequestBody::TooLarge);
    assert_eq!(read.load(Ordering::Relaxed), 0);
    let (body, read) = Pieces::new([vec![0; 20]]);
    drain_body(body, &headers).await;
    assert_eq!(read.load(Ordering::Relaxed), 0);
    let (body, read) = Pieces::new([vec![0; 20]]);
    drain_body(body, &undeclared()).await;
    assert_eq!(read.load(Ordering::Relaxed), 20);
}

#[tokio::test]
async fn a_body_that_breaks_off_has_no_sender_any_more() {
    let (mut body, _) = Pieces::new([vec![0; 5]]);
    body.then = Poll::Ready(Some(Err("reset")));
    assert_eq!(collect_body(body, &declared(8), 10).await, RequestBody::Vanished);
    let (mut body, _) = Pieces::new([vec![0; 15]]);
    body.then = Poll::Ready(Some(Err("reset")));
    assert_eq!(collect_body(body, &undeclared(), 10).await, RequestBody::TooLarge);
}

#[tokio::test]
async fn trailers_are_no_data() {
    let (mut body, _) = Pieces::new([b"{}".to_vec()]);
    body.then = Poll::Ready(Some(Ok(Frame::trailers(HeaderMap::new()))));
    assert_eq!(collect_body(body, &undeclared(), 10).await, RequestBody::Complete("{}".into()));
}

#[test]
fn a_declared_length_alone_costs_no_memory() {
    let used = allocation_counter::measure(|| {
        let mut collector = BodyCollector::new(usize::MAX, &declared(usize::MAX));
        assert!(collector.push(Bytes::from_static(b"a")).is_continue());
        assert!(collector.push(Bytes::from_static(b"b")).is_continue());
        assert_eq!(collector.finish(), RequestBody::Complete("ab".into()));
    });
    assert!(used.bytes_max <= 2 * 1024 * 1024, "{used:?}");
}

#[tokio::test]
async fn a_body_of_another_kind_is_read_as_well() {
    let body = http_body_util::Full::new(std::io::Cursor::new(b"{}".to_vec()));
    let body: http_body_util::combinators::BoxBody<_, Infallible> = http_body_util::BodyExt::boxed(body);
    assert_eq!(collect_body(body, &undeclared(), 2).await, RequestBody::Complete("{}".into()));
}
