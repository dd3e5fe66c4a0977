//! An application's own authentication: a middleware looks the caller up, and the handler knows who asks.
//!
//! `cargo run -p agui-actix --example auth`, then call it with `-H 'x-session: s-1'`.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::ErrorUnauthorized;
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, Error, HttpMessage, HttpServer};
use agui_actix::{Endpoint, Run, RunEnd, RunError};

/// Who asks.
#[derive(Debug, Clone)]
struct User {
    name: String,
}

type Sessions = HashMap<String, User>;

/// Lets known sessions in and remembers whose they are.
async fn authenticate(
    sessions: Data<Sessions>,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let session = request.headers().get("x-session").and_then(|session| session.to_str().ok());
    let user = session.and_then(|session| sessions.get(session));
    let user = user.ok_or_else(|| ErrorUnauthorized("no session"))?.clone();
    request.extensions_mut().insert(user);
    next.call(request).await
}

async fn agent(run: Run) -> Result<RunEnd, RunError> {
    let user = run.extensions().get::<User>().ok_or_else(|| RunError::public("Who are you?"))?;
    run.text(format!("Hello {}", user.name)).await?;
    Ok(RunEnd::success())
}

/// What sets every worker up.
pub(crate) fn app() -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let sessions = Arc::new(HashMap::from([("s-1".to_owned(), User { name: "Ada".to_owned() })]));
    let endpoint = Endpoint::new(agent);
    move |config| {
        let agent = agui_actix::endpoint_with(endpoint.clone(), |request, run| {
            if let Some(user) = request.extensions().get::<User>() {
                run.insert(user.clone());
            }
        });
        config
            .app_data(Data::from(Arc::clone(&sessions)))
            .service(web::resource("/agui").wrap(from_fn(authenticate)).route(agent));
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let app = app();
    HttpServer::new(move || App::new().configure(app.clone()))
        .h1_allow_half_closed(false)
        .tcp_nodelay(true)
        .bind("127.0.0.1:8080")?
        .run()
        .await
}
