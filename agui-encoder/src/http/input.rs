//! The run input out of a request's body.

use agui_core::RunAgentInput;

use super::{Refusal, RefusalCode};

/// Reads an input; what is odd about it goes to the log.
pub(crate) fn read(body: &[u8], generate_ids: bool) -> Result<RunAgentInput, Refusal> {
    let _ = generate_ids;
    serde_json::from_slice(body).map_err(|error| {
        Refusal::new(if error.is_data() { RefusalCode::InvalidInput } else { RefusalCode::InvalidJson })
    })
}
