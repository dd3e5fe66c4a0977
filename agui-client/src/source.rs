//! Where the frames of a run come from, whichever transport carries them.

use std::task::{Context, Poll};

use agui_encoder::decode::Frame;

use crate::RunFailure;

/// The frames of one run, as a transport delivers them (`BIND-6`).
///
/// The transports of this crate implement it; so may one of the application's own, with [`Agent`](crate::Agent).
/// Dropping a source before its end gives up the run.
pub trait FrameSource: Send {
    /// The next frame, or nothing once the transport has ended in order.
    ///
    /// Whether that was the end of the run is judged elsewhere. It is not polled again after an error or the end.
    ///
    /// # Errors
    /// The transport broke off, or its bytes cannot be cut into frames.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>>;

    /// The run's terminal event has arrived.
    ///
    /// A transport that ends with the run goes on to its own end, which is what this does unless overridden. One that
    /// carries several runs puts its connection away for the next and gives nothing more.
    fn run_ended(&mut self) {}
}
