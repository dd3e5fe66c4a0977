//! The same calls through one path: which one, and of whom, is said in the body.

use ::http::Response;
use agui_core::ThreadId;
use agui_core::json::{self, Utf8};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::{Asked, Refusal, stop};
use crate::http::{Body, RefusalCode, input};

impl Asked {
    pub(super) async fn envelope(self, body: &Bytes) -> Result<Response<Body>, Refusal> {
        let mut warnings = Vec::new();
        let envelope = json::read(body, Utf8::Strict, &mut warnings)
            .map_err(|error| Refusal::new(RefusalCode::InvalidJson).with_message(error.message()))?;
        let Value::Object(mut envelope) = envelope else {
            return Err(bad("The envelope must be an object."));
        };
        let Some(Value::String(method)) = envelope.remove("method") else {
            return Err(bad("The envelope must name a `method`."));
        };
        let params = envelope.remove("params");
        let params = params.as_ref().and_then(Value::as_object);
        let body = envelope.remove("body");
        let server = &self.server;
        match method.as_str() {
            "info" => server.info(),
            "agent/run" | "agent/connect" => {
                let agent = param(params, "agentId")?;
                let body = body.ok_or_else(|| bad("The envelope must have a `body`."))?;
                let agent = server.agent(agent)?;
                let read = input::read_value(body, &server.settings, warnings)?;
                if method == "agent/run" {
                    self.run(agent, read).await
                } else {
                    self.connect(agent, read).await
                }
            }
            "agent/stop" => {
                let (agent, thread) = (param(params, "agentId")?, param(params, "threadId")?);
                let agent = server.agent(agent)?;
                let run = body.as_ref().map(stop::run_id).transpose()?.flatten();
                self.stop(agent, ThreadId::from(thread), run).await
            }
            _ => Err(bad("The envelope names no known `method`.")),
        }
    }
}

fn param<'a>(params: Option<&'a Map<String, Value>>, name: &str) -> Result<&'a str, Refusal> {
    let value = params.and_then(|params| params.get(name)).and_then(Value::as_str);
    value.ok_or_else(|| bad(format!("The envelope must have a string at `params.{name}`.")))
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(RefusalCode::InvalidRequest).with_message(message)
}
