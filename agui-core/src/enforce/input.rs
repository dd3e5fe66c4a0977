//! The producer's reading of a run input it received (`PROC-10`).

use serde_json::Value;

use super::{EnforceError, InputError, input_into};
use crate::json::{self, Utf8};
use crate::path::{Path, quoted};
use crate::warning::Sink;
use crate::{Message, PROTOCOL_VERSION, RunAgentInput, VersionRelation, Warning, compat};

/// What an input is called in messages.
pub(crate) const NOUN: &str = "run input";

impl RunAgentInput {
    /// Reads the run input that a request body holds, as tolerantly as a producer has to (`PROC-10`).
    ///
    /// Unknown members, roles and content parts are stripped; retired shapes and the nulls of older peers are
    /// translated (`VER-3`, `SHAPE-6`); activity messages are removed, as they never travel to a producer
    /// (`STATE-9`); a foreign protocol version is served (`VER-2`). Each of it is a warning, for the caller to log.
    ///
    /// # Errors
    /// The text is no UTF-8 JSON or nested deeper than 128 levels, or a known member is malformed or missing.
    ///
    /// # Examples
    /// ```
    /// use agui_core::RunAgentInput;
    ///
    /// let body = br#"{"threadId":"t1","runId":"r1","state":null,
    ///     "messages":[{"id":"q1","role":"user","content":"Where to?"},{"id":"o1","role":"observer"}]}"#;
    /// let (input, warnings) = RunAgentInput::from_json(body)?;
    /// assert_eq!(input.messages.len(), 1);
    /// assert_eq!(input.state, None);
    /// assert_eq!(warnings.iter().map(|w| w.path()).collect::<Vec<_>>(), ["/state", "/messages/1"]);
    ///
    /// let error = RunAgentInput::from_json(br#"{"threadId":"t1","messages":[]}"#).unwrap_err();
    /// assert_eq!((error.code(), error.path()), ("invalid_input", Some("runId")));
    /// # Ok::<(), agui_core::enforce::InputError>(())
    /// ```
    pub fn from_json(text: &[u8]) -> Result<(Self, Vec<Warning>), InputError> {
        let mut warnings = Vec::new();
        let mut sink = Sink::new(&mut warnings);
        let input = match serde_json::from_slice::<Self>(text) {
            Ok(input) => settle(input, None, &mut sink),
            Err(_) => received(json::read_into(text, Utf8::Strict, &mut sink)?, &mut sink)?,
        };
        drop(sink);
        Ok((input, warnings))
    }
}

/// [`RunAgentInput::from_json`] for an input that is a tree already, such as one inside an envelope.
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
/// let raw = json!({"threadId": "t", "runId": "r", "messages": [], "forwardedProps": null});
/// assert_eq!(enforce::received_input(raw, &mut warnings)?.forwarded_props, None);
/// assert_eq!(warnings[0].path(), "/forwardedProps");
/// # Ok::<(), enforce::EnforceError>(())
/// ```
pub fn received_input(raw: Value, warnings: &mut Vec<Warning>) -> Result<RunAgentInput, EnforceError> {
    received(raw, &mut Sink::new(warnings))
}

fn received(mut raw: Value, sink: &mut Sink<'_>) -> Result<RunAgentInput, EnforceError> {
    compat::received_input_into(&mut raw, sink)?;
    // Enforcement shifts what stands behind a removed message, and a warning names the place as it arrived. An
    // activity message is never removed itself: it has no member with a closed set of values.
    let activities: Vec<usize> = raw
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, message)| message.get("role").and_then(Value::as_str) == Some("activity"))
        .map(|(index, _)| index)
        .collect();
    let input = input_into(raw, sink)?;
    Ok(settle(input, Some(activities), sink))
}

/// What a producer does with a valid input. `activities` says where the activity messages stood when they arrived, if
/// not where they stand now.
fn settle(mut input: RunAgentInput, activities: Option<Vec<usize>>, sink: &mut Sink<'_>) -> RunAgentInput {
    let version = input.protocol_version.as_deref();
    if let Some(version) = version.filter(|version| VersionRelation::of(Some(version)).is_notable()) {
        sink.warn("VER-2", &Path::Root.member("protocolVersion"), || {
            format!(
                "served, although the peer declares version {} and this is {PROTOCOL_VERSION}",
                quoted(version)
            )
        });
    }
    let mut arrived = activities.map(Vec::into_iter);
    let mut index = 0;
    let messages = Path::Root.member("messages");
    input.messages.retain(|message| {
        let here = index;
        index += 1;
        if !matches!(message, Message::Activity(_)) {
            return true;
        }
        let place = arrived.as_mut().map_or(Some(here), Iterator::next).unwrap_or(here);
        sink.warn(
            "STATE-9",
            &messages.item(place),
            || "activity message ignored: it stays with the consumer",
        );
        false
    });
    input
}
