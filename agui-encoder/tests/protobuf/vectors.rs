//! The reference encoder's bytes, in both directions.

use std::collections::HashSet;

use agui_core::{Event, EventType};
use agui_encoder::protobuf::{Decoded, decode, encode_raw};
use bytes::BytesMut;
use serde_json::{Map, Value, json};

use crate::common::Source;
use crate::support::{VECTORS, decode_both, entries, headless, normal, payload, tree_of, unhex};

/// Whether maps of this build keep the order of the document.
fn keeps_order() -> bool {
    Map::from_iter([("b".to_owned(), Value::Null), ("a".to_owned(), Value::Null)]).keys().next().unwrap()
        == "b"
}

/// Whether the vector shows what is tolerated rather than a valid event.
fn is_tolerated(name: &str) -> bool {
    name.ends_with(".null_optionals") || name.ends_with(".unknown_member_dropped")
}

#[test]
fn what_is_written_is_what_the_reference_writes() {
    let mut tolerated = 0;
    for vector in entries(VECTORS) {
        let name = vector["name"].as_str().unwrap();
        let mut buffer = BytesMut::new();
        encode_raw(&vector["event"], &mut buffer).unwrap();
        let mut written = vec![headless(&buffer)];
        if is_tolerated(name) {
            tolerated += 1;
        } else {
            let event: Event = serde_json::from_value(vector["event"].clone()).unwrap();
            written.push(payload(&event));
        }
        for written in written {
            if vector["keyOrder"] == true && !keeps_order() {
                let decoded = tree_of(decode_both(&written).unwrap()).unwrap();
                assert_eq!(normal(&decoded), normal(&vector["decoded"]), "{name}");
                assert_eq!(written.len(), unhex(&vector).len(), "{name}");
            } else {
                assert_eq!(written, unhex(&vector), "{name}");
            }
        }
    }
    assert_eq!(tolerated, 4);
}

#[test]
fn what_is_read_is_what_the_reference_reads() {
    for vector in entries(VECTORS) {
        let decoded = decode_both(&unhex(&vector)).unwrap();
        assert!(decoded.warnings().is_empty());
        assert_eq!(normal(&tree_of(decoded).unwrap()), normal(&vector["decoded"]), "{}", vector["name"]);
    }
}

#[test]
fn every_type_of_event_has_a_vector() {
    let types: HashSet<String> =
        entries(VECTORS).iter().map(|vector| vector["event"]["type"].as_str().unwrap().to_owned()).collect();
    for event_type in EventType::ALL {
        assert!(types.contains(event_type.as_str()), "{event_type}");
    }
}

#[test]
fn every_plain_event_takes_the_short_way() {
    for event_type in EventType::ALL {
        let event = Source::new(vec![2; 64]).event(*event_type);
        assert!(matches!(decode(&payload(&event)), Ok(Decoded::Event(_))), "{event_type}");
    }
    let operations = [
        json!({"op": "add", "path": "/a", "value": null}),
        json!({"op": "remove", "path": "/a"}),
        json!({"op": "replace", "path": "/a", "value": 1}),
        json!({"op": "move", "from": "/a", "path": "/b"}),
        json!({"op": "copy", "from": "/a", "path": "/b"}),
        json!({"op": "test", "path": "", "value": {}}),
    ];
    for operation in operations {
        let json = json!({"type": "STATE_DELTA", "delta": [operation]});
        let event: Event = serde_json::from_value(json).unwrap();
        assert_eq!(decode(&payload(&event)).unwrap(), Decoded::Event(event));
    }
}
