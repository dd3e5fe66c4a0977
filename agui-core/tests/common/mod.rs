//! Arbitrary valid protocol values for property tests: all 31 events, messages, inputs, capabilities and JSON.
//!
//! Values are built from a string of bytes that serves as the source of every choice, so that shrinking the bytes
//! shrinks the value: with no bytes left every optional member is absent, every list empty, every text `""`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a generator that fails fails its test, wherever it is included"
)]
#![allow(dead_code, unreachable_pub, reason = "each test binary uses another part of this module")]

pub mod mutate;

use agui_core::patch::{
    AddOperation, CopyOperation, JsonPatchOperation, JsonPointer, MoveOperation, RemoveOperation,
    ReplaceOperation, TestOperation,
};
use agui_core::*;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

/// Any of the 31 events.
pub fn event() -> impl Strategy<Value = Event> {
    from_bytes(|source| {
        let kind = *source.choose(EventType::ALL);
        source.event(kind)
    })
}

/// An event of one type.
pub fn event_of(kind: EventType) -> impl Strategy<Value = Event> {
    from_bytes(move |source| source.event(kind))
}

/// Any of the 7 kinds of message.
pub fn message() -> impl Strategy<Value = Message> {
    from_bytes(Source::message)
}

/// A run input.
pub fn run_input() -> impl Strategy<Value = RunAgentInput> {
    from_bytes(Source::run_input)
}

/// A declaration of capabilities.
pub fn capabilities() -> impl Strategy<Value = AgentCapabilities> {
    from_bytes(Source::capabilities)
}

/// Any JSON value.
pub fn json_value() -> impl Strategy<Value = Value> {
    from_bytes(|source| source.json(4))
}

/// Any value that is built from a source of choices.
pub fn from_bytes<T: std::fmt::Debug>(build: impl Fn(&mut Source) -> T) -> impl Strategy<Value = T> {
    vec(any::<u8>(), 0..512).prop_map(move |bytes| build(&mut Source::new(bytes)))
}

/// A string of bytes that choices are made from; when it is used up, every choice is the smallest.
#[derive(Debug)]
pub struct Source {
    bytes: std::vec::IntoIter<u8>,
}

/// Texts with what is hard about text: empty, long, escaped, outside the basic plane, made of names of the protocol.
const TEXTS: &[&str] = &[
    "",
    "a",
    "id-1",
    "Hello, ",
    "\"quoted\" \\ and /",
    "\n\r\t\u{0}\u{1f}",
    "é日本",
    "😀",
    "\u{FFFD}",
    "\u{2028}\u{FEFF}",
    "null",
    "type",
    "role",
    "text/plain",
    "0123456789012345678901234567890123456789",
];

impl Source {
    /// A source of these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into_iter() }
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes.next().unwrap_or(0)
    }

    /// Yes or no.
    pub fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// A number below `limit`, which is at most 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// One of a list that is not empty.
    pub fn choose<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }

    /// A text.
    pub fn text(&mut self) -> String {
        (*self.choose(TEXTS)).to_owned()
    }

    /// Up to three of something.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| item(self)).collect()
    }

    /// An integer of the protocol's range.
    pub fn integer(&mut self) -> i64 {
        *self.choose(&[0, 1, -1, 1_730_000_000_000, 9_007_199_254_740_991, -9_007_199_254_740_991])
    }

    /// A count.
    pub fn count(&mut self) -> u64 {
        *self.choose(&[0, 1, 512, 9_007_199_254_740_991])
    }

    /// Any JSON value of a depth.
    pub fn json(&mut self, depth: usize) -> Value {
        let numbers: [Number; 7] = [
            0.into(),
            (-1).into(),
            u64::MAX.into(),
            i64::MIN.into(),
            Number::from_f64(0.1).unwrap(),
            Number::from_f64(-0.0).unwrap(),
            Number::from_f64(1e300).unwrap(),
        ];
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => self.flag().into(),
            2 => self.choose(&numbers).clone().into(),
            3 => self.text().into(),
            4 => self.list(|source| source.json(depth - 1)).into(),
            _ => self.object(depth).into(),
        }
    }

    /// Any JSON value but `null`.
    pub fn json_not_null(&mut self) -> Value {
        Some(self.json(3)).filter(|value| !value.is_null()).unwrap_or(Value::Bool(false))
    }

    /// An open object.
    pub fn object(&mut self, depth: usize) -> Map<String, Value> {
        self.list(|source| (source.text(), source.json(depth.saturating_sub(1)))).into_iter().collect()
    }

    /// Open metadata.
    pub fn metadata(&mut self) -> Metadata {
        self.object(2).into()
    }
}

