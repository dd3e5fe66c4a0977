//! Finding a place in a document, and how much of a document a value is.
//!
//! Nothing here changes a document. A list position is what RFC 6901 says: digits without leading zeros, or `-`.

use serde_json::Value;

use super::PatchFailure;
use super::pointer::tokens_of;

/// Levels of nesting that every wire carries; a deeper document could not be sent back, and a much deeper one would
/// exhaust the stack of whoever drops it.
pub(super) const MAX_DEPTH: usize = 128;

/// The value at a pointer.
pub(super) fn find<'v>(document: &'v Value, pointer: &str) -> Result<&'v Value, PatchFailure> {
    tokens_of(pointer).try_fold(document, |value, token| child(value, &token))
}

/// The value at a pointer, to be changed.
pub(super) fn find_mut<'v>(document: &'v mut Value, pointer: &str) -> Result<&'v mut Value, PatchFailure> {
    tokens_of(pointer).try_fold(document, |value, token| child_mut(value, &token))
}

/// One step down.
pub(super) fn child<'v>(value: &'v Value, token: &str) -> Result<&'v Value, PatchFailure> {
    match value {
        Value::Object(members) => members.get(token).ok_or(PatchFailure::PathNotFound),
        Value::Array(items) => items.get(position(token)?).ok_or(PatchFailure::IndexOutOfBounds),
        _ => Err(PatchFailure::NotAContainer),
    }
}

fn child_mut<'v>(value: &'v mut Value, token: &str) -> Result<&'v mut Value, PatchFailure> {
    match value {
        Value::Object(members) => members.get_mut(token).ok_or(PatchFailure::PathNotFound),
        Value::Array(items) => items.get_mut(position(token)?).ok_or(PatchFailure::IndexOutOfBounds),
        _ => Err(PatchFailure::NotAContainer),
    }
}

/// The position of an element that exists.
pub(super) fn position(token: &str) -> Result<usize, PatchFailure> {
    // `usize` would also parse a plus sign.
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    match token {
        "-" => Err(PatchFailure::IndexOutOfBounds),
        "0" => Ok(0),
        // Digits that do not fit are a position no list has.
        _ if digits && !token.starts_with('0') => token.parse().map_err(|_| PatchFailure::IndexOutOfBounds),
        _ => Err(PatchFailure::InvalidIndex),
    }
}

/// The position that a value can be added at in a list of `length`.
pub(super) fn position_to_add(token: &str, length: usize) -> Result<usize, PatchFailure> {
    if token == "-" {
        return Ok(length);
    }
    position(token).and_then(|at| if at <= length { Ok(at) } else { Err(PatchFailure::IndexOutOfBounds) })
}

/// Whether a value nests at most `levels` containers. Looks no deeper than that.
pub(super) fn nests_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(members) => {
            levels > 0 && members.values().all(|member| nests_within(member, levels - 1))
        }
        Value::Array(items) => levels > 0 && items.iter().all(|item| nests_within(item, levels - 1)),
        _ => true,
    }
}

/// Takes the memory of a value, roughly and in bytes, off a budget; `None` when it does not suffice.
pub(super) fn charge(value: &Value, budget: usize) -> Option<usize> {
    let budget = budget.checked_sub(own_memory(value))?;
    match value {
        Value::Object(members) => members
            .iter()
            .try_fold(budget, |budget, (name, member)| charge(member, budget.checked_sub(name.len())?)),
        Value::Array(items) => items.iter().try_fold(budget, |budget, item| charge(item, budget)),
        _ => Some(budget),
    }
}

/// What a value takes without what it contains. Members stand in nodes of eleven, which may be half full: an object of one
/// small member is a hundred times as large as its JSON.
fn own_memory(value: &Value) -> usize {
    const NODE: usize = 11 * (size_of::<String>() + size_of::<Value>());
    size_of::<Value>()
        + match value {
            Value::Object(members) => members.len().div_ceil(5) * NODE,
            Value::String(text) => text.len(),
            _ => 0,
        }
}

/// The size of a value in bytes, roughly that of its JSON.
pub(super) fn size(value: &Value) -> usize {
    own_size(value)
        + match value {
            Value::Object(members) => {
                members.iter().map(|(name, member)| member_overhead(name) + size(member)).sum()
            }
            Value::Array(items) => items.iter().map(size).sum(),
            _ => 0,
        }
}

/// What the name of a member adds to the size of its object.
pub(super) fn member_overhead(name: &str) -> usize {
    name.len() + 3
}

/// The size of a value without what it contains. Generous for numbers, so that no number has to be formatted.
pub(super) fn own_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        _ => 6,
    }
}
