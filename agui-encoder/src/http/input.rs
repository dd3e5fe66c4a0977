//! The run input out of a request's body (`PROC-10`).

use agui_core::enforce::{self, EnforceError, InputError};
use agui_core::json::{self, Utf8};
use agui_core::{RunAgentInput, Warning};
use serde_json::Value;
use uuid::Uuid;

use super::settings::Settings;
use super::{Refusal, RefusalCode, judge};

/// Reads an input, with what was odd about it.
pub(crate) fn read(body: &[u8], settings: &Settings) -> Result<(RunAgentInput, Vec<Warning>), Refusal> {
    let (input, warnings) = RunAgentInput::from_json(body)
        .or_else(|error| match &error {
            InputError::Malformed(malformed) if settings.generate_ids && is_missing_id(malformed) => {
                read_with_generated_ids(body)
            }
            _ => Err(error),
        })
        .map_err(|error| refusal(&error))?;
    check_ids(&input, settings)?;
    Ok((input, warnings))
}

/// Refuses ids that are longer than what is kept of every thread may be.
fn check_ids(input: &RunAgentInput, settings: &Settings) -> Result<(), Refusal> {
    judge::member_id(settings, "threadId", input.thread_id.as_str())?;
    judge::member_id(settings, "runId", input.run_id.as_str())
}

fn refusal(error: &InputError) -> Refusal {
    let code = match error {
        InputError::Malformed(_) => RefusalCode::InvalidInput,
        _ => RefusalCode::InvalidJson,
    };
    let refusal = Refusal::new(code).with_message(error.message());
    match error.path() {
        Some(path) => refusal.with_path(path),
        None => refusal,
    }
}

/// Whether what is missing is an id that a lenient host makes up.
fn is_missing_id(malformed: &EnforceError) -> bool {
    let path = malformed.path();
    let of_message = path.strip_prefix("messages[").is_some_and(|rest| rest.ends_with("].id"));
    malformed.is_missing() && (of_message || path == "runId" || path == "threadId")
}

/// Reads an input once more and makes up the ids that are not there.
fn read_with_generated_ids(body: &[u8]) -> Result<(RunAgentInput, Vec<Warning>), InputError> {
    let mut warnings = Vec::new();
    let mut raw = json::read(body, Utf8::Strict, &mut warnings)?;
    let generated = generate_ids(&mut raw);
    let input = enforce::received_input(raw, &mut warnings)?;
    warnings.extend(generated);
    Ok((input, warnings))
}

/// [`read`] for an input that was part of something else.
pub(crate) fn read_value(
    mut raw: Value,
    settings: &Settings,
    mut warnings: Vec<Warning>,
) -> Result<(RunAgentInput, Vec<Warning>), Refusal> {
    let generated = if settings.generate_ids { generate_ids(&mut raw) } else { None };
    let input = enforce::received_input(raw, &mut warnings)
        .map_err(|error| refusal(&InputError::Malformed(error)))?;
    check_ids(&input, settings)?;
    warnings.extend(generated);
    Ok((input, warnings))
}

/// Makes up the ids that are not there; the warning says how many.
fn generate_ids(raw: &mut Value) -> Option<Warning> {
    let mut generated = 0_usize;
    let mut generate = |object: &mut Value, name: &str| {
        if let Value::Object(members) = object {
            members.entry(name).or_insert_with(|| {
                generated += 1;
                Value::String(Uuid::new_v4().to_string())
            });
        }
    };
    generate(raw, "threadId");
    generate(raw, "runId");
    if let Some(Value::Array(messages)) = raw.get_mut("messages") {
        for message in messages {
            generate(message, "id");
        }
    }
    (generated > 0).then(|| Warning::new("SHAPE-9", format!("{generated} missing ids were made up")))
}
