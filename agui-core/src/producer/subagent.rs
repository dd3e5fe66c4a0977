//! A subagent's invocation.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use crate::sequence::{OpenItem, OpenKind};
use crate::{InterruptId, MessageId, SubagentFinishedSuspendedOutcome, SubagentRunId, ToolCallId};

use super::{Run, SubagentStart, WriteError};

/// An invocation to be announced.
#[derive(Debug)]
#[must_use = "nothing is announced before `start`"]
pub struct SubagentBuilder {
    run: Run,
    start: SubagentStart,
}

impl SubagentBuilder {
    pub(super) fn new(run: Run, name: impl Into<String>) -> Self {
        Self { run, start: SubagentStart::new(name) }
    }

    /// Sets the invocation's id.
    pub fn with_id(mut self, id: impl Into<SubagentRunId>) -> Self {
        self.start = self.start.with_id(id);
        self
    }

    /// Says what the subagent is there for.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.start = self.start.with_description(description);
        self
    }

    /// Names the tool call that caused it.
    pub fn with_parent_tool_call_id(mut self, id: impl Into<ToolCallId>) -> Self {
        self.start = self.start.with_parent_tool_call_id(id);
        self
    }

    /// Names the message that caused it.
    pub fn with_parent_message_id(mut self, id: impl Into<MessageId>) -> Self {
        self.start = self.start.with_parent_message_id(id);
        self
    }

    /// Announces the invocation (`SUB-2`).
    ///
    /// # Errors
    /// The id has been announced in this run, or the run takes no more events.
    pub async fn start(self) -> Result<Subagent, WriteError> {
        let Self { run, start } = self;
        let id = run.with(|scope| scope.start_subagent(start)).await?;
        let inner = run.attributed_to(id.clone());
        Ok(Subagent { parent: run, id, inner, ended: false })
    }
}

/// An announced invocation: a [`Run`] whose events are attributed to it.
///
/// It ends with [`finish`](Self::finish), [`suspend`](Self::suspend) or [`fail`](Self::fail); once the handle is
/// dropped, as a success before its parent's next event. What it has open is closed first.
#[derive(Debug)]
pub struct Subagent {
    parent: Run,
    id: SubagentRunId,
    inner: Run,
    ended: bool,
}

impl Subagent {
    /// The invocation's id.
    pub const fn id(&self) -> &SubagentRunId {
        &self.id
    }

    /// The `Run` that writes for it, to clone into other tasks.
    pub const fn run(&self) -> &Run {
        &self.inner
    }

    /// Ends it as a success, with a result unless that is a JSON `null`.
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn finish(mut self, result: impl Into<Value>) -> Result<(), WriteError> {
        let (result, id) = (result.into(), self.id.clone());
        self.parent.with(|scope| scope.finish_subagent(&id, Some(result), None)).await?;
        self.ended = true;
        Ok(())
    }

    /// Ends it as suspended, waiting for these interrupts (`SUB-5`).
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn suspend(
        mut self,
        interrupts: impl IntoIterator<Item = InterruptId>,
    ) -> Result<(), WriteError> {
        let interrupts: Vec<_> = interrupts.into_iter().collect();
        let mut outcome = SubagentFinishedSuspendedOutcome::new();
        outcome.interrupt_ids = (!interrupts.is_empty()).then_some(interrupts);
        let id = self.id.clone();
        self.parent.with(|scope| scope.finish_subagent(&id, None, Some(outcome.into()))).await?;
        self.ended = true;
        Ok(())
    }

    /// Ends it as failed; the run goes on (`SUB-5`).
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn fail(mut self, message: impl Into<String>, code: Option<String>) -> Result<(), WriteError> {
        let (message, id) = (message.into(), self.id.clone());
        self.parent.with(|scope| scope.fail_subagent(&id, message, code)).await?;
        self.ended = true;
        Ok(())
    }
}

impl Deref for Subagent {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.inner
    }
}

impl Drop for Subagent {
    fn drop(&mut self) {
        if !self.ended {
            let id = Arc::from(self.id.clone());
            self.parent.shared.release(OpenItem::new(OpenKind::Subagent, id, self.parent.owner.clone()));
        }
    }
}
