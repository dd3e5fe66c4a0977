//! What a payload may become in memory.
//!
//! A few bytes of payload can stand for an object many times their size. Both ways of decoding pay here for each
//! described object, so that neither accepts what the other refuses.

/// What an object with members costs, in bytes of payload that should have been there for it.
const OBJECT_COST: usize = 8;

/// Objects that cost nothing: any honest frame has more bytes than that.
const FREE_COST: usize = 256 * 1024;

/// How much may still be built of a payload.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) const fn of(payload: &[u8]) -> Self {
        Self(payload.len().saturating_add(FREE_COST))
    }

    /// Pays for one object; nothing if it is one too many.
    #[inline]
    pub(super) fn object(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(OBJECT_COST)?;
        Some(())
    }
}
