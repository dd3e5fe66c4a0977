//! The binary wire by another hand: generated messages, filled from events.
//!
//! What tests compare the codec with, and the floor that benchmarks measure it against: a message is built from the
//! event by cloning its texts, and prost writes and reads it. Nothing of the codec is used here.

#![allow(dead_code, unreachable_pub, reason = "each test and benchmark uses another part of this module")]
#![allow(clippy::panic, reason = "a message that is missing fails its test, wherever this is included")]

mod convert;
#[rustfmt::skip]
pub mod generated;

pub use convert::message;
