//! The binary wire (`BIND-3`, `BIND-8`): length-prefixed protobuf messages, one event each.
//!
//! [`ProtobufEncoder`] writes events without building a message first, [`encode_raw`] writes frames that nobody has
//! judged, [`decode()`] reads the payload of one frame, and
//! [`ProtobufDecoder`](crate::decode::ProtobufDecoder) cuts a body into payloads. One table (`schema.rs`) says which
//! member travels in which field; both unjudged directions follow it, so they cannot disagree.
//!
//! What the wire loses is lost here as well: empty optional lists, members of patch operations that RFC 6902 does not
//! define, digits of numbers beyond a double. What it cannot carry is an error, never other bytes.
//!
//! Deliberately not here: judgement. A decoded frame is what the sender said; whether the protocol allows it is the
//! consumer's pipeline to say, the same as for a text wire (`PROC-6`).
//!
//! Invariants: one nesting limit in both directions, [`agui_core::json::MAX_DEPTH`] levels of the JSON event; memory
//! follows the bytes that are there, never a length that is announced; nothing panics.

mod budget;
mod encode;
mod error;
mod input;
mod messages;
mod out;
mod raw;
mod read;
mod reader;
mod schema;
mod tree;
mod typed;
mod value;
mod write;

pub use encode::{ProtobufEncoder, encode_raw};
pub use error::ProtobufError;
pub use read::{Decoded, decode, decode_tree};

/// The media type, exactly as `Content-Type` has to carry it: clients compare the whole header value.
pub const MEDIA_TYPE: &str = "application/vnd.ag-ui.event+proto";
