//! The WebSocket transport without a framework and without a WebSocket library.
//!
//! A [`WebSocketEndpoint`] serves the same agents as the [`Endpoint`](crate::http::Endpoint) it is made of, with the same
//! limits, credentials and hooks, on a socket that stays open: inputs come in as text frames, one run at a time, and
//! each event goes out as a text frame of its own (`BIND-6`). Whatever carries the bytes hands over a request in two steps:
//! [`WebSocketEndpoint::begin`] judges the head and answers with a refusal or with a [`Session`]; after the upgrade
//! [`Session::serve`] does everything else on a [`Socket`], which is the framework's own behind four functions.
//!
//! What a client sends, beside inputs: `{"type":"hello","token":"…","client":"…"}` as the first frame, which says who calls
//! where no header could, and whose other string members the handler finds as [`HelloAttributes`]; and
//! `{"type":"stop","runId":"…"}`, which ends the run in progress as cancelled. An input may name its agent by the member
//! `agentId`. An input that is refused is answered with one `RUN_ERROR`, whose code is that of HTTP, and the socket
//! stays open.
//!
//! Invariants: every wait is bounded or ends with the socket; what waits for a peer that does not read is bounded, and
//! so is how long it waits; a socket that is gone leaves no run behind that nobody reads, unless the endpoint was told to.

mod endpoint;
mod frame;
mod head;
mod outbox;
mod session;
mod settings;
mod socket;

pub use endpoint::{Begun, WebSocketEndpoint, fresh_token};
pub use frame::HelloAttributes;
pub use session::Session;
pub use socket::{CloseCode, Gone, Incoming, Outgoing, Socket};

/// The subprotocol, echoed to clients that offer it.
pub const SUBPROTOCOL: &str = "ag-ui.1";
