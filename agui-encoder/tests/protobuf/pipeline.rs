//! Binary frames in the consumer's pipeline, and the endpoint that answers with them.

#[path = "../support/mod.rs"]
mod http_support;

use agui_core::consumer::{Pipeline, StreamEnd};
use agui_core::{Event, EventType, Run, RunEnd};
use agui_encoder::decode::{Decoder, Frame, ProtobufDecoder};
use agui_encoder::http::Endpoint;
use bytes::Bytes;
use http::header;
use http_body_util::BodyExt;

use crate::support::{decode_both, payload};
use http_support::{INPUT, call, events, post};

const BINARY: &str = "application/vnd.ag-ui.event+proto";

fn feed(payloads: &[&[u8]]) -> (Vec<EventType>, Pipeline, Option<agui_core::consumer::StreamError>) {
    let mut pipeline = Pipeline::new();
    let mut types = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        let frame = Frame::binary(payload.to_vec(), index as u64);
        if let Err(error) = pipeline.feed(&frame, &mut |event: Event| types.push(event.event_type())) {
            return (types, pipeline, Some(error));
        }
    }
    (types, pipeline, None)
}

#[test]
fn a_dropped_frame_is_a_warning_of_its_own_frame() {
    let started = payload(&agui_core::RunStartedEvent::new("t", "r").into());
    let finished = payload(&agui_core::RunFinishedEvent::new("t", "r").into());
    let (types, mut pipeline, error) = feed(&[&started, b"\x82\x02\x00", &finished]);
    assert!(error.is_none());
    assert_eq!(types, [EventType::RunStarted, EventType::RunFinished]);
    assert_eq!(pipeline.warnings().len(), 1);
    assert_eq!((pipeline.warnings()[0].rule(), pipeline.warnings()[0].event_index()), ("PROC-6", Some(1)));
    assert_eq!(pipeline.finish(), StreamEnd::Complete);
}

#[test]
fn bytes_that_do_not_decode_reject_the_stream() {
    let started = payload(&agui_core::RunStartedEvent::new("t", "r").into());
    for broken in [&b""[..], b"\x1a\x10", b"\xff"] {
        let (types, _, error) = feed(&[&started, broken]);
        assert_eq!(types, [EventType::RunStarted]);
        let error = error.unwrap();
        assert_eq!((error.index(), error.rule()), (1, "BIND-8"));
    }
}

async fn hello(run: Run) -> Result<RunEnd, agui_core::RunError> {
    run.text("Hello").await?;
    Ok(RunEnd::success())
}

async fn get(endpoint: &Endpoint, accept: &str, input: &str) -> (String, Bytes) {
    let mut request = post(input);
    request.headers_mut().insert(header::ACCEPT, accept.parse().unwrap());
    let response = call(endpoint, request).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()[header::VARY], "accept");
    let content_type = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    (content_type, response.into_body().collect().await.unwrap().to_bytes())
}

fn read(body: Bytes) -> Vec<serde_json::Value> {
    let mut decoder = ProtobufDecoder::new();
    decoder.push(body);
    let mut events = Vec::new();
    while let Some(frame) = decoder.next_frame() {
        events.push(crate::support::tree_of(decode_both(frame.unwrap().text()).unwrap()).unwrap());
    }
    assert!(format!("{:?}", decoder.finish()).contains("Clean"));
    events
}

#[tokio::test]
async fn the_endpoint_answers_in_binary_where_accept_admits_it() {
    let endpoint = Endpoint::new(hello);
    for (accept, binary) in [
        (BINARY, true),
        ("text/event-stream, application/vnd.ag-ui.event+proto;q=0.1", true),
        ("*/*", true),
        ("application/*", true),
        ("text/event-stream", false),
        ("text/html", false),
        ("*/*, application/vnd.ag-ui.event+proto;q=0", false),
    ] {
        let (content_type, body) = get(&endpoint, accept, INPUT).await;
        assert_eq!(content_type, if binary { BINARY } else { "text/event-stream" }, "{accept}");
        if binary {
            let types: Vec<_> = read(body).iter().map(|event| event["type"].clone()).collect();
            assert_eq!(
                types,
                [
                    "RUN_STARTED",
                    "TEXT_MESSAGE_START",
                    "TEXT_MESSAGE_CONTENT",
                    "TEXT_MESSAGE_END",
                    "RUN_FINISHED"
                ]
            );
        }
    }
}

#[tokio::test]
async fn an_endpoint_can_be_told_not_to_answer_in_binary() {
    let endpoint = Endpoint::new(hello).with_protobuf(false);
    let (content_type, _) = get(&endpoint, BINARY, INPUT).await;
    assert_eq!(content_type, "text/event-stream");
}

#[tokio::test]
async fn older_peers_get_the_same_downgrade_in_binary() {
    let endpoint = Endpoint::new(|_: Run| async { Ok(RunEnd::cancelled()) });
    let old = r#"{"threadId":"t","runId":"r","messages":[]}"#;
    for (input, outcome) in [(INPUT, true), (old, false)] {
        let (_, body) = get(&endpoint, BINARY, input).await;
        assert_eq!(read(body).last().unwrap().get("outcome").is_some(), outcome);
    }
}

#[tokio::test]
async fn refusals_are_json_whatever_accept_says() {
    let mut request = post("{}");
    request.headers_mut().insert(header::ACCEPT, BINARY.parse().unwrap());
    let response = call(&Endpoint::new(hello), request).await;
    assert_eq!(response.status(), 400);
    assert!(response.headers()[header::CONTENT_TYPE].to_str().unwrap().contains("json"));
}

#[tokio::test(start_paused = true)]
async fn silence_stays_silent_in_binary() {
    let endpoint = Endpoint::new(|run: Run| async move {
        tokio::time::sleep(std::time::Duration::from_secs(600)).await;
        run.text("late").await?;
        Ok(RunEnd::success())
    });
    let (_, body) = get(&endpoint, BINARY, INPUT).await;
    assert_eq!(read(body).len(), 5);
}

#[tokio::test]
async fn both_wires_tell_the_same_run() {
    let endpoint = Endpoint::new(hello);
    let (content_type, body) = get(&endpoint, BINARY, INPUT).await;
    assert!(matches!(Decoder::for_content_type(&content_type), Some(Decoder::Protobuf(_))));
    let mut request = post(INPUT);
    request.headers_mut().insert(header::ACCEPT, "text/event-stream".parse().unwrap());
    let text = events(call(&endpoint, request).await.into_body()).await;
    let without_ids = |events: Vec<serde_json::Value>| -> Vec<serde_json::Value> {
        events
            .into_iter()
            .map(|mut event| {
                event.as_object_mut().unwrap().remove("messageId");
                event
            })
            .collect()
    };
    assert_eq!(without_ids(read(body)), without_ids(text));
}
