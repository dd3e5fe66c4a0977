//! Comparing two states, and patching one, against the crate of the same purpose.

use std::hint::black_box;
use std::rc::Rc;

use agui_core::patch::{self, JsonPatchOperation, JsonPointer};
use serde_json::Value;

use super::{Case, Targets};
use crate::measure::{Side, whole};
use crate::workloads::rows;

pub(super) fn add(cases: &mut Vec<Case>) {
    let before = Rc::new(rows(100 * 1024));
    let mut after = (*before).clone();
    change(&mut after);
    let after = Rc::new(after);
    let (same_before, same_after) = (Rc::clone(&before), Rc::clone(&after));
    cases.push(Case {
        operation: "compare states, to json-patch",
        workload: "100 KiB, one change",
        events: 1,
        targets: Targets::both(1.0),
        floor: whole(move || drop(black_box(json_patch::diff(&before, &after)))),
        ours: whole(move || drop(black_box(patch::diff(&same_before, &same_after)))),
    });
    let (mut document, patches) = (rows(100 * 1024), [1, 2].map(json_operations));
    cases.push(Case {
        operation: "patch a state, to json-patch",
        workload: "100 KiB, two operations",
        events: 2,
        targets: Targets::both(1.0),
        floor: whole(move || {
            for patch in &patches {
                json_patch::patch(&mut document, patch).expect("the patch applies");
            }
        }),
        ours: patching(100 * 1024),
    });
}

fn change(state: &mut Value) {
    let Some(rows) = state["rows"].as_array_mut() else { panic!("a state has rows") };
    let middle = rows.len() / 2;
    rows[middle]["count"] = Value::from(-1);
}

/// The library's patching of a state of so many bytes, to and fro.
pub(crate) fn patching(bytes: usize) -> Side {
    let mut document = rows(bytes);
    let patches = [1, 2].map(operations);
    whole(move || {
        for patch in &patches {
            patch::apply(&mut document, patch).expect("the patch applies");
        }
    })
}

fn operations(count: u32) -> Vec<JsonPatchOperation> {
    vec![
        JsonPatchOperation::replace(JsonPointer::from_tokens(["rows", "1", "count"]), count),
        JsonPatchOperation::replace(JsonPointer::from_tokens(["rows", "0", "owner", "at", "row"]), count),
    ]
}

fn json_operations(count: u32) -> json_patch::Patch {
    let same = serde_json::to_value(operations(count)).expect("operations are JSON");
    serde_json::from_value(same).expect("both know RFC 6902")
}
