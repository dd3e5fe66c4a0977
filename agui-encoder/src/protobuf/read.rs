//! What a payload decodes to.

use agui_core::{Event, Warning};
use serde_json::Value;

use super::{ProtobufError, tree, typed};

/// One decoded payload, judged by nobody (`PROC-6`).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Decoded {
    /// An event in which nothing is unusual, without a tree.
    Event(Event),
    /// The event as a tree, for enforcement to judge.
    #[non_exhaustive]
    Tree {
        /// The event's JSON.
        tree: Value,
        /// What the wire could not name and left out.
        warnings: Vec<Warning>,
    },
    /// An event of a later protocol, which is dropped; the stream goes on.
    #[non_exhaustive]
    Dropped {
        /// Says so.
        warning: Warning,
    },
}

impl Decoded {
    /// The warnings that are owed for it.
    pub fn warnings(&self) -> &[Warning] {
        match self {
            Self::Event(_) => &[],
            Self::Tree { warnings, .. } => warnings,
            Self::Dropped { warning } => std::slice::from_ref(warning),
        }
    }
}

/// Decodes the payload of one frame: to a typed event where that is as good, else to a tree.
///
/// # Errors
/// The payload is no event and no event of a later protocol either (`BIND-8`), or is nested too deeply.
///
/// # Examples
/// ```
/// use agui_core::TextMessageEndEvent;
/// use agui_encoder::protobuf::{Decoded, decode};
///
/// let decoded = decode(b"\x1a\x07\x0a\x02\x08\x02\x12\x01a")?;
/// assert_eq!(decoded, Decoded::Event(TextMessageEndEvent::new("a").into()));
/// // An arm of a later protocol.
/// assert!(matches!(decode(b"\x82\x02\x00")?, Decoded::Dropped { .. }));
/// # Ok::<(), agui_encoder::protobuf::ProtobufError>(())
/// ```
pub fn decode(payload: &[u8]) -> Result<Decoded, ProtobufError> {
    match typed::event(payload) {
        Some(event) => Ok(Decoded::Event(event)),
        None => decode_tree(payload),
    }
}

/// Decodes the payload of one frame to a tree whatever it is; never [`Decoded::Event`].
///
/// # Errors
/// As [`decode()`].
///
/// # Examples
/// ```
/// use agui_encoder::protobuf::{Decoded, decode_tree};
/// use serde_json::json;
///
/// let Decoded::Tree { tree, .. } = decode_tree(b"\x1a\x04\x0a\x02\x08\x02")? else { panic!("no tree") };
/// assert_eq!(tree, json!({"type": "TEXT_MESSAGE_END", "messageId": ""}));
/// # Ok::<(), agui_encoder::protobuf::ProtobufError>(())
/// ```
pub fn decode_tree(payload: &[u8]) -> Result<Decoded, ProtobufError> {
    tree::decode(payload)
}

/// For the consumer's pipeline, which judges it like an event of any other wire.
impl From<Decoded> for agui_core::consumer::Frame<'_> {
    #[inline]
    fn from(decoded: Decoded) -> Self {
        match decoded {
            Decoded::Event(event) => Self::Event(event),
            Decoded::Tree { tree, warnings } if warnings.is_empty() => Self::Tree(tree),
            Decoded::Tree { tree, warnings } => Self::noted(Some(tree), warnings),
            Decoded::Dropped { warning } => Self::noted(None, vec![warning]),
        }
    }
}
