//! Errors that belong to no single boundary.

/// A string that is not a value of the closed set it was read as (`PROC-4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a value of {set}")]
pub struct UnknownValue {
    set: &'static str,
}

impl UnknownValue {
    pub(crate) const fn new(set: &'static str) -> Self {
        Self { set }
    }

    /// The name of the set.
    pub const fn set(&self) -> &'static str {
        self.set
    }
}
