//! A consumer as a whole, rule by rule: an input goes out, frames come in, and what is delivered, held and warned about
//! is looked at from outside.
//!
//! What one stage does by itself stands in that stage's tests; here are the rules that only show where stages meet.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may panic in its helpers too")]

mod exchange;
mod items;
mod processing;
mod runs;
mod shape;
mod state;
mod subagents;

use agui_core::consumer::{Conversation, Exchange, Session, StreamEnd, StreamError};
use serde_json::{Value, json};

/// The time of every test, in milliseconds since the Unix epoch.
const NOW_MS: i64 = 1_788_264_000_000;

/// What one stream came to.
struct Seen {
    /// The input that went out.
    sent: Value,
    /// The events that were delivered.
    events: Vec<Value>,
    /// Rule and path of each warning.
    warnings: Vec<String>,
    /// The warnings and the error as a developer reads them.
    words: String,
    error: Option<StreamError>,
    end: StreamEnd,
}

impl Seen {
    /// Feeds a stream to its end, or up to the event that is refused.
    fn feed(mut exchange: Exchange<&mut Conversation>, stream: &Value) -> Self {
        let mut events = Vec::new();
        let mut error = None;
        for event in stream.as_array().unwrap() {
            let text = event.to_string();
            let result = exchange.feed(text.as_str(), &mut |event, _| events.push(json!(event)));
            if let Err(refused) = result {
                error = Some(refused);
                break;
            }
        }
        let end = exchange.finish();
        let warnings =
            exchange.warnings().map(|warning| format!("{} {}", warning.rule(), warning.path())).collect();
        let words: Vec<String> = exchange
            .warnings()
            .map(ToString::to_string)
            .chain(error.iter().map(ToString::to_string))
            .collect();
        let words = words.join("\n");
        Self { sent: json!(exchange.request()), events, warnings, words, error, end }
    }

    /// The types of the events that were delivered.
    fn types(&self) -> Vec<&str> {
        self.events.iter().map(|event| event["type"].as_str().unwrap()).collect()
    }

    /// Rule, place in the stream and path of the error.
    #[track_caller]
    fn refusal(&self) -> (&str, u64, &str) {
        let error = self.error.as_ref().unwrap_or_else(|| panic!("accepted: {:?}", self.events));
        (error.rule(), error.index(), error.path())
    }
}

/// One more exchange of a thread.
fn exchange(session: &mut Session, input: Value, stream: &Value) -> Seen {
    Seen::feed(session.send_json(input, NOW_MS).unwrap(), stream)
}

fn input() -> Value {
    json!({"threadId": "t", "runId": "r", "messages": []})
}

/// A stream that answers an empty input, and what is held afterwards.
fn stream(stream: &Value) -> (Seen, Conversation) {
    let mut session = Session::new();
    let seen = exchange(&mut session, input(), stream);
    (seen, session.conversation().clone())
}

/// Events inside of a run.
fn in_a_run(events: &Value) -> Value {
    let mut stream = vec![started("r")];
    stream.extend(events.as_array().unwrap().iter().cloned());
    stream.push(finished("r"));
    stream.into()
}

/// A run of these events, which is accepted without a warning and delivered as it is.
#[track_caller]
fn quiet(events: &Value) -> (Seen, Conversation) {
    let sent = in_a_run(events);
    let (seen, conversation) = stream(&sent);
    if let Some(error) = &seen.error {
        panic!("{error}");
    }
    assert_eq!(seen.warnings, [""; 0]);
    (seen, conversation)
}

/// A run in which the last of these events is refused; what stands before it is delivered.
#[track_caller]
fn refused(rule: &str, events: &Value) -> Seen {
    let (seen, _) = stream(&in_a_run(events));
    let place = events.as_array().unwrap().len();
    let (found, index, _) = seen.refusal();
    assert_eq!((found, index), (rule, place as u64), "{}", seen.words);
    assert_eq!(seen.end, StreamEnd::Truncated);
    seen
}

fn started(run: &str) -> Value {
    json!({"type": "RUN_STARTED", "threadId": "t", "runId": run})
}

fn finished(run: &str) -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": run})
}

fn text(id: &str, delta: &str) -> [Value; 3] {
    [
        json!({"type": "TEXT_MESSAGE_START", "messageId": id}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
    ]
}

fn messages(conversation: &Conversation) -> Value {
    json!(conversation.to_messages())
}
