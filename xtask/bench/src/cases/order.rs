//! Events into the order's judgement, and into messages and state.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::consumer::Conversation;
use agui_core::sequence::{Policy, Sequence};
use agui_core::{Event, Message, Warning};

use super::{Case, Subject, targets};
use crate::floor::check::Checker;
use crate::floor::fold::Folder;
use crate::floor::seen::Seen;
use crate::measure::{Side, whole};
use crate::workloads::{Chat, Of, Random};

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let limits = targets([Some(2.0), Some(2.0), None, None, Some(2.0)]);
    for (subject, targets) in subjects.iter().zip(limits) {
        let Some(targets) = targets else { continue };
        let (floor, ours) = (Rc::clone(subject), Rc::clone(subject));
        cases.push(Case {
            operation: "check the order",
            workload: subject.name,
            events: subject.count,
            targets,
            floor: whole(move || {
                let mut checker = Checker::default();
                for event in &floor.expanded {
                    assert!(checker.check(&Seen::from(event)), "workloads are valid");
                }
            }),
            ours: whole(move || {
                let mut sequence = Sequence::new(Policy::Consumer);
                for event in &ours.expanded {
                    sequence.check(event).expect("workloads are valid");
                }
                black_box(sequence);
            }),
        });
    }
    let limits = targets([Some(1.5), Some(1.6), Some(1.2), Some(1.5), Some(1.5)]);
    for (subject, targets) in subjects.iter().zip(limits) {
        let (floor, ours) = fold(subject);
        let targets = targets.unwrap_or_default();
        cases.push(Case {
            operation: "fold",
            workload: subject.name,
            events: subject.count,
            targets,
            floor,
            ours,
        });
    }
}

fn fold(subject: &Rc<Subject>) -> (Side, Side) {
    if subject.name == "chat" {
        return fold_chat(&Rc::new(Chat::new(Of::Messages, 1, 2_000)));
    }
    let (floor, ours) = (Rc::clone(subject), Rc::clone(subject));
    (
        whole(move || {
            let mut folder = Folder::default();
            floor.expanded.iter().for_each(|event| fold_plainly(&mut folder, event));
            black_box(folder);
        }),
        whole(move || {
            let mut folded = Folded::default();
            ours.expanded.iter().for_each(|event| folded.apply(event));
            black_box(folded);
        }),
    )
}

/// Both ways to fold a run of text, whose events are made as they are needed.
pub(crate) fn fold_chat(chat: &Rc<Chat>) -> (Side, Side) {
    (feeding(chat, Folder::default, fold_plainly), feeding(chat, Folded::default, Folded::apply))
}

/// Both ways to judge the order of a run of text, whose events are made as they are needed.
pub(crate) fn check_chat(chat: &Rc<Chat>) -> (Side, Side) {
    let floor = |checker: &mut Checker, event: &Event| {
        assert!(checker.check(&Seen::from(event)), "workloads are valid");
    };
    let ours = |sequence: &mut Sequence, event: &Event| {
        sequence.check(event).expect("workloads are valid");
    };
    (feeding(chat, Checker::default, floor), feeding(chat, || Sequence::new(Policy::Consumer), ours))
}

fn feeding<T>(
    chat: &Rc<Chat>,
    begin: impl Fn() -> T + 'static,
    feed: impl Fn(&mut T, &Event) + 'static,
) -> Side {
    let chat = Rc::clone(chat);
    let mut random = Random::new(1);
    Box::new(move |meter| chat.feed(meter, &mut random, &begin, &feed))
}

#[derive(Default)]
struct Folded(Conversation, Vec<Warning>);

impl Folded {
    #[inline]
    fn apply(&mut self, event: &Event) {
        self.0.apply(event, &mut self.1);
    }
}

#[inline]
fn fold_plainly(folder: &mut Folder<Message>, event: &Event) {
    match event {
        Event::StateSnapshot(event) => folder.state(event.snapshot.clone()),
        Event::MessagesSnapshot(event) => {
            folder.restate(event.messages.clone(), |message| message.id().as_str());
        }
        event => folder.apply(&Seen::from(event)),
    }
}
