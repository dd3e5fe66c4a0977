//! An application's own authentication: a filter looks the caller up, and the handler knows who asks.
//!
//! `cargo run -p agui-warp --example auth`, then call it with `-H 'x-session: s-1'`.

use std::collections::HashMap;
use std::sync::Arc;

use agui_warp::{Endpoint, Run, RunEnd, RunError};
use warp::filters::BoxedFilter;
use warp::http::StatusCode;
use warp::reject::Reject;
use warp::{Filter, Rejection, Reply};

/// Who asks.
#[derive(Debug, Clone)]
struct User {
    name: String,
}

type Sessions = Arc<HashMap<String, User>>;

/// Nobody we know.
#[derive(Debug)]
struct Unknown;

impl Reject for Unknown {}

/// Lets known sessions in and tells whose they are.
fn authenticate(sessions: Sessions) -> impl Filter<Extract = (User,), Error = Rejection> + Clone {
    warp::header::optional::<String>("x-session").and_then(move |session: Option<String>| {
        let user = session.and_then(|session| sessions.get(&session).cloned());
        async { user.ok_or_else(|| warp::reject::custom(Unknown)) }
    })
}

/// Makes an answer of our own rejection.
async fn refuse(rejection: Rejection) -> Result<impl Reply, Rejection> {
    match rejection.find::<Unknown>() {
        Some(Unknown) => Ok(StatusCode::UNAUTHORIZED),
        None => Err(rejection),
    }
}

async fn agent(run: Run) -> Result<RunEnd, RunError> {
    let user = run.extensions().get::<User>().ok_or_else(|| RunError::public("Who are you?"))?;
    run.text(format!("Hello {}", user.name)).await?;
    Ok(RunEnd::success())
}

pub(crate) fn app() -> BoxedFilter<(impl Reply,)> {
    let sessions = Sessions::new(HashMap::from([("s-1".to_owned(), User { name: "Ada".to_owned() })]));
    let agent = agui_warp::endpoint_with(Endpoint::new(agent), authenticate(sessions));
    warp::path!("agui").and(agent).recover(refuse).boxed()
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.set_nodelay(true)?;
    socket.bind(([127, 0, 0, 1], 8080).into())?;
    warp::serve(app()).incoming(socket.listen(1024)?).run().await;
    Ok(())
}
