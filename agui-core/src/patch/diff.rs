//! The patch between two documents.
//!
//! It is exact and it is found in one pass, but it is not always the shortest there is. Only `add`, `remove` and
//! `replace` are used: looking for moves and copies costs more than it saves. Lists are compared position by position
//! after what they have in common at both ends is set aside, not by a longest common subsequence, which is quadratic.

use serde_json::Value;

use super::place::{member_overhead, own_size, size};
use super::{JsonPatchOperation, JsonPointer};
use crate::JsonObject;

/// What an operation weighs beside its path and its value.
const OPERATION_BYTES: usize = 36;

/// How many bytes a patch may be larger than the value it changes before the value is replaced as a whole. Small
/// objects so keep a patch that says what has changed, and no patch is larger than its document by more than this.
const SLACK_BYTES: usize = 256;

/// The patch that turns `from` into `to`; empty if they are equal by `==`, which tells 1 from 1.0.
///
/// Applied to `from` it gives a document equal to `to`; the order of members it does not restore. It replaces the
/// smallest values that differ, but a whole list or object where the patch of its parts would be larger than that
/// value by more than 256 bytes. The cost is linear in the two documents (times the nesting of lists that change
/// length, which are looked at once on each level).
///
/// # Examples
/// ```
/// # use agui_core::patch::diff;
/// # use serde_json::json;
/// let patch = diff(&json!({"a": 1, "l": ["x", "z"], "old": 0}), &json!({"a": 1, "l": ["x", "y", "z"]}));
/// assert_eq!(
///     serde_json::to_value(&patch)?,
///     json!([{"op": "remove", "path": "/old"}, {"op": "add", "path": "/l/1", "value": "y"}]),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn diff(from: &Value, to: &Value) -> Vec<JsonPatchOperation> {
    let mut diff = Diff { path: JsonPointer::root(), steps: Vec::new(), weight: 0 };
    diff.values(from, to);
    diff.steps.into_iter().map(Step::into_operation).collect()
}

struct Diff<'v> {
    path: JsonPointer,
    /// Values are borrowed until the end, because a step may be given up for a larger one.
    steps: Vec<Step<'v>>,
    /// The size of the steps in bytes, roughly that of their JSON.
    weight: usize,
}

struct Step<'v> {
    path: JsonPointer,
    change: Change<'v>,
}

enum Change<'v> {
    Add(&'v Value),
    Remove,
    Replace(&'v Value),
}

impl Step<'_> {
    fn into_operation(self) -> JsonPatchOperation {
        match self.change {
            Change::Add(value) => JsonPatchOperation::add(self.path, value.clone()),
            Change::Remove => JsonPatchOperation::remove(self.path),
            Change::Replace(value) => JsonPatchOperation::replace(self.path, value.clone()),
        }
    }
}

impl<'v> Diff<'v> {
    /// Each of these adds the steps of one place and gives the size of its new value.
    fn values(&mut self, from: &'v Value, to: &'v Value) -> usize {
        let (steps, weight) = (self.steps.len(), self.weight);
        let size = own_size(to)
            + match (from, to) {
                (Value::Object(from), Value::Object(to)) => self.objects(from, to),
                (Value::Array(from), Value::Array(to)) => self.lists(from, to),
                _ if from == to => return size(to),
                _ => return self.replace(to),
            };
        let whole = OPERATION_BYTES + self.path.as_str().len() + size;
        if self.weight - weight > whole + SLACK_BYTES {
            self.steps.truncate(steps);
            self.weight = weight + whole;
            self.steps.push(Step { path: self.path.clone(), change: Change::Replace(to) });
        }
        size
    }

    fn objects(&mut self, from: &'v JsonObject, to: &'v JsonObject) -> usize {
        for name in from.keys().filter(|name| !to.contains_key(*name)) {
            self.below(name, Self::remove);
        }
        to.iter()
            .map(|(name, new)| {
                let size = self.below(name, |diff| match from.get(name) {
                    Some(old) => diff.values(old, new),
                    None => diff.add(new),
                });
                member_overhead(name) + size
            })
            .sum()
    }

    fn lists(&mut self, from: &'v [Value], to: &'v [Value]) -> usize {
        // Lists of one length need no search for what they have in common: comparing by position finds it.
        let (prefix, suffix) = if from.len() == to.len() { (0, 0) } else { common_ends(from, to) };
        let (from_end, to_end) = (from.len() - suffix, to.len() - suffix);
        let mut total = to.iter().take(prefix).chain(to.iter().skip(to_end)).map(size).sum();
        let pairs = from.iter().zip(to).enumerate().take(from_end.min(to_end)).skip(prefix);
        for (position, (old, new)) in pairs {
            total += self.at(position, |diff| diff.values(old, new));
        }
        // From the end, so that the positions before it stay what they are.
        for position in (to_end.max(prefix)..from_end).rev() {
            self.at(position, Self::remove);
        }
        for (position, new) in to.iter().enumerate().take(to_end).skip(from_end) {
            total += self.at(position, |diff| diff.add(new));
        }
        total
    }

    fn below<T>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.as_str().len();
        self.path.push(name);
        let result = visit(self);
        self.path.truncate(length);
        result
    }

    fn at<T>(&mut self, position: usize, visit: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.as_str().len();
        self.path.push_position(position);
        let result = visit(self);
        self.path.truncate(length);
        result
    }

    fn add(&mut self, value: &'v Value) -> usize {
        self.emit(Change::Add(value), size(value))
    }

    fn replace(&mut self, value: &'v Value) -> usize {
        self.emit(Change::Replace(value), size(value))
    }

    fn remove(&mut self) -> usize {
        self.emit(Change::Remove, 0)
    }

    fn emit(&mut self, change: Change<'v>, size: usize) -> usize {
        self.weight += OPERATION_BYTES + self.path.as_str().len() + size;
        self.steps.push(Step { path: self.path.clone(), change });
        size
    }
}

/// How many elements two lists share at the beginning, and then at the end.
fn common_ends(from: &[Value], to: &[Value]) -> (usize, usize) {
    let prefix = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let rest = from.len().min(to.len()) - prefix;
    let suffix = from.iter().rev().zip(to.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (prefix, suffix)
}
