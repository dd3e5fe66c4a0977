//! The compatibility boundary: shapes of peers from before 1.0, translated on trees before anything judges them
//! (`PROC-1`, `VER-3`, `SHAPE-6`).
//!
//! Translated here, value by value: the nulls that older peers are known to write where 1.0 wants nothing, and
//! `binary` content parts. A translation that loses nothing is silent; one that does warns, and so does every null.
//!
//! A malformed retired shape is not repaired on the way but reported, at its own path. Everything that is not retired
//! is left as it is, for [`enforce`](crate::enforce) to judge: these functions say nothing about unknown or malformed
//! material, and accept any tree.

use serde_json::{Map, Value};

use crate::enforce::EnforceError;
use crate::path::Path;
use crate::warning::Sink;
use crate::{EventType, JsonObject, Warning};

/// Translates the retired shapes on one received event, the input echoed on `RUN_STARTED` included.
///
/// # Errors
/// A `binary` part is malformed.
///
/// # Examples
/// ```
/// use agui_core::{compat, enforce};
/// use serde_json::json;
///
/// let mut warnings = Vec::new();
/// let mut raw = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": null});
/// compat::event(&mut raw, &mut warnings)?;
/// assert_eq!(raw, json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}));
/// assert_eq!((warnings[0].rule(), warnings[0].path()), ("SHAPE-6", "/result"));
/// # Ok::<(), enforce::EnforceError>(())
/// ```
pub fn event(raw: &mut Value, warnings: &mut Vec<Warning>) -> Result<(), EnforceError> {
    let Value::Object(event) = raw else { return Ok(()) };
    let Some(kind) = event.get("type").and_then(Value::as_str).and_then(EventType::from_wire) else {
        return Ok(());
    };
    let sink = &mut Sink::new(warnings);
    sink.set_event_type(kind.as_str());
    let mut boundary = Boundary { noun: "event", sink };
    let root = Path::Root;
    boundary.drop_null(event, "rawEvent", &root);
    match kind {
        EventType::RunStarted => {
            if let Some(input) = event.get_mut("input") {
                boundary.input(input, &root.member("input"))?;
            }
        }
        EventType::RunFinished => {
            boundary.drop_null(event, "result", &root);
            boundary.drop_null(event, "outcome", &root);
        }
        EventType::SubagentFinished => boundary.drop_null(event, "result", &root),
        EventType::ToolCallStart | EventType::ToolCallChunk => {
            boundary.drop_null(event, "parentMessageId", &root);
        }
        EventType::ToolCallResult => {
            if let Some(content) = event.get_mut("content") {
                boundary.binary_parts(content, &root.member("content"))?;
            }
        }
        EventType::MessagesSnapshot => boundary.messages(event, &root)?,
        _ => {}
    }
    Ok(())
}

/// Translates the retired shapes in a run input that a producer received.
///
/// # Errors
/// A `binary` part is malformed.
///
/// # Examples
/// ```
/// use agui_core::compat;
/// use serde_json::json;
///
/// let mut warnings = Vec::new();
/// let part = json!({"type": "binary", "mimeType": "image/png", "data": "aGk="});
/// let mut raw = json!({"state": null, "messages": [{"id": "q1", "role": "user", "content": [part]}]});
/// compat::received_input(&mut raw, &mut warnings)?;
/// let source = json!({"type": "data", "value": "aGk=", "mimeType": "image/png"});
/// assert_eq!(raw["messages"][0]["content"][0], json!({"type": "image", "source": source}));
/// assert_eq!(raw.get("state"), None);
/// # Ok::<(), agui_core::enforce::EnforceError>(())
/// ```
pub fn received_input(raw: &mut Value, warnings: &mut Vec<Warning>) -> Result<(), EnforceError> {
    received_input_into(raw, &mut Sink::new(warnings))
}

/// Translates the retired shapes in a run input that a consumer is about to send: what its application, or a peer
/// from before 1.0, left in the messages, and a null in `forwardedProps` (`INPUT-3`).
///
/// # Errors
/// A `binary` part is malformed.
///
/// # Examples
/// ```
/// use agui_core::compat;
/// use serde_json::json;
///
/// let part = json!({"type": "binary", "mimeType": "video/webm", "url": "vault:/clip", "filename": "clip.webm"});
/// let mut raw = json!({"messages": [{"id": "q1", "role": "user", "content": [part]}]});
/// compat::outgoing_input(&mut raw, &mut Vec::new())?;
/// assert_eq!(raw["messages"][0]["content"][0]["metadata"], json!({"filename": "clip.webm"}));
/// # Ok::<(), agui_core::enforce::EnforceError>(())
/// ```
pub fn outgoing_input(raw: &mut Value, warnings: &mut Vec<Warning>) -> Result<(), EnforceError> {
    let mut boundary = Boundary { noun: "run input", sink: &mut Sink::new(warnings) };
    match raw {
        Value::Object(input) => {
            boundary.drop_null(input, "forwardedProps", &Path::Root);
            boundary.messages(input, &Path::Root)
        }
        _ => Ok(()),
    }
}

pub(crate) fn received_input_into(raw: &mut Value, sink: &mut Sink<'_>) -> Result<(), EnforceError> {
    let mut boundary = Boundary { noun: "run input", sink };
    if let Value::Object(input) = raw {
        boundary.drop_null(input, "state", &Path::Root);
    }
    boundary.input(raw, &Path::Root)
}

/// One crossing of the boundary.
struct Boundary<'b, 's> {
    noun: &'static str,
    sink: &'b mut Sink<'s>,
}

