//! What reading one event from its JSON text costs, against a derived reading of a struct with every field inline.
//!
//! `cargo bench -p agui-core --bench decode`. Exit code 1 when the limit is missed.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may fail")]

mod common;

use std::hint::black_box;
use std::process::ExitCode;

use agui_core::Event;
use common::{Chat, ROUNDS, count, judge, median, time};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The least that reads a text delta into owned strings. The tag has been looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct Content {
    message_id: String,
    delta: String,
    subagent_run_id: Option<String>,
    timestamp: Option<i64>,
    metadata: Option<Map<String, Value>>,
    raw_event: Option<Value>,
}

/// The other events of a chat.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct Other {
    message_id: Option<String>,
    role: Option<String>,
    name: Option<String>,
    thread_id: Option<String>,
    run_id: Option<String>,
    timestamp: Option<i64>,
    metadata: Option<Map<String, Value>>,
    raw_event: Option<Value>,
}

fn floor(text: &[u8]) {
    if text.starts_with(br#"{"type":"TEXT_MESSAGE_CONTENT""#) {
        black_box(serde_json::from_slice::<Content>(text).expect("a text delta"));
    } else {
        black_box(serde_json::from_slice::<Other>(text).expect("an event of a chat"));
    }
}

fn main() -> ExitCode {
    let lines: Vec<Vec<u8>> = Chat::new(1, 2_000)
        .events()
        .iter()
        .map(|event| serde_json::to_vec(event).expect("events are JSON"))
        .collect();
    let each = count(lines.len());
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // What is read is dropped at once, on either side.
        least.push(time(|| lines.iter().for_each(|line| floor(line))) / each);
        ours.push(
            time(|| {
                for line in &lines {
                    black_box(Event::from_json(line).expect("an event"));
                }
            }) / each,
        );
    }
    let ratio = median(ours.iter().zip(&least).map(|(ours, least)| ours / least).collect());
    println!("median of {ROUNDS} rounds, nanoseconds per event of a chat");
    println!("floor {:.1}, from_json {:.1}", median(least), median(ours));
    ExitCode::from(u8::from(!judge("from_json, to the floor", ratio, 1.3)))
}
