//! The demo server: the agents `echo` and `script` on `/agui`, and the same again behind a bearer token on
//! `/secure/agui`. `cargo run -p agui-axum --example demo -- --addr 127.0.0.1:0`; the settings are those of
//! [`agui_demo::Settings`].

use std::time::Duration;

use axum::Router;
use axum::http::Method;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

/// What running requests get before the process ends; together with the margin below less than the five seconds after
/// which whoever sent the signal loses patience.
const GRACE: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    agui_demo::init_tracing();
    let settings = agui_demo::settings()?;
    let plain = agui_demo::plain_endpoint(&settings);
    let secure = agui_demo::secure_endpoint(&settings);

    let secured = Router::new()
        .route("/agui", agui_axum::endpoint(secure.clone()))
        .fallback_service(agui_axum::not_found(secure.clone()));
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods(AllowMethods::list([Method::GET, Method::POST]))
        .allow_credentials(true);
    let app = Router::new()
        .route("/agui", agui_axum::endpoint(plain.clone()))
        .nest("/secure", secured)
        .fallback_service(agui_axum::not_found(plain.clone()))
        .layer(cors);

    let listener = TcpListener::bind(&settings.addr).await?;
    println!("listening on {}", listener.local_addr()?);
    // Without this the kernel may keep a short event back until the one before it is acknowledged.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    let (ending, ended) = tokio::sync::oneshot::channel();
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        agui_demo::terminated().await;
        let _ = ending.send(());
    });

    tokio::select! {
        served = server => served?,
        // A connection that neither sends nor reads would keep the server waiting.
        () = async {
            if ended.await.is_ok() {
                tokio::join!(plain.shutdown(GRACE), secure.shutdown(GRACE));
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        } => {}
    }
    Ok(())
}
