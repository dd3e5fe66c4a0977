//! Doing the steps of a script.
//!
//! Every event goes out by itself and waits for room, so that a script of any length holds no more than the run's
//! queue. Each wait ends when the run is told to stop. Steps inside steps are kept on a list and not on the stack, which
//! a client would otherwise decide the depth of.

use std::time::Duration;

use agui_core::producer::{TextStart, ToolCallStart, WriteError};
use agui_core::{
    CustomEvent, Event, MessageId, ReasoningEncryptedValueSubtype, Run, RunEnd, RunError, RunFinishedOutcome,
    SubagentFinishedSuspendedOutcome, SubagentRunId, TextMessageRole,
};
use serde_json::{Value, json};

use crate::cancel::{Cancelled, unless_cancelled};

use super::ScriptAgent;
use super::ids::Ids;
use super::stats::{self, Ending, Tracked};
use super::step::{
    ActivitySnapshot, Flood, Named, OneOrMany, Reasoning, Speech, Step, Subagent, SubagentEnd, ToolCall,
};

/// Why no further step is done.
enum Stop {
    /// The script ended the run.
    Finish(Box<RunEnd>, Ending),
    Fail(RunError),
    /// A terminal event of the script's own has gone out.
    Over(Ending),
    Cancelled,
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        match error {
            // The script has not ended the run, so nobody reads it any more.
            WriteError::Closed => Self::Cancelled,
            error => Self::Fail(error.into()),
        }
    }
}

/// Steps that stand in one list, and how far they are done.
struct Level<'s> {
    steps: &'s [Value],
    next: usize,
    owner: Run,
    /// What leads to them, empty or with a dot at its end.
    path: String,
    /// What follows the last of them.
    end: Option<End>,
}

impl<'s> Level<'s> {
    fn inside(steps: &'s [Value], owner: Run, end: End) -> Self {
        Self { steps, next: 0, owner, path: String::new(), end: Some(end) }
    }
}

/// What ends a step that holds others.
enum End {
    Named(Run, String),
    Subagent { owner: Run, id: SubagentRunId, end: SubagentEnd },
}

/// One run of a script.
pub(super) struct Performer<'r> {
    run: &'r Run,
    ids: Ids,
    tracked: Tracked,
}

impl<'r> Performer<'r> {
    pub(super) fn new(run: &'r Run) -> Self {
        Self { run, ids: Ids::new(run.run_id()), tracked: Tracked::default() }
    }

    /// Does the whole script, and says how the run ends.
    pub(super) async fn perform(mut self) -> Result<RunEnd, RunError> {
        let run = self.run;
        let script = run.input().forwarded_props.as_ref().and_then(|props| props.get("script"));
        let performed = match script {
            None => Ok(()),
            Some(Value::Array(steps)) => self.steps(run, steps).await,
            Some(_) => Err(bad_script("forwardedProps.script is not a list of steps.".to_owned())),
        };
        let (result, ending) = match performed {
            Ok(()) => (Ok(RunEnd::success()), Ending::Completed),
            Err(Stop::Finish(end, ending)) => (Ok(*end), ending),
            Err(Stop::Fail(error)) => (Err(error), Ending::Failed),
            // The run is over, and what is returned changes nothing.
            Err(Stop::Over(ending)) => (Ok(RunEnd::success()), ending),
            Err(Stop::Cancelled) => (Ok(RunEnd::cancelled()), Ending::Cancelled),
        };
        self.tracked.settle(ending);
        result
    }

    /// Does the steps of the script and all that is in them.
    async fn steps(&mut self, run: &Run, script: &[Value]) -> Result<(), Stop> {
        let mut levels =
            vec![Level { steps: script, next: 0, owner: run.clone(), path: String::new(), end: None }];
        while let Some(level) = levels.last_mut() {
            let Some(step) = level.steps.get(level.next) else {
                if let Some(Level { end: Some(end), .. }) = levels.pop() {
                    self.end(end).await?;
                }
                continue;
            };
            let place = format!("{}{}", level.path, level.next);
            level.next += 1;
            let owner = level.owner.clone();
            let inner = match Step::read(step) {
                Ok(Step::Named(named)) => self.begin_named(owner, named).await?,
                Ok(Step::Subagent(subagent)) => self.begin_subagent(owner, subagent).await?,
                Ok(step) => {
                    self.step(&owner, step).await?;
                    continue;
                }
                Err(wrong) => return Err(bad_script(format!("Step {place} of the script {wrong}."))),
            };
            levels.push(Level { path: format!("{place}.do."), ..inner });
        }
        Ok(())
    }

