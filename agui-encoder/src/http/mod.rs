//! The HTTP endpoint without a framework.
//!
//! An [`Endpoint`] puts a [`RunHandler`](agui_core::RunHandler) behind one path. Whatever carries the bytes hands over a
//! request in two steps: [`Endpoint::begin`] judges the head and answers with a refusal or with the limit to read the
//! body under, [`Pending::finish`] takes the body and gives the response, whose [`Body`] is the stream of events. All
//! policy lives here: methods, content types, limits, credentials, admission, keep-alive, what a vanished reader means
//! and how refusals look.
//!
//! An [`AgentServer`] is a whole server in the same two steps: many agents behind one mount, discovery, and a
//! [record](agui_core::store) of every thread that clients re-attach to.
//!
//! What a failed run's client reads does not say why. The error goes to `tracing`, where it is lost unless the program
//! has installed a subscriber (`tracing_subscriber::fmt::init()`, say), and to the function given to
//! [`Endpoint::with_error_hook`].
//!
//! CORS, compression, TLS and routing are the framework's.
//!
//! Invariants: a refused request starts nothing; a run that starts has exactly one terminal event, or none if nobody
//! reads it any more; no lock is held across an await, and the only one on the way of an event is the run's own.

mod authenticate;
mod body;
mod collect;
mod drive;
mod endpoint;
mod follow;
mod handlers;
mod head;
mod input;
mod judge;
mod opening;
mod pending;
mod record;
mod refusal;
mod registry;
mod server;
mod setters;
mod settings;
#[cfg(any(feature = "websocket", feature = "stdio"))]
mod socket;
mod source;

pub use authenticate::{Admission, Intent};
pub use body::Body;
pub use collect::{BodyCollector, RequestBody, collect_body, drain_body};
pub use drive::{OnDisconnect, RunInfo};
pub use endpoint::{Begun, Endpoint};
pub use head::RequestHead;
pub use pending::Pending;
pub use record::OnRecordFailure;
pub use refusal::{Refusal, RefusalCode};
pub use server::{AgentInfo, AgentServer};
#[cfg(any(feature = "websocket", feature = "stdio"))]
pub(crate) use socket::{Backend, Peek};
#[cfg(feature = "websocket")]
pub(crate) use socket::{Started, object, optional_text};
pub use source::Disconnect;
