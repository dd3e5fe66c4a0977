//! A fuzzer of the binary decoder that needs nothing but stable Rust.
//!
//! It mutates the bytes of the test vectors and of the corpus that earlier runs have left, and checks what must hold of
//! any bytes: nothing panics, the short and the long way of decoding agree, what decodes to a valid event is encoded and
//! decoded again without a change, and what comes out does not depend on how the body is cut. The seed makes a run
//! repeatable. `tests/protobuf/corpus.txt` was kept from one of 1,230 seconds and 88 million payloads.
//!
//! `cargo run --release -p agui-encoder --example fuzz_protobuf -- [--seconds N] [--seed N] [--corpus DIR]`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a finding is a panic that says which bytes"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agui_core::{Event, enforce};
use agui_encoder::decode::{DEFAULT_MAX_FRAME_BYTES, End, ProtobufDecoder};
use agui_encoder::protobuf::{Decoded, ProtobufEncoder, decode, decode_tree, encode_raw};
use bytes::BytesMut;
use serde_json::Value;

const DATA: [&str; 2] =
    [include_str!("../tests/protobuf/vectors.json"), include_str!("../tests/protobuf/decode-cases.json")];
/// A line of hexadecimal for each payload that an earlier run has kept.
const CORPUS: &str = include_str!("../tests/protobuf/corpus.txt");

/// Inputs kept while fuzzing; a new one takes the place of an old one.
const KEPT: usize = 4096;

fn main() {
    let (mut seconds, mut seed, mut corpus) = (60, 0x5eed_u64, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap();
        match name.as_str() {
            "--seconds" => seconds = value.parse().unwrap(),
            "--seed" => seed = value.parse().unwrap(),
            "--corpus" => corpus = Some(PathBuf::from(value)),
            other => panic!("no such option: {other}"),
        }
    }
    let mut pool: Vec<Vec<u8>> = DATA.iter().flat_map(|text| seeds(text)).collect();
    pool.extend(CORPUS.lines().map(unhex));
    if let Some(files) = corpus.as_ref().and_then(|folder| std::fs::read_dir(folder).ok()) {
        pool.extend(files.filter_map(|file| std::fs::read(file.ok()?.path()).ok()));
    }
    let first = pool.len();
    let mut random = Random(seed | 1);
    let mut marks = std::collections::HashSet::new();
    for payload in &pool {
        marks.insert(check(payload, &mut random));
    }
    let (started, limit) = (Instant::now(), Duration::from_secs(seconds));
    let (mut rounds, mut decoded) = (0_u64, 0_u64);
    while started.elapsed() < limit {
        for _ in 0..1000 {
            let mut payload = random.pick(&pool).clone();
            for _ in 0..=random.below(4) {
                if random.below(4) == 0 {
                    mutate(&mut payload, &pool, &mut random);
                } else {
                    payload = reshape(&payload, &pool, &mut random);
                }
            }
            let caught = catch_unwind(AssertUnwindSafe(|| check(&payload, &mut random)));
            let shape = caught.unwrap_or_else(|_| found(&payload, "a panic"));
            rounds += 1;
            decoded += u64::from(shape.0);
            if shape.0 && marks.len() < 1 << 20 && marks.insert(shape) && payload.len() < 4096 {
                if pool.len() < KEPT {
                    pool.push(payload);
                } else {
                    let slot = first + random.below(KEPT - first);
                    pool[slot] = payload;
                }
            }
        }
    }
    if let Some(folder) = corpus {
        std::fs::create_dir_all(&folder).unwrap();
        for (index, payload) in pool.iter().skip(first).enumerate() {
            std::fs::write(folder.join(format!("{seed:x}-{index:04}")), payload).unwrap();
        }
    }
    println!("{rounds} payloads in {seconds} s, {decoded} decoded, {} kept, no finding", pool.len() - first);
}

