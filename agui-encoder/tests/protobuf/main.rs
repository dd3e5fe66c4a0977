//! The binary wire: the reference's bytes, the verdicts on bytes that no encoder writes, and properties.

#![cfg(feature = "protobuf")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside of a test function")]

#[path = "../../../agui-core/tests/common/mod.rs"]
mod common;

mod cases;
mod corpus;
mod framing;
mod hostile;
mod pipeline;
mod properties;
mod support;
mod vectors;
