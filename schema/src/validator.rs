//! Validation against the vendored schema.
//!
//! A definition is compiled when it is first asked for and kept: a program that validates text deltas all day never
//! compiles the rest of the protocol. An event, or any other member of a tagged union, is judged by the one definition
//! that its tag names; the union as a whole is never tried.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    sync::{LazyLock, OnceLock},
};

use serde_json::Value;

use crate::{
    Definition, Violation, Violations,
    document::{document, referenced_name},
    explain::explain,
    json,
    union::{Choice, choose},
};

/// Judges JSON values by the AG-UI 1.0 schema.
///
/// Cheap to create and `Sync`; [`shared`](Self::shared) saves every caller but the first the compilation.
///
/// # Examples
/// ```
/// use agui_schema::{Definition, Validator};
///
/// let validator = Validator::new();
/// let definition: Definition = "Tool".parse()?;
/// let tool = validator.definition(definition, r#"{"name":"search","description":"","parameters":null}"#);
/// assert_eq!(
///     tool.unwrap_err().to_string(),
///     "/parameters: expected any value but null, found null (Tool, not)"
/// );
/// # Ok::<(), agui_schema::UnknownDefinition>(())
/// ```
#[derive(Debug)]
pub struct Validator {
    compiled: BTreeMap<Definition, OnceLock<jsonschema::Validator>>,
}

impl Validator {
    /// A validator with nothing compiled yet.
    pub fn new() -> Self {
        Self { compiled: Definition::all().map(|definition| (definition, OnceLock::new())).collect() }
    }

    /// The validator that the whole process shares.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Validator> = LazyLock::new(Validator::new);
        &SHARED
    }

    /// Judges an event by the definition that its `type` names.
    ///
    /// # Errors
    /// Everything that is wrong with it. A value that is no object, or whose `type` is missing, not a string or
    /// none of the 31, has exactly that one violation.
    pub fn event<'a>(&self, event: impl Into<Instance<'a>>) -> Result<(), Violations> {
        self.definition(Definition::EVENT, event)
    }

    /// Judges the body of a run request.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn input<'a>(&self, input: impl Into<Instance<'a>>) -> Result<(), Violations> {
        self.definition(Definition::RUN_AGENT_INPUT, input)
    }

    /// Judges a capabilities declaration.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn capabilities<'a>(&self, capabilities: impl Into<Instance<'a>>) -> Result<(), Violations> {
        self.definition(Definition::AGENT_CAPABILITIES, capabilities)
    }

    /// Judges a value by any definition of the schema.
    ///
    /// # Errors
    /// Everything that is wrong with it; for text that is not JSON, or is nested deeper than
    /// 128 levels, one violation with the keyword `json`.
    pub fn definition<'a>(
        &self,
        definition: Definition,
        value: impl Into<Instance<'a>>,
    ) -> Result<(), Violations> {
        let value = match value.into() {
            Instance::Value(value) => Cow::Borrowed(value),
            Instance::Text(text) => match json::read(text, json::MAX_DEPTH) {
                Ok(value) => Cow::Owned(value),
                Err(error) => return Violations::check(vec![not_json(definition, &error)]),
            },
        };
        Violations::check(self.violations(definition, &value))
    }

    fn violations(&self, mut definition: Definition, value: &Value) -> Vec<Violation> {
        // Down from a union to the member that the value claims to be, however many unions deep.
        while let Some(members) = members(definition) {
            match choose(members, value) {
                Choice::Member(index) => {
                    let member = members.get(index).and_then(referenced_name).and_then(Definition::find);
                    match member {
                        Some(member) => definition = member,
                        None => break,
                    }
                }
                Choice::Misfit(misfit) => return vec![misfit.at("", definition)],
                Choice::Undecided => break,
            }
        }
        let mut found = Vec::new();
        for error in self.compiled(definition).iter_errors(value) {
            explain(&error, definition, &mut found);
        }
        // A value of the wrong type is in no closed set either; saying so adds nothing.
        let mistyped: HashSet<String> =
            found.iter().filter(|found| found.keyword == "type").map(|found| found.pointer.clone()).collect();
        found.retain(|found| found.keyword != "enum" || !mistyped.contains(&found.pointer));
        found
    }

    fn compiled(&self, definition: Definition) -> &jsonschema::Validator {
        self.compiled[&definition].get_or_init(|| compile(definition))
    }
}

impl Default for Validator {
    fn default() -> Self {
        Self::new()
    }
}

fn members(definition: Definition) -> Option<&'static [Value]> {
    let union = document().get("$defs")?.get(definition.as_str())?.get("oneOf")?;
    union.as_array().map(Vec::as_slice)
}

#[expect(
    clippy::expect_used,
    reason = "the schema is part of the crate and a test compiles every definition"
)]
fn compile(definition: Definition) -> jsonschema::Validator {
    let mut schema = document().clone();
    if let Some(root) = schema.as_object_mut() {
        root.insert("$ref".to_owned(), format!("#/$defs/{definition}").into());
    }
    jsonschema::options().build(&schema).expect("the vendored schema compiles")
}

fn not_json(definition: Definition, error: &serde_json::Error) -> Violation {
    Violation {
        pointer: String::new(),
        keyword: Cow::Borrowed("json"),
        definition,
        message: format!("expected JSON: {error}"),
    }
}

/// What a validator accepts: a JSON tree, or text that it parses first.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Instance<'a> {
    /// A parsed value.
    Value(&'a Value),
    /// JSON text.
    Text(&'a str),
}

impl<'a> From<&'a Value> for Instance<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<&'a str> for Instance<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Instance<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}
