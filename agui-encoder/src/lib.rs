//! The wire of AG-UI 1.0 for Rust: content negotiation, SSE, NDJSON, protobuf and the framework-neutral HTTP endpoint.
//!
//! [`negotiate`] chooses the format of an answer, an [`Encoder`] writes events in it, [`Downgrade`] reshapes events for
//! peers from before 1.0, and [`http::Endpoint`] puts a handler behind HTTP for whatever framework carries the bytes.
//! [`decode`] cuts bodies into frames again, however they arrive. No framework and no socket is known here.
//!
//! With the feature `stdio` the same agents are served over a pair of pipes, for programs that embed one as a child
//! process.

pub mod decode;
mod downgrade;
mod encode;
pub mod http;
mod json;
mod ndjson;
mod negotiate;
#[cfg(feature = "protobuf")]
pub mod protobuf;
mod sse;
#[cfg(feature = "stdio")]
pub mod stdio;
#[cfg(feature = "websocket")]
pub mod ws;

pub use downgrade::Downgrade;
pub use encode::{EncodeError, Encoder};
pub use ndjson::NdjsonEncoder;
pub use negotiate::{Format, Wildcards, negotiate, negotiate_with};
#[cfg(feature = "protobuf")]
pub use protobuf::ProtobufEncoder;
pub use sse::SseEncoder;
