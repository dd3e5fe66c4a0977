//! A client that sees what is on the wire: one connection, chunks as they arrive, nothing repeated behind its back.

use std::io::Write;

use bytes::Bytes;
use flate2::write::GzDecoder;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::request::Builder;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::Server;
use crate::server::TaskGuard;

/// The path the endpoint is on.
pub(crate) const PATH: &str = "/agui";

/// One connection. Dropping it closes it, whatever is still to be read.
#[derive(Debug)]
pub struct Client {
    sender: Sender,
    connection: TaskGuard,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    /// Connects to a server.
    pub async fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).await.unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = TaskGuard::spawn(async move {
            // How the connection ends shows in what its requests give.
            let _ = connection.await;
        });
        Self { sender: Sender::Http1(sender), connection }
    }

    /// Connects by HTTP/2, which the server is taken to know.
    pub async fn connect_http2(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).await.unwrap();
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let connection = TaskGuard::spawn(async move {
            let _ = connection.await;
        });
        Self { sender: Sender::Http2(sender), connection }
    }

    /// Sends a request and waits for the head of its answer.
    pub async fn send(&mut self, mut request: Request<Full<Bytes>>) -> Answer {
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await.unwrap();
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                // The host goes into the URI there.
                request.headers_mut().remove(HOST);
                let uri = format!("http://localhost{}", request.uri());
                *request.uri_mut() = uri.parse::<Uri>().unwrap();
                sender.ready().await.unwrap();
                sender.send_request(request).await
            }
        };
        Answer::new(response.unwrap())
    }

    /// Asks for a run and waits for the head of the answer.
    pub async fn run(&mut self) -> Answer {
        self.send(run_request()).await
    }

    /// Closes the connection.
    pub fn leave(self) {
        drop(self.connection);
    }
}

/// Connects, asks for a run, and gives the connection with the answer.
pub(crate) async fn start_run(server: &Server) -> (Client, Answer) {
    let mut client = Client::connect(server).await;
    let answer = client.run().await;
    assert_eq!(answer.status(), StatusCode::OK);
    (client, answer)
}

/// Asks for a run and reads it to its end.
pub(crate) async fn whole_run(server: &Server) -> Vec<Value> {
    let (_client, answer) = start_run(server).await;
    answer.events().await
}

/// The input of the smallest run.
pub(crate) fn input() -> Value {
    json!({ "threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [] })
}

/// A request as every published client sends it, without a body yet.
pub(crate) fn post() -> Builder {
    Request::builder()
        .method(Method::POST)
        .uri(PATH)
        .header(HOST, "localhost")
        .header(ACCEPT, "text/event-stream")
        .header(CONTENT_TYPE, "application/json")
}

/// A POST of JSON to any path.
pub fn post_json(path: &str, headers: &[(&str, &str)], body: &Value) -> Request<Full<Bytes>> {
    let mut request = post().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_string())).unwrap()
}

/// The request for the smallest run.
pub(crate) fn run_request() -> Request<Full<Bytes>> {
    post().body(Full::from(input().to_string())).unwrap()
}

/// The answer to a request, whose body is read piece by piece.
#[derive(Debug)]
pub struct Answer {
    status: StatusCode,
    version: Version,
    headers: HeaderMap,
    body: Incoming,
    /// What has been read, and how much of it has been given out.
    read: String,
    given: usize,
    /// The start of a character whose end is in the next chunk.
    partial: Vec<u8>,
    /// What undoes the compression.
    inflate: Option<GzDecoder<Vec<u8>>>,
}

impl Answer {
    fn new(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let is_compressed = head.headers.get("content-encoding").is_some_and(|coding| coding == "gzip");
        Self {
            status: head.status,
            version: head.version,
            headers: head.headers,
            body,
            read: String::new(),
            given: 0,
            partial: Vec::new(),
            inflate: is_compressed.then(|| GzDecoder::new(Vec::new())),
        }
    }

    /// The version of HTTP that the server answered in.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The status.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// A header, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"))
    }

    /// All headers.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Reads on until `end` has come, and gives everything up to there.
    pub async fn until(&mut self, end: &str) -> String {
        loop {
            if let Some(at) = self.read[self.given..].find(end) {
                let from = self.given;
                self.given += at + end.len();
                return self.read[from..self.given].to_owned();
            }
            self.read.drain(..self.given);
            self.given = 0;
            assert!(self.more().await, "the body ends before {end:?}, with {:?}", self.read);
        }
    }

    /// The next event, comments skipped.
    pub async fn event(&mut self) -> Value {
        loop {
            let frame = self.until("\n\n").await;
            if let Some(event) = event_of(&frame) {
                return event;
            }
        }
    }

    /// The rest of the body.
    pub async fn text(mut self) -> String {
        while self.more().await {}
        self.read.split_off(self.given)
    }

    /// Every event up to the end of the body.
    pub async fn events(self) -> Vec<Value> {
        let text = self.text().await;
        assert!(text.ends_with("\n\n"), "the body ends inside a frame: {text:?}");
        text.split_inclusive("\n\n").filter_map(event_of).collect()
    }

    /// The body as one JSON value.
    pub async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("the body is no JSON: {text:?}"))
    }

    /// The next chunk as it comes; nothing at the end of the body.
    pub async fn chunk(&mut self) -> Option<Bytes> {
        let chunk = self.body.frame().await?.unwrap().into_data().unwrap_or_default();
        let Some(inflate) = &mut self.inflate else { return Some(chunk) };
        inflate.write_all(&chunk).unwrap();
        inflate.flush().unwrap();
        Some(std::mem::take(inflate.get_mut()).into())
    }

    /// Reads one more chunk; false at the end of the body.
    async fn more(&mut self) -> bool {
        let Some(chunk) = self.chunk().await else { return false };
        // A chunk may end inside a character.
        self.partial.extend_from_slice(&chunk);
        let valid = match std::str::from_utf8(&self.partial) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.partial.split_off(valid);
        self.read.push_str(std::str::from_utf8(&self.partial).unwrap());
        self.partial = rest;
        true
    }
}

/// The event of a frame; none for a comment.
fn event_of(frame: &str) -> Option<Value> {
    if frame.starts_with(": ") {
        return None;
    }
    let json = frame.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n"));
    let json = json.unwrap_or_else(|| panic!("not a frame: {frame:?}"));
    Some(serde_json::from_str(json).unwrap())
}

/// The types of events.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}
