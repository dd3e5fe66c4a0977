//! The asynchronous face of a run.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::{
    EntityId, Event, Message, MessageId, ReasoningEncryptedValueSubtype, RunAgentInput, RunId, SubagentRunId,
    ThreadId, TokenUsage,
};

use super::launch::CancelReason;
use super::queue::{RunQueue, Shared, Tried};
use super::{
    ActivityHandle, Extensions, ReasoningHandle, RunWriter, StateHandle, StepHandle, SubagentBuilder,
    TextHandle, TextStart, ToolCallHandle, ToolCallStart, WriteError, WriterScope,
};

/// One run, as its handler sees it: the input, what it may write, and whether it is still wanted.
///
/// Cheap to clone; clones write into the same run at the same time, so parallel tool calls and subagents each take
/// one. Every method that writes waits while the reader is slow. The `Run` of a [subagent](Self::subagent) attributes
/// what it writes.
///
/// # Examples
/// ```
/// # use agui_core::producer::{Run, RunEnd, RunError};
/// async fn agent(run: Run) -> Result<RunEnd, RunError> {
///     let mut answer = run.message(); // START goes out with the first delta
///     for token in ["Lisbon", ", then ", "Porto"] {
///         answer.delta(token).await?;
///     }
///     answer.end().await?;
///
///     let call = run.tool_call("search");
///     call.args(r#"{"q":"rust"}"#).await?;
///     call.result("3 hits").await?; // END and RESULT
///
///     run.state().set("/plan/status", "done").await?; // one STATE_DELTA, which makes `plan` where there is none
///     Ok(RunEnd::success())
/// }
/// # let _ = agent;
/// ```
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) shared: Arc<Shared>,
    pub(super) owner: Option<SubagentRunId>,
}

