//! The patch of one change, made to fit the document that the reader holds.
//!
//! RFC 6902 creates no parents and replaces nothing that is not there; whoever writes `replace` for a member that the
//! reader lacks sends a patch that does not apply. These functions look first. They do not change the document.

use std::borrow::Cow;

use serde_json::Value;

use super::place::{MAX_DEPTH, child, find, nests_within, position_to_add};
use super::{JsonPatchOperation, JsonPointer, PatchError, PatchFailure};
use crate::JsonObject;

/// The operations that put `value` at `pointer` in `document`.
///
/// What stands there is replaced. A member that is missing is added, together with the objects that lead to it: one
/// operation at the first place that is missing, in which every further step is the name of a member. In a list, a
/// position that exists is replaced; its length, and `-`, append.
///
/// # Errors
/// When a parent is neither object nor list (`null` is neither), a list position is malformed or beyond the list's
/// length, `-` stands below a place that is missing (nothing says that a list is meant), or the document would nest
/// deeper than 128 levels. The error's operation is 0.
///
/// # Examples
/// ```
/// # use agui_core::patch::{apply, set};
/// # use serde_json::json;
/// let mut state = json!({});
/// let patch = set(&state, &"/plan/title".parse()?, json!("whales"))?;
/// assert_eq!(serde_json::to_value(&patch)?, json!([{"op": "add", "path": "/plan", "value": {"title": "whales"}}]));
///
/// apply(&mut state, &patch)?;
/// let patch = set(&state, &"/plan/title".parse()?, json!("dolphins"))?;
/// assert_eq!(serde_json::to_value(&patch)?, json!([{"op": "replace", "path": "/plan/title", "value": "dolphins"}]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set(
    document: &Value,
    pointer: &JsonPointer,
    value: Value,
) -> Result<Vec<JsonPatchOperation>, PatchError> {
    place(document, pointer, value)
        .map(|operation| vec![operation])
        .map_err(|failure| PatchError::new(0, "add", pointer, failure))
}

/// The operations that take away what stands at `pointer` in `document`; the root becomes `null`.
///
/// # Errors
/// When nothing stands there. The error's operation is 0.
///
/// # Examples
/// ```
/// # use agui_core::patch::remove;
/// # use serde_json::json;
/// let state = json!({"plan": ["wake", "eat"]});
/// let patch = remove(&state, &"/plan/0".parse()?)?;
/// assert_eq!(serde_json::to_value(&patch)?, json!([{"op": "remove", "path": "/plan/0"}]));
/// assert!(remove(&state, &"/plan/2".parse()?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn remove(document: &Value, pointer: &JsonPointer) -> Result<Vec<JsonPatchOperation>, PatchError> {
    match find(document, pointer.as_str()) {
        Ok(_) => Ok(vec![JsonPatchOperation::remove(pointer.clone())]),
        Err(failure) => Err(PatchError::new(0, "remove", pointer, failure)),
    }
}

fn place(document: &Value, pointer: &JsonPointer, value: Value) -> Result<JsonPatchOperation, PatchFailure> {
    if !nests_within(&value, MAX_DEPTH.saturating_sub(pointer.depth())) {
        return Err(PatchFailure::TooDeep);
    }
    let mut tokens = pointer.tokens();
    let mut parent = document;
    let mut steps = 0;
    while let Some(token) = tokens.next() {
        steps += 1;
        if is_missing(parent, &token)? {
            let value = wrap(tokens, value)?;
            return Ok(JsonPatchOperation::add(pointer.prefix(steps), value));
        }
        parent = child(parent, &token)?;
    }
    Ok(JsonPatchOperation::replace(pointer.clone(), value))
}

/// Whether a step leads to a place that is empty but can be filled.
fn is_missing(parent: &Value, token: &str) -> Result<bool, PatchFailure> {
    match parent {
        Value::Object(members) => Ok(!members.contains_key(token)),
        Value::Array(items) => Ok(position_to_add(token, items.len())? == items.len()),
        _ => Err(PatchFailure::NotAContainer),
    }
}

/// The value inside one new object per step.
fn wrap<'t>(
    steps: impl DoubleEndedIterator<Item = Cow<'t, str>>,
    value: Value,
) -> Result<Value, PatchFailure> {
    steps.rev().try_fold(value, |value, name| {
        if name == "-" {
            return Err(PatchFailure::PathNotFound);
        }
        Ok(Value::Object(JsonObject::from_iter([(name.into_owned(), value)])))
    })
}
