//! What can be asked for a run.

use std::borrow::BorrowMut;
use std::future::Future;
use std::time::SystemTime;

use agui_core::RunAgentInput;
use agui_core::consumer::prepare::Peer;
use agui_core::consumer::{Conversation, Exchange};

use crate::{DialError, FrameSource, RunStream};

/// Something that answers a run input with a stream of events.
///
/// A transport says how an input gets there and how frames come back; everything between frames and the application is
/// the same for all.
///
/// # Examples
/// An agent that plays a recording:
/// ```
/// use std::task::{Context, Poll};
///
/// use agui_client::agui_core::RunAgentInput;
/// use agui_client::agui_core::consumer::RunStatus;
/// use agui_client::{Agent, DialError, FrameSource, RunFailure};
/// use agui_encoder::decode::Frame;
///
/// struct Recording(&'static [&'static str]);
///
/// struct Playing(std::iter::Enumerate<std::slice::Iter<'static, &'static str>>);
///
/// impl FrameSource for Playing {
///     fn poll_frame(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>> {
///         Poll::Ready(self.0.next().map(|(index, text)| Ok(Frame::new(*text, index as u64))))
///     }
/// }
///
/// impl Agent for Recording {
///     async fn dial(&self, _: &RunAgentInput) -> Result<Box<dyn FrameSource>, DialError> {
///         Ok(Box::new(Playing(self.0.iter().enumerate())))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Recording(&[
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
///     r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hello"}"#,
///     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
/// ]);
/// let mut run = agent.run(RunAgentInput::new("t", "r", [])).await?;
/// assert_eq!(run.finish().await?, RunStatus::Success);
/// assert_eq!(run.conversation().message("m").unwrap().text(), "Hello");
/// # Ok(())
/// # }
/// ```
pub trait Agent: Send + Sync {
    /// Sends an input that is ready to go out, and gives the frames that answer it.
    ///
    /// Applications call [`run`](Self::run), which makes the input ready and judges what comes back.
    ///
    /// # Errors
    /// The input did not get there, or was refused.
    fn dial(
        &self,
        input: &RunAgentInput,
    ) -> impl Future<Output = Result<Box<dyn FrameSource>, DialError>> + Send;

    /// What is known of the producer: whether inputs declare our version (`VER-1`).
    fn peer(&self) -> Peer {
        Peer::Current
    }

    /// Asks for one run, with nothing held before it.
    ///
    /// What goes out is the input made ready: our version declared, activities left out, lists present (`VER-1`,
    /// `STATE-9`). It resolves as soon as the server has accepted the run.
    ///
    /// # Errors
    /// The input did not get there, or was refused.
    ///
    /// # Cancel safety
    /// A dropped future gives up the run.
    fn run(&self, input: RunAgentInput) -> impl Future<Output = Result<RunStream, DialError>> + Send {
        self.run_in(Conversation::new(), input)
    }

    /// Asks for one run of a conversation, which `conversation` is, or a mutable reference to it. The input's messages
    /// and state become the conversation's, and the run goes on from there.
    ///
    /// # Errors
    /// As [`run`](Self::run), and where the input does not answer the interrupts that the conversation has pending
    /// (`INT-2`): nothing has been sent then.
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    fn run_in<C: BorrowMut<Conversation> + Send>(
        &self,
        conversation: C,
        input: RunAgentInput,
    ) -> impl Future<Output = Result<RunStream<C>, DialError>> + Send {
        async move {
            let exchange = Box::new(Exchange::new(conversation, input, self.peer(), now_ms())?);
            let source = self.dial(exchange.request()).await?;
            Ok(RunStream::new(exchange, source))
        }
    }
}

/// The time in milliseconds since the Unix epoch, by which interrupts expire.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
