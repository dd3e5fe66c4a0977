//! The format of a case file, and the two helpers that stand for many values.
//!
//! Reading is strict: a member that the format does not describe is an error, so that no expectation goes unnoticed.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "what is there for the reader of a case is read, so that a case without it is none"
)]
pub(super) struct Case {
    pub(super) name: String,
    area: String,
    rule: String,
    level: Option<String>,
    input: Option<Map<String, Value>>,
    #[serde(default)]
    before: Vec<Exchange>,
    stream: Option<Vec<Value>>,
    wire: Option<Body>,
    pub(super) expect: Expect,
    verified: String,
    note: Option<String>,
}

/// An input and the stream that answers it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) input: Option<Map<String, Value>>,
    pub(super) stream: Option<Vec<Value>>,
    pub(super) wire: Option<Body>,
}

/// An event stream byte for byte.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    pub(super) text: String,
    /// How many bytes arrive at a time; all at once if absent.
    pub(super) slice: Option<usize>,
}

/// What has to hold; everything is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Expect {
    pub(super) outcome: Option<String>,
    pub(super) error_mentions: Option<Vec<String>>,
    pub(super) run_error: Option<Value>,
    pub(super) run_outcome: Option<String>,
    pub(super) pending_tool_call_ids: Option<Vec<String>>,
    pub(super) request_sent: Option<bool>,
    pub(super) request: Option<Value>,
    pub(super) request_absent_paths: Option<Vec<String>>,
    pub(super) event_types: Option<Vec<String>>,
    pub(super) event_types_absent: Option<Vec<String>>,
    pub(super) event_counts: Option<BTreeMap<String, usize>>,
    pub(super) events: Option<BTreeMap<String, Value>>,
    pub(super) event_absent_paths: Option<Vec<String>>,
    pub(super) warnings: Option<Vec<Vec<String>>>,
    pub(super) no_warnings: Option<bool>,
    pub(super) messages: Option<Value>,
    pub(super) message_absent_paths: Option<Vec<String>>,
    /// A state of null is an expectation, too.
    #[serde(default, deserialize_with = "present")]
    pub(super) state: Option<Value>,
    pub(super) truncated: Option<bool>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Case {
    /// Reads a case file.
    pub(super) fn parse(text: &[u8]) -> anyhow::Result<Self> {
        Self::from_value(serde_json::from_slice(text)?)
    }

    /// Reads a case, helpers expanded in every place that may have them.
    pub(super) fn from_value(mut case: Value) -> anyhow::Result<Self> {
        if let Value::Object(members) = &mut case {
            expand_exchange(members)?;
            if let Some(expect) = members.get_mut("expect") {
                expand(expect)?;
            }
            for exchange in members.get_mut("before").and_then(Value::as_array_mut).into_iter().flatten() {
                exchange.as_object_mut().map_or(Ok(()), expand_exchange)?;
            }
        }
        Ok(serde_json::from_value(case)?)
    }

    /// The exchanges of the case; the last one is what the expectation is about.
    pub(super) fn exchanges(&self) -> Vec<Exchange> {
        let last =
            Exchange { input: self.input.clone(), stream: self.stream.clone(), wire: self.wire.clone() };
        self.before.iter().cloned().chain([last]).collect()
    }
}

fn expand_exchange(exchange: &mut Map<String, Value>) -> anyhow::Result<()> {
    if let Some(stream) = exchange.get_mut("stream") {
        expand(stream)?;
    }
    exchange.get_mut("input").and_then(|input| input.get_mut("messages")).map_or(Ok(()), expand)
}

/// Replaces the helpers in a value, the innermost first.
fn expand(value: &mut Value) -> anyhow::Result<()> {
    match value {
        Value::Array(items) => {
            let mut expanded = Vec::with_capacity(items.len());
            for mut item in std::mem::take(items) {
                expand(&mut item)?;
                match helper(&item, "each") {
                    None => expanded.push(item),
                    Some((rounds, each)) => {
                        let each = each.as_array().context("`each` is a list")?;
                        for round in 0..rounds {
                            expanded.extend(each.iter().map(|item| numbered(item, round)));
                        }
                    }
                }
            }
            *items = expanded;
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                expand(member)?;
            }
            if let Some((rounds, text)) = helper(value, "text") {
                let text = text.as_str().context("`text` is a text")?;
                let rounds = (0..rounds).map(|round| text.replace("${i}", &round.to_string()));
                *value = Value::String(rounds.collect());
            }
        }
        _ => {}
    }
    Ok(())
}

/// The rounds and the content of a helper: an object with exactly those two members.
fn helper<'v>(value: &'v Value, content: &str) -> Option<(u64, &'v Value)> {
    let members = value.as_object().filter(|members| members.len() == 2)?;
    Some((members.get("repeat")?.as_u64()?, members.get(content)?))
}

fn numbered(value: &Value, round: u64) -> Value {
    let text = |text: &str| text.replace("${i}", &round.to_string());
    match value {
        Value::String(content) => text(content).into(),
        Value::Array(items) => items.iter().map(|item| numbered(item, round)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (text(name), numbered(member, round))).collect()
        }
        other => other.clone(),
    }
}

/// Refuses an exchange that has both bodies or none.
pub(super) fn body(exchange: &Exchange) -> anyhow::Result<Result<&[Value], &Body>> {
    match (&exchange.stream, &exchange.wire) {
        (Some(stream), None) => Ok(Ok(stream)),
        (None, Some(wire)) => Ok(Err(wire)),
        _ => bail!("an exchange has `stream` or `wire`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expanded(mut value: Value) -> Value {
        expand(&mut value).unwrap();
        value
    }

    #[test]
    fn helpers_stand_for_many_elements_and_for_long_texts() {
        let value = json!([0, {"repeat": 2, "each": [{"k${i}": "v${i}"}, {"repeat": 1}]}, 1]);
        assert_eq!(expanded(value), json!([0, {"k0": "v0"}, {"repeat": 1}, {"k1": "v1"}, {"repeat": 1}, 1]));
        assert_eq!(expanded(json!({"a": {"repeat": 3, "text": "x${i}"}})), json!({"a": "x0x1x2"}));
    }

    #[test]
    fn an_inner_helper_counts_its_own_rounds() {
        let value = json!([{"repeat": 2, "each": [{"repeat": 2, "text": "${i}"}]}]);
        assert_eq!(expanded(value), json!(["01", "01"]));
    }

    #[test]
    fn only_an_object_with_exactly_two_members_is_a_helper() {
        for value in
            [json!([{"repeat": 2, "each": [], "more": 1}]), json!({"repeat": 2, "text": "x", "more": 1})]
        {
            assert_eq!(expanded(value.clone()), value);
        }
    }

    #[test]
    fn a_member_that_the_format_does_not_know_is_an_error() {
        let case = json!({
            "name": "x", "area": "text", "rule": "r", "stream": [], "verified": "reference",
            "expect": {"eventTpyes": []},
        });
        let error = Case::from_value(case).unwrap_err();
        assert!(error.to_string().contains("eventTpyes"), "{error}");
    }

    #[test]
    fn a_state_of_null_is_an_expectation() {
        let expect: Expect = serde_json::from_value(json!({"state": null})).unwrap();
        assert_eq!(expect.state, Some(Value::Null));
        assert_eq!(serde_json::from_value::<Expect>(json!({})).unwrap().state, None);
    }
}
