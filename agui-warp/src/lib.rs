//! AG-UI 1.0 agents served by warp.
//!
//! A whole server:
//!
//! ```no_run
//! use agui_warp::{Endpoint, Run, RunEnd, RunError};
//! use warp::Filter;
//!
//! async fn agent(run: Run) -> Result<RunEnd, RunError> {
//!     let question = run.input().last_user_message().map(|message| message.content.text().into_owned());
//!     let mut answer = run.message();
//!     answer.delta("You said: ").await?;
//!     answer.delta(question.unwrap_or_default()).await?;
//!     answer.end().await?;
//!     Ok(RunEnd::success())
//! }
//!
//! #[tokio::main]
//! async fn main() -> std::io::Result<()> {
//!     tracing_subscriber::fmt::init();
//!     let app = warp::path!("agui").and(agui_warp::endpoint(Endpoint::new(agent)));
//!     let socket = tokio::net::TcpSocket::new_v4()?;
//!     socket.set_nodelay(true)?;
//!     socket.bind(([127, 0, 0, 1], 8080).into())?;
//!     warp::serve(app).incoming(socket.listen(1024)?).run().await;
//!     Ok(())
//! }
//! ```
//!
//! [`endpoint`] is a [`Filter`] like any other: it combines with `and`, `or` and `with`. It takes every request that
//! reaches it, whatever the method and whatever is left of the path, and never rejects one: put the path in front.
//! Everything the protocol says about HTTP is decided by the [`Endpoint`], whose methods set limits, credentials and
//! timings.
//!
//! [`server`] serves several agents with discovery, a record of every thread, re-attachment and stop: an [`AgentServer`],
//! which is what CopilotKit's client speaks to.
//!
//! The other types of the protocol are [`agui_core`]'s, which is exported from here: `agui_warp::agui_core::Interrupt`,
//! say. An agent needs no dependency of its own on it.
//!
//! # When an agent fails
//!
//! The client reads a generic message and a code. The error itself goes to [`tracing`](https://docs.rs/tracing), which
//! drops it unless the program installs a subscriber, as the one above does; [`Endpoint::with_error_hook`] hands it to
//! a function instead or as well. With neither, nobody learns why a run failed.
//!
//! # What the filters around it have to know
//!
//! **CORS** is warp's own. Its list of headers is a fixed one: name every header that the application's page sends,
//! beside `authorization` and `content-type`. It puts nothing on rejections, so turn those into replies first, and it
//! does not say that the answer depends on the origin, which caches have to know:
//!
//! ```
//! use agui_warp::{Endpoint, Run, RunEnd};
//! use warp::http::{HeaderValue, header::VARY};
//! use warp::{Filter, Rejection, Reply};
//!
//! let cors = warp::cors()
//!     .allow_any_origin() // or `allow_origin` for each of your own
//!     .allow_headers(["authorization", "content-type", "x-tenant"])
//!     .allow_methods(["GET", "POST"])
//!     .allow_credentials(true);
//! # let endpoint = Endpoint::new(async |_: Run| Ok(RunEnd::success()));
//! let app = warp::path!("agui").and(agui_warp::endpoint(endpoint));
//! let app = app.recover(async |rejection: Rejection| match rejection.is_not_found() {
//!     true => Ok(warp::http::StatusCode::NOT_FOUND),
//!     false => Err(rejection), // tell your own apart here
//! });
//! let app = app.with(cors).map(|reply| {
//!     let mut response = Reply::into_response(reply);
//!     response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
//!     response
//! });
//! # let _ = warp::serve(app);
//! ```
//!
//! **Compression.** warp's `compression` filters take event streams for any other answer, compress them for every
//! client, and flush whenever the stream pauses, so no event waits in them; but every reverse proxy and client on the
//! way has to do as well, and short events become no shorter. Exempt the route: put the filter around what is to be
//! compressed, and the agent beside it.
//!
//! ```
//! use agui_warp::{Endpoint, Run, RunEnd};
//! use warp::Filter;
//!
//! # let endpoint = Endpoint::new(async |_: Run| Ok(RunEnd::success()));
//! let page = warp::path!("page").map(|| "Hello").with(warp::filters::compression::gzip());
//! let app = warp::path!("agui").and(agui_warp::endpoint(endpoint)).or(page);
//! # let _ = warp::serve(app);
//! ```
//!
//! **`TCP_NODELAY`** belongs on every socket: without it the kernel may keep a short event back until the one before it
//! is acknowledged. warp accepts connections by itself, and they inherit the option from the socket that listens, as in
//! the program above.
//!
//! **Timeouts.** warp has none. `tokio::time::timeout` around a filter's work bounds the time to the head of the answer,
//! which comes at once, and so how long a body may take to arrive; it does not cut runs off.
//! [`Endpoint::with_run_timeout`] ends them in order.
//!
//! **Body limits.** `warp::body::content_length_limit` rejects before the endpoint is asked, and bodies of no declared
//! length altogether; leave it out, [`Endpoint::with_max_body_bytes`] counts what arrives.
//!
//! **Authentication** of the application's own is a filter that extracts who calls, or rejects. What it extracts reaches
//! the handler with [`endpoint_with`].
//!
//! **WebSocket.** `websocket` serves the same agents on a socket that stays open, one run after the other: see
//! [`agui_encoder::ws`] for what goes over it. Pages of other origins are named with
//! `WebSocketEndpoint::with_allowed_origins`; the CORS layer has no say in it. On shutdown, `WebSocketEndpoint::shutdown`
//! waits for the sockets as well, which the HTTP server has no part in any more.
//!
//! **Requests without a path.** Warp's own filters panic at a target that is a host and a port, as only `CONNECT` should
//! have one (`GET example.org:80 HTTP/1.1`). It costs that one connection, and the panic hook says so.
//!
//! **Work that blocks** the thread goes to [`tokio::task::spawn_blocking`](https://docs.rs/tokio): a handler is polled
//! between those of other requests. A client that goes away is noticed at once, and the handler's future is dropped;
//! blocking work it has started runs on unless it looks at [`Run::is_cancelled`].

