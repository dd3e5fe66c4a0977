//! The WebSocket transport on a socket made of memory and a clock that stands still.

#[path = "../support/mod.rs"]
mod support;

mod closing;
mod opening;
mod peer;
mod recorded;
mod runs;
