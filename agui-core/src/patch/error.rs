//! Why a patch does not apply.
//!
//! An error names the operation and the place, never a value of the document: those belong to the application and
//! may be secret.

use std::fmt::{self, Write as _};

use super::{JsonPatchOperation, JsonPointer};

/// Most characters of a pointer that a message shows.
const SHOWN: usize = 120;

/// A patch that does not apply (`STATE-3`); the document is as it was.
///
/// # Examples
/// ```
/// # use agui_core::patch::{PatchFailure, apply};
/// # use agui_core::JsonPatchOperation;
/// # use serde_json::json;
/// let mut state = json!({"plan": []});
/// let patch = [JsonPatchOperation::replace("/no/such".parse()?, 1)];
/// let error = apply(&mut state, &patch).unwrap_err();
/// assert_eq!((error.index(), error.failure()), (0, PatchFailure::PathNotFound));
/// assert_eq!(
///     error.to_string(),
///     r#"operation 0 (replace) does not apply at "/no/such": the path leads nowhere (STATE-3)"#,
/// );
/// # Ok::<(), agui_core::patch::JsonPointerError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("operation {index} ({op}) does not apply at {}: {failure} ({})", Shown(pointer), .failure.rule())]
#[non_exhaustive]
pub struct PatchError {
    index: usize,
    op: &'static str,
    pointer: JsonPointer,
    failure: PatchFailure,
}

/// What is wrong with an operation that does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PatchFailure {
    /// An object on the way, or at its end, lacks the member. No parent is ever created (`STATE-2`).
    #[error("the path leads nowhere")]
    PathNotFound,
    /// A list has no such position. `-`, the position after the last, exists only for adding.
    #[error("the list has no such position")]
    IndexOutOfBounds,
    /// A step into a list is no position: neither `-` nor decimal digits without leading zeros.
    #[error("a list position is digits without leading zeros")]
    InvalidIndex,
    /// A step leads into a value that is neither an object nor a list.
    #[error("the path leads into a value that is neither object nor list")]
    NotAContainer,
    /// The value is not the one a `test` names.
    #[error("the value is not the one the test names")]
    TestFailed,
    /// A `move` whose `from` is a proper prefix of its `path` (`STATE-4`).
    #[error("a value cannot be moved into itself")]
    MoveIntoItself,
    /// The document would nest deeper than 128 levels, which no wire carries.
    #[error("the document would nest deeper than 128 levels")]
    TooDeep,
    /// The document would take more than 256 MiB of memory with what `copy` operations add to it.
    #[error("the document with its copies exceeds 256 MiB of memory")]
    TooLarge,
}

impl PatchFailure {
    /// The number of the rule, as in the crate's documentation.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::MoveIntoItself => "STATE-4",
            _ => "STATE-3",
        }
    }
}

impl PatchError {
    pub(super) fn new(index: usize, op: &'static str, pointer: &JsonPointer, failure: PatchFailure) -> Self {
        Self { index, op, pointer: pointer.clone(), failure }
    }

    pub(super) fn of(
        index: usize,
        operation: &JsonPatchOperation,
        pointer: &JsonPointer,
        failure: PatchFailure,
    ) -> Self {
        Self::new(index, operation.op(), pointer, failure)
    }

    /// Position of the operation in the patch, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What the operation does: `add`, `remove`, `replace`, `move`, `copy` or `test`.
    pub fn op(&self) -> &'static str {
        self.op
    }

    /// The operation's pointer that is at fault: its `path`, or its `from`.
    pub fn pointer(&self) -> &JsonPointer {
        &self.pointer
    }

    /// What is wrong.
    pub fn failure(&self) -> PatchFailure {
        self.failure
    }

    /// The number of the rule: `STATE-4` for a move into itself, `STATE-3` for the rest.
    pub fn rule(&self) -> &'static str {
        self.failure.rule()
    }
}

/// A pointer in quotes, its control characters escaped, cut at a bounded length.
struct Shown<'a>(&'a JsonPointer);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str();
        let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
        let (shown, rest) = text.split_at(end);
        f.write_char('"')?;
        write!(f, "{}", shown.escape_debug())?;
        f.write_str(if rest.is_empty() { "\"" } else { "…\"" })
    }
}