#[cfg(feature = "websocket")]
mod websocket;
use std::convert::Infallible;

use agui_core::producer::Extensions;
use agui_encoder::http::{Begun, Body, collect_body, drain_body};
use futures_util::TryStreamExt;
use http::{HeaderMap, Method, header::CONTENT_LENGTH, request::Parts};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use warp::filters::path::{FullPath, Peek};
use warp::reply::Response;
use warp::{Filter, Rejection, Reply};

pub use agui_core::{self, Run, RunEnd, RunError, RunHandler};
pub use agui_encoder::http::{AgentServer, Endpoint};
#[cfg(feature = "websocket")]
pub use agui_encoder::ws::WebSocketEndpoint;
#[cfg(feature = "websocket")]
pub use websocket::{websocket, websocket_with};

/// Serves an endpoint, whatever the method and the path: refusing the wrong methods is the endpoint's.
///
/// # Examples
/// ```
/// use agui_warp::{Endpoint, Run, RunEnd};
/// use warp::Filter;
///
/// let hello = async |run: Run| { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let app = warp::path!("agui").and(agui_warp::endpoint(Endpoint::new(hello)));
/// # let _ = warp::serve(app);
/// ```
pub fn endpoint(
    endpoint: Endpoint,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static {
    request().then(move |head: Parts, body| {
        let endpoint = endpoint.clone();
        async move { answer(endpoint.begin(&head).await, &head, body, |_| {}).await }
    })
}

/// [`endpoint`], with a filter that extracts what the handler shall find among the [run's](Run::extensions), by its type.
/// A request that the filter rejects does not reach the endpoint.
///
/// # Examples
/// ```
/// use agui_warp::{Endpoint, Run, RunEnd};
/// use warp::Filter;
///
/// struct User(String);
///
/// let greet = async |run: Run| {
///     let name = run.extensions().get::<User>().map_or("nobody", |user| &user.0).to_owned();
///     run.text(format!("Hello {name}")).await?;
///     Ok(RunEnd::success())
/// };
/// let user = warp::header::<String>("x-session").map(User); // look the session up here
/// let app = warp::path!("agui").and(agui_warp::endpoint_with(Endpoint::new(greet), user));
/// # let _ = warp::serve(app);
/// ```
pub fn endpoint_with<F, T>(
    endpoint: Endpoint,
    filter: F,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static
where
    F: Filter<Extract = (T,), Error = Rejection> + Clone + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    filter.and(request()).then(move |extracted: T, head: Parts, body| {
        let endpoint = endpoint.clone();
        async move { answer(endpoint.begin(&head).await, &head, body, |run| run.insert(extracted)).await }
    })
}

/// Serves a whole server of agents on whatever the filters in front of it have left of the path: put the prefix there, or
/// nothing, and what has to go first before it with `or`. It takes everything that reaches it.
///
/// # Examples
/// ```
/// use agui_warp::{AgentServer, Run, RunEnd};
/// use warp::Filter;
///
/// let hello = async |run: Run| { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let agents = AgentServer::new().with_agent("hello", hello);
/// let nested = warp::path("copilot").and(agui_warp::server(agents.clone()));
/// let app = nested.or(agui_warp::server(agents));
/// # let _ = warp::serve(app);
/// ```
pub fn server(
    server: AgentServer,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static {
    below_the_mount().and(request()).then(move |path: String, head: Parts, body| {
        let server = server.clone();
        async move { answer(server.begin(&head, &path).await, &head, body, |_| {}).await }
    })
}

/// [`server`], with a filter that extracts what the handlers shall find, as [`endpoint_with`] has it.
pub fn server_with<F, T>(
    server: AgentServer,
    filter: F,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static
where
    F: Filter<Extract = (T,), Error = Rejection> + Clone + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    let request = below_the_mount().and(filter).and(request());
    request.then(move |path: String, extracted: T, head: Parts, body| {
        let server = server.clone();
        async move {
            answer(server.begin(&head, &path).await, &head, body, |run| run.insert(extracted)).await
        }
    })
}

/// Answers every request with the endpoint's 404, after its credentials have been judged: strangers learn nothing of
/// which paths exist.
///
/// # Examples
/// ```
/// use agui_warp::{Endpoint, Run, RunEnd};
/// use warp::Filter;
///
/// let plain = Endpoint::new(async |_: Run| Ok(RunEnd::success()));
/// let secure = plain.clone().with_bearer_token("s3cret");
/// let app = warp::path!("secure" / "agui").and(agui_warp::endpoint(secure.clone()))
///     .or(warp::path("secure").and(agui_warp::not_found(secure)))
///     .or(agui_warp::not_found(plain));
/// # let _ = warp::serve(app);
/// ```
pub fn not_found(
    endpoint: Endpoint,
) -> impl Filter<Extract = (Response,), Error = Rejection> + Clone + Send + Sync + 'static {
    request().then(move |head: Parts, body| {
        let endpoint = endpoint.clone();
        async move {
            let refused = Begun::Refused(endpoint.not_found(&head).await);
            answer(refused, &head, body, |_| {}).await
        }
    })
}

/// Takes a request apart. Warp keeps its extensions to itself, so the head has none.
fn request()
-> impl Filter<Extract = (Parts, impl http_body::Body<Data = impl bytes::Buf + Send> + Send), Error = Rejection>
+ Clone
+ Send
+ Sync
+ 'static {
    let query = warp::query::raw().map(Some).or(warp::any().map(|| None)).unify();
    warp::method()
        .and(warp::path::full())
        .and(query)
        .and(warp::header::headers_cloned())
        .map(|method: Method, path: FullPath, query: Option<String>, headers: HeaderMap| {
            let (mut head, ()) = http::Request::new(()).into_parts();
            let uri =
                query.map_or_else(|| path.as_str().to_owned(), |query| format!("{}?{query}", path.as_str()));
            // It has been a URI before, so nothing falls back to a default.
            (head.method, head.uri, head.headers) = (method, uri.parse().unwrap_or_default(), headers);
            head
        })
        .and(warp::body::stream().map(|body| StreamBody::new(TryStreamExt::map_ok(body, Frame::data))))
}

