//! Reading a request's body up to a limit, for adapters.
//!
//! A body over the limit is refused, and a client that is still sending would see a reset instead of the refusal. So a
//! bounded rest is read and dropped first. A client that waits for `100 Continue` is not asked for what nobody reads.
//!
//! Behind a request for an upgrade some frameworks take everything that comes for its body, which does not end then. So
//! no more is read there than the request declares.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING, UPGRADE};
use bytes::{Buf, Bytes, BytesMut};

/// How much of a body over the limit is read and dropped.
const MAX_DRAINED_BYTES: u64 = 16 * 1024 * 1024;
/// For how long.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(5);

/// What came of reading a request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestBody {
    /// All of it.
    Complete(Bytes),
    /// It is over the limit.
    TooLarge,
    /// The sender went away before its end.
    Vanished,
}

/// Collects a body that arrives in pieces, for frameworks whose bodies are not [`http_body::Body`].
///
/// # Examples
/// ```
/// use agui_encoder::http::{BodyCollector, RequestBody};
/// use bytes::Bytes;
/// use http::HeaderMap;
///
/// let mut collector = BodyCollector::new(4, &HeaderMap::new());
/// assert!(collector.push(Bytes::from_static(b"ab")).is_continue());
/// assert!(collector.push(Bytes::from_static(b"cd")).is_continue());
/// assert_eq!(collector.finish(), RequestBody::Complete(Bytes::from_static(b"abcd"))); // exactly the limit
/// ```
#[derive(Debug)]
pub struct BodyCollector {
    limit: usize,
    /// Nobody reads the rest: the client would send it only when asked.
    asks_first: bool,
    too_large: bool,
    first: Bytes,
    joined: BytesMut,
    expected: usize,
    drained: u64,
    /// What is still to come where an end that the framework sees is not to be waited for.
    awaited: Option<u64>,
}

impl BodyCollector {
    /// A collector of at most `limit` bytes, inclusive. The headers tell what length is declared.
    pub fn new(limit: usize, headers: &HeaderMap) -> Self {
        let declared = headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok())
            .and_then(|length| length.trim().parse::<u64>().ok());
        let expected = declared.map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let may_not_end = headers.contains_key(UPGRADE) && !headers.contains_key(TRANSFER_ENCODING);
        Self {
            limit,
            asks_first: headers.contains_key(EXPECT),
            too_large: expected > limit,
            first: Bytes::new(),
            joined: BytesMut::new(),
            expected,
            drained: 0,
            awaited: may_not_end.then_some(declared.unwrap_or(0)),
        }
    }

    /// Whether reading is of no use: all that was declared is here and the framework may not know it, or the declared
    /// length is over the limit and the client waits to be asked for the body.
    pub const fn is_settled(&self) -> bool {
        matches!(self.awaited, Some(0))
            || self.too_large && (self.asks_first || self.drained >= MAX_DRAINED_BYTES)
    }

    /// Whether the body is over the limit, so that what still comes is only dropped.
    pub const fn is_too_large(&self) -> bool {
        self.too_large
    }

    /// Takes a piece. `Break` says that nothing more has to be read.
    pub fn push(&mut self, mut piece: Bytes) -> ControlFlow<()> {
        if let Some(awaited) = &mut self.awaited {
            piece.truncate(usize::try_from(*awaited).unwrap_or(usize::MAX));
            *awaited -= piece.len() as u64;
        }
        let length = self.first.len() + self.joined.len();
        if self.too_large || piece.len() > self.limit.saturating_sub(length) {
            self.too_large = true;
            self.first = Bytes::new();
            self.joined = BytesMut::new();
            self.drained = self.drained.saturating_add(piece.len() as u64);
        } else if length == 0 {
            self.first = piece;
        } else {
            if self.joined.is_empty() {
                // A declared length is trusted up to the limit only, and only once something has arrived.
                self.joined.reserve(self.expected.min(self.limit).min(1024 * 1024).max(length + piece.len()));
                self.joined.extend_from_slice(&self.first);
                self.first = Bytes::new();
            }
            self.joined.extend_from_slice(&piece);
        }
        if self.is_settled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// What the body came to, at its end or when nothing more has to be read.
    pub fn finish(self) -> RequestBody {
        if self.too_large {
            RequestBody::TooLarge
        } else if self.joined.is_empty() {
            RequestBody::Complete(self.first)
        } else {
            RequestBody::Complete(self.joined.freeze())
        }
    }

    /// What the body came to when reading it failed.
    pub const fn finish_failed(&self) -> RequestBody {
        if self.too_large { RequestBody::TooLarge } else { RequestBody::Vanished }
    }
}

/// Reads a body of at most `limit` bytes, inclusive.
///
/// Waits for as long as the client takes to send it; a time limit is the application's. What is over the limit is read
/// and dropped for 5 s and 16 MiB at the most.
pub async fn collect_body<B>(body: B, headers: &HeaderMap, limit: usize) -> RequestBody
where
    B: http_body::Body,
    B::Data: Buf,
{
    let mut collector = BodyCollector::new(limit, headers);
    let mut body = pin!(body);
    while !collector.is_too_large() && !collector.is_settled() {
        match next_piece(body.as_mut()).await {
            None => return collector.finish(),
            Some(Err(())) => return collector.finish_failed(),
            Some(Ok(piece)) => {
                if collector.push(piece).is_break() {
                    return collector.finish();
                }
            }
        }
    }
    if !collector.is_settled() {
        drain(body, &mut collector).await;
    }
    collector.finish()
}

/// Reads and drops a bounded part of a body nobody needs, so that the client sees a refusal that was made without it.
pub async fn drain_body<B>(body: B, headers: &HeaderMap)
where
    B: http_body::Body,
    B::Data: Buf,
{
    if headers.contains_key(EXPECT) {
        return;
    }
    let mut collector = BodyCollector::new(0, headers);
    if !collector.is_settled() {
        drain(pin!(body), &mut collector).await;
    }
}

async fn drain<B: http_body::Body>(mut body: Pin<&mut B>, collector: &mut BodyCollector) {
    let rest = async {
        while let Some(Ok(piece)) = next_piece(body.as_mut()).await {
            if collector.push(piece).is_break() {
                return;
            }
        }
    };
    // Whatever has not come by then is not worth waiting for.
    let _ = tokio::time::timeout(MAX_DRAIN_TIME, rest).await;
}

/// The next piece of data.
async fn next_piece<B: http_body::Body>(mut body: Pin<&mut B>) -> Option<Result<Bytes, ()>> {
    loop {
        let frame = poll_fn(|cx| body.as_mut().poll_frame(cx)).await?;
        match frame.map(http_body::Frame::into_data) {
            Ok(Ok(mut data)) => return Some(Ok(data.copy_to_bytes(data.remaining()))),
            // Trailers say nothing about the body.
            Ok(Err(_)) => {}
            Err(_) => return Some(Err(())),
        }
    }
}
