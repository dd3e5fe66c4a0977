//! Compares a report with what a case expects.
//!
//! Each member of the expectation is one function's concern, and each says at most once per value what differs.

use std::collections::BTreeMap;

use agui_core::patch::equal;
use serde_json::Value;

use super::case::Expect;

/// The longest a value is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 120;

/// What differs; nothing if the expectation is met.
pub(super) fn differences(expect: &Expect, report: &Value) -> Vec<String> {
    let mut found = Found { report, differences: Vec::new() };
    found.outcome(expect);
    found.request(expect);
    found.events(expect);
    found.warnings(expect);
    found.holdings(expect);
    found.differences
}

struct Found<'r> {
    report: &'r Value,
    differences: Vec<String>,
}

impl Found<'_> {
    fn member(&self, name: &str) -> &Value {
        self.report.get(name).unwrap_or(&Value::Null)
    }

    fn differ(&mut self, what: &str, expected: &Value, found: &Value) {
        self.differences.push(format!("{what}: expected {}, found {}", quoted(expected), quoted(found)));
    }

    /// A member of the report that has to be exactly that.
    fn exact(&mut self, name: &str, expected: Option<Value>) {
        if let Some(expected) = expected {
            let found = self.member(name).clone();
            if !equal(&expected, &found) {
                self.differ(name, &expected, &found);
            }
        }
    }

    /// A member of the report that has to match that.
    fn subset(&mut self, name: &str, expected: Option<&Value>) {
        if let Some(expected) = expected
            && let Err(difference) = subset(expected, self.member(name), name)
        {
            self.differences.push(difference);
        }
    }

    /// Places in a member of the report at which nothing may stand.
    fn absent(&mut self, name: &str, places: Option<&Vec<String>>) {
        for place in places.into_iter().flatten() {
            if let Some(value) = self.member(name).pointer(place) {
                let difference = format!("{name}{place}: expected nothing, found {}", quoted(value));
                self.differences.push(difference);
            }
        }
    }

    fn outcome(&mut self, expect: &Expect) {
        let error = self.member("error").clone();
        if let Some(outcome) = &expect.outcome
            && self.member("outcome") != outcome.as_str()
        {
            let found = if error.is_null() { self.member("outcome").clone() } else { error.clone() };
            self.differ("outcome", &outcome.as_str().into(), &found);
        }
        if let Some(words) = &expect.error_mentions
            && !mentions(&error, words)
        {
            self.differences.push(format!("error: expected {words:?} in {}", quoted(&error)));
        }
        let message = self.member("runError").clone();
        let is_met = match &expect.run_error {
            None => true,
            Some(Value::Bool(expected)) => *expected == message.is_string(),
            Some(Value::String(part)) => message.as_str().is_some_and(|message| message.contains(part)),
            Some(_) => false,
        };
        if !is_met {
            self.differ("runError", expect.run_error.as_ref().unwrap_or_default(), &message);
        }
        self.exact("runOutcome", expect.run_outcome.clone().map(Value::from));
        self.exact("pendingToolCallIds", expect.pending_tool_call_ids.clone().map(Value::from));
        self.exact("truncated", expect.truncated.map(Value::from));
    }

    fn request(&mut self, expect: &Expect) {
        self.exact("requestSent", expect.request_sent.map(Value::from));
        self.subset("request", expect.request.as_ref());
        self.absent("request", expect.request_absent_paths.as_ref());
    }

    fn events(&mut self, expect: &Expect) {
        let events = self.member("events").as_array().cloned().unwrap_or_default();
        let types: Vec<_> = events.iter().filter_map(|event| event.get("type")?.as_str()).collect();
        if let Some(expected) = &expect.event_types
            && *expected != types
        {
            let place = expected.iter().zip(&types).position(|(expected, found)| expected != found);
            let place = place.unwrap_or_else(|| expected.len().min(types.len()));
            let nothing = "nothing more".to_owned();
            self.differences.push(format!(
                "eventTypes: expected {} at {place}, found {}",
                expected.get(place).unwrap_or(&nothing),
                types.get(place).unwrap_or(&nothing.as_str()),
            ));
        }
        for unwanted in expect.event_types_absent.iter().flatten() {
            if let Some(place) = types.iter().position(|kind| kind == unwanted) {
                self.differences.push(format!("eventTypesAbsent: {unwanted} is delivered at {place}"));
            }
        }
        for (kind, expected) in expect.event_counts.iter().flatten() {
            let count = types.iter().filter(|found| *found == kind).count();
            if count != *expected {
                self.differences.push(format!("eventCounts: expected {expected} {kind}, found {count}"));
            }
        }
        self.event_subsets(expect.events.as_ref(), &events);
        self.absent("events", expect.event_absent_paths.as_ref());
    }

    fn event_subsets(&mut self, expected: Option<&BTreeMap<String, Value>>, events: &[Value]) {
        for (place, expected) in expected.into_iter().flatten() {
            let event = place.parse().ok().and_then(|place: usize| events.get(place));
            let outcome = match event {
                Some(event) => subset(expected, event, &format!("events/{place}")),
                None => Err(format!("events/{place}: no such event")),
            };
            self.differences.extend(outcome.err());
        }
    }

    fn warnings(&mut self, expect: &Expect) {
        let warnings = self.member("warnings").as_array().cloned().unwrap_or_default();
        for words in expect.warnings.iter().flatten() {
            if !warnings.iter().any(|warning| mentions(warning, words)) {
                let found = quoted(self.member("warnings"));
                self.differences.push(format!("warnings: expected one with {words:?}, found {found}"));
            }
        }
        if expect.no_warnings == Some(warnings.is_empty()) {
            return;
        }
        if expect.no_warnings.is_some() {
            let found = quoted(self.member("warnings"));
            self.differences.push(format!("noWarnings: found {found}"));
        }
    }

    fn holdings(&mut self, expect: &Expect) {
        self.subset("messages", expect.messages.as_ref());
        self.absent("messages", expect.message_absent_paths.as_ref());
        self.exact("state", expect.state.clone());
    }
}

