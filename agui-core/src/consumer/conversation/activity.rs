//! Activities (`STATE-7`, `STATE-8`).

use serde_json::Value;

use super::state::failure;
use super::{Change, Conversation, MessageKey, merge, warn};
use crate::sequence::Quoted;
use crate::{
    ActivityDeltaEvent, ActivityMessage, ActivitySnapshotEvent, EventType, JsonObject, JsonPatchOperation,
    Message, Warning, patch,
};

impl Conversation {
    pub(super) fn activity_snapshot(
        &mut self,
        event: ActivitySnapshotEvent,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let replaces = event.replace.unwrap_or(true);
        let Some(at) = self.slots.find(&event.message_id) else {
            let at = self.slots.push(activity(event), super::slots::Origin::Said);
            return Change::MessageCreated(MessageKey(at));
        };
        match self.slots.get_mut(at).map(|slot| &mut slot.message) {
            Some(Message::Activity(held)) => {
                merge(&mut held.metadata, event.metadata.as_ref());
                if replaces {
                    held.activity_type = event.activity_type;
                    held.content = event.content;
                    held.subagent_run_id = event.subagent_run_id;
                }
            }
            Some(other) => {
                let role = other.role();
                let what = if replaces { "is replaced" } else { "stays" };
                let message = format!(
                    "activity snapshot for {}, a message of role {role}, which {what}",
                    Quoted(event.message_id.as_str())
                );
                warn(warnings, "STATE-7", EventType::ActivitySnapshot, "/messageId", message);
                if !replaces {
                    return Change::Nothing;
                }
                self.slots.replace(at, activity(event));
            }
            None => {}
        }
        Change::MessageChanged(MessageKey(at))
    }

    pub(super) fn activity_delta(
        &mut self,
        event: &ActivityDeltaEvent,
        warnings: &mut Vec<Warning>,
    ) -> Change {
        let kind = EventType::ActivityDelta;
        let id = Quoted(event.message_id.as_str());
        let at = self.slots.find(&event.message_id);
        let held = match at.and_then(|at| self.slots.get_mut(at)).map(|slot| &mut slot.message) {
            Some(Message::Activity(held)) => held,
            other => {
                let why = match other {
                    None => "no message of the id is held".to_owned(),
                    Some(other) => format!("the message is of role {}", other.role()),
                };
                let message = format!("delta for activity {id} skipped: {why}");
                warn(warnings, "STATE-8", kind, "/messageId", message);
                return Change::Nothing;
            }
        };
        // Metadata merges even where the patch does not apply.
        merge(&mut held.metadata, event.metadata.as_ref());
        match patch_content(&mut held.content, &event.patch) {
            Ok(()) => held.activity_type.clone_from(&event.activity_type),
            Err(Refusal::Patch(error)) => {
                let path = format!("/patch/{}", error.index());
                let message = format!("activity {id}: {}; it stays as it was", failure(&error));
                warn(warnings, error.rule(), kind, path, message);
            }
            Err(Refusal::NoObject) => {
                let message = format!("activity {id}: the patch leaves no object; it stays as it was");
                warn(warnings, "STATE-8", kind, "/patch", message);
            }
        }
        at.map_or(Change::Nothing, |at| Change::MessageChanged(MessageKey(at)))
    }
}

enum Refusal {
    Patch(patch::PatchError),
    NoObject,
}

/// Patches the content, which stays an object or stays as it was.
fn patch_content(content: &mut JsonObject, operations: &[JsonPatchOperation]) -> Result<(), Refusal> {
    let mut document = Value::Object(std::mem::take(content));
    let applied = patch::apply_if(&mut document, operations, Value::is_object);
    // An object in either case: the one accepted, or the one before.
    if let Value::Object(document) = document {
        *content = document;
    }
    match applied {
        Ok(true) => Ok(()),
        Ok(false) => Err(Refusal::NoObject),
        Err(error) => Err(Refusal::Patch(error)),
    }
}

fn activity(event: ActivitySnapshotEvent) -> Message {
    let mut message = ActivityMessage::new(event.message_id, event.activity_type, event.content);
    message.subagent_run_id = event.subagent_run_id;
    message.metadata = event.metadata;
    message.into()
}