/// Sets optional members, each of them or not.
macro_rules! maybe {
    ($source:ident, $value:expr, $( $with:ident($member:expr) ),* $(,)?) => {{
        let mut value = $value;
        $( if $source.flag() { value = value.$with($member); } )*
        value
    }};
}

/// What every event may carry.
macro_rules! stamped {
    ($source:ident, $value:expr) => {
        maybe!(
            $source,
            $value,
            with_timestamp($source.integer()),
            with_metadata($source.metadata()),
            with_raw_event(Box::new($source.json_not_null()))
        )
    };
}

/// What an event that can be attributed may carry.
macro_rules! attributed {
    ($source:ident, $value:expr) => {
        stamped!($source, maybe!($source, $value, with_subagent_run_id($source.text())))
    };
}

impl Source {
    /// An event of one type.
    #[expect(clippy::too_many_lines, reason = "one arm for each of the 31 events")]
    pub fn event(&mut self, kind: EventType) -> Event {
        let s = self;
        match kind {
            EventType::TextMessageStart => attributed!(
                s,
                maybe!(
                    s,
                    TextMessageStartEvent::new(s.text()),
                    with_role(*s.choose(TextMessageRole::ALL)),
                    with_name(s.text())
                )
            )
            .into(),
            EventType::TextMessageContent => {
                attributed!(s, TextMessageContentEvent::new(s.text(), s.text())).into()
            }
            EventType::TextMessageEnd => attributed!(s, TextMessageEndEvent::new(s.text())).into(),
            EventType::TextMessageChunk => attributed!(
                s,
                maybe!(
                    s,
                    TextMessageChunkEvent::new(),
                    with_message_id(s.text()),
                    with_role(*s.choose(TextMessageRole::ALL)),
                    with_delta(s.text()),
                    with_name(s.text())
                )
            )
            .into(),
            EventType::ToolCallStart => attributed!(
                s,
                maybe!(s, ToolCallStartEvent::new(s.text(), s.text()), with_parent_message_id(s.text()))
            )
            .into(),
            EventType::ToolCallArgs => attributed!(s, ToolCallArgsEvent::new(s.text(), s.text())).into(),
            EventType::ToolCallEnd => attributed!(s, ToolCallEndEvent::new(s.text())).into(),
            EventType::ToolCallChunk => attributed!(
                s,
                maybe!(
                    s,
                    ToolCallChunkEvent::new(),
                    with_tool_call_id(s.text()),
                    with_tool_call_name(s.text()),
                    with_parent_message_id(s.text()),
                    with_delta(s.text())
                )
            )
            .into(),
            EventType::ToolCallResult => attributed!(
                s,
                maybe!(
                    s,
                    ToolCallResultEvent::new(s.text(), s.text(), s.content()),
                    with_role(ToolRole::Tool)
                )
            )
            .into(),
            EventType::StateSnapshot => attributed!(s, StateSnapshotEvent::new(s.json(4))).into(),
            EventType::StateDelta => attributed!(s, StateDeltaEvent::new(s.list(Self::operation))).into(),
            EventType::MessagesSnapshot => {
                stamped!(s, MessagesSnapshotEvent::new(s.list(Self::message))).into()
            }
            EventType::ActivitySnapshot => attributed!(
                s,
                maybe!(
                    s,
                    ActivitySnapshotEvent::new(s.text(), s.text(), s.object(3)),
                    with_replace(s.flag())
                )
            )
            .into(),
            EventType::ActivityDelta => {
                attributed!(s, ActivityDeltaEvent::new(s.text(), s.text(), s.list(Self::operation))).into()
            }
            EventType::Raw => {
                attributed!(s, maybe!(s, RawEvent::new(s.json(4)), with_source(s.text()))).into()
            }
            EventType::Custom => attributed!(s, CustomEvent::new(s.text(), s.json(4))).into(),
            EventType::RunStarted => stamped!(
                s,
                maybe!(
                    s,
                    RunStartedEvent::new(s.text(), s.text()),
                    with_protocol_version(s.text()),
                    with_parent_run_id(s.text()),
                    with_input(Box::new(s.run_input()))
                )
            )
            .into(),
            EventType::RunFinished => stamped!(
                s,
                maybe!(
                    s,
                    RunFinishedEvent::new(s.text(), s.text()),
                    with_result(s.json_not_null()),
                    with_outcome(s.run_outcome()),
                    with_usage(s.list(Self::usage))
                )
            )
            .into(),
            EventType::RunError => stamped!(
                s,
                maybe!(s, RunErrorEvent::new(s.text()), with_code(s.text()), with_usage(s.list(Self::usage)))
            )
            .into(),
            EventType::StepStarted => attributed!(s, StepStartedEvent::new(s.text())).into(),
            EventType::StepFinished => attributed!(s, StepFinishedEvent::new(s.text())).into(),
            EventType::ReasoningStart => attributed!(s, ReasoningStartEvent::new(s.text())).into(),
            EventType::ReasoningMessageStart => {
                attributed!(s, ReasoningMessageStartEvent::new(s.text())).into()
            }
            EventType::ReasoningMessageContent => {
                attributed!(s, ReasoningMessageContentEvent::new(s.text(), s.text())).into()
            }
            EventType::ReasoningMessageEnd => attributed!(s, ReasoningMessageEndEvent::new(s.text())).into(),
            EventType::ReasoningMessageChunk => attributed!(
                s,
                maybe!(s, ReasoningMessageChunkEvent::new(), with_message_id(s.text()), with_delta(s.text()))
            )
            .into(),
            EventType::ReasoningEnd => attributed!(s, ReasoningEndEvent::new(s.text())).into(),
            EventType::ReasoningEncryptedValue => attributed!(
                s,
                ReasoningEncryptedValueEvent::new(
                    *s.choose(ReasoningEncryptedValueSubtype::ALL),
                    s.text(),
                    s.text()
                )
            )
            .into(),
            EventType::SubagentStarted => stamped!(
                s,
                maybe!(
                    s,
                    SubagentStartedEvent::new(s.text(), s.text()),
                    with_description(s.text()),
                    with_parent_subagent_run_id(s.text()),
                    with_parent_tool_call_id(s.text()),
                    with_parent_message_id(s.text())
                )
            )
            .into(),
            EventType::SubagentFinished => stamped!(
                s,
                maybe!(
                    s,
                    SubagentFinishedEvent::new(s.text()),
                    with_result(s.json_not_null()),
                    with_outcome(s.subagent_outcome())
                )
            )
            .into(),
            EventType::SubagentError => {
                stamped!(s, maybe!(s, SubagentErrorEvent::new(s.text(), s.text()), with_code(s.text())))
                    .into()
            }
            other => panic!("no generator for {other}"),
        }
    }

