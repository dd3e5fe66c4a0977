//! The `framing` cases of the conformance corpus, as far as frames go.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::ways::{self, Ending, every_way, sse};

/// The `type` of each frame, in order, and nothing where a frame is no JSON.
fn types(name: &str) -> &'static [Option<&'static str>] {
    match name {
        "frame-that-is-not-json" => &[
            Some("RUN_STARTED"),
            Some("TEXT_MESSAGE_START"),
            Some("TEXT_MESSAGE_CONTENT"),
            Some("TEXT_MESSAGE_END"),
            None,
            Some("RUN_FINISHED"),
        ],
        "frames-comments-and-other-fields" | "frames-cut-anywhere" => &[
            Some("RUN_STARTED"),
            Some("TEXT_MESSAGE_START"),
            Some("TEXT_MESSAGE_CONTENT"),
            Some("TEXT_MESSAGE_END"),
            Some("RUN_FINISHED"),
        ],
        "frames-of-several-data-lines" => {
            &[Some("RUN_STARTED"), Some("TEXT_MESSAGE_CHUNK"), Some("RUN_FINISHED")]
        }
        "integer-written-with-a-point" => &[Some("RUN_STARTED"), Some("RUN_FINISHED")],
        _ => panic!("no expectation for {name}"),
    }
}

/// A member of one frame, where a case is about what a frame carries.
fn member(name: &str) -> Option<(usize, &'static str, Value)> {
    match name {
        "frames-cut-anywhere" => Some((2, "delta", json!("naïve 🧭 漢字"))),
        "frames-of-several-data-lines" => Some((1, "delta", json!("a  b"))),
        "integer-written-with-a-point" => Some((0, "timestamp", json!(1_730_000_000_000.0))),
        _ => None,
    }
}

#[test]
fn every_framing_case_comes_apart_into_its_frames() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decode/framing");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let case: Value = serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let name = case["name"].as_str().unwrap();
        let body = case["wire"]["text"].as_str().unwrap().as_bytes();
        let decoded = every_way(sse, body);
        if let Some(size) = case["wire"]["slice"].as_u64() {
            let size = usize::try_from(size).unwrap();
            assert_eq!(ways::chunks(sse(), body.chunks(size)), decoded, "{name}");
        }
        assert_eq!(decoded.ending, Ending::Clean, "{name}");
        let values: Vec<Option<Value>> =
            decoded.frames.iter().map(|(text, ..)| serde_json::from_slice(text).ok()).collect();
        let found: Vec<Option<&str>> =
            values.iter().map(|value| value.as_ref().and_then(|value| value["type"].as_str())).collect();
        assert_eq!(found, types(name), "{name}");
        if let Some((index, key, value)) = member(name) {
            assert_eq!(values[index].as_ref().unwrap()[key], value, "{name}");
        }
        count += 1;
    }
    assert_eq!(count, 5);
}
