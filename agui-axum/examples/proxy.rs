//! A proxy: serves another AG-UI server's agents as its own. What the other server sends goes through the whole consumer
//! pipeline before it is served on, so a client behind the proxy never sees a stream that breaks the protocol.
//!
//! `cargo run -p agui-axum --example proxy -- --upstream http://127.0.0.1:8080/agui --addr 127.0.0.1:8081`

use std::sync::Arc;

use agui_axum::{Endpoint, Run, RunError};
use agui_core::consumer::Pipeline;
use agui_core::consumer::prepare::{Peer, outgoing};
use agui_core::{Event, handler_from_stream};
use agui_encoder::decode::{Decoder, Frames};
use agui_encoder::http::RequestHead;
use anyhow::Context;
use axum::Router;
use axum::serve::ListenerExt;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::net::TcpListener;

/// The header by which the demo server chooses its agent.
const AGENT: &str = "x-agent-id";

#[expect(clippy::print_stdout, reason = "whoever starts the server reads its address from there")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let upstream = argument("--upstream").context("where to? Give --upstream URL")?;
    let listener = TcpListener::bind(argument("--addr").as_deref().unwrap_or("127.0.0.1:8081")).await?;
    println!("listening on {}", listener.local_addr()?);
    let app = Router::new().route("/agui", agui_axum::endpoint(proxy(upstream)));
    axum::serve(listener.tap_io(|socket| drop(socket.set_nodelay(true))), app).await?;
    Ok(())
}

/// An endpoint that forwards every run. A stream that is cut off, malformed or out of order ends as an error.
fn proxy(upstream: String) -> Endpoint {
    let upstream: Arc<str> = upstream.into();
    let client = reqwest::Client::new();
    let forward = move |run: Run| {
        let connected = connect(client.clone(), Arc::clone(&upstream), run.clone());
        stream::once(connected).try_flatten()
    };
    Endpoint::new(handler_from_stream(forward).forwarded())
}

/// Asks the other server for the run, and gives its verified events.
async fn connect(
    client: reqwest::Client,
    upstream: Arc<str>,
    run: Run,
) -> Result<impl Stream<Item = Result<Event, RunError>>, RunError> {
    let mut input = run.input().clone();
    outgoing(&mut input, Peer::Current);
    let mut request = client
        .post(&*upstream)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream")
        .body(serde_json::to_vec(&input)?);
    if let Some(agent) = run.extensions().get::<RequestHead>().and_then(|head| head.header(AGENT)) {
        request = request.header(AGENT, agent);
    }
    let response = request.send().await?;
    if !response.status().is_success() {
        return Err(RunError::public("The server behind the proxy refused the run.").with_code("refused"));
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Some(decoder) = content_type.and_then(Decoder::for_content_type) else {
        return Err(RunError::internal("the answer is no event stream"));
    };
    let mut pipeline = Pipeline::for_input(&input);
    let events = Frames::new(response.bytes_stream(), decoder).map(move |frame| {
        let mut events = Vec::new();
        match frame {
            Ok(frame) => match pipeline.feed(&frame, &mut |event| events.push(Ok(event))) {
                Ok(()) => {}
                // What came of the frame before the fault is served.
                Err(error) => events.push(Err(RunError::from(error))),
            },
            Err(error) => events.push(Err(RunError::from(error))),
        }
        stream::iter(events)
    });
    Ok(events.flatten())
}

/// The value of a flag.
fn argument(flag: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    arguments.nth(1)
}
