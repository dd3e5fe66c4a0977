//! Programs of helper calls, and what carries them out.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use agui_core::producer::{
    ActivityHandle, ReasoningHandle, Run, StepHandle, TextHandle, ToolCallHandle, WriteError,
};
use agui_core::{
    Event, JsonObject, JsonPatchOperation, Message, ReasoningEncryptedValueSubtype, SubagentRunId, TokenUsage,
};
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A handle by its number within a task; a few, so that calls meet.
type Slot = u8;

/// One call of a helper. A handle that a slot lacks is made, one that has ended is replaced.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Delta(Slot, &'static str),
    /// A delta whose future is dropped if there is no room for it at once.
    ImpatientDelta(Slot, &'static str),
    EndText(Slot),
    DropText(Slot),
    Text(&'static str),
    Args(Slot, &'static str),
    EndCall(Slot),
    Answer(Slot),
    DropCall(Slot),
    Think(Slot, &'static str),
    Encrypt(Slot),
    EndThought(Slot),
    DropThought(Slot),
    Step(Slot),
    FinishStep(Slot),
    DropStep(Slot),
    Set(&'static str, i32),
    Remove(&'static str),
    Patch(i32),
    Replace(i32),
    Update(i32),
    Snapshot(i32),
    ShowActivity(Slot),
    PatchActivity(Slot),
    Custom,
    Raw,
    EncryptedValue,
    MessagesSnapshot,
    Usage(u32),
    /// Several events in one write, with a handle dropped inside.
    Together(Slot),
    /// A subagent that does something of its own.
    Subagent(Vec<Self>, SubagentEnd),
    /// Work of an owner that nobody announced.
    Attributed(Vec<Self>),
    /// An event of the program's own, which may be legal or not.
    Emit(Value),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum SubagentEnd {
    Finish,
    Suspend,
    Fail,
    Drop,
}

fn op() -> impl Strategy<Value = Op> {
    let slot = || 0..3_u8;
    let text = || prop::sample::select(vec!["a", "bc", "", "ä\u{0}\"", "d"]);
    let place = || {
        prop::sample::select(vec![
            "/plan/steps/0",
            "/plan/steps/-",
            "/n",
            "/a/b/c",
            "/x~1y",
            "/plan",
            "/plan/0",
        ])
    };
    let number = || 0..5_i32;
    prop_oneof![
        6 => (slot(), text()).prop_map(|(slot, text)| Op::Delta(slot, text)),
        2 => (slot(), text()).prop_map(|(slot, text)| Op::ImpatientDelta(slot, text)),
        2 => slot().prop_map(Op::EndText),
        2 => slot().prop_map(Op::DropText),
        1 => text().prop_map(Op::Text),
        5 => (slot(), text()).prop_map(|(slot, text)| Op::Args(slot, text)),
        2 => slot().prop_map(Op::EndCall),
        2 => slot().prop_map(Op::Answer),
        2 => slot().prop_map(Op::DropCall),
        3 => (slot(), text()).prop_map(|(slot, text)| Op::Think(slot, text)),
        1 => slot().prop_map(Op::Encrypt),
        1 => slot().prop_map(Op::EndThought),
        1 => slot().prop_map(Op::DropThought),
        2 => slot().prop_map(Op::Step),
        1 => slot().prop_map(Op::FinishStep),
        1 => slot().prop_map(Op::DropStep),
        2 => (place(), number()).prop_map(|(place, number)| Op::Set(place, number)),
        1 => place().prop_map(Op::Remove),
        1 => number().prop_map(Op::Patch),
        1 => number().prop_map(Op::Replace),
        1 => number().prop_map(Op::Update),
        1 => number().prop_map(Op::Snapshot),
        1 => slot().prop_map(Op::ShowActivity),
        1 => slot().prop_map(Op::PatchActivity),
        1 => Just(Op::Custom),
        1 => Just(Op::Raw),
        1 => Just(Op::EncryptedValue),
        1 => Just(Op::MessagesSnapshot),
        1 => (0..1000_u32).prop_map(Op::Usage),
        1 => slot().prop_map(Op::Together),
    ]
}

fn subagent_end() -> impl Strategy<Value = SubagentEnd> {
    prop::sample::select(vec![
        SubagentEnd::Finish,
        SubagentEnd::Suspend,
        SubagentEnd::Fail,
        SubagentEnd::Drop,
    ])
}

/// Calls of helpers, subagents inside of subagents among them.
pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let nested = op().prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            4 => op(),
            1 => (prop::collection::vec(inner.clone(), 0..6), subagent_end())
                .prop_map(|(ops, end)| Op::Subagent(ops, end)),
            1 => prop::collection::vec(inner, 0..4).prop_map(Op::Attributed),
        ]
    });
    prop::collection::vec(nested, 0..16)
}

/// The same with events of the program's own in between.
pub(crate) fn wild_ops() -> impl Strategy<Value = Vec<Op>> {
    let emitted = crate::sync::event().prop_map(Op::Emit);
    (ops(), prop::collection::vec((any::<prop::sample::Index>(), emitted), 0..8)).prop_map(
        |(mut ops, emitted)| {
            for (place, event) in emitted {
                ops.insert(place.index(ops.len() + 1), event);
            }
            ops
        },
    )
}

/// What a program knows of its run that the stream has to agree with.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// What was accepted for each item, by its id.
    pub(crate) said: HashMap<String, String>,
    pub(crate) tokens: u64,
    steps: usize,
    /// Refusals that a helper should not meet.
    pub(crate) refused: Vec<String>,
}

/// What tasks share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Log>>);

impl Shared {
    pub(crate) fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.0.lock().unwrap()
    }

    /// A name that no other step has, whoever's it is.
    fn step_name(&self) -> String {
        let mut log = self.log();
        log.steps += 1;
        format!("step {}", log.steps)
    }

    fn say(&self, id: &str, text: &str) {
        self.log().said.entry(id.to_owned()).or_default().push_str(text);
    }

    /// Notes a refusal of what only an ended run may refuse.
    fn check<T>(&self, run: &Run, what: &str, result: Result<T, WriteError>) -> Option<T> {
        match result {
            Ok(done) => Some(done),
            Err(WriteError::Closed) if run.is_over() => None,
            Err(error) => {
                self.log().refused.push(format!("{what}: {error:?}"));
                None
            }
        }
    }
}

