//! What the binary wire costs, against generated messages and against SSE of the same event.
//!
//! `cargo bench -p agui-encoder --bench protobuf`. The floor builds a message from the event by cloning its texts and
//! has prost write it into a buffer that is reused; it reads a length-prefixed body into messages. Values have no
//! floor: open JSON and lists of messages may cost half as much again as on SSE. Exit code 1 when a limit is missed.
//!
//! Instructions do not move with the machine's load: with `-- --once WHAT encode|decode|encode-floor|decode-floor|nothing`
//! the work is done a few times over for a profiler that counts them. `WHAT` is a stream or a value; a value's floor is
//! SSE.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and may fail"
)]

#[path = "../../agui-core/benches/common/mod.rs"]
mod common;
#[path = "../tests/oracle/mod.rs"]
mod oracle;
mod workloads;

use std::hint::black_box;
use std::process::ExitCode;

use agui_core::Event;
use agui_encoder::decode::{ProtobufDecoder, SseDecoder};
use agui_encoder::protobuf::{Decoded, decode};
use agui_encoder::{ProtobufEncoder, SseEncoder};
use bytes::{Bytes, BytesMut};
use common::{ROUNDS, count, judge, median, time};
use oracle::generated;
use prost::Message;
use serde::Deserialize;
use workloads::Workload;

/// How often `--once` does its work.
const REPEATS: usize = 20;

/// One thing to measure: its events, and its body on each wire.
struct Subject {
    name: &'static str,
    events: Vec<Event>,
    /// What the body is for generated messages: the same payloads, with lengths in prost's own form.
    delimited: Vec<u8>,
    protobuf: Bytes,
    sse: Bytes,
    encode: Sides,
    decode: Sides,
}

/// Nanoseconds per event, round by round.
#[derive(Default)]
struct Sides {
    ours: Vec<f64>,
    floor: Vec<f64>,
}

impl Sides {
    fn ratio(&self) -> f64 {
        median(self.ours.iter().zip(&self.floor).map(|(ours, floor)| ours / floor).collect())
    }
}

impl Subject {
    fn new(name: &'static str, events: Vec<Event>) -> Self {
        let (mut delimited, mut protobuf, mut sse) = (Vec::new(), BytesMut::new(), BytesMut::new());
        for event in &events {
            ProtobufEncoder::new().encode(event, &mut protobuf).expect("the wire carries it");
            SseEncoder::new().encode(event, &mut sse).expect("the wire carries it");
            let message = oracle::message(event);
            message.encode_length_delimited(&mut delimited).expect("there is room");
        }
        let (protobuf, sse) = (protobuf.freeze(), sse.freeze());
        Self { name, events, delimited, protobuf, sse, encode: Sides::default(), decode: Sides::default() }
    }

    fn encode(&self, buffer: &mut BytesMut) {
        let encoder = ProtobufEncoder::new();
        for event in &self.events {
            buffer.clear();
            encoder.encode(event, buffer).expect("the wire carries it");
            black_box(&buffer);
        }
    }

    fn encode_message(&self, buffer: &mut BytesMut) {
        for event in &self.events {
            buffer.clear();
            oracle::message(event).encode_length_delimited(buffer).expect("there is room");
            black_box(&buffer);
        }
    }

    fn encode_sse(&self, buffer: &mut BytesMut) {
        let encoder = SseEncoder::new();
        for event in &self.events {
            buffer.clear();
            encoder.encode(event, buffer).expect("the wire carries it");
            black_box(&buffer);
        }
    }

    fn decode(&self) {
        let mut decoder = ProtobufDecoder::new();
        decoder.push(self.protobuf.clone());
        while let Some(frame) = decoder.next_frame_ref() {
            match decode(frame.expect("a frame").text()).expect("an event") {
                Decoded::Event(event) => drop(black_box(event)),
                Decoded::Tree { tree, .. } => drop(black_box(Event::deserialize(tree).expect("an event"))),
                other => panic!("{other:?} is not what a stream of events has"),
            }
        }
    }

    fn decode_message(&self) {
        let mut rest = &self.delimited[..];
        while !rest.is_empty() {
            black_box(generated::Event::decode_length_delimited(&mut rest).expect("a message"));
        }
    }

