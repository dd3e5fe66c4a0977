//! The runs of a conversation: how each ended, what it returned, what it left to answer (`LIFE-4` to `LIFE-11`,
//! `INT-2`, `INT-7`).

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{Change, Conversation};
use crate::{
    Interrupt, RunErrorEvent, RunFinishedEvent, RunFinishedOutcome, RunId, RunStartedEvent, ThreadId,
    TokenUsage, ToolCallId,
};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RunStatus {
    /// It has not ended. A stream that breaks off leaves it so: truncated, and no success (`LIFE-11`).
    #[default]
    Unended,
    /// It did what it was asked for, also by an absent outcome (`LIFE-4`).
    Success,
    /// It stopped to ask (`INT-1`).
    Interrupted,
    /// It was stopped on purpose: neither succeeded nor failed (`LIFE-5`).
    Cancelled,
    /// It failed, perhaps after it had finished (`LIFE-6`, `LIFE-7`).
    Failed,
}

impl RunStatus {
    /// The status in a word: `none`, `success`, `interrupt`, `cancelled` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unended => "none",
            Self::Success => "success",
            Self::Interrupted => "interrupt",
            Self::Cancelled => "cancelled",
            Self::Failed => "error",
        }
    }
}

/// What a producer said of a run that failed (`LIFE-6`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunFailure {
    /// What went wrong, for the user to read.
    pub message: String,
    /// A stable word for programs; absent if the producer gives none.
    pub code: Option<String>,
}

/// One run of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RunRecord {
    /// The run; absent where the stream failed before one began (`LIFE-1`).
    pub run_id: Option<RunId>,
    /// The thread that the run named; absent where none began.
    pub thread_id: Option<ThreadId>,
    /// The run that spawned it.
    pub parent_run_id: Option<RunId>,
    /// The version the producer speaks; absent means from before 1.0 (`VER-1`).
    pub protocol_version: Option<String>,
    /// How it ended.
    pub status: RunStatus,
    /// What it returned: any JSON but `null` (`LIFE-13`). A late failure leaves it, as it was delivered.
    pub result: Option<serde_json::Value>,
    /// Token counts, as reported (`LIFE-12`); absent is not zero.
    pub usage: Option<Vec<TokenUsage>>,
    /// Why it failed; present exactly where the status is [`RunStatus::Failed`].
    pub failure: Option<RunFailure>,
    /// What it asks, where it stopped to ask; never empty then.
    pub interrupts: Vec<Interrupt>,
    /// The calls it left unanswered, in the order made: as named, else derived (`INT-7`). Empty unless it succeeded
    /// or stopped to ask.
    pub pending_tool_call_ids: Vec<ToolCallId>,
}

/// What is known of a call in the run that is on.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The place among the run's calls, once started in this run.
    started: Option<usize>,
    answered: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    pub(super) records: Vec<RunRecord>,
    /// Where the records of this exchange begin.
    pub(super) exchange: usize,
    /// Interrupts that the next run has to answer.
    pub(super) pending: Vec<Interrupt>,
    calls: HashMap<ToolCallId, Progress, RandomState>,
}

impl Runs {
    pub(super) fn begin_exchange(&mut self) {
        self.exchange = self.records.len();
        self.calls.clear();
    }

    pub(super) fn of_exchange(&self) -> &[RunRecord] {
        self.records.get(self.exchange..).unwrap_or_default()
    }

    /// The run that an ending is about; made if the stream has begun none.
    fn current(&mut self) -> &mut RunRecord {
        let last = self.records.len().max(self.exchange + 1) - 1;
        self.records.resize_with(last + 1, RunRecord::default);
        &mut self.records[last]
    }

    pub(super) fn call_started(&mut self, id: &ToolCallId) {
        let place = self.calls.len();
        self.calls.entry(id.clone()).or_default().started.get_or_insert(place);
    }

    pub(super) fn call_answered(&mut self, id: &ToolCallId) {
        self.calls.entry(id.clone()).or_default().answered = true;
    }

    /// A result in a snapshot answers a call of this run; that of an earlier run's call says nothing about this one.
    pub(super) fn call_restated_answered(&mut self, id: &ToolCallId) {
        if let Some(progress) = self.calls.get_mut(id) {
            progress.answered = true;
        }
    }

    fn unanswered(&self) -> Vec<ToolCallId> {
        let mut calls: Vec<_> = self
            .calls
            .iter()
            .filter(|(_, progress)| !progress.answered)
            .filter_map(|(id, progress)| Some((progress.started?, id)))
            .collect();
        calls.sort_unstable();
        calls.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

impl Conversation {
    pub(super) fn run_started(&mut self, event: &RunStartedEvent) -> Change {
        self.astray.clear();
        self.runs.calls.clear();
        self.runs.records.push(RunRecord {
            run_id: Some(event.run_id.clone()),
            thread_id: Some(event.thread_id.clone()),
            parent_run_id: event.parent_run_id.clone(),
            protocol_version: event.protocol_version.clone(),
            ..RunRecord::default()
        });
        self.thread_id.get_or_insert_with(|| event.thread_id.clone());
        let messages_added = event.input.as_deref().map_or(0, |input| self.add_unheld(&input.messages));
        Change::RunStarted { messages_added }
    }

    pub(super) fn run_finished(&mut self, event: RunFinishedEvent) -> Change {
        let mut interrupts = Vec::new();
        let mut pending_calls = Vec::new();
        let status = match event.outcome {
            None => RunStatus::Success,
            Some(RunFinishedOutcome::Success(outcome)) => {
                pending_calls = outcome.pending_tool_call_ids.unwrap_or_default();
                RunStatus::Success
            }
            Some(RunFinishedOutcome::Interrupt(outcome)) => {
                interrupts = outcome.interrupts.into_inner();
                RunStatus::Interrupted
            }
            Some(RunFinishedOutcome::Cancelled(_)) => RunStatus::Cancelled,
        };
        // An empty list says no more than an absent one (INT-7), and a cancelled run leaves nothing to answer (INT-1).
        if pending_calls.is_empty() && status != RunStatus::Cancelled {
            pending_calls = self.runs.unanswered();
        }
        self.runs.pending.clone_from(&interrupts);
        let record = self.runs.current();
        record.status = status;
        record.result = event.result;
        record.usage = event.usage;
        record.interrupts = interrupts;
        record.pending_tool_call_ids = pending_calls;
        Change::RunFinished
    }

    /// A failure, late or not, leaves the interrupts that are pending.
    pub(super) fn run_failed(&mut self, event: &RunErrorEvent) -> Change {
        let record = self.runs.current();
        record.status = RunStatus::Failed;
        record.failure = Some(RunFailure { message: event.message.clone(), code: event.code.clone() });
        record.pending_tool_call_ids.clear();
        if let Some(usage) = &event.usage {
            record.usage = Some(usage.clone());
        }
        Change::RunFailed
    }
}
