//! Why an event did not go out.

use crate::patch::{JsonPointerError, PatchError};
use crate::sequence::SequenceError;

use super::SinkClosed;

/// Why the run did not take what was written. Nothing of the refused event has gone out.
///
/// A handler usually passes it on with `?`; the run then ends with the code that [`code`](Self::code) gives.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The event would break an order rule of the protocol.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The change does not fit the state or the activity it is for.
    #[error("the change does not apply")]
    Patch(#[from] PatchError),
    /// The place of a change is no JSON Pointer.
    #[error("the place of the change is malformed")]
    Pointer(#[from] JsonPointerError),
    /// The event is over the limit on one event's encoded size.
    #[error("the event takes {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Its size as JSON, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The run takes no more events: it has ended, or nobody reads it any more.
    #[error("the run takes no more events")]
    Closed,
}

impl WriteError {
    /// The code a run ends with when its handler passes this on, where there is a specific one.
    pub const fn code(&self) -> Option<&'static str> {
        match self {
            Self::Sequence(_) => Some("protocol_violation"),
            Self::TooLarge { .. } => Some("event_too_large"),
            Self::Patch(_) | Self::Pointer(_) | Self::Closed => None,
        }
    }

    /// The rule of the protocol that refused the event, if one did.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Sequence(error) => Some(error.rule()),
            Self::Patch(error) => Some(error.rule()),
            Self::Pointer(_) | Self::TooLarge { .. } | Self::Closed => None,
        }
    }
}

impl From<SinkClosed> for WriteError {
    fn from(_: SinkClosed) -> Self {
        Self::Closed
    }
}
