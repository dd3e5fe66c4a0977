//! Valid material with something changed in it: a member removed, added, renamed, nulled or replaced, anywhere.

use agui_core::EventType;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Source, from_bytes};

/// A valid event in which up to three things were changed.
pub fn event() -> impl Strategy<Value = Value> {
    from_bytes(|source| {
        let mut changes = Changes::drawn(source);
        let kind = *source.choose(EventType::ALL);
        changes.make(serde_json::to_value(source.event(kind)).unwrap())
    })
}

/// A valid run input in which up to three things were changed.
pub fn run_input() -> impl Strategy<Value = Value> {
    from_bytes(|source| {
        let mut changes = Changes::drawn(source);
        changes.make(serde_json::to_value(source.run_input()).unwrap())
    })
}

/// Changes to be made, drawn before the value is, which may use up the source.
struct Changes {
    count: usize,
    source: Source,
}

impl Changes {
    fn drawn(source: &mut Source) -> Self {
        let count = source.below(4);
        Self { count, source: Source::new((0..count * 8).map(|_| source.byte()).collect()) }
    }

    fn make(&mut self, mut value: Value) -> Value {
        for _ in 0..self.count {
            change(&mut self.source, &mut value);
        }
        value
    }
}

fn change(source: &mut Source, value: &mut Value) {
    let mut nodes = vec![String::new()];
    collect(value, &mut String::new(), &mut nodes);
    let node = nodes[usize::from(source.byte()) * nodes.len() / 256].clone();
    let Some(target) = value.pointer_mut(&node) else { return };
    match (source.below(9), target) {
        (0, Value::Object(object)) => {
            object.insert("novel".to_owned(), source.json(1));
        }
        (1 | 2, Value::Object(object)) if !object.is_empty() => {
            let name = object.keys().nth(source.below(object.len())).cloned().unwrap();
            object.remove(&name);
        }
        (3, Value::Array(list)) => list.push(source.json(2)),
        (4, target @ Value::String(_)) => {
            *target = (*source.choose(&["other", "image", "user", "/a~2"])).into();
        }
        // At, beyond and between the integers that a member may hold.
        (0..=3, target @ Value::Number(_)) => {
            let numbers =
                [json!(-1), json!(0.5), json!(2.0), json!(1_u64 << 53), json!(-(1_i64 << 53)), json!(9.1e15)];
            *target = source.choose(&numbers).clone();
        }
        (5, target) => *target = Value::Null,
        (6, Value::Object(object)) if !object.is_empty() => {
            let name = object.keys().nth(source.below(object.len())).cloned().unwrap();
            let member = object.remove(&name).unwrap();
            let new =
                *source.choose(&["id", "name", "content", "novel", "outcome", "subagentRunId", "metadata"]);
            object.insert(new.to_owned(), member);
        }
        (_, target) => *target = source.json(2),
    }
}

fn collect(value: &Value, path: &mut String, nodes: &mut Vec<String>) {
    let mut visit = |token: &str, value: &Value| {
        let length = path.len();
        path.push('/');
        path.push_str(&token.replace('~', "~0").replace('/', "~1"));
        nodes.push(path.clone());
        collect(value, path, nodes);
        path.truncate(length);
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| visit(name, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| visit(&index.to_string(), value));
        }
        _ => {}
    }
}
