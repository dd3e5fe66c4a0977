//! Names of the schema's definitions, checked once.
//!
//! A [`Definition`] can only be had for a name that the vendored schema defines, so that everything that takes one
//! is free of the question.

use std::{fmt, str::FromStr};

use crate::document::document;

/// A definition of the vendored schema, by its name there.
///
/// # Examples
/// ```
/// use agui_schema::Definition;
///
/// let tool: Definition = "Tool".parse()?;
/// assert_eq!(tool.as_str(), "Tool");
/// assert!("Toll".parse::<Definition>().is_err());
/// # Ok::<(), agui_schema::UnknownDefinition>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Definition(&'static str);

impl Definition {
    /// Any of the 31 events.
    pub const EVENT: Self = Self("Event");
    /// The body of a run request.
    pub const RUN_AGENT_INPUT: Self = Self("RunAgentInput");
    /// What an agent declares about itself.
    pub const AGENT_CAPABILITIES: Self = Self("AgentCapabilities");
    /// Any message of a thread.
    pub const MESSAGE: Self = Self("Message");

    /// Every definition, in alphabetical order.
    ///
    /// # Examples
    /// ```
    /// use agui_schema::Definition;
    ///
    /// assert!(Definition::all().any(|definition| definition == Definition::RUN_AGENT_INPUT));
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        let mut names: Vec<&'static str> = document()
            .get("$defs")
            .and_then(serde_json::Value::as_object)
            .map(|definitions| definitions.keys().map(String::as_str).collect())
            .unwrap_or_default();
        // With serde_json's `preserve_order` anywhere in the build, the map would give them as the file has them.
        names.sort_unstable();
        names.into_iter().map(Self)
    }

    /// The definition of that name, if the schema has one.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let (name, _) = document().get("$defs")?.as_object()?.get_key_value(name)?;
        Some(Self(name))
    }

    /// The name in the schema.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for Definition {
    type Err = UnknownDefinition;

    /// Finds a definition by its exact name.
    ///
    /// # Errors
    /// The vendored schema has no definition of that name.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::find(name).ok_or_else(|| UnknownDefinition { name: name.to_owned() })
    }
}

/// A name that no definition of the vendored schema has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the AG-UI 1.0 schema has no definition {name:?}")]
pub struct UnknownDefinition {
    name: String,
}

impl UnknownDefinition {
    /// The name that was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_constants_are_in_the_schema() {
        for constant in [
            Definition::EVENT,
            Definition::RUN_AGENT_INPUT,
            Definition::AGENT_CAPABILITIES,
            Definition::MESSAGE,
        ] {
            assert_eq!(constant.as_str().parse(), Ok(constant));
        }
    }

    #[test]
    fn all_lists_every_definition_once_and_sorted() {
        let all: Vec<_> = Definition::all().collect();
        assert_eq!(all.len(), document()["$defs"].as_object().unwrap().len());
        assert!(all.is_sorted());
    }

    #[test]
    fn an_unknown_name_is_named_in_the_error() {
        let error = "Evnt".parse::<Definition>().unwrap_err();
        assert_eq!(error.to_string(), r#"the AG-UI 1.0 schema has no definition "Evnt""#);
        assert_eq!(error.name(), "Evnt");
    }
}
