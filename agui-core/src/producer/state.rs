//! The state of a run.

use serde_json::Value;

use crate::patch::{JsonPatchOperation, JsonPointer};

use super::{Run, WriteError};

/// The state: what the input brought, changed by what the run has written (`INPUT-9`, `STATE-11`).
///
/// Every change goes out as one event that applies to what the consumer holds. A change costs what it touches; only
/// [`replace`](Self::replace) and [`update`](Self::update) look at the whole.
#[derive(Debug, Clone, Copy)]
pub struct StateHandle<'r> {
    run: &'r Run,
}

impl<'r> StateHandle<'r> {
    pub(super) const fn new(run: &'r Run) -> Self {
        Self { run }
    }

    /// A copy of the state.
    pub fn get(&self) -> Value {
        self.read(Clone::clone)
    }

    /// Looks at the state without copying it. `read` has to be short and must not use the run: nothing is written
    /// meanwhile.
    pub fn read<T>(&self, read: impl FnOnce(&Value) -> T) -> T {
        self.run.shared.read(|writer| read(writer.state()))
    }

    /// Puts a value at a place, a JSON Pointer. One `STATE_DELTA`.
    ///
    /// Parents that do not exist are made, always as objects: where there is no `plan`, `/plan/0/status` makes an
    /// object `plan` with a member `"0"`. To get a list, set the list first; `-` or a number then names a place in it.
    ///
    /// # Examples
    /// ```
    /// # use agui_core::producer::{Run, RunEnd, RunError};
    /// # use serde_json::json;
    /// # async fn agent(run: Run) -> Result<RunEnd, RunError> {
    /// run.state().set("/plan", json!([])).await?;
    /// run.state().set("/plan/-", json!({"status": "open"})).await?;
    /// run.state().set("/plan/0/status", "done").await?;
    /// run.state().set("/done/count", 1).await?; // makes the object `done`
    /// assert_eq!(run.state().get(), json!({"plan": [{"status": "done"}], "done": {"count": 1}}));
    /// # Ok(RunEnd::success())
    /// # }
    /// # use agui_core::{RunAgentInput, producer::{RunSetup, launch}};
    /// # let launched = launch(std::sync::Arc::new(agent), RunSetup::new(RunAgentInput::new("t", "r", [])));
    /// # futures_executor::block_on(launched.task).unwrap();
    /// ```
    ///
    /// # Errors
    /// The pointer is malformed, or the place lies inside a value that is neither an object nor a list.
    pub async fn set(&self, pointer: impl AsRef<str>, value: impl Into<Value>) -> Result<(), WriteError> {
        let pointer = parse(pointer.as_ref())?;
        self.run.with(|scope| scope.set_state(&pointer, value)).await
    }

    /// Takes a value out. One `STATE_DELTA`.
    ///
    /// # Errors
    /// The pointer is malformed or there is nothing at that place.
    pub async fn remove(&self, pointer: impl AsRef<str>) -> Result<(), WriteError> {
        let pointer = parse(pointer.as_ref())?;
        self.run.with(|scope| scope.remove_state(&pointer)).await
    }

    /// Applies a patch, which has to apply as a whole. One `STATE_DELTA`.
    ///
    /// # Errors
    /// The patch does not apply; nothing has gone out then.
    pub async fn patch(&self, operations: Vec<JsonPatchOperation>) -> Result<(), WriteError> {
        self.run.with(|scope| scope.state_patch(operations)).await
    }

    /// Makes the state equal to `state` by a patch of what differs; nothing goes out where nothing does.
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn replace(&self, state: impl Into<Value>) -> Result<(), WriteError> {
        let state = state.into();
        self.run.with(|scope| scope.replace_state(&state)).await
    }

    /// Lets `change` edit a copy of the state, then sends what differs. `change` has to be short and must not use the
    /// run: nothing is written meanwhile, so that what other clones write is not undone.
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn update(&self, change: impl FnOnce(&mut Value)) -> Result<(), WriteError> {
        self.run.with(|scope| scope.update_state(change)).await
    }

    /// Sends a whole state, which replaces what the consumer holds (`STATE-1`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn snapshot(&self, state: impl Into<Value>) -> Result<(), WriteError> {
        self.run.with(|scope| scope.state_snapshot(state)).await
    }
}

fn parse(pointer: &str) -> Result<JsonPointer, WriteError> {
    Ok(pointer.parse()?)
}
