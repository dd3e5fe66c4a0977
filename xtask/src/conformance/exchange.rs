//! Drives a consumer through the exchanges of a case.

use std::ops::ControlFlow;

use agui_core::consumer::{Session, prepare::next_input};
use anyhow::{Context, bail};
use serde_json::{Map, Value};

use super::case::{Case, Exchange, body};
use crate::{
    frames::{self, Ending, Sliced, Wire},
    replay::now_ms,
    report::{Ids, Reader, Report},
};

/// How the events of a `stream` reach the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feeding {
    /// As JSON text, as a text wire has it.
    Text,
    /// As trees, as another wire might have it.
    #[cfg(test)]
    Tree,
    /// As a body of server-sent events, that many bytes at a time.
    #[cfg(test)]
    Sse { slice: usize },
    /// As a body of the binary wire, that many bytes at a time.
    #[cfg(test)]
    Protobuf { slice: usize },
}

/// Runs a case and reports on its last exchange, in the form of `replay`'s report.
pub(super) fn run(case: &Case, feeding: Feeding) -> anyhow::Result<Value> {
    let exchanges = case.exchanges();
    let thread = thread_of(&exchanges);
    let mut session = Session::new();
    let mut report = None;
    for (position, exchange) in exchanges.iter().enumerate() {
        let input = input(exchange, &session, &thread)?;
        let outcome = converse(&mut session, input, exchange, feeding)?;
        if position + 1 < exchanges.len() {
            if let Some(failure) = outcome.failure() {
                bail!("exchange {position} in `before` failed: {failure}");
            }
            if outcome.is_truncated() {
                bail!("exchange {position} in `before` is truncated");
            }
        }
        report = Some(outcome);
    }
    Ok(serde_json::to_value(report)?)
}

/// The thread of all the exchanges.
fn thread_of(exchanges: &[Exchange]) -> Value {
    let Some(first) = exchanges.first() else { return Ids::default().thread() };
    let named = first.input.as_ref().and_then(|input| input.get("threadId"));
    named.cloned().unwrap_or_else(|| ids(first).thread())
}

fn ids(exchange: &Exchange) -> Ids {
    let mut ids = Ids::default();
    exchange.stream.iter().flatten().for_each(|event| ids.note(event));
    ids
}

/// What the application passes to the run: what the exchange says, and otherwise what the consumer holds.
fn input(exchange: &Exchange, session: &Session, thread: &Value) -> anyhow::Result<Value> {
    let held = next_input(session.conversation(), "", "");
    let mut input = Map::new();
    input.insert("threadId".to_owned(), thread.clone());
    input.insert("runId".to_owned(), ids(exchange).run());
    input.insert("messages".to_owned(), serde_json::to_value(&held.messages)?);
    // A null state cannot be said in an input; leaving it out says nothing against it.
    input.extend(held.state.filter(|state| !state.is_null()).map(|state| ("state".to_owned(), state)));
    input.extend(exchange.input.clone().unwrap_or_default());
    Ok(Value::Object(input))
}

fn converse(
    session: &mut Session,
    input: Value,
    exchange: &Exchange,
    feeding: Feeding,
) -> anyhow::Result<Report> {
    let refused = match session.send_json(input, now_ms()) {
        Ok(sent) => {
            let mut reader = Reader::new(sent);
            let ending = match body(exchange)? {
                Ok(stream) => feed(&mut reader, stream, feeding)?,
                Err(wire) => {
                    let bytes = wire.text.as_bytes();
                    let body = Sliced::new(bytes, wire.slice.unwrap_or(bytes.len()));
                    frames::read(body, Wire::Sse, |frame| reader.feed(frame)).context("cannot read `wire`")?
                }
            };
            return Ok(reader.finish(&ending));
        }
        Err(error) => error,
    };
    Ok(Report::refused(&refused, session.conversation()))
}

fn feed(reader: &mut Reader<'_>, stream: &[Value], feeding: Feeding) -> anyhow::Result<Ending<()>> {
    #[cfg(test)]
    if let Feeding::Sse { slice } = feeding {
        let frames: Vec<_> = stream.iter().map(|event| format!("data: {event}\n\n")).collect();
        let body = frames.concat();
        let body = Sliced::new(body.as_bytes(), slice);
        return Ok(frames::read(body, Wire::Sse, |frame| reader.feed(frame))?);
    }
    #[cfg(test)]
    if let Feeding::Protobuf { slice } = feeding {
        let mut body = bytes::BytesMut::new();
        for event in stream {
            agui_encoder::protobuf::encode_raw(event, &mut body)?;
        }
        let body = Sliced::new(&body, slice);
        return Ok(frames::read(body, Wire::Protobuf, |frame| reader.feed(frame))?);
    }
    for event in stream {
        let flow = match feeding {
            #[cfg(test)]
            Feeding::Tree => reader.feed(event.clone()),
            _ => reader.feed(serde_json::to_string(event)?.as_str()),
        };
        if flow == ControlFlow::Break(()) {
            return Ok(Ending::Stopped(()));
        }
    }
    Ok(Ending::Clean)
}
