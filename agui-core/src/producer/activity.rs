//! An activity of a run.

use crate::id::mint;
use crate::patch::JsonPatchOperation;
use crate::{ActivitySnapshotEvent, JsonObject, MessageId};

use super::{Run, WriteError};

/// An activity: structured progress shown between messages (`STATE-7`).
///
/// It appears with its first [`snapshot`](Self::snapshot); changes need one before them (`STATE-11`). Activities have
/// no end.
#[derive(Debug, Clone)]
pub struct ActivityHandle {
    run: Run,
    id: MessageId,
    activity_type: String,
}

impl ActivityHandle {
    pub(super) fn new(run: Run, activity_type: String) -> Self {
        Self { run, id: mint("activity-"), activity_type }
    }

    /// Sets the id, for an activity that exists already or has to be found again.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = id.into();
        self
    }

    /// The activity message's id.
    pub const fn id(&self) -> &MessageId {
        &self.id
    }

    /// Shows the activity, or replaces what it shows.
    ///
    /// # Errors
    /// The id belongs to a message of another kind, or the run takes no more events.
    pub async fn snapshot(&self, content: JsonObject) -> Result<(), WriteError> {
        self.run.with(|scope| scope.activity_snapshot(&self.id, self.activity_type.clone(), content)).await
    }

    /// Shows the activity unless it is shown already (`replace: false`).
    ///
    /// # Errors
    /// The id belongs to a message of another kind, or the run takes no more events.
    pub async fn snapshot_if_absent(&self, content: JsonObject) -> Result<(), WriteError> {
        let event =
            ActivitySnapshotEvent::new(&self.id, self.activity_type.clone(), content).with_replace(false);
        self.run.emit(event).await
    }

    /// Changes what it shows.
    ///
    /// # Errors
    /// The activity has no snapshot yet (`STATE-11`), or the run takes no more events.
    pub async fn patch(&self, operations: Vec<JsonPatchOperation>) -> Result<(), WriteError> {
        self.run.with(|scope| scope.activity_delta(&self.id, self.activity_type.clone(), operations)).await
    }
}
