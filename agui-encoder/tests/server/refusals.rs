//! What is refused, with what, and in which order things are judged.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agui_core::store::{MemoryLimits, MemoryRunStore};
use agui_encoder::http::{Admission, AgentServer, Intent, Refusal, RequestHead};
use http::{Method, Request, header};
use serde_json::{Value, json};

use crate::support::{ask, events, post_to, text};
use crate::{answer, connect, input, run, server, stop, wait};

/// What a request is answered with: status, code, message.
pub(crate) async fn refused(server: &AgentServer, request: Request<String>) -> (u16, String) {
    let response = ask(server, request).await;
    let status = response.status().as_u16();
    let answer = answer(response).await;
    assert!(answer["error"].is_string() && answer["message"].is_string(), "{answer}");
    (status, answer["code"].as_str().unwrap().to_owned())
}

fn request(method: &Method, path: &str, kind: Option<&str>, body: &str) -> Request<String> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(kind) = kind {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    request.body(body.to_owned()).unwrap()
}

const JSON: Option<&str> = Some("application/json");

#[tokio::test]
async fn each_request_is_judged_by_the_first_thing_that_is_wrong_with_it() {
    let server = server().with_max_body_bytes(200);
    let long = "x".repeat(201);
    for (method, path, kind, body, status, code) in [
        // The path, whatever the method.
        ("GET", "/threads", None, "", 404, "not_found"),
        ("OPTIONS", "/nowhere", None, "", 404, "not_found"),
        ("POST", "/agent/greet", JSON, "{}", 404, "not_found"),
        ("POST", "/agent/greet/run/more", JSON, "{}", 404, "not_found"),
        // Then the method, whatever the agent.
        ("GET", "/agent/none/run", None, "", 405, "method_not_allowed"),
        ("PUT", "/agent/greet/connect", JSON, "{}", 405, "method_not_allowed"),
        ("GET", "/agent/greet/stop/t", None, "", 405, "method_not_allowed"),
        ("GET", "/agent/greet/stop/%zz", None, "", 405, "method_not_allowed"),
        ("POST", "/info", JSON, "{}", 405, "method_not_allowed"),
        ("GET", "/", None, "", 405, "method_not_allowed"),
        // Then the escapes and the agent, whatever the content type.
        ("POST", "/agent/%zz/run", None, "", 400, "invalid_request"),
        ("POST", "/agent/greet/stop/%ff", None, "", 400, "invalid_request"),
        ("POST", "/agent/none/stop/%", None, "", 400, "invalid_request"),
        ("POST", "/agent/none/run", None, &long, 404, "agent_not_found"),
        ("POST", "/agent/none/connect", JSON, "[", 404, "agent_not_found"),
        ("POST", "/agent/none/stop/t", JSON, "[", 404, "agent_not_found"),
        // Then the content type, whatever the size.
        ("POST", "/agent/greet/run", None, "{}", 415, "unsupported_media_type"),
        ("POST", "/agent/greet/connect", Some("text/plain"), &long, 415, "unsupported_media_type"),
        ("POST", "/agent/greet/stop/t", Some("text/plain"), "{}", 415, "unsupported_media_type"),
        ("POST", "/", Some("text/plain"), "{}", 415, "unsupported_media_type"),
        // Then the size, whatever is in it.
        ("POST", "/agent/greet/run", JSON, &long, 413, "body_too_large"),
        ("POST", "/agent/greet/stop/t", None, &long, 413, "body_too_large"),
        ("POST", "/", JSON, &long, 413, "body_too_large"),
        // Then what is in it.
        ("POST", "/agent/greet/run", JSON, "", 400, "invalid_json"),
        ("POST", "/agent/greet/connect", JSON, "{", 400, "invalid_json"),
        ("POST", "/agent/greet/connect", JSON, "[]", 400, "invalid_input"),
        ("POST", "/agent/greet/stop/t", JSON, "{", 400, "invalid_json"),
        ("POST", "/agent/greet/stop/t", JSON, "[]", 400, "invalid_input"),
        ("POST", "/agent/greet/stop/t", JSON, "null", 400, "invalid_input"),
        ("POST", "/agent/greet/stop/t", JSON, r#"{"runId":7}"#, 400, "invalid_input"),
        ("POST", "/agent/greet/stop/t", JSON, r#"{"runId":null}"#, 400, "invalid_input"),
        ("POST", "/", JSON, "", 400, "invalid_json"),
        ("POST", "/", JSON, "[]", 400, "invalid_request"),
        ("POST", "/", JSON, "{}", 400, "invalid_request"),
        ("POST", "/", JSON, r#"{"method":"agent/fly"}"#, 400, "invalid_request"),
        ("POST", "/", JSON, r#"{"method":"agent/run"}"#, 400, "invalid_request"),
        ("POST", "/", JSON, r#"{"method":"agent/run","params":{"agentId":"greet"}}"#, 400, "invalid_request"),
        (
            "POST",
            "/",
            JSON,
            r#"{"method":"agent/run","params":{"agentId":1},"body":{}}"#,
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/",
            JSON,
            r#"{"method":"agent/run","params":{"agentId":"none"},"body":{}}"#,
            404,
            "agent_not_found",
        ),
        (
            "POST",
            "/",
            JSON,
            r#"{"method":"agent/connect","params":{"agentId":"greet"},"body":{}}"#,
            400,
            "invalid_input",
        ),
        (
            "POST",
            "/",
            JSON,
            r#"{"method":"agent/stop","params":{"agentId":"greet"}}"#,
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/",
            JSON,
            r#"{"method":"agent/stop","params":{"agentId":"greet","threadId":"t"},"body":[]}"#,
            400,
            "invalid_input",
        ),
    ] {
        let asked = request(&method.parse().unwrap(), path, kind, body);
        assert_eq!(refused(&server, asked).await, (status, code.to_owned()), "{method} {path} {body}");
    }
}

#[tokio::test]
async fn a_refused_method_is_told_which_is_allowed() {
    let server = server();
    for (method, path, allow) in
        [("POST", "/info", "GET, HEAD"), ("GET", "/", "POST"), ("OPTIONS", "/agent/greet/run", "POST")]
    {
        let response = ask(&server, request(&method.parse().unwrap(), path, None, "")).await;
        assert_eq!(response.headers()["allow"], allow);
    }
    assert_eq!(ask(&server, request(&Method::HEAD, "/info", None, "")).await.status(), 200);
}

#[tokio::test]
async fn the_first_offending_member_is_named() {
    let server = server();
    let mut wrong = input("t", "r");
    wrong["messages"] = json!([{ "role": "user", "content": "Hi" }]);
    for request in [
        post_to("/agent/greet/run", &wrong),
        post_to("/", &json!({ "method": "agent/run", "params": { "agentId": "greet" }, "body": wrong })),
    ] {
        let answer = answer(ask(&server, request).await).await;
        assert_eq!(answer["path"], "messages[0].id");
        assert!(answer["message"].as_str().unwrap().contains("messages[0].id"), "{answer}");
    }
}

#[tokio::test]
async fn strangers_learn_nothing() {
    let server = server().with_bearer_token("s3cret");
    for (method, path) in [("GET", "/info"), ("GET", "/nowhere"), ("POST", "/agent/none/run"), ("PUT", "/")] {
        let asked = request(&method.parse().unwrap(), path, None, "");
        assert_eq!(refused(&server, asked).await, (401, "unauthorized".to_owned()), "{path}");
    }
    let mut asked = request(&Method::GET, "/info", None, "");
    asked.headers_mut().insert("authorization", "bearer s3cret".parse().unwrap());
    assert_eq!(ask(&server, asked).await.status(), 200);
}

#[tokio::test]
async fn the_envelope_can_be_switched_off() {
    let server = server().with_envelope(false);
    let asked = post_to("/", &json!({ "method": "info" }));
    assert_eq!(refused(&server, asked).await, (404, "not_found".to_owned()));
}

#[tokio::test]
async fn the_envelope_answers_as_the_routes_do() {
    let server = server();
    let call = |method: &str, params: Value, body: Value| {
        post_to("/", &json!({ "method": method, "params": params, "body": body }))
    };
    let info = answer(ask(&server, post_to("/", &json!({ "method": "info" }))).await).await;
    assert_eq!(info, answer(ask(&server, request(&Method::GET, "/info", None, "")).await).await);
    let agent = json!({ "agentId": "wait" });
    let runner = ask(&server, call("agent/run", agent.clone(), input("t", "r"))).await.into_body();
    let watcher = ask(&server, call("agent/connect", agent, input("t", "x"))).await.into_body();
    let params = json!({ "agentId": "wait", "threadId": "t" });
    let stopped = ask(&server, call("agent/stop", params, json!({ "runId": "r" }))).await;
    assert_eq!(answer(stopped).await, json!({ "stopped": true, "runId": "r" }));
    let sent = events(runner).await;
    assert_eq!(sent.last().unwrap()["outcome"]["type"], "cancelled");
    assert_eq!(events(watcher).await, sent);
}

#[tokio::test]
async fn a_stop_needs_no_body_whatever_its_type() {
    let server = server();
    for kind in [None, JSON, Some("text/plain")] {
        let response = ask(&server, request(&Method::POST, "/agent/greet/stop/trip%207", kind, "")).await;
        assert_eq!(
            answer(response).await,
            json!({ "stopped": false, "message": "No run is in progress on thread 'trip 7'." })
        );
    }
}

#[tokio::test]
async fn a_busy_thread_names_its_run_and_a_run_id_is_used_once() {
    let server = server();
    let runner = run(&server, "wait", &input("t", "one")).await;
    let answered = answer(ask(&server, post_to("/agent/wait/run", &input("t", "two"))).await).await;
    assert_eq!((&answered["code"], &answered["runId"]), (&json!("thread_busy"), &json!("one")));
    // Another agent's thread of the same name is another thread.
    assert_eq!(events(run(&server, "greet", &input("t", "one")).await).await.len(), 5);
    // What is wrong with the input is said first.
    let asked = post_to("/agent/wait/run", &json!({ "threadId": "t" }));
    assert_eq!(refused(&server, asked).await, (400, "invalid_input".to_owned()));
    stop(&server, "wait", "t", &json!({})).await;
    events(runner).await;
    let asked = post_to("/agent/wait/run", &input("t", "one"));
    assert_eq!(refused(&server, asked).await, (409, "run_exists".to_owned()));
}

#[tokio::test]
async fn the_hook_judges_runs_connects_and_stops_before_the_thread_is_looked_at() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&asked);
    let server = server().with_admission(move |asked: Admission| {
        let thread = asked.input.thread_id.as_str().to_owned();
        told.lock().unwrap().push((asked.intent, thread.clone(), asked.agent.unwrap().to_string()));
        async move {
            if thread == "mine" { Ok(()) } else { Err(Refusal::forbidden("It belongs to somebody else.")) }
        }
    });
    let runner = run(&server, "wait", &input("mine", "r")).await;
    for (path, body) in [
        ("/agent/wait/run", input("theirs", "r")),
        ("/agent/wait/connect", input("theirs", "r")),
        ("/agent/wait/stop/theirs", json!({})),
    ] {
        assert_eq!(refused(&server, post_to(path, &body)).await, (403, "forbidden".to_owned()), "{path}");
    }
    stop(&server, "wait", "mine", &json!({})).await;
    events(runner).await;
    let (run, connect, stop) = (Intent::Run, Intent::Connect, Intent::Stop);
    let asked = asked.lock().unwrap();
    let expected = [(run, "mine"), (run, "theirs"), (connect, "theirs"), (stop, "theirs"), (stop, "mine")];
    assert_eq!(*asked, expected.map(|(intent, thread)| (intent, thread.to_owned(), "wait".to_owned())));
}

#[tokio::test]
async fn a_thread_is_its_owners_alone() {
    struct User(String);
    let server = server()
        .with_authenticator(|head: RequestHead| async move {
            head.header("x-user").map(|user| User(user.to_owned())).ok_or_else(Refusal::unauthorized)
        })
        .with_owner_of(|extensions| extensions.get::<User>().map(|user| user.0.clone()));
    let by = |user: &str, mut request: Request<String>| {
        request.headers_mut().insert("x-user", user.parse().unwrap());
        request
    };
    let runner = ask(&server, by("ada", post_to("/agent/wait/run", &input("t", "r")))).await.into_body();
    for (path, body) in [
        ("/agent/wait/run", input("t", "r2")),
        ("/agent/wait/connect", input("t", "r3")),
        ("/agent/wait/stop/t", json!({})),
    ] {
        let asked = by("bob", post_to(path, &body));
        assert_eq!(refused(&server, asked).await, (403, "forbidden".to_owned()), "{path}");
    }
    let watcher = ask(&server, by("ada", post_to("/agent/wait/connect", &input("t", "x")))).await.into_body();
    ask(&server, by("ada", post_to("/agent/wait/stop/t", &json!({})))).await;
    let sent = events(runner).await;
    assert_eq!(sent.last().unwrap()["outcome"]["type"], "cancelled");
    assert_eq!(events(watcher).await, sent);
}

#[tokio::test]
async fn limits_say_when_to_try_again() {
    let limited = server().with_max_runs(1);
    let runner = run(&limited, "wait", &input("t", "r")).await;
    let response = ask(&limited, post_to("/agent/wait/run", &input("u", "r"))).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    stop(&limited, "wait", "t", &json!({})).await;
    events(runner).await;
    assert_eq!(events(run(&limited, "greet", &input("u", "r")).await).await.len(), 5);

    let limited = server().with_max_runs_per_identity(1, |_| Some("everybody".to_owned()));
    let _runner = run(&limited, "wait", &input("t", "r")).await;
    let response = ask(&limited, post_to("/agent/wait/run", &input("u", "r"))).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
}

#[tokio::test]
async fn a_store_without_room_refuses_runs_and_readers() {
    let limits = MemoryLimits::default().with_max_threads(1).with_max_followers(1);
    let server = server().with_store(MemoryRunStore::new(limits));
    let _runner = run(&server, "wait", &input("t", "r")).await;
    let asked = post_to("/agent/wait/run", &input("u", "r"));
    assert_eq!(refused(&server, asked).await, (503, "unavailable".to_owned()));
    let _watcher = connect(&server, "wait", &input("t", "x")).await;
    let response = ask(&server, post_to("/agent/wait/connect", &input("t", "x"))).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_shuts_down_refuses_runs_and_ends_those_it_has() {
    let server = server();
    let runner = run(&server, "wait", &input("t", "r")).await;
    let watcher = connect(&server, "wait", &input("t", "x")).await;
    let shutdown = tokio::spawn(server.shutdown(Duration::from_secs(1)));
    for path in ["/agent/greet/run", "/agent/greet/connect"] {
        let asked = post_to(path, &input("u", "r"));
        assert_eq!(refused(&server, asked).await, (503, "unavailable".to_owned()));
    }
    shutdown.await.unwrap();
    // Nobody has read yet: it is all in the record.
    let sent = events(runner).await;
    assert_eq!(sent.last().unwrap()["outcome"], json!({ "type": "cancelled" }));
    assert_eq!(events(watcher).await, sent);
}

#[tokio::test]
async fn a_sender_that_vanishes_starts_and_stops_nothing() {
    use agui_encoder::http::{Begun, RequestBody};
    let server = AgentServer::new().with_agent("wait", wait);
    let runner = run(&server, "wait", &input("t", "r")).await;
    for path in ["/agent/wait/run", "/agent/wait/stop/t"] {
        let (head, _) = post_to(path, &json!({})).into_parts();
        let Begun::Accepted(pending) = server.begin(&head, path).await else { panic!("accepted so far") };
        assert_eq!(pending.finish(RequestBody::Vanished).await.status(), 400);
    }
    assert_eq!(stop(&server, "wait", "t", &json!({})).await["stopped"], true);
    assert!(text(runner).await.contains("cancelled"));
}

#[tokio::test]
async fn ids_of_threads_and_runs_have_a_length() {
    let (fits, over) = ("ü".repeat(512), "x".repeat(1_025));
    let server = server();
    let envelope = |method: &str, params: Value, body: &Value| {
        post_to("/", &json!({ "method": method, "params": params, "body": body }))
    };
    assert_eq!(events(run(&server, "greet", &input(&fits, &fits)).await).await.len(), 5);
    assert_eq!(events(connect(&server, "greet", &input(&fits, &fits)).await).await.len(), 5);
    for (asked, path) in [(input(&over, "r"), "threadId"), (input("t", &over), "runId")] {
        let agent = json!({ "agentId": "greet" });
        for request in [
            post_to("/agent/greet/run", &asked),
            post_to("/agent/greet/connect", &asked),
            envelope("agent/run", agent.clone(), &asked),
            envelope("agent/connect", agent, &asked),
        ] {
            let response = ask(&server, request).await;
            assert_eq!(response.status(), 400);
            let answer = answer(response).await;
            assert_eq!((&answer["code"], &answer["path"]), (&json!("invalid_input"), &json!(path)));
            assert_eq!(answer["message"], format!("{path} is longer than 1024 bytes."));
        }
    }
    let stop_of = |thread: &str| format!("/agent/greet/stop/{thread}");
    let params = |thread: &str| json!({ "agentId": "greet", "threadId": thread });
    for (request, code) in [
        (post_to(&stop_of(&over), &json!({})), "invalid_request"),
        (envelope("agent/stop", params(&over), &json!({})), "invalid_request"),
        (post_to(&stop_of("t"), &json!({ "runId": over })), "invalid_input"),
        (envelope("agent/stop", params("t"), &json!({ "runId": over })), "invalid_input"),
    ] {
        assert_eq!(refused(&server, request).await, (400, code.to_owned()));
    }
    // The path is meant as it is decoded.
    assert_eq!(stop(&server, "greet", &"%C3%BC".repeat(512), &json!({})).await["stopped"], false);

    let server = server.with_max_id_bytes(1);
    assert_eq!(events(run(&server, "greet", &input("t", "r")).await).await.len(), 5);
    assert_eq!(refused(&server, post_to("/agent/greet/run", &input("t", "rr"))).await.0, 400);
}
