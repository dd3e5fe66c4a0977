//! The WebSocket transport on a socket made of memory and a clock that stands still.

#![expect(clippy::panic, reason = "helpers of tests, outside of a test function")]

#[path = "../support/mod.rs"]
mod support;

mod closing;
mod opening;
mod peer;
mod recorded;
mod runs;
