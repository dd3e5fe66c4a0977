//! The body of a response: a few bytes of JSON, or the events of a run as they come.
//!
//! Events that are ready at the same moment share a chunk of up to 16 KiB; none is held back to wait for another. After
//! two of them without a pause the body gives way to the scheduler, so that one busy stream does not starve the others. A
//! chunk is handed over whole and an idle body keeps no buffer. The body ends with the terminal event. Bytes are made
//! only when they are asked for, so nothing queues up for a reader that does not read, keep-alive included.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use agui_core::{Event, RunError, RunErrorEvent};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Span;

use super::Disconnect;
use super::drive::Reporter;
use super::source::{Batch, Source};
use crate::{Downgrade, Encoder};

/// How many bytes ready events are joined into.
const CHUNK_BYTES: usize = 16 * 1024;
/// How much a body gives before it gives way: what a full queue comes to, so that it goes out in one turn.
const BURST_BYTES: usize = 2 * CHUNK_BYTES;
/// What an event takes on the wire, for the first guess at a chunk's size.
const USUAL_EVENT_BYTES: usize = 128;
/// How many events an idle body keeps room for.
const IDLE_EVENTS: usize = 1;

/// The body of a response. It does not fail.
///
/// Dropping a stream before its end says that the client is gone.
pub struct Body(Repr);

enum Repr {
    Full(Bytes),
    Stream(Box<EventBody>),
}

impl Body {
    pub(crate) const fn full_bytes(bytes: Bytes) -> Self {
        Self(Repr::Full(bytes))
    }

    /// A body that is complete.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::full_bytes(bytes.into())
    }

    pub(crate) fn stream(stream: EventBody) -> Self {
        Self(Repr::Stream(Box::new(stream)))
    }

    /// Whether this is a stream of events, of no known length.
    pub const fn is_stream(&self) -> bool {
        matches!(self.0, Repr::Stream(_))
    }

    /// A way to say that the client is gone while the body still exists, for frameworks that keep a silent body after
    /// its connection is closed. Nothing where that makes no difference to a run.
    pub fn disconnect(&self) -> Option<Disconnect> {
        match &self.0 {
            Repr::Full(_) => None,
            Repr::Stream(stream) => stream.source.disconnect(),
        }
    }

    /// Stops the run, if it is the one that is meant: its ending comes as the last event. False if another one is
    /// meant.
    #[cfg(feature = "websocket")]
    pub(crate) fn stop(&self, run_id: Option<&str>) -> bool {
        let Repr::Stream(stream) = &self.0 else { return false };
        let meant = run_id.is_none_or(|run_id| stream.reporter.info.run_id.as_str() == run_id);
        if meant {
            stream.source.stop();
        }
        meant
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.0 {
            Repr::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then_some(bytes))
            }
            Repr::Stream(stream) => stream.poll_chunk(cx),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Full(bytes) => f.debug_struct("Body").field("bytes", &bytes.len()).finish(),
            Repr::Stream(_) => f.debug_struct("Body").finish_non_exhaustive(),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_chunk(cx).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Repr::Full(bytes) => bytes.is_empty(),
            Repr::Stream(stream) => stream.done,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Repr::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Repr::Stream(_) => SizeHint::default(),
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_chunk(cx).map(|chunk| chunk.map(Ok))
    }
}

/// Events, encoded for one reader.
pub(crate) struct EventBody {
    source: Source,
    encoder: Encoder,
    downgrade: Option<Downgrade>,
    keep_alive: Option<KeepAlive>,
    reporter: Reporter,
    span: Span,
    /// What has been taken from the source, and how much of it is encoded.
    batch: Batch,
    encoded: usize,
    /// Where the next chunk goes: behind the last one, or in its place if it has gone out. Empty while the body waits.
    spare: BytesMut,
    /// Bytes given since the body last had to wait.
    burst: usize,
    done: bool,
}

/// What a body is made of.
pub(crate) struct EventBodySetup {
    pub(crate) source: Source,
    pub(crate) encoder: Encoder,
    pub(crate) downgrade: bool,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) reporter: Reporter,
    pub(crate) span: Span,
}

