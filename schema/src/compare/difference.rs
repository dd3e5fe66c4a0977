//! The comparison of two reduced schemas, and how its findings read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

use super::shape::{Definitions, Node, Shape, same};

/// One respect in which a schema differs from the one it is compared with.
///
/// Displayed as `DEFINITIONPATH: MESSAGE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Difference {
    /// The definition that differs; `#` for the document itself.
    pub definition: String,
    /// Where in the definition: `/properties/delta`, `/properties/messages/items`. Empty for the definition itself.
    pub path: String,
    /// What was expected there, and what was found.
    pub message: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", self.definition, self.path, self.message)
    }
}

/// A comparison under way.
pub(super) struct Comparison<'a> {
    expected: &'a Definitions<'a>,
    actual: &'a Definitions<'a>,
    definition: String,
    found: Vec<Difference>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(expected: &'a Definitions<'a>, actual: &'a Definitions<'a>) -> Self {
        Self { expected, actual, definition: String::new(), found: Vec::new() }
    }

    pub(super) fn definition(&mut self, name: &str, expected: &Value, actual: &Value) {
        name.clone_into(&mut self.definition);
        let (expected, actual) = (self.expected.shape(expected), self.actual.shape(actual));
        self.shapes("", &expected, &actual);
    }

    pub(super) fn absent(&mut self, name: &str) {
        name.clone_into(&mut self.definition);
        self.report("", "the definition is missing");
    }

    pub(super) fn surplus(&mut self, name: &str) {
        name.clone_into(&mut self.definition);
        self.report("", "the definition should not exist");
    }

    /// Compares what the documents describe as a whole.
    pub(super) fn root(&mut self) {
        "#".clone_into(&mut self.definition);
        let (expected, actual) = (self.expected.root(), self.actual.root());
        self.nodes("", &expected, &actual);
    }

    pub(super) fn finish(self) -> Vec<Difference> {
        self.found
    }

    fn report(&mut self, path: &str, message: impl Into<String>) {
        self.found.push(Difference {
            definition: self.definition.clone(),
            path: path.to_owned(),
            message: message.into(),
        });
    }

    fn nodes(&mut self, path: &str, expected: &Node, actual: &Node) {
        match (expected, actual) {
            (Node::Reference(expected), Node::Reference(actual)) if expected == actual => {
                if self.actual.get(actual).is_none() {
                    self.report(path, format!("refers to {actual}, which is not defined"));
                }
            }
            (Node::Reference(expected), Node::Reference(actual)) => {
                self.report(path, format!("expected {expected}, found {actual}"));
            }
            (Node::Shape(expected), Node::Shape(actual)) => self.shapes(path, expected, actual),
            // One side describes on the spot what the other has given a name.
            (Node::Reference(name), Node::Shape(actual)) => {
                match self.expected.get(name).map(|target| self.expected.shape(target)) {
                    Some(expected) => self.shapes(path, &expected, actual),
                    None => self.report(path, format!("expected {name}, found {}", actual.kinds)),
                }
            }
            (Node::Shape(expected), Node::Reference(name)) => {
                match self.actual.get(name).map(|target| self.actual.shape(target)) {
                    Some(actual) => self.shapes(path, expected, &actual),
                    None => self.report(path, format!("refers to {name}, which is not defined")),
                }
            }
        }
    }

    fn shapes(&mut self, path: &str, expected: &Shape, actual: &Shape) {
        self.values(path, expected, actual);
        self.bounds(path, &expected.bounds, &actual.bounds);
        self.bounds(path, &expected.other, &actual.other);
        self.properties(path, expected, actual);
        self.items(path, expected.items.as_ref(), actual.items.as_ref());
        self.unions(path, &expected.union, &actual.union);
    }

    fn values(&mut self, path: &str, expected: &Shape, actual: &Shape) {
        let are_same = match (&expected.values, &actual.values) {
            (Some(expected), Some(actual)) => covers(expected, actual) && covers(actual, expected),
            (None, None) => expected.kinds == actual.kinds,
            _ => false,
        };
        if !are_same {
            self.report(path, format!("expected {}, found {}", allowed(expected), allowed(actual)));
        }
    }

    fn bounds(&mut self, path: &str, expected: &BTreeMap<String, Value>, actual: &BTreeMap<String, Value>) {
        let keywords: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
        for keyword in keywords {
            match (expected.get(keyword), actual.get(keyword)) {
                (Some(expected), Some(actual)) if same(expected, actual) => {}
                (Some(expected), Some(actual)) => {
                    self.report(path, format!("expected {keyword} {expected}, found {actual}"));
                }
                (Some(expected), None) => {
                    self.report(path, format!("expected {keyword} {expected}, found none"));
                }
                (_, actual) => {
                    let actual = actual.map(ToString::to_string).unwrap_or_default();
                    self.report(path, format!("expected no {keyword}, found {actual}"));
                }
            }
        }
    }

    fn properties(&mut self, path: &str, expected: &Shape, actual: &Shape) {
        let names: BTreeSet<&String> = expected.properties.keys().chain(actual.properties.keys()).collect();
        for name in names {
            let inner = format!("{path}/properties/{name}");
            match (expected.properties.get(name), actual.properties.get(name)) {
                (Some(one), Some(other)) => {
                    self.nodes(&inner, one, other);
                    match (expected.required.contains(name), actual.required.contains(name)) {
                        (true, false) => self.report(&inner, "should be required, is optional"),
                        (false, true) => self.report(&inner, "should be optional, is required"),
                        _ => {}
                    }
                }
                (Some(_), None) => self.report(&inner, "the member is missing"),
                (None, _) => self.report(&inner, "the member should not exist"),
            }
        }
        // Required members that no `properties` describes.
        let bare = |shape: &Shape| -> BTreeSet<String> {
            shape.required.iter().filter(|name| !shape.properties.contains_key(*name)).cloned().collect()
        };
        for name in bare(expected).symmetric_difference(&bare(actual)) {
            if !expected.properties.contains_key(name) && !actual.properties.contains_key(name) {
                self.report(path, format!("only one of the two requires the undescribed member {name}"));
            }
        }
        match (expected.closed, actual.closed) {
            (true, false) => self.report(path, "should be closed, allows further members"),
            (false, true) => self.report(path, "should allow further members, is closed"),
            _ => {}
        }
    }

    fn items(&mut self, path: &str, expected: Option<&Node>, actual: Option<&Node>) {
        let inner = format!("{path}/items");
        match (expected, actual) {
            (Some(expected), Some(actual)) => self.nodes(&inner, expected, actual),
            (Some(_), None) => self.report(&inner, "the list should constrain its items, takes any"),
            (None, Some(_)) => self.report(&inner, "the list should take any item"),
            (None, None) => {}
        }
    }

    fn unions(&mut self, path: &str, expected: &[Node], actual: &[Node]) {
        let path = format!("{path}/oneOf");
        if expected.is_empty() != actual.is_empty() {
            let message = if actual.is_empty() { "should be a union" } else { "should not be a union" };
            self.report(&path, message);
            return;
        }
        let (expected, actual) = (by_name(expected), by_name(actual));
        let names: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
        for name in names {
            let none = Vec::new();
            let (one, other) = (expected.get(name).unwrap_or(&none), actual.get(name).unwrap_or(&none));
            for (expected, actual) in one.iter().zip(other) {
                self.nodes(&path, expected, actual);
            }
            if one.len() > other.len() {
                self.report(&path, format!("the union lacks {name}"));
            } else if one.len() < other.len() {
                self.report(&path, format!("the union should not have {name}"));
            }
        }
    }
}

/// The members of a union under what tells them apart, so that their order does not count.
fn by_name(members: &[Node]) -> BTreeMap<String, Vec<&Node>> {
    let mut named: BTreeMap<String, Vec<&Node>> = BTreeMap::new();
    for member in members {
        let name = match member {
            Node::Reference(name) => name.clone(),
            Node::Shape(shape) => allowed(shape),
        };
        named.entry(name).or_default().push(member);
    }
    named
}

/// The types or the closed set of values that a shape allows, for a reader.
fn allowed(shape: &Shape) -> String {
    match &shape.values {
        Some(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
        None => shape.kinds.to_string(),
    }
}

fn covers(all: &[Value], some: &[Value]) -> bool {
    some.iter().all(|value| all.iter().any(|known| same(known, value)))
}
