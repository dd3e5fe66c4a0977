//! A schema reduced to what it means.
//!
//! Reading flattens `allOf`, looks through references to definitions that only name something, and turns the different
//! spellings of one constraint into one. What is left has one form per meaning as far as the keywords of the protocol's
//! schema go; any other keyword is kept word for word in `other`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::kinds::Kinds;

/// How many references may follow each other before a chain is taken for a circle.
const MAX_DEPTH: usize = 64;

/// Keywords that constrain nothing.
const ANNOTATIONS: [&str; 17] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "default",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

/// The definitions of a schema document.
pub(super) struct Definitions<'a> {
    root: &'a Value,
    named: Option<&'a Map<String, Value>>,
    /// Definitions that are only ever included by `allOf`.
    mixins: BTreeSet<&'a str>,
}

impl<'a> Definitions<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let named = root.get("$defs").and_then(Value::as_object);
        let mut uses = Uses::default();
        uses.walk(root, false);
        let mixins = uses.included.difference(&uses.referenced).copied().collect();
        Self { root, named, mixins }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.named.into_iter().flat_map(Map::keys).map(String::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.named?.get(name)
    }

    /// What the document as a whole describes.
    pub(super) fn root(&self) -> Node {
        self.read(self.root)
    }

    /// Whether another schema of the same meaning has to have a definition of this name: it has structure, or is a
    /// closed set, whose growth would go unnoticed where nothing refers to it.
    pub(super) fn is_required(&self, name: &str) -> bool {
        let is_enumeration = self.get(name).is_some_and(|schema| schema.get("enum").is_some());
        is_enumeration || self.is_structure(name)
    }

    /// Whether a definition of this name is more than another name for what could stand where it is used.
    pub(super) fn is_structure(&self, name: &str) -> bool {
        !self.mixins.contains(name) && self.get(name).is_some_and(|schema| self.has_structure(schema))
    }

    /// Whether a schema is an object with members of its own or a union of definitions, and so worth a name.
    fn has_structure(&self, schema: &Value) -> bool {
        let members = |key: &str| schema.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        schema.get("properties").is_some()
            || members("allOf").iter().any(|part| {
                self.has_structure(part)
                    || name_in(part).is_some_and(|name| {
                        self.get(name).is_some_and(|target| target.get("properties").is_some())
                    })
            })
            || (!members("oneOf").is_empty()
                && members("oneOf").iter().all(|member| name_in(member).is_some()))
    }

    /// Reads a schema as it stands in a member, a list or a union: a reference stays one if what it names has
    /// structure.
    pub(super) fn read(&self, schema: &Value) -> Node {
        self.read_at(schema, 0)
    }

    fn read_at(&self, schema: &Value, depth: usize) -> Node {
        let alone = schema.as_object().is_some_and(|object| {
            object.keys().all(|key| key == "$ref" || ANNOTATIONS.contains(&key.as_str()))
        });
        match name_in(schema) {
            Some(name) if alone => match self.get(name) {
                Some(target) if self.has_structure(target) || depth > MAX_DEPTH => {
                    Node::Reference(name.to_owned())
                }
                Some(target) => self.read_at(target, depth + 1),
                None => Node::Reference(name.to_owned()),
            },
            _ => Node::Shape(Box::new(self.shape_at(schema, depth))),
        }
    }

    /// Reads a schema with everything it includes, whatever it refers to.
    pub(super) fn shape(&self, schema: &Value) -> Shape {
        self.shape_at(schema, 0)
    }

    fn shape_at(&self, schema: &Value, depth: usize) -> Shape {
        let mut shape = Shape::default();
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(true) => return shape,
            other => {
                shape.other.insert("schema".to_owned(), other.clone());
                return shape;
            }
        };
        for (keyword, value) in object {
            self.read_keyword(&mut shape, object, keyword, value, depth);
        }
        shape.settle();
        shape
    }

    fn read_keyword(
        &self,
        shape: &mut Shape,
        schema: &Map<String, Value>,
        keyword: &str,
        value: &Value,
        depth: usize,
    ) {
        let nodes = |value: &Value| {
            value.as_array().map(|list| list.iter().map(|item| self.read_at(item, depth)).collect())
        };
        match (keyword, value) {
            (annotation, _) if ANNOTATIONS.contains(&annotation) => {}
            ("$ref", _) => match name_in_map(schema).and_then(|name| self.get(name)) {
                Some(target) if depth <= MAX_DEPTH => shape.merge(self.shape_at(target, depth + 1)),
                _ => shape.keep(keyword, value),
            },
            ("allOf", Value::Array(parts)) if depth <= MAX_DEPTH => {
                for part in parts {
                    shape.merge(self.shape_at(part, depth + 1));
                }
            }
            ("type", _) => match Kinds::named(value) {
                Some(kinds) => shape.kinds = shape.kinds.and(kinds),
                None => shape.keep(keyword, value),
            },
            ("const", _) => shape.restrict_values(vec![value.clone()]),
            ("enum", Value::Array(values)) => shape.restrict_values(values.clone()),
            ("not", _) if is_only_null(value) => shape.kinds = shape.kinds.and(Kinds::NULL.complement()),
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    shape.merge_property(name.clone(), self.read_at(property, depth));
                }
            }
            ("required", Value::Array(names)) => {
                shape.required.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            // `additionalProperties` sees only the members beside it: next to `allOf` it would refuse the included ones.
            ("additionalProperties", Value::Bool(false))
                if schema.contains_key("allOf") || schema.contains_key("$ref") =>
            {
                shape.keep(keyword, value);
            }
            ("additionalProperties" | "unevaluatedProperties", Value::Bool(false)) => shape.closed = true,
            ("additionalProperties" | "unevaluatedProperties", _) if accepts_everything(value) => {}
            ("items", _) => {
                let items = self.read_at(value, depth);
                shape.items = if items.accepts_everything() { None } else { Some(items) };
            }
            ("oneOf", _) => match nodes(value) {
                Some(members) => shape.add_union(members),
                None => shape.keep(keyword, value),
            },
            // With members of which no two can hold at once the two keywords mean the same.
            ("anyOf", _) => match nodes(value) {
                Some(members) if are_disjoint(&members) => shape.add_union(members),
                _ => shape.keep(keyword, value),
            },
            ("minimum" | "minItems" | "minLength", Value::Number(_)) => shape.tighten(keyword, value, true),
            ("maximum" | "maxItems" | "maxLength", Value::Number(_)) => shape.tighten(keyword, value, false),
            _ => shape.keep(keyword, value),
        }
    }
}

