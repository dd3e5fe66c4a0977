//! Every refusal: its status, its headers, and the exact bytes of its body.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of a test function")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::{Admission, Begun, Body, Endpoint, Refusal, RefusalCode, RequestBody, RequestHead};
use http::{Method, Request, Response, header};
use serde_json::{Value, json};
use support::{INPUT, call, post, text};

async fn idle(_: Run) -> Result<RunEnd, RunError> {
    Ok(RunEnd::success())
}

/// The refusal's body, after what holds for all of them.
async fn refused(response: Response<Body>, status: u16, code: &str) -> Value {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    let size = http_body::Body::size_hint(response.body()).exact();
    let text = text(response.into_body()).await;
    assert_eq!(size, Some(text.len() as u64));
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["code"], code);
    assert!(body["error"].is_string() && body["message"].is_string(), "{text}");
    body
}

#[tokio::test]
async fn bodies_that_are_no_json_are_invalid_json() {
    let endpoint = Endpoint::new(idle);
    let deep = format!(r#"{{"state":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for body in ["", "{", "{} x", "{}{}", "nul", "\u{feff}{}", r#"{"threadId":"a" "b"}"#, &deep] {
        let answer = refused(call(&endpoint, post(body)).await, 400, "invalid_json").await;
        assert_eq!(answer["path"], Value::Null);
        assert!(!answer["message"].as_str().unwrap().contains("column"), "{answer}");
    }
    let (head, _) = post("").into_parts();
    let Begun::Accepted(pending) = endpoint.begin(&head).await else { panic!("refused") };
    let body = RequestBody::Complete((&b"{\"threadId\":\"\xff\"}"[..]).into());
    refused(pending.finish(body).await, 400, "invalid_json").await;
}

#[tokio::test]
async fn inputs_with_malformed_members_name_the_first_of_them() {
    let endpoint = Endpoint::new(idle);
    for (body, path) in [
        (json!({"runId": "r", "messages": []}), "threadId"),
        (json!({"threadId": "t", "messages": []}), "runId"),
        (json!({"threadId": "t", "runId": "r"}), "messages"),
        (json!({"threadId": 5, "runId": "r", "messages": []}), "threadId"),
        (
            json!({"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "x"}]}),
            "messages[0].id",
        ),
        (
            json!({"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": 5}]}),
            "messages[0].content",
        ),
        (
            json!({"threadId": "t", "runId": "r", "messages": [], "tools": [{"name": "x"}]}),
            "tools[0].description",
        ),
    ] {
        let answer = refused(call(&endpoint, post(&body.to_string())).await, 400, "invalid_input").await;
        assert_eq!(answer["path"], path);
        assert!(answer["message"].as_str().unwrap().contains(path), "{answer}");
    }
}

#[tokio::test]
async fn values_that_are_no_object_are_invalid_input_without_a_path() {
    for body in ["[]", "null", "\"text\"", "5"] {
        let answer = refused(call(&Endpoint::new(idle), post(body)).await, 400, "invalid_input").await;
        assert_eq!(answer.get("path"), None);
    }
}

