//! The state: replaced by snapshots, patched by deltas (`STATE-1` to `STATE-5`, `STATE-10`).

use serde_json::Value;

use super::{Change, Conversation, warn};
use crate::patch::{self, PatchError};
use crate::sequence::Quoted;
use crate::{EventType, JsonPatchOperation, Warning};

impl Conversation {
    pub(super) fn state_snapshot(&mut self, snapshot: Value) -> Change {
        self.state = snapshot;
        self.null_unsent = false;
        Change::StateReplaced
    }

    pub(super) fn state_delta(
        &mut self,
        delta: &[JsonPatchOperation],
        warnings: &mut Vec<Warning>,
    ) -> Change {
        if delta.is_empty() {
            return Change::Nothing;
        }
        let applied = if self.null_unsent {
            // The producer was sent no state, which to it is `{}` (STATE-2).
            let mut baseline = Value::Object(serde_json::Map::new());
            patch::apply(&mut baseline, delta).map(|()| {
                self.state = baseline;
                self.null_unsent = false;
            })
        } else {
            patch::apply(&mut self.state, delta)
        };
        match applied {
            Ok(()) => Change::StatePatched,
            Err(error) => {
                let path = format!("/delta/{}", error.index());
                let message = format!("{}; the state stays as it was", failure(&error));
                warn(warnings, error.rule(), EventType::StateDelta, path, message);
                Change::Nothing
            }
        }
    }
}

/// What does not apply, where and why. The rule stands beside it in the warning.
pub(super) fn failure(error: &PatchError) -> String {
    format!(
        "operation {} ({}) does not apply at {}: {}",
        error.index(),
        error.op(),
        Quoted(error.pointer().as_str()),
        error.failure()
    )
}
