//! A runtime surface as its clients see it.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use agui_core::{Run, RunEnd, RunError, RunHandler};
use agui_encoder::http::AgentServer;
use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::client::{Answer, Client};
use crate::{Server, StartServer};

/// Where most cases have the surface.
pub(super) const PREFIX: &str = "/api/runtime";

/// How long what happens at once may take.
pub(super) const MOMENT: Duration = Duration::from_secs(5);

/// A server with a surface below a prefix.
pub(super) struct Site {
    server: Server,
    prefix: &'static str,
    headers: HashMap<&'static str, String>,
}

/// One request on a connection of its own, which stays open as long as this is kept.
pub(super) struct Call {
    client: Client,
    answer: Answer,
}

impl Call {
    /// Reads on to the end of the event that this stands in, and gives all that was read.
    pub(super) async fn read_to(&mut self, mark: &str) -> String {
        self.answer.until(mark).await + &self.answer.until("\n\n").await
    }

    /// Every event up to the end of the body.
    pub(super) async fn events(self) -> Vec<Value> {
        let Self { client: _open, answer } = self;
        answer.events().await
    }

    /// The rest of the body.
    pub(super) async fn text(self) -> String {
        let Self { client: _open, answer } = self;
        answer.text().await
    }

    /// The body as one JSON value.
    pub(super) async fn json(self) -> Value {
        let Self { client: _open, answer } = self;
        answer.json().await
    }
}

impl Deref for Call {
    type Target = Answer;

    fn deref(&self) -> &Answer {
        &self.answer
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }
}

impl Site {
    /// Serves agents below [`PREFIX`].
    pub(super) async fn new(start: StartServer, agents: AgentServer) -> Self {
        Self::below(start, agents, PREFIX).await
    }

    /// Serves agents below a prefix; an empty one is the root.
    pub(super) async fn below(start: StartServer, agents: AgentServer, prefix: &'static str) -> Self {
        Self { server: start(agents, prefix).await, prefix, headers: HashMap::new() }
    }

    /// Has every request carry this header from here on.
    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        self.headers.insert(name, value.to_owned());
    }

    /// Sends a request for a path below the prefix, with these headers and the site's.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Call {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.prefix));
        request = request.header(HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut client = Client::connect(&self.server).await;
        let answer = client.send(request.body(Full::from(body.into())).unwrap()).await;
        Call { client, answer }
    }

    /// A connection, and where the surface is on it.
    pub(super) async fn client(&self) -> (Client, &'static str) {
        (Client::connect(&self.server).await, self.prefix)
    }

    /// A request with a method and no body.
    pub(super) async fn ask(&self, method: Method, path: &str) -> Call {
        self.send(method, path, &[], "").await
    }

    /// POSTs text as JSON.
    pub(super) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Call {
        let headers = [("accept", "text/event-stream"), ("content-type", "application/json")];
        self.send(Method::POST, path, &headers, body).await
    }

    /// Starts a run of the agent `a`, which has to be admitted.
    pub(super) async fn run(&self, input: &Value) -> Call {
        let call = self.post("/agent/a/run", input.to_string()).await;
        assert_eq!(call.status(), StatusCode::OK);
        call
    }

    /// Asks for a run that is refused.
    pub(super) async fn refused_run(&self, input: &Value, status: u16, code: &str) -> Value {
        expect(self.post("/agent/a/run", input.to_string()).await, status, code).await
    }

    /// Connects to a thread of the agent `a`.
    pub(super) async fn connect(&self, input: &Value) -> Call {
        let call = self.post("/agent/a/connect", input.to_string()).await;
        assert_eq!(call.status(), StatusCode::OK);
        call
    }

    /// Asks for a stop, and gives the answer.
    pub(super) async fn stop(&self, thread: &str) -> Value {
        let answer = self.post(&format!("/agent/a/stop/{thread}"), "").await;
        assert_eq!(answer.status(), StatusCode::OK);
        answer.json().await
    }
}

/// Looks at everything a refusal has to be, and gives its body.
pub(super) async fn expect(answer: Call, status: u16, code: &str) -> Value {
    assert_eq!(answer.status().as_u16(), status, "{code}");
    assert_eq!(answer.header("content-type"), "application/json", "{code}");
    let body = answer.json().await;
    assert_eq!(body["code"], code);
    for member in ["error", "message"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {body}");
    }
    body
}

/// The input of a run, from a peer that speaks 1.0.
pub(super) fn turn(thread: &str, run: &str) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0",
        "messages": [{ "id": format!("q-{run}"), "role": "user", "content": "Go." }],
    })
}

/// The input of a consumer that holds nothing.
pub(super) fn holding_nothing(thread: &str) -> Value {
    json!({ "threadId": thread, "runId": "fresh", "protocolVersion": "1.0", "messages": [] })
}

/// The same from a peer that declares no version.
pub(super) fn older(mut input: Value) -> Value {
    input.as_object_mut().unwrap().remove("protocolVersion");
    input
}

/// Agents with one that says nothing, under the name `a`.
pub(super) fn silent() -> AgentServer {
    AgentServer::new().with_agent("a", async |_: Run| Ok::<_, RunError>(RunEnd::success()))
}

/// A handler that says the words `0 `, `1 ` and so on, each when there is a permit for it, in a message `{run}:m`.
pub(super) fn words(count: usize, permits: &Arc<Semaphore>) -> impl RunHandler {
    let permits = Arc::clone(permits);
    move |run: Run| {
        let permits = Arc::clone(&permits);
        async move {
            let mut answer = run.message().with_id(format!("{}:m", run.run_id()));
            for word in 0..count {
                permits.acquire().await.map(tokio::sync::SemaphorePermit::forget)?;
                answer.delta(format!("{word} ")).await?;
            }
            answer.end().await?;
            Ok(RunEnd::success())
        }
    }
}

/// Everything that [`words`] says.
pub(super) fn said(count: usize) -> String {
    (0..count).fold(String::new(), |text, word| text + &format!("{word} "))
}

/// The deltas among events, joined.
pub(super) fn text_of(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

/// Waits for something that is to come soon.
pub(super) async fn soon<T>(what: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(MOMENT, what).await else { panic!("it does not come") };
    done
}
