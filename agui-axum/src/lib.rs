//! AG-UI 1.0 agents served by axum.
//!
//! A whole server:
//!
//! ```no_run
//! use agui_axum::{Endpoint, Run, RunEnd, RunError};
//! use axum::Router;
//! use axum::serve::ListenerExt;
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
//!     let app = Router::new().route("/agui", agui_axum::endpoint(Endpoint::new(agent)));
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
//!     axum::serve(listener, app).await
//! }
//! ```
//!
//! [`endpoint`] is a [`MethodRouter`] like any other: layers, state and nesting are axum's own. Everything the protocol
//! says about HTTP is decided by the [`Endpoint`], whose methods set limits, credentials and timings.
//!
//! [`server`] serves several agents with discovery, a record of every thread, re-attachment and stop: an [`AgentServer`],
//! which is what CopilotKit's client speaks to.
//!
//! The other types of the protocol are [`agui_core`]'s, which is exported from here: `agui_axum::agui_core::Interrupt`,
//! say. An agent needs no dependency of its own on it.
//!
//! # When an agent fails
//!
//! The client reads a generic message and a code. The error itself goes to [`tracing`](https://docs.rs/tracing), which
//! drops it unless the program installs a subscriber, as the one above does; [`Endpoint::with_error_hook`] hands it to
//! a function instead or as well. With neither, nobody learns why a run failed.
//!
//! # What the layers around it have to know
//!
//! **CORS** is tower-http's `CorsLayer`. A browser application on another origin needs its headers named, and with
//! credentials the origin itself instead of `*`. Put the layer outside of everything that may refuse:
//!
//! ```
//! use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};
//!
//! let cors = CorsLayer::new()
//!     .allow_origin(AllowOrigin::mirror_request()) // or the list of your own origins
//!     .allow_headers(AllowHeaders::mirror_request())
//!     .allow_methods(AllowMethods::list([http::Method::GET, http::Method::POST]))
//!     .allow_credentials(true);
//! # let _ = axum::Router::<()>::new().layer(cors);
//! ```
//!
//! **Compression** has to leave event streams alone, or events wait in its buffer. tower-http's `CompressionLayer` does
//! so for `text/event-stream` by its default predicate, and has to be told of the binary encoding:
//!
//! ```
//! use tower_http::compression::CompressionLayer;
//! use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
//!
//! let not_streams = DefaultPredicate::new()
//!     .and(NotForContentType::const_new("application/vnd.ag-ui.event+proto"));
//! # let _ = axum::Router::<()>::new().layer(CompressionLayer::new().compress_when(not_streams));
//! ```
//!
//! **`TCP_NODELAY`** belongs on every socket, as in the program above: without it the kernel may keep a short event back
//! until the one before it is acknowledged.
//!
//! **Timeouts.** `tower_http::timeout::TimeoutLayer` limits the time to the head of the answer, which comes at once, and
//! so bounds how long a body may take to arrive. A `ResponseBodyTimeoutLayer` would cut runs off;
//! [`Endpoint::with_run_timeout`] ends them in order.
//!
//! **Body limits.** axum's `DefaultBodyLimit` concerns its extractors and does not apply here;
//! [`Endpoint::with_max_body_bytes`] does.
//!
//! **Authentication** of the application's own is middleware as usual. What it puts into the request's extensions reaches
//! the handler with [`endpoint_with`], or through [`RequestHead`](agui_encoder::http::RequestHead).
//!
//! **Work that blocks** the thread goes to [`tokio::task::spawn_blocking`](https://docs.rs/tokio): a handler is polled
//! between those of other requests. A client that goes away is noticed at once, and the handler's future is dropped;
//! blocking work it has started runs on unless it looks at [`Run::is_cancelled`].

use agui_core::producer::Extensions;
use agui_encoder::http::{Begun, collect_body, drain_body};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::{MethodRouter, any};

pub use agui_core::{self, Run, RunEnd, RunError, RunHandler};
pub use agui_encoder::http::{AgentServer, Endpoint};

/// Serves an endpoint on a route, whatever the method: refusing the wrong ones is the endpoint's.
///
/// # Examples
/// ```
/// use agui_axum::{Endpoint, Run, RunEnd};
///
/// let hello = |run: Run| async move { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let app = axum::Router::<()>::new().route("/agui", agui_axum::endpoint(Endpoint::new(hello)));
/// # let _ = app;
/// ```
pub fn endpoint<S>(endpoint: Endpoint) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    endpoint_with(endpoint, |_, _| {})
}

