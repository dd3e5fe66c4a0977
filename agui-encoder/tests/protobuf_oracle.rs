//! The codec beside an implementation by another hand.

#![cfg(feature = "protobuf")]
#![expect(clippy::unwrap_used, reason = "a test that fails says so")]

#[path = "../../agui-core/tests/common/mod.rs"]
mod common;
mod oracle;

use std::collections::BTreeMap;

use agui_core::{Event, EventType};
use agui_encoder::ProtobufEncoder;
use bytes::BytesMut;
use oracle::generated;
use proptest::prelude::*;
use prost::Message;
use serde_json::Value;

/// The event with its open objects in the order of their keys, which is the only one that generated messages know.
fn sorted(event: &Event) -> Event {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(sort),
            Value::Object(members) => {
                let ordered: BTreeMap<_, _> = std::mem::take(members).into_iter().collect();
                members.extend(ordered);
                members.values_mut().for_each(sort);
            }
            _ => {}
        }
    }
    let mut json = serde_json::to_value(event).unwrap();
    sort(&mut json);
    serde_json::from_value(json).unwrap()
}

/// What the codec writes, without the length.
fn encoded(event: &Event) -> BytesMut {
    let mut frame = BytesMut::new();
    ProtobufEncoder::new().encode(event, &mut frame).unwrap();
    let payload = frame.split_off(4);
    assert_eq!(u32::from_be_bytes(frame[..].try_into().unwrap()) as usize, payload.len());
    payload
}

#[track_caller]
fn agree(event: &Event) {
    let ours = encoded(event);
    let read = generated::Event::decode(&ours[..]).unwrap();
    assert_eq!(read, oracle::message(event), "{event:?}");
    // The same length whatever the order of keys, and the same bytes in one order.
    assert_eq!(read.encoded_len(), ours.len(), "{event:?}");
    let sorted = sorted(event);
    assert_eq!(encoded(&sorted)[..], oracle::message(&sorted).encode_to_vec()[..], "{event:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn generated_messages_read_what_the_codec_writes_and_write_the_same(event in common::event()) {
        agree(&event);
    }
}

#[test]
fn events_with_everything_and_with_the_least_are_the_same_bytes() {
    for kind in EventType::ALL {
        agree(&common::full_event(*kind));
        agree(&common::minimal_event(*kind));
    }
}
