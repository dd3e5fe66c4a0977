//! Whether two schemas mean the same, definition by definition.
//!
//! Made for one question: does the schema generated from Rust types describe what the vendored one describes? The two
//! are spelled differently, so the comparison looks through spelling. Members that a definition gets by `allOf` count
//! as its own. A definition that only names something (a string, an open object, a list), or that exists only to be
//! included by `allOf`, may be missing on either side and is compared where it is used. A closed set of strings has to
//! be defined where the schema that is right defines it, and may be defined where that one writes it on the spot. A fixed value implies its
//! type, a closed set may be written as `const` or `enum`, the members of a union have no order, and annotations
//! (titles, descriptions, formats, defaults, anchors) say nothing.
//!
//! What counts: which definitions there are, their members, which of those are required, types and whether null is one
//! of them, fixed values and closed sets, bounds and patterns, whether further members are allowed, what lists hold
//! and what unions consist of. A keyword the comparison does not know is compared as it is written, so that nothing is
//! passed over in silence.
//!
//! It is no general subsumption check: a difference in construction that happens to accept the same values may be
//! reported. The reverse, a difference in meaning that is not reported, is a bug.

mod difference;
mod kinds;
mod shape;

use std::collections::BTreeSet;

use serde_json::Value;

use difference::Comparison;
pub use difference::Difference;
use shape::Definitions;

/// What differs between the schema that is right and the one that is being checked, both with their definitions
/// under `$defs`. Nothing when they mean the same.
///
/// # Examples
/// ```
/// use agui_schema::{compare::differences, document};
///
/// let mut altered = document().clone();
/// altered["$defs"]["Tool"]["properties"]["name"]["type"] = "integer".into();
///
/// assert!(differences(document(), document()).is_empty());
/// let found = differences(document(), &altered);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].to_string(), "Tool/properties/name: expected string, found integer");
/// ```
pub fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let expected = Definitions::of(expected);
    let actual = Definitions::of(actual);
    let mut comparison = Comparison::new(&expected, &actual);

    let names: BTreeSet<&str> = expected.names().chain(actual.names()).collect();
    for name in names {
        match (expected.get(name), actual.get(name)) {
            (Some(expected), Some(actual)) => comparison.definition(name, expected, actual),
            (Some(_), None) if expected.is_required(name) => comparison.absent(name),
            (None, Some(_)) if actual.is_structure(name) => comparison.surplus(name),
            _ => {}
        }
    }
    comparison.root();
    comparison.finish()
}
