//! What is measured on, made from fixed seeds: the same events on every machine and in every run.

mod chat;
mod random;
mod streams;

pub(crate) use chat::{Chat, Of};
pub(crate) use random::Random;
pub(crate) use streams::{Workload, big_messages, big_state, metadata, raw, rows};
