//! One exchange of a consumer, and the report of what came of it.
//!
//! Used by `replay`, which prints the report, and by `conformance`, which compares it with what a case expects: both see
//! the same consumer. The report has the names and meanings of the corpus's README; what it says of the events is what
//! the application sees.

use std::ops::ControlFlow;

use agui_core::consumer::{self, Conversation, Exchange, RunRecord, SendError, StreamError};
use agui_core::{Event, Message, RunAgentInput, Warning};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{counted, frames::Ending};

/// What came of an exchange.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// `completed`: the consumer accepted the stream to its end. `failed`: it rejected it, or did not send the input.
    outcome: &'static str,
    /// Why it failed.
    error: Option<Diagnostic>,
    /// What the last `RUN_ERROR` that reached the application says.
    run_error: Option<String>,
    /// How the last run that began is presented: `success`, `interrupt`, `cancelled`, `error` or `none`.
    run_outcome: &'static str,
    /// Whether the stream ended without a terminal event for its last run (`LIFE-11`). A rejected stream is not
    /// truncated.
    truncated: bool,
    /// The runs of the exchange, in order.
    runs: Vec<Value>,
    /// Those the consumer kept; where there were more, the last says how many, under the rule of the one before it.
    warnings: Vec<Diagnostic>,
    /// The events delivered to the application.
    events: Vec<Event>,
    messages: Vec<Message>,
    state: Value,
    pending_tool_call_ids: Vec<String>,
    /// Whether the input was handed to the transport.
    request_sent: bool,
    request: Option<RunAgentInput>,
}

/// A rejection or a warning, for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnostic {
    rule: &'static str,
    /// The position of the frame, counting from 0; null for the input.
    index: Option<u64>,
    /// The type of the event; null where none is concerned or known.
    r#type: Option<String>,
    /// A JSON Pointer from the root of the event or the input; empty for the whole of it.
    path: String,
    message: String,
}

impl From<&Warning> for Diagnostic {
    fn from(warning: &Warning) -> Self {
        Self {
            rule: warning.rule(),
            index: warning.event_index(),
            r#type: warning.event_type().map(str::to_owned),
            path: warning.path().to_owned(),
            message: warning.message().to_owned(),
        }
    }
}

impl From<&StreamError> for Diagnostic {
    fn from(error: &StreamError) -> Self {
        Self {
            rule: error.rule(),
            index: Some(error.index()),
            r#type: error.event_type().map(str::to_owned),
            path: error.path().to_owned(),
            message: error.message(),
        }
    }
}

impl From<&SendError> for Diagnostic {
    fn from(error: &SendError) -> Self {
        Self {
            rule: error.rule(),
            index: None,
            r#type: None,
            path: error.path().to_owned(),
            message: error.to_string(),
        }
    }
}

impl Report {
    /// The report of an input that was not sent.
    pub(crate) fn refused(error: &SendError, conversation: &Conversation) -> Self {
        Self {
            outcome: "failed",
            error: Some(error.into()),
            run_error: None,
            run_outcome: "none",
            truncated: false,
            runs: Vec::new(),
            warnings: Vec::new(),
            events: Vec::new(),
            messages: conversation.to_messages(),
            state: conversation.state().clone(),
            pending_tool_call_ids: Vec::new(),
            request_sent: false,
            request: None,
        }
    }

    /// Why it failed, on one line; nothing if it did not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.error.as_ref().map(|error| {
            let place = error.index.map_or_else(|| "the input".to_owned(), |index| format!("event {index}"));
            format!("{place}: {}", error.message)
        })
    }

    /// Whether the stream ended before its last run did.
    pub(crate) const fn is_truncated(&self) -> bool {
        self.truncated
    }
}

/// A consumer in the middle of an exchange, with everything its application sees.
#[derive(Debug)]
pub(crate) struct Reader<'s> {
    exchange: Exchange<&'s mut Conversation>,
    events: Vec<Event>,
    error: Option<Diagnostic>,
}

impl<'s> Reader<'s> {
    pub(crate) const fn new(exchange: Exchange<&'s mut Conversation>) -> Self {
        Self { exchange, events: Vec::new(), error: None }
    }

