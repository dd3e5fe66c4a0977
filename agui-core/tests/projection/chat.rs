//! A chat application's vocabulary and its projection, to be copied.
//!
//! The frames are what the application speaks among its own parts. In each struct named `…Extra` is what AG-UI has no
//! place for; it travels under the one metadata key `acme.frame`. Every member of it may be missing, which is what a
//! reader gets from a stream of another producer, or where somebody stripped the metadata.
//!
//! | frame | AG-UI |
//! |---|---|
//! | `StreamStart` | `RUN_STARTED` |
//! | `Delta` | `TEXT_MESSAGE_CONTENT`, with the START before the first and the END when something else is due |
//! | `Complete` | `RUN_FINISHED`, success |
//! | `UserMessage` | `TEXT_MESSAGE_START`, `_CONTENT`, `_END` with the role `user` |
//! | `ToolUse` | `TOOL_CALL_START`, `_ARGS`, `_END` |
//! | `ToolResult` | `TOOL_CALL_RESULT` |
//! | `TitleChange` | `STATE_DELTA` of `/title`, since a title is state that every front end can show |
//! | `Draft`, `Presence` | `CUSTOM`, whole: no standard event means anything like it |
//! | `Menu` | `RUN_FINISHED` with an interrupt: the run stops to ask |
//! | `Cancelled` | `RUN_FINISHED`, cancelled |

use std::collections::HashMap;

use agui_core::projection::{Leftovers, LeftoversError, Projection};
use agui_core::{
    CustomEvent, Event, Interrupt, JsonObject, JsonPatchOperation, JsonPointer, MessageId, MetadataNamespace,
    PROTOCOL_VERSION, RunErrorEvent, RunFinishedCancelledOutcome, RunFinishedEvent,
    RunFinishedInterruptOutcome, RunFinishedOutcome, RunFinishedSuccessOutcome, RunStartedEvent,
    StateDeltaEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageRole, TextMessageStartEvent,
    ToolCallArgsEvent, ToolCallEndEvent, ToolCallId, ToolCallResultEvent, ToolCallStartEvent, ToolRole,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One message of the application's own protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    StreamStart { conversation: String, stream: String, extra: StartExtra },
    Delta { message: String, text: String, extra: DeltaExtra },
    Complete { extra: CompleteExtra },
    UserMessage(UserLine),
    ToolUse(ToolUse),
    ToolResult { call: String, message: String, output: String, extra: ToolResultExtra },
    TitleChange { title: String, extra: TitleExtra },
    Draft(Draft),
    Presence(Presence),
    Menu { id: String, question: String, choices: Vec<String>, extra: MenuExtra },
    Cancelled { extra: CancelledExtra },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UserLine {
    pub(crate) message: String,
    pub(crate) author: Option<String>,
    pub(crate) text: String,
    pub(crate) extra: UserExtra,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolUse {
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) extra: ToolUseExtra,
}

/// What somebody is about to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) cursor: u32,
}

/// Who is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Presence {
    pub(crate) user: String,
    pub(crate) online: bool,
}

