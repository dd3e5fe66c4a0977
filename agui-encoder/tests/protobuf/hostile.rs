//! Bytes made to do harm: depth, repetition, sizes.

use agui_core::{CustomEvent, Event, MessagesSnapshotEvent, StateSnapshotEvent, UserMessage};
use agui_encoder::ProtobufEncoder;
use agui_encoder::protobuf::{Decoded, decode, decode_tree, encode_raw};
use bytes::BytesMut;
use serde_json::{Value, json};

use crate::support::{decode_both, payload};

fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend_from_slice(content);
    bytes
}

/// `STATE_SNAPSHOT` whose snapshot is so many lists or objects inside each other.
fn nested(levels: usize, objects: bool) -> Vec<u8> {
    let mut value = vec![8, 0];
    for _ in 0..levels {
        value = if objects {
            let entry = [field(1, b"a"), field(2, &value)].concat();
            field(5, &field(1, &entry))
        } else {
            field(6, &field(1, &value))
        };
    }
    field(7, &[field(1, &[8, 6]), field(2, &value)].concat())
}

fn lists(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!([inner]))
}

#[test]
fn an_event_has_at_most_128_levels_on_this_wire_as_in_json() {
    for objects in [false, true] {
        // The event itself is the first.
        assert!(decode_both(&nested(127, objects)).is_ok());
        for levels in [128, 129, 5_000] {
            let error = decode_both(&nested(levels, objects)).unwrap_err();
            assert_eq!((error.code(), error.rule()), ("too_deep", "PROC-6"));
        }
    }
    let text = |levels| json!({"type": "STATE_SNAPSHOT", "snapshot": lists(levels)}).to_string();
    let mut warnings = Vec::new();
    assert!(agui_core::enforce::event_from_json(text(127).as_bytes(), &mut warnings).is_ok());
    assert!(agui_core::enforce::event_from_json(text(128).as_bytes(), &mut warnings).is_err());
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let mut buffer = BytesMut::new();
    let encoder = ProtobufEncoder::new();
    encoder.encode(&StateSnapshotEvent::new(lists(127)).into(), &mut buffer).unwrap();
    assert_eq!(buffer[4..], nested(127, false));
    let length = buffer.len();
    let error = encoder.encode(&StateSnapshotEvent::new(lists(128)).into(), &mut buffer).unwrap_err();
    assert_eq!(error.event_type(), Some(agui_core::EventType::StateSnapshot));
    assert!(encode_raw(&json!({"type": "STATE_SNAPSHOT", "snapshot": lists(128)}), &mut buffer).is_err());
    assert_eq!(buffer.len(), length);
}

#[test]
fn groups_inside_each_other_end_somewhere() {
    let groups = |depth: usize| [[0x93, 3].repeat(depth), [0x94, 3].repeat(depth)].concat();
    let frame = |depth| field(3, &[field(1, &[8, 2]), groups(depth), field(2, b"m")].concat());
    assert!(decode_both(&frame(100)).is_ok());
    assert_eq!(decode_both(&frame(1_000_000)).unwrap_err().code(), "too_deep");
}

#[test]
fn a_few_bytes_do_not_become_many_objects() {
    // Messages of no bytes, each of which would become an object with members.
    let empty: Vec<u8> = [0x12, 0].repeat(1_000_000);
    let frame = field(9, &[field(1, &[8, 8]), empty].concat());
    let used = allocation_counter::measure(|| {
        assert_eq!(decode(&frame).unwrap_err().code(), "too_many_objects");
    });
    assert!(used.bytes_max < 300 * 1024 * 1024, "{used:?}");
}

#[test]
fn the_short_way_counts_objects_as_the_long_way_does() {
    let message = |items: Vec<u8>, role: &[u8]| {
        field(9, &[field(1, &[8, 8]), field(2, &[field(2, role), items].concat())].concat())
    };
    let text = field(8, &field(1, b""));
    let image = field(8, &field(2, &field(1, &field(2, b""))));
    let call = field(5, &[field(2, b"function"), field(3, b"")].concat());
    let remove = field(2, &[8, 1]);
    for (count, sound) in [(1_000, true), (200_000, false)] {
        let frames = [
            message(text.repeat(count), b"user"),
            message(image.repeat(count), b"user"),
            message(call.repeat(count), b"assistant"),
            field(8, &[field(1, &[8, 7]), remove.repeat(count)].concat()),
        ];
        for frame in frames {
            assert_eq!(matches!(decode(&frame), Ok(Decoded::Event(_))), sound);
            assert_eq!(decode_both(&frame).is_ok(), sound);
        }
    }
}

#[test]
fn content_in_two_forms_is_refused_and_a_member_of_another_role_goes_the_long_way() {
    let frame = |message: &[Vec<u8>]| field(9, &[field(1, &[8, 8]), field(2, &message.concat())].concat());
    let (user, text, part) = (field(2, b"user"), field(3, b"t"), field(8, &field(1, &field(1, b"t"))));
    assert!(matches!(decode(&frame(&[user.clone(), part.clone()])), Ok(Decoded::Event(_))));
    assert!(decode_both(&frame(&[user.clone(), text.clone(), part])).is_err());
    for other in [field(5, b""), field(6, b"c"), field(7, b"e"), field(12, b"a"), field(15, b"")] {
        let frame = frame(&[user.clone(), text.clone(), other]);
        assert!(matches!(decode(&frame), Ok(Decoded::Tree { .. })));
    }
    // A function in two pieces is one.
    let pieces = [field(3, &field(1, b"f")), field(3, &field(2, b"{}"))].concat();
    let call = field(5, &[field(2, b"function"), pieces].concat());
    let Decoded::Tree { tree, .. } = decode(&frame(&[field(2, b"assistant"), call])).unwrap() else {
        panic!("no tree")
    };
    assert_eq!(
        tree.pointer("/messages/0/toolCalls/0/function"),
        Some(&json!({"name": "f", "arguments": "{}"}))
    );
}

