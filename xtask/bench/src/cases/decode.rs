//! Bytes of the wires of text into typed events, tolerantly.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::Warning;
use agui_core::enforce::event_from_json_lossy;
use agui_encoder::decode::{NdjsonDecoder, SseDecoder};
use bytes::Bytes;
use memchr::memchr;

use super::{Case, Subject, Targets, pieces, targets};
use crate::floor::plain::Plain;
use crate::measure::{Side, whole};

/// What a socket is read by.
pub(crate) const CHUNK: usize = 16 * 1024;

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let limits = || targets([Some(1.3), Some(1.4), Some(1.2), Some(1.4), Some(1.2)]);
    for (subject, targets) in subjects.iter().zip(limits()) {
        let chunks: Rc<[Bytes]> = pieces(&subject.sse, CHUNK).into();
        let case = case("decode SSE, 16 KiB chunks", subject, chunks, targets.unwrap_or_default());
        cases.push(case);
    }
    for (subject, limit) in subjects.iter().zip([1.3, 1.4]) {
        let chunks: Rc<[Bytes]> = subject.frames.clone().into();
        cases.push(case("decode SSE, one frame per chunk", subject, chunks, Targets::both(limit)));
    }
    for (subject, targets) in subjects.iter().zip(limits()) {
        let chunks: Rc<[Bytes]> = pieces(&subject.ndjson, CHUNK).into();
        cases.push(Case {
            operation: "decode NDJSON, 16 KiB chunks",
            workload: subject.name,
            events: subject.count,
            targets: targets.unwrap_or_default(),
            floor: floor(Rc::clone(&chunks), b""),
            ours: whole(move || {
                let (mut decoder, mut warnings) = (NdjsonDecoder::new(), Vec::new());
                for chunk in &*chunks {
                    decoder.push(chunk.clone());
                    while let Some(frame) = decoder.next_frame_ref() {
                        read(frame.expect("a frame").text(), &mut warnings);
                    }
                }
                assert!(warnings.is_empty(), "nothing is unusual");
            }),
        });
    }
    add_tolerance(&subjects[0], cases);
}

fn case(operation: &'static str, subject: &Subject, chunks: Rc<[Bytes]>, targets: Targets) -> Case {
    Case {
        operation,
        workload: subject.name,
        events: subject.count,
        targets,
        floor: floor(Rc::clone(&chunks), b"data: "),
        ours: sse(chunks),
    }
}

/// The library's reading of a body of server-sent events.
pub(crate) fn sse(chunks: Rc<[Bytes]>) -> Side {
    whole(move || {
        let (mut decoder, mut warnings) = (SseDecoder::new(), Vec::new());
        for chunk in &*chunks {
            decoder.push(chunk.clone());
            while let Some(frame) = decoder.next_frame_ref() {
                read(frame.expect("a frame").text(), &mut warnings);
            }
        }
        assert!(warnings.is_empty(), "nothing is unusual");
    })
}

/// The floor's reading of a body in lines.
pub(crate) fn floor(chunks: Rc<[Bytes]>, before: &'static [u8]) -> Side {
    whole(move || {
        let mut lines = Lines::default();
        for chunk in &*chunks {
            lines.push(chunk, before, |text| drop(black_box(Plain::read(text))));
        }
    })
}

fn read(text: &[u8], warnings: &mut Vec<Warning>) {
    black_box(event_from_json_lossy(text, warnings).expect("an event"));
}

/// Cuts a body into lines in a buffer of its own.
#[derive(Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    searched: usize,
}

impl Lines {
    /// Takes a chunk and gives every text that is complete, without what stands before it in its line.
    pub(crate) fn push(&mut self, chunk: &[u8], before: &[u8], mut each: impl FnMut(&[u8])) {
        self.buffer.extend_from_slice(chunk);
        let mut start = 0;
        while let Some(at) = memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + at;
            if let Some(text) = self.buffer[start..end].strip_prefix(before)
                && !text.is_empty()
            {
                each(text);
            }
            start = end + 1;
            // The empty line behind an event of the wire that has one.
            if self.buffer.get(start) == Some(&b'\n') {
                start += 1;
            }
            self.searched = start;
        }
        self.buffer.drain(..start);
        self.searched = self.buffer.len();
    }
}

/// What an event with a member that nobody knows costs, which the floor skips in silence.
fn add_tolerance(chat: &Rc<Subject>, cases: &mut Vec<Case>) {
    let texts: Vec<Vec<u8>> = chat
        .events
        .iter()
        .map(|event| {
            let mut text = serde_json::to_vec(event).expect("events are JSON");
            text.truncate(text.len() - 1);
            text.extend_from_slice(br#","unknown":1}"#);
            text
        })
        .collect();
    let texts: Rc<[Vec<u8>]> = texts.into();
    let same = Rc::clone(&texts);
    cases.push(Case {
        operation: "enforce: an unknown member in every event",
        workload: chat.name,
        events: chat.count,
        targets: Targets::NONE,
        floor: whole(move || texts.iter().for_each(|text| drop(black_box(Plain::read(text))))),
        ours: whole(move || {
            let mut warnings = Vec::new();
            for text in &*same {
                read(text, &mut warnings);
                warnings.clear();
            }
        }),
    });
}
