//! Streams of every kind of event, and large events.
//!
//! Every stream is one that a consumer accepts; [`Workload::new`] holds it to that.

use agui_core::consumer::Pipeline;
use agui_core::patch::{JsonPatchOperation, JsonPointer};
#[cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "the stream has every type"))]
use agui_core::*;
use serde_json::{Value, json};

use super::{Chat, Of, Random};

/// Words and pieces of words that ASCII has no letters for, about as long as the others.
const FOREIGN: [&str; 8] = [" naïve", " café", " größer", "日本", " 🦀", " über", "ção", " déjà"];

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Workload {
    /// What the targets call it.
    pub(crate) name: &'static str,
    /// Its events, in order.
    pub(crate) events: Vec<Event>,
}

impl Workload {
    fn new(name: &'static str, events: Vec<Event>) -> Self {
        let mut pipeline = Pipeline::new();
        for event in &events {
            let text = serde_json::to_string(event).expect("events are JSON");
            pipeline.feed(text.as_str(), &mut |_| {}).expect("workloads are valid");
        }
        assert!(!pipeline.finish().is_truncated(), "workloads come to their end");
        Self { name, events }
    }

    /// A run of nothing but one large event.
    pub(crate) fn around(name: &'static str, event: Event) -> Self {
        let (started, ended) =
            (RunStartedEvent::new("thread", "run"), RunFinishedEvent::new("thread", "run"));
        Self::new(name, vec![started.into(), event, ended.into()])
    }

    /// One message of 2,000 deltas.
    pub(crate) fn chat() -> Self {
        Self::new("chat", Chat::new(Of::Messages, 1, 2_000).events())
    }

    /// A tool call whose arguments are full of quotes, and a result of 100 KiB that escapes on every line.
    pub(crate) fn tool() -> Self {
        let mut random = Random::new(20_260_902);
        let (thread, run) = (random.id("thread_"), random.id("run_"));
        let (call, result) = (random.id("call_"), random.id("msg_"));
        let mut events: Vec<Event> = vec![
            RunStartedEvent::new(thread.as_str(), run.as_str()).into(),
            ToolCallStartEvent::new(call.as_str(), "edit_file").into(),
        ];
        for at in 0..200 {
            let delta = format!("\"k{at}\":\"{}\\\"{}\\\"\",", random.token().trim(), random.token().trim());
            events.push(ToolCallArgsEvent::new(call.as_str(), delta).into());
        }
        let mut content = String::new();
        while content.len() < 100 * 1024 {
            match random.below(8) {
                0 => content.push_str("\"\\\""),
                1 => content.push_str("\\\\path\\to"),
                2 => content.push_str("\n\t"),
                3 => content.push('\u{1b}'),
                4 => content.push_str(FOREIGN[random.below(FOREIGN.len())]),
                _ => content.push_str(random.token()),
            }
        }
        events.push(ToolCallEndEvent::new(call.as_str()).into());
        events.push(ToolCallResultEvent::new(result.as_str(), call.as_str(), content).into());
        events.push(RunFinishedEvent::new(thread.as_str(), run.as_str()).into());
        Self::new("tool", events)
    }

    /// 5,000 events of all 31 types: a long run that finishes and a short one that fails.
    pub(crate) fn mixed() -> Self {
        Self::new("mixed", Mixed::new().events(5_000))
    }
}

/// A state of about 1 MiB.
pub(crate) fn big_state() -> Event {
    StateSnapshotEvent::new(rows(1024 * 1024)).into()
}