    async fn begin_named<'s>(&self, owner: Run, named: Named<'s>) -> Result<Level<'s>, Stop> {
        let Named { name, steps } = named;
        emit(&owner, agui_core::StepStartedEvent::new(name.clone())).await?;
        Ok(Level::inside(steps, owner.clone(), End::Named(owner, name)))
    }

    async fn begin_subagent<'s>(&mut self, owner: Run, subagent: Subagent<'s>) -> Result<Level<'s>, Stop> {
        let Subagent { start, id, steps, end } = subagent;
        let start = start.with_id(self.ids.subagent(id));
        let id = unless_cancelled(&owner, owner.with(|scope| scope.start_subagent(start))).await??;
        Ok(Level::inside(steps, owner.attributed_to(id.clone()), End::Subagent { owner, id, end }))
    }

    /// Ends what held steps, after the last of them.
    async fn end(&self, end: End) -> Result<(), Stop> {
        match end {
            End::Named(owner, name) => emit(&owner, agui_core::StepFinishedEvent::new(name)).await,
            End::Subagent { owner, id, end: SubagentEnd { result, suspend, error, code } } => {
                let end = owner.with(|scope| {
                    if let Some(message) = error {
                        return scope.fail_subagent(&id, message, code);
                    }
                    let outcome = suspend.map(|ids| {
                        SubagentFinishedSuspendedOutcome::default().with_interrupt_ids(ids).into()
                    });
                    scope.finish_subagent(&id, result, outcome)
                });
                unless_cancelled(&owner, end).await??;
                Ok(())
            }
        }
    }

    /// Does a step that holds no others.
    async fn step(&mut self, owner: &Run, step: Step<'_>) -> Result<(), Stop> {
        match step {
            Step::Text(speech) => self.text(owner, speech).await,
            Step::Flood(flood) => self.flood(owner, flood).await,
            Step::Reasoning(reasoning) => self.reasoning(owner, reasoning).await,
            Step::ToolCall(call) => self.tool_call(owner, call).await,
            Step::Show(event) => emit(owner, event).await,
            Step::Activity(ActivitySnapshot { id, mut event }) => {
                event.message_id = self.ids.activity(id);
                emit(owner, event).await
            }
            // Begun by whoever keeps the levels.
            Step::Named(_) | Step::Subagent(_) => Ok(()),
            Step::Finish(end, ending) => Err(Stop::Finish(Box::new(end), ending)),
            Step::Error(error) => Err(Stop::Fail(error)),
            Step::Panic(text) => self.panic(&text),
            Step::Sleep(time) => self.sleep(time).await,
            Step::Event { event, unchecked } => self.event(event, unchecked).await,
            Step::Track(label) => {
                self.tracked.add(label);
                Ok(())
            }
            Step::Stats(label) => emit(owner, CustomEvent::new("demo.stats", stats::report(&label))).await,
            Step::InputEcho => {
                let input =
                    serde_json::to_value(self.run.input()).map_err(|error| Stop::Fail(error.into()))?;
                let value = json!({ "agentId": ScriptAgent::ID, "input": input });
                emit(owner, CustomEvent::new("demo.input", value)).await
            }
        }
    }

    async fn text(&mut self, owner: &Run, speech: Speech) -> Result<(), Stop> {
        let Speech { id, role, name, deltas, gap } = speech;
        let id = self.start_text(owner, id, role, name).await?;
        for (index, delta) in deltas.into_iter().enumerate() {
            if let Some(gap) = gap.filter(|_| index > 0) {
                self.sleep(gap).await?;
            }
            unless_cancelled(owner, owner.with(|scope| scope.text_delta(&id, delta))).await??;
        }
        unless_cancelled(owner, owner.with(|scope| scope.end_text(&id))).await??;
        Ok(())
    }

    async fn flood(&mut self, owner: &Run, flood: Flood) -> Result<(), Stop> {
        let id = self.start_text(owner, flood.id, TextMessageRole::Assistant, None).await?;
        for index in 0..flood.count {
            let mut delta = format!("{index:08}:");
            delta.extend(std::iter::repeat_n('x', flood.bytes.saturating_sub(delta.len())));
            unless_cancelled(owner, owner.with(|scope| scope.text_delta(&id, delta))).await??;
        }
        unless_cancelled(owner, owner.with(|scope| scope.end_text(&id))).await??;
        Ok(())
    }

    async fn start_text(
        &mut self,
        owner: &Run,
        id: Option<MessageId>,
        role: TextMessageRole,
        name: Option<String>,
    ) -> Result<MessageId, Stop> {
        let mut start = TextStart::new().with_id(self.ids.message(id)).with_role(role);
        if let Some(name) = name {
            start = start.with_name(name);
        }
        Ok(unless_cancelled(owner, owner.with(|scope| scope.start_text(start))).await??)
    }

    async fn reasoning(&mut self, owner: &Run, reasoning: Reasoning) -> Result<(), Stop> {
        let id = self.ids.reasoning(reasoning.id);
        emit(owner, agui_core::ReasoningStartEvent::new(&id)).await?;
        emit(owner, agui_core::ReasoningMessageStartEvent::new(&id)).await?;
        let deltas = match reasoning.deltas {
            OneOrMany::One(delta) => vec![delta],
            OneOrMany::Many(deltas) => deltas,
        };
        for delta in deltas {
            unless_cancelled(owner, owner.with(|scope| scope.reasoning_delta(&id, delta))).await??;
        }
        emit(owner, agui_core::ReasoningMessageEndEvent::new(&id)).await?;
        if let Some(value) = reasoning.encrypted {
            let subtype = ReasoningEncryptedValueSubtype::Message;
            unless_cancelled(owner, owner.with(|scope| scope.encrypted_value(subtype, id.clone(), value)))
                .await??;
        }
        emit(owner, agui_core::ReasoningEndEvent::new(&id)).await
    }

    async fn tool_call(&mut self, owner: &Run, call: ToolCall) -> Result<(), Stop> {
        let mut start = ToolCallStart::new(call.name).with_id(self.ids.call(call.id));
        if let Some(parent) = call.parent_message_id {
            start = start.with_parent_message_id(parent);
        }
        let id = unless_cancelled(owner, owner.with(|scope| scope.start_tool_call(start))).await??;
        for delta in call.args {
            unless_cancelled(owner, owner.with(|scope| scope.tool_call_args(&id, delta))).await??;
        }
        unless_cancelled(owner, owner.with(|scope| scope.end_tool_call(&id))).await??;
        if let Some(content) = call.result {
            let message = self.ids.message(None);
            unless_cancelled(owner, owner.with(|scope| scope.tool_result_as(message, &id, content)))
                .await??;
        }
        Ok(())
    }

    /// Sends an event of the script's own, under no owner but the one it names.
    async fn event(&self, event: Event, unchecked: bool) -> Result<(), Stop> {
        let ending = match &event {
            Event::RunFinished(finished) => match finished.outcome {
                Some(RunFinishedOutcome::Cancelled(_)) => Some(Ending::Cancelled),
                _ => Some(Ending::Completed),
            },
            Event::RunError(_) => Some(Ending::Failed),
            _ => None,
        };
        if unchecked {
            unless_cancelled(self.run, self.run.emit_unchecked(event)).await??;
        } else {
            emit(self.run, event).await?;
        }
        ending.map_or(Ok(()), |ending| Err(Stop::Over(ending)))
    }

    async fn sleep(&self, time: Duration) -> Result<(), Stop> {
        Ok(unless_cancelled(self.run, tokio::time::sleep(time)).await?)
    }

    #[expect(
        clippy::panic,
        clippy::unused_self,
        reason = "the step is there to panic in the middle of a run"
    )]
    fn panic(&self, text: &str) -> Result<(), Stop> {
        panic!("{text}")
    }
}

/// Sends an event on behalf of an owner, who is put on it where it can say so.
async fn emit(owner: &Run, event: impl Into<Event>) -> Result<(), Stop> {
    Ok(unless_cancelled(owner, owner.emit(event)).await??)
}

fn bad_script(message: String) -> Stop {
    Stop::Fail(RunError::public(message).with_code("bad_script"))
}
