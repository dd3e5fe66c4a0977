//! JSON Schema from the shapes (feature `schemars`).
//!
//! Every protocol type implements `JsonSchema` from the same table that its JSON comes from; [`generate`] gives the
//! whole schema in one document, as `cargo xtask schema` writes it.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::shape::{EnumShape, Kind, Shape, UnionShape, Wire};
use crate::{AgentCapabilities, ContentPart, Event, EventType, Message, PartSource, Role, RunAgentInput};

/// The schema of a type itself, its parts referenced.
pub(crate) fn definition(kind: &Kind, generator: &mut SchemaGenerator) -> Schema {
    match kind {
        Kind::Object(shape) => object(shape, generator),
        Kind::Union(shape) => union(shape, generator),
        Kind::Enum(shape) => enumeration(shape),
        other => member(other, true, generator),
    }
}

/// The schema of a member: named definitions by reference, everything else in place.
fn member(kind: &Kind, required: bool, generator: &mut SchemaGenerator) -> Schema {
    match kind {
        Kind::Text => json_schema!({ "type": "string" }),
        Kind::Pointer => json_schema!({ "type": "string", "pattern": "^(/([^/~]|~[01])*)*$" }),
        Kind::Bool => json_schema!({ "type": "boolean" }),
        Kind::Integer { min, max } => json_schema!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Any if required => json_schema!({}),
        Kind::Any => json_schema!({ "not": { "type": "null" } }),
        Kind::Open => json_schema!({ "type": "object", "additionalProperties": true }),
        Kind::Const(value) => json_schema!({ "const": value }),
        Kind::Enum(shape) if shape.named => reference(shape.name, |_| enumeration(shape), generator),
        Kind::Enum(shape) => enumeration(shape),
        Kind::Object(shape) => reference(shape.name, |generator| object(shape, generator), generator),
        Kind::Union(shape) => reference(shape.name, |generator| union(shape, generator), generator),
        Kind::List { items, min_items } => {
            let items = member(items, true, generator);
            if *min_items == 0 {
                json_schema!({ "type": "array", "items": items })
            } else {
                json_schema!({ "type": "array", "items": items, "minItems": min_items })
            }
        }
        Kind::TextOrParts => {
            let part = member(&ContentPart::KIND, true, generator);
            json_schema!({ "oneOf": [{ "type": "string" }, { "type": "array", "items": part }] })
        }
    }
}

fn object(shape: &Shape, generator: &mut SchemaGenerator) -> Schema {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for field in shape.fields {
        properties.insert(field.name.to_owned(), member(&field.kind, field.required, generator).into());
        if field.required {
            required.push(field.name);
        }
    }
    let mut schema = json_schema!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if !shape.open {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    schema
}

fn union(shape: &UnionShape, generator: &mut SchemaGenerator) -> Schema {
    let members: Vec<Schema> =
        shape.members.iter().map(|(_, shape)| member(&Kind::Object(shape), true, generator)).collect();
    json_schema!({ "oneOf": members })
}

fn enumeration(shape: &EnumShape) -> Schema {
    if let [only] = shape.values {
        json_schema!({ "const": only })
    } else {
        json_schema!({ "type": "string", "enum": shape.values })
    }
}

/// Registers a definition on first use and refers to it.
fn reference(
    name: &'static str,
    schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
    generator: &mut SchemaGenerator,
) -> Schema {
    if !generator.definitions().contains_key(name) {
        // Reserved before the members are visited, so that a definition is built once.
        generator.definitions_mut().insert(name.to_owned(), Value::Bool(true));
        let schema = schema(generator);
        generator.definitions_mut().insert(name.to_owned(), schema.into());
    }
    let path = generator.settings().definitions_path.trim_matches('/').to_owned();
    Schema::new_ref(format!("#/{path}/{name}"))
}

/// The JSON Schema of the whole protocol, from the Rust types.
///
/// ```
/// let schema = agui_core::schema::generate();
/// assert_eq!(schema["$ref"], "#/$defs/Event");
/// assert_eq!(schema["$defs"]["EventType"]["enum"][0], "TEXT_MESSAGE_START");
/// ```
pub fn generate() -> Value {
    let mut generator = SchemaGenerator::default();
    for kind in [
        &Event::KIND,
        &EventType::KIND,
        &RunAgentInput::KIND,
        &Message::KIND,
        &Role::KIND,
        &PartSource::KIND,
        &AgentCapabilities::KIND,
    ] {
        let _ = member(kind, true, &mut generator);
    }
    let definitions = generator.take_definitions(true);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/Event",
        "$defs": definitions,
    })
}
