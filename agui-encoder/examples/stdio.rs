//! An agent as a child process: reads one run input per line from its standard input, and writes one event per line to
//! its standard output. The program that starts it is the application.
//!
//! `echo '{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"q","role":"user","content":"Hi"}]}' |
//! cargo run -q -p agui-encoder --features stdio --example stdio`

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::Endpoint;
use agui_encoder::stdio::LineServer;

async fn agent(run: Run) -> Result<RunEnd, RunError> {
    let question = run.input().last_user_message().map(|message| message.content.text().into_owned());
    let mut answer = run.message();
    answer.delta("You said: ").await?;
    answer.delta(question.unwrap_or_default()).await?;
    answer.end().await?;
    Ok(RunEnd::success())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> std::io::Result<()> {
    // Standard output is for events, so the log goes to standard error.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    LineServer::new(Endpoint::new(agent)).serve_process().await
}