    /// Any of the 7 kinds of message.
    pub fn message(&mut self) -> Message {
        let s = self;
        macro_rules! said {
            ($value:expr) => {
                maybe!(s, $value, with_subagent_run_id(s.text()), with_metadata(s.metadata()))
            };
        }
        match s.choose(Role::ALL) {
            Role::Developer => said!(maybe!(
                s,
                DeveloperMessage::new(s.text(), s.text()),
                with_name(s.text()),
                with_encrypted_value(s.text())
            ))
            .into(),
            Role::System => said!(maybe!(
                s,
                SystemMessage::new(s.text(), s.text()),
                with_name(s.text()),
                with_encrypted_value(s.text())
            ))
            .into(),
            Role::Assistant => said!(maybe!(
                s,
                AssistantMessage::new(s.text()),
                with_content(s.text()),
                with_tool_calls(s.list(Self::tool_call)),
                with_name(s.text()),
                with_encrypted_value(s.text())
            ))
            .into(),
            Role::User => said!(maybe!(
                s,
                UserMessage::new(s.text(), s.content()),
                with_name(s.text()),
                with_encrypted_value(s.text())
            ))
            .into(),
            Role::Tool => said!(maybe!(
                s,
                ToolMessage::new(s.text(), s.text(), s.content()),
                with_error(s.text()),
                with_encrypted_value(s.text())
            ))
            .into(),
            Role::Activity => said!(ActivityMessage::new(s.text(), s.text(), s.object(3))).into(),
            Role::Reasoning => {
                said!(maybe!(s, ReasoningMessage::new(s.text(), s.text()), with_encrypted_value(s.text())))
                    .into()
            }
            other => panic!("no generator for {other}"),
        }
    }