    fn decode_sse(&self) {
        let mut decoder = SseDecoder::new();
        decoder.push(self.sse.clone());
        while let Some(frame) = decoder.next_frame_ref() {
            black_box(Event::from_json(frame.expect("a frame").text()).expect("an event"));
        }
    }

    fn round(&mut self, is_value: bool) {
        let each = count(self.events.len());
        let buffer = &mut BytesMut::with_capacity(4 * 1024 * 1024);
        let encode_floor =
            if is_value { time(|| self.encode_sse(buffer)) } else { time(|| self.encode_message(buffer)) };
        let encode = time(|| self.encode(buffer));
        let decode_floor = if is_value { time(|| self.decode_sse()) } else { time(|| self.decode_message()) };
        let decode = time(|| self.decode());
        self.encode.floor.push(encode_floor / each);
        self.encode.ours.push(encode / each);
        self.decode.floor.push(decode_floor / each);
        self.decode.ours.push(decode / each);
    }

    fn report(&self) {
        for (way, sides) in [("encode", &self.encode), ("decode", &self.decode)] {
            println!(
                "{:<14} {way} {:>12.1} {:>12.1} {:>7.2}",
                self.name,
                median(sides.floor.clone()),
                median(sides.ours.clone()),
                sides.ratio()
            );
        }
    }

    fn once(&self, way: &str, is_value: bool) {
        let buffer = &mut BytesMut::with_capacity(4 * 1024 * 1024);
        for _ in 0..REPEATS {
            match (way, is_value) {
                ("encode", _) => self.encode(buffer),
                ("decode", _) => self.decode(),
                ("encode-floor", false) => self.encode_message(buffer),
                ("decode-floor", false) => self.decode_message(),
                ("encode-floor", true) => self.encode_sse(buffer),
                ("decode-floor", true) => self.decode_sse(),
                _ => {}
            }
        }
    }
}

fn main() -> ExitCode {
    let stream = |workload: Workload| Subject::new(workload.name, workload.events);
    let mut streams = [Workload::chat(), Workload::mixed(), Workload::tool()].map(stream);
    let mut values = [
        Subject::new("big state", vec![workloads::big_state()]),
        Subject::new("big messages", vec![workloads::big_messages()]),
        Subject::new("raw", vec![workloads::raw()]),
        Subject::new("metadata", vec![workloads::metadata()]),
    ];
    let arguments: Vec<String> = std::env::args().skip_while(|argument| argument != "--once").collect();
    if let [_, name, way, ..] = &arguments[..] {
        streams.iter().filter(|subject| subject.name == name).for_each(|subject| subject.once(way, false));
        values.iter().filter(|subject| subject.name == name).for_each(|subject| subject.once(way, true));
        return ExitCode::SUCCESS;
    }
    for _ in 0..ROUNDS {
        for subject in &mut streams {
            subject.round(false);
        }
        for subject in &mut values {
            subject.round(true);
        }
    }
    println!("median of {ROUNDS} rounds, nanoseconds per event");
    println!("{:<21} {:>12} {:>12} {:>7}", "streams", "floor", "ours", "ratio");
    streams.iter().for_each(Subject::report);
    println!("{:<21} {:>12} {:>12} {:>7}", "values", "SSE", "ours", "ratio");
    values.iter().for_each(Subject::report);

    let mut kept = true;
    for (subject, encode, decode) in
        [(&streams[0], 1.0, 1.5), (&streams[1], 1.2, 1.6), (&streams[2], 1.0, 1.5)]
    {
        kept &= judge(&format!("encode {}, to the floor", subject.name), subject.encode.ratio(), encode);
        kept &= judge(&format!("decode {}, to the floor", subject.name), subject.decode.ratio(), decode);
    }
    for subject in &values {
        kept &= judge(&format!("encode {}, to SSE", subject.name), subject.encode.ratio(), 1.5);
        kept &= judge(&format!("decode {}, to SSE", subject.name), subject.decode.ratio(), 1.5);
    }
    ExitCode::from(u8::from(!kept))
}
