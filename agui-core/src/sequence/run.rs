//! The boundaries of runs: `LIFE-1` to `LIFE-9`, and the calls a run leaves unanswered (`INT-7`).

use std::collections::HashSet;
use std::fmt::Write;

use super::{Adopt, Notice, Phase, Quoted, Sequence, SequenceError, ThisRun};
use crate::{EventType, RunFinishedEvent, RunFinishedOutcome, RunStartedEvent};

/// How many identifiers a message lists.
const MAX_LISTED: usize = 16;

impl Sequence {
    /// Why an event that needs an active run has none.
    #[cold]
    pub(crate) fn outside_a_run(&self, kind: EventType) -> SequenceError {
        match self.phase {
            Phase::Fresh => SequenceError::new(
                "LIFE-1",
                kind,
                "a stream opens with RUN_STARTED or RUN_ERROR, nothing may stand before it",
            ),
            Phase::Failed => SequenceError::new(
                "LIFE-7",
                kind,
                "the run has ended with RUN_ERROR; only RUN_STARTED may follow",
            ),
            Phase::Finished | Phase::Active => SequenceError::new(
                "LIFE-7",
                kind,
                "the run has finished; only RUN_STARTED or RUN_ERROR may follow",
            ),
        }
    }

    pub(super) fn start_run(&mut self, event: &RunStartedEvent) -> Result<(), SequenceError> {
        let kind = EventType::RunStarted;
        if self.phase == Phase::Active {
            let active = self.run_id.as_ref().map_or("", |id| id.as_str());
            let message = format!("run {} is still active", Quoted(active));
            return Err(SequenceError::new("LIFE-2", kind, message));
        }
        let mut notice = None;
        if let Some(thread) = self.thread_id.as_ref().filter(|thread| **thread != event.thread_id) {
            let message = format!(
                "the run is of thread {}, the stream is of {}",
                Quoted(event.thread_id.as_str()),
                Quoted(thread.as_str())
            );
            if self.is_producer() {
                return Err(SequenceError::new("LIFE-9", kind, message));
            }
            notice = Some(Notice::new("LIFE-9", kind, "/threadId", message));
        }
        if self.is_producer() {
            if self.run_ids.contains(&event.run_id) {
                let message = format!("run {} was on the stream before", Quoted(event.run_id.as_str()));
                return Err(SequenceError::new("SHAPE-9", kind, message));
            }
            if let Some(requested) = self.requested.as_ref().filter(|id| self.run_ids.contains(*id)) {
                let message = format!("run {}, which was asked for, comes last", Quoted(requested.as_str()));
                return Err(SequenceError::new("LIFE-9", kind, message));
            }
        }
        self.notices.extend(notice);
        self.phase = Phase::Active;
        self.run += 1;
        self.thread_id.get_or_insert_with(|| event.thread_id.clone());
        self.run_id = Some(event.run_id.clone());
        if self.is_producer() {
            self.run_ids.insert(event.run_id.clone());
        }
        self.open.clear();
        self.this_run = ThisRun::default();
        if let Some(input) = &event.input {
            self.history.adopt(&input.messages, self.run, Adopt::Fill);
        }
        Ok(())
    }

    pub(super) fn finish_run(&mut self, event: &RunFinishedEvent) -> Result<(), SequenceError> {
        let kind = EventType::RunFinished;
        if self.phase != Phase::Active {
            return Err(self.outside_a_run(kind));
        }
        if self.has_open_items() {
            return Err(self.still_open(kind));
        }
        let mut notices = Vec::new();
        let mut depart = |rule, path, message: String| {
            if self.is_producer() {
                return Err(SequenceError::new(rule, kind, message));
            }
            notices.push(Notice::new(rule, kind, path, message));
            Ok(())
        };
        if let Some(run) = self.run_id.as_ref().filter(|run| **run != event.run_id) {
            let message = format!("run {} ends as {}", Quoted(run.as_str()), Quoted(event.run_id.as_str()));
            depart("LIFE-9", "/runId", message)?;
        }
        if let Some(thread) = self.thread_id.as_ref().filter(|thread| **thread != event.thread_id) {
            let message = format!(
                "the run is of thread {}, its end names {}",
                Quoted(thread.as_str()),
                Quoted(event.thread_id.as_str())
            );
            depart("LIFE-9", "/threadId", message)?;
        }
        match &event.outcome {
            Some(RunFinishedOutcome::Interrupt(outcome)) => {
                let mut seen = HashSet::new();
                for interrupt in outcome.interrupts.iter() {
                    if !seen.insert(&interrupt.id) {
                        let message = format!("two interrupts have the id {}", Quoted(interrupt.id.as_str()));
                        depart("LIFE-4", "/outcome/interrupts", message)?;
                    }
                }
            }
            // A consumer takes the calls as named, even if they do not fit the stream.
            Some(RunFinishedOutcome::Success(outcome)) if self.is_producer() => {
                let unanswered = self.unanswered_tool_calls();
                if outcome.pending_tool_call_ids.as_ref().is_some_and(|named| *named != unanswered) {
                    let message = format!(
                        "pendingToolCallIds does not name exactly the calls the run left unanswered: {}",
                        list(unanswered.iter().map(|id| Quoted(id.as_str()).to_string()))
                    );
                    return Err(SequenceError::new("INT-7", kind, message));
                }
            }
            _ => {}
        }
        self.notices.append(&mut notices);
        self.phase = Phase::Finished;
        Ok(())
    }

    pub(super) fn fail_run(&mut self) -> Result<(), SequenceError> {
        if self.phase == Phase::Failed {
            return Err(self.outside_a_run(EventType::RunError));
        }
        self.phase = Phase::Failed;
        // Whatever was open is abandoned (LIFE-6).
        self.open.clear();
        Ok(())
    }

    #[cold]
    fn still_open(&self, kind: EventType) -> SequenceError {
        let items = self.open.items();
        let names = items.iter().map(|item| format!("{} {}", item.kind.noun(), Quoted(&item.id)));
        SequenceError::new("LIFE-3", kind, format!("still open: {}", list(names)))
    }
}

/// The first of many names, and how many are left out.
fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let mut text = names.take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    if count == 0 {
        text.push_str("none");
    }
    if count > MAX_LISTED {
        // Writing to a string cannot fail.
        let _ = write!(text, " and {} more", count - MAX_LISTED);
    }
    text
}
