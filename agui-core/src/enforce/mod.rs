//! Enforcement: what arrived, held against the 1.0 schema (`PROC-2` to `PROC-5`, `PROC-10`).
//!
//! Two things can be wrong with material from outside, and they are kept apart. What this version does not *know* is
//! removed with a [`Warning`]: a member, an element of a list, an optional member's value, or the whole value that
//! required it, up to the event. What it knows and finds *malformed* is an [`EnforceError`]: nothing is repaired,
//! coerced or defaulted, and unknown material beside it excuses nothing, except inside an object of a kind nobody
//! describes. Open objects and any-JSON values are kept as they came (`SHAPE-2`).
//!
//! [`event`], [`input`] and [`capabilities`] judge a tree and do nothing else; retired shapes are translated before,
//! by [`compat`](crate::compat). [`event_from_json`] and [`RunAgentInput::from_json`] read text: strictly typed first,
//! which builds no tree and suffices for everything a 1.0 peer sends, and through a tree only if that refuses. Both
//! ways agree on every text.
//!
//! It knows no order of events; that is verification's business.
//!
//! Invariants: what comes out is what the schema accepts. The first offending member in the order of the tree is
//! reported, members that are missing after those that are there. Of a value that is removed there is one warning,
//! with the path of the outermost.

mod error;
mod input;
mod walk;

pub use error::{EnforceError, EventError, InputError};
pub use input::received_input;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json::{self, Utf8};
use crate::shape::{Kind, Wire};
use crate::warning::Sink;
use crate::{AgentCapabilities, Event, RunAgentInput, Warning};
use walk::Walk;

/// Judges one event. `None` means that it was dropped: its type, or a value it cannot do without, is unknown.
///
/// # Errors
/// A known member is malformed or missing, the event is no object or has no `type` that is a string.
///
/// # Examples
/// ```
/// use agui_core::enforce;
/// use serde_json::json;
///
/// let mut warnings = Vec::new();
/// assert_eq!(enforce::event(json!({"type": "SIGNAL_RAISED", "level": 3}), &mut warnings)?, None);
/// assert_eq!(warnings[0].event_type(), Some("SIGNAL_RAISED"));
///
/// let error = enforce::event(json!({"type": "STEP_STARTED", "stepName": 7}), &mut warnings).unwrap_err();
/// assert_eq!(error.path(), "stepName");
/// assert_eq!(error.message(), "`stepName` must be a string.");
/// # Ok::<(), enforce::EnforceError>(())
/// ```
pub fn event(raw: Value, warnings: &mut Vec<Warning>) -> Result<Option<Event>, EnforceError> {
    event_into(raw, &mut Sink::new(warnings))
}

/// Reads and judges one event from UTF-8 JSON text.
///
/// # Errors
/// The text is no JSON, or nested too deeply; or as [`event`].
///
/// # Examples
/// ```
/// use agui_core::enforce;
///
/// let mut warnings = Vec::new();
/// let event = enforce::event_from_json(br#"{"type":"STEP_STARTED","stepName":"plan"}"#, &mut warnings)?;
/// assert!(event.is_some() && warnings.is_empty());
/// # Ok::<(), enforce::EventError>(())
/// ```
pub fn event_from_json(text: &[u8], warnings: &mut Vec<Warning>) -> Result<Option<Event>, EventError> {
    event_from_text(text, Utf8::Strict, warnings)
}

/// Reads and judges one event from JSON text in which bytes that are not UTF-8 become U+FFFD, with a warning, as the
/// grammar of event streams has it.
///
/// # Errors
/// As [`event_from_json`].
///
/// # Examples
/// ```
/// use agui_core::enforce;
///
/// let mut warnings = Vec::new();
/// let text = b"{\"type\":\"STEP_STARTED\",\"stepName\":\"caf\xE9\"}";
/// assert!(enforce::event_from_json_lossy(text, &mut warnings)?.is_some());
/// assert_eq!(warnings[0].path(), "/stepName");
/// assert!(enforce::event_from_json(text, &mut warnings).is_err());
/// # Ok::<(), enforce::EventError>(())
/// ```
pub fn event_from_json_lossy(text: &[u8], warnings: &mut Vec<Warning>) -> Result<Option<Event>, EventError> {
    event_from_text(text, Utf8::Lossy, warnings)
}

