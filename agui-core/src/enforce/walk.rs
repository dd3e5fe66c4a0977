//! The walk over a tree with the shape table in hand.
//!
//! Its depth is that of the table, which is not recursive; the contents of open values are not walked.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::EnforceError;
use crate::path::{Path, quoted};
use crate::shape::{EnumShape, Field, Kind, Shape, UnionShape, integral};
use crate::warning::Sink;
use crate::{JsonObject, JsonPointer};

/// A value of a kind this version does not know.
pub(super) struct Unknown {
    rule: &'static str,
    /// What is unknown, as a clause.
    what: String,
}

/// What is to become of a value: kept, with what was unknown inside removed, or removed itself.
type Verdict = Result<Option<Unknown>, EnforceError>;

/// One walk over one event, input or declaration.
pub(super) struct Walk<'w, 's> {
    noun: &'static str,
    sink: &'w mut Sink<'s>,
}

impl<'w, 's> Walk<'w, 's> {
    /// `noun` names the whole in messages.
    pub(super) const fn new(noun: &'static str, sink: &'w mut Sink<'s>) -> Self {
        Self { noun, sink }
    }

    /// Judges the whole; says whether anything is left of it.
    pub(super) fn root(&mut self, kind: &Kind, value: &mut Value) -> Result<bool, EnforceError> {
        let mark = self.sink.mark();
        match self.value(kind, value, &Path::Root)? {
            None => Ok(true),
            Some(unknown) => {
                self.sink.rollback(mark);
                let noun = self.noun;
                self.sink.warn(unknown.rule, &Path::Root, || format!("{noun} dropped: {}", unknown.what));
                Ok(false)
            }
        }
    }

    fn value(&mut self, kind: &Kind, value: &mut Value, path: &Path<'_>) -> Verdict {
        let sound = match (kind, &mut *value) {
            (Kind::Text | Kind::TextOrParts, Value::String(_))
            | (Kind::Bool, Value::Bool(_))
            | (Kind::Any, _)
            | (Kind::Open, Value::Object(_)) => true,
            (Kind::Pointer, Value::String(text)) => text.parse::<JsonPointer>().is_ok(),
            (Kind::Integer { min, max }, Value::Number(number)) => {
                integer(number).is_some_and(|integer| (*min..=*max).contains(&integer))
            }
            (Kind::Const(fixed), Value::String(text)) => text == fixed,
            (Kind::Enum(shape), Value::String(text)) => return self.one_of(shape, text, path),
            (Kind::Object(shape), Value::Object(object)) => return self.object(shape, object, path),
            (Kind::Union(shape), Value::Object(object)) => return self.union(shape, object, path),
            (Kind::List { items, min_items }, Value::Array(list)) if list.len() >= *min_items => {
                return self.list(items, list, path);
            }
            (Kind::TextOrParts, Value::Array(list)) => {
                return self.list(&<crate::ContentPart as crate::shape::Wire>::KIND, list, path);
            }
            _ => false,
        };
        if sound { Ok(None) } else { Err(self.malformed(rule_of(kind), path, Some(expected(kind)))) }
    }