    /// Text or parts.
    pub fn content(&mut self) -> Content {
        if self.flag() { Content::Parts(self.list(Self::part)) } else { Content::Text(self.text()) }
    }

    /// One part of a content list.
    pub fn part(&mut self) -> ContentPart {
        let s = self;
        macro_rules! described {
            ($value:expr) => {
                maybe!(s, $value, with_id(s.text()), with_metadata(s.json_not_null())).into()
            };
        }
        match s.below(5) {
            0 => described!(TextPart::new(s.text())),
            1 => described!(ImagePart::new(s.part_source())),
            2 => described!(AudioPart::new(s.part_source())),
            3 => described!(VideoPart::new(s.part_source())),
            _ => described!(DocumentPart::new(s.part_source())),
        }
    }

    fn part_source(&mut self) -> PartSource {
        let s = self;
        match s.below(3) {
            0 => DataSource::new(s.text(), s.text()).into(),
            1 => maybe!(s, UrlSource::new(s.text()), with_mime_type(s.text())).into(),
            _ => {
                maybe!(s, FileSource::new(s.text()), with_provider(s.text()), with_mime_type(s.text())).into()
            }
        }
    }

    fn tool_call(&mut self) -> ToolCall {
        let s = self;
        maybe!(
            s,
            ToolCall::new(s.text(), FunctionCall::new(s.text(), s.text())),
            with_encrypted_value(s.text()),
            with_metadata(s.metadata())
        )
    }

    fn tool(&mut self) -> Tool {
        let s = self;
        maybe!(
            s,
            Tool::new(s.text(), s.text()),
            with_parameters(s.json_not_null()),
            with_metadata(s.metadata())
        )
    }

    fn usage(&mut self) -> TokenUsage {
        let s = self;
        maybe!(
            s,
            TokenUsage::new(),
            with_provider(s.text()),
            with_model(s.text()),
            with_input_tokens(s.count()),
            with_output_tokens(s.count()),
            with_total_tokens(s.count()),
            with_reasoning_tokens(s.count()),
            with_cached_input_tokens(s.count()),
            with_cache_write_input_tokens(s.count())
        )
    }

    /// One JSON Patch operation, with members beyond RFC 6902 or without.
    pub fn operation(&mut self) -> JsonPatchOperation {
        let s = self;
        macro_rules! extended {
            ($value:expr) => {{
                let mut operation = $value;
                if s.flag() {
                    operation.extra = Some(Box::new(Map::from_iter([("x".to_owned(), s.json(2))])));
                }
                operation.into()
            }};
        }
        match s.below(6) {
            0 => extended!(AddOperation::new(s.pointer(), s.json(3))),
            1 => extended!(RemoveOperation::new(s.pointer())),
            2 => extended!(ReplaceOperation::new(s.pointer(), s.json(3))),
            3 => extended!(MoveOperation::new(s.pointer(), s.pointer())),
            4 => extended!(CopyOperation::new(s.pointer(), s.pointer())),
            _ => extended!(TestOperation::new(s.pointer(), s.json(3))),
        }
    }

    fn pointer(&mut self) -> JsonPointer {
        JsonPointer::from_tokens(self.list(Self::text))
    }

    fn run_outcome(&mut self) -> RunFinishedOutcome {
        let s = self;
        match s.below(3) {
            0 => maybe!(
                s,
                RunFinishedSuccessOutcome::new(),
                with_pending_tool_call_ids(s.list(|s| ToolCallId::from(s.text())))
            )
            .into(),
            1 => RunFinishedInterruptOutcome::new(s.interrupts()).into(),
            _ => RunFinishedCancelledOutcome::new().into(),
        }
    }

    fn interrupts(&mut self) -> Interrupts {
        let s = self;
        let interrupts: Vec<Interrupt> = (0..=s.below(3))
            .map(|index| {
                maybe!(
                    s,
                    Interrupt::new(format!("i-{index}"), s.text()),
                    with_message(s.text()),
                    with_tool_call_id(s.text()),
                    with_response_schema(s.object(2)),
                    with_expires_at(s.text()),
                    with_subagent_run_id(s.text()),
                    with_metadata(s.metadata())
                )
            })
            .collect();
        Interrupts::try_from(interrupts).unwrap()
    }

    fn subagent_outcome(&mut self) -> SubagentFinishedOutcome {
        let s = self;
        if s.flag() {
            maybe!(
                s,
                SubagentFinishedSuspendedOutcome::new(),
                with_interrupt_ids(s.list(|s| InterruptId::from(s.text())))
            )
            .into()
        } else {
            SubagentFinishedSuccessOutcome::new().into()
        }
    }

