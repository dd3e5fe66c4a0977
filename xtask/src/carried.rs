//! What the binary wire makes of an event: everything that it does not carry as JSON has it, in one place.
//!
//! For the comparison of streams over both wires. A valid event that goes over the binary wire comes back as
//! [`carried`] says, and nothing else about it is different. It says nothing about material that is not valid.

use serde_json::{Map, Number, Value, json};

/// The largest integer up to which every integer is a double.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// The event as the binary wire gives it back.
pub(crate) fn carried(mut event: Value) -> Value {
    numbers(&mut event);
    let Value::Object(members) = &mut event else { return event };
    match members.get("type").and_then(Value::as_str).unwrap_or_default() {
        "RUN_STARTED" => {
            if let Some(Value::Object(input)) = members.get_mut("input") {
                for list in ["tools", "context", "resume"] {
                    input.entry(list).or_insert_with(|| json!([]));
                }
                messages(input.get_mut("messages"));
            }
        }
        "RUN_FINISHED" => {
            drop_empty(Some(members), "usage");
            drop_empty(members.get_mut("outcome").and_then(Value::as_object_mut), "pendingToolCallIds");
        }
        "RUN_ERROR" => drop_empty(Some(members), "usage"),
        "SUBAGENT_FINISHED" => {
            drop_empty(members.get_mut("outcome").and_then(Value::as_object_mut), "interruptIds");
        }
        "MESSAGES_SNAPSHOT" => messages(members.get_mut("messages")),
        "STATE_DELTA" => operations(members.get_mut("delta")),
        "ACTIVITY_DELTA" => operations(members.get_mut("patch")),
        _ => {}
    }
    event
}

/// An optional list without items is no list.
fn drop_empty(members: Option<&mut Map<String, Value>>, list: &str) {
    if let Some(members) = members
        && members.get(list).and_then(Value::as_array).is_some_and(Vec::is_empty)
    {
        // The order of what is left does not matter.
        members.remove(list);
    }
}

fn messages(list: Option<&mut Value>) {
    for message in list.and_then(Value::as_array_mut).into_iter().flatten() {
        drop_empty(message.as_object_mut(), "toolCalls");
    }
}

/// Members that RFC 6902 does not define have no field.
fn operations(list: Option<&mut Value>) {
    for operation in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(members) = operation {
            members.retain(|name, _| matches!(name.as_str(), "op" | "path" | "from" | "value"));
        }
    }
}

/// Every number is a double, and one without a fraction reads as an integer.
fn numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let double = number.as_f64().filter(|double| double.is_finite());
            *value = double.map_or(Value::Null, number_of);
        }
        Value::Array(items) => items.iter_mut().for_each(numbers),
        Value::Object(members) => members.values_mut().for_each(numbers),
        _ => {}
    }
}

fn number_of(double: f64) -> Value {
    if double.fract() == 0.0 && double.abs() <= MAX_SAFE {
        #[expect(clippy::cast_possible_truncation, reason = "integral, and within the bounds of an i64")]
        return Value::from(double as i64);
    }
    Number::from_f64(double).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(event: &str) -> String {
        carried(serde_json::from_str(event).unwrap()).to_string()
    }

    #[test]
    fn lists_without_items_are_no_lists_where_they_are_optional() {
        for (event, as_carried) in [
            (r#"{"type":"RUN_ERROR","usage":[]}"#, r#"{"type":"RUN_ERROR"}"#),
            (r#"{"type":"RUN_ERROR","usage":[{}]}"#, r#"{"type":"RUN_ERROR","usage":[{}]}"#),
            (
                r#"{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":[]}}"#,
                r#"{"type":"RUN_FINISHED","outcome":{"type":"success"}}"#,
            ),
            (
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
            ),
            (
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"toolCalls":[]}]}"#,
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[{}]}"#,
            ),
            (
                r#"{"type":"RUN_STARTED","input":{"messages":[{"toolCalls":[]}]}}"#,
                r#"{"type":"RUN_STARTED","input":{"messages":[{}],"tools":[],"context":[],"resume":[]}}"#,
            ),
        ] {
            assert_eq!(text(event), as_carried);
        }
    }

    #[test]
    fn numbers_are_doubles_and_integers_where_they_can_be() {
        let event =
            r#"{"type":"CUSTOM","value":[1.0,1e2,-0.0,0.1,9007199254740993,18446744073709551615,1e300]}"#;
        assert_eq!(
            text(event),
            r#"{"type":"CUSTOM","value":[1,100,0,0.1,9007199254740992.0,1.8446744073709552e+19,1e+300]}"#
        );
    }

    #[test]
    fn operations_keep_the_members_of_their_standard() {
        assert_eq!(
            text(r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"","why":1,"value":null}]}"#),
            r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"","value":null}]}"#
        );
    }
}
