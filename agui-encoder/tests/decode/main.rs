//! Decoding text bodies into frames: the grammar rule by rule, whatever the chunks, within the limit.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

mod framing;
mod limit;
mod memory;
mod ndjson;
mod properties;
mod sse;
mod stream;
mod ways;
