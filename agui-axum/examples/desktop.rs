//! The back end of a desktop application: its window loads a page from here, and the page talks to the agent.
//!
//! `cargo run -p agui-axum --features loopback --example desktop`, then open what it prints. A real application would
//! hand the token to its window by the window's own means.

use agui_axum::{Endpoint, Loopback, Run, RunEnd, RunError, WebSocketEndpoint};
use axum::Router;
use axum::response::Html;
use axum::routing::get;

const PAGE: &str = r#"<!doctype html><title>Agent</title><pre id="log"></pre><script>
const socket = new WebSocket(`ws://${location.host}/agui/ws`, "ag-ui.1");
const send = (frame) => socket.send(JSON.stringify(frame));
socket.onopen = () => send({ type: "hello", token: location.hash.slice(1), client: "window" });
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  if (frame.type === "hello_ack")
    send({ threadId: "t", runId: "r", protocolVersion: "1.0", messages: [{ id: "q", role: "user", content: "Hi" }] });
  log.textContent += data + "\n";
};
socket.onclose = ({ code }) => log.textContent += `closed with ${code}\n`;
</script>"#;

async fn agent(run: Run) -> Result<RunEnd, RunError> {
    let question = run.input().last_user_message().map(|message| message.content.text().into_owned());
    run.text(format!("You said: {}", question.unwrap_or_default())).await?;
    Ok(RunEnd::success())
}

/// The host, with its own origin as the one that is served.
pub(crate) async fn host() -> std::io::Result<Loopback> {
    let sockets = WebSocketEndpoint::new(Endpoint::new(agent));
    let host = Loopback::bind(sockets).await?;
    let origin = host.origin();
    let page = Router::new().route("/", get(|| async { Html(PAGE) }));
    Ok(host.with_allowed_origins([origin]).with_routes(page))
}

#[expect(clippy::print_stdout, reason = "whoever starts it opens what it says")]
#[tokio::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let host = host().await?;
    println!("open http://{}/#{}", host.addr(), host.token());
    host.serve().await
}
