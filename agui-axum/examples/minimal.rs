//! The smallest server: `cargo run -p agui-axum --example minimal`, then
//! `curl -N 127.0.0.1:8080/agui -H 'content-type: application/json' -H 'accept: text/event-stream' -d '{"threadId":"t","runId":"r","messages":[]}'`.

use agui_axum::{Endpoint, Run, RunEnd};
use axum::Router;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let hello = async |run: Run| {
        run.text("Hello from axum").await?;
        Ok(RunEnd::success())
    };
    let app = Router::new().route("/agui", agui_axum::endpoint(Endpoint::new(hello)));
    axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await
}
