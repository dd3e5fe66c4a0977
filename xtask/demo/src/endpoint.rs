//! The endpoints and servers of a demo server.

use agui_encoder::http::{AgentInfo, AgentServer, Endpoint};

use crate::{EchoAgent, ScriptAgent, Settings};

/// Both agents on one path: `X-Agent-Id` names one, `echo` answers without it.
pub fn plain_endpoint(settings: &Settings) -> Endpoint {
    Endpoint::by_header("x-agent-id")
        .with_agent("echo", EchoAgent)
        .with_agent("script", ScriptAgent)
        .with_default("echo")
        .with_max_body_bytes(settings.body_limit)
        .with_keep_alive(settings.keep_alive)
}

/// The same behind the bearer token.
pub fn secure_endpoint(settings: &Settings) -> Endpoint {
    plain_endpoint(settings).with_bearer_token(settings.token.clone())
}

/// Both agents with discovery and a record. Servers of one [`Settings`] value and of its clones share their threads.
pub fn agent_server(settings: &Settings) -> AgentServer {
    let echo = AgentInfo::default().with_class_name("EchoAgent").with_description(EchoAgent::DESCRIPTION);
    let script =
        AgentInfo::default().with_class_name("ScriptAgent").with_description(ScriptAgent::DESCRIPTION);
    AgentServer::new()
        .with_described_agent("echo", echo, EchoAgent)
        .with_described_agent("script", script, ScriptAgent)
        .with_dyn_store(settings.store())
        .with_max_body_bytes(settings.body_limit)
        .with_keep_alive(settings.keep_alive)
}

/// The same behind the bearer token, with the same threads.
pub fn secure_agent_server(settings: &Settings) -> AgentServer {
    agent_server(settings).with_bearer_token(settings.token.clone())
}