/// [`endpoint`], with a function that copies from the request's extensions what the handler shall find among the
/// [run's](Run::extensions).
///
/// # Examples
/// ```
/// use agui_axum::{Endpoint, Run, RunEnd};
///
/// #[derive(Clone)]
/// struct User(String); // put there by a middleware
///
/// let greet = |run: Run| async move {
///     let name = run.extensions().get::<User>().map_or("nobody", |user| &user.0).to_owned();
///     run.text(format!("Hello {name}")).await?;
///     Ok(RunEnd::success())
/// };
/// let route = agui_axum::endpoint_with(Endpoint::new(greet), |request, run| {
///     if let Some(user) = request.get::<User>() {
///         run.insert(user.clone());
///     }
/// });
/// # let _ = axum::Router::<()>::new().route("/agui", route);
/// ```
pub fn endpoint_with<S, F>(endpoint: Endpoint, copy: F) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(&http::Extensions, &mut Extensions) + Clone + Send + Sync + 'static,
{
    any(move |request: Request| async move {
        let (head, body) = request.into_parts();
        let begun = endpoint.begin(&head).await;
        answer(begun, &head, body, copy).await
    })
}

/// Serves a whole server of agents below wherever it is mounted: nested with [`Router::nest_service`], or at the root as
/// the fallback, so that everything the router does not know otherwise goes there.
///
/// # Examples
/// ```
/// use agui_axum::{AgentServer, Run, RunEnd};
///
/// let hello = |run: Run| async move { run.text("Hello").await?; Ok(RunEnd::success()) };
/// let agents = AgentServer::new().with_agent("hello", hello);
/// let nested = axum::Router::<()>::new().nest_service("/copilot", agui_axum::server(agents.clone()));
/// let at_the_root = axum::Router::<()>::new().fallback_service(agui_axum::server(agents));
/// # let _ = (nested, at_the_root);
/// ```
///
/// [`Router::nest_service`]: axum::Router::nest_service
pub fn server<S>(server: AgentServer) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    server_with(server, |_, _| {})
}

/// [`server`], with a function that copies from the request's extensions, as [`endpoint_with`] has it.
pub fn server_with<S, F>(server: AgentServer, copy: F) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(&http::Extensions, &mut Extensions) + Clone + Send + Sync + 'static,
{
    any(move |request: Request| async move {
        let (head, body) = request.into_parts();
        // axum has taken the prefix off.
        let begun = server.begin(&head, head.uri.path()).await;
        answer(begun, &head, body, copy).await
    })
}

/// The second half of every request.
async fn answer(
    begun: Begun,
    head: &http::request::Parts,
    body: Body,
    copy: impl Fn(&http::Extensions, &mut Extensions),
) -> Response {
    let response = match begun {
        Begun::Refused(response) => {
            drain_body(body, &head.headers).await;
            response
        }
        Begun::Accepted(mut pending) => {
            copy(&head.extensions, pending.extensions_mut());
            // The body is taken as it is: axum's own limit is one of its extractors, and the endpoint has one.
            let body = collect_body(body, &head.headers, pending.max_body_bytes()).await;
            pending.finish(body).await
        }
    };
    // Once axum drops the body the client is gone; the endpoint takes it from there.
    response.map(Body::new)
}

/// Answers every request with the endpoint's 404, after its credentials have been judged: strangers learn nothing of
/// which paths exist.
///
/// # Examples
/// ```
/// use agui_axum::{Endpoint, Run, RunEnd};
///
/// let plain = Endpoint::new(|_: Run| async { Ok(RunEnd::success()) });
/// let secure = plain.clone().with_bearer_token("s3cret");
/// let app = axum::Router::<()>::new()
///     .route("/secure/agui", agui_axum::endpoint(secure.clone()))
///     .route("/secure/{*path}", agui_axum::not_found(secure))
///     .fallback_service(agui_axum::not_found(plain));
/// # let _ = app;
/// ```
pub fn not_found<S>(endpoint: Endpoint) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    any(move |request: Request| async move {
        let (head, body) = request.into_parts();
        let response: Response = endpoint.not_found(&head).await.map(Body::new);
        drain_body(body, &head.headers).await;
        response
    })
}