/// A state of about so many bytes, and of two rows at least: rows with ids, numbers, short texts, tags and three levels
/// of nesting.
pub(crate) fn rows(bytes: usize) -> Value {
    let mut random = Random::new(20_260_903);
    let mut rows = Vec::new();
    let mut made = 0;
    while made < bytes || rows.len() < 2 {
        let row = json!({
            "id": random.id("row_"),
            "count": random.below(100_000),
            "score": f64::from(u32::try_from(random.below(1_000_000)).unwrap_or_default()) / 1000.0,
            "title": sentence(&mut random, 6),
            "tags": [random.token().trim(), random.token().trim()],
            "done": random.below(2) == 0,
            "owner": {"name": sentence(&mut random, 2), "at": {"row": random.below(500), "column": null}},
        });
        made += row.to_string().len() + 1;
        rows.push(row);
    }
    json!({"rows": rows})
}

/// A snapshot of 1,000 messages, about 400 KiB.
pub(crate) fn big_messages() -> Event {
    let mut random = Random::new(20_260_904);
    let mut messages: Vec<Message> = Vec::new();
    for _ in 0..250 {
        let call = random.id("call_");
        let arguments = json!({"query": sentence(&mut random, 10), "limit": random.below(50)}).to_string();
        messages.push(UserMessage::new(random.id("msg_"), sentence(&mut random, 40)).into());
        let calls = vec![ToolCall::new(call.as_str(), FunctionCall::new("search", arguments))];
        messages.push(AssistantMessage::new(random.id("msg_")).with_tool_calls(calls).into());
        messages.push(ToolMessage::new(random.id("msg_"), call.as_str(), sentence(&mut random, 90)).into());
        messages
            .push(AssistantMessage::new(random.id("msg_")).with_content(sentence(&mut random, 110)).into());
    }
    MessagesSnapshotEvent::new(messages).into()
}

/// A provider's own event, some 600 bytes of it.
pub(crate) fn raw() -> Event {
    RawEvent::new(provider_event(&mut Random::new(20_260_905))).with_source("provider").into()
}

/// A delta with metadata.
pub(crate) fn metadata() -> Event {
    let mut random = Random::new(20_260_906);
    TextMessageContentEvent::new(random.id("msg_"), " token").with_metadata(annotation(&mut random)).into()
}

fn sentence(random: &mut Random, tokens: usize) -> String {
    (0..tokens).map(|_| word(random)).collect()
}

fn word(random: &mut Random) -> &'static str {
    if random.below(100) < 15 { FOREIGN[random.below(FOREIGN.len())] } else { random.token() }
}

fn annotation(random: &mut Random) -> Metadata {
    Metadata::new()
        .with("model", "large-1")
        .with("trace", random.id("trace_"))
        .with("usage", json!({"input": random.below(4_000), "cached": true, "cost": 0.0125}))
}

fn provider_event(random: &mut Random) -> Value {
    json!({
        "id": random.id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": 1_730_000_000 + random.below(1_000_000),
        "choices": [{
            "index": 0,
            "delta": {"role": "assistant", "content": sentence(random, 12), "tool_calls": []},
            "logprobs": {"content": [{"token": word(random), "logprob": -0.3125, "bytes": [104, 105]}]},
            "finish_reason": null,
        }],
        "usage": {"prompt_tokens": random.below(9_000), "completion_tokens": random.below(900), "ratio": 0.1},
    })
}

/// Makes the mixed stream.
struct Mixed {
    random: Random,
    events: Vec<Event>,
    /// The open messages with their owners; the text goes to them at random.
    open: Vec<(String, Option<String>)>,
    clock: i64,
}

impl Mixed {
    fn new() -> Self {
        Self {
            random: Random::new(20_260_907),
            events: Vec::new(),
            open: Vec::new(),
            clock: 1_730_000_000_000,
        }
    }