#[tokio::test]
async fn the_members_of_a_refusal_stand_in_order() {
    let response = call(&Endpoint::new(idle), post(r#"{"threadId":"t","messages":[]}"#)).await;
    assert_eq!(
        text(response.into_body()).await,
        r#"{"error":"Invalid request body","message":"`runId` is missing.","code":"invalid_input","path":"runId"}"#
    );
    let busy = Refusal::new(RefusalCode::ThreadBusy).with_run_id("turn-2").to_json();
    assert_eq!(
        String::from_utf8(busy).unwrap(),
        r#"{"error":"Thread busy","message":"A run is in progress on this thread.","code":"thread_busy","runId":"turn-2"}"#
    );
}

#[tokio::test]
async fn other_methods_are_told_what_is_allowed() {
    for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        let request = Request::builder().method(method).uri("/agui").body(String::new()).unwrap();
        let response = call(&Endpoint::new(idle), request).await;
        assert_eq!(response.headers()[header::ALLOW], "POST");
        refused(response, 405, "method_not_allowed").await;
    }
}

#[tokio::test]
async fn only_json_content_types_are_read() {
    let endpoint = Endpoint::new(idle);
    for (content_type, accepted) in [
        ("application/json", true),
        ("Application/JSON", true),
        ("application/json; charset=utf-8", true),
        ("application/json;charset=utf-8;x=y", true),
        (" application/json ", true),
        ("application/ld+json", true),
        ("application/vnd.x+JSON; v=1", true),
        ("application/json; note=\"é\"", true),
        ("application/+json", false),
        ("application/a b+json", false),
        ("application/a/b+json", false),
        ("application/(a)+json", false),
        ("application/\"a\"+json", false),
        ("application/a=b+json", false),
        ("application/ json", false),
        ("application/json, text/plain", false),
        ("text/plain, application/json", false),
        ("application/jsonx", false),
        ("text/json", false),
        ("text/plain", false),
        ("multipart/form-data; boundary=application/json", false),
        ("application/x-www-form-urlencoded", false),
        ("json", false),
        ("", false),
        ("é", false),
    ] {
        let mut request = post(INPUT);
        let value = http::HeaderValue::from_bytes(content_type.as_bytes()).unwrap();
        request.headers_mut().insert(header::CONTENT_TYPE, value);
        let response = call(&endpoint, request).await;
        if accepted {
            assert_eq!(response.status(), 200, "{content_type}");
        } else {
            refused(response, 415, "unsupported_media_type").await;
        }
    }
    let mut request = post(INPUT);
    request.headers_mut().clear();
    refused(call(&endpoint, request).await, 415, "unsupported_media_type").await;
    for second in ["text/plain", "application/json"] {
        let mut request = post(INPUT);
        request.headers_mut().append(header::CONTENT_TYPE, http::HeaderValue::from_static(second));
        refused(call(&endpoint, request).await, 415, "unsupported_media_type").await;
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_accepted() {
    let endpoint = Endpoint::new(idle).with_max_body_bytes(INPUT.len());
    assert_eq!(call(&endpoint, post(INPUT)).await.status(), 200);
    refused(call(&endpoint, post(&format!("{INPUT} "))).await, 413, "body_too_large").await;
    let (head, _) = post(INPUT).into_parts();
    let Begun::Accepted(pending) = endpoint.begin(&head).await else { panic!("refused") };
    assert_eq!(pending.max_body_bytes(), INPUT.len());
    refused(pending.finish(RequestBody::TooLarge).await, 413, "body_too_large").await;
}

#[tokio::test]
async fn a_sender_that_vanishes_starts_nothing() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let endpoint = Endpoint::new(move |_: Run| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(RunEnd::success()) }
    });
    let (head, _) = post(INPUT).into_parts();
    let Begun::Accepted(pending) = endpoint.begin(&head).await else { panic!("refused") };
    refused(pending.finish(RequestBody::Vanished).await, 400, "invalid_json").await;
    support::settle().await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn the_bearer_token_is_judged_first() {
    let endpoint = Endpoint::by_header("x-agent-id").with_agent("a", idle).with_bearer_token("s3cret");
    for (authorization, admitted) in [
        (None, false),
        (Some("Bearer s3cret"), true),
        (Some("bearer s3cret"), true),
        (Some("BEARER   s3cret"), true),
        (Some("Bearer s3cre"), false),
        (Some("Bearer s3crett"), false),
        (Some("Bearer S3CRET"), false),
        (Some("Bearer"), false),
        (Some("Bearer "), false),
        (Some("Bearers3cret"), false),
        (Some("Basic s3cret"), false),
        (Some("s3cret"), false),
    ] {
        // Everything else about the request is wrong as well.
        let mut request = Request::get("/agui").body(String::new()).unwrap();
        if let Some(value) = authorization {
            request.headers_mut().insert(header::AUTHORIZATION, value.parse().unwrap());
        }
        let response = call(&endpoint, request).await;
        if admitted {
            refused(response, 405, "method_not_allowed").await;
        } else {
            assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
            refused(response, 401, "unauthorized").await;
        }
    }
}

#[tokio::test]
async fn an_empty_configured_token_refuses_everybody() {
    let endpoint = Endpoint::new(idle).with_bearer_token("");
    for value in ["Bearer ", "Bearer", "Bearer x", ""] {
        let mut request = post(INPUT);
        request.headers_mut().insert(header::AUTHORIZATION, value.parse().unwrap());
        refused(call(&endpoint, request).await, 401, "unauthorized").await;
    }
}

#[tokio::test]
async fn two_credentials_are_no_credentials() {
    let mut request = post(INPUT);
    for _ in 0..2 {
        request.headers_mut().append(header::AUTHORIZATION, "Bearer s3cret".parse().unwrap());
    }
    let endpoint = Endpoint::new(idle).with_bearer_token("s3cret");
    refused(call(&endpoint, request).await, 401, "unauthorized").await;
}

#[tokio::test]
async fn a_preflight_needs_no_credentials_and_other_options_do() {
    let endpoint = Endpoint::new(idle).with_bearer_token("s3cret");
    let preflight = Request::options("/agui")
        .header(header::ORIGIN, "https://app.example")
        .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
        .body(String::new())
        .unwrap();
    refused(call(&endpoint, preflight).await, 405, "method_not_allowed").await;
    let plain = Request::options("/agui").body(String::new()).unwrap();
    refused(call(&endpoint, plain).await, 401, "unauthorized").await;
}

#[tokio::test]
async fn the_first_failure_answers() {
    let endpoint = Endpoint::by_header("x-agent-id")
        .with_agent("a", idle)
        .with_max_body_bytes(10)
        .with_admission(|_: Admission| async { Err(Refusal::forbidden("no")) });
    let request = |agent: &str, content_type: &str, body: &str| {
        Request::post("/")
            .header("x-agent-id", agent)
            .header("content-type", content_type)
            .body(body.to_owned())
    };
    let long = "x".repeat(11);
    let json = "application/json";
    refused(call(&endpoint, request("b", "text/plain", &long).unwrap()).await, 404, "agent_not_found").await;
    refused(call(&endpoint, request("a", "text/plain", &long).unwrap()).await, 415, "unsupported_media_type")
        .await;
    refused(call(&endpoint, request("a", json, &long).unwrap()).await, 413, "body_too_large").await;
    refused(call(&endpoint, request("a", json, "{").unwrap()).await, 400, "invalid_json").await;
    refused(call(&endpoint, request("a", json, "{}").unwrap()).await, 400, "invalid_input").await;
    let endpoint = endpoint.with_max_body_bytes(1000).with_max_runs(0);
    let answer = refused(call(&endpoint, request("a", json, INPUT).unwrap()).await, 403, "forbidden").await;
    assert_eq!(answer["message"], "no");
    let endpoint = endpoint.with_admission(|_: Admission| async { Ok(()) });
    refused(call(&endpoint, request("a", json, INPUT).unwrap()).await, 503, "unavailable").await;
}

#[tokio::test]
async fn agents_are_chosen_by_the_header() {
    async fn say(run: Run, word: &str) -> Result<RunEnd, RunError> {
        run.text(word).await?;
        Ok(RunEnd::success())
    }
    let endpoint = Endpoint::by_header("x-agent-id")
        .with_agent("one", |run: Run| say(run, "first"))
        .with_agent("two", |run: Run| say(run, "second"));
    let ask = async |endpoint: &Endpoint, name: Option<&str>| {
        let mut request = post(INPUT);
        if let Some(name) = name {
            request.headers_mut().insert("x-agent-id", name.parse().unwrap());
        }
        call(endpoint, request).await
    };
    assert!(text(ask(&endpoint, Some("two")).await.into_body()).await.contains("second"));
    refused(ask(&endpoint, Some("three")).await, 404, "agent_not_found").await;
    refused(ask(&endpoint, None).await, 404, "agent_not_found").await;
    for (first, second) in [("one", "two"), ("one", "three"), ("", "two")] {
        let mut request = post(INPUT);
        request.headers_mut().append("x-agent-id", first.parse().unwrap());
        request.headers_mut().append("x-agent-id", second.parse().unwrap());
        refused(call(&endpoint, request).await, 404, "agent_not_found").await;
    }
    let endpoint = endpoint.with_default("one");
    assert!(text(ask(&endpoint, None).await.into_body()).await.contains("first"));
    refused(ask(&endpoint, Some("three")).await, 404, "agent_not_found").await;
}

#[tokio::test]
async fn an_authenticator_tells_the_handler_who_calls() {
    struct User(String);

    let endpoint = Endpoint::new(|run: Run| async move {
        let user = run.extensions().get::<User>().unwrap();
        let head = run.extensions().get::<RequestHead>().unwrap();
        run.text(format!("{} on {}", user.0, head.uri().path())).await?;
        Ok(RunEnd::success())
    })
    .with_authenticator(|head: RequestHead| async move {
        head.header("x-user").map(|user| User(user.to_owned())).ok_or_else(Refusal::unauthorized)
    })
    .with_admission(|asked: Admission| async move {
        match asked.extensions.get::<User>() {
            Some(user) if user.0 == asked.input.thread_id.as_str() => Ok(()),
            _ => Err(Refusal::forbidden("The thread belongs to somebody else.")),
        }
    });
    let ask = async |user: Option<&str>| {
        let mut request = post(INPUT);
        if let Some(user) = user {
            request.headers_mut().insert("x-user", user.parse().unwrap());
        }
        call(&endpoint, request).await
    };
    let response = ask(None).await;
    assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
    refused(response, 401, "unauthorized").await;
    refused(ask(Some("mallory")).await, 403, "forbidden").await;
    assert!(text(ask(Some("t")).await.into_body()).await.contains("t on /agui"));
}

#[tokio::test]
async fn a_hook_may_answer_with_its_own_limit() {
    let endpoint = Endpoint::new(idle)
        .with_admission(|_: Admission| async { Err(Refusal::too_many_runs(Duration::from_millis(1500))) });
    let response = call(&endpoint, post(INPUT)).await;
    assert_eq!(response.headers()[header::RETRY_AFTER], "2");
    refused(response, 429, "too_many_runs").await;
}

#[tokio::test]
async fn a_panicking_hook_is_an_internal_error_without_its_text() {
    async fn panicking() -> Result<(), Refusal> {
        tokio::task::yield_now().await;
        panic!("postgres://app:pw@db")
    }
    let admission = Endpoint::new(idle).with_admission(|_: Admission| panicking());
    let authenticator = Endpoint::new(idle).with_authenticator(|_: RequestHead| panicking());
    let identity = Endpoint::new(idle).with_max_runs_per_identity(1, |_| panic!("postgres://app:pw@db"));
    for endpoint in [admission, authenticator, identity] {
        let answer = refused(call(&endpoint, post(INPUT)).await, 500, "internal_error").await;
        assert!(!answer.to_string().contains("postgres"));
    }
}

#[tokio::test]
async fn missing_ids_are_made_up_only_where_the_host_asks_for_it() {
    let body = r#"{"messages":[{"role":"user","content":"a"},{"id":"m2","role":"user","content":"b"}]}"#;
    refused(call(&Endpoint::new(idle), post(body)).await, 400, "invalid_input").await;

    let endpoint = Endpoint::new(|run: Run| async move {
        let ids: Vec<_> = run.input().messages.iter().map(|message| message.id().to_string()).collect();
        run.custom("ids", json!(ids)).await?;
        Ok(RunEnd::success())
    })
    .with_generated_ids(true);
    let events = support::events(call(&endpoint, post(body)).await.into_body()).await;
    assert!(!events[0]["threadId"].as_str().unwrap().is_empty());
    assert!(!events[0]["runId"].as_str().unwrap().is_empty());
    assert!(!events[1]["value"][0].as_str().unwrap().is_empty());
    assert_eq!(events[1]["value"][1], "m2");

    // Nothing else is made up.
    for body in
        [r#"{"threadId":"t"}"#, r#"{"messages":[{"content":"a"}]}"#, r#"{"messages":[],"runId":5}"#, "[]"]
    {
        refused(call(&endpoint, post(body)).await, 400, "invalid_input").await;
    }
}

#[test]
fn debug_output_hides_credentials() {
    let (parts, ()) = Request::post("/agui?token=s3cret")
        .header("authorization", "Bearer s3cret")
        .header("cookie", "session=s3cret")
        .header("x-user", "ada")
        .body(())
        .unwrap()
        .into_parts();
    let shown = format!("{:?}", RequestHead::from(&parts));
    assert!(shown.contains("ada") && !shown.contains("s3cret"), "{shown}");
    let endpoint = Endpoint::new(idle).with_bearer_token("s3cret");
    assert!(!format!("{endpoint:?}").contains("s3cret"));
}

#[tokio::test]
async fn ids_of_threads_and_runs_have_a_length() {
    let endpoint = Endpoint::new(idle).with_max_id_bytes(4);
    let input =
        |thread: &str, run: &str| json!({ "threadId": thread, "runId": run, "messages": [] }).to_string();
    for (thread, run, path) in [("t1234", "r", "threadId"), ("t", "r1234", "runId")] {
        let answer = refused(call(&endpoint, post(&input(thread, run))).await, 400, "invalid_input").await;
        assert_eq!(answer["path"], path);
        assert_eq!(answer["message"], format!("{path} is longer than 4 bytes."));
    }
    assert_eq!(call(&endpoint, post(&input("t123", "r123"))).await.status(), 200);
}
