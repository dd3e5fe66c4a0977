//! Random valid events over the binary wire and back.

use agui_core::{Event, EventType, MessagesSnapshotEvent, RunStartedEvent, enforce};
use agui_encoder::protobuf::{Decoded, decode, encode_raw};
use bytes::BytesMut;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Source, event, from_bytes, message, run_input};
use crate::support::{decode_both, headless, normal, payload, tree_of};

/// What is left of a valid event, by the list of what does not survive.
fn survivor(event: &Event) -> Value {
    let mut json = normal(&json!(event));
    for list in ["delta", "patch"] {
        for operation in json.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(operation) = operation.as_object_mut() {
                operation.retain(|name, value| match name.as_str() {
                    "op" | "path" | "value" => true,
                    "from" => value.is_string(),
                    _ => false,
                });
            }
        }
    }
    remove_if_empty(&mut json, "usage");
    if let Some(outcome) = json.get_mut("outcome") {
        remove_if_empty(outcome, "pendingToolCallIds");
        remove_if_empty(outcome, "interruptIds");
    }
    for message in json.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        remove_if_empty(message, "toolCalls");
    }
    if let Some(input) = json.get_mut("input").and_then(Value::as_object_mut) {
        for list in ["tools", "context", "resume"] {
            input.entry(list).or_insert_with(|| json!([]));
        }
        for message in input.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
            remove_if_empty(message, "toolCalls");
        }
    }
    json
}

fn remove_if_empty(json: &mut Value, name: &str) {
    if json.get(name).and_then(Value::as_array).is_some_and(Vec::is_empty) {
        json.as_object_mut().unwrap().remove(name);
    }
}

fn check(event: &Event) {
    let written = payload(event);
    let decoded = decode_both(&written).unwrap();
    assert!(decoded.warnings().is_empty());
    let tree = tree_of(decoded).unwrap();
    assert_eq!(normal(&tree), survivor(event));
    let mut warnings = Vec::new();
    let judged = enforce::event(tree, &mut warnings).unwrap().unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(judged.event_type(), event.event_type());
    // Unjudged, the same JSON has the same bytes.
    let mut raw = BytesMut::new();
    encode_raw(&json!(event), &mut raw).unwrap();
    assert_eq!(headless(&raw), written);
}

#[test]
fn no_type_of_event_is_forgotten() {
    for event_type in EventType::ALL {
        for fill in [0, 1, 3, 255] {
            let event = Source::new(vec![fill; 64]).event(*event_type);
            check(&event);
        }
    }
}

proptest! {
    #[test]
    fn an_event_comes_back_up_to_what_does_not_survive(event in event()) {
        check(&event);
    }

    #[test]
    fn messages_of_any_role_take_the_short_way_and_come_back(
        messages in prop::collection::vec(message(), 0..4), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let event = MessagesSnapshotEvent::new(messages).into();
        check(&event);
        let mut bytes = payload(&event);
        assert!(matches!(decode(&bytes), Ok(Decoded::Event(_))));
        // The short way may not see less than the long way does.
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode_both(&bytes);
    }

    #[test]
    fn the_input_of_a_run_takes_the_short_way_and_comes_back(
        input in run_input(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let event = RunStartedEvent::new("t", "r").with_input(input).into();
        check(&event);
        let mut bytes = payload(&event);
        assert!(matches!(decode(&bytes), Ok(Decoded::Event(_))));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode_both(&bytes);
    }

    #[test]
    fn cut_or_changed_bytes_get_a_verdict(event in event(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = payload(&event);
        let at = cut.index(bytes.len());
        let _ = decode_both(&bytes[..at]);
        bytes[at] = byte;
        let _ = decode_both(&bytes);
    }

    #[test]
    fn any_bytes_get_a_verdict(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = decode_both(&bytes);
    }

    #[test]
    fn any_json_is_written_or_refused(json in from_bytes(|source| {
        let mut json = source.object(4);
        json.insert("type".to_owned(), source.choose(EventType::ALL).as_str().into());
        Value::Object(json)
    })) {
        let mut buffer = BytesMut::from(&b"before"[..]);
        match encode_raw(&json, &mut buffer) {
            Ok(()) => assert!(!matches!(decode_both(&headless(&buffer[6..])).unwrap(), Decoded::Dropped { .. })),
            Err(_) => assert_eq!(&buffer[..], b"before"),
        }
    }
}