impl Boundary<'_, '_> {
    /// Removes a member that is null.
    fn drop_null(&mut self, object: &mut JsonObject, name: &str, path: &Path<'_>) {
        if object.get(name).is_some_and(Value::is_null) {
            self.sink.warn("SHAPE-6", &path.member(name), || "null read as absent");
            // Keeps the order of the others, which `remove` does not where maps are ordered by insertion.
            object.retain(|member, _| member != name);
        }
    }

    /// What a received and an echoed input have in common.
    fn input(&mut self, raw: &mut Value, path: &Path<'_>) -> Result<(), EnforceError> {
        let Value::Object(input) = raw else { return Ok(()) };
        self.drop_null(input, "forwardedProps", path);
        for (list, member) in [("tools", "parameters"), ("resume", "payload")] {
            let at = path.member(list);
            for (index, item) in
                input.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().enumerate()
            {
                if let Value::Object(item) = item {
                    self.drop_null(item, member, &at.item(index));
                }
            }
        }
        self.messages(input, path)
    }

    /// The message list of an object.
    fn messages(&mut self, object: &mut JsonObject, path: &Path<'_>) -> Result<(), EnforceError> {
        let Some(Value::Array(messages)) = object.get_mut("messages") else { return Ok(()) };
        let at = path.member("messages");
        for (index, message) in messages.iter_mut().enumerate() {
            // The roles whose content is a list of parts; another role's is malformed or unknown.
            if !matches!(message.get("role").and_then(Value::as_str), Some("user" | "tool")) {
                continue;
            }
            let Some(content) = message.get_mut("content") else { continue };
            let at = at.item(index);
            let at = at.member("content");
            self.metadata_nulls(content, &at);
            self.binary_parts(content, &at)?;
        }
        Ok(())
    }

    fn metadata_nulls(&mut self, content: &mut Value, path: &Path<'_>) {
        for (index, part) in content.as_array_mut().into_iter().flatten().enumerate() {
            if let Value::Object(part) = part
                && matches!(kind_of(part), Some("image" | "audio" | "video" | "document" | "binary"))
            {
                self.drop_null(part, "metadata", &path.item(index));
            }
        }
    }

    /// Translates the `binary` parts of a content list; one without bytes and address is removed.
    fn binary_parts(&mut self, content: &mut Value, path: &Path<'_>) -> Result<(), EnforceError> {
        let Value::Array(parts) = content else { return Ok(()) };
        let mut kept = Vec::with_capacity(parts.len());
        for (index, part) in parts.drain(..).enumerate() {
            match part {
                Value::Object(part) if kind_of(&part) == Some("binary") => {
                    kept.extend(self.binary(part, &path.item(index))?.map(Value::Object));
                }
                other => kept.push(other),
            }
        }
        *parts = kept;
        Ok(())
    }

    fn binary(&mut self, mut part: JsonObject, path: &Path<'_>) -> Result<Option<JsonObject>, EnforceError> {
        let mime_type = self.text(&mut part, "mimeType", path)?;
        let data = self.text(&mut part, "data", path)?;
        let url = self.text(&mut part, "url", path)?;
        let filename = self.text(&mut part, "filename", path)?;
        let Some(mime_type) = mime_type else {
            return Err(self.malformed(&path.member("mimeType"), None));
        };
        let (kind, value) = match (data, url) {
            (Some(data), url) => {
                if url.is_some() {
                    self.sink.warn(
                        "VER-3",
                        &path.member("url"),
                        || "address lost: the part has its bytes as well",
                    );
                }
                ("data", data)
            }
            (None, Some(url)) => ("url", url),
            (None, None) => {
                self.sink.warn("VER-3", path, || "`binary` part removed: it has neither `data` nor `url`");
                return Ok(None);
            }
        };
        if let Some(filename) = filename {
            match part.entry("metadata").or_insert_with(|| Map::new().into()) {
                Value::Object(metadata) => {
                    metadata.entry("filename").or_insert_with(|| filename.into());
                }
                _ => self.sink.warn(
                    "VER-3",
                    &path.member("filename"),
                    || "file name lost: the part's `metadata` is no object",
                ),
            }
        }
        let mut translated = Map::new();
        translated.insert("type".to_owned(), media_kind(&mime_type).into());
        translated.insert(
            "source".to_owned(),
            serde_json::json!({ "type": kind, "value": value, "mimeType": mime_type }),
        );
        if part.contains_key("source") {
            self.sink.warn("PROC-3", &path.member("source"), || "unknown member removed");
        }
        // What else the part has goes along, for enforcement to judge.
        part.retain(|name, _| name != "type" && name != "source");
        translated.append(&mut part);
        Ok(Some(translated))
    }

    /// Takes a text member out of a retired part.
    fn text(
        &self,
        part: &mut JsonObject,
        name: &str,
        path: &Path<'_>,
    ) -> Result<Option<String>, EnforceError> {
        match part.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.malformed(&path.member(name), Some("a string"))),
        }
    }

    fn malformed(&self, path: &Path<'_>, expected: Option<&'static str>) -> EnforceError {
        EnforceError::new("PROC-5", path, self.noun, self.sink.event_type(), expected.map(Into::into))
    }
}

fn kind_of(part: &JsonObject) -> Option<&str> {
    part.get("type").and_then(Value::as_str)
}

/// The kind of part that a media type calls for.
fn media_kind(mime_type: &str) -> &'static str {
    let family = mime_type.split('/').next().unwrap_or_default();
    ["image", "audio", "video"]
        .into_iter()
        .find(|kind| family.trim().eq_ignore_ascii_case(kind))
        .unwrap_or("document")
}
