//! Runs of deltas alone: the plain chat, long ones, and ones of many things at once.

use std::hint::black_box;

use agui_core::{
    Event, RunFinishedEvent, RunStartedEvent, SubagentFinishedEvent, SubagentStartedEvent,
    TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent, ToolCallArgsEvent, ToolCallEndEvent,
    ToolCallStartEvent,
};

use super::Random;
use crate::measure::Meter;

/// What deltas are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Messages of the agent.
    Messages,
    /// Tool calls, all of one message.
    Calls,
    /// Subagents, each with a message.
    Subagents,
}

/// Some events of a run to be made, and what they are about.
#[derive(Debug, Clone, Copy)]
enum Step {
    RunStarted,
    Start(usize),
    Delta(usize),
    End(usize),
    RunFinished,
}

/// A run of deltas for so many things, all of them open at once; with one message, the plain chat.
#[derive(Debug)]
pub(crate) struct Chat {
    of: Of,
    thread: String,
    run: String,
    ids: Vec<String>,
    /// Those of the subagents, or else one message for all calls.
    owners: Vec<String>,
    steps: Vec<Step>,
    len: usize,
}

impl Chat {
    /// The run of a fixed seed.
    pub(crate) fn new(of: Of, things: usize, deltas: usize) -> Self {
        let mut random = Random::new(20_260_901);
        let (thread, run) = (random.id("thread_"), random.id("run_"));
        let prefix = if of == Of::Calls { "call_" } else { "msg_" };
        let ids: Vec<String> = (0..things).map(|_| random.id(prefix)).collect();
        let owners = match of {
            Of::Messages => Vec::new(),
            Of::Calls => vec![random.id("msg_")],
            Of::Subagents => (0..things).map(|_| random.id("sub_")).collect(),
        };
        let mut steps = vec![Step::RunStarted];
        steps.extend((0..things).map(Step::Start));
        steps.extend((0..deltas).map(|_| Step::Delta(random.below(things))));
        steps.extend((0..things).map(Step::End));
        steps.push(Step::RunFinished);
        let len = steps.len() + if of == Of::Subagents { 2 * things } else { 0 };
        Self { of, thread, run, ids, owners, steps, len }
    }

    /// How many events there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds the events of a step, with strings of their own, as a reader makes them.
    fn add(&self, step: Step, random: &mut Random, events: &mut Vec<Event>) {
        let id = |at: usize| self.ids[at].as_str();
        match (step, self.of) {
            (Step::RunStarted, _) => {
                events.push(RunStartedEvent::new(self.thread.as_str(), self.run.as_str()).into());
            }
            (Step::Start(at), Of::Messages) => events.push(TextMessageStartEvent::new(id(at)).into()),
            (Step::Delta(at), Of::Messages) => {
                events.push(TextMessageContentEvent::new(id(at), random.token()).into());
            }
            (Step::End(at), Of::Messages) => events.push(TextMessageEndEvent::new(id(at)).into()),
            (Step::Start(at), Of::Calls) => {
                let call = ToolCallStartEvent::new(id(at), "search");
                events.push(call.with_parent_message_id(self.owners[0].as_str()).into());
            }
            (Step::Delta(at), Of::Calls) => {
                events.push(ToolCallArgsEvent::new(id(at), random.token()).into());
            }
            (Step::End(at), Of::Calls) => events.push(ToolCallEndEvent::new(id(at)).into()),
            (Step::Start(at), Of::Subagents) => {
                let owner = self.owners[at].as_str();
                events.push(SubagentStartedEvent::new(owner, "scout").into());
                events.push(TextMessageStartEvent::new(id(at)).with_subagent_run_id(owner).into());
            }
            (Step::Delta(at), Of::Subagents) => {
                let delta = TextMessageContentEvent::new(id(at), random.token());
                events.push(delta.with_subagent_run_id(self.owners[at].as_str()).into());
            }
            (Step::End(at), Of::Subagents) => {
                let owner = self.owners[at].as_str();
                events.push(TextMessageEndEvent::new(id(at)).with_subagent_run_id(owner).into());
                events.push(SubagentFinishedEvent::new(owner).into());
            }
            (Step::RunFinished, _) => {
                events.push(RunFinishedEvent::new(self.thread.as_str(), self.run.as_str()).into());
            }
        }
    }

    /// All events.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut random = Random::new(1);
        let mut events = Vec::with_capacity(self.len);
        for step in &self.steps {
            self.add(*step, &mut random, &mut events);
        }
        events
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
            for step in steps {
                self.add(*step, random, &mut events);
            }
            meter.run(|| events.iter().for_each(|event| feed(&mut state, event)));
        }
        drop(black_box(state));
    }
}
