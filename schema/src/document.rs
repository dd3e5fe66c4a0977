//! The vendored schema as text and as a tree, and the few questions the rest of the crate asks of it.
//!
//! The text is compiled in, so nothing here fails for a reason outside the crate; the tests of the crate read the
//! whole of it.

use std::sync::LazyLock;

use serde_json::Value;

/// The vendored schema, byte for byte.
pub const SCHEMA_JSON: &str = include_str!("../ag-ui-1.0.schema.json");

#[expect(clippy::expect_used, reason = "the text is part of the crate and a test parses it")]
static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(SCHEMA_JSON).expect("the vendored schema is JSON"));

/// The vendored schema as a tree.
///
/// # Examples
/// ```
/// assert_eq!(agui_schema::document()["$id"], "https://ag-ui.com/spec/1.0/schema.json");
/// ```
pub fn document() -> &'static Value {
    &DOCUMENT
}

/// The name a local reference gives: `Tool` for `{"$ref": "#/$defs/Tool"}`.
pub(crate) fn referenced_name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// The schema itself, or the definition of the vendored document that it refers to.
pub(crate) fn resolve(schema: &'static Value) -> &'static Value {
    referenced_name(schema).and_then(|name| document().get("$defs")?.get(name)).unwrap_or(schema)
}

/// Whether an object schema of the vendored document describes the member `name`, itself or by `allOf`.
pub(crate) fn describes_member(schema: &'static Value, name: &str) -> bool {
    let schema = resolve(schema);
    let own = schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
    own || schema
        .get("allOf")
        .and_then(Value::as_array)
        .is_some_and(|parts| parts.iter().any(|part| describes_member(part, name)))
}
