//! What a run looks like on the wire: head, framing, timing, endings.

use std::sync::Arc;
use std::time::Duration;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::RequestHead;
use http::StatusCode;
use http_body_util::Full;
use serde_json::json;
use tokio::sync::Notify;

use crate::client::{Client, input, post, start_run, types, whole_run};
use crate::{Start, endpoint};

pub(crate) async fn hello(run: Run) -> Result<RunEnd, RunError> {
    let mut answer = run.message().with_id("m");
    answer.delta("Hel").await?;
    answer.delta("lo").await?;
    answer.end().await?;
    Ok(RunEnd::success())
}

/// A handler that says `a`, waits until it is told to go on, and says `b`.
pub(crate) fn in_two_parts(go_on: Arc<Notify>) -> impl agui_core::RunHandler {
    move |run: Run| {
        let go_on = Arc::clone(&go_on);
        async move {
            let mut answer = run.message();
            answer.delta("a").await?;
            go_on.notified().await;
            answer.delta("b").await?;
            Ok(RunEnd::success())
        }
    }
}

/// Status, headers and every byte of a short run.
pub async fn the_answer_is_an_event_stream_frame_by_frame(start: Start) {
    let server = start(endpoint(hello)).await;
    let (_client, answer) = start_run(&server).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert!(answer.header("cache-control").contains("no-cache"));
    assert_eq!(answer.header("x-accel-buffering"), "no");
    assert!(!answer.headers().contains_key("content-length"));
    assert!(!answer.headers().contains_key("content-encoding"));
    let expected = [
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"lo"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
    ];
    let expected: String = expected.map(|event| format!("data: {event}\n\n")).concat();
    assert_eq!(answer.text().await, expected);
}

/// A client takes ten seconds without a head for an outage.
pub async fn the_head_and_the_first_event_do_not_wait_for_the_handler(start: Start) {
    let go_on = Arc::new(Notify::new());
    let waits = Arc::clone(&go_on);
    let server = start(endpoint(move |_run: Run| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            Ok(RunEnd::success())
        }
    }))
    .await;
    let (_client, mut answer) = start_run(&server).await;
    assert_eq!(answer.event().await["type"], "RUN_STARTED");
    go_on.notify_one();
    assert_eq!(types(&answer.events().await), ["RUN_FINISHED"]);
}

/// Each event that is ready goes out, however long the next one takes.
pub async fn an_event_is_not_held_back(start: Start) {
    let go_on = Arc::new(Notify::new());
    let server = start(endpoint(in_two_parts(Arc::clone(&go_on)))).await;
    reads_in_two_parts(&server, &go_on, run_request_with("accept-encoding", "identity")).await;
}

/// Reads the run of a handler in two parts, and lets it go on only when the first part has arrived.
pub(crate) async fn reads_in_two_parts(
    server: &crate::Server,
    go_on: &Notify,
    request: http::Request<Full<bytes::Bytes>>,
) {
    let mut client = Client::connect(server).await;
    let mut answer = client.send(request).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.event().await["type"], "RUN_STARTED");
    assert_eq!(answer.event().await["type"], "TEXT_MESSAGE_START");
    assert_eq!(answer.event().await["delta"], "a");
    go_on.notify_one();
    assert_eq!(types(&answer.events().await), ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
}

pub(crate) fn run_request_with(name: &str, value: &str) -> http::Request<Full<bytes::Bytes>> {
    post().header(name, value).body(Full::from(input().to_string())).unwrap()
}

/// A client that accepts gzip gets none.
pub async fn nothing_is_compressed(start: Start) {
    let server = start(endpoint(hello)).await;
    let mut client = Client::connect(&server).await;
    let answer = client.send(run_request_with("accept-encoding", "gzip, br")).await;
    assert!(!answer.headers().contains_key("content-encoding"));
    assert_eq!(answer.events().await.len(), 6);
}

/// Comments come while nothing else does, and never inside a frame.
pub async fn keep_alive_comments_fill_silence_between_frames(start: Start) {
    let go_on = Arc::new(Notify::new());
    let quick = endpoint(in_two_parts(Arc::clone(&go_on))).with_keep_alive(Duration::from_millis(20));
    let server = start(quick).await;
    let (_client, mut answer) = start_run(&server).await;
    let before = answer.until(": keep-alive\n\n").await;
    assert!(before.ends_with("\"delta\":\"a\"}\n\n: keep-alive\n\n"), "{before:?}");
    assert_eq!(answer.until("\n\n").await, ": keep-alive\n\n");
    go_on.notify_one();
    assert_eq!(types(&answer.events().await), ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
}

/// The end of a run is not the end of its connection.
pub async fn runs_follow_each_other_on_one_connection(start: Start) {
    let server = start(endpoint(hello)).await;
    let mut client = Client::connect(&server).await;
    for _ in 0..3 {
        assert_eq!(client.run().await.events().await.len(), 6);
    }
}

/// A client's promise resolves at the end of the body, so nothing may hold it open.
pub async fn the_body_ends_with_the_terminal_event(start: Start) {
    let server = start(endpoint(async |run: Run| {
        // What outlives the handler must not keep the answer open.
        let straggler = run.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(straggler);
        });
        Ok(RunEnd::success())
    }))
    .await;
    assert_eq!(types(&whole_run(&server).await), ["RUN_STARTED", "RUN_FINISHED"]);
}

