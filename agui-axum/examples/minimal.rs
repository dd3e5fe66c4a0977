//! The smallest server: `cargo run -p agui-axum --example minimal`, then
//! `curl -N 127.0.0.1:8080/agui -H 'content-type: application/json' -H 'accept: text/event-stream' -d '{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}'`.

use agui_axum::{Endpoint, Run, RunEnd};
use axum::Router;
use axum::serve::ListenerExt;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let hello = async |run: Run| {
        run.text("Hello from axum").await?;
        Ok(RunEnd::success())
    };
    let app = Router::new().route("/agui", agui_axum::endpoint(Endpoint::new(hello)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    // Short events leave at once.
    axum::serve(listener.tap_io(|socket| drop(socket.set_nodelay(true))), app).await
}
