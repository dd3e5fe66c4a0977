//! A WebSocket client that does only what it is told to: nothing is read, and so nothing answered, behind its back.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::Server;

/// The path of the sockets.
pub(crate) const PATH: &str = "/agui/ws";

/// One socket.
#[derive(Debug)]
pub struct SocketClient {
    stream: WebSocketStream<TcpStream>,
    head: Response<Option<Vec<u8>>>,
}

impl SocketClient {
    /// Opens a socket.
    pub async fn open(server: &Server) -> Self {
        Self::open_with(server, PATH, &[]).await
    }

    /// Opens a socket on a path with headers of the upgrade.
    pub async fn open_with(server: &Server, path: &str, headers: &[(&'static str, &str)]) -> Self {
        Self::connect(server, path, headers).await.unwrap()
    }

    /// The status and the body of an upgrade that is refused.
    pub async fn refused(server: &Server, headers: &[(&'static str, &str)]) -> (StatusCode, Value) {
        match Self::connect(server, PATH, headers).await {
            Err(Error::Http(response)) => {
                let body = serde_json::from_slice(response.body().as_deref().unwrap_or_default());
                (response.status(), body.unwrap_or_default())
            }
            other => panic!("not refused: {other:?}"),
        }
    }

    async fn connect(server: &Server, path: &str, headers: &[(&'static str, &str)]) -> Result<Self, Error> {
        let request = request(server.addr(), path, headers);
        let stream = TcpStream::connect(server.addr()).await.unwrap();
        let (stream, head) = client_async(request, stream).await?;
        Ok(Self { stream, head })
    }

    /// A header of the answer to the upgrade.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers().get(name).map(|value| value.to_str().unwrap())
    }

    /// Sends a text frame.
    pub async fn say(&mut self, frame: &Value) {
        self.send(Message::text(frame.to_string())).await;
    }

    pub(crate) async fn send(&mut self, message: Message) {
        self.stream.send(message).await.unwrap();
    }

    /// The connection itself.
    pub(crate) fn tcp(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }

    /// Asks for a run.
    pub(crate) async fn ask(&mut self, run_id: &str) {
        self.say(&input(run_id)).await;
    }

    /// The next message but pings and pongs; an error once the connection is over.
    pub(crate) async fn next(&mut self) -> Result<Message, Error> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(message) => return message,
                None => return Err(Error::ConnectionClosed),
            }
        }
    }

    /// The next frame, which has to be text.
    pub async fn frame(&mut self) -> Value {
        match self.next().await {
            Ok(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("no text: {other:?}"),
        }
    }

    /// The events of one run.
    pub async fn run(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.frame().await;
            let over = event["type"] == "RUN_FINISHED" || event["type"] == "RUN_ERROR";
            events.push(event);
            if over {
                return events;
            }
        }
    }

    /// The code the server closes with, after any number of frames, and that the connection ends then.
    pub async fn close_code(&mut self) -> u16 {
        loop {
            match self.next().await {
                Ok(Message::Close(Some(frame))) => {
                    while self.next().await.is_ok() {}
                    return frame.code.into();
                }
                Ok(Message::Text(_)) => {}
                other => panic!("no close: {other:?}"),
            }
        }
    }
}

/// An upgrade.
fn request(addr: SocketAddr, path: &str, headers: &[(&'static str, &str)]) -> Request<()> {
    let mut request = format!("ws://{addr}{path}").into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    request
}

/// The smallest input of a 1.0 peer.
pub(crate) fn input(run_id: &str) -> Value {
    json!({ "threadId": "t", "runId": run_id, "protocolVersion": "1.0", "messages": [] })
}
