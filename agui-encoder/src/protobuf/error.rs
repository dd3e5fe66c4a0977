//! Why a payload is no event of the binary wire.

use agui_core::json::MAX_DEPTH;

/// A frame that does not decode: fatal, the run counts as failed (`BIND-8`).
///
/// # Examples
/// ```
/// use agui_encoder::protobuf;
///
/// let error = protobuf::decode(&[0x1a, 0x10]).unwrap_err();
/// assert_eq!((error.code(), error.rule(), error.offset()), ("malformed_protobuf", "BIND-8", 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset} of the frame's payload ({})", .reason.rule())]
#[non_exhaustive]
pub struct ProtobufError {
    reason: Reason,
    offset: usize,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Reason {
    #[error("not well-formed protobuf: {0}")]
    Malformed(&'static str),
    #[error("a known field has another wire type than its own")]
    WireType,
    #[error("text that is not UTF-8")]
    NotUtf8,
    #[error("no event in the frame")]
    NoEvent,
    #[error("two events in one frame")]
    TwoEvents,
    #[error("the event has no base event")]
    NoBase,
    #[error("the base event names another type than the event's own")]
    OtherType,
    #[error("an integer beyond ±(2^53 − 1)")]
    Unsafe,
    #[error("two kinds at once where one belongs")]
    TwoArms,
    #[error("content in a form that its message cannot have")]
    ContentForm,
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("more objects than so few bytes can mean")]
    TooMany,
}

impl Reason {
    const fn rule(self) -> &'static str {
        match self {
            Self::Unsafe => "SHAPE-3",
            Self::TooDeep | Self::TooMany => "PROC-6",
            _ => "BIND-8",
        }
    }
}

impl ProtobufError {
    pub(super) const fn new(reason: Reason, offset: usize) -> Self {
        Self { reason, offset }
    }

    /// A word for programs, the same in every version.
    pub const fn code(&self) -> &'static str {
        match self.reason {
            Reason::Malformed(_) => "malformed_protobuf",
            Reason::WireType => "wrong_wire_type",
            Reason::NotUtf8 => "not_utf8",
            Reason::NoEvent => "no_event",
            Reason::TwoEvents => "two_events",
            Reason::NoBase => "no_base_event",
            Reason::OtherType => "type_disagrees",
            Reason::Unsafe => "integer_out_of_range",
            Reason::TwoArms => "two_arms",
            Reason::ContentForm => "content_form",
            Reason::TooDeep => "too_deep",
            Reason::TooMany => "too_many_objects",
        }
    }

    /// The number of the rule by which it is fatal.
    pub const fn rule(&self) -> &'static str {
        self.reason.rule()
    }

    /// Where in the payload, in bytes from 0 behind the frame's header.
    pub const fn offset(&self) -> usize {
        self.offset
    }
}
