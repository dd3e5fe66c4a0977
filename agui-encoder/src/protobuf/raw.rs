//! Unjudged JSON, by the table.
//!
//! Nothing is repaired: what has no field is left out, and what a field cannot say is an error that names the place.

use agui_core::json::MAX_DEPTH;
use agui_core::{EventType, JsonObject};
use serde_json::Value;

use super::out::{Fault, Out, Written, object, value};
use super::schema::{self, Arm, Field, Item, Kind, Presence};

const SAFE: i64 = (1 << 53) - 1;

/// Writes an event into the envelope.
pub(super) fn event<O: Out>(event: &Value, event_type: Option<EventType>, out: &mut O) -> Written {
    let event = event.as_object().ok_or(Fault::raw("an event that is no object"))?;
    let fields = event_type.and_then(schema::by_type);
    let fields = fields.ok_or_else(|| Fault::raw("no type that the wire has an arm for").within("type"))?;
    if event.contains_key("subagentRunId") && !fields.fields.iter().any(|field| field.name == "subagentRunId")
    {
        return Err(Fault::raw("an attribution on an event that has none").within("subagentRunId"));
    }
    out.message(fields.arm, |out| {
        out.message(1, |out| {
            if fields.number != 0 {
                out.integer(1, i64::from(fields.number));
            }
            members(out, schema::BASE, event, 1)
        })?;
        if fields.event_type == EventType::ToolCallResult {
            check_content(event, true, false, true)?;
        }
        members(out, fields.fields, event, 1)
    })
}

/// Writes the members of an object that stands at a level.
fn members<O: Out>(out: &mut O, fields: &'static [Field], json: &JsonObject, level: usize) -> Written {
    let outcome = outcome_of(fields, json)?;
    for field in fields {
        member(out, field, json, outcome, level).map_err(|fault| fault.within(field.name))?;
    }
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of field")]
fn member<O: Out>(
    out: &mut O,
    field: &Field,
    json: &JsonObject,
    outcome: Option<&JsonObject>,
    level: usize,
) -> Written {
    let tag = field.tag;
    let found = json.get(field.name);
    let present = found.filter(|found| !found.is_null());
    match field.kind {
        Kind::Text => out.text(tag, string(found)?),
        Kind::Optional => {
            if present.is_some() {
                out.string(tag, string(present)?);
            }
        }
        Kind::Bool => match present {
            None => {}
            Some(Value::Bool(flag)) => out.varint(tag, u64::from(*flag)),
            Some(_) => return Err(Fault::raw("neither true nor false")),
        },
        Kind::Integer => {
            if let Some(json) = present {
                out.integer(tag, integer(json)?);
            }
        }
        Kind::Value => {
            if let Some(json) = present {
                value(out, tag, json, level + 1)?;
            }
        }
        Kind::Nullable => {
            if let Some(json) = found {
                value(out, tag, json, level + 1)?;
            }
        }
        // An activity's content is required, so null is no absence.
        Kind::Struct if field.name == "content" => {
            if let Some(json) = found {
                object(out, tag, object_of(json)?, level + 1)?;
            }
        }
        Kind::Struct => {
            if let Some(json) = present {
                object(out, tag, object_of(json)?, level + 1)?;
            }
        }
        Kind::Message(fields) => {
            if let Some(json) = present {
                out.message(tag, |out| members(out, fields, object_of(json)?, level + 1))?;
            }
        }
        Kind::List(item, presence) => {
            if presence == Presence::Required || present.is_some() {
                list(out, tag, item, found, level + 2)?;
            }
        }
        Kind::Operation => {
            let name = string(found)?;
            let number = schema::OPERATIONS.iter().position(|known| *known == name);
            let number = number.ok_or(Fault::raw("an operation without a number"))?;
            if number != 0 {
                out.varint(tag, number as u64);
            }
        }
        Kind::ContentText => {
            if let Some(Value::String(text)) = found {
                out.string(tag, text);
            }
        }
        Kind::ContentParts => {
            if let Some(Value::Array(parts)) = found {
                for (index, part) in parts.iter().enumerate() {
                    out.message(tag, |out| union(out, schema::PARTS, part, level + 2))
                        .map_err(|fault| fault.within(&index.to_string()))?;
                }
            }
        }
        Kind::ContentObject => {
            if let Some(Value::Object(content)) = found {
                object(out, tag, content, level + 1)?;
            }
        }
        Kind::Source => {
            if let Some(source) = found {
                out.message(tag, |out| union(out, schema::SOURCES, source, level + 1))?;
            }
        }
        Kind::Outcome => {
            if let Some(outcome) = outcome {
                out.text(tag, string(outcome.get("type"))?);
            }
        }
        Kind::OutcomeList(fields) => {
            if let Some(found) = outcome.and_then(|outcome| outcome.get(field.name)) {
                list(out, tag, Item::Of(fields), Some(found), level + 3)?;
            }
        }
        Kind::OutcomeTexts => {
            match outcome.and_then(|outcome| outcome.get(field.name)).filter(|found| !found.is_null()) {
                None => {}
                Some(Value::Array(texts)) => {
                    for text in texts {
                        out.string(tag, string(Some(text))?);
                    }
                }
                Some(_) => return Err(Fault::raw("no list")),
            }
        }
    }
    Ok(())
}

/// The outcome, if its type has one and all of it has a field.
fn outcome_of<'a>(fields: &'static [Field], json: &'a JsonObject) -> Result<Option<&'a JsonObject>, Fault> {
    if !fields.iter().any(|field| matches!(field.kind, Kind::Outcome)) {
        return Ok(None);
    }
    let Some(outcome) = json.get("outcome").filter(|outcome| !outcome.is_null()) else { return Ok(None) };
    let outcome = object_of(outcome).map_err(|fault| fault.within("outcome"))?;
    if outcome.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(Fault::raw("no type that the wire can tell from no outcome")
            .within("type")
            .within("outcome"));
    }
    let has_field = |name: &str| {
        name == "type"
            || fields.iter().any(|field| {
                field.name == name && matches!(field.kind, Kind::OutcomeList(_) | Kind::OutcomeTexts)
            })
    };
    match outcome.keys().find(|name| !has_field(name)) {
        Some(other) => {
            Err(Fault::raw("a member of an outcome that has no field").within(other).within("outcome"))
        }
        None => Ok(Some(outcome)),
    }
}

