//! The demo server: the agents `echo` and `script` on `/agui`, as a server with discovery and a record of threads at the
//! root, and all of it again behind a bearer token below `/secure`. `cargo run -p agui-axum --example demo -- --addr 127.0.0.1:0`; the settings are those of
//! [`agui_demo::Settings`].

use std::time::Duration;

use agui_demo::Settings;
use axum::Router;
use axum::http::Method;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

/// How long runs may go on once the process is asked to end, and how long their endings may take to be read. With the
/// two seconds that a cancelled run has by default this stays within five.
const GRACE: Duration = Duration::from_millis(1500);
const MARGIN: Duration = Duration::from_millis(500);

#[expect(clippy::print_stdout, reason = "whoever starts the server reads its address from there")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    agui_demo::init_tracing();
    let settings = agui_demo::settings()?;
    let listener = TcpListener::bind(&settings.addr).await?;
    println!("listening on {}", listener.local_addr()?);
    serve(&settings, listener, agui_demo::terminated()).await?;
    Ok(())
}

/// Serves until `terminated` resolves and the runs in progress have ended.
pub(crate) async fn serve(
    settings: &Settings,
    listener: TcpListener,
    terminated: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let plain = agui_demo::plain_endpoint(settings);
    let secure = agui_demo::secure_endpoint(settings);
    let agents = agui_demo::agent_server(settings);
    let secure_agents = agui_demo::secure_agent_server(settings);
    let app = Router::new()
        .route("/agui", agui_axum::endpoint(plain.clone()))
        .route("/secure/agui", agui_axum::endpoint(secure.clone()))
        .nest_service("/secure", agui_axum::server(secure_agents.clone()))
        .fallback_service(agui_axum::server(agents.clone()))
        .layer(cors());
    // Without this the kernel may keep a short event back until the one before it is acknowledged.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    let (ending, ended) = oneshot::channel();
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        terminated.await;
        let _ = ending.send(());
    });
    let end = async {
        if ended.await.is_ok() {
            tokio::join!(
                plain.shutdown(GRACE),
                secure.shutdown(GRACE),
                agents.shutdown(GRACE),
                secure_agents.shutdown(GRACE),
            );
            // Endings are on their way. A connection that does not read them would keep the server waiting.
            tokio::time::sleep(MARGIN).await;
        }
    };
    tokio::select! {
        done = server => done,
        () = end => Ok(()),
    }
}

fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods(AllowMethods::list([Method::GET, Method::POST]))
        .allow_credentials(true)
}
