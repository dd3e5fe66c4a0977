//! The consuming side: bytes of any producer become trustworthy events, messages and state (`PROC-1`), and what is held
//! becomes the input of the next run.
//!
//! [`Session`] is the whole of it for one thread. [`Pipeline`] puts the stages in their order and turns [`Frame`]s into
//! verified events; [`Conversation`] folds those into messages, state and runs; [`resume`] says whether an input may be
//! sent while interrupts are pending (`INT-2`); [`prepare`] makes the input of the next exchange (`INPUT-8`). Each is
//! usable alone, and none of them reads bytes, knows a clock or sends anything.

pub mod conversation;
mod error;
mod frame;
mod pipeline;
pub mod prepare;
pub mod resume;
mod session;
mod thinking;

pub use conversation::{Change, Conversation, MessageKey, RunFailure, RunRecord, RunStatus};
pub use error::StreamError;
pub use frame::Frame;
pub use pipeline::{Middleware, Pipeline, StreamEnd};
pub use session::{Exchange, SendError, Session};
pub use thinking::ThinkingTranslator;
