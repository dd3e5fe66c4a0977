//! A run as its reader sees it: verified events, and the conversation they make.
//!
//! Invariants: an event is folded before it is handed over, so the conversation is never behind what the reader has
//! seen, and where one frame makes several events it is ahead by those of that frame. After an error there is nothing.
//! The transport is given up the moment the stream ends, fails, or is dropped.

use std::borrow::BorrowMut;
use std::collections::VecDeque;
use std::fmt;
use std::future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use agui_core::consumer::{Change, Conversation, Exchange, Middleware, RunStatus, StreamEnd};
use agui_core::{Event, RunAgentInput, Warning};
use futures_core::Stream;

use crate::{FrameSource, RunFailure, TruncationCause};

/// The events of a run, verified, with the conversation that they make.
///
/// A [`Stream`] that ends with the server's stream, which is after the terminal event. A run that was cancelled or that
/// reports `RUN_ERROR` ends without an error: [`status`](Self::status) says which. An error is the last item.
///
/// Dropping it gives up the run: the connection closes. The conversation keeps what had arrived, and its last run has no
/// ending (`LIFE-11`).
///
/// `C` is the conversation itself, or a mutable reference to one that somebody else holds.
///
/// # Examples
/// ```no_run
/// use agui_client::agui_core::consumer::RunStatus;
/// use agui_client::agui_core::{Message, RunAgentInput, UserMessage};
/// use agui_client::{Agent, HttpAgent, RunFailure};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = HttpAgent::new("http://127.0.0.1:8080/agui")?;
/// let question = Message::from(UserMessage::new("q1", "Where to?"));
/// let mut run = agent.run(RunAgentInput::new("trip-7", "turn-1", [question])).await?;
/// match run.finish().await {
///     Ok(RunStatus::Success) => println!("{}", run.conversation().to_messages().last().unwrap().text()),
///     Ok(status) => println!("ended with {}", status.as_str()),
///     Err(RunFailure::Truncated(cause)) => println!("cut off: {cause}"),
///     Err(error) => println!("rejected by {}", error.rule()),
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a run that nobody reads is given up"]
pub struct RunStream<C = Conversation> {
    /// Boxed, so that the stream and the futures that hold it stay small enough to be moved.
    exchange: Box<Exchange<C>>,
    source: Option<Box<dyn FrameSource>>,
    ready: VecDeque<(Event, Change)>,
    /// The error to hand over once `ready` is empty.
    failure: Option<RunFailure>,
    change: Change,
    /// A replay of a thread that nobody knows has no events, and is whole.
    may_be_empty: bool,
    /// What broke off after the last run was over.
    late: Option<Warning>,
}

impl<C: BorrowMut<Conversation>> RunStream<C> {
    pub(crate) fn new(exchange: Box<Exchange<C>>, source: Box<dyn FrameSource>) -> Self {
        Self {
            exchange,
            source: Some(source),
            ready: VecDeque::new(),
            failure: None,
            change: Change::Nothing,
            may_be_empty: false,
            late: None,
        }
    }

    pub(crate) fn replay(exchange: Box<Exchange<C>>, source: Box<dyn FrameSource>) -> Self {
        Self { may_be_empty: true, ..Self::new(exchange, source) }
    }

    /// Adds a stage of the application's own, which sees frames before unknown material is removed (`PROC-7`).
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.exchange = Box::new(self.exchange.with_middleware(middleware));
        self
    }

    /// The next event; nothing after the end and after an error.
    ///
    /// # Errors
    /// The stream was cut off or rejected. What came before it counts.
    ///
    /// # Cancel safety
    /// A dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Event, RunFailure>> {
        future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Reads the rest of the stream, and says how the last run ended. Of a replay of a thread that the server does not
    /// know that is [`RunStatus::Unended`].
    ///
    /// # Errors
    /// The stream was cut off or rejected. What came before it counts.
    ///
    /// # Cancel safety
    /// What was read before the future was dropped is in the conversation.
    pub async fn finish(&mut self) -> Result<RunStatus, RunFailure> {
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(self.status())
    }

    /// What the events so far amount to: messages, state, pending calls, open interrupts, and how the runs ended.
    pub fn conversation(&self) -> &Conversation {
        self.exchange.conversation()
    }

    /// Gives up the run if it is not over, and gives back the conversation.
    pub fn into_conversation(self) -> C {
        self.exchange.into_conversation()
    }

    /// How the last run ended, as far as the stream has been read.
    pub fn status(&self) -> RunStatus {
        self.conversation().run_status()
    }

    /// What the event that was handed over last has changed in the conversation.
    ///
    /// Positions in it are good for the conversation as it is now unless the frame of that event made others as well.
    pub const fn change(&self) -> Change {
        self.change
    }

    /// The input as it went out.
    pub const fn request(&self) -> &RunAgentInput {
        self.exchange.request()
    }

    /// What was odd so far: about the input, then about the stream in the order of its events.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.exchange.warnings().chain(&self.late)
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Event, RunFailure>>> {
        loop {
            if let Some((event, change)) = self.ready.pop_front() {
                self.change = change;
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(failure) = self.failure.take() {
                return Poll::Ready(Some(Err(failure)));
            }
            let Some(source) = &mut self.source else { return Poll::Ready(None) };
            match ready!(source.poll_frame(cx)) {
                Some(Ok(frame)) => {
                    let mut ended = false;
                    let ready = &mut self.ready;
                    let fed = self.exchange.feed(&frame, &mut |event, change| {
                        ended = matches!(event, Event::RunFinished(_) | Event::RunError(_));
                        ready.push_back((event, change));
                    });
                    if let Err(error) = fed {
                        self.source = None;
                        self.failure = Some(RunFailure::Rejected(error));
                    } else if ended {
                        source.run_ended();
                    }
                }
                Some(Err(failure)) => self.end(Some(failure)),
                None => self.end(None),
            }
        }
    }

    /// The transport is over; says whether the run is.
    fn end(&mut self, broken: Option<RunFailure>) {
        self.source = None;
        let end = self.exchange.finish();
        self.failure = match broken {
            // The last run is over. What broke off is something else, which must not make a failure of it.
            Some(RunFailure::Truncated(cause)) if end == StreamEnd::Complete => {
                let warning = Warning::new("LIFE-11", format!("after the run had ended, {cause}"));
                warning.log();
                self.late = Some(warning);
                None
            }
            Some(failure) => Some(failure),
            None if end == StreamEnd::Complete => None,
            None if end == StreamEnd::Empty && self.may_be_empty => None,
            None => Some(RunFailure::Truncated(TruncationCause::Ended)),
        };
    }
}

impl<C: BorrowMut<Conversation> + Unpin> Stream for RunStream<C> {
    type Item = Result<Event, RunFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(cx)
    }
}

impl<C> fmt::Debug for RunStream<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream")
            .field("open", &self.source.is_some())
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}
