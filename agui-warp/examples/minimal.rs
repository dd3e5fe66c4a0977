//! The smallest server: `cargo run -p agui-warp --example minimal`, then
//! `curl -N 127.0.0.1:8080/agui -H 'content-type: application/json' -H 'accept: text/event-stream' -d '{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}'`.

use agui_warp::{Endpoint, Run, RunEnd};
use warp::Filter;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let hello = async |run: Run| {
        run.text("Hello from warp").await?;
        Ok(RunEnd::success())
    };
    let app = warp::path!("agui").and(agui_warp::endpoint(Endpoint::new(hello)));
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.set_nodelay(true)?; // short events leave at once: the connections inherit it
    socket.bind(([127, 0, 0, 1], 8080).into())?;
    warp::serve(app).incoming(socket.listen(1024)?).run().await;
    Ok(())
}
