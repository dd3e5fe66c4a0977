//! The agents and settings that every AG-UI demo server shares.
//!
//! Two agents: [`EchoAgent`] answers with what it was told, [`ScriptAgent`] performs the steps that the input names,
//! so that one black-box suite can make any server do anything. Everything a demo server needs beside its web
//! framework is here; routes, CORS and sockets are the framework's and stay in the examples.

mod cancel;
mod echo;
mod endpoint;
mod process;
mod script;
mod settings;

pub use echo::EchoAgent;
pub use endpoint::{agent_server, plain_endpoint, secure_agent_server, secure_endpoint};
pub use process::{init_tracing, terminated};
pub use script::ScriptAgent;
pub use settings::{Settings, SettingsError, settings};
