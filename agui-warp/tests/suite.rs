//! The suite of all bindings, on warp.

mod common;

use agui_suite::cancelling::MOMENT;
use common::start;
use tokio::net::TcpStream;

agui_suite::suite!(start);

#[tokio::test]
async fn a_silent_run_ends_with_its_client_though_nothing_is_written() {
    let case = agui_suite::cancelling::a_silent_run_ends_within(start, None, MOMENT);
    agui_suite::within_a_minute(case).await;
}

#[tokio::test]
async fn connections_inherit_that_nothing_is_to_be_kept_back() {
    let listener = common::listen();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, _) = listener.accept().await.unwrap();
    assert!(accepted.nodelay().unwrap());
}