/// Which definitions are referred to, and how.
#[derive(Default)]
struct Uses<'a> {
    included: BTreeSet<&'a str>,
    referenced: BTreeSet<&'a str>,
}

impl<'a> Uses<'a> {
    fn walk(&mut self, schema: &'a Value, is_part: bool) {
        match schema {
            Value::Object(object) => {
                if let Some(name) = name_in_map(object) {
                    if is_part {
                        self.included.insert(name)
                    } else {
                        self.referenced.insert(name)
                    };
                }
                for (keyword, inner) in object {
                    self.walk(inner, keyword == "allOf");
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.walk(item, is_part);
                }
            }
            _ => {}
        }
    }
}

/// A place in a schema: a named definition, or a description on the spot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Reference(String),
    Shape(Box<Shape>),
}

impl Node {
    fn accepts_everything(&self) -> bool {
        matches!(self, Self::Shape(shape) if **shape == Shape::default())
    }
}

/// What a schema allows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Shape {
    pub(super) kinds: Kinds,
    /// The closed set of values, if there is one.
    pub(super) values: Option<Vec<Value>>,
    pub(super) bounds: BTreeMap<String, Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) required: BTreeSet<String>,
    pub(super) closed: bool,
    pub(super) items: Option<Node>,
    pub(super) union: Vec<Node>,
    /// Everything else, by keyword.
    pub(super) other: BTreeMap<String, Value>,
}

impl Shape {
    /// Adds the constraints of a schema that holds at the same time.
    fn merge(&mut self, part: Self) {
        self.kinds = self.kinds.and(part.kinds);
        if let Some(values) = part.values {
            self.restrict_values(values);
        }
        for (keyword, bound) in part.bounds {
            self.tighten(&keyword, &bound, keyword.starts_with("min"));
        }
        for (name, node) in part.properties {
            self.merge_property(name, node);
        }
        self.required.extend(part.required);
        self.closed |= part.closed;
        if let Some(items) = part.items {
            self.items = Some(match self.items.take() {
                Some(own) => both(own, items),
                None => items,
            });
        }
        self.add_union(part.union);
        for (keyword, value) in part.other {
            self.keep(&keyword, &value);
        }
    }

