//! What the tests share: test data, hexadecimal, and JSON compared with numbers as doubles.

use agui_core::Event;
use agui_encoder::ProtobufEncoder;
use agui_encoder::protobuf::{Decoded, ProtobufError, decode, decode_tree};
use bytes::BytesMut;
use serde_json::{Value, json};

/// The reference's bytes.
pub(crate) const VECTORS: &str = include_str!("vectors.json");
/// Bytes that no well-behaved encoder writes.
pub(crate) const CASES: &str = include_str!("decode-cases.json");

/// Named test data.
pub(crate) fn entries(text: &str) -> Vec<Value> {
    let Value::Array(entries) = serde_json::from_str(text).unwrap() else { panic!("no list") };
    assert!(entries.len() > 60);
    entries
}

pub(crate) fn unhex(entry: &Value) -> Vec<u8> {
    unhex_text(entry["hex"].as_str().unwrap())
}

pub(crate) fn unhex_text(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// One event without its header.
pub(crate) fn payload(event: &Event) -> Vec<u8> {
    let mut buffer = BytesMut::new();
    ProtobufEncoder::new().encode(event, &mut buffer).unwrap();
    headless(&buffer)
}

/// A frame without its header, which has to fit.
pub(crate) fn headless(frame: &[u8]) -> Vec<u8> {
    let (header, payload) = frame.split_at(4);
    assert_eq!(u32::from_be_bytes(header.try_into().unwrap()) as usize, payload.len());
    payload.to_vec()
}

/// The tree of whatever decoding gives; nothing for a dropped frame.
pub(crate) fn tree_of(decoded: Decoded) -> Option<Value> {
    match decoded {
        Decoded::Event(event) => Some(json!(event)),
        Decoded::Tree { tree, .. } => Some(tree),
        Decoded::Dropped { .. } => None,
        other => panic!("{other:?}"),
    }
}

/// Both ways of decoding, which have to agree.
pub(crate) fn decode_both(payload: &[u8]) -> Result<Decoded, ProtobufError> {
    let (short, long) = (decode(payload), decode_tree(payload));
    match (&short, &long) {
        (Ok(Decoded::Event(event)), Ok(Decoded::Tree { tree, warnings, .. })) => {
            assert!(warnings.is_empty());
            let mut removed = Vec::new();
            let judged = agui_core::enforce::event(tree.clone(), &mut removed).unwrap().unwrap();
            assert!(removed.is_empty(), "{removed:?}");
            assert_eq!(normal(&json!(event)), normal(&json!(judged)));
        }
        (Ok(Decoded::Event(_)), other) => panic!("{other:?}"),
        _ => assert_eq!(short, long),
    }
    long
}

/// JSON with every number as a double, zero without a sign.
pub(crate) fn normal(json: &Value) -> Value {
    match json {
        Value::Number(number) => json!(number.as_f64().unwrap() + 0.0),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), normal(value))).collect())
        }
        other => other.clone(),
    }
}