fn seeds(text: &str) -> Vec<Vec<u8>> {
    let entries: Vec<Value> = serde_json::from_str(text).unwrap();
    entries.iter().map(|entry| unhex(entry["hex"].as_str().unwrap())).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Checks one payload; returns whether it decoded, and a mark that tells behaviours apart.
fn check(payload: &[u8], random: &mut Random) -> (bool, u64, String) {
    let (short, long) = (decode(payload), decode_tree(payload));
    let mark = match &long {
        Ok(Decoded::Tree { tree, warnings, .. }) => {
            let mut removed = Vec::new();
            let judged = enforce::event(tree.clone(), &mut removed);
            if let Ok(Decoded::Event(event)) = &short {
                let judged = judged.as_ref().unwrap_or_else(|error| found(payload, error)).as_ref();
                if judged.is_none_or(|judged| !same(event, judged)) || !removed.is_empty() {
                    found(payload, "the two ways of decoding disagree");
                }
            }
            if let Ok(Some(event)) = &judged {
                again(payload, event);
            }
            // Whatever it is, the raw encoder takes it or says why not.
            let mut buffer = BytesMut::new();
            if encode_raw(tree, &mut buffer).is_ok() && decode_tree(&buffer[4..]).is_err() {
                found(payload, "what the raw encoder writes does not decode");
            }
            let verdict = match judged {
                Ok(Some(_)) => "event".to_owned(),
                Ok(None) => "dropped".to_owned(),
                Err(error) => {
                    format!("{} {}", error.rule(), error.path().split('[').next().unwrap_or_default())
                }
            };
            let kind = tree["type"].as_str().unwrap_or_default();
            format!("{kind} {verdict} {} {}", warnings.len().min(2), removed.len().min(4))
        }
        Ok(_) => "later".to_owned(),
        Err(error) => error.code().to_owned(),
    };
    if short.is_err() != long.is_err() {
        found(payload, "the two ways of decoding disagree");
    }
    framing(payload, random);
    (long.is_ok(), payload.len().checked_ilog2().unwrap_or(0).into(), mark)
}

/// What is valid goes out and comes back the same.
fn again(payload: &[u8], event: &Event) {
    let mut buffer = BytesMut::new();
    ProtobufEncoder::new().encode(event, &mut buffer).unwrap_or_else(|error| found(payload, error));
    let back = match decode(&buffer[4..]) {
        Ok(Decoded::Event(back)) => Some(back),
        Ok(Decoded::Tree { tree, .. }) => {
            enforce::event(tree, &mut Vec::new()).unwrap_or_else(|error| found(payload, error))
        }
        Ok(_) => None,
        Err(error) => found(payload, error),
    };
    if back.is_none_or(|back| !same(&back, event)) {
        found(payload, "an event does not survive the wire");
    }
}

fn same(left: &Event, right: &Event) -> bool {
    left == right || serde_json::to_value(left).unwrap() == serde_json::to_value(right).unwrap()
}

/// The payload as a body, cut anywhere, and the payload taken for a body itself.
fn framing(payload: &[u8], random: &mut Random) {
    let mut body = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
    body.extend_from_slice(payload);
    body.extend_from_slice(payload);
    for body in [&body[..], payload] {
        let at = random.below(body.len() + 1);
        let (left, right) = body.split_at(at);
        let whole = frames(&[body]);
        if whole != frames(&[left, right]) {
            found(payload, "frames depend on how the body is cut");
        }
    }
}

fn frames(chunks: &[&[u8]]) -> (Vec<Vec<u8>>, String) {
    let mut decoder = ProtobufDecoder::new().with_max_frame_bytes(DEFAULT_MAX_FRAME_BYTES);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk.to_vec());
        while let Some(Ok(frame)) = decoder.next_frame() {
            frames.push(frame.text().to_vec());
        }
    }
    let end = decoder.finish();
    if let Ok(End::Frame(frame)) = &end {
        frames.push(frame.text().to_vec());
    }
    (frames, format!("{end:?}"))
}

fn found(payload: &[u8], what: impl std::fmt::Display) -> ! {
    let hex: Vec<String> = payload.iter().map(|byte| format!("{byte:02x}")).collect();
    panic!("{what}: {}", hex.concat())
}

