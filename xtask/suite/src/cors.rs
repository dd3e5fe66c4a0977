//! What a browser needs, from the framework's own layer.

use agui_core::{Run, RunEnd};
use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request};
use http_body_util::Full;

use crate::client::{Answer, Client, PATH, input, post};
use crate::{Start, endpoint};

const ORIGIN: &str = "http://app.example";

async fn nothing(_run: Run) -> Result<RunEnd, agui_core::RunError> {
    Ok(RunEnd::success())
}

fn assert_readable(answer: &Answer, what: &str) {
    assert_eq!(answer.header("access-control-allow-origin"), ORIGIN, "{what}");
    assert_eq!(answer.header("access-control-allow-credentials"), "true", "{what}");
    let vary = answer.headers().get_all("vary").iter();
    let names_origin =
        |value: &http::HeaderValue| value.to_str().is_ok_and(|v| v.to_lowercase().contains("origin"));
    assert!(vary.into_iter().any(names_origin), "{what}");
}

/// What a browser asks first, without credentials, for a request of this method.
pub(crate) fn preflight(path: &str, method: &str) -> Request<Full<Bytes>> {
    let preflight = Request::builder()
        .method(Method::OPTIONS)
        .uri(path)
        .header(HOST, "localhost")
        .header("origin", ORIGIN)
        .header("access-control-request-method", method)
        .header("access-control-request-headers", "authorization,content-type,x-agent-id");
    preflight.body(Full::default()).unwrap()
}

/// A browser wants to see its headers and methods named.
pub(crate) fn assert_preflight(answer: &Answer) {
    assert!(matches!(answer.status().as_u16(), 200 | 204), "{}", answer.status());
    assert_readable(answer, "preflight");
    let methods = answer.header("access-control-allow-methods");
    assert!(methods.contains("POST") && methods.contains("GET"), "{methods}");
    let headers = answer.header("access-control-allow-headers").to_lowercase();
    for name in ["authorization", "content-type", "x-agent-id"] {
        assert!(headers.contains(name), "{name} in {headers}");
    }
}

/// A browser asks without credentials.
pub async fn a_preflight_is_answered_without_credentials(start: Start) {
    let server = start(endpoint(nothing).with_bearer_token("s3cret")).await;
    let mut client = Client::connect(&server).await;
    assert_preflight(&client.send(preflight(PATH, "POST")).await);
}

/// An answer that a page may not read is no answer: streams and refusals alike.
pub async fn every_answer_names_the_origin(start: Start) {
    let server = start(endpoint(nothing).with_bearer_token("s3cret").with_max_body_bytes(500)).await;
    let mut client = Client::connect(&server).await;
    let authorized = || post().header("origin", ORIGIN).header("authorization", "Bearer s3cret");
    let requests = [
        (200, authorized().body(Full::from(input().to_string()))),
        (400, authorized().body(Full::from("{"))),
        (401, post().header("origin", ORIGIN).body(Full::from(input().to_string()))),
        (405, authorized().method(Method::PUT).body(Full::default())),
        (413, authorized().body(Full::from("x".repeat(501)))),
    ];
    for (status, request) in requests {
        let answer = client.send(request.unwrap()).await;
        assert_eq!(answer.status().as_u16(), status);
        assert_readable(&answer, answer.status().as_str());
        answer.text().await;
    }
}
