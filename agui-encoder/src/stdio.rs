//! Agents on a pair of pipes: one run input per line in, one event per line out (`BIND-6`), for programs that embed an
//! agent as a child process.
//!
//! Everything that is judged and driven on HTTP is here by the same code: limits, hooks, panics, errors, the downgrade for
//! older readers. What differs:
//!
//! * Nobody asks for credentials: whoever holds the other ends of the pipes has started this process.
//! * A line that is refused is answered by one `RUN_ERROR` with the code that the refusal has on HTTP, and the next line
//!   is read.
//! * Runs come one after another; inputs wait in the pipe. An empty line is passed over. Where there are several agents,
//!   the member `agentId` beside the input's own names one.
//! * The end of the input ends the serving once the run in progress is over. A reader that is gone is noticed at the next
//!   event, and its run is cancelled, or left to its record where there is one.
//!
//! The output is events and nothing else: logs and prints of the program belong on standard error.
//!
//! Invariant: each event is one write, flushed.

use std::io;
use std::pin::Pin;

use ::http::Request;
use agui_core::producer::Extensions;
use agui_core::{Event, RunErrorEvent};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use crate::NdjsonEncoder;
use crate::http::{AgentServer, Backend, Body, Endpoint, Peek, Refusal, RefusalCode, RequestHead};

/// Agents behind a pair of pipes. Cheap to clone.
///
/// # Examples
/// ```
/// use agui_core::{Run, RunEnd};
/// use agui_encoder::http::Endpoint;
/// use agui_encoder::stdio::LineServer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let agent = |run: Run| async move {
///     run.text("Hello").await?;
///     Ok(RunEnd::success())
/// };
/// let server = LineServer::new(Endpoint::new(agent));
///
/// // A program gives its own: `server.serve_process().await`.
/// let input = &b"{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[]}\nno input\n"[..];
/// let mut output = Vec::new();
/// server.serve(input, &mut output).await?;
///
/// let lines: Vec<_> = std::str::from_utf8(&output).unwrap().lines().collect();
/// assert!(lines[0].starts_with(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r""#));
/// assert!(lines[2].ends_with(r#""delta":"Hello"}"#));
/// assert_eq!(lines[4], r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
/// assert!(lines[5].starts_with(r#"{"type":"RUN_ERROR","#) && lines[5].ends_with(r#""code":"invalid_json"}"#));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct LineServer {
    backend: Backend,
}

impl From<Endpoint> for LineServer {
    fn from(endpoint: Endpoint) -> Self {
        Self { backend: endpoint.into() }
    }
}

impl From<AgentServer> for LineServer {
    fn from(server: AgentServer) -> Self {
        Self { backend: server.into() }
    }
}

impl LineServer {
    /// Serves the agents of an endpoint or of a server, under the settings it has.
    pub fn new(agents: impl Into<Self>) -> Self {
        agents.into()
    }

    /// Serves inputs until there are no more, and the last run is over.
    ///
    /// # Errors
    /// The input cannot be read, or the output cannot be written. A run that was in progress is cancelled then.
    ///
    /// # Panics
    /// Outside of a tokio runtime, onto which runs are spawned.
    ///
    /// # Cancel safety
    /// A dropped future cancels the run in progress.
    pub async fn serve<R, W>(&self, input: R, mut output: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut input = BufReader::new(input);
        let head = RequestHead::from(&Request::new(()).into_parts().0);
        while let Some(line) = next_line(&mut input, self.backend.max_body_bytes()).await? {
            let started = match line {
                Line::Whole(text) if text.trim_ascii().is_empty() => continue,
                // What is no JSON, the reader of inputs refuses.
                Line::Whole(text) => match Peek::read(&text).unwrap_or_default().agent() {
                    Ok(agent) => self.backend.start(agent.as_deref(), &head, Extensions::new(), text).await,
                    Err(refusal) => Err(refusal),
                },
                Line::TooLong => Err(Refusal::new(RefusalCode::BodyTooLarge)),
            };
            match started {
                Ok(events) => pass_on(events, &mut output).await?,
                Err(refusal) => refuse(&refusal, &mut output).await?,
            }
        }
        Ok(())
    }

    /// [`serve`](Self::serve) on the standard input and output of this process.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    ///
    /// # Panics
    /// Outside of a tokio runtime, onto which runs are spawned.
    pub async fn serve_process(&self) -> io::Result<()> {
        self.serve(tokio::io::stdin(), tokio::io::stdout()).await
    }
}

/// Writes the events of a run, each by itself.
async fn pass_on(mut events: Body, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    while let Some(chunk) = std::future::poll_fn(|cx| Pin::new(&mut events).poll_next(cx)).await {
        let Ok(chunk) = chunk;
        for line in chunk.split_inclusive(|&byte| byte == b'\n') {
            write(line, output).await?;
        }
    }
    Ok(())
}

/// Answers a line that starts no run.
async fn refuse(refusal: &Refusal, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let error = RunErrorEvent::new(refusal.message()).with_code(refusal.code().as_str());
    let mut line = BytesMut::new();
    NdjsonEncoder::new().encode(&Event::from(error), &mut line).map_err(io::Error::other)?;
    write(&line, output).await
}

async fn write(line: &[u8], output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    output.write_all(line).await?;
    output.flush().await
}

/// One line of the input.
enum Line {
    Whole(Bytes),
    /// Longer than an input may be. The rest of it has been passed over.
    TooLong,
}

