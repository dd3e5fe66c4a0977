//! Agents behind a WebSocket (`BIND-6`): one socket carries run after run.
//!
//! Text frames both ways: a hello where there is something to say about the caller, then one input per run and the events
//! that answer it. A socket that is idle is not read: nothing is spawned here. It is looked at before it is used again,
//! and a dead one is replaced, so a server that misses its pongs costs a new connection and nothing else.

mod agent;
mod connect;
mod source;

pub use agent::WebSocketAgent;
