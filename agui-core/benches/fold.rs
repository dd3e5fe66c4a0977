//! What folding one event costs, against the least that could do it, and what that cost must not grow with.
//!
//! `cargo bench -p agui-core --bench fold`. A whole run of events that are decoded already is folded into an empty
//! conversation, start and end included. Exit code 1 when a limit is missed.
//!
//! Time per event grows with the size of a run on any machine, by what its caches cost. A limit on growth is judged as it
//! is stated; what the floor pays in the same rounds stands beside it, with what the limit presumes it to pay.
//! Instructions do not depend on caches: with
//! `-- --once WORKLOAD fold|floor|nothing` one run is made once, for a profiler that counts them.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may fail")]

mod common;

use std::collections::HashMap;
use std::process::ExitCode;

use agui_core::consumer::Conversation;
use agui_core::{Event, MessageId};
use common::{Chat, ROUNDS, judge, median};

/// The least that folds text: a vector of messages, a map from id to index, the last index kept aside.
#[derive(Default)]
struct Floor {
    messages: Vec<(MessageId, String)>,
    index: HashMap<MessageId, usize>,
    last: usize,
}

impl Floor {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::TextMessageStart(event) => {
                self.last = self.messages.len();
                self.index.insert(event.message_id.clone(), self.last);
                self.messages.push((event.message_id.clone(), String::new()));
            }
            Event::TextMessageContent(event) => {
                if self.messages.get(self.last).is_none_or(|(id, _)| *id != event.message_id) {
                    let Some(&at) = self.index.get(&event.message_id) else { return };
                    self.last = at;
                }
                if let Some((_, text)) = self.messages.get_mut(self.last) {
                    text.push_str(&event.delta);
                }
            }
            _ => {}
        }
    }
}

struct Workload {
    name: &'static str,
    chat: Chat,
    /// Nanoseconds per event, round by round.
    ours: Vec<f64>,
    floor: Vec<f64>,
}

impl Workload {
    fn new(name: &'static str, messages: usize, deltas: usize) -> Self {
        Self { name, chat: Chat::new(messages, deltas), ours: Vec::new(), floor: Vec::new() }
    }

    fn round(&mut self) {
        self.floor.push(self.chat.time(Floor::default, Floor::apply));
        let begin = || (Conversation::new(), Vec::new());
        self.ours.push(self.chat.time(begin, |(conversation, warnings), event| {
            conversation.apply(event, warnings);
        }));
    }

    fn report(&self) {
        println!(
            "{:<14} {:>8.2} {:>8.2} {:>7.2}",
            self.name,
            median(self.floor.clone()),
            median(self.ours.clone()),
            median(ratios(&self.ours, &self.floor))
        );
    }
}

fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

/// Folds one workload once, in the given way.
fn once(workload: &Workload, way: &str) {
    match way {
        "fold" => workload.chat.once((Conversation::new(), Vec::new()), |(conversation, warnings), event| {
            conversation.apply(event, warnings);
        }),
        "floor" => workload.chat.once(Floor::default(), Floor::apply),
        _ => workload.chat.once((), |(), _| ()),
    }
}

fn main() -> ExitCode {
    let mut workloads = [
        Workload::new("long 2,000", 1, 2_000),
        Workload::new("long 20,000", 1, 20_000),
        Workload::new("long 200,000", 1, 200_000),
        Workload::new("wide 1", 1, 20_000),
        Workload::new("wide 100", 100, 20_000),
        Workload::new("wide 1,000", 1_000, 20_000),
    ];
    let arguments: Vec<String> = std::env::args().skip_while(|argument| argument != "--once").collect();
    if let [_, name, way, ..] = &arguments[..] {
        workloads.iter().filter(|workload| workload.name == name).for_each(|workload| once(workload, way));
        return ExitCode::SUCCESS;
    }
    for _ in 0..ROUNDS {
        workloads.iter_mut().for_each(Workload::round);
    }
    println!("median of {ROUNDS} rounds, nanoseconds per event");
    println!("{:<14} {:>8} {:>8} {:>7}", "workload", "floor", "fold", "ratio");
    workloads.iter().for_each(Workload::report);
    let [short, _, long, narrow, _, wide] = &workloads;
    let grown = |what: &str, of: &Workload, to: &Workload, limit: f64, presumed: f64| {
        let ours = median(ratios(&of.ours, &to.ours));
        let floor = median(ratios(&of.floor, &to.floor));
        println!("       {what}: the floor grows {floor:.2} times, the limit of {limit} presumes {presumed}");
        judge(what, ours, limit)
    };
    let kept = [
        judge("chat, to the floor", median(ratios(&short.ours, &short.floor)), 1.5),
        grown("long 200,000 to long 2,000", long, short, 1.15, 1.09),
        grown("wide 1,000 to wide 1", wide, narrow, 2.5, 2.3),
    ];
    ExitCode::from(u8::from(kept.contains(&false)))
}
