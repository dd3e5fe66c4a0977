//! The numbered rules of the protocol: which there are, whom each binds, and which no test can show.
//!
//! Numbers and bindings only; what a rule says stands in the specification. A rule with parts for either end binds both.

/// Whom a rule binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binds {
    /// Whatever emits events.
    Producer,
    /// Whatever reads them.
    Consumer,
    /// Either end, or everyone on the way.
    Both,
    /// What stands behind the consumer.
    Application,
}

impl Binds {
    /// Whether a consumer has to keep the rule.
    pub(super) const fn consumer(self) -> bool {
        matches!(self, Self::Consumer | Self::Both)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::Both => "both ends",
            Self::Application => "application",
        }
    }
}

use Binds::{Application, Both, Consumer, Producer};

/// Every rule with whom it binds, family by family; the first of a family has number 1.
pub(super) const FAMILIES: &[(&str, &[Binds])] = &[
    ("SHAPE", &[Both, Both, Both, Both, Both, Both, Consumer, Both, Both]),
    (
        "PROC",
        &[
            Consumer, Consumer, Consumer, Consumer, Consumer, Consumer, Consumer, Consumer, Consumer,
            Producer, Producer, Consumer, Consumer,
        ],
    ),
    ("LIFE", &[Both, Both, Both, Both, Both, Both, Both, Both, Producer, Both, Consumer, Both, Both]),
    ("STREAM", &[Both, Both, Both, Both, Both, Both, Both, Both, Producer, Producer, Both]),
    ("CHUNK", &[Both, Both, Both, Consumer, Both, Both, Consumer]),
    ("STATE", &[Both, Both, Consumer, Both, Consumer, Consumer, Both, Both, Consumer, Consumer, Producer]),
    ("META", &[Consumer, Consumer, Both, Both]),
    ("SUB", &[Both, Both, Both, Both, Both, Consumer, Both, Consumer]),
    ("INT", &[Producer, Consumer, Producer, Producer, Consumer, Both, Both, Producer, Producer, Consumer]),
    ("INPUT", &[Both, Producer, Both, Both, Both, Producer, Producer, Consumer, Producer]),
    ("VER", &[Both, Both, Consumer, Both, Producer, Both, Both, Both]),
    ("BIND", &[Both, Both, Both, Producer, Both, Both, Both, Consumer]),
    ("PASS", &[Both, Both]),
    ("CAP", &[Consumer, Producer, Consumer, Consumer]),
    ("SEC", &[Application, Application, Consumer, Both, Both]),
];

/// Rules that bind a consumer and that no test of the libraries can show, with the reason.
pub(super) const EXEMPT: &[(&str, &str)] = &[
    ("CAP-4", "names what not to expect; the libraries act on no declaration"),
    ("SEC-5", "a duty of applications and their user interfaces"),
];
