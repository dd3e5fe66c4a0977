//! The endpoints of a demo server.

use agui_encoder::http::Endpoint;

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
