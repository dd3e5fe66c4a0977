//! What is measured inside the process, each beside its floor.

mod client;
mod decode;
mod encode;
mod http;
mod order;
mod producer;
mod protobuf;
mod state;
mod store;

pub(crate) use decode::sse as decoding;
pub(crate) use order::{check_chat, fold_chat};
pub(crate) use producer::chat_agent;
pub(crate) use state::patching;

use std::rc::Rc;

use agui_core::Event;
use agui_core::chunk::ChunkExpander;
use agui_encoder::SseEncoder;
use bytes::{Bytes, BytesMut};

use crate::floor::plain::Plain;
use crate::measure::Side;
use crate::workloads::{Workload, big_messages, big_state};

/// Two ways to do the same, and how far apart they may be.
pub(crate) struct Case {
    pub(crate) operation: &'static str,
    pub(crate) workload: &'static str,
    /// How many events one pass has.
    pub(crate) events: usize,
    pub(crate) targets: Targets,
    pub(crate) floor: Side,
    pub(crate) ours: Side,
}

/// The largest ratio that is good enough. Absent where nothing is demanded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Targets {
    pub(crate) time: Option<f64>,
    pub(crate) instructions: Option<f64>,
}

impl Targets {
    /// One limit for both.
    pub(crate) const fn both(limit: f64) -> Self {
        Self { time: Some(limit), instructions: Some(limit) }
    }

    /// Nothing is demanded.
    pub(crate) const NONE: Self = Self { time: None, instructions: None };
}

/// A workload in every form that a case starts from.
struct Subject {
    pub(crate) name: &'static str,
    /// As the producer spells them.
    events: Vec<Event>,
    /// As the order is judged: without chunks.
    pub(crate) expanded: Vec<Event>,
    pub(crate) plain: Vec<Plain>,
    /// The whole body.
    pub(crate) sse: Bytes,
    pub(crate) ndjson: Bytes,
    /// The body's frames.
    pub(crate) frames: Vec<Bytes>,
    /// What the cost is divided by.
    pub(crate) count: usize,
}

impl Subject {
    fn new(name: &'static str, events: Vec<Event>, count: usize) -> Self {
        let (mut expanded, mut plain, mut frames) = (Vec::new(), Vec::new(), Vec::new());
        let (mut chunks, mut ndjson) = (ChunkExpander::new(), Vec::new());
        for event in &events {
            chunks.expand(event.clone(), |event| expanded.push(event)).expect("workloads are valid");
            let text = serde_json::to_vec(event).expect("events are JSON");
            let typed = Plain::read(&text);
            agree(&text, &typed);
            plain.push(typed);
            let mut frame = BytesMut::new();
            SseEncoder::new().encode(event, &mut frame).expect("events are JSON");
            frames.push(frame.freeze());
            ndjson.extend_from_slice(&text);
            ndjson.push(b'\n');
        }
        let sse = Bytes::from(frames.concat());
        Self { name, events, expanded, plain, sse, ndjson: ndjson.into(), frames, count }
    }

    fn stream(workload: Workload) -> Self {
        let count = workload.events.len();
        Self::new(workload.name, workload.events, count)
    }
}

/// Fails unless the floor writes what the library does, which is what makes them comparable.
fn agree(text: &[u8], plain: &Plain) {
    let mut written = Vec::new();
    plain.write(b"", b"", &mut written);
    let tree = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).expect("events are JSON");
    assert!(written.len() == text.len() && tree(&written) == tree(text), "the floor leaves something out");
}

/// A body in pieces of so many bytes.
pub(crate) fn pieces(body: &Bytes, bytes: usize) -> Vec<Bytes> {
    body.chunks(bytes).map(Bytes::copy_from_slice).collect()
}

/// The body of a workload, as server-sent events.
pub(crate) fn body_of(workload: &Workload) -> Bytes {
    let mut body = BytesMut::new();
    for event in &workload.events {
        SseEncoder::new().encode(event, &mut body).expect("events are JSON");
    }
    body.freeze()
}

/// Every case, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let subjects: Vec<Rc<Subject>> = vec![
        Subject::stream(Workload::chat()).into(),
        Subject::stream(Workload::mixed()).into(),
        Subject::new("big state", Workload::around("big state", big_state()).events, 1).into(),
        Subject::new("big messages", Workload::around("big messages", big_messages()).events, 1).into(),
        Subject::stream(Workload::tool()).into(),
    ];
    let mut cases = Vec::new();
    encode::add(&subjects, &mut cases);
    decode::add(&subjects, &mut cases);
    order::add(&subjects, &mut cases);
    client::add(&subjects, &mut cases);
    protobuf::add(&subjects, &mut cases);
    state::add(&mut cases);
    producer::add(&subjects, &mut cases);
    http::add(&subjects, &mut cases);
    store::add(&subjects, &mut cases);
    cases
}

/// The targets of one operation on all five workloads, in their order.
fn targets(limits: [Option<f64>; 5]) -> impl Iterator<Item = Option<Targets>> {
    limits.into_iter().map(|limit| limit.map(Targets::both))
}