/// Whether a diagnostic names all of the words: by the event's type, the place or the message.
fn mentions(diagnostic: &Value, words: &[String]) -> bool {
    let parts =
        ["type", "path", "message"].map(|name| diagnostic.get(name).and_then(Value::as_str).unwrap_or(""));
    let text = parts.join("\n").to_lowercase();
    diagnostic.is_object() && words.iter().all(|word| text.contains(&word.to_lowercase()))
}

/// Objects may have more members than expected; lists may not have more elements.
fn subset(expected: &Value, found: &Value, place: &str) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().try_for_each(|(name, expected)| {
                let place = format!("{place}/{name}");
                match found.get(name) {
                    Some(found) => subset(expected, found, &place),
                    None => Err(format!("{place}: expected {}, found nothing", quoted(expected))),
                }
            })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.try_for_each(|(at, (expected, found))| subset(expected, found, &format!("{place}/{at}")))
        }
        _ if equal(expected, found) => Ok(()),
        _ => Err(format!("{place}: expected {}, found {}", quoted(expected), quoted(found))),
    }
}

/// A value on one line, up to a length.
fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subset_may_lack_members_but_not_elements() {
        let found = json!({"a": [{"b": 1, "c": null}, 2.0]});
        assert_eq!(subset(&json!({"a": [{"b": 1.0}, 2]}), &found, ""), Ok(()));
        assert_eq!(
            subset(&json!({"a": [{"b": 1}]}), &found, "x").unwrap_err(),
            r#"x/a: expected [{"b":1}], found [{"b":1,"c":null},2.0]"#
        );
        assert_eq!(
            subset(&json!({"a": [{"d": null}, 2]}), &found, "x").unwrap_err(),
            "x/a/0/d: expected null, found nothing"
        );
    }

    #[test]
    fn words_are_found_in_any_part_of_one_diagnostic_whatever_their_case() {
        let diagnostic = json!({"rule": "PROC-3", "type": "RAW", "path": "/a", "message": "Gone"});
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(mentions(&diagnostic, &words(&["raw", "/A", "gone"])));
        assert!(!mentions(&diagnostic, &words(&["gone", "PROC"])));
        assert!(!mentions(&Value::Null, &[]));
    }
}
