//! The wire of AG-UI 1.0 for Rust: content negotiation, SSE encoding and the framework-neutral HTTP endpoint.

pub mod decode;
mod ndjson;

pub use ndjson::NdjsonEncoder;