/// What is left of the path, escaped as it came.
fn below_the_mount() -> impl Filter<Extract = (String,), Error = Infallible> + Clone + Send + Sync + 'static {
    warp::path::peek().map(|rest: Peek| format!("/{}", rest.as_str()))
}

/// The second half of every request.
async fn answer<B>(begun: Begun, head: &Parts, body: B, copy: impl FnOnce(&mut Extensions)) -> Response
where
    B: http_body::Body,
    B::Data: bytes::Buf,
{
    let response = match begun {
        Begun::Refused(response) => {
            drain_body(body, &head.headers).await;
            response
        }
        Begun::Accepted(mut pending) => {
            copy(pending.extensions_mut());
            let body = collect_body(body, &head.headers, pending.max_body_bytes()).await;
            pending.finish(body).await
        }
    };
    into_warp(response, &head.method).await
}

/// The response with warp's body.
async fn into_warp(response: http::Response<Body>, method: &Method) -> Response {
    let (mut head, body) = response.into_parts();
    let mut answer = if body.is_stream() {
        // Once warp drops the body the client is gone; the endpoint takes it from there.
        warp::reply::stream(body).into_response()
    } else {
        // It is there already, and sent with its length.
        let Ok(body) = body.collect().await;
        let mut body = body.to_bytes();
        if *method == Method::HEAD {
            // Over HTTP/2 warp would send the body, which is an error there.
            head.headers.insert(CONTENT_LENGTH, body.len().into());
            body.clear();
        }
        Response::new(body.into())
    };
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    answer
}
