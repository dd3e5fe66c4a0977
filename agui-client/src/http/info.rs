//! The documents of the runtime surface, read tolerantly: unknown members are left out, and what a server does not say is
//! absent.

use std::collections::BTreeMap;

use agui_core::{AgentCapabilities, RunId, Warning, enforce};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What a runtime says about itself and its agents.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RuntimeInfo {
    /// The server's own version, to show; absent where it gives none.
    #[serde(default, deserialize_with = "text")]
    pub version: Option<String>,
    /// How runs travel: `sse` for those that [`RuntimeClient`](crate::RuntimeClient) can ask for.
    #[serde(default, deserialize_with = "text")]
    pub mode: Option<String>,
    /// The agents by their ids.
    pub agents: BTreeMap<String, AgentDescription>,
}

/// What a runtime says about one agent.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentDescription {
    /// Its name, to show; absent where it has none but its id.
    #[serde(default, deserialize_with = "text")]
    pub name: Option<String>,
    /// What the server calls its kind.
    #[serde(default, deserialize_with = "text")]
    pub class_name: Option<String>,
    /// What it is for.
    #[serde(default, deserialize_with = "text")]
    pub description: Option<String>,
    /// What it declares to do; absent where nothing is declared, and where the declaration is malformed and so of no
    /// use (`CAP-1`). What is not in it is undeclared, not unsupported.
    #[serde(default, deserialize_with = "capabilities")]
    pub capabilities: Option<AgentCapabilities>,
}

/// What came of a request to stop.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StopAnswer {
    /// Whether a run is being stopped. It ends in its own time, and whoever reads it sees how.
    pub stopped: bool,
    /// The run; absent where none is being stopped.
    #[serde(default)]
    pub run_id: Option<RunId>,
    /// Why none is.
    #[serde(default, deserialize_with = "text")]
    pub message: Option<String>,
}

/// A text, or nothing where the member is something else.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

fn capabilities<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AgentCapabilities>, D::Error> {
    let raw = Value::deserialize(deserializer)?;
    let mut warnings = Vec::new();
    let capabilities = enforce::capabilities(raw, &mut warnings);
    warnings.iter().for_each(Warning::log);
    if let Err(error) = &capabilities {
        tracing::warn!(%error, "an agent's capabilities are malformed and of no use (CAP-1)");
    }
    Ok(capabilities.ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_leaves_out_or_adds_does_not_matter_and_malformed_capabilities_are_absent() {
        let info: RuntimeInfo = serde_json::from_value(json!({
            "version": 3, "mode": "sse", "telemetryDisabled": true,
            "agents": {
                "a": {},
                "b": { "name": "B", "className": "Bee", "description": null, "mood": "calm",
                       "capabilities": { "transport": { "streaming": true, "pace": "fast" } } },
                "c": { "capabilities": { "transport": { "streaming": "yes" } } },
            },
        }))
        .unwrap();
        assert_eq!((info.version, info.mode.as_deref()), (None, Some("sse")));
        assert_eq!(info.agents["a"], AgentDescription::default());
        let b = &info.agents["b"];
        assert_eq!(
            (b.name.as_deref(), b.class_name.as_deref(), b.description.as_deref()),
            (Some("B"), Some("Bee"), None)
        );
        assert_eq!(b.capabilities.as_ref().unwrap().transport.as_ref().unwrap().streaming, Some(true));
        assert_eq!(info.agents["c"].capabilities, None);
    }
}
