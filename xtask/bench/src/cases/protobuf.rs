//! The binary wire, against generated messages and against server-sent events of the same event.
//!
//! The floor builds a message from the event by cloning its texts and has prost write it into a buffer that is reused;
//! it reads a length-prefixed body into messages. Values have no floor: open JSON and lists of messages are measured
//! against server-sent events.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::Event;
use agui_encoder::decode::{ProtobufDecoder, SseDecoder};
use agui_encoder::protobuf::{Decoded, decode};
use agui_encoder::{ProtobufEncoder, SseEncoder};
use bytes::{Bytes, BytesMut};
use prost::Message;
use serde::Deserialize;

use super::{Case, Subject, Targets, encode};
use crate::measure::{Side, whole};
use crate::oracle::{self, generated};
use crate::workloads::{big_messages, big_state, metadata, raw};

/// How much more than server-sent events a value may cost.
const TO_SSE: Targets = Targets::both(1.5);

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let streams = [(0, 1.0, 1.5), (1, 1.2, 1.6), (4, 1.0, 1.5)];
    for (at, limit, _) in streams {
        let subject = &subjects[at];
        cases.push(Case {
            operation: "encode protobuf",
            workload: subject.name,
            events: subject.count,
            targets: Targets::both(limit),
            floor: encode::ours(subject, |event, buffer| {
                oracle::message(event).encode_length_delimited(buffer).expect("there is room");
            }),
            ours: encode::ours(subject, |event, buffer| {
                ProtobufEncoder::new().encode(event, buffer).expect("the wire carries it");
            }),
        });
    }
    for (at, _, limit) in streams {
        let subject = &subjects[at];
        cases.push(Case {
            operation: "decode protobuf",
            workload: subject.name,
            events: subject.count,
            targets: Targets::both(limit),
            floor: decode_messages(&subject.events),
            ours: decode_events(&subject.events),
        });
    }
    let values = [
        ("big state", big_state()),
        ("big messages", big_messages()),
        ("raw event", raw()),
        ("metadata", metadata()),
    ];
    let subjects = values.map(|(name, event)| Rc::new(Subject::new(name, vec![event], 1)));
    for subject in &subjects {
        cases.push(Case {
            operation: "encode protobuf, to SSE",
            workload: subject.name,
            events: 1,
            targets: TO_SSE,
            floor: encode::ours(subject, |event, buffer| {
                SseEncoder::new().encode(event, buffer).expect("events are JSON");
            }),
            ours: encode::ours(subject, |event, buffer| {
                ProtobufEncoder::new().encode(event, buffer).expect("the wire carries it");
            }),
        });
    }
    for subject in &subjects {
        cases.push(Case {
            operation: "decode protobuf, to SSE",
            workload: subject.name,
            events: 1,
            targets: TO_SSE,
            floor: decode_sse(subject.sse.clone()),
            ours: decode_events(&subject.events),
        });
    }
}

/// Generated messages, with lengths in prost's own form.
fn decode_messages(events: &[Event]) -> Side {
    let mut body = Vec::new();
    for event in events {
        oracle::message(event).encode_length_delimited(&mut body).expect("there is room");
    }
    whole(move || {
        let mut rest = &body[..];
        while !rest.is_empty() {
            black_box(generated::Event::decode_length_delimited(&mut rest).expect("a message"));
        }
    })
}

fn decode_events(events: &[Event]) -> Side {
    let mut body = BytesMut::new();
    for event in events {
        ProtobufEncoder::new().encode(event, &mut body).expect("the wire carries it");
    }
    let body = body.freeze();
    whole(move || {
        let mut decoder = ProtobufDecoder::new();
        decoder.push(body.clone());
        while let Some(frame) = decoder.next_frame_ref() {
            match decode(frame.expect("a frame").text()).expect("an event") {
                Decoded::Event(event) => drop(black_box(event)),
                Decoded::Tree { tree, .. } => drop(black_box(Event::deserialize(tree).expect("an event"))),
                other => panic!("{other:?} is not what a stream of events has"),
            }
        }
    })
}

fn decode_sse(body: Bytes) -> Side {
    whole(move || {
        let mut decoder = SseDecoder::new();
        decoder.push(body.clone());
        while let Some(frame) = decoder.next_frame_ref() {
            black_box(Event::from_json(frame.expect("a frame").text()).expect("an event"));
        }
    })
}
