//! The smallest server: `cargo run -p agui-actix --example minimal`, then
//! `curl -N 127.0.0.1:8080/agui -H 'content-type: application/json' -H 'accept: text/event-stream' -d '{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}'`.

use actix_web::{App, HttpServer};
use agui_actix::{Endpoint, Run, RunEnd};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let hello = async |run: Run| {
        run.text("Hello from actix-web").await?;
        Ok(RunEnd::success())
    };
    let endpoint = Endpoint::new(hello); // one for all workers
    HttpServer::new(move || App::new().route("/agui", agui_actix::endpoint(endpoint.clone())))
        .h1_allow_half_closed(false) // a client that goes away is noticed at once
        .tcp_nodelay(true) // short events leave at once
        .bind("127.0.0.1:8080")?
        .run()
        .await
}
