//! Ids that a script can foretell: the run's id and one counter per kind.

use std::fmt;

use agui_core::{MessageId, RunId, SubagentRunId, ToolCallId};

/// The counters of one run. An id that a step gives itself takes no number.
#[derive(Debug)]
pub(super) struct Ids {
    run: RunId,
    /// Text messages and tool results alike.
    messages: u64,
    calls: u64,
    reasoning: u64,
    activities: u64,
    subagents: u64,
}

impl Ids {
    pub(super) fn new(run: &RunId) -> Self {
        Self { run: run.clone(), messages: 0, calls: 0, reasoning: 0, activities: 0, subagents: 0 }
    }

    pub(super) fn message(&mut self, given: Option<MessageId>) -> MessageId {
        given.unwrap_or_else(|| next(&self.run, 'm', &mut self.messages).into())
    }

    pub(super) fn call(&mut self, given: Option<ToolCallId>) -> ToolCallId {
        given.unwrap_or_else(|| next(&self.run, 't', &mut self.calls).into())
    }

    pub(super) fn reasoning(&mut self, given: Option<MessageId>) -> MessageId {
        given.unwrap_or_else(|| next(&self.run, 'r', &mut self.reasoning).into())
    }

    pub(super) fn activity(&mut self, given: Option<MessageId>) -> MessageId {
        given.unwrap_or_else(|| next(&self.run, 'a', &mut self.activities).into())
    }

    pub(super) fn subagent(&mut self, given: Option<SubagentRunId>) -> SubagentRunId {
        given.unwrap_or_else(|| next(&self.run, 's', &mut self.subagents).into())
    }
}

fn next(run: impl fmt::Display, kind: char, counter: &mut u64) -> String {
    *counter += 1;
    format!("{run}:{kind}{counter}")
}
