//! Any JSON value and open objects, as the strict typed reading takes them.
//!
//! Like `serde_json`'s own reading of a `Value`, but a member twice in one object is an error: the strict path gives
//! no warnings, so what needs one has to go through the tolerant path.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{is_number_key, read_number};
use crate::JsonObject;

/// Reads any JSON value without a member twice in one object.
pub(crate) fn read_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    deserializer.deserialize_any(Distinct)
}

/// Reads an object whose members nobody describes, without a member twice in one object.
pub(crate) fn read_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JsonObject, D::Error> {
    match deserializer.deserialize_map(Distinct)? {
        Value::Object(object) => Ok(object),
        _ => Err(de::Error::custom("not an object")),
    }
}

/// Seed and visitor of one value.
pub(crate) struct Distinct;

impl<'de> DeserializeSeed<'de> for Distinct {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if object.is_empty() && is_number_key(&name) {
                return read_number(map);
            }
            let value = map.next_value_seed(Self)?;
            if object.insert(name, value).is_some() {
                return Err(de::Error::custom("a member twice in one object"));
            }
        }
        Ok(object.into())
    }
}
