//! The consumer's side: what becomes of the events that arrive, and what goes out for the next run.
//!
//! [`Conversation`] folds verified events into messages, state and runs; [`resume`] says whether an input may be sent
//! while interrupts are pending (`INT-2`); [`prepare`] makes the input of the next exchange (`INPUT-8`). Each is usable
//! alone, and none of them reads bytes, knows a clock or sends anything.

pub mod conversation;
pub mod prepare;
pub mod resume;

pub use conversation::{Change, Conversation, MessageKey, RunFailure, RunRecord, RunStatus};
