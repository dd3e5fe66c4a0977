//! What is sent, what is made of the answer, and what hostile servers cost, over real sockets.

mod common;

use std::time::Duration;

use agui_client::agui_core::consumer::RunStatus;
use agui_client::agui_core::consumer::prepare::Peer;
use agui_client::agui_core::{
    ActivityMessage, Event, JsonObject, Message, RunAgentInput, RunErrorEvent, UserMessage, Warning,
};
use agui_client::{Agent, DialError, HttpAgent, RunFailure, TruncationCause};
use common::{
    Scripted, Then, answer, answer_piece, demo, open_answer, read, script, scripted, sse, within_a_minute,
};
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
const SSE: &str = "content-type: text/event-stream\r\n";

fn hello() -> Vec<u8> {
    sse(&[STARTED, r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Grüße, 世界"}"#, FINISHED])
}

#[expect(clippy::panic, reason = "this is part of tests")]
async fn refusal(server: &Scripted) -> agui_client::Refused {
    match server.agent().run(RunAgentInput::new("t", "r", [])).await {
        Err(DialError::Refused(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

// What is sent.

// BIND-1, BIND-3.
#[tokio::test]
async fn one_post_of_json_with_an_accept_that_names_what_is_read() {
    within_a_minute(async {
        let mut server = Scripted::streaming(hello()).await;
        let history = [
            Message::from(UserMessage::new("q", "Hi")),
            ActivityMessage::new("a", "PLAN", JsonObject::new()).into(),
        ];
        let agent = server
            .agent()
            .with_bearer_token("s3cret")
            .unwrap()
            .with_header(HeaderName::from_static("x-tenant"), HeaderValue::from_static("blue"));
        assert!(!format!("{agent:?}").contains("s3cret"));
        let mut run = agent.run(RunAgentInput::new("t", "r", history)).await.unwrap();
        assert_eq!(run.finish().await.unwrap(), RunStatus::Success);

        let request = server.request().await;
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("post /agui http/1.1\r\n"), "{head}");
        let accept = if cfg!(feature = "protobuf") {
            "accept: application/vnd.ag-ui.event+proto, text/event-stream"
        } else {
            "accept: text/event-stream"
        };
        for line in
            [accept, "content-type: application/json", "authorization: bearer s3cret", "x-tenant: blue"]
        {
            assert_eq!(head.lines().filter(|sent| *sent == line).count(), 1, "{line} in {head}");
        }
        // The input as it is made ready: our version, no activities, lists present (VER-1, STATE-9).
        assert_eq!(
            serde_json::from_str::<Value>(body).unwrap(),
            json!({
                "threadId": "t", "runId": "r", "protocolVersion": "1.0",
                "messages": [{ "id": "q", "role": "user", "content": "Hi" }],
                "state": {}, "tools": [], "context": [], "forwardedProps": {},
            }),
        );
        assert_eq!(serde_json::to_value(run.request()).unwrap()["protocolVersion"], "1.0");
    })
    .await;
}

// BIND-7.
#[cfg(feature = "protobuf")]
#[tokio::test]
async fn sse_alone_is_offered_where_the_binary_wire_is_switched_off() {
    within_a_minute(async {
        let mut server = Scripted::streaming(hello()).await;
        let agent = server.agent().with_protobuf(false);
        agent.run(RunAgentInput::new("t", "r", [])).await.unwrap().finish().await.unwrap();
        assert!(server.request().await.contains("accept: text/event-stream\r\n"));
    })
    .await;
}

#[tokio::test]
async fn no_version_is_declared_to_a_producer_from_before_versions() {
    within_a_minute(async {
        let mut server = Scripted::streaming(hello()).await;
        let agent = server.agent().with_peer(Peer::Undeclared);
        agent.run(RunAgentInput::new("t", "r", [])).await.unwrap().finish().await.unwrap();
        assert!(!server.request().await.contains("protocolVersion"));
    })
    .await;
}

#[tokio::test]
async fn an_input_that_leaves_an_interrupt_open_is_not_sent() {
    within_a_minute(async {
        let (url, _) = demo().await;
        let interrupts = json!([{ "interrupt": [{ "id": "i", "reason": "confirm" }] }]);
        let mut run = scripted(&url).run(script(&interrupts)).await.unwrap();
        assert_eq!(run.finish().await.unwrap(), RunStatus::Interrupted);
        let mut conversation = run.into_conversation();

        // Nobody listens there: the refusal comes before the connection.
        let nowhere = HttpAgent::new("http://127.0.0.1:1/agui").unwrap();
        let error = nowhere.run_in(&mut conversation, RunAgentInput::new("t", "r2", [])).await.unwrap_err();
        assert!(matches!(&error, DialError::NotSent(error) if error.rule() == "INT-2"), "{error:?}");
    })
    .await;
}

#[test]
fn addresses_and_tokens_that_cannot_work_are_refused_at_once() {
    for url in ["", "agui", "ftp://h/agui", "http://"] {
        assert!(matches!(HttpAgent::new(url), Err(DialError::Settings(_))), "{url}");
    }
    let agent = HttpAgent::new("http://h/agui").unwrap();
    assert!(matches!(agent.with_bearer_token("a\nb"), Err(DialError::Settings(_))));
}

// What comes back.

// BIND-3, BIND-7.
#[tokio::test]
async fn sse_is_read_whatever_is_on_offer_and_however_it_is_cut() {
    within_a_minute(async {
        let body = [b"\xEF\xBB\xBF: hello\r\n\r\nevent: x\n".as_slice(), &hello(), b": bye\n\n"].concat();
        for content_type in
            ["text/event-stream", "Text/Event-Stream;charset=UTF-8", "text/event-stream ; x=\"y\""]
        {
            let headers = format!("content-type: {content_type}\r\n");
            let answers: Vec<_> = [1, 2, 3, 7, 64, usize::MAX]
                .map(|piece| (answer("200 OK", &headers, &body, piece), Then::Close))
                .into();
            let count = answers.len();
            let server = Scripted::start(answers).await;
            for _ in 0..count {
                let mut run = server.run().await;
                let (events, failure) = read(&mut run).await;
                assert!(failure.is_none(), "{failure:?}");
                assert_eq!(events.len(), 5);
                assert_eq!(run.conversation().message("m").unwrap().text(), "Grüße, 世界");
            }
        }
    })
    .await;
}

// BIND-3.
#[cfg(feature = "protobuf")]
#[tokio::test]
async fn the_content_type_picks_the_decoder() {
    use agui_encoder::ProtobufEncoder;
    use bytes::BytesMut;

    within_a_minute(async {
        // What the demo sends in the binary wire, replayed in odd pieces.
        let (url, sent) = demo().await;
        let mut run =
            scripted(&url).run(script(&json!([{ "text": "Grüße, 世界", "id": "m" }]))).await.unwrap();
        let (expected, _) = read(&mut run).await;
        assert_eq!(sent.content_types(), ["application/vnd.ag-ui.event+proto"]);
        let mut body = BytesMut::new();
        for event in &expected {
            ProtobufEncoder::new().encode(event, &mut body).unwrap();
        }

        let headers = "content-type: application/vnd.ag-ui.event+proto\r\n";
        let pieces = [1, 2, 3, 5, 1000];
        let server =
            Scripted::start(pieces.map(|piece| (answer("200 OK", headers, &body, piece), Then::Close))).await;
        for _ in pieces {
            let (events, failure) = read(&mut server.run().await).await;
            assert!(failure.is_none(), "{failure:?}");
            assert_eq!(events, expected);
        }

        // A body that ends inside a frame is cut off; the frames before it count (BIND-8).
        let server = Scripted::answering("200 OK", headers, &body[..body.len() - 1]).await;
        let mut run = server.run().await;
        let (events, failure) = read(&mut run).await;
        assert_eq!(events, expected[..expected.len() - 1]);
        assert!(
            matches!(failure, Some(RunFailure::Truncated(TruncationCause::InsideFrame(_)))),
            "{failure:?}"
        );
        assert_eq!(run.status(), RunStatus::Unended);
    })
    .await;
}

// BIND-1.
#[tokio::test]
async fn success_with_something_else_than_a_stream_is_no_success() {
    within_a_minute(async {
        for headers in [
            "",
            "content-type: text/html; charset=utf-8\r\n",
            "content-type: application/json\r\n",
            "content-type: text/event-stream-ish\r\n",
            "content-type: text/event-stream\r\ncontent-type: text/html\r\n",
        ] {
            let server = Scripted::answering("200 OK", headers, hello()).await;
            let error = server.agent().run(RunAgentInput::new("t", "r", [])).await.unwrap_err();
            assert!(matches!(error, DialError::Unexpected { .. }), "{headers}: {error:?}");
            assert!(error.to_string().contains("BIND-1"), "{error}");
        }
        let server = Scripted::start([(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), Then::Close)]).await;
        let error = server.agent().run(RunAgentInput::new("t", "r", [])).await.unwrap_err();
        assert!(matches!(error, DialError::Unexpected { status, .. } if status == 204), "{error:?}");
    })
    .await;
}

// BIND-1.
#[tokio::test]
async fn a_refusal_says_what_the_server_says() {
    within_a_minute(async {
        let (url, _) = demo().await;
        // The demo knows no agent of that name.
        let named = (HeaderName::from_static("x-agent-id"), HeaderValue::from_static("nobody"));
        let agent = HttpAgent::new(&url).unwrap().with_header(named.0, named.1);
        let error = agent.run(RunAgentInput::new("t", "r", [])).await.unwrap_err();
        let DialError::Refused(refused) = error else { panic!("{error:?}") };
        assert_eq!((refused.status().as_u16(), refused.code()), (404, Some("agent_not_found")));
        assert!(refused.to_string().starts_with("the server refused with status 404 (agent_not_found): "));

        let body =
            r#"{"error":"Thread busy","message":"A run is in progress.","code":"thread_busy","runId":"r0"}"#;
        let headers = "content-type: application/json\r\nretry-after: 7\r\n";
        let refused = refusal(&Scripted::answering("409 Conflict", headers, body).await).await;
        assert_eq!((refused.code(), refused.run_id()), (Some("thread_busy"), Some("r0")));
        assert_eq!(refused.message(), Some("A run is in progress."));
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(7)));

        let body =
            r#"{"message":"messages[0].id is missing.","code":"invalid_input","path":"messages[0].id"}"#;
        let refused = refusal(&Scripted::answering("400 Bad Request", "", body).await).await;
        assert_eq!((refused.path(), refused.retry_after()), (Some("messages[0].id"), None));
    })
    .await;
}

#[tokio::test]
async fn a_page_for_people_is_a_refusal_without_code_and_costs_no_more_than_its_limit() {
    within_a_minute(async {
        let page = format!("<html>{}</html>", "no ".repeat(100_000));
        let server = Scripted::answering("502 Bad Gateway", "content-type: text/html\r\n", &page).await;
        let refused = refusal(&server).await;
        assert_eq!((refused.status().as_u16(), refused.code(), refused.message()), (502, None, None));
        assert_eq!(refused.body().len(), 64 * 1024);
        assert_eq!(refused.to_string(), "the server refused with status 502");
        // A refusal that breaks off is one all the same.
        let broken = open_answer("500 Internal Server Error", "", b"{\"code\":", 8);
        let refused = refusal(&Scripted::start([(broken, Then::Close)]).await).await;
        assert_eq!((refused.status().as_u16(), refused.code()), (500, None));
    })
    .await;
}

#[tokio::test]
async fn a_redirect_is_a_refusal_and_nothing_is_sent_on() {
    within_a_minute(async {
        let mut elsewhere = Scripted::streaming(hello()).await;
        for status in
            ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
        {
            let location = format!("location: {}\r\n", elsewhere.url);
            let refused = refusal(&Scripted::answering(status, &location, "").await).await;
            assert_eq!(refused.location(), Some(elsewhere.url.as_str()));
            assert!(refused.to_string().ends_with(&elsewhere.url), "{refused}");
        }
        // The first request the other server has read is the one that is made now.
        elsewhere.run().await.finish().await.unwrap();
        assert!(elsewhere.request().await.contains("\"runId\":\"r\""));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_not_there_or_hangs_up_is_unreachable() {
    within_a_minute(async {
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let agent = HttpAgent::new(format!("http://{free}/agui")).unwrap();
        let error = agent.run(RunAgentInput::new("t", "r", [])).await.unwrap_err();
        assert!(matches!(error, DialError::Unreachable(_)), "{error:?}");
        for answer in ["", "HTTP/1.1 200", "SSH-2.0-x\r\n"] {
            let server = Scripted::start([(answer.into(), Then::Close)]).await;
            let error = server.agent().run(RunAgentInput::new("t", "r", [])).await.unwrap_err();
            assert!(matches!(error, DialError::Unreachable(_)), "{answer}: {error:?}");
        }
    })
    .await;
}

// How it ends.

#[tokio::test]
async fn a_stream_that_is_cut_off_is_told_apart_from_one_that_ends() {
    within_a_minute(async {
        let text = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"You owe 12"}"#;
        let begun = sse(&[STARTED, text]);
        let inside = [&begun[..], b"data: {\"type\":\"RUN_FIN"].concat();
        let cases = [
            (answer("200 OK", SSE, &begun, 9), "ended"),
            (answer("200 OK", SSE, &inside, 9), "inside"),
            (open_answer("200 OK", SSE, &begun, 9), "transport"),
            (answer("200 OK", SSE, b"", 9), "ended"),
            (answer("200 OK", SSE, b": keep-alive\n\n", 9), "ended"),
        ];
        for (answer, how) in cases {
            let server = Scripted::start([(answer, Then::Close)]).await;
            let mut run = server.run().await;
            let (events, failure) = read(&mut run).await;
            let failure = failure.unwrap();
            let told = match &failure {
                RunFailure::Truncated(TruncationCause::Ended) => "ended",
                RunFailure::Truncated(TruncationCause::InsideFrame(_)) => "inside",
                RunFailure::Truncated(TruncationCause::Transport(_)) => "transport",
                other => panic!("{other:?}"),
            };
            assert_eq!(told, how, "{failure}");
            assert_eq!((failure.rule(), failure.is_truncation()), ("LIFE-11", true));
            assert_eq!(run.status(), RunStatus::Unended);
            // What was delivered stays delivered.
            if !events.is_empty() {
                assert_eq!(run.conversation().message("m").unwrap().text(), "You owe 12");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_breaks_off_after_the_run_is_over_makes_no_failure_of_it() {
    within_a_minute(async {
        let rest = [hello(), b"data: {\"ty".to_vec()].concat();
        for answer in [open_answer("200 OK", SSE, &hello(), 9), answer("200 OK", SSE, &rest, 9)] {
            let mut run = Scripted::start([(answer, Then::Close)]).await.run().await;
            assert_eq!(run.finish().await.unwrap(), RunStatus::Success);
            let rules: Vec<_> = run.warnings().map(Warning::rule).collect();
            assert_eq!(rules, ["LIFE-11"]);
        }
    })
    .await;
}

#[tokio::test]
async fn cancelled_and_failed_runs_are_endings_and_no_errors() {
    within_a_minute(async {
        let (url, _) = demo().await;
        let mut run =
            scripted(&url).run(script(&json!([{ "text": "a" }, { "cancel": true }]))).await.unwrap();
        assert_eq!(run.finish().await.unwrap(), RunStatus::Cancelled);

        let quota = json!([{ "error": "quota used up", "code": "quota" }]);
        let mut run = scripted(&url).run(script(&quota)).await.unwrap();
        let (events, failure) = read(&mut run).await;
        assert!(failure.is_none());
        assert_eq!(events.last(), Some(&RunErrorEvent::new("quota used up").with_code("quota").into()));
        assert_eq!(run.status(), RunStatus::Failed);
        assert_eq!(run.conversation().last_run().unwrap().failure.as_ref().unwrap().message, "quota used up");
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_breaks_a_rule_is_rejected_by_the_rules_name() {
    within_a_minute(async {
        let message = r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#;
        let cases: &[(&[&str], &str, usize)] = &[
            (&[message], "LIFE-1", 0),
            (&[STARTED, STARTED], "LIFE-2", 1),
            (&[STARTED, message, FINISHED], "LIFE-3", 2),
            (&[STARTED, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#], "STREAM-1", 1),
            (&[STARTED, FINISHED, message], "LIFE-7", 2),
            (&[STARTED, r#"{"type":"STEP_STARTED","stepName":5}"#], "PROC-5", 1),
            (&[STARTED, "{"], "PROC-6", 1),
        ];
        for (events, rule, delivered) in cases {
            let mut server =
                Scripted::start([(open_answer("200 OK", SSE, &sse(events), 99), Then::Wait)]).await;
            let mut run = server.run().await;
            let (seen, failure) = read(&mut run).await;
            let failure = failure.unwrap();
            assert!(matches!(failure, RunFailure::Rejected(_)), "{failure:?}");
            assert_eq!((failure.rule(), seen.len()), (*rule, *delivered), "{failure}");
            // Nothing more is wanted of such a server.
            server.closed().await;
        }
        let (url, _) = demo().await;
        let unchecked =
            json!([{ "event": { "type": "STEP_FINISHED", "stepName": "none" }, "unchecked": true }]);
        let failure = scripted(&url).run(script(&unchecked)).await.unwrap().finish().await.unwrap_err();
        assert_eq!(failure.rule(), "LIFE-10", "{failure}");
    })
    .await;
}

#[tokio::test]
async fn a_frame_without_end_costs_its_limit() {
    within_a_minute(async {
        let begun = [sse(&[STARTED]), b"data: ".to_vec()].concat();
        let more = answer_piece(&[b'x'; 1024]);
        let answers = [(open_answer("200 OK", SSE, &begun, 99), Then::Repeat(more))];
        let mut server = Scripted::start(answers).await;
        let agent = server.agent().with_max_frame_bytes(100_000);
        let mut run = agent.run(RunAgentInput::new("t", "r", [])).await.unwrap();
        let (events, failure) = read(&mut run).await;
        let failure = failure.unwrap();
        assert_eq!(events.len(), 1);
        assert!(
            matches!(&failure, RunFailure::Undecodable(error) if error.code() == "frame_too_large"),
            "{failure:?}"
        );
        assert_eq!((failure.rule(), failure.is_truncation()), ("PROC-6", false));
        server.closed().await;
    })
    .await;
}

// Cancelling.

#[tokio::test]
async fn a_run_that_is_dropped_closes_its_connection_and_is_cancelled_at_the_server() {
    within_a_minute(async {
        let (url, _) = demo().await;
        let long = json!([{ "track": "dropped" }, { "text": "a", "id": "m" }, { "sleepMs": 600_000 }]);
        let mut run = scripted(&url).run(script(&long)).await.unwrap();
        while let Some(event) = run.next().await {
            if matches!(event.unwrap(), Event::TextMessageEnd(_)) {
                break;
            }
        }
        let conversation = run.into_conversation();
        assert_eq!(conversation.message("m").unwrap().text(), "a");
        assert_eq!(conversation.run_status(), RunStatus::Unended);

        // The server notices in its own time.
        loop {
            let mut asked = scripted(&url).run(script(&json!([{ "stats": "dropped" }]))).await.unwrap();
            let (events, _) = read(&mut asked).await;
            let Event::Custom(stats) = &events[1] else { panic!("{events:?}") };
            if stats.value["cancelled"] == 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_event_is_there_before_the_next_is_made() {
    within_a_minute(async {
        // The server writes nothing more before it is hung up on.
        let mut server =
            Scripted::start([(open_answer("200 OK", SSE, &sse(&[STARTED]), 99), Then::Wait)]).await;
        let mut run = server.run().await;
        assert!(matches!(run.next().await, Some(Ok(Event::RunStarted(_)))));
        drop(run);
        server.closed().await;
    })
    .await;
}
