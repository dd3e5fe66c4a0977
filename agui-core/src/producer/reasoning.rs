//! Streamed reasoning.

use std::borrow::Cow;
use std::sync::Arc;

use crate::id::mint;
use crate::sequence::{OpenItem, OpenKind};
use crate::{MessageId, ReasoningEncryptedValueSubtype};

use super::{Run, WriteError};

/// Reasoning that is being written: a span, and a message in it under the same id (`STREAM-7`).
///
/// Both open with the first delta and close with [`end`](Self::end), or before their owner's next event once the
/// handle is dropped.
#[derive(Debug)]
pub struct ReasoningHandle {
    run: Run,
    id: MessageId,
    started: bool,
    ended: bool,
    encrypted: Option<String>,
}

impl ReasoningHandle {
    pub(super) fn new(run: Run) -> Self {
        Self { run, id: mint("reasoning-"), started: false, ended: false, encrypted: None }
    }

    /// Sets the id before the reasoning opens. It has to differ from every text message's (`SHAPE-9`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        if !self.started {
            self.id = id.into();
        }
        self
    }

    /// The id of the span and of its message.
    pub const fn id(&self) -> &MessageId {
        &self.id
    }

    /// Opens the span and the message, if they are not open yet.
    ///
    /// # Errors
    /// The id is taken, or the run takes no more events.
    pub async fn start(&mut self) -> Result<(), WriteError> {
        self.write(None, false).await
    }

    /// Appends text; the first one opens the span and the message, an empty one is left out.
    ///
    /// # Errors
    /// The run takes no more events.
    ///
    /// # Cancel safety
    /// Nothing has been written if the future is dropped.
    pub async fn delta<'d>(&mut self, delta: impl Into<Cow<'d, str>>) -> Result<(), WriteError> {
        let delta = delta.into();
        if delta.is_empty() {
            return Ok(());
        }
        self.write(Some(delta), false).await
    }

    /// Gives the message an opaque value that comes back with the next input (`INT-5`). It goes out with
    /// [`end`](Self::end); a handle that is dropped does not send it.
    pub fn encrypted(&mut self, value: impl Into<String>) {
        self.encrypted = Some(value.into());
    }

    /// Closes the message and the span, and returns their id.
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn end(mut self) -> Result<MessageId, WriteError> {
        self.write(None, true).await?;
        Ok(self.id.clone())
    }

    async fn write(&mut self, delta: Option<Cow<'_, str>>, end: bool) -> Result<(), WriteError> {
        let Self { run, id, started, ended, encrypted } = self;
        run.with(|scope| {
            if !*started {
                scope.start_reasoning(id)?;
                *started = true;
                scope.start_reasoning_message(id)?;
            }
            if let Some(delta) = delta {
                scope.reasoning_delta(id, delta)?;
            }
            if end {
                scope.end_reasoning_message(id)?;
                if let Some(value) = encrypted.take() {
                    scope.encrypted_value(ReasoningEncryptedValueSubtype::Message, id.clone(), value)?;
                }
                scope.end_reasoning(id)?;
                *ended = true;
            }
            Ok(())
        })
        .await
    }
}

impl Drop for ReasoningHandle {
    fn drop(&mut self) {
        if self.started && !self.ended {
            let shared = &self.run.shared;
            let id: Arc<str> = self.id.clone().into();
            for kind in [OpenKind::ReasoningSpan, OpenKind::ReasoningMessage] {
                shared.release(OpenItem::new(kind, Arc::clone(&id), self.run.owner.clone()));
            }
        }
    }
}