/// The handles of one task.
#[derive(Default)]
struct Handles {
    texts: BTreeMap<Slot, TextHandle>,
    calls: BTreeMap<Slot, ToolCallHandle>,
    thoughts: BTreeMap<Slot, ReasoningHandle>,
    steps: BTreeMap<Slot, StepHandle>,
    activities: BTreeMap<Slot, ActivityHandle>,
}

/// Lets the other tasks have their turn.
async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Carries out the calls, in order, in turns with the other tasks. Handles that are left are dropped at the end.
pub(crate) fn play<'p>(
    run: Run,
    ops: &'p [Op],
    shared: &'p Shared,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'p>> {
    Box::pin(async move {
        let mut handles = Handles::default();
        for op in ops {
            handles.perform(&run, op, shared).await;
            yield_now().await;
        }
    })
}

impl Handles {
    async fn perform(&mut self, run: &Run, op: &Op, shared: &Shared) {
        match op {
            Op::Delta(slot, text) => {
                let handle = self.texts.entry(*slot).or_insert_with(|| run.message());
                let id = handle.id().clone();
                if shared.check(run, "delta", handle.delta(*text).await).is_some() {
                    shared.say(id.as_str(), text);
                }
            }
            Op::ImpatientDelta(slot, text) => {
                let handle = self.texts.entry(*slot).or_insert_with(|| run.message());
                let id = handle.id().clone();
                let result = handle.delta(*text).now_or_never();
                if let Some(result) = result
                    && shared.check(run, "impatient delta", result).is_some()
                {
                    shared.say(id.as_str(), text);
                }
            }
            Op::EndText(slot) => {
                if let Some(handle) = self.texts.remove(slot) {
                    shared.check(run, "end of text", handle.end().await);
                }
            }
            Op::DropText(slot) => drop(self.texts.remove(slot)),
            Op::Text(text) => {
                if let Some(id) = shared.check(run, "text", run.text(*text).await) {
                    shared.say(id.as_str(), text);
                }
            }
            Op::Args(slot, text) => {
                let handle = self.calls.entry(*slot).or_insert_with(|| run.tool_call("f"));
                if shared.check(run, "args", handle.args(*text).await).is_some() {
                    shared.say(handle.id().as_str(), text);
                }
            }
            Op::EndCall(slot) => {
                if let Some(handle) = self.calls.remove(slot) {
                    shared.check(run, "end of call", handle.end().await);
                }
            }
            Op::Answer(slot) => {
                if let Some(handle) = self.calls.remove(slot) {
                    shared.check(run, "result", handle.result("ok").await);
                }
            }
            Op::DropCall(slot) => drop(self.calls.remove(slot)),
            Op::Think(slot, text) => {
                let handle = self.thoughts.entry(*slot).or_insert_with(|| run.reasoning());
                let id = handle.id().clone();
                if shared.check(run, "thought", handle.delta(*text).await).is_some() {
                    shared.say(id.as_str(), text);
                }
            }
            Op::Encrypt(slot) => {
                if let Some(handle) = self.thoughts.get_mut(slot) {
                    handle.encrypted("secret");
                }
            }
            Op::EndThought(slot) => {
                if let Some(handle) = self.thoughts.remove(slot) {
                    shared.check(run, "end of thought", handle.end().await);
                }
            }
            Op::DropThought(slot) => drop(self.thoughts.remove(slot)),
            Op::Step(slot) => {
                if !self.steps.contains_key(slot) {
                    let name = shared.step_name();
                    let step = shared.check(run, "step", run.step(name).await);
                    self.steps.extend(step.map(|step| (*slot, step)));
                }
            }
            Op::FinishStep(slot) => {
                if let Some(handle) = self.steps.remove(slot) {
                    shared.check(run, "end of step", handle.finish().await);
                }
            }
            Op::DropStep(slot) => drop(self.steps.remove(slot)),
            Op::Together(slot) => {
                let text = self.texts.remove(slot);
                let write = run.with(move |scope| {
                    let _owned = text;
                    scope.custom("first", 1)?;
                    scope.custom("second", 2)
                });
                shared.check(run, "together", write.await);
            }
            Op::Subagent(ops, end) => self.subagent(run, ops, *end, shared).await,
            Op::Attributed(ops) => {
                play(run.attributed_to(SubagentRunId::from("nobody")), ops, shared).await;
            }
            Op::Emit(event) => {
                // Whether it may stand there is what the stream is judged for.
                let event: Event = serde_json::from_value(event.clone()).unwrap();
                let _ = run.emit(event).await;
            }
            _ => self.stand_alone(run, op, shared).await,
        }
    }