/// A handler may return in the middle of everything.
pub async fn what_a_handler_leaves_open_is_closed(start: Start) {
    let server = start(endpoint(async |run: Run| {
        let mut text = run.message();
        text.delta("half").await?;
        let call = run.tool_call("search");
        call.args("{").await?;
        let _step = run.step("plan").await?;
        let subagent = run.subagent("scout").start().await?;
        subagent.reasoning().delta("hm").await?;
        Ok(RunEnd::success())
    }))
    .await;
    let events = whole_run(&server).await;
    let types = types(&events);
    for (opened, closed) in [
        ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END"),
        ("TOOL_CALL_START", "TOOL_CALL_END"),
        ("STEP_STARTED", "STEP_FINISHED"),
        ("SUBAGENT_STARTED", "SUBAGENT_FINISHED"),
        ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END"),
        ("REASONING_START", "REASONING_END"),
    ] {
        let at = |kind| types.iter().position(|found| *found == kind);
        assert!(at(opened).is_some() && at(opened) < at(closed), "{opened} in {types:?}");
    }
    assert_eq!(types.last(), Some(&"RUN_FINISHED"));
    assert_eq!(events.last().unwrap()["outcome"]["type"], "success");
}

/// An error that is not public stays inside, its kind does not.
pub async fn an_error_is_told_without_its_text(start: Start) {
    let server = start(endpoint(async |run: Run| {
        run.message().delta("half").await?;
        Err(std::io::Error::other("the password is swordfish"))?;
        Ok(RunEnd::success())
    }))
    .await;
    let (_client, answer) = start_run(&server).await;
    let text = answer.text().await;
    assert!(!text.contains("swordfish"));
    assert!(text.contains(r#""code":"internal_error""#), "{text}");
}

/// An error that is marked public comes out as it is.
pub async fn a_public_error_is_told(start: Start) {
    let server = start(endpoint(async |_run: Run| {
        Err::<RunEnd, _>(RunError::public("The quota is used up.").with_code("quota"))
    }))
    .await;
    let events = whole_run(&server).await;
    assert_eq!(
        events[1],
        json!({ "type": "RUN_ERROR", "message": "The quota is used up.", "code": "quota" })
    );
}

/// A panic is one run's, and its text nobody's.
pub async fn a_panic_is_told_without_its_text_and_the_server_goes_on(start: Start) {
    let server = start(endpoint(async |run: Run| {
        run.message().delta("half").await?;
        assert!(run.run_id() != "r", "the password is swordfish");
        Ok(RunEnd::success())
    }))
    .await;
    let (mut client, answer) = start_run(&server).await;
    let text = answer.text().await;
    assert!(!text.contains("swordfish"));
    assert!(text.contains(r#""type":"RUN_ERROR""#) && text.contains(r#""code":"internal_error""#), "{text}");

    let mut other = input();
    other["runId"] = json!("other");
    let answer = client.send(post().body(Full::from(other.to_string())).unwrap()).await;
    assert_eq!(types(&answer.events().await).last(), Some(&"RUN_FINISHED"));
}

/// Nothing is dropped and nothing changes places while a reader takes its time.
pub async fn a_reader_that_pauses_loses_nothing(start: Start) {
    const DELTAS: usize = 50_000;
    let server = start(endpoint(async |run: Run| {
        let mut answer = run.message();
        for index in 0..DELTAS {
            answer.delta(format!("{index:0>100},")).await?;
        }
        Ok(RunEnd::success())
    }))
    .await;
    let (_client, mut answer) = start_run(&server).await;
    answer.until("\n\n").await;
    // More than every buffer on the way holds is written while nobody reads: the handler has to wait.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let events = answer.events().await;
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    assert!(deltas.eq((0..DELTAS).map(|index| format!("{index:0>100},"))));
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
}

/// One stalled reader is one stalled run.
pub async fn a_run_does_not_wait_for_another_runs_reader(start: Start) {
    let server = start(endpoint(async |run: Run| {
        let mut answer = run.message();
        if run.run_id() == "r" {
            while !run.is_cancelled() {
                answer.delta("x".repeat(10_000)).await?;
            }
        }
        Ok(RunEnd::success())
    }))
    .await;
    let (_stalled, _unread) = start_run(&server).await;
    let mut other = input();
    other["runId"] = json!("other");
    let mut client = Client::connect(&server).await;
    let answer = client.send(post().body(Full::from(other.to_string())).unwrap()).await;
    assert_eq!(types(&answer.events().await), ["RUN_STARTED", "RUN_FINISHED"]);
}

/// Texts of any script, cut anywhere, and what looks like framing in them.
pub async fn unicode_arrives_unharmed(start: Start) {
    const TEXT: &str = "größe 東京 🦀 \u{2028}\n\ndata: {\"x\":1}\r\n\u{0}";
    let server = start(endpoint(async |run: Run| {
        run.text(TEXT).await?;
        Ok(RunEnd::success())
    }))
    .await;
    assert_eq!(whole_run(&server).await[2]["delta"], TEXT);
}

/// The head of the request is the handler's to read.
pub async fn headers_of_the_request_reach_the_handler(start: Start) {
    let server = start(endpoint(async |run: Run| {
        let head = run.extensions().get::<RequestHead>();
        let values: Vec<String> = head
            .map(|head| head.headers().get_all("x-tenant").iter())
            .into_iter()
            .flatten()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        run.custom("tenant", values).await?;
        Ok(RunEnd::success())
    }))
    .await;
    let mut client = Client::connect(&server).await;
    let request = post().header("X-Tenant", "acme").header("X-Tenant", "b\u{e9}");
    let answer = client.send(request.body(Full::from(input().to_string())).unwrap()).await;
    assert_eq!(answer.events().await[1]["value"], json!(["acme", "b\u{e9}"]));
}
