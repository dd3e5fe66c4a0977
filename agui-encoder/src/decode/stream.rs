//! Frames from an asynchronous body.
//!
//! A thin face over the decoders: it owns no timer, spawns nothing, and gives up the body as soon as that ends or fails.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;

use super::{DecodeError, Decoder, End, Frame, Truncation};

pin_project! {
    /// The frames of a body that arrives as a stream of chunks.
    ///
    /// It ends without an error when the body ends between two frames, or inside one whose text is whole JSON. Every
    /// other ending is an error, the last item of the stream. Frames that a chunk holds whole share its memory.
    ///
    /// # Cancel safety
    /// Dropping a future that waits for the next frame loses nothing.
    ///
    /// # Examples
    /// ```
    /// use agui_encoder::decode::{Decoder, FrameError, Frames};
    /// use bytes::Bytes;
    /// use futures_util::{StreamExt, stream};
    ///
    /// # futures_util::FutureExt::now_or_never(async {
    /// let chunks = ["data: {\"type\":", "\"A\"}\n\ndata: {\"ty"].map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk)));
    /// let decoder = Decoder::for_content_type("text/event-stream; charset=utf-8").unwrap();
    /// let mut frames = Frames::new(stream::iter(chunks), decoder);
    /// assert_eq!(frames.next().await.unwrap()?.text(), r#"{"type":"A"}"#);
    /// assert!(matches!(frames.next().await, Some(Err(FrameError::Truncated(_)))));
    /// assert!(frames.next().await.is_none());
    /// # Ok::<(), FrameError<std::io::Error>>(())
    /// # }).unwrap()?;
    /// # Ok::<(), FrameError<std::io::Error>>(())
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct Frames<S> {
        #[pin]
        body: Option<S>,
        decoder: Decoder,
        done: bool,
    }
}

impl<S> Frames<S> {
    /// Reads the body with a decoder that has read nothing yet.
    pub const fn new(body: S, decoder: Decoder) -> Self {
        Self { body: Some(body), decoder, done: false }
    }
}

impl<S, E> Stream for Frames<S>
where
    S: Stream<Item = Result<Bytes, E>>,
{
    type Item = Result<Frame, FrameError<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        while !*this.done {
            if let Some(frame) = this.decoder.next_frame() {
                if frame.is_err() {
                    this.body.set(None);
                    *this.done = true;
                }
                return Poll::Ready(Some(frame.map_err(FrameError::Decode)));
            }
            let chunk = match this.body.as_mut().as_pin_mut() {
                Some(body) => ready!(body.poll_next(cx)),
                None => None,
            };
            match chunk {
                Some(Ok(chunk)) => this.decoder.push(chunk),
                Some(Err(error)) => {
                    this.body.set(None);
                    *this.done = true;
                    return Poll::Ready(Some(Err(FrameError::Transport(error))));
                }
                None => {
                    this.body.set(None);
                    let last = match this.decoder.finish() {
                        Ok(End::Frame(frame)) => return Poll::Ready(Some(Ok(frame))),
                        Ok(End::Clean) => None,
                        Ok(End::Truncated(truncation)) => Some(Err(FrameError::Truncated(truncation))),
                        Err(error) => Some(Err(FrameError::Decode(error))),
                    };
                    *this.done = true;
                    return Poll::Ready(last);
                }
            }
        }
        Poll::Ready(None)
    }
}

impl<S, E> FusedStream for Frames<S>
where
    S: Stream<Item = Result<Bytes, E>>,
{
    fn is_terminated(&self) -> bool {
        self.done
    }
}

impl<S> fmt::Debug for Frames<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("decoder", &self.decoder)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

/// Why [`Frames`] ended before its body did in order. Frames that came before it count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError<E> {
    /// The transport failed. The run is truncated (`LIFE-11`); what had arrived of a frame not yet closed is lost.
    #[error("the body broke off (LIFE-11)")]
    Transport(#[source] E),
    /// The bytes cannot be cut into frames. Fatal (`PROC-6`).
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The body ended inside a frame. The run is truncated (`LIFE-11`), not failed.
    #[error(transparent)]
    Truncated(#[from] Truncation),
}

impl<E> FrameError<E> {
    /// Whether the run counts as truncated, rather than as failed.
    pub const fn is_truncation(&self) -> bool {
        match self {
            Self::Transport(_) | Self::Truncated(_) => true,
            Self::Decode(_) => false,
        }
    }

    /// The number of the rule that says what the ending means.
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Transport(_) | Self::Truncated(_) => "LIFE-11",
            Self::Decode(error) => error.rule(),
        }
    }
}
