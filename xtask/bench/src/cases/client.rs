//! The whole way of a client: bytes into messages and state, checked.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::consumer::Session;
use agui_core::{Event, RunAgentInput};
use agui_encoder::decode::SseDecoder;
use bytes::Bytes;

use super::decode::{CHUNK, Lines};
use super::{Case, Subject, pieces, targets};
use crate::floor::check::Checker;
use crate::floor::fold::Folder;
use crate::floor::plain::Plain;
use crate::floor::seen::Seen;
use crate::measure::{Side, whole};

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let limits = targets([Some(1.4), Some(1.5), Some(1.2), Some(1.4), Some(1.3)]);
    for (subject, targets) in subjects.iter().zip(limits) {
        let chunks: Rc<[Bytes]> = pieces(&subject.sse, CHUNK).into();
        cases.push(Case {
            operation: "client: bytes to messages and state",
            workload: subject.name,
            events: subject.count,
            targets: targets.unwrap_or_default(),
            floor: floor(Rc::clone(&chunks)),
            ours: ours(subject, chunks),
        });
    }
}

fn floor(chunks: Rc<[Bytes]>) -> Side {
    whole(move || {
        let (mut lines, mut checker, mut folder) = (Lines::default(), Checker::default(), Folder::default());
        for chunk in &*chunks {
            lines.push(chunk, b"data: ", |text| {
                let event = Plain::read(text);
                assert!(checker.check(&Seen::from(&event)), "workloads are valid");
                folder.take(event);
            });
        }
        black_box(folder);
    })
}

fn ours(subject: &Subject, chunks: Rc<[Bytes]>) -> Side {
    let Some(Event::RunStarted(started)) = subject.events.first() else { panic!("a stream starts a run") };
    let input = RunAgentInput::new(started.thread_id.clone(), started.run_id.clone(), []);
    whole(move || {
        let mut session = Session::new();
        let mut exchange = session.send(input.clone(), 0).expect("nothing is pending");
        let mut decoder = SseDecoder::new();
        for chunk in &*chunks {
            decoder.push(chunk.clone());
            while let Some(frame) = decoder.next_frame_ref() {
                exchange.absorb(frame.expect("a frame"), &mut |_| {}).expect("workloads are valid");
            }
        }
        assert!(!exchange.finish().is_truncated(), "workloads come to their end");
        black_box(session);
    })
}
