//! Applying a patch, all of it or nothing (`STATE-2`).
//!
//! The document is changed in place. Each step leaves its inverse in a log, and the log is run backwards when a later
//! step fails; so the cost is that of the places a patch touches, and the document is never copied. After a failure
//! the document is the one before, the order of its members included.
//!
//! A patch may come from anybody. What it can make of a small document is bounded: 128 levels of nesting, and 256 MiB
//! of memory for the document with its copies, because fifty `copy` operations that each double the document would fill any
//! memory, whether they are in one patch or in fifty.

use std::mem;

use serde_json::Value;

use super::place::{MAX_DEPTH, charge, find, find_mut, nests_within, position, position_to_add};
use super::{JsonPatchOperation, JsonPointer, MoveOperation, PatchError, PatchFailure, equal};
use crate::JsonObject;

/// Bytes of memory that a document may take with the copies a patch makes. What else a patch adds is in proportion to the
/// patch.
const MAX_COPIED_BYTES: usize = 256 << 20;
/// Bytes of memory that a patch may copy without the document being measured, which costs more than such copies do. What
/// a document grows by that way, a patch of so many bytes could have added.
const UNMEASURED_BYTES: usize = 16 << 10;

/// Applies a patch to a document: every operation, in order, or none (`STATE-2`).
///
/// Beyond what RFC 6902 fixes: removing the root leaves `null`; `test` compares by [`equal`]; a value moved onto its
/// own place stays where it is. `add` on a member that exists keeps the member's position, and a removal the order of
/// the rest, where the feature `preserve_order` keeps an order at all.
///
/// # Errors
/// When an operation does not apply: a place or its parent is missing (no parent is created), a list position is
/// malformed or out of range, a `test` fails, a value would move into itself (`STATE-4`), the document would nest
/// deeper than 128 levels, or a copy would bring it beyond 256 MiB of memory. The document is then exactly as it was (`STATE-3`).
///
/// # Examples
/// ```
/// # use agui_core::patch::apply;
/// # use serde_json::json;
/// let mut state = json!({"plan": {"steps": ["wake"]}});
/// let patch: Vec<_> = serde_json::from_str(
///     r#"[{"op": "add", "path": "/plan/steps/-", "value": "eat"}, {"op": "test", "path": "/plan/steps/1", "value": "eat"}]"#,
/// )?;
/// apply(&mut state, &patch)?;
/// assert_eq!(state, json!({"plan": {"steps": ["wake", "eat"]}}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn apply(document: &mut Value, operations: &[JsonPatchOperation]) -> Result<(), PatchError> {
    apply_if(document, operations, |_| true).map(drop)
}

/// [`apply`] for a document that has to stay of a kind: a result that is not accepted is taken back as a failure is.
/// Says whether it was accepted.
pub(crate) fn apply_if(
    document: &mut Value,
    operations: &[JsonPatchOperation],
    accepts: impl FnOnce(&Value) -> bool,
) -> Result<bool, PatchError> {
    let mut patching = Patching { document, log: Vec::new(), copies: Copies::Unmeasured(UNMEASURED_BYTES) };
    for (index, operation) in operations.iter().enumerate() {
        if let Err((pointer, failure)) = patching.step(operation) {
            patching.roll_back();
            return Err(PatchError::of(index, operation, pointer, failure));
        }
    }
    let accepted = accepts(patching.document);
    if !accepted {
        patching.roll_back();
    }
    Ok(accepted)
}

/// What is wrong, and with which pointer of the operation.
type Fault<'p> = (&'p JsonPointer, PatchFailure);

struct Patching<'d, 'p> {
    document: &'d mut Value,
    log: Vec<Undo<'p>>,
    copies: Copies,
}

/// How many bytes may still be copied.
#[derive(Clone, Copy)]
enum Copies {
    /// Until the document is measured.
    Unmeasured(usize),
    /// In all.
    Measured(usize),
}

impl Copies {
    const fn budget(self) -> usize {
        match self {
            Self::Unmeasured(budget) | Self::Measured(budget) => budget,
        }
    }
}

