//! Open metadata: any key, any value (`META-1` to `META-4`).

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::JsonObject;
use crate::shape::{Kind, Wire};

/// Open metadata of an event, a message, a call, a tool, an interrupt or a resume entry.
///
/// Nobody strips or judges what is inside (`META-4`). The key `ag-ui` is reserved, and a producer should put a prefix
/// of its own before its keys (`META-3`); [`MetadataNamespace`] does that.
///
/// # Examples
/// ```
/// # use agui_core::Metadata;
/// let metadata = Metadata::new().with("acme.cost", 3);
/// assert_eq!(metadata["acme.cost"], 3);
/// assert_eq!(serde_json::to_string(&metadata)?, r#"{"acme.cost":3}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
// One pointer wide: most events carry none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata(Box<JsonObject>);

impl Metadata {
    /// Metadata without a member. An empty object is written as one, it is not the same as none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member, replacing one of the same key.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Takes over every member of `other`; of a key in both the later value wins, whole (`META-1`).
    pub fn merge(&mut self, other: &Self) {
        for (key, value) in other.iter() {
            match self.0.get_mut(key) {
                Some(held) => assign(held, value),
                None => drop(self.0.insert(key.clone(), value.clone())),
            }
        }
    }

    /// The members as a plain map.
    pub fn into_inner(self) -> JsonObject {
        *self.0
    }
}

/// Makes one value equal to another. What a producer repeats with every event keeps its shape, so that nearly always
/// nothing has to be allocated or freed.
fn assign(held: &mut Value, value: &Value) {
    match (held, value) {
        (Value::String(held), Value::String(value)) => held.clone_from(value),
        (Value::Object(held), Value::Object(value)) if held.keys().eq(value.keys()) => {
            held.values_mut().zip(value.values()).for_each(|(held, value)| assign(held, value));
        }
        (held, value) => held.clone_from(value),
    }
}

impl Deref for Metadata {
    type Target = JsonObject;

    fn deref(&self) -> &JsonObject {
        &self.0
    }
}

impl DerefMut for Metadata {
    fn deref_mut(&mut self) -> &mut JsonObject {
        &mut self.0
    }
}

impl From<JsonObject> for Metadata {
    fn from(members: JsonObject) -> Self {
        Self(Box::new(members))
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Self(Box::new(members.into_iter().map(|(key, value)| (key.into(), value.into())).collect()))
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::json::read_object(deserializer).map(Self::from)
    }
}

impl Wire for Metadata {
    const KIND: Kind = Kind::Open;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl_json_schema!(Metadata);

/// A prefix under which an application keeps its own metadata keys (`META-3`).
///
/// # Examples
/// ```
/// # use agui_core::{Metadata, MetadataNamespace};
/// const ACME: MetadataNamespace = MetadataNamespace::new("acme");
///
/// let mut metadata = Metadata::new().with("other", true);
/// ACME.set(&mut metadata, "cost", 3);
/// assert_eq!(metadata["acme.cost"], 3);
/// assert_eq!(ACME.get(&metadata, "cost"), Some(&3.into()));
/// assert_eq!(ACME.iter(&metadata).count(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataNamespace {
    prefix: &'static str,
}

impl MetadataNamespace {
    /// The key that the protocol keeps for itself.
    pub const RESERVED: &'static str = "ag-ui";

    /// A name space whose keys start with `prefix` and a dot. [`RESERVED`](Self::RESERVED) belongs to the protocol
    /// and must not be used.
    pub const fn new(prefix: &'static str) -> Self {
        Self { prefix }
    }

    /// The full key of a name in this name space.
    pub fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// The value under a name.
    pub fn get<'a>(&self, metadata: &'a Metadata, name: &str) -> Option<&'a Value> {
        self.iter(metadata).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Sets the value under a name, and returns the one before.
    pub fn set(&self, metadata: &mut Metadata, name: &str, value: impl Into<Value>) -> Option<Value> {
        metadata.insert(self.key(name), value.into())
    }

    /// Removes the value under a name.
    pub fn remove(&self, metadata: &mut Metadata, name: &str) -> Option<Value> {
        metadata.remove(&self.key(name))
    }

    /// The members of this name space, their keys without the prefix.
    pub fn iter<'a>(&self, metadata: &'a Metadata) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let prefix = self.prefix;
        metadata
            .iter()
            .filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?.strip_prefix('.')?, value)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_key_in_both_the_later_value_wins_whole_whatever_the_two_are() {
        let values = [
            json!(null),
            json!(1),
            json!("one"),
            json!("two"),
            json!([1, {"a": 1}]),
            json!({"a": 1}),
            json!({"a": {"b": "x", "c": 2}}),
            json!({"a": {"b": "y", "c": [2]}}),
            json!({"a": {"c": 2}}),
            json!({}),
        ];
        for held in &values {
            for later in &values {
                let mut metadata = Metadata::new().with("kept", 0).with("key", held.clone());
                metadata.merge(&Metadata::new().with("key", later.clone()).with("new", 2));
                assert_eq!(
                    serde_json::to_value(metadata).unwrap(),
                    json!({"kept": 0, "key": later, "new": 2})
                );
            }
        }
    }
}