/// Declares what AG-UI has no place for in one kind of frame. An absent member is not written.
macro_rules! extra {
    ($( $Name:ident { $( $member:ident: $Type:ty, )+ } )+) => { $(
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        pub(crate) struct $Name {
            $( #[serde(default, skip_serializing_if = "Option::is_none")] pub(crate) $member: Option<$Type>, )+
        }
    )+ };
}

extra! {
    StartExtra { model: String, region: String, }
    DeltaExtra { seq: u64, confidence: f64, }
    CompleteExtra { finish_reason: String, latency_ms: u64, }
    UserExtra { device: String, mentions: Vec<String>, }
    ToolUseExtra { approved_by: String, timeout_ms: u64, }
    ToolResultExtra { cached: bool, exit_code: i32, }
    TitleExtra { by: String, automatic: bool, }
    MenuExtra { columns: u8, icons: Vec<String>, }
    CancelledExtra { by: String, reason: String, }
}

/// The one key for all that AG-UI has no place for.
pub(crate) const LEFTOVERS: Leftovers = Leftovers::new(MetadataNamespace::new("acme"), "frame");

const DRAFT: &str = "acme.draft";
const PRESENCE: &str = "acme.presence";
const MENU: &str = "acme.menu";
const TITLE: &str = "/title";

#[derive(Debug, thiserror::Error)]
pub(crate) enum ChatError {
    #[error("the frame ends a stream, and none is open")]
    NoStream,
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    #[error("the arguments of call {call:?} are no JSON")]
    Arguments { call: String, source: serde_json::Error },
    #[error("the value of {name} does not fit")]
    Custom { name: &'static str, source: serde_json::Error },
}

/// The projection. One value serves one direction of one connection.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    outgoing: Outgoing,
    incoming: Incoming,
}

/// What projecting remembers of the stream that is open.
#[derive(Debug, Default)]
struct Outgoing {
    /// Conversation and stream, which the end repeats.
    stream: Option<(String, String)>,
    /// The message that deltas go to.
    answer: Option<String>,
    /// Calls without a result yet: they are for the front end to answer (`INT-7`).
    unanswered: Vec<String>,
}

/// What recovering remembers of frames that are under way.
#[derive(Debug, Default)]
struct Incoming {
    texts: HashMap<MessageId, Text>,
    /// Calls with their argument text so far.
    calls: HashMap<ToolCallId, (ToolUse, String)>,
}

#[derive(Debug)]
enum Text {
    /// Each piece is a frame.
    Answer,
    /// The whole is a frame.
    User(UserLine),
}

impl Projection for Chat {
    type Frame = Frame;
    type Error = ChatError;

    fn project(&mut self, frame: Frame, out: &mut Vec<Event>) -> Result<(), ChatError> {
        self.outgoing.project(frame, out)
    }

    /// The frames of a stream that was cut off have no end, and its run gets none that looks like one (`LIFE-11`).
    fn finish_projecting(&mut self, out: &mut Vec<Event>) -> Result<(), ChatError> {
        if self.outgoing.stream.take().is_some() {
            out.push(RunErrorEvent::new("The answer was cut off.").with_code("cut_off").into());
        }
        Ok(())
    }

    fn recover(&mut self, event: &Event, out: &mut Vec<Frame>) -> Result<(), ChatError> {
        // The vocabulary knows one agent, so what a subagent does is foreign.
        if event.subagent_run_id().is_some() {
            return Ok(());
        }
        self.incoming.recover(event, out)
    }
}

impl Outgoing {
    fn project(&mut self, frame: Frame, out: &mut Vec<Event>) -> Result<(), ChatError> {
        match frame {
            Frame::StreamStart { conversation, stream, extra } => {
                let event =
                    RunStartedEvent::new(&conversation, &stream).with_protocol_version(PROTOCOL_VERSION);
                out.push(LEFTOVERS.attach(event, &extra)?);
                *self = Self { stream: Some((conversation, stream)), ..Self::default() };
            }
            Frame::Delta { message, text, extra } => {
                let content = LEFTOVERS.attach(TextMessageContentEvent::new(&message, text), &extra)?;
                if self.answer.as_ref() != Some(&message) {
                    self.close_answer(out);
                    let start = TextMessageStartEvent::new(&message);
                    out.push(start.with_role(TextMessageRole::Assistant).into());
                    self.answer = Some(message);
                }
                out.push(content);
            }
            Frame::UserMessage(UserLine { message, author, text, extra }) => {
                let mut start = TextMessageStartEvent::new(&message).with_role(TextMessageRole::User);
                start.name = author;
                out.push(LEFTOVERS.attach(start, &extra)?);
                out.push(TextMessageContentEvent::new(&message, text).into());
                out.push(TextMessageEndEvent::new(message).into());
            }
            Frame::ToolUse(ToolUse { call, tool, arguments, extra }) => {
                let start = LEFTOVERS.attach(ToolCallStartEvent::new(&call, tool), &extra)?;
                // Consumers from before 1.0 do not expect a call inside a text.
                self.close_answer(out);
                out.push(start);
                out.push(ToolCallArgsEvent::new(&call, arguments.to_string()).into());
                out.push(ToolCallEndEvent::new(&call).into());
                self.unanswered.push(call);
            }
            Frame::ToolResult { call, message, output, extra } => {
                let result = ToolCallResultEvent::new(message, &call, output).with_role(ToolRole::Tool);
                out.push(LEFTOVERS.attach(result, &extra)?);
                self.unanswered.retain(|unanswered| *unanswered != call);
            }
            Frame::TitleChange { title, extra } => {
                let operation = JsonPatchOperation::add(JsonPointer::from_tokens(["title"]), title);
                out.push(LEFTOVERS.attach(StateDeltaEvent::new([operation]), &extra)?);
            }
            Frame::Draft(draft) => out.push(custom(DRAFT, &draft)?),
            Frame::Presence(presence) => out.push(custom(PRESENCE, &presence)?),
            Frame::Menu { id, question, choices, extra } => {
                let mut menu = Interrupt::new(id, MENU).with_message(question);
                menu.response_schema = Some(JsonObject::from_iter([("enum".to_owned(), json!(choices))]));
                LEFTOVERS.put(&mut menu.metadata, &extra)?;
                self.end(Some(RunFinishedInterruptOutcome::new(menu).into()), &(), out)?;
            }
            Frame::Complete { extra } => {
                let ids = self.unanswered.iter().map(ToolCallId::from).collect::<Vec<_>>();
                let outcome = (!ids.is_empty())
                    .then(|| RunFinishedSuccessOutcome::new().with_pending_tool_call_ids(ids).into());
                self.end(outcome, &extra, out)?;
            }
            Frame::Cancelled { extra } => {
                self.end(Some(RunFinishedCancelledOutcome::new().into()), &extra, out)?;
            }
        }
        Ok(())
    }

    fn end(
        &mut self,
        outcome: Option<RunFinishedOutcome>,
        extra: &impl Serialize,
        out: &mut Vec<Event>,
    ) -> Result<(), ChatError> {
        let (conversation, stream) = self.stream.as_ref().ok_or(ChatError::NoStream)?;
        let mut finished = RunFinishedEvent::new(conversation, stream);
        finished.outcome = outcome;
        let finished = LEFTOVERS.attach(finished, extra)?;
        self.close_answer(out);
        out.push(finished);
        self.stream = None;
        Ok(())
    }

    fn close_answer(&mut self, out: &mut Vec<Event>) {
        out.extend(self.answer.take().map(|message| TextMessageEndEvent::new(message).into()));
    }
}

fn custom(name: &'static str, value: &impl Serialize) -> Result<Event, ChatError> {
    let value = serde_json::to_value(value).map_err(|source| ChatError::Custom { name, source })?;
    Ok(CustomEvent::new(name, value).into())
}

impl Incoming {
    fn recover(&mut self, event: &Event, out: &mut Vec<Frame>) -> Result<(), ChatError> {
        let leftovers = event.metadata();
        match event {
            Event::RunStarted(event) => {
                // What a failed run has abandoned stays abandoned (`LIFE-6`).
                *self = Self::default();
                out.push(Frame::StreamStart {
                    conversation: event.thread_id.to_string(),
                    stream: event.run_id.to_string(),
                    extra: LEFTOVERS.get(leftovers)?.unwrap_or_default(),
                });
            }
            Event::TextMessageStart(event) => {
                let text = match event.role {
                    None | Some(TextMessageRole::Assistant) => Text::Answer,
                    Some(TextMessageRole::User) => Text::User(UserLine {
                        message: event.message_id.to_string(),
                        author: event.name.clone(),
                        text: String::new(),
                        extra: LEFTOVERS.get(leftovers)?.unwrap_or_default(),
                    }),
                    Some(_) => return Ok(()),
                };
                self.texts.insert(event.message_id.clone(), text);
            }
            Event::TextMessageContent(event) => match self.texts.get_mut(&event.message_id) {
                None => {}
                Some(Text::User(user)) => user.text.push_str(&event.delta),
                Some(Text::Answer) => out.push(Frame::Delta {
                    message: event.message_id.to_string(),
                    text: event.delta.clone(),
                    extra: LEFTOVERS.get(leftovers)?.unwrap_or_default(),
                }),
            },
            Event::TextMessageEnd(event) => {
                if let Some(Text::User(user)) = self.texts.remove(&event.message_id) {
                    out.push(Frame::UserMessage(user));
                }
            }
            Event::ToolCallStart(event) => {
                let call = ToolUse {
                    call: event.tool_call_id.to_string(),
                    tool: event.tool_call_name.clone(),
                    arguments: Value::Null,
                    extra: LEFTOVERS.get(leftovers)?.unwrap_or_default(),
                };
                self.calls.insert(event.tool_call_id.clone(), (call, String::new()));
            }
            Event::ToolCallArgs(event) => {
                if let Some((_, arguments)) = self.calls.get_mut(&event.tool_call_id) {
                    arguments.push_str(&event.delta);
                }
            }
            Event::ToolCallEnd(event) => {
                if let Some((call, arguments)) = self.calls.remove(&event.tool_call_id) {
                    out.push(Frame::ToolUse(with_arguments(call, &arguments)?));
                }
            }
            Event::ToolCallResult(event) => out.push(Frame::ToolResult {
                call: event.tool_call_id.to_string(),
                message: event.message_id.to_string(),
                output: event.content.text().into_owned(),
                extra: LEFTOVERS.get(leftovers)?.unwrap_or_default(),
            }),
            Event::StateDelta(event) => {
                for operation in event.delta.iter().filter(|operation| operation.path().as_str() == TITLE) {
                    if let ("add" | "replace", Some(Value::String(title))) =
                        (operation.op(), operation.value())
                    {
                        let extra = LEFTOVERS.get(leftovers)?.unwrap_or_default();
                        out.push(Frame::TitleChange { title: title.clone(), extra });
                    }
                }
            }
            Event::Custom(event) if event.name == DRAFT => {
                out.push(Frame::Draft(payload(DRAFT, &event.value)?));
            }
            Event::Custom(event) if event.name == PRESENCE => {
                out.push(Frame::Presence(payload(PRESENCE, &event.value)?));
            }
            Event::RunFinished(event) => match &event.outcome {
                None | Some(RunFinishedOutcome::Success(_)) => {
                    out.push(Frame::Complete { extra: LEFTOVERS.get(leftovers)?.unwrap_or_default() });
                }
                Some(RunFinishedOutcome::Cancelled(_)) => {
                    out.push(Frame::Cancelled { extra: LEFTOVERS.get(leftovers)?.unwrap_or_default() });
                }
                Some(RunFinishedOutcome::Interrupt(outcome)) => {
                    for interrupt in outcome.interrupts.iter().filter(|interrupt| interrupt.reason == MENU) {
                        out.push(menu(interrupt)?);
                    }
                }
                Some(_) => {}
            },
            // Everything else stands for no frame.
            _ => {}
        }
        Ok(())
    }
}

/// A call whose arguments are complete. Without any text it has none, which another producer may write.
fn with_arguments(mut call: ToolUse, text: &str) -> Result<ToolUse, ChatError> {
    call.arguments = if text.is_empty() {
        json!({})
    } else {
        serde_json::from_str(text)
            .map_err(|source| ChatError::Arguments { call: call.call.clone(), source })?
    };
    Ok(call)
}

fn payload<'a, T: Deserialize<'a>>(name: &'static str, value: &'a Value) -> Result<T, ChatError> {
    T::deserialize(value).map_err(|source| ChatError::Custom { name, source })
}

fn menu(interrupt: &Interrupt) -> Result<Frame, ChatError> {
    let choices = interrupt.response_schema.as_ref().and_then(|schema| schema.get("enum")?.as_array());
    Ok(Frame::Menu {
        id: interrupt.id.to_string(),
        question: interrupt.message.clone().unwrap_or_default(),
        choices: choices.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        extra: LEFTOVERS.get(interrupt.metadata.as_ref())?.unwrap_or_default(),
    })
}