    fn object(&mut self, shape: &Shape, object: &mut JsonObject, path: &Path<'_>) -> Verdict {
        let mut unknown = None;
        let mut failed = None;
        object.retain(|name, value| {
            if failed.is_some() {
                return true;
            }
            let at = path.member(name);
            let Some(field) = shape.field(name) else {
                if !shape.open {
                    self.sink.warn("PROC-3", &at, || "unknown member removed");
                }
                return shape.open;
            };
            let mark = self.sink.mark();
            match self.field(field, value, &at) {
                Ok(None) => true,
                Ok(Some(found)) if field.required => {
                    unknown.get_or_insert(found);
                    true
                }
                Ok(Some(found)) => {
                    self.sink.rollback(mark);
                    self.sink.warn(found.rule, &at, || format!("removed: {}", found.what));
                    false
                }
                Err(error) => {
                    failed = Some(error);
                    true
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        match shape.fields.iter().find(|field| field.required && !object.contains_key(field.name)) {
            Some(missing) => Err(self.malformed("PROC-5", &path.member(missing.name), None)),
            None => Ok(unknown),
        }
    }

    fn field(&mut self, field: &Field, value: &mut Value, path: &Path<'_>) -> Verdict {
        if value.is_null() && !field.required {
            return Err(self.malformed("SHAPE-6", path, Some("absent rather than null".into())));
        }
        self.value(&field.kind, value, path)
    }

    fn union(&mut self, shape: &UnionShape, object: &mut JsonObject, path: &Path<'_>) -> Verdict {
        let at = path.member(shape.tag);
        match object.get(shape.tag) {
            None => Err(self.malformed("PROC-4", &at, None)),
            Some(Value::String(tag)) => match shape.member(tag) {
                Some(member) => self.object(member, object, path),
                // The one union at a root is that of the events.
                None if matches!(path, Path::Root) => {
                    Ok(Some(Unknown { rule: "PROC-2", what: format!("unknown event type {}", quoted(tag)) }))
                }
                None => Ok(Some(unknown(tag, &at))),
            },
            Some(_) => Err(self.malformed("PROC-4", &at, Some("a string".into()))),
        }
    }

    fn one_of(&self, shape: &EnumShape, text: &str, path: &Path<'_>) -> Verdict {
        if shape.values.contains(&text) {
            return Ok(None);
        }
        match shape.values {
            // A set of one is a fixed value, and another value there is malformed.
            [only] => Err(self.malformed("PROC-5", path, Some(format!("\"{only}\"").into()))),
            _ => Ok(Some(unknown(text, path))),
        }
    }

    fn list(&mut self, items: &Kind, list: &mut Vec<Value>, path: &Path<'_>) -> Verdict {
        let mut failed = None;
        let mut index = 0;
        list.retain_mut(|item| {
            if failed.is_some() {
                return true;
            }
            let at = path.item(index);
            index += 1;
            let mark = self.sink.mark();
            match self.value(items, item, &at) {
                Ok(None) => true,
                Ok(Some(found)) => {
                    self.sink.rollback(mark);
                    self.sink.warn(found.rule, &at, || format!("dropped from its list: {}", found.what));
                    false
                }
                Err(error) => {
                    failed = Some(error);
                    true
                }
            }
        });
        failed.map_or(Ok(None), Err)
    }

    fn malformed(
        &self,
        rule: &'static str,
        path: &Path<'_>,
        expected: Option<Cow<'static, str>>,
    ) -> EnforceError {
        EnforceError::new(rule, path, self.noun, self.sink.event_type(), expected)
    }
}

fn unknown(text: &str, path: &Path<'_>) -> Unknown {
    Unknown {
        rule: "PROC-4",
        what: format!("`{}` is {}, which AG-UI 1.0 does not know", path.dotted(), quoted(text)),
    }
}

/// The integer that a number is, also one written with a zero fraction (`SHAPE-3`).
fn integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().and_then(integral))
}

const fn rule_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::Integer { .. } => "SHAPE-3",
        Kind::Pointer => "STATE-3",
        _ => "PROC-5",
    }
}

fn expected(kind: &Kind) -> Cow<'static, str> {
    match kind {
        Kind::Text | Kind::Enum(_) => "a string".into(),
        Kind::Pointer => "a JSON Pointer".into(),
        Kind::Bool => "true or false".into(),
        Kind::Integer { min, max } => format!("an integer from {min} to {max}").into(),
        Kind::Any => "a JSON value".into(),
        Kind::Open | Kind::Object(_) | Kind::Union(_) => "an object".into(),
        Kind::Const(fixed) => format!("\"{fixed}\"").into(),
        Kind::List { min_items: 0, .. } => "a list".into(),
        Kind::List { min_items, .. } => format!("a list of at least {min_items}").into(),
        Kind::TextOrParts => "a string or a list of content parts".into(),
    }
}
