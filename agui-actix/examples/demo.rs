//! The demo server: the agents `echo` and `script` on `/agui`, as a server with discovery and a record of threads at the
//! root, and all of it again behind a bearer token below `/secure`. `cargo run -p agui-actix --example demo -- --addr 127.0.0.1:0`; the settings are those of
//! [`agui_demo::Settings`].

use std::net::TcpListener;
use std::time::Duration;

use actix_cors::Cors;
use actix_web::http::Method;
use actix_web::web::{ServiceConfig, scope};
use actix_web::{App, HttpServer};
use agui_actix::{AgentServer, Endpoint};
use agui_demo::Settings;

/// How long runs may go on once the process is asked to end, and how long their endings may take to be read. With the
/// two seconds that a cancelled run has by default this stays within five.
const GRACE: Duration = Duration::from_millis(1500);
const MARGIN: Duration = Duration::from_millis(500);

#[expect(clippy::print_stdout, reason = "whoever starts the server reads its address from there")]
#[actix_web::main]
async fn main() -> anyhow::Result<()> {
    agui_demo::init_tracing();
    let settings = agui_demo::settings()?;
    let listener = TcpListener::bind(&settings.addr)?;
    println!("listening on {}", listener.local_addr()?);
    serve(&settings, listener, agui_demo::terminated()).await?;
    Ok(())
}

/// Serves until `terminated` resolves and the runs in progress have ended.
pub(crate) async fn serve(
    settings: &Settings,
    listener: TcpListener,
    terminated: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let plain = agui_demo::plain_endpoint(settings);
    let secure = agui_demo::secure_endpoint(settings);
    let agents = agui_demo::agent_server(settings);
    let secure_agents = agui_demo::secure_agent_server(settings);
    let at_the_root = routes(plain.clone(), agents.clone());
    let behind_the_token = routes(secure.clone(), secure_agents.clone());
    let server = HttpServer::new(move || {
        let cors = Cors::default()
            .allow_any_origin()
            .allow_any_header()
            .allowed_methods([Method::GET, Method::POST])
            .supports_credentials();
        let secure = scope("/secure").configure(behind_the_token.clone());
        App::new().wrap(cors).service(secure).configure(at_the_root.clone())
    })
    // A client that goes away is noticed at once, however long its run says nothing.
    .h1_allow_half_closed(false)
    // Without this the kernel may keep a short event back until the one before it is acknowledged.
    .tcp_nodelay(true)
    // The signal is the demo's to wait for.
    .disable_signals()
    .listen_auto_h2c(listener)?
    .run();
    let handle = server.handle();
    let end = async {
        terminated.await;
        let stopped = handle.stop(true);
        tokio::join!(
            plain.shutdown(GRACE),
            secure.shutdown(GRACE),
            agents.shutdown(GRACE),
            secure_agents.shutdown(GRACE),
        );
        // Endings are on their way. A connection that does not read them would keep the server waiting.
        let _ = tokio::time::timeout(MARGIN, stopped).await;
    };
    tokio::select! {
        done = server => done,
        () = end => Ok(()),
    }
}

fn routes(endpoint: Endpoint, agents: AgentServer) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    move |config| {
        config
            .route("/agui", agui_actix::endpoint(endpoint.clone()))
            .default_service(agui_actix::server(agents.clone()));
    }
}