/// The next line, without its end; what nothing ends at the end of the input is one too. Keeps no more of it than the
/// limit.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), max_bytes: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut begun = false;
    let mut too_long = false;
    loop {
        let ready = input.fill_buf().await?;
        if ready.is_empty() && !begun {
            return Ok(None);
        }
        begun = true;
        let end = memchr::memchr(b'\n', ready);
        let piece = ready.get(..end.unwrap_or(ready.len())).unwrap_or_default();
        // One more than the limit is kept, because it may be the CR of the line's end.
        too_long |= piece.len() > max_bytes.saturating_add(1).saturating_sub(line.len());
        if !too_long {
            line.extend_from_slice(piece);
        }
        let last = end.is_some() || ready.is_empty();
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if last {
            let text = line.strip_suffix(b"\r").map(<[u8]>::len);
            line.truncate(text.unwrap_or(line.len()));
            let whole = !too_long && line.len() <= max_bytes;
            return Ok(Some(if whole { Line::Whole(line.into()) } else { Line::TooLong }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use agui_core::{Run, RunEnd};
    use serde_json::Value;

    use super::*;

    fn hello(
        name: &'static str,
    ) -> impl Fn(Run) -> std::future::Ready<Result<RunEnd, agui_core::RunError>> + Send + Sync {
        move |_| std::future::ready(Ok(RunEnd::success().with_result(name)))
    }

    async fn served(server: impl Into<LineServer>, input: impl AsRef<[u8]>) -> Vec<Value> {
        let mut output = Vec::new();
        server.into().serve(input.as_ref(), &mut output).await.unwrap();
        let lines = output.split_inclusive(|&byte| byte == b'\n');
        lines.map(|line| serde_json::from_slice(line.strip_suffix(b"\n").unwrap()).unwrap()).collect()
    }

    #[tokio::test]
    async fn lines_are_inputs_however_they_end_and_empty_ones_are_none() {
        let input = r#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;
        let lines = format!("\n{input}\r\n  \n{input}");
        let events = served(Endpoint::new(hello("x")), lines).await;
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED", "RUN_FINISHED"]);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_answered_once_and_costs_no_more_than_the_limit() {
        let input = r#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;
        let endpoint = Endpoint::new(hello("x")).with_max_body_bytes(input.len());
        let lines = format!("{input} \n{}\n{input}\r\n", "x".repeat(100_000));
        let events = served(endpoint, lines).await;
        let codes: Vec<_> = events.iter().map(|event| event["code"].as_str()).collect();
        assert_eq!(codes, [Some("body_too_large"), Some("body_too_large"), None, None]);
    }

    /// An output that notes each write and each flush, and fails after some events.
    struct Noted {
        noted: Vec<String>,
        room: usize,
    }

    impl AsyncWrite for Noted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            if self.room == 0 {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            self.room -= 1;
            self.noted.push(String::from_utf8_lossy(bytes).into_owned());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.noted.push("flush".to_owned());
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    // BIND-6.
    #[tokio::test]
    async fn each_event_is_one_write_and_flushed() {
        let agent = |run: Run| async move {
            for part in ["a", "b", "c"] {
                run.text(part).await?;
            }
            Ok(RunEnd::success())
        };
        let mut output = Noted { noted: Vec::new(), room: usize::MAX };
        let input = br#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;
        LineServer::new(Endpoint::new(agent)).serve(&input[..], &mut output).await.unwrap();
        assert_eq!(output.noted.len(), 2 * 11);
        for pair in output.noted.chunks(2) {
            assert!(
                pair[0].starts_with('{') && pair[0].ends_with("}\n") && !pair[0].trim_end().contains('\n')
            );
            assert_eq!(pair[1], "flush");
        }
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_cancels_the_run() {
        let (told, cancelled) = tokio::sync::oneshot::channel();
        let told = std::sync::Mutex::new(Some(told));
        let agent = move |run: Run| {
            let told = told.lock().unwrap().take();
            async move {
                run.text("a").await?;
                run.cancelled().await;
                told.unwrap().send(()).unwrap();
                Ok(RunEnd::success())
            }
        };
        // Its future is dropped with the grace over, which is none by default.
        let endpoint = Endpoint::new(agent).with_abandon_grace(std::time::Duration::from_secs(60));
        let mut output = Noted { noted: Vec::new(), room: 2 };
        let input = br#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;
        let error = LineServer::new(endpoint).serve(&input[..], &mut output).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        cancelled.await.unwrap();
    }

    #[tokio::test]
    async fn an_input_names_its_agent_where_there_are_several() {
        let endpoint = Endpoint::by_header("x-agent-id")
            .with_agent("a", hello("a"))
            .with_agent("b", hello("b"))
            .with_default("a");
        let input = |agent: &str| {
            format!(
                "{{\"threadId\":\"t\",\"runId\":\"r\",\"protocolVersion\":\"1.0\",\"messages\":[]{agent}}}\n"
            )
        };
        let agents =
            ["", r#","agentId":"b""#, r#","runId":"s","agentId":"b""#, r#","agentId":"a","agentId":"b""#];
        let events = served(endpoint.clone(), agents.map(input).concat()).await;
        let results: Vec<_> = events.iter().filter_map(|event| event["result"].as_str()).collect();
        assert_eq!(results, ["a", "b", "b", "b"]);
        let events = served(endpoint, [r#","agentId":"c""#, r#","agentId":7"#].map(input).concat()).await;
        let codes: Vec<_> = events.iter().map(|event| event["code"].as_str().unwrap()).collect();
        assert_eq!(codes, ["agent_not_found", "invalid_input"]);
    }
}
