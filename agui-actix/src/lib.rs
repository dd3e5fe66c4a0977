//! AG-UI 1.0 agents served by actix-web.
//!
//! A whole server:
//!
//! ```no_run
//! use actix_web::{App, HttpServer};
//! use agui_actix::{Endpoint, Run, RunEnd, RunError};
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
//! #[actix_web::main]
//! async fn main() -> std::io::Result<()> {
//!     tracing_subscriber::fmt::init();
//!     let endpoint = Endpoint::new(agent);
//!     HttpServer::new(move || App::new().route("/agui", agui_actix::endpoint(endpoint.clone())))
//!         .h1_allow_half_closed(false)
//!         .tcp_nodelay(true)
//!         .bind("127.0.0.1:8080")?
//!         .run()
//!         .await
//! }
//! ```
//!
//! [`endpoint`] is a [`Route`] like any other: it goes into an `App`, a `Scope` or a `Resource`, with the guards and
//! middleware that belong there. Everything the protocol says about HTTP is decided by the [`Endpoint`], whose methods
//! set limits, credentials and timings. [`server`] serves several agents with discovery, a record of every thread,
//! re-attachment and stop: an [`AgentServer`], which is what CopilotKit's client speaks to. Make either once, outside of the function that builds the `App`, and clone it in
//! there: actix-web calls that function for every worker, and only clones share their limits and their shutdown.
//!
//! The other types of the protocol are [`agui_core`]'s, which is exported from here: `agui_actix::agui_core::Interrupt`,
//! say. An agent needs no dependency of its own on it.
//!
//! # When an agent fails
//!
//! The client reads a generic message and a code. The error itself goes to [`tracing`](https://docs.rs/tracing), which
//! drops it unless the program installs a subscriber, as the one above does; [`Endpoint::with_error_hook`] hands it to
//! a function instead or as well. With neither, nobody learns why a run failed.
//!
//! # When a client goes away
//!
//! actix-web lets a client close its half of an HTTP/1.1 connection and still read the answer. A client that has gone
//! altogether looks the same, until something is written to it: the first write is what makes its machine say so, the
//! second one fails. A silent run is therefore cancelled after two [keep-alive](Endpoint::with_keep_alive) intervals on
//! SSE, and on the binary wire, which has no keep-alive, at its second event. With
//! [`h1_allow_half_closed(false)`](actix_web::HttpServer::h1_allow_half_closed), as in the program above, a closed
//! connection ends the run at once on either wire. On HTTP/2 a silent run is cancelled at its next write.
//!
//! # What the layers around it have to know
//!
//! **CORS** is actix-cors. A browser application on another origin needs its headers named, and with credentials the
//! origin itself instead of `*`; `allow_any_origin` and `allow_any_header` repeat what the browser asks for. Wrap the
//! whole `App`, so that refusals carry the headers as well:
//!
//! ```
//! use actix_cors::Cors;
//! use actix_web::{App, http::Method};
//!
//! let cors = Cors::default()
//!     .allow_any_origin() // or `allowed_origin` for each of your own
//!     .allow_any_header()
//!     .allowed_methods([Method::GET, Method::POST])
//!     .supports_credentials();
//! # let _ =
//! App::new().wrap(cors)
//! # ;
//! ```
//!
//! **Compression.** actix-web's `Compress` takes event streams for any other answer and compresses them. It flushes
//! whenever the stream pauses, so no event waits in it, but every reverse proxy and client on the way has to do as well,
//! and short events become no shorter. Exempt the route: wrap what is to be compressed and leave the agent outside.
//!
//! ```
//! use actix_web::middleware::Compress;
//! use actix_web::{App, web};
//! use agui_actix::{Endpoint, Run, RunEnd};
//!
//! # let endpoint = Endpoint::new(async |_: Run| Ok(RunEnd::success()));
//! # let _ =
//! App::new()
//!     .route("/agui", agui_actix::endpoint(endpoint))
//!     .service(web::scope("/pages").wrap(Compress::default()).route("", web::get().to(async || "Hello")))
//! # ;
//! ```
//!
//! **`TCP_NODELAY`** belongs on every socket, as in the program above: without it the kernel may keep a short event back
//! until the one before it is acknowledged.
//!
//! **Timeouts.** `client_request_timeout` limits the time to the head of a request and does not concern its body or the
//! answer, so a body may take as long as it likes to arrive; a middleware that bounds the time to the head of the answer
//! bounds that as well. None cuts a run off; [`Endpoint::with_run_timeout`] ends one in order.
//!
//! **Body limits.** actix-web's `PayloadConfig` and `JsonConfig` concern its extractors and do not apply here;
//! [`Endpoint::with_max_body_bytes`] does.
//!
//! **Authentication** of the application's own is middleware as usual. What it leaves with the request (its extensions, a
//! session, an identity) reaches the handler with [`endpoint_with`].
//!
//! **WebSocket.** `websocket` serves the same agents on a socket that stays open, one run after the other: see
//! [`agui_encoder::ws`] for what goes over it. Pages of other origins are named with
//! `WebSocketEndpoint::with_allowed_origins`; the CORS layer has no say in it. On shutdown, `WebSocketEndpoint::shutdown`
//! waits for the sockets as well, which the HTTP server has no part in any more. After the close frames actix-web leaves
//! the connection to the client to close, for as long as `HttpServer::client_disconnect_timeout` says, which is a second.
//!
//! **Work that blocks** the thread goes to [`actix_web::web::block`]: a handler is polled between those of other
//! requests of its worker. Once a client is known to be gone the handler's future is dropped; blocking work it has
//! started runs on unless it looks at [`Run::is_cancelled`].

