//! Which member of a `oneOf` a value claims to be.
//!
//! The schema's unions come in two sorts. In a tagged one every member is an object with one fixed string under the
//! same key (`type`, `role`, `op`); in an untagged one the members differ by JSON type. Which sort it is, and under
//! which key, is read off the schema. A union of neither sort is left alone.

use serde_json::Value;

use crate::{document::resolve, violation::shown};

/// What came of matching a value with the members of a union.
#[derive(Debug, PartialEq)]
pub(crate) enum Choice {
    /// The value claims to be the member with this index.
    Member(usize),
    /// The value cannot be any member, for a reason that can be told in one sentence.
    Misfit(Misfit),
    /// The union is of neither sort.
    Undecided,
}

/// Why a value is no member of a union.
#[derive(Debug, PartialEq)]
pub(crate) struct Misfit {
    /// The discriminator, when it is what is wrong; the value itself otherwise.
    pub(crate) member: Option<String>,
    pub(crate) keyword: &'static str,
    pub(crate) message: String,
}

/// Finds the member of the union that the value claims to be.
pub(crate) fn choose(members: &'static [Value], value: &Value) -> Choice {
    if let Some((key, tags)) = tags(members) {
        choose_by_tag(key, &tags, value)
    } else if let Some(kinds) = kinds(members) {
        match kinds.iter().position(|kind| *kind == kind_of(value)) {
            Some(index) => Choice::Member(index),
            None => Choice::Misfit(Misfit {
                member: None,
                keyword: "type",
                message: format!("expected {}, found {}", kinds.join(" or "), shown(value)),
            }),
        }
    } else {
        Choice::Undecided
    }
}

fn choose_by_tag(key: &str, tags: &[&str], value: &Value) -> Choice {
    let Some(object) = value.as_object() else {
        return Choice::Misfit(Misfit {
            member: None,
            keyword: "type",
            message: format!("expected object, found {}", shown(value)),
        });
    };
    let misfit = match object.get(key) {
        None => {
            Misfit { member: None, keyword: "required", message: format!("the member {key:?} is missing") }
        }
        Some(Value::String(tag)) => match tags.iter().position(|known| known == tag) {
            Some(index) => return Choice::Member(index),
            None => Misfit {
                member: Some(key.to_owned()),
                keyword: "enum",
                message: format!("expected {}, found {}", one_of(tags), shown(&object[key])),
            },
        },
        Some(other) => Misfit {
            member: Some(key.to_owned()),
            keyword: "type",
            message: format!("expected string, found {}", shown(other)),
        },
    };
    Choice::Misfit(misfit)
}

/// A list of alternatives, shortened where it would fill the screen.
pub(crate) fn one_of<T: std::fmt::Debug>(values: &[T]) -> String {
    const LISTED: usize = 10;
    let listed: Vec<String> = values.iter().take(LISTED).map(|value| format!("{value:?}")).collect();
    match values.len().checked_sub(LISTED) {
        None | Some(0) => format!("one of {}", listed.join(", ")),
        Some(more) => format!("one of {} or {more} more", listed.join(", ")),
    }
}

/// The key whose fixed value tells the members apart, and the values in the members' order.
fn tags(members: &'static [Value]) -> Option<(&'static str, Vec<&'static str>)> {
    let properties = |member: &'static Value| resolve(member).get("properties")?.as_object();
    properties(members.first()?)?.keys().find_map(|key| {
        let tags: Option<Vec<&str>> =
            members.iter().map(|member| properties(member)?.get(key)?.get("const")?.as_str()).collect();
        Some((key.as_str(), tags?))
    })
}

/// The JSON types of the members, when each has one and all differ.
fn kinds(members: &'static [Value]) -> Option<Vec<&'static str>> {
    let kinds: Vec<&str> =
        members.iter().map(|member| resolve(member).get("type")?.as_str()).collect::<Option<_>>()?;
    let distinct = kinds.iter().enumerate().all(|(index, kind)| !kinds[..index].contains(kind));
    distinct.then_some(kinds)
}

/// The JSON type of a value as a schema's `type` names it, integers not told from other numbers.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;

    /// Every `oneOf` below a schema.
    fn unions(schema: &'static Value, found: &mut Vec<&'static [Value]>) {
        match schema {
            Value::Object(object) => {
                found.extend(object.get("oneOf").and_then(Value::as_array).map(Vec::as_slice));
                object.values().for_each(|inner| unions(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| unions(inner, found)),
            _ => {}
        }
    }

    #[test]
    fn every_union_of_the_schema_is_of_one_of_the_two_sorts() {
        let mut found = Vec::new();
        unions(document(), &mut found);
        assert!(found.len() >= 10, "{}", found.len());
        for members in found {
            assert!(tags(members).is_some() || kinds(members).is_some(), "{members:?}");
        }
    }

    #[test]
    fn long_lists_of_alternatives_are_cut() {
        assert_eq!(one_of(&["a", "b"]), r#"one of "a", "b""#);
        assert_eq!(one_of(&(0..12).collect::<Vec<_>>()), "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or 2 more");
    }
}
