//! The stream with the framework's compression layer in front: no event waits in it, whether it leaves streams alone or
//! compresses them.
//!
//! [`Start`] is a server here that compresses what it can, at least for requests that accept gzip.

use std::sync::Arc;

use http::Request;
use http_body_util::Full;
use tokio::sync::Notify;

use crate::client::{Client, PATH};
use crate::streams::{hello, in_two_parts, reads_in_two_parts, run_request_with};
use crate::{Server, Start, endpoint};

/// A layer that exempts the stream leaves it as it is, and the rest of the server's answers come compressed: the page
/// at `page` shows that the layer is there.
pub async fn an_exempted_stream_is_left_alone(start: Start, page: &str) {
    let go_on = Arc::new(Notify::new());
    let server = start(endpoint(in_two_parts(Arc::clone(&go_on)))).await;
    reads_in_two_parts(&server, &go_on, run_request_with("accept-encoding", "gzip")).await;

    let server = start(endpoint(hello)).await;
    assert_eq!(coding_of_a_run(&server).await, "");
    let mut client = Client::connect(&server).await;
    let request = Request::get(page).header("host", "localhost").header("accept-encoding", "gzip");
    let answer = client.send(request.body(Full::default()).unwrap()).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
}

/// A layer that compresses the stream hands on what it has whenever the stream pauses.
pub async fn a_compressed_stream_is_not_held_back(start: Start) {
    let go_on = Arc::new(Notify::new());
    let server = start(endpoint(in_two_parts(Arc::clone(&go_on)))).await;
    reads_in_two_parts(&server, &go_on, run_request_with("accept-encoding", "gzip")).await;

    // It was compressed indeed, or this would show nothing.
    let server = start(endpoint(hello)).await;
    assert_eq!(coding_of_a_run(&server).await, "gzip");
}

/// How the events of a run come coded on [`PATH`].
async fn coding_of_a_run(server: &Server) -> String {
    let mut client = Client::connect(server).await;
    let request = run_request_with("accept-encoding", "gzip");
    assert_eq!(request.uri(), PATH);
    let answer = client.send(request).await;
    let coding = answer.header("content-encoding").to_owned();
    assert_eq!(answer.events().await.len(), 6);
    coding
}