#[cfg(feature = "websocket")]
mod websocket;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::ConnectionType;
use actix_web::web::{Bytes, Payload};
use actix_web::{HttpRequest, HttpResponse, Route, web};
use agui_core::producer::Extensions;
use agui_encoder::http::{Begun, Body, collect_body, drain_body};
use futures_util::{Stream, TryStreamExt};
use http::header::EXPECT;
use http::request::Parts;
use http_body::Frame;
use http_body_util::StreamBody;

pub use agui_core::{self, Run, RunEnd, RunError, RunHandler};
pub use agui_encoder::http::{AgentServer, Endpoint};
#[cfg(feature = "websocket")]
pub use agui_encoder::ws::WebSocketEndpoint;
#[cfg(feature = "websocket")]
pub use websocket::{websocket, websocket_with};

/// Serves an endpoint on a route, whatever the method: refusing the wrong ones is the endpoint's.
///
/// # Examples
/// ```
/// use actix_web::App;
/// use agui_actix::{Endpoint, Run, RunEnd};
///
/// let hello = async |run: Run| { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let app = App::new().route("/agui", agui_actix::endpoint(Endpoint::new(hello)));
/// # let _ = app;
/// ```
pub fn endpoint(endpoint: Endpoint) -> Route {
    endpoint_with(endpoint, |_, _| {})
}

/// [`endpoint`], with a function that copies from the request what the handler shall find among the
/// [run's](Run::extensions).
///
/// # Examples
/// ```
/// use actix_web::{App, HttpMessage};
/// use agui_actix::{Endpoint, Run, RunEnd};
///
/// #[derive(Clone)]
/// struct User(String); // put there by a middleware
///
/// let greet = async |run: Run| {
///     let name = run.extensions().get::<User>().map_or("nobody", |user| &user.0).to_owned();
///     run.text(format!("Hello {name}")).await?;
///     Ok(RunEnd::success())
/// };
/// let route = agui_actix::endpoint_with(Endpoint::new(greet), |request, run| {
///     if let Some(user) = request.extensions().get::<User>() {
///         run.insert(user.clone());
///     }
/// });
/// # let _ = App::new().route("/agui", route);
/// ```
pub fn endpoint_with<F>(endpoint: Endpoint, copy: F) -> Route
where
    F: Fn(&HttpRequest, &mut Extensions) + Clone + 'static,
{
    web::route().to(move |request: HttpRequest, body: Payload| {
        let (endpoint, copy) = (endpoint.clone(), copy.clone());
        async move {
            let head = head_of(&request);
            let begun = endpoint.begin(&head).await;
            answer(begun, &head, body, |run| copy(&request, run)).await
        }
    })
}

/// Serves a whole server of agents below wherever it is mounted: as what a `Scope` does by default, or an `App`, so that
/// everything they do not know otherwise goes there.
///
/// # Examples
/// ```
/// use actix_web::{App, web};
/// use agui_actix::{AgentServer, Run, RunEnd};
///
/// let hello = async |run: Run| { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let agents = AgentServer::new().with_agent("hello", hello);
/// let nested = web::scope("/copilot").default_service(agui_actix::server(agents.clone()));
/// let at_the_root = App::new().service(nested).default_service(agui_actix::server(agents));
/// # let _ = at_the_root;
/// ```
pub fn server(server: AgentServer) -> Route {
    server_with(server, |_, _| {})
}

