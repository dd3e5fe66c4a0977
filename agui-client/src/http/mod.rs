//! Agents behind HTTP: the plain endpoint, and the runtime surface below a base URL.
//!
//! What is sent is one POST of one input, with an `Accept` that names exactly what this build reads (`BIND-1`, `BIND-3`);
//! the answer's content type chooses the decoder. Redirects are refusals, nothing is sent twice, and nothing is resumed
//! (`BIND-5`).

#[macro_use]
mod settings;

mod agent;
mod dial;
mod info;
mod runtime;

pub use agent::HttpAgent;
#[cfg(feature = "websocket")]
pub(crate) use dial::{bearer, refused_head};
pub use info::{AgentDescription, RuntimeInfo, StopAnswer};
pub use runtime::{RuntimeAgent, RuntimeClient};