    fn events(mut self, count: usize) -> Vec<Event> {
        let thread = self.random.id("thread_");
        self.run_started(&thread);
        let run = self.run_of_last_start();
        // A scene is some 450 events, and the short run is to have room behind the last one.
        let (scene, short) = (500, 40);
        while self.events.len() + scene + short < count {
            self.scene();
        }
        self.open_message(None);
        self.text(count - short - 2 - self.events.len());
        self.close_messages();
        let usage = vec![
            TokenUsage::new().with_model("large-1").with_input_tokens(912_u64).with_output_tokens(4_711_u64),
        ];
        self.add(
            RunFinishedEvent::new(thread.as_str(), run.as_str())
                .with_result(json!({"ok": true}))
                .with_outcome(RunFinishedSuccessOutcome::new())
                .with_usage(usage),
        );
        self.run_started(&thread);
        let message = self.random.id("msg_");
        self.add(TextMessageStartEvent::new(message.as_str()));
        while self.events.len() < count - 1 {
            let delta = word(&mut self.random);
            self.add(TextMessageContentEvent::new(message.as_str(), delta));
        }
        self.add(RunErrorEvent::new("the provider closed the connection").with_code("provider_error"));
        self.events
    }

    fn run_of_last_start(&self) -> String {
        let starts = self.events.iter().rev();
        let runs = starts.filter_map(|event| match event {
            Event::RunStarted(event) => Some(event.run_id.to_string()),
            _ => None,
        });
        runs.into_iter().next().expect("a run is under way")
    }

    /// Adds an event with what any event may carry, now and then.
    fn add(&mut self, event: impl Into<Event>) {
        let mut event = event.into();
        self.clock += 7;
        if self.random.below(100) < 30 {
            event.set_timestamp(Some(self.clock));
        }
        if self.random.below(100) < 10 {
            event.set_metadata(Some(annotation(&mut self.random)));
        }
        if self.random.below(100) < 2 {
            event.set_raw_event(Some(provider_event(&mut self.random)));
        }
        self.events.push(event);
    }

    fn run_started(&mut self, thread: &str) {
        let run = self.random.id("run_");
        let input = RunAgentInput::new(
            thread,
            run.as_str(),
            vec![UserMessage::new(self.random.id("msg_"), "What is the answer?").into()],
        )
        .with_tools(vec![Tool::new("search", "Searches.").with_parameters(json!({"type": "object"}))]);
        self.add(
            RunStartedEvent::new(thread, run.as_str())
                .with_protocol_version("1.0")
                .with_input(Box::new(input)),
        );
        self.add(StateSnapshotEvent::new(json!({"plan": {"steps": [], "cursor": {"row": 0, "column": 0}}})));
    }

    /// A piece of a run: mostly text, with something else around it.
    fn scene(&mut self) {
        let (step, subagent) = (format!("step {}", self.events.len()), self.random.id("sub_"));
        self.add(StepStartedEvent::new(step.as_str()));
        self.add(SubagentStartedEvent::new(subagent.as_str(), "scout").with_description("Looks around."));
        self.open_message(None);
        self.open_message(Some(&subagent));
        self.text(150);
        self.reasoning();
        self.text(60);
        let call = self.tool_call();
        let result = self.random.id("msg_");
        let content = sentence(&mut self.random, 30);
        self.add(ToolCallResultEvent::new(result.as_str(), call.as_str(), content).with_role(ToolRole::Tool));
        self.text(80);
        self.state();
        self.activity();
        self.close_messages();
        if self.random.below(3) == 0 {
            self.add(SubagentErrorEvent::new(subagent.as_str(), "lost its way").with_code("lost"));
        } else {
            self.add(
                SubagentFinishedEvent::new(subagent.as_str())
                    .with_result(json!({"found": 3}))
                    .with_outcome(SubagentFinishedSuccessOutcome::new()),
            );
        }
        self.chunks();
        self.add(StepFinishedEvent::new(step.as_str()));
        self.add(CustomEvent::new("progress", json!({"done": self.events.len()})));
        let raw = provider_event(&mut self.random);
        self.add(RawEvent::new(raw).with_source("provider"));
    }

    fn open_message(&mut self, owner: Option<&str>) {
        let id = self.random.id("msg_");
        let mut event = TextMessageStartEvent::new(id.as_str()).with_role(TextMessageRole::Assistant);
        event.subagent_run_id = owner.map(Into::into);
        self.add(event);
        self.open.push((id, owner.map(str::to_owned)));
    }