/// [`server`], with a function that copies from the request, as [`endpoint_with`] has it.
pub fn server_with<F>(server: AgentServer, copy: F) -> Route
where
    F: Fn(&HttpRequest, &mut Extensions) + Clone + 'static,
{
    web::route().to(move |request: HttpRequest, body: Payload| {
        let (server, copy) = (server.clone(), copy.clone());
        async move {
            let head = head_of(&request);
            let begun = server.begin(&head, below_the_mount(&request)).await;
            answer(begun, &head, body, |run| copy(&request, run)).await
        }
    })
}

/// Answers every request with the endpoint's 404, after its credentials have been judged: strangers learn nothing of
/// which paths exist.
///
/// # Examples
/// ```
/// use actix_web::{App, web};
/// use agui_actix::{Endpoint, Run, RunEnd};
///
/// let plain = Endpoint::new(async |_: Run| Ok(RunEnd::success()));
/// let secure = plain.clone().with_bearer_token("s3cret");
/// let app = App::new()
///     .service(
///         web::scope("/secure")
///             .route("/agui", agui_actix::endpoint(secure.clone()))
///             .default_service(agui_actix::not_found(secure)),
///     )
///     .default_service(agui_actix::not_found(plain));
/// # let _ = app;
/// ```
pub fn not_found(endpoint: Endpoint) -> Route {
    web::route().to(move |request: HttpRequest, body: Payload| {
        let endpoint = endpoint.clone();
        async move {
            let head = head_of(&request);
            let refused = Begun::Refused(endpoint.not_found(&head).await);
            answer(refused, &head, body, |_| {}).await
        }
    })
}

/// The head of a request, value by value: actix-web's types are those of another version of `http`. Both take the same
/// methods, paths and headers, so nothing falls back to a default or is left out.
fn head_of(request: &HttpRequest) -> Parts {
    let (mut head, ()) = http::Request::new(()).into_parts();
    head.method = http::Method::from_bytes(request.method().as_str().as_bytes()).unwrap_or_default();
    head.uri = request.uri().to_string().parse().unwrap_or_default();
    head.version = match request.version() {
        actix_web::http::Version::HTTP_10 => http::Version::HTTP_10,
        actix_web::http::Version::HTTP_2 => http::Version::HTTP_2,
        _ => http::Version::HTTP_11,
    };
    for (name, value) in request.headers() {
        let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = http::HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            head.headers.append(name, value);
        }
    }
    // actix-web has asked for the body already: a client that waited to be asked is sending it.
    head.headers.remove(EXPECT);
    head
}

/// What is left of the path, escaped as it came. actix-web's own rest of it has some escapes undone, but never that of a
/// slash: so many slashes from the end the rest begins.
fn below_the_mount(request: &HttpRequest) -> &str {
    let path = request.uri().path();
    let slashes = request.match_info().unprocessed().matches('/').count();
    let start = slashes.checked_sub(1).and_then(|before| path.rmatch_indices('/').nth(before));
    start.map_or("", |(at, _)| path.get(at..).unwrap_or_default())
}

/// The second half of every request. The body is taken as it is: actix-web's own limits are its extractors', and the
/// endpoint has one.
async fn answer(
    begun: Begun,
    head: &Parts,
    body: Payload,
    copy: impl FnOnce(&mut Extensions),
) -> HttpResponse {
    let body = StreamBody::new(body.map_ok(Frame::data));
    let mut answer = into_actix(match begun {
        Begun::Refused(response) => {
            drain_body(body, &head.headers).await;
            response
        }
        Begun::Accepted(mut pending) => {
            copy(pending.extensions_mut());
            let body = collect_body(body, &head.headers, pending.max_body_bytes()).await;
            pending.finish(body).await
        }
    });
    if head.version == http::Version::HTTP_10 && answer.body().size() == BodySize::Stream {
        // It knows no chunks. The end of the connection is that of the body.
        answer.head_mut().no_chunking(true);
        answer.head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
}

/// The response in actix-web's types.
fn into_actix(response: http::Response<Body>) -> HttpResponse {
    use actix_web::http::StatusCode;
    use actix_web::http::header::{HeaderName, HeaderValue};

    let (head, body) = response.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = HttpResponse::with_body(status, Chunks(body)).map_into_boxed_body();
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            answer.headers_mut().append(name, value);
        }
    }
    answer
}

/// The body of an answer. Once actix-web drops it the client is gone; the endpoint takes it from there.
struct Chunks(Body);

impl MessageBody for Chunks {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        http_body::Body::size_hint(&self.0).exact().map_or(BodySize::Stream, BodySize::Sized)
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}