    async fn subagent(&mut self, run: &Run, ops: &[Op], end: SubagentEnd, shared: &Shared) {
        let Some(subagent) = shared.check(run, "subagent", run.subagent("scout").start().await) else {
            return;
        };
        play(subagent.run().clone(), ops, shared).await;
        let ended = match end {
            SubagentEnd::Finish => subagent.finish(json!({"found": 3})).await,
            SubagentEnd::Suspend => subagent.suspend(["i-1".into()]).await,
            SubagentEnd::Fail => subagent.fail("lost", None).await,
            SubagentEnd::Drop => Ok(()),
        };
        shared.check(run, "end of subagent", ended);
    }

    /// What opens and closes nothing.
    async fn stand_alone(&mut self, run: &Run, op: &Op, shared: &Shared) {
        let state = run.state();
        let result = match op {
            // These are refused where they do not fit the state, and then nothing goes out.
            Op::Set(place, number) => fits(state.set(place, *number).await),
            Op::Remove(place) => fits(state.remove(place).await),
            Op::Patch(number) => {
                let place = |place: &str| place.parse().unwrap();
                fits(
                    state
                        .patch(vec![
                            JsonPatchOperation::test(place("/n"), 1),
                            JsonPatchOperation::copy(place("/n"), place("/copy")),
                            JsonPatchOperation::add(place("/n"), *number),
                        ])
                        .await,
                )
            }
            Op::Replace(number) => {
                state
                    .replace(
                        json!({"n": number, "plan": {"steps": vec![*number; 3]}, "f": [{"deep": number}]}),
                    )
                    .await
            }
            Op::Update(number) => {
                let update = |state: &mut Value| {
                    if let Some(members) = state.as_object_mut() {
                        members.insert("updated".to_owned(), json!({"to": number}));
                        members.remove("copy");
                    }
                };
                state.update(update).await
            }
            Op::Snapshot(number) => state.snapshot(json!({"n": number, "plan": {"steps": []}})).await,
            Op::ShowActivity(slot) => {
                let activity = self.activities.entry(*slot).or_insert_with(|| run.activity("plan"));
                let content = JsonObject::from_iter([("done".to_owned(), json!(slot))]);
                if slot % 2 == 0 {
                    activity.snapshot(content).await
                } else {
                    activity.snapshot_if_absent(content).await
                }
            }
            Op::PatchActivity(slot) => match self.activities.get(slot) {
                Some(activity) => {
                    let operation = JsonPatchOperation::add("/more".parse().unwrap(), 1);
                    activity.patch(vec![operation]).await
                }
                None => Ok(()),
            },
            Op::Custom => run.custom("acme.note", Value::Null).await,
            Op::Raw => run.raw(json!({"a": null}), Some("llm".to_owned())).await,
            Op::EncryptedValue => {
                run.encrypted_value(ReasoningEncryptedValueSubtype::ToolCall, "c0", "secret").await
            }
            Op::MessagesSnapshot => {
                let messages: Vec<Message> = run.input().messages.clone();
                run.messages_snapshot(messages).await
            }
            Op::Usage(tokens) => {
                run.add_usage(TokenUsage::default().with_model("m").with_input_tokens(u64::from(*tokens)));
                shared.log().tokens += u64::from(*tokens);
                Ok(())
            }
            other => panic!("{other:?} does not stand alone"),
        };
        // A snapshot takes away the attribution `c0` had none of; a subagent may not tag it.
        let own_call = matches!(op, Op::EncryptedValue) && run.subagent_run_id().is_some();
        if !own_call {
            shared.check(run, &format!("{op:?}"), result);
        }
    }
}

fn fits(result: Result<(), WriteError>) -> Result<(), WriteError> {
    match result {
        Err(WriteError::Patch(_)) => Ok(()),
        other => other,
    }
}
