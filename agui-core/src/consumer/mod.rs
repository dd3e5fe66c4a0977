//! The consuming side: bytes of any producer become trustworthy events, messages and state (`PROC-1`).

mod error;
mod frame;
mod pipeline;
mod thinking;

pub use error::StreamError;
pub use frame::Frame;
pub use pipeline::{Middleware, Pipeline, StreamEnd};
pub use thinking::ThinkingTranslator;