impl Run {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared, owner: None }
    }

    /// The input, without what was not recognised in it.
    pub fn input(&self) -> &RunAgentInput {
        &self.shared.input
    }

    /// The conversation.
    pub fn thread_id(&self) -> &ThreadId {
        &self.shared.input.thread_id
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.shared.input.run_id
    }

    /// The subagent invocation this `Run` writes for; `None` for the parent agent.
    pub const fn subagent_run_id(&self) -> Option<&SubagentRunId> {
        self.owner.as_ref()
    }

    /// What the surroundings handed in: the authenticated user, headers, whatever the application put there.
    pub fn extensions(&self) -> &Extensions {
        &self.shared.extensions
    }

    /// Resolves when the run is told to stop: its reader is gone, somebody stopped it, the server shuts down.
    ///
    /// # Cancel safety
    /// Can be dropped and asked again.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.shared.cancelled.cancelled()
    }

    /// Whether the run has been told to stop.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.is_cancelled()
    }

    /// Why the run was told to stop, if it was.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        self.shared.cancel_reason()
    }

    /// The signal behind [`cancelled`](Self::cancelled), to hand to other libraries. Cancelling it yourself only
    /// signals; it does not end the run.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.shared.cancelled.child_token()
    }

    /// Writes through the helpers of the synchronous writer, once there is room. Everything `write` does goes out
    /// together, with nothing of other clones in between. It has to be short and must not use the run itself: every
    /// other method of the run waits for it.
    ///
    /// # Errors
    /// What `write` returns, or that the run takes no more events.
    ///
    /// # Cancel safety
    /// Nothing has been written if the future is dropped.
    pub async fn with<T>(
        &self,
        write: impl FnOnce(&mut WriterScope<'_, RunQueue>) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        match self.try_with(write) {
            Tried::Written(result) => result,
            refused => self.shared.write_later(refused).await,
        }
    }

    /// The attempt that [`with`](Self::with) begins with. What writes deltas makes it itself, because a future to go
    /// through costs as much as the delta does.
    #[inline]
    pub(super) fn try_with<T>(
        &self,
        write: impl FnOnce(&mut WriterScope<'_, RunQueue>) -> Result<T, WriteError>,
    ) -> Tried<T, impl FnOnce(&mut RunWriter<RunQueue>) -> Result<T, WriteError>> {
        let owner = self.owner.clone();
        self.shared.try_write(|writer| write(&mut WriterScope::new(writer, owner)), None)
    }

    /// A text message of the assistant. It opens with the first delta.
    pub fn message(&self) -> TextHandle {
        TextHandle::new(self.clone())
    }

    /// Writes a whole text message of the assistant and returns its id.
    ///
    /// # Errors
    /// The run takes no more events.
    pub async fn text<'d>(&self, text: impl Into<Cow<'d, str>>) -> Result<MessageId, WriteError> {
        self.with(|scope| scope.text(TextStart::new(), text)).await
    }

    /// A call of a tool. It opens with the first argument text, or when it is ended.
    pub fn tool_call(&self, name: impl Into<String>) -> ToolCallHandle {
        ToolCallHandle::new(self.clone(), ToolCallStart::new(name))
    }

    /// Reasoning: a span with one message in it, which opens with the first delta.
    pub fn reasoning(&self) -> ReasoningHandle {
        ReasoningHandle::new(self.clone())
    }

    /// Opens a step (`LIFE-10`).
    ///
    /// # Errors
    /// A step of this name is open for the same owner.
    pub async fn step(&self, name: impl Into<String>) -> Result<StepHandle, WriteError> {
        StepHandle::start(self.clone(), name.into()).await
    }

    /// An invocation of a subagent, to be announced.
    pub fn subagent(&self, name: impl Into<String>) -> SubagentBuilder {
        SubagentBuilder::new(self.clone(), name)
    }

    /// The `Run` of an invocation that nobody announces (`SUB-1`).
    #[must_use]
    pub fn attributed_to(&self, id: impl Into<SubagentRunId>) -> Self {
        Self { shared: Arc::clone(&self.shared), owner: Some(id.into()) }
    }

    /// The state.
    pub const fn state(&self) -> StateHandle<'_> {
        StateHandle::new(self)
    }

    /// An activity of a kind, shown with its first snapshot.
    pub fn activity(&self, activity_type: impl Into<String>) -> ActivityHandle {
        ActivityHandle::new(self.clone(), activity_type.into())
    }

    /// Writes an event of the application's own (`PASS-2`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn custom(&self, name: impl Into<String>, value: impl Into<Value>) -> Result<(), WriteError> {
        self.with(|scope| scope.custom(name, value)).await
    }

    /// Passes on an event of another system (`PASS-1`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn raw(&self, event: impl Into<Value>, source: Option<String>) -> Result<(), WriteError> {
        self.with(|scope| scope.raw(event, source)).await
    }

    /// Gives a message or a call an opaque value, which comes back with the next input (`INT-5`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn encrypted_value(
        &self,
        subtype: ReasoningEncryptedValueSubtype,
        entity: impl Into<EntityId>,
        value: impl Into<String>,
    ) -> Result<(), WriteError> {
        self.with(|scope| scope.encrypted_value(subtype, entity, value)).await
    }

    /// Declares the whole conversation: what it lacks the consumer drops, activities and reasoning aside (`STATE-6`).
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn messages_snapshot(&self, messages: Vec<Message>) -> Result<(), WriteError> {
        self.with(|scope| scope.messages_snapshot(messages)).await
    }

    /// Writes any event, checked like everything else. A terminal event ends the run.
    ///
    /// # Errors
    /// The event breaks an order rule, is too large, or the run takes no more. It has not gone out then.
    pub async fn emit(&self, event: impl Into<Event>) -> Result<(), WriteError> {
        let event = event.into();
        self.with(|scope| scope.emit(event)).await
    }

    /// Writes an event exactly as it is, without judging the order or adding an attribution: for testing consumers.
    /// From then on nothing is closed by itself, and the run is kept out of compaction.
    ///
    /// # Errors
    /// The event is too large or the run takes no more.
    pub async fn emit_unchecked(&self, event: impl Into<Event>) -> Result<(), WriteError> {
        let event = event.into();
        self.shared.write(|writer| writer.emit_unchecked(event)).await
    }

    /// Adds token counts, which go out with the run's end, one entry per provider and model (`LIFE-12`).
    pub fn add_usage(&self, usage: TokenUsage) {
        self.shared.read(|writer| writer.add_usage(usage));
    }

    /// Whether the run has had its terminal event, or nobody takes events any more.
    pub fn is_over(&self) -> bool {
        self.shared.read(|writer| writer.is_over())
    }
}
