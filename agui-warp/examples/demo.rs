//! The demo server: the agents `echo` and `script` on `/agui`, as a server with discovery and a record of threads at the
//! root, and all of it again behind a bearer token below `/secure`. `cargo run -p agui-warp --example demo -- --addr 127.0.0.1:0`; the settings are those of
//! [`agui_demo::Settings`].

use std::time::Duration;

use agui_demo::Settings;
use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::sync::oneshot;
use warp::filters::cors::Builder;
use warp::http::{HeaderValue, header::VARY};
use warp::reply::Response;
use warp::{Filter, Reply};

/// How long runs may go on once the process is asked to end, and how long their endings may take to be read. With the
/// two seconds that a cancelled run has by default this stays within five.
const GRACE: Duration = Duration::from_millis(1500);
const MARGIN: Duration = Duration::from_millis(500);
/// What pages may send: warp's layer knows no other way than a list. The last one is CopilotKit's, for its cloud.
const HEADERS: [&str; 5] =
    ["accept", "authorization", "content-type", "x-agent-id", "x-copilotcloud-public-api-key"];
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

#[expect(clippy::print_stdout, reason = "whoever starts the server reads its address from there")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    agui_demo::init_tracing();
    let settings = agui_demo::settings()?;
    let listener = listen(&settings.addr).await?;
    println!("listening on {}", listener.local_addr()?);
    serve(&settings, listener, agui_demo::terminated()).await;
    Ok(())
}

/// Listens with `TCP_NODELAY`, which the accepted connections inherit. Without it the kernel may keep a short event back
/// until the one before it is acknowledged.
pub(crate) async fn listen(addr: &str) -> anyhow::Result<TcpListener> {
    let addr = lookup_host(addr).await?.next().with_context(|| format!("{addr} is no address"))?;
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_nodelay(true)?;
    socket.bind(addr)?;
    Ok(socket.listen(BACKLOG)?)
}

/// Serves until `terminated` resolves and the runs in progress have ended.
pub(crate) async fn serve(
    settings: &Settings,
    listener: TcpListener,
    terminated: impl Future<Output = ()> + Send + 'static,
) {
    let plain = agui_demo::plain_endpoint(settings);
    let secure = agui_demo::secure_endpoint(settings);
    let agents = agui_demo::agent_server(settings);
    let secure_agents = agui_demo::secure_agent_server(settings);
    let app = warp::path!("agui")
        .and(agui_warp::endpoint(plain.clone()))
        .or(warp::path!("secure" / "agui").and(agui_warp::endpoint(secure.clone())))
        .or(warp::path("secure").and(agui_warp::server(secure_agents.clone())))
        .or(agui_warp::server(agents.clone()))
        .with(cors())
        .map(vary_by_origin)
        .boxed();
    let (ending, ended) = oneshot::channel();
    let server = warp::serve(app).incoming(listener).graceful(async move {
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
        () = server.run() => {}
        () = end => {}
    }
}

fn cors() -> Builder {
    warp::cors()
        .allow_any_origin()
        .allow_headers(HEADERS)
        .allow_methods(["GET", "POST"])
        .allow_credentials(true)
}

/// The layer does not say it itself.
fn vary_by_origin(reply: impl Reply) -> Response {
    let mut response = reply.into_response();
    response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
    response
}
