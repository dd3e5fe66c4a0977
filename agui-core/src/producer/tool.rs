//! A streamed tool call.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::id::mint;
use crate::sequence::{OpenItem, OpenKind};
use crate::{Content, MessageId, ToolCallId};

use super::{Run, ToolCallStart, WriteError, WriterScope};

/// A tool call that is being written.
///
/// It opens with the first argument text, or when it is ended or answered. When the handle is dropped, an open call is
/// closed before its owner's next event. A call that is never [answered](Self::result) is for the application to
/// answer, and is named when the run ends (`INT-4`, `INT-7`).
///
/// Methods take `&self`: the arguments of one call may come from anywhere, in the order they are awaited.
#[derive(Debug)]
pub struct ToolCallHandle {
    run: Run,
    id: ToolCallId,
    start: ToolCallStart,
    /// One of [`PENDING`], [`OPEN`] and [`ENDED`]; written under the run's lock only.
    phase: AtomicU8,
}

const PENDING: u8 = 0;
const OPEN: u8 = 1;
const ENDED: u8 = 2;

impl ToolCallHandle {
    pub(super) fn new(run: Run, start: ToolCallStart) -> Self {
        Self { run, id: mint("call-"), start, phase: AtomicU8::new(PENDING) }
    }

    /// Sets the call's id before it opens.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<ToolCallId>) -> Self {
        if *self.phase.get_mut() == PENDING {
            self.id = id.into();
        }
        self
    }

    /// Names the assistant message that carries the call, before it opens. Without one it gets a message of its own.
    #[must_use]
    pub fn with_parent_message_id(mut self, id: impl Into<MessageId>) -> Self {
        self.start.parent_message_id = Some(id.into());
        self
    }

    /// The call's id.
    pub const fn id(&self) -> &ToolCallId {
        &self.id
    }

    /// The tool.
    pub fn name(&self) -> &str {
        &self.start.name
    }

    /// Opens the call, if it is not open yet.
    ///
    /// # Errors
    /// The id is taken, or the run takes no more events.
    pub async fn start(&self) -> Result<(), WriteError> {
        self.run.with(|scope| self.open(scope)).await
    }

    /// Appends argument text; the first one opens the call, an empty one is left out (`STREAM-5`).
    ///
    /// # Errors
    /// The call has been ended, or the run takes no more events.
    ///
    /// # Cancel safety
    /// Nothing has been written if the future is dropped.
    pub async fn args<'d>(&self, delta: impl Into<Cow<'d, str>>) -> Result<(), WriteError> {
        let delta = delta.into();
        if delta.is_empty() {
            return Ok(());
        }
        self.run
            .with(|scope| {
                self.open(scope)?;
                scope.tool_call_args(&self.id, delta)
            })
            .await
    }

    /// Closes the call: its arguments are complete.
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn end(&self) -> Result<(), WriteError> {
        self.run.with(|scope| self.close(scope)).await
    }

    /// Answers the call, closing it first, and returns the tool message's id (`STREAM-6`). A structured result goes in
    /// as JSON text (`STREAM-9`).
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn result(self, content: impl Into<Content>) -> Result<MessageId, WriteError> {
        self.result_as(mint::<MessageId>("msg-"), content).await
    }

    /// Answers the call with a tool message under a given id.
    ///
    /// # Errors
    /// Another message has the id, or the run takes no more events.
    pub async fn result_as(
        self,
        message_id: impl Into<MessageId>,
        content: impl Into<Content>,
    ) -> Result<MessageId, WriteError> {
        let message_id = message_id.into();
        self.run
            .with(|scope| {
                self.close(scope)?;
                scope.tool_result_as(message_id, &self.id, content)
            })
            .await
    }

    fn open<S: super::EventSink>(&self, scope: &mut WriterScope<'_, S>) -> Result<(), WriteError> {
        if self.phase.load(Ordering::Acquire) == PENDING {
            scope.start_tool_call(self.start.clone().with_id(self.id.clone()))?;
            self.phase.store(OPEN, Ordering::Release);
        }
        Ok(())
    }

    fn close<S: super::EventSink>(&self, scope: &mut WriterScope<'_, S>) -> Result<(), WriteError> {
        self.open(scope)?;
        if self.phase.load(Ordering::Acquire) == OPEN {
            scope.end_tool_call(&self.id)?;
            self.phase.store(ENDED, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for ToolCallHandle {
    fn drop(&mut self) {
        if *self.phase.get_mut() == OPEN {
            let id = Arc::from(self.id.clone());
            self.run.shared.release(OpenItem::new(OpenKind::ToolCall, id, self.run.owner.clone()));
        }
    }
}