fn mutate(payload: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    let at = random.below(payload.len() + 1);
    match random.below(9) {
        0 if at < payload.len() => payload[at] ^= 1 << random.below(8),
        1 if at < payload.len() => payload[at] = random.next().to_le_bytes()[0],
        2 => payload.insert(at, random.next().to_le_bytes()[0]),
        3 if at < payload.len() => drop(payload.remove(at)),
        4 => payload.truncate(at),
        5 => {
            let other = random.pick(pool);
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() - from + 1);
            payload.splice(at..at, other[from..to].iter().copied());
        }
        6 if at < payload.len() => {
            // Numbers at the edges of their encodings.
            let edges: [&[u8]; 6] = [
                b"\0",
                b"\x7f",
                b"\x80\x01",
                b"\xff\xff\xff\xff\x0f",
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
            ];
            payload.splice(at..=at, edges[random.below(edges.len())].iter().copied());
        }
        7 => {
            // The rest as the content of a field, with a length that is right.
            let rest = payload.split_off(at);
            payload.push((u8::try_from(random.below(31)).unwrap() + 1) << 3 & 0x7f | 2);
            payload.extend(number(rest.len()));
            payload.extend(rest);
        }
        _ => {
            let from = random.below(payload.len() + 1);
            let to = from + random.below((payload.len() - from).min(64) + 1);
            let piece = payload[from..to].to_vec();
            payload.splice(at..at, piece);
        }
    }
    payload.truncate(1 << 16);
}

/// Changes a message somewhere inside, with every length around the change put right again.
fn reshape(message: &[u8], pool: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut pieces = split(message);
    let nested: Vec<usize> = (0..pieces.len()).filter(|&at| pieces[at].1.is_some()).collect();
    if pieces.is_empty() || (nested.is_empty() && random.below(2) == 0) {
        let mut bytes = message.to_vec();
        mutate(&mut bytes, pool, random);
        return bytes;
    }
    if !nested.is_empty() && random.below(4) > 0 {
        let at = *random.pick(&nested);
        if let Some(content) = &mut pieces[at].1 {
            *content = reshape(content, pool, random);
        }
    } else {
        let at = random.below(pieces.len());
        match random.below(4) {
            0 => drop(pieces.remove(at)),
            1 => {
                let to = random.below(pieces.len() + 1);
                let piece = pieces[at].clone();
                pieces.insert(to, piece);
            }
            2 => {
                let other = split(random.pick::<Vec<u8>>(pool));
                if let Some((_, Some(inner))) = other.first() {
                    pieces.extend(split(inner).into_iter().take(2));
                }
            }
            _ => {
                let key = (random.below(16) + 1) << 3 | random.below(6);
                pieces[at].0 = number(key);
            }
        }
    }
    let mut bytes = Vec::new();
    for (key, content) in pieces {
        bytes.extend(key);
        if let Some(content) = content {
            bytes.extend(number(content.len()));
            bytes.extend(content);
        }
    }
    bytes.truncate(1 << 16);
    bytes
}

/// The fields of a message: the key and, of a field with a length, its content; of others, key and content in one.
/// What does not read as a field is the last piece.
fn split(mut message: &[u8]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut pieces = Vec::new();
    while !message.is_empty() {
        let key = message.iter().position(|byte| *byte < 0x80).map_or(message.len(), |at| at + 1);
        let (head, rest) = message.split_at(key);
        let size = rest.iter().position(|byte| *byte < 0x80).map_or(rest.len(), |at| at + 1);
        let length = rest[..size]
            .iter()
            .rev()
            .fold(0_usize, |sum, byte| sum.saturating_mul(128).saturating_add(usize::from(byte & 0x7f)));
        match head[0] & 7 {
            2 if length <= rest.len() - size => {
                pieces.push((head.to_vec(), Some(rest[size..size + length].to_vec())));
                message = &rest[size + length..];
            }
            kind => {
                let size = match kind {
                    0 => size,
                    1 => 8,
                    5 => 4,
                    _ => rest.len(),
                };
                let end = (key + size).min(message.len());
                pieces.push((message[..end].to_vec(), None));
                message = &message[end..];
            }
        }
    }
    pieces
}

fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// A small generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let at = self.below(list.len());
        &list[at]
    }
}
