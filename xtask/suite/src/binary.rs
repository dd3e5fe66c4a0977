//! The binary wire, where `Accept` admits it.

use std::sync::Arc;
use std::time::Duration;

use agui_encoder::decode::{Decoder, Frame};
use agui_encoder::protobuf::MEDIA_TYPE;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http_body_util::Full;
use tokio::sync::Notify;

use crate::client::{Answer, Client, PATH, input};
use crate::streams::{hello, in_two_parts};
use crate::{Start, endpoint};

fn request(accept: &str, body: String) -> Request<Full<bytes::Bytes>> {
    let request = Request::post(PATH).header(HOST, "localhost").header(CONTENT_TYPE, "application/json");
    request.header(ACCEPT, accept).body(Full::from(body)).unwrap()
}

/// Reads frames until there are `count`.
async fn frames(answer: &mut Answer, decoder: &mut Decoder, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < count {
        if let Some(frame) = decoder.next_frame() {
            frames.push(frame.unwrap());
        } else {
            decoder.push(answer.chunk().await.unwrap());
        }
    }
    frames
}

/// Its name is compared byte for byte by published clients, and the body is frames and nothing else.
pub async fn the_binary_wire_is_chosen_by_accept_and_nothing_but_frames(start: Start) {
    let server = start(endpoint(hello)).await;
    let mut client = Client::connect(&server).await;
    for accept in [MEDIA_TYPE, "text/event-stream, application/vnd.ag-ui.event+proto;q=0.1", "*/*"] {
        let mut answer = client.send(request(accept, input().to_string())).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.header("content-type"), MEDIA_TYPE);
        assert!(answer.header("cache-control").contains("no-cache"));
        assert!(!answer.headers().contains_key("content-length"));
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await {
            body.extend_from_slice(&chunk);
        }
        let mut lengths = Vec::new();
        let mut rest = &body[..];
        while let Some((length, after)) = rest.split_first_chunk() {
            let (_payload, after) = after.split_at(u32::from_be_bytes(*length) as usize);
            lengths.push(u32::from_be_bytes(*length));
            rest = after;
        }
        assert_eq!(rest.len(), 0, "the body ends inside a frame");
        assert_eq!(lengths.len(), 6);
        assert!(lengths.iter().all(|length| *length > 0));
    }
    let refused = format!("{MEDIA_TYPE};q=0, text/event-stream");
    let answer = client.send(request(&refused, input().to_string())).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    answer.events().await;
}

/// What holds for text holds here: each event leaves when it is there. Nothing fills the silence.
pub async fn a_binary_event_is_not_held_back(start: Start) {
    let go_on = Arc::new(Notify::new());
    let quick = endpoint(in_two_parts(Arc::clone(&go_on))).with_keep_alive(Duration::from_millis(10));
    let server = start(quick).await;
    let mut client = Client::connect(&server).await;
    let mut answer = client.send(request(MEDIA_TYPE, input().to_string())).await;
    let mut decoder = Decoder::for_content_type(MEDIA_TYPE).unwrap();
    frames(&mut answer, &mut decoder, 3).await;
    let silent = tokio::time::timeout(Duration::from_millis(100), answer.chunk()).await;
    assert!(silent.is_err(), "something came between two events: {silent:?}");
    go_on.notify_one();
    frames(&mut answer, &mut decoder, 3).await;
    assert_eq!(answer.chunk().await.unwrap_or_default().len(), 0);
}

/// Refusals are for people to read, whatever the stream would have been.
pub async fn a_refusal_is_json_whatever_accept_says(start: Start) {
    let server = start(endpoint(hello)).await;
    let mut client = Client::connect(&server).await;
    let answer = client.send(request(MEDIA_TYPE, "{".to_owned())).await;
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.json().await["code"], "invalid_json");
}