    /// Takes a frame; stops where the stream is rejected.
    pub(crate) fn feed<'a>(&mut self, frame: impl Into<consumer::Frame<'a>>) -> ControlFlow<()> {
        let Self { exchange, events, .. } = self;
        match exchange.feed(frame, &mut |event, _change| events.push(event)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => self.reject(&error),
        }
    }

    fn reject(&mut self, error: &StreamError) -> ControlFlow<()> {
        self.error = Some(error.into());
        ControlFlow::Break(())
    }

    /// Ends the exchange the way its wire ended.
    pub(crate) fn finish(mut self, ending: &Ending<()>) -> Report {
        if let Ending::Refused(error) = ending {
            let _ = self.reject(&StreamError::wire(error.index(), error.rule(), error.to_string()));
        }
        let truncated = self.error.is_none() && self.exchange.finish().is_truncated();
        let mut warnings: Vec<_> = self.exchange.warnings().map(Diagnostic::from).collect();
        let suppressed = self.exchange.suppressed_warnings();
        if suppressed > 0
            && let Some(last) = warnings.last()
        {
            let closing =
                Warning::new(last.rule, format!("{} left out", counted(suppressed, "more warning")));
            warnings.push((&closing).into());
        }
        if let Ending::Truncated(truncation) = ending
            && !truncated
        {
            // The last run is over; what broke off is something else, and nobody would hear of it.
            let warning =
                Warning::new("LIFE-11", truncation.to_string()).with_event_index(truncation.index());
            warnings.push((&warning).into());
        }
        let conversation = self.exchange.conversation();
        let run_error = self.events.iter().rev().find_map(|event| match event {
            Event::RunError(error) => Some(error.message.clone()),
            _ => None,
        });
        Report {
            outcome: if self.error.is_some() { "failed" } else { "completed" },
            error: self.error,
            run_error,
            run_outcome: conversation.run_status().as_str(),
            truncated,
            runs: conversation.exchange_runs().iter().map(run).collect(),
            warnings,
            messages: conversation.to_messages(),
            state: conversation.state().clone(),
            pending_tool_call_ids: conversation
                .pending_tool_call_ids()
                .iter()
                .map(ToString::to_string)
                .collect(),
            request_sent: true,
            request: Some(self.exchange.request().clone()),
            events: self.events,
        }
    }
}

/// A run, without what it does not say.
fn run(run: &RunRecord) -> Value {
    let mut members = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        members.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("threadId", run.thread_id.as_ref().map(|id| json!(id)));
    add("runId", run.run_id.as_ref().map(|id| json!(id)));
    add("parentRunId", run.parent_run_id.as_ref().map(|id| json!(id)));
    add("protocolVersion", run.protocol_version.as_ref().map(|version| json!(version)));
    add("outcome", Some(json!(run.status.as_str())));
    add("result", run.result.clone());
    add("usage", run.usage.as_ref().map(|usage| json!(usage)));
    add(
        "error",
        run.failure.as_ref().map(|failure| match &failure.code {
            Some(code) => json!({"message": failure.message, "code": code}),
            None => json!({"message": failure.message}),
        }),
    );
    add("interrupts", (!run.interrupts.is_empty()).then(|| json!(run.interrupts)));
    let pending = &run.pending_tool_call_ids;
    add("pendingToolCallIds", (!pending.is_empty()).then(|| json!(pending)));
    Value::Object(members)
}

/// The identifiers that a stream names, for an input that leaves them to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    thread: Option<String>,
    run: Option<String>,
}

impl Ids {
    /// Takes a frame into account: the last `RUN_STARTED` counts whose identifier is a string.
    pub(crate) fn note(&mut self, frame: &Value) {
        if frame.get("type").and_then(Value::as_str) == Some("RUN_STARTED") {
            note(&mut self.thread, frame.get("threadId"));
            note(&mut self.run, frame.get("runId"));
        }
    }

    /// The thread, or any.
    pub(crate) fn thread(&self) -> Value {
        self.thread.as_deref().unwrap_or("thread").into()
    }

    /// The run, or any.
    pub(crate) fn run(&self) -> Value {
        self.run.as_deref().unwrap_or("run").into()
    }
}

fn note(slot: &mut Option<String>, id: Option<&Value>) {
    if let Some(Value::String(id)) = id {
        *slot = Some(id.clone());
    }
}