/// Judges a run input, as a consumer does before it sends one (`PROC-9`). Retired shapes are not translated, and
/// activity messages stay; a server reads with [`RunAgentInput::from_json`] or [`received_input`].
///
/// # Errors
/// A known member is malformed or missing, or the input is no object.
///
/// # Examples
/// ```
/// use agui_core::enforce;
/// use serde_json::json;
///
/// let mut warnings = Vec::new();
/// let raw = json!({"threadId": "t", "runId": "r", "messages": [{"role": "observer"}], "deadline": 5});
/// let input = enforce::input(raw, &mut warnings)?;
/// assert!(input.messages.is_empty());
/// assert_eq!(warnings.len(), 2);
/// # Ok::<(), enforce::EnforceError>(())
/// ```
pub fn input(raw: Value, warnings: &mut Vec<Warning>) -> Result<RunAgentInput, EnforceError> {
    input_into(raw, &mut Sink::new(warnings))
}

/// Judges an agent's declaration of capabilities (`CAP-1`).
///
/// # Errors
/// A known member is malformed, which makes the declaration unusable and prevents no run; or it is no object.
///
/// # Examples
/// ```
/// use agui_core::enforce;
/// use serde_json::json;
///
/// let mut warnings = Vec::new();
/// let raw = json!({"reasoning": {"supported": true, "mode": "deep"}, "custom": {"acme": null}});
/// let capabilities = enforce::capabilities(raw, &mut warnings)?;
/// assert!(capabilities.custom.is_some());
/// assert_eq!(warnings[0].path(), "/reasoning/mode");
/// # Ok::<(), enforce::EnforceError>(())
/// ```
pub fn capabilities(raw: Value, warnings: &mut Vec<Warning>) -> Result<AgentCapabilities, EnforceError> {
    whole(raw, "declaration of capabilities", &mut Sink::new(warnings))
}

fn event_from_text(
    text: &[u8],
    utf8: Utf8,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Event>, EventError> {
    if let Ok(event) = Event::from_json(text) {
        return Ok(Some(event));
    }
    let sink = &mut Sink::new(warnings);
    let raw = json::read_into(text, utf8, sink)?;
    Ok(event_into(raw, sink)?)
}

fn event_into(mut raw: Value, sink: &mut Sink<'_>) -> Result<Option<Event>, EnforceError> {
    name_event(&raw, sink);
    if Walk::new("event", sink).root(&Event::KIND, &mut raw)? {
        typed(raw, "event", sink).map(Some)
    } else {
        Ok(None)
    }
}

/// Says which event the warnings are about, those about its text included.
pub(crate) fn name_event(raw: &Value, sink: &mut Sink<'_>) {
    if let Some(event_type) = raw.get("type").and_then(Value::as_str) {
        sink.set_event_type(event_type);
    }
}

pub(crate) fn input_into(raw: Value, sink: &mut Sink<'_>) -> Result<RunAgentInput, EnforceError> {
    whole(raw, input::NOUN, sink)
}

/// Judges a described object that nothing unknown can remove: none of its members is a required union or closed set.
fn whole<T: Wire + DeserializeOwned>(
    mut raw: Value,
    noun: &'static str,
    sink: &mut Sink<'_>,
) -> Result<T, EnforceError> {
    const { assert!(matches!(T::KIND, Kind::Object(_))) };
    if Walk::new(noun, sink).root(&T::KIND, &mut raw)? {
        typed(raw, noun, sink)
    } else {
        Err(EnforceError::at_root(noun, sink.event_type()))
    }
}

/// Turns what the table accepted into the type of the same declaration.
fn typed<T: DeserializeOwned>(raw: Value, noun: &'static str, sink: &Sink<'_>) -> Result<T, EnforceError> {
    // The table and the types come from one declaration, so this does not fail; if it did, the value is malformed.
    serde_json::from_value(raw).map_err(|_| EnforceError::at_root(noun, sink.event_type()))
}
