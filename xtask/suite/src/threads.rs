//! The demo server's threads: discovery, record, re-attachment and stop, at the root and below a prefix.
//!
//! What the server of agents decides is tested without a framework. What a framework can get wrong is the path: which part
//! of it is below the mount, and that its escapes arrive as they were sent.

use http::Method;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::{Answer, post_json, types};
use crate::demo::TOKEN;
use crate::{Client, Server};

/// A thread with everything in its name that paths are cut and unescaped by.
const THREAD: &str = "trip/7 a?b#c%41+ü";
const ESCAPED: &str = "trip%2F7%20a%3Fb%23c%2541%2B%C3%BC";
/// Where the demo mounts its server, and whether it asks for the token there.
const MOUNTS: [(&str, bool); 2] = [("", false), ("/secure", true)];

/// One request on a connection of its own, with the token where it is asked for.
async fn ask(
    server: &Server,
    method: Method,
    path: &str,
    authorized: bool,
    body: Option<&Value>,
) -> (Client, Answer) {
    let token = format!("Bearer {TOKEN}");
    let headers: &[(&str, &str)] = if authorized { &[("authorization", &token)] } else { &[] };
    let mut client = Client::connect(server).await;
    let mut request = post_json(path, headers, body.unwrap_or(&Value::Null));
    if body.is_none() {
        *request.body_mut() = Full::default();
    }
    *request.method_mut() = method;
    let answer = client.send(request).await;
    (client, answer)
}

fn input(run_id: &str, script: &Value) -> Value {
    json!({
        "threadId": THREAD, "runId": run_id, "protocolVersion": "1.0", "messages": [],
        "forwardedProps": { "script": script },
    })
}

/// Discovery and the one door are below every mount, with and without a slash at its end.
pub async fn are_discovered_wherever_the_server_is_mounted(server: &Server) {
    for (mount, authorized) in MOUNTS {
        let (_client, answer) = ask(server, Method::GET, &format!("{mount}/info"), authorized, None).await;
        assert_eq!(answer.status(), 200, "{mount}");
        let agents = answer.json().await["agents"].clone();
        assert_eq!(agents["echo"]["className"], "EchoAgent");
        assert_eq!(agents["script"]["className"], "ScriptAgent");
        let door = json!({ "method": "info" });
        for slash in if mount.is_empty() { &["/"][..] } else { &["", "/"] } {
            let path = format!("{mount}{slash}");
            let (_client, answer) = ask(server, Method::POST, &path, authorized, Some(&door)).await;
            assert_eq!(answer.status(), 200, "{path}");
            assert_eq!(answer.json().await["agents"], agents);
        }
        let (_client, answer) = ask(server, Method::POST, &format!("{mount}/info"), authorized, None).await;
        assert_eq!(answer.status(), 405);
        assert!(answer.header("allow").contains("GET"));
    }
    let (_client, answer) = ask(server, Method::GET, "/secure/info", false, None).await;
    assert_eq!(answer.status(), 401);
}

/// A run of one mount is replayed at the other, and each agent has its own threads.
pub async fn are_shared_by_all_mounts(server: &Server) {
    let said = input("shared", &json!([{ "text": "hi" }]));
    let (_client, answer) = ask(server, Method::POST, "/agent/script/run", false, Some(&said)).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let run = answer.events().await;
    assert_eq!(types(&run).last(), Some(&"RUN_FINISHED"));
    for (mount, authorized) in MOUNTS {
        let path = format!("{mount}/agent/script/connect");
        let (_client, answer) =
            ask(server, Method::POST, &path, authorized, Some(&input("new", &json!([])))).await;
        let replayed = answer.events().await;
        assert_eq!(replayed[0]["runId"], "shared");
        assert!(replayed.iter().any(|event| event["delta"] == "hi"), "{replayed:?}");
        let path = format!("{mount}/agent/echo/connect");
        let (_client, answer) =
            ask(server, Method::POST, &path, authorized, Some(&input("new", &json!([])))).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.text().await, "");
    }
}

/// A thread is named in the path with every escape that it needs, and the stream of its run ends by the stop.
pub async fn are_stopped_by_their_escaped_names(server: &Server) {
    for (mount, authorized) in MOUNTS {
        let waits = input(&format!("waits{mount}"), &json!([{ "sleepMs": 3_600_000 }]));
        let path = format!("{mount}/agent/script/run");
        let (_client, mut answer) = ask(server, Method::POST, &path, authorized, Some(&waits)).await;
        assert_eq!(answer.event().await["type"], "RUN_STARTED");

        // A name that was unescaped once too often is that of another thread.
        let twice = format!("{mount}/agent/script/stop/trip%2F7%20a%3Fb%23cA%2B%C3%BC");
        let (_client, stop) = ask(server, Method::POST, &twice, authorized, None).await;
        assert_eq!(stop.json().await["stopped"], false);

        let path = format!("{mount}/agent/script/stop/{ESCAPED}");
        let (_client, stop) = ask(server, Method::POST, &path, authorized, None).await;
        assert_eq!(stop.status(), 200);
        assert_eq!(stop.json().await["stopped"], true);
        let events = answer.events().await;
        let last = events.last().unwrap();
        assert_eq!((&last["type"], &last["outcome"]["type"]), (&json!("RUN_FINISHED"), &json!("cancelled")));

        for malformed in ["%zz", "%F", "%ff"] {
            let path = format!("{mount}/agent/script/stop/{malformed}");
            let (_client, answer) = ask(server, Method::POST, &path, authorized, None).await;
            assert_eq!(answer.status(), 400, "{path}");
            assert_eq!(answer.json().await["code"], "invalid_request", "{path}");
        }
        let unknown = format!("{mount}/agent/script/stop/a/b");
        let (_client, answer) = ask(server, Method::POST, &unknown, authorized, None).await;
        assert_eq!(answer.status(), 404);
    }
}
