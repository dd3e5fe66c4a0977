//! The host for desktop applications, as its example starts it.

#[expect(dead_code, reason = "an example's own main is not called here")]
#[path = "../examples/desktop.rs"]
mod desktop;

use agui_suite::{Client, Server, SocketClient, TaskGuard};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;

#[tokio::test]
async fn only_the_given_origin_with_the_token_is_served_and_the_page_to_everybody() {
    let host = desktop::host().await.unwrap();
    let (token, origin, shown) = (host.token().to_owned(), host.origin(), format!("{host:?}"));
    assert!(host.addr().ip().is_loopback() && host.url().ends_with("/agui/ws"));
    assert!(!shown.contains(&token), "{shown}");
    let server = Server::new(host.addr(), TaskGuard::spawn(async move { host.serve().await.unwrap() }));

    let page = Request::get("/").header("host", "localhost").body(Full::default()).unwrap();
    assert_eq!(Client::connect(&server).await.send(page).await.status(), StatusCode::OK);

    let foreign = [("origin", "https://evil.example")];
    assert_eq!(SocketClient::refused(&server, &foreign).await.0, StatusCode::FORBIDDEN);

    let own = [("origin", origin.as_str()), ("sec-websocket-protocol", "ag-ui.1")];
    let mut guess = SocketClient::open_with(&server, "/agui/ws", &own).await;
    guess.say(&json!({ "type": "hello", "token": "guess" })).await;
    assert_eq!(guess.close_code().await, 1008);

    let mut window = SocketClient::open_with(&server, "/agui/ws", &own).await;
    window.say(&json!({ "type": "hello", "token": token, "client": "window" })).await;
    assert_eq!(window.frame().await["type"], "hello_ack");
    let question = json!([{ "id": "q", "role": "user", "content": "Hi" }]);
    window
        .say(&json!({ "threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": question }))
        .await;
    assert_eq!(window.run().await[2]["delta"], "You said: Hi");
}