    fn text(&mut self, deltas: usize) {
        for _ in 0..deltas {
            let (id, owner) = self.open[self.random.below(self.open.len())].clone();
            let mut event = TextMessageContentEvent::new(id, word(&mut self.random));
            event.subagent_run_id = owner.map(Into::into);
            self.add(event);
        }
    }

    fn close_messages(&mut self) {
        for (id, owner) in std::mem::take(&mut self.open) {
            let mut event = TextMessageEndEvent::new(id);
            event.subagent_run_id = owner.map(Into::into);
            self.add(event);
        }
    }

    fn reasoning(&mut self) {
        let id = self.random.id("rsn_");
        self.add(ReasoningStartEvent::new(id.as_str()));
        self.add(ReasoningMessageStartEvent::new(id.as_str()));
        for _ in 0..18 {
            let delta = word(&mut self.random);
            self.add(ReasoningMessageContentEvent::new(id.as_str(), delta));
        }
        self.add(ReasoningMessageEndEvent::new(id.as_str()));
        let sealed = self.random.id("sealed_");
        self.add(ReasoningEncryptedValueEvent::new(
            ReasoningEncryptedValueSubtype::Message,
            id.as_str(),
            sealed,
        ));
        self.add(ReasoningEndEvent::new(id.as_str()));
    }

    fn tool_call(&mut self) -> String {
        let id = self.random.id("call_");
        self.add(ToolCallStartEvent::new(id.as_str(), "search"));
        for at in 0..38 {
            let delta = format!("\"k{at}\":\"{}\",", word(&mut self.random).trim());
            self.add(ToolCallArgsEvent::new(id.as_str(), delta));
        }
        self.add(ToolCallEndEvent::new(id.as_str()));
        id
    }

    fn state(&mut self) {
        let step = json!({"title": sentence(&mut self.random, 4), "done": false});
        let row = self.random.below(500);
        self.add(StateDeltaEvent::new(vec![
            JsonPatchOperation::add(JsonPointer::from_tokens(["plan", "steps", "-"]), step),
            JsonPatchOperation::replace(JsonPointer::from_tokens(["plan", "cursor", "row"]), row),
        ]));
    }

    fn activity(&mut self) {
        let id = self.random.id("act_");
        let content = json!({"title": sentence(&mut self.random, 4), "percent": 10});
        let Value::Object(content) = content else { return };
        self.add(ActivitySnapshotEvent::new(id.as_str(), "progress", content));
        let patch = vec![JsonPatchOperation::replace(JsonPointer::from_tokens(["percent"]), 100)];
        self.add(ActivityDeltaEvent::new(id.as_str(), "progress", patch));
    }

    /// The compact spelling, and a snapshot of messages now and then.
    fn chunks(&mut self) {
        let (text, call, thought) = (self.random.id("msg_"), self.random.id("call_"), self.random.id("rsn_"));
        for _ in 0..4 {
            let delta = word(&mut self.random);
            self.add(TextMessageChunkEvent::new().with_message_id(text.as_str()).with_delta(delta));
        }
        for _ in 0..2 {
            let chunk =
                ToolCallChunkEvent::new().with_tool_call_id(call.as_str()).with_tool_call_name("search");
            self.add(chunk.with_delta("{}"));
        }
        for _ in 0..3 {
            let delta = word(&mut self.random);
            self.add(ReasoningMessageChunkEvent::new().with_message_id(thought.as_str()).with_delta(delta));
        }
        if self.random.below(4) == 0 {
            let messages = vec![
                UserMessage::new(self.random.id("msg_"), "And now?").into(),
                AssistantMessage::new(self.random.id("msg_"))
                    .with_content(sentence(&mut self.random, 20))
                    .into(),
            ];
            self.add(MessagesSnapshotEvent::new(messages));
        }
    }
}
