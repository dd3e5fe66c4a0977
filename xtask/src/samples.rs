//! Random material for tests: the core's own generators, which make all 31 events with what is hard about each.

#[path = "../../agui-core/tests/common/mod.rs"]
mod common;

pub(crate) use common::{event, event_of};
