//! How a handler ends its run.

use std::error::Error;
use std::fmt;

use serde_json::Value;

use crate::{Interrupts, RunFinishedOutcome, TokenUsage, ToolCallId};

use super::WriteError;

/// A run that ended in order.
///
/// # Examples
/// ```
/// # use agui_core::producer::RunEnd;
/// # use agui_core::Interrupt;
/// let done = RunEnd::success().with_result(42);
/// let asking = RunEnd::interrupt(Interrupt::new("i-1", "confirm").with_message("Book it?"));
/// # let _ = (done, asking);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct RunEnd {
    pub(super) outcome: Option<RunFinishedOutcome>,
    pub(super) result: Option<Value>,
    pub(super) usage: Vec<TokenUsage>,
}

impl RunEnd {
    /// The run did what it was asked for. Calls it made and did not answer are named on the outcome (`INT-7`).
    pub const fn success() -> Self {
        Self { outcome: None, result: None, usage: Vec::new() }
    }

    /// The run stopped to ask (`INT-1`). Several questions come as an [`Interrupts`], whose ids are unique.
    pub fn interrupt(interrupts: impl Into<Interrupts>) -> Self {
        Self::with_outcome(crate::RunFinishedInterruptOutcome::new(interrupts))
    }

    /// The run was stopped on purpose (`LIFE-5`).
    pub fn cancelled() -> Self {
        Self::with_outcome(crate::RunFinishedCancelledOutcome::new())
    }

    /// The run ends with this outcome. A success without a list gets the calls that are unanswered (`INT-7`).
    pub fn with_outcome(outcome: impl Into<RunFinishedOutcome>) -> Self {
        Self { outcome: Some(outcome.into()), result: None, usage: Vec::new() }
    }

    /// Sets what the run returns; a JSON `null` is no result (`LIFE-13`).
    pub fn with_result(mut self, result: impl Into<Value>) -> Self {
        self.result = Some(result.into()).filter(|result| !result.is_null());
        self
    }

    /// Adds token counts to those the run has collected, per provider and model (`LIFE-12`).
    pub fn with_usage(mut self, usage: impl IntoIterator<Item = TokenUsage>) -> Self {
        for entry in usage {
            TokenUsage::aggregate(&mut self.usage, entry);
        }
        self
    }

    /// The outcome as it goes out, given the calls that are unanswered.
    pub(super) fn settle(self, unanswered: Vec<ToolCallId>) -> (Option<RunFinishedOutcome>, Option<Value>) {
        let pending = (!unanswered.is_empty()).then_some(unanswered);
        match self.outcome {
            None => {
                let outcome = pending.map(|ids| {
                    crate::RunFinishedSuccessOutcome::new().with_pending_tool_call_ids(ids).into()
                });
                (outcome, self.result)
            }
            Some(RunFinishedOutcome::Success(mut success)) => {
                success.pending_tool_call_ids = success.pending_tool_call_ids.or(pending);
                (Some(success.into()), self.result)
            }
            // A cancelled run has no result to speak of (`LIFE-5`).
            Some(RunFinishedOutcome::Cancelled(cancelled)) => (Some(cancelled.into()), None),
            Some(other) => (Some(other), self.result),
        }
    }
}

/// A run that failed.
///
/// What implements [`std::error::Error`] converts into one with `?`; what the client then sees is a generic message and
/// a code, while the error itself goes to the log. A message the user may read is said so with [`RunError::public`].
/// (For that conversion to exist, this type does not implement [`std::error::Error`] itself.)
///
/// Boxed errors and `anyhow::Error` do not implement it and so do not convert by themselves; they go through
/// [`RunError::internal`].
///
/// # Examples
/// ```
/// # use agui_core::producer::RunError;
/// fn look_up() -> Result<(), RunError> {
///     std::fs::read("no such file")?;
///     Ok(())
/// }
/// assert_eq!(look_up().unwrap_err().code(), "internal_error");
///
/// fn search() -> anyhow::Result<u32> { anyhow::bail!("no index") }
/// fn count() -> Result<u32, Box<dyn std::error::Error + Send + Sync>> { Ok("7".parse()?) }
/// fn agent() -> Result<u32, RunError> {
///     let count = count().map_err(RunError::internal)?;
///     Ok(count + search().map_err(RunError::internal)?)
/// }
/// assert_eq!(agent().unwrap_err().source().unwrap().to_string(), "no index");
///
/// let told = RunError::public("The quota is used up.").with_code("quota");
/// assert_eq!(told.public_message(), "The quota is used up.");
/// ```
pub struct RunError {
    message: Option<String>,
    code: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl RunError {
    /// What a client reads of an error that is not public.
    pub const GENERIC_MESSAGE: &'static str = "The agent failed.";

    /// A failure whose message the user may read.
    pub fn public(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), code: None, source: None }
    }

    /// A failure for the log; the client reads a generic message.
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { message: None, code: None, source: Some(error.into()) }
    }

    /// Sets the code, a stable word for programs (`LIFE-6`).
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Lets the user read this message instead of the generic one.
    #[must_use]
    pub fn with_public_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// What the client reads.
    pub fn public_message(&self) -> &str {
        match (&self.message, self.write_error()) {
            (Some(message), _) => message,
            (None, Some(WriteError::Sequence(_))) => "The agent's events broke the protocol's order.",
            (None, Some(WriteError::TooLarge { .. })) => "An event of the agent is too large.",
            (None, _) => Self::GENERIC_MESSAGE,
        }
    }

    /// The code the client reads. A public error without a code has none on the wire; this then says `internal_error`
    /// all the same.
    pub fn code(&self) -> &str {
        self.wire_code().unwrap_or("internal_error")
    }

    /// The full error, for the log.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// The code as it goes out: a public error may have none.
    pub(super) fn wire_code(&self) -> Option<&str> {
        match (&self.code, self.write_error().and_then(WriteError::code)) {
            (Some(code), _) => Some(code),
            (None, Some(code)) => Some(code),
            (None, None) if self.message.is_some() => None,
            (None, None) => Some("internal_error"),
        }
    }

    /// What was refused, if the handler passed on the run's own refusal.
    pub(super) fn write_error(&self) -> Option<&WriteError> {
        self.source.as_deref()?.downcast_ref()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for RunError {
    fn from(error: E) -> Self {
        Self::internal(error)
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunError")
            .field("message", &self.message)
            .field("code", &self.code)
            .field("source", &self.source)
            .finish()
    }
}
