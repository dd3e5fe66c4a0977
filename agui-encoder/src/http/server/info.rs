//! Discovery: which agents there are.
//!
//! Every flag is a promise of a route that clients then ask for, so those of routes that do not exist here are false.

use std::collections::BTreeMap;

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderValue, Response};
use agui_core::AgentCapabilities;
use serde::Serialize;

use super::Inner;
use crate::http::authenticate::guard_call;
use crate::http::{Body, Refusal, RefusalCode};

/// What discovery says about an agent beside its capabilities. What is absent is left out; the name is then the id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct AgentInfo {
    /// What the agent is called.
    pub name: Option<String>,
    /// What it is in the program.
    pub class_name: Option<String>,
    /// What it does, for the user.
    pub description: Option<String>,
}

impl AgentInfo {
    /// Sets what the agent is called.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what the agent is in the program.
    pub fn with_class_name(mut self, class_name: impl Into<String>) -> Self {
        self.class_name = Some(class_name.into());
        self
    }

    /// Sets what the agent does, for the user.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "clients read so many flags")]
struct Info<'a> {
    version: &'static str,
    mode: &'static str,
    agents: BTreeMap<&'a str, Described<'a>>,
    audio_file_transcription_enabled: bool,
    suggestions: bool,
    a2ui_enabled: bool,
    #[serde(rename = "openGenerativeUIEnabled")]
    open_generative_ui_enabled: bool,
    thread_endpoints: ThreadEndpoints,
    telemetry_disabled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Described<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    capabilities: AgentCapabilities,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "clients read so many flags")]
struct ThreadEndpoints {
    list: bool,
    inspect: bool,
    mutations: bool,
    realtime_metadata: bool,
}

impl Inner {
    pub(super) fn info(&self) -> Result<Response<Body>, Refusal> {
        let agents = self.agents.iter().map(|(id, registered)| {
            let described = Described {
                name: registered.info.name.as_deref().unwrap_or(id),
                class_name: registered.info.class_name.as_deref(),
                description: registered.info.description.as_deref(),
                capabilities: self.provided(guard_call(|| registered.agent.handler.capabilities())?),
            };
            Ok((&**id, described))
        });
        let info = Info {
            version: env!("CARGO_PKG_VERSION"),
            mode: "sse",
            agents: agents.collect::<Result<_, Refusal>>()?,
            audio_file_transcription_enabled: false,
            suggestions: false,
            a2ui_enabled: false,
            open_generative_ui_enabled: false,
            thread_endpoints: ThreadEndpoints::default(),
            telemetry_disabled: true,
        };
        let json = serde_json::to_vec(&info).map_err(|error| {
            tracing::error!(%error, "an agent's capabilities have no JSON");
            Refusal::new(RefusalCode::InternalError)
        })?;
        Ok(json_response(json))
    }

    /// What an agent declares, with what the server does for it and without what the server does not.
    fn provided(&self, declared: AgentCapabilities) -> AgentCapabilities {
        let mut capabilities = declared;
        let transport = capabilities.transport.get_or_insert_default();
        transport.streaming = Some(true);
        transport.http_binary = (cfg!(feature = "protobuf") && self.settings.protobuf).then_some(true);
        transport.resumable = None;
        capabilities
    }
}

/// An answer that is JSON.
pub(super) fn json_response(json: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::full(json));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
