//! Instances of the schema's definitions, made from the schema itself.
//!
//! Each definition gives a minimal instance, with the required members only, and full ones with every member; where a
//! member may be one of several things, the full ones go through all of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

fn definitions() -> &'static Map<String, Value> {
    agui_schema::document()["$defs"].as_object().unwrap()
}

fn schema_of(name: &str) -> &'static Value {
    &definitions()[name]
}

fn referenced(schema: &Value) -> Option<&'static Value> {
    schema["$ref"].as_str().map(|path| schema_of(path.strip_prefix("#/$defs/").unwrap()))
}

/// The members that a definition describes, itself or by what it builds on; `None` where it describes no object.
pub(crate) fn members(name: &str) -> Option<BTreeMap<String, &'static Value>> {
    let schema = schema_of(name);
    // An open object has members, but describes none.
    schema.get("properties").or_else(|| schema.get("unevaluatedProperties"))?;
    Some(members_of(schema))
}

fn members_of(schema: &'static Value) -> BTreeMap<String, &'static Value> {
    let mut members = BTreeMap::new();
    for base in schema["allOf"].as_array().into_iter().flatten() {
        members.extend(members_of(referenced(base).unwrap()));
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        members.insert(name.clone(), member);
    }
    members
}

/// The members that a definition requires.
pub(crate) fn required(name: &str) -> Vec<String> {
    required_of(schema_of(name))
}

fn required_of(schema: &Value) -> Vec<String> {
    schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// The instances of a definition: for a described object the minimal one first, then full ones.
pub(crate) fn samples(name: &str) -> Vec<Value> {
    let schema = schema_of(name);
    if members(name).is_none() {
        let mut samples = values(schema, name, Extent::Full);
        if schema["oneOf"].is_array() {
            samples.extend(values(schema, name, Extent::Minimal));
        }
        return samples;
    }
    let mut samples = values(schema, name, Extent::Minimal);
    samples.extend(values(schema, name, Extent::Full));
    samples
}

#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Minimal,
    Full,
}

/// Values that a schema admits, one of every kind it tells apart.
fn values(schema: &'static Value, name: &str, extent: Extent) -> Vec<Value> {
    if let Some(target) = referenced(schema).filter(|_| schema.get("not").is_none()) {
        return values(target, name, extent);
    }
    if let Some(fixed) = schema.get("const") {
        return vec![fixed.clone()];
    }
    if let Some(several) = schema["enum"].as_array() {
        return several.clone();
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices.iter().flat_map(|choice| values(choice, name, extent)).collect();
    }
    match schema["type"].as_str() {
        Some("string") if schema.get("pattern").is_some() => vec![json!(""), json!("/a~1b/0/-/~0/ä")],
        // Nothing an identifier or a text may not hold: it has quotes, controls, and looks like other things.
        Some("string") => vec![json!(""), json!(format!("{name} \"\\\u{0}\n/ä🦀\u{2028} 7"))],
        Some("boolean") => vec![json!(false), json!(true)],
        Some("integer") => vec![schema["minimum"].clone(), schema["maximum"].clone()],
        Some("array") => lists(schema, name, extent),
        Some("object") if schema["additionalProperties"] == json!(true) => vec![json!({}), open_object()],
        Some("object") => objects(schema, extent),
        None if schema.get("not").is_some() => {
            vec![json!(false), json!(0), json!(""), json!([null]), open_object()]
        }
        None => vec![json!(null), json!(-0.5), open_object()],
        Some(other) => panic!("a type the samples do not know: {other}"),
    }
}

/// What an open value may hold: nulls at any depth, numbers at the edges, keys of every look.
fn open_object() -> Value {
    json!({
        "nested": {"null": null, "list": [null, [], {}, [[{"deep": false}]]]},
        "numbers": [0, -1, u64::MAX, i64::MIN, 0.1, -2.5e-300, 1e308],
        "": "empty key",
        "type": "NOT_A_TYPE",
        "a.b/c~d\n\"": "ä\u{0}",
    })
}

fn lists(schema: &'static Value, name: &str, extent: Extent) -> Vec<Value> {
    let items = values(&schema["items"], name, extent);
    let mut lists = vec![json!(items)];
    if schema.get("minItems").is_none() {
        lists.insert(0, json!([]));
    }
    lists
}

/// Objects with the required members or with all; as many as the member with the most kinds of value needs.
fn objects(schema: &'static Value, extent: Extent) -> Vec<Value> {
    let required = required_of(schema);
    let members: Vec<(String, Vec<Value>)> = members_of(schema)
        .into_iter()
        .filter(|(name, _)| extent == Extent::Full || required.contains(name))
        .map(|(name, member)| {
            let values = values(member, &name, extent);
            (name, values)
        })
        .collect();
    let count = match extent {
        Extent::Minimal => 1,
        Extent::Full => members.iter().map(|(_, values)| values.len()).max().unwrap_or(1),
    };
    (0..count)
        .map(|turn| {
            let member = |(name, values): &(String, Vec<Value>)| {
                // From the end, so that the first full instance has something in everything.
                let last = values.len() - 1;
                (name.clone(), values[last - turn % values.len()].clone())
            };
            Value::Object(members.iter().map(member).collect())
        })
        .collect()
}