    /// A run input.
    pub fn run_input(&mut self) -> RunAgentInput {
        let s = self;
        maybe!(
            s,
            RunAgentInput::new(s.text(), s.text(), s.list(Self::message)),
            with_protocol_version(s.text()),
            with_parent_run_id(s.text()),
            with_state(s.json_not_null()),
            with_tools(s.list(Self::tool)),
            with_context(s.list(|s| Context::new(s.text(), s.text()))),
            with_forwarded_props(s.json_not_null()),
            with_resume(s.list(|s| maybe!(
                s,
                ResumeEntry::new(s.text(), *s.choose(ResumeStatus::ALL)),
                with_payload(s.json_not_null()),
                with_metadata(s.metadata())
            )))
        )
    }

    /// A declaration of capabilities.
    #[expect(clippy::too_many_lines, reason = "every member of every group")]
    pub fn capabilities(&mut self) -> AgentCapabilities {
        let s = self;
        maybe!(
            s,
            AgentCapabilities::new(),
            with_identity(maybe!(
                s,
                IdentityCapabilities::new(),
                with_name(s.text()),
                with_type(s.text()),
                with_description(s.text()),
                with_version(s.text()),
                with_provider(s.text()),
                with_documentation_url(s.text()),
                with_metadata(s.metadata())
            )),
            with_transport(maybe!(
                s,
                TransportCapabilities::new(),
                with_streaming(s.flag()),
                with_websocket(s.flag()),
                with_http_binary(s.flag()),
                with_push_notifications(s.flag()),
                with_resumable(s.flag())
            )),
            with_tools(maybe!(
                s,
                ToolsCapabilities::new(),
                with_supported(s.flag()),
                with_items(s.list(Self::tool)),
                with_parallel_calls(s.flag()),
                with_client_provided(s.flag())
            )),
            with_output(maybe!(
                s,
                OutputCapabilities::new(),
                with_structured_output(s.flag()),
                with_supported_mime_types(s.list(Self::text))
            )),
            with_state(maybe!(
                s,
                StateCapabilities::new(),
                with_snapshots(s.flag()),
                with_deltas(s.flag()),
                with_memory(s.flag()),
                with_persistent_state(s.flag())
            )),
            with_multi_agent(maybe!(
                s,
                MultiAgentCapabilities::new(),
                with_supported(s.flag()),
                with_delegation(s.flag()),
                with_handoffs(s.flag()),
                with_subagents(s.list(|s| maybe!(
                    s,
                    SubagentInfo::new(s.text()),
                    with_description(s.text())
                )))
            )),
            with_reasoning(maybe!(
                s,
                ReasoningCapabilities::new(),
                with_supported(s.flag()),
                with_streaming(s.flag()),
                with_encrypted(s.flag())
            )),
            with_multimodal(maybe!(
                s,
                MultimodalCapabilities::new(),
                with_input(maybe!(
                    s,
                    MultimodalInputCapabilities::new(),
                    with_image(s.flag()),
                    with_audio(s.flag()),
                    with_video(s.flag()),
                    with_pdf(s.flag()),
                    with_file(s.flag())
                )),
                with_output(maybe!(
                    s,
                    MultimodalOutputCapabilities::new(),
                    with_image(s.flag()),
                    with_audio(s.flag())
                ))
            )),
            with_execution(maybe!(
                s,
                ExecutionCapabilities::new(),
                with_code_execution(s.flag()),
                with_sandboxed(s.flag()),
                with_max_iterations(s.count()),
                with_max_execution_time(s.count())
            )),
            with_human_in_the_loop(maybe!(
                s,
                HumanInTheLoopCapabilities::new(),
                with_supported(s.flag()),
                with_approvals(s.flag()),
                with_interventions(s.flag()),
                with_feedback(s.flag()),
                with_interrupts(s.flag()),
                with_approve_with_edits(s.flag())
            )),
            with_custom(s.object(3))
        )
    }
}

/// An event of a type with every optional member.
pub fn full_event(kind: EventType) -> Event {
    Source::new(std::iter::repeat_n(1, 512).collect()).event(kind)
}

/// The smallest event of a type: required members only.
pub fn minimal_event(kind: EventType) -> Event {
    Source::new(Vec::new()).event(kind)
}
