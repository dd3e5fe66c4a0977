//! The dialing end of AG-UI 1.0: asks agents for runs, and gives back verified events and the conversation they make.
//!
//! An [`Agent`] is whatever can be asked for a run; [`HttpAgent`] is one behind a URL, and with the feature `websocket`
//! `WebSocketAgent` is one behind a socket. What it answers is a
//! [`RunStream`]: every event has been through the whole of the consumer's pipeline before the application sees it
//! (`PROC-1`), and [`RunStream::conversation`] is what the events so far amount to.
//!
//! ```no_run
//! use agui_client::{Agent, AgentSession, HttpAgent};
//! use agui_client::agui_core::Event;
//! use agui_client::agui_core::consumer::RunStatus;
//!
//! # async fn converse() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = HttpAgent::new("http://127.0.0.1:8080/agui")?;
//! let mut session = AgentSession::new(agent, "trip-7");
//! for question in ["Where to?", "And then?"] {
//!     session.say(question);
//!     let mut run = session.run().await?;
//!     while let Some(event) = run.next().await {
//!         if let Event::TextMessageContent(content) = event? {
//!             print!("{}", content.delta);
//!         }
//!     }
//!     assert_eq!(run.status(), RunStatus::Success);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # How it can end
//!
//! | what happened | what the application sees |
//! | --- | --- |
//! | the run finished, stopped to ask, was cancelled, or reports `RUN_ERROR` | the event, and [`RunStream::status`]; no error |
//! | the server refused the run | [`DialError::Refused`] with status, code, message, path; no stream |
//! | the stream was cut off | [`RunFailure::Truncated`], after everything that had arrived (`LIFE-11`) |
//! | the stream broke a rule | [`RunFailure::Rejected`], which names the rule |
//!
//! **Cancelling** is dropping the [`RunStream`]: its connection closes, which is what a plain endpoint takes for a
//! cancellation. On the runtime surface a run outlives its readers, and [`RuntimeAgent::stop`] ends it.
//!
//! **Timeouts** are the application's: a run may take its time, so nothing here ends one. The future that opens a run
//! resolves with the head of the answer, which servers send at once; `tokio::time::timeout` around it notices a dead
//! server.
//!
//! # Features
//!
//! | feature | default | |
//! | --- | --- | --- |
//! | `protobuf` | on | the binary wire is offered beside SSE, and read |
//! | `websocket` | off | `WebSocketAgent`: run after run over one socket |
//! | `stdio` | off | `StdioAgent`: an agent that is a child process |
//! | `rustls` | off | `https` and `wss`; without it dial through a [client](HttpAgent::with_client) of your own |

mod agent;
mod error;
mod http;
mod run;
mod session;
mod source;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(feature = "websocket")]
mod websocket;

pub use agui_core;

pub use agent::Agent;
pub use error::{DialError, Refused, RunFailure, TruncationCause};
pub use http::{AgentDescription, HttpAgent, RuntimeAgent, RuntimeClient, RuntimeInfo, StopAnswer};
pub use run::RunStream;
pub use session::AgentSession;
pub use source::FrameSource;
#[cfg(feature = "stdio")]
pub use stdio::StdioAgent;
#[cfg(feature = "websocket")]
pub use websocket::WebSocketAgent;
