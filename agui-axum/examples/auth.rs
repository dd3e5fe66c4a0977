//! An application's own authentication: a middleware looks the caller up, and the handler knows who asks.
//!
//! `cargo run -p agui-axum --example auth`, then call it with `-H 'x-session: s-1'`.

use std::collections::HashMap;
use std::sync::Arc;

use agui_axum::{Endpoint, Run, RunEnd, RunError};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;

/// Who asks.
#[derive(Debug, Clone)]
struct User {
    name: String,
}

type Sessions = Arc<HashMap<String, User>>;

/// Lets known sessions in and remembers whose they are.
async fn authenticate(State(sessions): State<Sessions>, mut request: Request, next: Next) -> Response {
    let session = request.headers().get("x-session").and_then(|session| session.to_str().ok());
    match session.and_then(|session| sessions.get(session)) {
        Some(user) => {
            request.extensions_mut().insert(user.clone());
            next.run(request).await
        }
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

async fn agent(run: Run) -> Result<RunEnd, RunError> {
    let user = run.extensions().get::<User>().ok_or_else(|| RunError::public("Who are you?"))?;
    run.text(format!("Hello {}", user.name)).await?;
    Ok(RunEnd::success())
}

pub(crate) fn app() -> Router {
    let sessions = Sessions::new(HashMap::from([("s-1".to_owned(), User { name: "Ada".to_owned() })]));
    let agent = agui_axum::endpoint_with(Endpoint::new(agent), |request, run| {
        if let Some(user) = request.get::<User>() {
            run.insert(user.clone());
        }
    });
    Router::new().route("/agui", agent).layer(from_fn_with_state(sessions, authenticate))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener.tap_io(|socket| drop(socket.set_nodelay(true))), app()).await
}
