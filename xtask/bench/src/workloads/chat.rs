//! Runs of text alone: the plain chat, long ones, and ones of many messages at once.

use std::hint::black_box;

use agui_core::{
    Event, RunFinishedEvent, RunStartedEvent, TextMessageContentEvent, TextMessageEndEvent,
    TextMessageStartEvent,
};

use super::Random;
use crate::measure::Meter;

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
pub(crate) struct Chat {
    thread: String,
    run: String,
    ids: Vec<String>,
    steps: Vec<Step>,
}

impl Chat {
    /// The run of a fixed seed.
    pub(crate) fn new(messages: usize, deltas: usize) -> Self {
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
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The event of a step, with strings of its own, as a reader makes it.
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
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut random = Random::new(1);
        self.steps.iter().map(|step| self.event(*step, &mut random)).collect()
    }

    /// Feeds the whole run to what `begin` gives.
    ///
    /// Events are made a batch before they are needed, outside of what is measured: they are then as fresh as those of
    /// a reader, and a long run is not measured by how fast a list of all its events comes out of memory.
    ///
    /// The texts are drawn from a source that goes on from one pass to the next. If every pass had the same ones, a
    /// processor would learn a short run by heart, and a long one would look slow beside it.
    pub(crate) fn feed<T>(
        &self,
        meter: &mut Meter,
        random: &mut Random,
        begin: impl Fn() -> T,
        mut feed: impl FnMut(&mut T, &Event),
    ) {
        const BATCH: usize = 256;
        let mut state = begin();
        let mut events = Vec::with_capacity(BATCH);
        for steps in self.steps.chunks(BATCH) {
            events.clear();
            events.extend(steps.iter().map(|step| self.event(*step, random)));
            meter.run(|| events.iter().for_each(|event| feed(&mut state, event)));
        }
        drop(black_box(state));
    }
}
