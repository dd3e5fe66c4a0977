//! Making operations and looking into them.

use serde_json::Value;

use super::{
    AddOperation, CopyOperation, JsonPatchOperation, JsonPointer, MoveOperation, RemoveOperation,
    ReplaceOperation, TestOperation,
};

/// # Examples
/// ```
/// # use agui_core::{JsonPatchOperation, JsonPointer};
/// let operation = JsonPatchOperation::add("/plan/-".parse()?, "sleep");
/// assert_eq!(serde_json::to_string(&operation)?, r#"{"op":"add","path":"/plan/-","value":"sleep"}"#);
///
/// let operation = JsonPatchOperation::move_("/draft".parse()?, "/final".parse()?);
/// assert_eq!(operation.op(), "move");
/// assert_eq!(operation.path().as_str(), "/final");
/// assert_eq!(operation.source().map(JsonPointer::as_str), Some("/draft"));
/// assert_eq!(operation.value(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl JsonPatchOperation {
    /// Puts a value into an object, or into a list before the given position.
    pub fn add(path: JsonPointer, value: impl Into<Value>) -> Self {
        AddOperation::new(path, value).into()
    }

    /// Takes a value away.
    pub fn remove(path: JsonPointer) -> Self {
        RemoveOperation::new(path).into()
    }

    /// Puts a value in the place of one that exists.
    pub fn replace(path: JsonPointer, value: impl Into<Value>) -> Self {
        ReplaceOperation::new(path, value).into()
    }

    /// Takes a value from one place to another (`move` is a word of the language).
    pub fn move_(from: JsonPointer, path: JsonPointer) -> Self {
        MoveOperation::new(from, path).into()
    }

    /// Puts a copy of a value into another place.
    pub fn copy(from: JsonPointer, path: JsonPointer) -> Self {
        CopyOperation::new(from, path).into()
    }

    /// Fails the patch unless a place holds the value.
    pub fn test(path: JsonPointer, value: impl Into<Value>) -> Self {
        TestOperation::new(path, value).into()
    }

    /// The member `op`.
    pub fn op(&self) -> &'static str {
        match self {
            Self::Add(_) => "add",
            Self::Remove(_) => "remove",
            Self::Replace(_) => "replace",
            Self::Move(_) => "move",
            Self::Copy(_) => "copy",
            Self::Test(_) => "test",
        }
    }

    /// The member `path`: the place that is changed or tested.
    pub fn path(&self) -> &JsonPointer {
        match self {
            Self::Add(operation) => &operation.path,
            Self::Remove(operation) => &operation.path,
            Self::Replace(operation) => &operation.path,
            Self::Move(operation) => &operation.path,
            Self::Copy(operation) => &operation.path,
            Self::Test(operation) => &operation.path,
        }
    }

    /// The member `from` of a move or a copy; `None` for the others. (A method called `from` would hide the trait's.)
    pub fn source(&self) -> Option<&JsonPointer> {
        match self {
            Self::Move(operation) => Some(&operation.from),
            Self::Copy(operation) => Some(&operation.from),
            Self::Add(_) | Self::Remove(_) | Self::Replace(_) | Self::Test(_) => None,
        }
    }

    /// The member `value` of an add, a replace or a test; `None` for the others.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Add(operation) => Some(&operation.value),
            Self::Replace(operation) => Some(&operation.value),
            Self::Test(operation) => Some(&operation.value),
            Self::Remove(_) | Self::Move(_) | Self::Copy(_) => None,
        }
    }
}
