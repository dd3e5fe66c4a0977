//! Agents that are child processes (`BIND-6`): one line of JSON per input and per event.
//!
//! A child carries runs one after another and is kept between them. It is killed with the agent, and with a run that is
//! given up: nothing else would tell a silent child that nobody listens.

use std::fmt;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use agui_core::RunAgentInput;
use agui_core::consumer::prepare::Peer;
use agui_encoder::decode::{DEFAULT_MAX_FRAME_BYTES, Decoder, End, Frame, NdjsonDecoder};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{Agent, DialError, FrameSource, RunFailure, TruncationCause};

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// An agent that is a child process. Cheap to clone; clones share the child.
///
/// The first run starts it. Runs at the same time have a child each. An input that the child refuses is a run that
/// fails, with the code that the refusal has on HTTP.
///
/// # Examples
/// ```no_run
/// use agui_client::agui_core::RunAgentInput;
/// use agui_client::{Agent, StdioAgent};
/// use tokio::process::Command;
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = StdioAgent::new(|| {
///     let mut command = Command::new("my-agent");
///     command.arg("--model").arg("small");
///     command
/// });
/// let mut run = agent.run(RunAgentInput::new("t", "r", [])).await?;
/// println!("{:?}", run.finish().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StdioAgent {
    command: Arc<dyn Fn() -> Command + Send + Sync>,
    max_frame_bytes: usize,
    peer: Peer,
    idle: Idle,
}

/// The child that no run is on.
type Idle = Arc<Mutex<Option<Worker>>>;

impl StdioAgent {
    /// The agent that a command starts. Its standard input and output are ours; everything else is as the command says.
    pub fn new(command: impl Fn() -> Command + Send + Sync + 'static) -> Self {
        Self {
            command: Arc::new(command),
            max_frame_bytes: DEFAULT_MAX_FRAME_BYTES,
            peer: Peer::Current,
            idle: Idle::default(),
        }
    }

    /// Sets the most bytes that one event may have; 10 MiB by default.
    #[must_use]
    pub fn with_max_frame_bytes(mut self, max_frame_bytes: usize) -> Self {
        self.max_frame_bytes = max_frame_bytes;
        self.idle = Idle::default();
        self
    }

    /// Says what is known of the producer: inputs declare no version to one from before 1.0 (`VER-1`).
    #[must_use]
    pub const fn with_peer(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }

    /// The idle child if it lives, else a new one.
    fn worker(&self) -> Result<Worker, DialError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut worker) = idle
            && matches!(worker.child.try_wait(), Ok(None))
        {
            return Ok(worker);
        }
        let mut command = (self.command)();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(DialError::unreachable)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(DialError::Settings("the child has no pipes".to_owned()));
        };
        let decoder = Decoder::Ndjson(NdjsonDecoder::new()).with_max_frame_bytes(self.max_frame_bytes);
        Ok(Worker { child, input, output, decoder })
    }
}

impl Agent for StdioAgent {
    async fn dial(&self, input: &RunAgentInput) -> Result<Box<dyn FrameSource>, DialError> {
        let mut line = serde_json::to_vec(input)
            .map_err(|error| DialError::Settings(format!("the input has no JSON: {error}")))?;
        line.push(b'\n');
        let mut worker = self.worker()?;
        worker.input.write_all(&line).await.map_err(DialError::unreachable)?;
        worker.input.flush().await.map_err(DialError::unreachable)?;
        Ok(Box::new(ChildSource { worker: Some(worker), idle: Arc::clone(&self.idle) }))
    }

    fn peer(&self) -> Peer {
        self.peer
    }
}

impl fmt::Debug for StdioAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioAgent").field("max_frame_bytes", &self.max_frame_bytes).finish_non_exhaustive()
    }
}

/// A child and its pipes. Dropping it kills the child.
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    decoder: Decoder,
}

/// One run of a child's.
struct ChildSource {
    /// Absent once the run is over.
    worker: Option<Worker>,
    idle: Idle,
}

impl Worker {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return Poll::Ready(Some(frame.map_err(RunFailure::from)));
            }
            let mut bytes = [0; READ_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.output).poll_read(cx, &mut buffer)) {
                Ok(()) if buffer.filled().is_empty() => {
                    return Poll::Ready(match self.decoder.finish() {
                        Ok(End::Frame(frame)) => Some(Ok(frame)),
                        Ok(End::Truncated(cut)) => {
                            Some(Err(RunFailure::Truncated(TruncationCause::InsideFrame(cut))))
                        }
                        Ok(_) => None,
                        Err(error) => Some(Err(error.into())),
                    });
                }
                Ok(()) => self.decoder.push(buffer.filled().to_vec()),
                Err(error) => return Poll::Ready(Some(Err(RunFailure::transport(error)))),
            }
        }
    }
}

impl FrameSource for ChildSource {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, RunFailure>>> {
        match &mut self.worker {
            Some(worker) => worker.poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn run_ended(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(worker);
        }
    }
}