    fn merge_property(&mut self, name: String, node: Node) {
        let merged = match self.properties.remove(&name) {
            Some(own) => both(own, node),
            None => node,
        };
        self.properties.insert(name, merged);
    }

    fn restrict_values(&mut self, values: Vec<Value>) {
        self.values = Some(match self.values.take() {
            Some(own) => {
                own.into_iter().filter(|value| values.iter().any(|other| same(value, other))).collect()
            }
            None => values,
        });
    }

    fn add_union(&mut self, members: Vec<Node>) {
        if self.union.is_empty() {
            self.union = members;
        } else if !members.is_empty() {
            // Two unions that hold at once do not occur in the protocol; keep them apart from a single one.
            self.keep("oneOf", &Value::from(format!("{members:?}")));
        }
    }

    fn tighten(&mut self, keyword: &str, bound: &Value, is_lower: bool) {
        let own = self.bounds.get(keyword).and_then(Value::as_f64);
        let tighter = match (own, bound.as_f64()) {
            (Some(own), Some(new)) => (new > own) == is_lower,
            _ => true,
        };
        if tighter {
            self.bounds.insert(keyword.to_owned(), bound.clone());
        }
    }

    fn keep(&mut self, keyword: &str, value: &Value) {
        let kept = match self.other.remove(keyword) {
            Some(own) if own != *value => Value::Array(vec![own, value.clone()]),
            _ => value.clone(),
        };
        self.other.insert(keyword.to_owned(), kept);
    }

    /// Gives one form to what can be said in two ways.
    fn settle(&mut self) {
        if let Some(values) = &mut self.values {
            // A closed set says all there is to say about types.
            values.retain(|value| self.kinds.contains(value));
            self.kinds = Kinds::of_values(values);
        }
        // A minimum of zero for a count is no bound.
        for keyword in ["minItems", "minLength"] {
            if self.bounds.get(keyword).is_some_and(|bound| bound.as_f64() == Some(0.0)) {
                self.bounds.remove(keyword);
            }
        }
    }
}

/// Two descriptions of one place that hold at the same time.
fn both(one: Node, other: Node) -> Node {
    match (one, other) {
        (one, other) if one == other || other.accepts_everything() => one,
        (one, other) if one.accepts_everything() => other,
        (Node::Shape(mut one), Node::Shape(other)) => {
            one.merge(*other);
            one.settle();
            Node::Shape(one)
        }
        (one, other) => {
            let mut shape = Shape::default();
            shape.keep("allOf", &Value::from(format!("{one:?} and {other:?}")));
            Node::Shape(Box::new(shape))
        }
    }
}

/// Equality of JSON values with numbers compared by value, as JSON Schema has it.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one == other,
            _ => one == other || one.as_f64() == other.as_f64(),
        },
        _ => one == other,
    }
}

/// Whether no value can be two of the members: all differ in JSON type.
fn are_disjoint(members: &[Node]) -> bool {
    members.iter().enumerate().all(|(index, one)| {
        members.iter().skip(index + 1).all(|other| match (one, other) {
            (Node::Shape(one), Node::Shape(other)) => !one.kinds.overlaps(other.kinds),
            _ => false,
        })
    })
}

fn accepts_everything(schema: &Value) -> bool {
    match schema {
        Value::Bool(all) => *all,
        Value::Object(object) => object.keys().all(|key| ANNOTATIONS.contains(&key.as_str())),
        _ => false,
    }
}

fn is_only_null(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| {
        schema
            .iter()
            .all(|(key, value)| (key == "type" && value == "null") || ANNOTATIONS.contains(&key.as_str()))
            && schema.contains_key("type")
    }) || schema.get("const").is_some_and(Value::is_null)
}

fn name_in(schema: &Value) -> Option<&str> {
    name_in_map(schema.as_object()?)
}

fn name_in_map(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}