/// `level` is that of an item.
fn list<O: Out>(out: &mut O, tag: u32, item: Item, found: Option<&Value>, level: usize) -> Written {
    let Some(Value::Array(items)) = found else { return Err(Fault::raw("no list")) };
    for (index, json) in items.iter().enumerate() {
        out.message(tag, |out| {
            let json = object_of(json)?;
            match item {
                Item::Of(fields) => members(out, fields, json, level),
                Item::Message => {
                    let (parts, object, required) = match string(json.get("role"))? {
                        "user" | "tool" => (true, false, true),
                        "activity" => (false, true, true),
                        "assistant" | "developer" | "system" | "reasoning" => (false, false, false),
                        _ => (true, true, false),
                    };
                    check_content(json, parts, object, required)?;
                    members(out, schema::MESSAGE, json, level)
                }
            }
        })
        .map_err(|fault| fault.within(&index.to_string()))?;
    }
    Ok(())
}

/// Whether the content is in a form that the message can have on this wire.
fn check_content(json: &JsonObject, parts: bool, object: bool, required: bool) -> Written {
    let activity = object && !parts;
    let sound = match json.get("content") {
        None => !required || activity,
        // An assistant message without text.
        Some(Value::Null) => !required && !object,
        Some(Value::String(_)) => !activity,
        Some(Value::Array(_)) => parts,
        Some(Value::Object(_)) => object,
        Some(_) => false,
    };
    if sound {
        Ok(())
    } else {
        Err(Fault::raw("no content in a form that the wire has here").within("content"))
    }
}

/// Writes one of several kinds of object, which its `type` selects.
fn union<O: Out>(out: &mut O, arms: &'static [Arm], json: &Value, level: usize) -> Written {
    let json = object_of(json)?;
    let name = string(json.get("type")).map_err(|fault| fault.within("type"))?;
    let (arm, _, fields) = arms
        .iter()
        .find(|(_, known, _)| *known == name)
        .ok_or_else(|| Fault::raw("a kind that has no arm").within("type"))?;
    out.message(*arm, |out| members(out, fields, json, level))
}

fn string(found: Option<&Value>) -> Result<&str, Fault> {
    match found {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Fault::raw("no string")),
        None => Err(Fault::raw("nothing where a string is required")),
    }
}

fn object_of(json: &Value) -> Result<&JsonObject, Fault> {
    json.as_object().ok_or(Fault::raw("no object"))
}

/// An integer, also one written with a zero fraction (`SHAPE-3`).
fn integer(json: &Value) -> Result<i64, Fault> {
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is a double")]
    #[expect(clippy::cast_possible_truncation, reason = "integral and inside 53 bits")]
    let integral =
        |double: f64| (double.fract() == 0.0 && double.abs() <= SAFE as f64).then_some(double as i64);
    json.as_i64()
        .or_else(|| json.as_f64().and_then(integral))
        .filter(|integer| (-SAFE..=SAFE).contains(integer))
        .ok_or(Fault::raw("no integer that the wire can carry"))
}

const _: () = assert!(MAX_DEPTH >= 8, "the typed levels themselves are never too deep");
