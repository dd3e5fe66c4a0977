//! Events into a caller's buffer, on the two wires of text.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::Event;
use agui_encoder::{NdjsonEncoder, SseEncoder};
use bytes::BytesMut;

use super::{Case, Subject, targets};
use crate::measure::{Side, whole};

/// More than the largest frame.
const BUFFER: usize = 4 * 1024 * 1024;

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let limits = || targets([Some(1.3), Some(1.5), Some(1.05), Some(1.1), Some(1.1)]);
    for (subject, targets) in subjects.iter().zip(limits()) {
        let sse = SseEncoder::new();
        cases.push(Case {
            operation: "encode SSE",
            workload: subject.name,
            events: subject.count,
            targets: targets.unwrap_or_default(),
            floor: floor(subject, b"data: ", b"\n\n"),
            ours: ours(subject, move |event, buffer| sse.encode(event, buffer).expect("events are JSON")),
        });
    }
    for (subject, targets) in subjects.iter().zip(limits()) {
        let ndjson = NdjsonEncoder::new();
        cases.push(Case {
            operation: "encode NDJSON",
            workload: subject.name,
            events: subject.count,
            targets: targets.unwrap_or_default(),
            floor: floor(subject, b"", b"\n"),
            ours: ours(subject, move |event, buffer| ndjson.encode(event, buffer).expect("events are JSON")),
        });
    }
}

fn floor(subject: &Rc<Subject>, before: &'static [u8], after: &'static [u8]) -> Side {
    let (subject, mut buffer) = (Rc::clone(subject), Vec::with_capacity(BUFFER));
    whole(move || {
        for event in &subject.plain {
            buffer.clear();
            event.write(before, after, &mut buffer);
            black_box(&buffer);
        }
    })
}

pub(super) fn ours(subject: &Rc<Subject>, encode: impl Fn(&Event, &mut BytesMut) + 'static) -> Side {
    let (subject, mut buffer) = (Rc::clone(subject), BytesMut::with_capacity(BUFFER));
    whole(move || {
        for event in &subject.events {
            buffer.clear();
            encode(event, &mut buffer);
            black_box(&buffer);
        }
    })
}