impl EventBody {
    pub(crate) fn new(setup: EventBodySetup) -> Self {
        let EventBodySetup { source, encoder, downgrade, keep_alive, reporter, span } = setup;
        let comment = encoder.keep_alive();
        let keep_alive = keep_alive.zip(comment).map(|(interval, comment)| KeepAlive::new(interval, comment));
        Self {
            source,
            encoder,
            downgrade: downgrade.then(Downgrade::new),
            keep_alive,
            reporter,
            span,
            batch: Batch::default(),
            encoded: 0,
            spare: BytesMut::new(),
            burst: 0,
            done: false,
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut chunk = std::mem::take(&mut self.spare);
        while !self.done && chunk.len() < CHUNK_BYTES {
            if self.encoded == self.batch.events().len() && !self.refill(cx) {
                break;
            }
            if chunk.is_empty() {
                if self.burst >= BURST_BYTES {
                    // More is ready, and others want to run as well.
                    self.burst = 0;
                    self.spare = chunk;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                let ready = self.batch.events().len() - self.encoded;
                chunk.reserve((ready * USUAL_EVENT_BYTES).clamp(2 * USUAL_EVENT_BYTES, CHUNK_BYTES + 1024));
            }
            self.encode_batch(&mut chunk);
        }
        // The reader may take its time with the bytes. Events that have been encoded are not needed for that.
        if self.encoded == self.batch.events().len() {
            self.batch.cleared();
            self.encoded = 0;
        } else if chunk.len() > BURST_BYTES {
            self.encoded -= self.batch.forget(self.encoded);
        }
        if !chunk.is_empty() {
            self.burst += chunk.len();
            if let Some(keep_alive) = &mut self.keep_alive {
                keep_alive.touch();
            }
            if chunk.len() > BURST_BYTES {
                // A buffer that a large event has made grow is up to twice as large as the event, and would stay with
                // the body behind the bytes.
                return Poll::Ready(Some(Bytes::copy_from_slice(&chunk)));
            }
            let bytes = chunk.split().freeze();
            if !self.done {
                self.spare = chunk;
            }
            return Poll::Ready(Some(bytes));
        }
        if self.done {
            return Poll::Ready(None);
        }
        self.burst = 0;
        match &mut self.keep_alive {
            Some(keep_alive) => keep_alive.poll(cx).map(Some),
            None => Poll::Pending,
        }
    }

    /// Takes what is ready; false if there is nothing.
    fn refill(&mut self, cx: &mut Context<'_>) -> bool {
        self.encoded = 0;
        match self.source.poll_take(cx, &mut self.batch) {
            Poll::Ready(true) => true,
            Poll::Ready(false) => {
                self.end();
                false
            }
            Poll::Pending => {
                self.batch.shrink(IDLE_EVENTS);
                false
            }
        }
    }

    /// Nothing more is taken. What the source holds is let go of, however long the body lives on.
    fn end(&mut self) {
        self.done = true;
        self.source = Source::Empty;
        self.batch = Batch::default();
    }

    /// Encodes what was taken until the chunk is full.
    fn encode_batch(&mut self, chunk: &mut BytesMut) {
        while let Some(event) = self.batch.events().get(self.encoded) {
            if chunk.len() >= CHUNK_BYTES {
                return;
            }
            let encoded = match &mut self.downgrade {
                None => self.encoder.encode(event, chunk),
                Some(downgrade) => self.encoder.encode(&downgrade.apply(event), chunk),
            };
            if let Err(error) = encoded {
                self.fail(&RunError::internal(error), chunk);
                return;
            }
            self.encoded += 1;
            if matches!(event, Event::RunFinished(_) | Event::RunError(_)) && self.source.ends_with_run() {
                self.end();
                return;
            }
        }
    }

    /// Ends the stream with an error, because one of its events has no place in this format.
    fn fail(&mut self, error: &RunError, chunk: &mut BytesMut) {
        self.span.in_scope(|| self.reporter.report(error));
        let failed = RunErrorEvent::new(error.public_message()).with_code(error.code());
        if let Err(error) = self.encoder.encode(&failed.into(), chunk) {
            tracing::error!(%error, "a RUN_ERROR cannot be encoded");
        }
        self.source.refuse();
        self.end();
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        if !self.done {
            self.source.leave();
        }
        if let Some(downgrade) = &self.downgrade {
            let lost: Vec<_> = downgrade.losses().collect();
            if !lost.is_empty() {
                self.span.in_scope(|| {
                    tracing::warn!(
                        ?lost,
                        "the client declares no protocolVersion and got less than the run holds; a client of AG-UI 1.0 \
                         gets all of it (VER-6)"
                    );
                });
            }
        }
    }
}

/// The comment after a silence.
struct KeepAlive {
    interval: Duration,
    comment: &'static [u8],
    last: Instant,
    /// Set when the body waits for the first time. It is moved only when it fires, not with every event.
    timer: Option<Pin<Box<Sleep>>>,
}

impl KeepAlive {
    fn new(interval: Duration, comment: &'static [u8]) -> Self {
        Self { interval, comment, last: Instant::now(), timer: None }
    }

    fn touch(&mut self) {
        self.last = Instant::now();
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(self.last + self.interval)));
        loop {
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let due = self.last + self.interval;
            let now = Instant::now();
            if now >= due {
                self.last = now;
                timer.as_mut().reset(now + self.interval);
                return Poll::Ready(Bytes::from_static(self.comment));
            }
            timer.as_mut().reset(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use agui_core::producer::{CancelReason, RunSetup, launch};
    use agui_core::{EventType, Run, RunAgentInput, RunEnd};
    use http_body_util::BodyExt;

    use super::*;
    use crate::http::source::RunSource;
    use crate::http::{OnDisconnect, RunInfo};

    #[tokio::test]
    async fn an_event_that_cannot_be_encoded_ends_the_stream_with_an_error() {
        let input = Arc::new(RunAgentInput::new("t", "r", []));
        let info = RunInfo::new(&input, None);
        let handler = |run: Run| async move {
            run.text("one").await?;
            run.custom("broken", 1).await?;
            run.text("two").await?;
            Ok(RunEnd::success())
        };
        let launched = launch(Arc::new(handler), RunSetup::new(input));
        launched.control.settle(launched.task.await);
        let told = Arc::new(Mutex::new(Vec::new()));
        let hook = Arc::clone(&told);
        let body = Body::stream(EventBody::new(EventBodySetup {
            source: Source::Run(RunSource {
                events: launched.events,
                control: launched.control.clone(),
                on_disconnect: OnDisconnect::Cancel,
            }),
            encoder: Encoder::Broken(EventType::Custom),
            downgrade: false,
            keep_alive: None,
            reporter: Reporter {
                info,
                hook: Some(Arc::new(move |error, _| hook.lock().unwrap().push(error.code().to_owned()))),
            },
            span: Span::none(),
        }));
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.contains("\"delta\":\"one\"") && !text.contains("two"), "{text}");
        let error = r#"data: {"type":"RUN_ERROR","message":"The agent failed.","code":"internal_error"}"#;
        assert!(text.ends_with(&format!("{error}\n\n")), "{text}");
        assert_eq!(*told.lock().unwrap(), ["internal_error"]);
        assert_eq!(launched.control.cancel_reason(), Some(CancelReason::Refused));
    }
}