/// The inverse of one change.
enum Undo<'p> {
    /// Puts the value back over the one that took its place.
    Restore { at: &'p JsonPointer, value: Value },
    /// Takes out the value that was put in.
    TakeOut { at: &'p JsonPointer },
    /// Puts the value back in; without one, that which the inverse just before this one has set free.
    PutBack { at: &'p JsonPointer, value: Option<Value>, seat: Seat },
}

/// Where in its container a value stood.
enum Seat {
    /// At a position of a list, or of an object that keeps an order.
    Position(usize),
    /// In an object without an order of ours. The feature of `serde_json` may still be on, by the will of another
    /// crate in the build: then the member that stood last, if it was not the value's own, has taken the seat.
    #[cfg(not(feature = "preserve_order"))]
    TakenBy(Option<String>),
}

impl<'p> Patching<'_, 'p> {
    fn step(&mut self, operation: &'p JsonPatchOperation) -> Result<(), Fault<'p>> {
        match operation {
            JsonPatchOperation::Add(add) => self.put_new(&add.path, add.value.clone()),
            JsonPatchOperation::Remove(remove) => self.remove(&remove.path),
            JsonPatchOperation::Replace(replace) => self.replace(&replace.path, &replace.value),
            JsonPatchOperation::Move(step) => self.relocate(step),
            JsonPatchOperation::Copy(copy) => {
                let value =
                    find(self.document, copy.from.as_str()).map_err(|failure| (&copy.from, failure))?;
                self.copies = match (self.copies, charge(value, self.copies.budget())) {
                    (Copies::Unmeasured(_), Some(left)) => Copies::Unmeasured(left),
                    (Copies::Measured(_), Some(left)) => Copies::Measured(left),
                    (Copies::Measured(_), None) => return Err((&copy.from, PatchFailure::TooLarge)),
                    (Copies::Unmeasured(_), None) => charge(self.document, MAX_COPIED_BYTES)
                        .and_then(|budget| charge(value, budget))
                        .map(Copies::Measured)
                        .ok_or((&copy.from, PatchFailure::TooLarge))?,
                };
                let value = value.clone();
                self.put_new(&copy.path, value)
            }
            JsonPatchOperation::Test(test) => match find(self.document, test.path.as_str()) {
                Ok(value) if equal(value, &test.value) => Ok(()),
                Ok(_) => Err((&test.path, PatchFailure::TestFailed)),
                Err(failure) => Err((&test.path, failure)),
            },
        }
    }

    fn put_new(&mut self, at: &'p JsonPointer, value: Value) -> Result<(), Fault<'p>> {
        check_depth(&value, at)?;
        let undo = put(self.document, at, value).map_err(|(failure, _)| (at, failure))?;
        self.log.push(undo);
        Ok(())
    }

    fn remove(&mut self, at: &'p JsonPointer) -> Result<(), Fault<'p>> {
        let undo = if at.is_root() {
            Undo::Restore { at, value: self.document.take() }
        } else {
            let (value, seat) = take(self.document, at).map_err(|failure| (at, failure))?;
            Undo::PutBack { at, value: Some(value), seat }
        };
        self.log.push(undo);
        Ok(())
    }

    fn replace(&mut self, at: &'p JsonPointer, value: &Value) -> Result<(), Fault<'p>> {
        check_depth(value, at)?;
        let place = find_mut(self.document, at.as_str()).map_err(|failure| (at, failure))?;
        let value = mem::replace(place, value.clone());
        self.log.push(Undo::Restore { at, value });
        Ok(())
    }

    fn relocate(&mut self, MoveOperation { from, path, .. }: &'p MoveOperation) -> Result<(), Fault<'p>> {
        if from.contains(path) {
            return Err((path, PatchFailure::MoveIntoItself));
        }
        let value = find(self.document, from.as_str()).map_err(|failure| (from, failure))?;
        if from == path {
            return Ok(());
        }
        // Moving up never makes a document deeper, and then the value need not be looked at.
        if path.depth() > from.depth() {
            check_depth(value, path)?;
        }
        let (value, seat) = take(self.document, from).map_err(|failure| (from, failure))?;
        match put(self.document, path, value) {
            Ok(undo) => {
                self.log.push(Undo::PutBack { at: from, value: None, seat });
                self.log.push(undo);
                Ok(())
            }
            Err((failure, value)) => {
                self.log.push(Undo::PutBack { at: from, value: Some(value), seat });
                Err((path, failure))
            }
        }
    }

    fn roll_back(&mut self) {
        let mut freed = None;
        while let Some(undo) = self.log.pop() {
            freed = undo.run(self.document, freed);
        }
    }
}

impl Undo<'_> {
    /// Takes a change back; gives the value that this sets free.
    ///
    /// The document is the one the change left, so every place is found.
    fn run(self, document: &mut Value, freed: Option<Value>) -> Option<Value> {
        match self {
            Self::Restore { at, value } => {
                let place = find_mut(document, at.as_str()).ok()?;
                Some(mem::replace(place, value))
            }
            Self::TakeOut { at } => {
                let (parent, token) = at.split_last()?;
                match find_mut(document, parent).ok()? {
                    // The member came last, and no order is lost with the last.
                    Value::Object(members) => members.remove(&*token),
                    Value::Array(items) if token == "-" => items.pop(),
                    Value::Array(items) => {
                        position(&token).ok().filter(|at| *at < items.len()).map(|at| items.remove(at))
                    }
                    _ => None,
                }
            }
            Self::PutBack { at, value, seat } => {
                let value = value.or(freed)?;
                let (parent, token) = at.split_last()?;
                match (find_mut(document, parent).ok()?, seat) {
                    (Value::Array(items), Seat::Position(at)) if at <= items.len() => items.insert(at, value),
                    (Value::Object(members), seat) => put_member_back(members, &token, value, seat),
                    _ => {}
                }
                None
            }
        }
    }
}

fn check_depth<'p>(value: &Value, at: &'p JsonPointer) -> Result<(), Fault<'p>> {
    let levels = MAX_DEPTH.saturating_sub(at.depth());
    if nests_within(value, levels) { Ok(()) } else { Err((at, PatchFailure::TooDeep)) }
}

/// The `add` of RFC 6902. A failure returns the value.
fn put<'p>(
    document: &mut Value,
    at: &'p JsonPointer,
    value: Value,
) -> Result<Undo<'p>, (PatchFailure, Value)> {
    let Some((parent, token)) = at.split_last() else {
        return Ok(Undo::Restore { at, value: mem::replace(document, value) });
    };
    match find_mut(document, parent) {
        Ok(Value::Object(members)) => {
            if let Some(place) = members.get_mut(&*token) {
                return Ok(Undo::Restore { at, value: mem::replace(place, value) });
            }
            members.insert(token.into_owned(), value);
            Ok(Undo::TakeOut { at })
        }
        Ok(Value::Array(items)) => match position_to_add(&token, items.len()) {
            Ok(position) => {
                items.insert(position, value);
                Ok(Undo::TakeOut { at })
            }
            Err(failure) => Err((failure, value)),
        },
        Ok(_) => Err((PatchFailure::NotAContainer, value)),
        Err(failure) => Err((failure, value)),
    }
}

/// The `remove` of RFC 6902, below the root.
fn take(document: &mut Value, at: &JsonPointer) -> Result<(Value, Seat), PatchFailure> {
    let (parent, token) = at.split_last().ok_or(PatchFailure::PathNotFound)?;
    match find_mut(document, parent)? {
        Value::Object(members) => take_member(members, &token).ok_or(PatchFailure::PathNotFound),
        Value::Array(items) => {
            let at = position(&token)?;
            if at < items.len() {
                Ok((items.remove(at), Seat::Position(at)))
            } else {
                Err(PatchFailure::IndexOutOfBounds)
            }
        }
        _ => Err(PatchFailure::NotAContainer),
    }
}

#[cfg(feature = "preserve_order")]
fn take_member(members: &mut JsonObject, name: &str) -> Option<(Value, Seat)> {
    let position = members.keys().position(|key| key == name)?;
    // `remove` would put the last member in the place of this one.
    members.shift_remove(name).map(|value| (value, Seat::Position(position)))
}

#[cfg(feature = "preserve_order")]
fn put_member_back(members: &mut JsonObject, name: &str, value: Value, Seat::Position(position): Seat) {
    members.shift_insert(position.min(members.len()), name.to_owned(), value);
}

#[cfg(not(feature = "preserve_order"))]
fn take_member(members: &mut JsonObject, name: &str) -> Option<(Value, Seat)> {
    let last = members.keys().next_back().filter(|last| *last != name).cloned();
    members.remove(name).map(|value| (value, Seat::TakenBy(last)))
}

#[cfg(not(feature = "preserve_order"))]
fn put_member_back(members: &mut JsonObject, name: &str, value: Value, seat: Seat) {
    members.insert(name.to_owned(), value);
    // Taking out the member that holds the seat lets the last one have it, and that is the one just put in.
    if let Seat::TakenBy(Some(holder)) = seat
        && let Some(value) = members.remove(&holder)
    {
        members.insert(holder, value);
    }
}
