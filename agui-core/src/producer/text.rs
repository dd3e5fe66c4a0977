//! A streamed text message.

use std::borrow::Cow;
use std::sync::Arc;

use crate::id::mint;
use crate::sequence::{OpenItem, OpenKind};
use crate::{MessageId, TextMessageRole};

use super::queue::Tried;
use super::{Run, TextStart, WriteError};

/// A text message that is being written.
///
/// It opens with the first delta, so one that is never written to leaves no trace. When the handle is dropped, the
/// message is closed before its owner's next event; [`end`](Self::end) closes it at once.
#[derive(Debug)]
pub struct TextHandle {
    run: Run,
    id: MessageId,
    /// How it opens; taken when it has.
    start: Option<TextStart>,
    ended: bool,
}

impl TextHandle {
    pub(super) fn new(run: Run) -> Self {
        Self { run, id: mint("msg-"), start: Some(TextStart::new()), ended: false }
    }

    /// Sets the id before the message opens (`SHAPE-9`); the id of a closed message reopens it (`STREAM-4`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        if self.start.is_some() {
            self.id = id.into();
        }
        self
    }

    /// Sets the role before the message opens; the assistant speaks where none is set.
    #[must_use]
    pub fn with_role(mut self, role: TextMessageRole) -> Self {
        self.start = self.start.take().map(|start| start.with_role(role));
        self
    }

    /// Sets the speaker's name before the message opens.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.start = self.start.take().map(|start| start.with_name(name));
        self
    }

    /// The message's id.
    pub const fn id(&self) -> &MessageId {
        &self.id
    }

    /// Opens the message, if it is not open yet.
    ///
    /// # Errors
    /// The id is open elsewhere or taken, or the run takes no more events.
    pub async fn start(&mut self) -> Result<(), WriteError> {
        self.write(None, false).await
    }

    /// Appends text; the first one opens the message, an empty one is left out.
    ///
    /// # Errors
    /// The run takes no more events, or something else has closed the message.
    ///
    /// # Cancel safety
    /// Nothing has been written if the future is dropped.
    pub async fn delta<'d>(&mut self, delta: impl Into<Cow<'d, str>>) -> Result<(), WriteError> {
        let delta = delta.into();
        if delta.is_empty() {
            return Ok(());
        }
        if self.start.is_none() {
            let Self { run, id, .. } = self;
            return match run.try_with(|scope| scope.text_delta(id, delta)) {
                Tried::Written(result) => result,
                refused => run.shared.write_later(refused).await,
            };
        }
        self.write(Some(delta), false).await
    }

    /// Closes the message and returns its id. One that was never written to goes out empty.
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn end(mut self) -> Result<MessageId, WriteError> {
        self.write(None, true).await?;
        Ok(self.id.clone())
    }

    async fn write(&mut self, delta: Option<Cow<'_, str>>, end: bool) -> Result<(), WriteError> {
        let Self { run, id, start, ended } = self;
        run.with(|scope| {
            if let Some(opening) = start.clone() {
                scope.start_text(opening.with_id(id.clone()))?;
                *start = None;
            }
            if let Some(delta) = delta {
                scope.text_delta(id, delta)?;
            }
            if end {
                scope.end_text(id)?;
                *ended = true;
            }
            Ok(())
        })
        .await
    }
}

impl Drop for TextHandle {
    fn drop(&mut self) {
        if self.start.is_none() && !self.ended {
            let id = Arc::from(self.id.clone());
            self.run.shared.release(OpenItem::new(OpenKind::TextMessage, id, self.run.owner.clone()));
        }
    }
}
