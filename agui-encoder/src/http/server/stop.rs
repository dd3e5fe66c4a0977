//! Stopping the run in progress of a thread. The answer does not wait for the run to end.

use std::sync::Arc;

use ::http::Response;
use agui_core::json::{self, Utf8};
use agui_core::store::{StopOutcome, ThreadKey};
use agui_core::{RunAgentInput, RunId, ThreadId};
use serde::Serialize;
use serde_json::Value;

use super::info::json_response;
use super::{Asked, Refusal};
use crate::http::authenticate::Intent;
use crate::http::drive::clip;
use crate::http::handlers::Agent;
use crate::http::{Body, RefusalCode, judge};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    stopped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Asked {
    pub(super) async fn stop(
        self,
        agent: Agent,
        thread: ThreadId,
        run: Option<RunId>,
    ) -> Result<Response<Body>, Refusal> {
        let server = &self.server;
        judge::named_thread(&server.settings, thread.as_str())?;
        if let Some(run) = &run {
            judge::member_id(&server.settings, "runId", run.as_str())?;
        }
        let asked = RunAgentInput::new(thread.clone(), run.clone().unwrap_or_else(|| "".into()), []);
        judge::admit(&server.settings, &self.extensions, &Arc::new(asked), agent.name.as_ref(), Intent::Stop)
            .await?;
        let key = ThreadKey::new(agent.name.unwrap_or_default(), thread);
        let outcome = if self.check_owner(&key).await? {
            server.within(server.store.request_stop_boxed(&key, run.as_ref())).await?
        } else {
            StopOutcome::Idle
        };
        let thread = clip(key.thread_id().as_str());
        let (run_id, message) = match &outcome {
            StopOutcome::Stopping { run_id } => (Some(run_id), None),
            StopOutcome::AlreadyStopping { run_id } => {
                let run = clip(run_id.as_str());
                (None, Some(format!("Run '{run}' on thread '{thread}' is being stopped already.")))
            }
            StopOutcome::OtherRun { run_id } => {
                let run = clip(run_id.as_str());
                (None, Some(format!("Another run, '{run}', is in progress on thread '{thread}'.")))
            }
            _ => (None, Some(format!("No run is in progress on thread '{thread}'."))),
        };
        let answer = Answer { stopped: run_id.is_some(), run_id, message };
        // Strings alone always have a JSON.
        Ok(json_response(serde_json::to_vec(&answer).unwrap_or_default()))
    }
}

/// The run that a stop's body names. Nothing at all is a body like any other.
pub(super) fn read(body: &[u8]) -> Result<Option<RunId>, Refusal> {
    if body.is_empty() {
        return Ok(None);
    }
    let body = json::read(body, Utf8::Strict, &mut Vec::new())
        .map_err(|error| Refusal::new(RefusalCode::InvalidJson).with_message(error.message()))?;
    run_id(&body)
}

/// The run that a stop's body names.
pub(super) fn run_id(body: &Value) -> Result<Option<RunId>, Refusal> {
    let invalid = |message: &'static str| Refusal::new(RefusalCode::InvalidInput).with_message(message);
    let Value::Object(body) = body else { return Err(invalid("The body must be an object.")) };
    match body.get("runId") {
        None => Ok(None),
        Some(Value::String(run)) => Ok(Some(RunId::from(run.as_str()))),
        Some(_) => Err(invalid("`runId` must be a string.").with_path("runId")),
    }
}