#[test]
fn a_flood_of_unknown_parts_is_counted_and_not_kept() {
    let parts = [0x42, 0].repeat(10_000);
    let message = [field(1, b"u"), field(2, b"user"), parts].concat();
    let frame = field(9, &[field(1, &[8, 8]), field(2, &message)].concat());
    let decoded = decode(&frame).unwrap();
    assert_eq!(decoded.warnings().len(), agui_core::warning::MAX_PER_VALUE + 1);
    assert_eq!(decoded.warnings()[1].path(), "/messages/0/content/1");
    assert_eq!(decoded.warnings()[0].event_type(), Some("MESSAGES_SNAPSHOT"));
    assert!(decoded.warnings()[100].message().starts_with("9900 "));
}

#[test]
fn text_that_is_not_utf8_is_fatal_and_named() {
    let frame = field(3, &[field(1, &[8, 2]), field(2, b"m\xFF")].concat());
    let error = decode_both(&frame).unwrap_err();
    assert_eq!((error.code(), error.offset()), ("not_utf8", 9));
    assert_eq!(error.to_string(), "text that is not UTF-8 at byte 9 of the frame's payload (BIND-8)");
}

#[test]
fn encoding_allocates_nothing_once_buffers_have_grown() {
    let tree = json!({"plan": [{"step": 1, "done": false, "ratio": 0.1}], "note": "a \"quoted\" line\n"});
    let mut events: Vec<Event> = agui_core::EventType::ALL
        .iter()
        .map(|event_type| crate::common::Source::new(vec![1; 256]).event(*event_type))
        .collect();
    events.push(StateSnapshotEvent::new(tree.clone()).into());
    events.push(CustomEvent::new("x", tree).into());
    events.push(MessagesSnapshotEvent::new([UserMessage::new("q1", "Where to?").into()]).into());
    let encoder = ProtobufEncoder::new();
    let mut buffer = BytesMut::new();
    let mut write = || {
        buffer.clear();
        for event in &events {
            encoder.encode(event, &mut buffer).unwrap();
        }
    };
    write();
    assert_eq!(allocation_counter::measure(write).count_total, 0);
}

#[test]
fn a_delta_costs_two_allocations_to_decode() {
    let frame = payload(&agui_core::TextMessageContentEvent::new("m1", "token").into());
    let used = allocation_counter::measure(|| {
        assert!(matches!(decode(&frame), Ok(Decoded::Event(_))));
    });
    assert!(used.count_total <= 2, "{used:?}");
}

#[test]
fn what_the_wire_cannot_say_is_refused_with_its_place() {
    let refused = [
        (json!([]), ""),
        (json!({"type": "SIGNAL_RAISED"}), "/type"),
        (json!({"type": "TEXT_MESSAGE_END"}), "/messageId"),
        (json!({"type": "TEXT_MESSAGE_END", "messageId": null}), "/messageId"),
        (json!({"type": "TEXT_MESSAGE_END", "messageId": 5}), "/messageId"),
        (json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "timestamp": 1.5}), "/timestamp"),
        (
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "timestamp": 9_007_199_254_740_992_i64}),
            "/timestamp",
        ),
        (json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": []}), "/metadata"),
        (json!({"type": "MESSAGES_SNAPSHOT"}), "/messages"),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "user"}]}),
            "/messages/0/content",
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "system", "content": []}]}),
            "/messages/0/content",
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "user", "content": [{"type": "hologram"}]}]}),
            "/messages/0/content/0/type",
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                {"id": "m", "role": "user", "content": [{"type": "image", "source": {"type": "tape"}}]}
            ]}),
            "/messages/0/content/0/source/type",
        ),
        (json!({"type": "STATE_DELTA", "delta": [{"op": "merge", "path": ""}]}), "/delta/0/op"),
        (json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {}}), "/outcome/type"),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success", "x": 1}}),
            "/outcome/x",
        ),
        (
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "subagentRunId": "s"}),
            "/subagentRunId",
        ),
        (
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "P", "content": null}),
            "/content",
        ),
        (json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "t"}), "/content"),
    ];
    for (event, path) in refused {
        let mut buffer = BytesMut::new();
        let error = encode_raw(&event, &mut buffer).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(&format!("{path:?}")), "{event}: {source}");
        assert!(buffer.is_empty());
    }
}

#[test]
fn what_enforcement_has_to_judge_is_written_as_it_is() {
    let kept = [
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "critic"}),
        json!({"type": "STATE_SNAPSHOT"}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
            "outcome": {"type": "paused", "pendingToolCallIds": ["p"], "interrupts": [{"id": "i", "reason": "why"}]}}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "critic", "content": {"a": 1}}]}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "m", "role": "user", "content": [{"type": "image"}], "toolCallId": "t"}
        ]}),
    ];
    for event in kept {
        let mut buffer = BytesMut::new();
        encode_raw(&event, &mut buffer).unwrap();
        let Decoded::Tree { tree, .. } = decode_tree(&buffer[4..]).unwrap() else { panic!("no tree") };
        assert_eq!(tree, event);
    }
}
