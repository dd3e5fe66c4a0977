//! From the errors of the `jsonschema` crate to violations a person can act on.
//!
//! Three things are done to them. A failed union becomes the errors of the member that the value claims to be. Unknown
//! members are reported one by one, at the member; those that the object does describe are left out, because
//! draft 2020-12 counts a member of an `allOf` part as unevaluated when the part fails for another reason, which is
//! reported already. And the message says in one form what was expected and what was found.

use std::borrow::Cow;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

use crate::{
    Definition, Violation,
    document::{describes_member, document, referenced_name},
    union::{Choice, Misfit, choose, one_of},
    violation::shown,
};

/// Appends what one error comes down to. `judged` is the definition that the whole value is judged by.
pub(crate) fn explain(error: &ValidationError<'_>, judged: Definition, found: &mut Vec<Violation>) {
    let pointer = error.instance_path().as_str();
    let definition = definition_of(error, judged);
    match error.kind() {
        ValidationErrorKind::OneOfNotValid { context } => {
            let members = schema_at(error.schema_path().as_str()).and_then(Value::as_array);
            match members.map(|members| choose(members, error.instance())) {
                Some(Choice::Member(index)) => match context.get(index) {
                    Some(errors) if !errors.is_empty() => {
                        for inner in errors {
                            explain(inner, judged, found);
                        }
                    }
                    _ => found.push(plain(error, definition)),
                },
                Some(Choice::Misfit(misfit)) => found.push(misfit.at(pointer, definition)),
                Some(Choice::Undecided) | None => found.push(plain(error, definition)),
            }
        }
        ValidationErrorKind::UnevaluatedProperties { unexpected }
        | ValidationErrorKind::AdditionalProperties { unexpected } => {
            let object =
                error.schema_path().as_str().rsplit_once('/').and_then(|(object, _)| schema_at(object));
            let known = |name: &str| object.is_some_and(|object| describes_member(object, name));
            found.extend(unexpected.iter().filter(|name| !known(name)).map(|name| Violation {
                pointer: joined(pointer, name),
                keyword: Cow::Borrowed("unevaluatedProperties"),
                definition,
                message: format!("the member {} is not known here", shown(&Value::from(name.as_str()))),
            }));
        }
        _ => found.push(plain(error, definition)),
    }
}

impl Misfit {
    /// The violation this is for a value at `pointer` that should have been a `definition`.
    pub(crate) fn at(self, pointer: &str, definition: Definition) -> Violation {
        Violation {
            pointer: self.member.map_or_else(|| pointer.to_owned(), |member| joined(pointer, &member)),
            keyword: Cow::Borrowed(self.keyword),
            definition,
            message: self.message,
        }
    }
}

fn plain(error: &ValidationError<'_>, definition: Definition) -> Violation {
    Violation {
        pointer: error.instance_path().as_str().to_owned(),
        keyword: Cow::Owned(error.kind().keyword().to_owned()),
        definition,
        message: message(error),
    }
}

fn message(error: &ValidationError<'_>) -> String {
    let expected = match error.kind() {
        ValidationErrorKind::Required { property } => return format!("the member {property} is missing"),
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => kind.to_string(),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<String> = kinds.into_iter().map(|kind| kind.to_string()).collect();
            kinds.join(" or ")
        }
        ValidationErrorKind::Constant { expected_value } => shown(expected_value),
        ValidationErrorKind::Enum { options } => match options.as_array() {
            Some(options) => {
                let options: Vec<_> = options.iter().map(|option| format_as_json(shown(option))).collect();
                one_of(&options)
            }
            None => shown(options),
        },
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} in the list"),
        ValidationErrorKind::Pattern { pattern } => format!("text that matches {pattern}"),
        ValidationErrorKind::Not { schema } if schema.get("type").is_some_and(|kind| kind == "null") => {
            "any value but null".to_owned()
        }
        // The crate's own words, without the value they would quote in full.
        _ => return error.masked_with("the value").to_string(),
    };
    format!("expected {expected}, found {}", shown(error.instance()))
}

/// Wraps JSON text so that a list of it is printed without a second pair of quotes.
fn format_as_json(text: String) -> impl std::fmt::Debug {
    struct Verbatim(String);
    impl std::fmt::Debug for Verbatim {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0)
        }
    }
    Verbatim(text)
}

/// The innermost definition with members of its own on the way to the broken rule.
///
/// A definition reached by `allOf` is part of the one that includes it, and one that merely names a string or an
/// open object would tell the reader nothing.
fn definition_of(error: &ValidationError<'_>, judged: Definition) -> Definition {
    let mut definition = judged;
    let mut schema = document().get("$defs").and_then(|definitions| definitions.get(judged.as_str()));
    let mut mixed_in = false;
    // The first segment is the `$ref` by which the judged definition was entered.
    for segment in error.evaluation_path().as_str().split('/').skip(2) {
        let Some(current) = schema else { break };
        if segment == "$ref" {
            let target = referenced_name(current).and_then(Definition::find);
            schema = target.and_then(|target| document().get("$defs")?.get(target.as_str()));
            if let (Some(target), Some(entered), false) = (target, schema, mixed_in)
                && (entered.get("properties").is_some() || entered.get("oneOf").is_some())
            {
                definition = target;
            }
        } else {
            mixed_in |= segment == "allOf";
            mixed_in &= segment != "properties";
            schema = step(current, segment);
        }
    }
    definition
}

fn step(schema: &'static Value, segment: &str) -> Option<&'static Value> {
    match schema {
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => schema.get(segment.replace("~1", "/").replace("~0", "~")),
    }
}

fn schema_at(pointer: &str) -> Option<&'static Value> {
    document().pointer(pointer)
}

fn joined(pointer: &str, member: &str) -> String {
    format!("{pointer}/{}", member.replace('~', "~0").replace('/', "~1"))
}
