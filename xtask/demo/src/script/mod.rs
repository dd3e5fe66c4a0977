//! The agent that performs the steps its input names.
//!
//! [`step`] reads one step, [`perform`] does it, [`ids`] names what it makes, [`stats`] counts runs. Steps are read
//! when they are reached: what stands behind a bad one is never looked at, and what stood before it has happened.

mod ids;
mod perform;
mod stats;
mod step;

use agui_core::{
    AgentCapabilities, IdentityCapabilities, ReasoningCapabilities, Run, RunEnd, RunError, RunHandler,
    ToolsCapabilities, TransportCapabilities,
};

use perform::Performer;

/// Performs `forwardedProps.script`, a list of steps.
///
/// A step that cannot be read ends the run with the code `bad_script` and a message that names its index. A step
/// inside another is named by a path from the outside in, such as `2.do.0`: the first step of what the third one does.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "an agent without settings is its name")]
pub struct ScriptAgent;

impl ScriptAgent {
    /// What the agent says about itself.
    pub const DESCRIPTION: &'static str = "Performs the steps in forwardedProps.script.";

    /// The name it is registered under.
    const ID: &'static str = "script";
}

impl RunHandler for ScriptAgent {
    async fn run(&self, run: Run) -> Result<RunEnd, RunError> {
        Performer::new(&run).perform().await
    }

    fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities::default()
            .with_identity(
                IdentityCapabilities::default().with_name(Self::ID).with_description(Self::DESCRIPTION),
            )
            .with_transport(TransportCapabilities::default().with_streaming(true).with_http_binary(true))
            .with_tools(ToolsCapabilities::default().with_supported(true).with_client_provided(true))
            .with_reasoning(ReasoningCapabilities::default().with_supported(true).with_streaming(true))
    }
}
