//! Workloads from fixed seeds, and measuring by ratio.
//!
//! What is measured is a ratio: of the crate to the least that could do the same work (a floor), or of one size to
//! another. Everything that is compared is measured in turn within a round, the ratio is taken within the round, and the
//! median over the rounds counts. A change of the machine's speed between two rounds is then no difference between two
//! ways.

#![allow(dead_code, unreachable_pub, reason = "each benchmark uses another part of this module")]

use std::time::{Duration, Instant};

use agui_core::{
    Event, RunFinishedEvent, RunStartedEvent, TextMessageContentEvent, TextMessageEndEvent,
    TextMessageStartEvent,
};

/// How many rounds a median is taken over.
pub const ROUNDS: usize = 11;

/// How long one measurement lasts at least.
const SAMPLE: Duration = Duration::from_millis(20);

/// Splitmix64: a few lines, and the same numbers on every machine.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    /// An id as producers make them: a prefix and 24 hexadecimal digits.
    pub fn id(&mut self, prefix: &str) -> String {
        format!("{prefix}{:016x}{:08x}", self.next(), self.next() >> 32)
    }

    /// A token of about five characters.
    pub fn token(&mut self) -> &'static str {
        const TOKENS: [&str; 32] = [
            " the",
            " model",
            " answer",
            " of",
            " which",
            " stream",
            ",",
            " and",
            " every",
            " token",
            "ing",
            " state",
            ".",
            " small",
            " value",
            "\n\n",
            " \"quoted\"",
            " with",
            " from",
            "tion",
            " about",
            " where",
            " it",
            " tool",
            " calls",
            ":",
            " would",
            " other",
            " first",
            "ed",
            " there",
            " people",
        ];
        TOKENS[self.below(TOKENS.len())]
    }
}

/// One event of a run to be made, and which message it is about.
#[derive(Debug, Clone, Copy)]
enum Step {
    RunStarted,
    Start(usize),
    Delta(usize),
    End(usize),
    RunFinished,
}

/// A run of deltas for so many messages, all of them open at once; with one message, the plain chat.
#[derive(Debug)]
pub struct Chat {
    thread: String,
    run: String,
    ids: Vec<String>,
    steps: Vec<Step>,
}

impl Chat {
    /// The run of a fixed seed.
    pub fn new(messages: usize, deltas: usize) -> Self {
        let mut random = Random::new(20_260_901);
        let (thread, run) = (random.id("thread_"), random.id("run_"));
        let ids: Vec<String> = (0..messages).map(|_| random.id("msg_")).collect();
        let mut steps = vec![Step::RunStarted];
        steps.extend((0..messages).map(Step::Start));
        steps.extend((0..deltas).map(|_| Step::Delta(random.below(messages))));
        steps.extend((0..messages).map(Step::End));
        steps.push(Step::RunFinished);
        Self { thread, run, ids, steps }
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The event of a step, with strings of its own, as a reader makes it.
    ///
    /// A delta's text is drawn when it is made: a processor that sees a short run again and again learns how long its
    /// texts are, and would flatter it beside a long one.
    fn event(&self, step: Step, random: &mut Random) -> Event {
        let id = |at: usize| self.ids[at].as_str();
        match step {
            Step::RunStarted => RunStartedEvent::new(self.thread.as_str(), self.run.as_str()).into(),
            Step::Start(at) => TextMessageStartEvent::new(id(at)).into(),
            Step::Delta(at) => TextMessageContentEvent::new(id(at), random.token()).into(),
            Step::End(at) => TextMessageEndEvent::new(id(at)).into(),
            Step::RunFinished => RunFinishedEvent::new(self.thread.as_str(), self.run.as_str()).into(),
        }
    }

    /// All events.
    pub fn events(&self) -> Vec<Event> {
        let mut random = Random::new(1);
        self.steps.iter().map(|step| self.event(*step, &mut random)).collect()
    }

    /// Feeds the whole run once, unmeasured.
    pub fn once<T>(&self, mut state: T, mut feed: impl FnMut(&mut T, &Event)) {
        let mut random = Random::new(1);
        for step in &self.steps {
            feed(&mut state, &self.event(*step, &mut random));
        }
        drop(std::hint::black_box(state));
    }

    /// Nanoseconds per event of feeding the whole run to what `begin` gives, over as many runs as a measurement needs.
    ///
    /// Events are made a batch before they are needed, outside of the measured time: they are then as fresh as those of
    /// a reader, and a long run is not measured by how fast a list of all its events comes out of memory.
    pub fn time<T>(&self, begin: impl Fn() -> T, mut feed: impl FnMut(&mut T, &Event)) -> f64 {
        const BATCH: usize = 256;
        let mut spent = Duration::ZERO;
        let mut runs = 0_usize;
        let mut events = Vec::with_capacity(BATCH);
        let mut random = Random::new(1);
        while spent < SAMPLE {
            let mut state = begin();
            for steps in self.steps.chunks(BATCH) {
                events.clear();
                events.extend(steps.iter().map(|step| self.event(*step, &mut random)));
                let start = Instant::now();
                for event in &events {
                    feed(&mut state, event);
                }
                spent += start.elapsed();
            }
            drop(std::hint::black_box(state));
            runs += 1;
        }
        spent.as_secs_f64() * 1e9 / (count(runs) * count(self.len()))
    }
}

/// Nanoseconds of one call, over as many calls as a measurement needs.
pub fn time(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut calls = 0;
    while start.elapsed() < SAMPLE {
        work();
        calls += 1;
    }
    start.elapsed().as_secs_f64() * 1e9 / count(calls)
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A number of things as a divisor.
pub fn count(things: usize) -> f64 {
    f64::from(u32::try_from(things).expect("workloads are small"))
}

/// Prints a ratio beside its limit, and says whether it is kept.
pub fn judge(what: &str, ratio: f64, limit: f64) -> bool {
    let kept = ratio <= limit;
    println!("{} {what}: {ratio:.2} (limit {limit:.2})", if kept { "ok    " } else { "MISSED" });
    kept
}
