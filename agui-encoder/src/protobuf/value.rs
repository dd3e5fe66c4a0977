//! `google.protobuf.Value` and `Struct` to JSON, with a nesting limit of the event's own.

use agui_core::JsonObject;
use agui_core::json::MAX_DEPTH;
use serde_json::{Map, Number, Value};

use super::error::{ProtobufError, Reason};
use super::reader::{Content, Reader};

/// Reads a value into a slot. The last kind wins; of one kind that has parts, the parts add up, as protobuf merges.
/// Nothing at all leaves the slot as it is. `level` is how deep in the event a container here stands, counting from 1.
pub(super) fn merge_value(
    slot: &mut Option<Value>,
    mut reader: Reader<'_>,
    level: usize,
) -> Result<(), ProtobufError> {
    while let Some(field) = reader.next()? {
        match field.tag {
            1 => {
                field.varint()?;
                *slot = Some(Value::Null);
            }
            2 => match field.content {
                Content::Fixed64(bits) => *slot = Some(number(f64::from_bits(bits))),
                _ => return Err(field.fail(Reason::WireType)),
            },
            3 => *slot = Some(field.text()?.into()),
            4 => *slot = Some((field.varint()? != 0).into()),
            5 => {
                let message = field.message()?;
                if let Some(Value::Object(members)) = slot {
                    merge_object(members, message, level)?;
                } else {
                    let mut members = Map::new();
                    merge_object(&mut members, message, level)?;
                    *slot = Some(members.into());
                }
            }
            6 => {
                let message = field.message()?;
                if let Some(Value::Array(items)) = slot {
                    merge_list(items, message, level)?;
                } else {
                    let mut items = Vec::new();
                    merge_list(&mut items, message, level)?;
                    *slot = Some(items.into());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds the entries of a struct to an object; of a key that comes twice, the last value counts.
pub(super) fn merge_object(
    members: &mut JsonObject,
    mut reader: Reader<'_>,
    level: usize,
) -> Result<(), ProtobufError> {
    check(&reader, level)?;
    while let Some(field) = reader.next()? {
        if field.tag != 1 {
            continue;
        }
        let mut entry = field.message()?;
        let mut name = "";
        let mut value = None;
        while let Some(field) = entry.next()? {
            match field.tag {
                1 => name = field.text()?,
                2 => merge_value(&mut value, field.message()?, level + 1)?,
                _ => {}
            }
        }
        if let Some(value) = value {
            members.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

fn merge_list(items: &mut Vec<Value>, mut reader: Reader<'_>, level: usize) -> Result<(), ProtobufError> {
    check(&reader, level)?;
    while let Some(field) = reader.next()? {
        if field.tag == 1 {
            let mut item = None;
            merge_value(&mut item, field.message()?, level + 1)?;
            items.push(item.unwrap_or_default());
        }
    }
    Ok(())
}

const fn check(reader: &Reader<'_>, level: usize) -> Result<(), ProtobufError> {
    if level > MAX_DEPTH { Err(ProtobufError::new(Reason::TooDeep, reader.at())) } else { Ok(()) }
}

/// An integral double that JSON readers hold exactly prints as an integer; what is no number has no JSON but `null`.
fn number(double: f64) -> Value {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if double.fract() == 0.0 && double.abs() <= MAX {
        #[expect(clippy::cast_possible_truncation, reason = "integral and inside 53 bits")]
        return Value::from(double as i64);
    }
    Number::from_f64(double).map_or(Value::Null, Value::Number)
}
