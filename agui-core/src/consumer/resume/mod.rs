//! Whether an input may be sent while interrupts are pending (`INT-2`).
//!
//! The clock is the caller's: the core has none. Payload and metadata of the entries are not looked at.

mod date;

use std::collections::{HashMap, HashSet};

pub use date::parse_iso8601;

use crate::sequence::Quoted;
use crate::{Interrupt, InterruptId, ResumeStatus, RunAgentInput, Warning};

/// How many interrupts a message lists.
const MAX_LISTED: usize = 16;

/// Why an input may not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The input says nothing of some of the pending interrupts. Leaving one out is not abandoning it.
    #[error("resume has no entry for pending {}; each is to be resolved or cancelled (INT-2)", List(.0))]
    Uncovered(Vec<InterruptId>),
    /// The input resolves interrupts that have expired. They can still be cancelled.
    #[error("resume resolves {}, which expired; cancel instead (INT-2)", List(.0))]
    Expired(Vec<InterruptId>),
}

impl ResumeError {
    /// The number of the rule.
    pub const fn rule(&self) -> &'static str {
        "INT-2"
    }

    /// The interrupts concerned, in the order the run raised them.
    pub fn interrupt_ids(&self) -> &[InterruptId] {
        match self {
            Self::Uncovered(ids) | Self::Expired(ids) => ids,
        }
    }
}

/// Interrupts in a message.
struct List<'a>(&'a [InterruptId]);

impl std::fmt::Display for List<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.len() == 1 { "interrupt " } else { "interrupts " })?;
        for (position, id) in self.0.iter().take(MAX_LISTED).enumerate() {
            write!(f, "{}{}", if position == 0 { "" } else { ", " }, Quoted(id.as_str()))?;
        }
        match self.0.len().saturating_sub(MAX_LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Says whether an input answers the pending interrupts, at a time in milliseconds since the Unix epoch.
///
/// Every pending interrupt needs an entry, and a resolved one must not have expired: `expiresAt` is read by
/// [`parse_iso8601`], and what that cannot read never expires. Of two entries for one interrupt the first counts; an
/// entry covers every interrupt of its id. With nothing pending everything may be sent.
///
/// An entry that names none of the pending interrupts is sent as it is, with a warning while others are pending.
///
/// # Errors
/// A pending interrupt has no entry, or an entry resolves one whose time has come. Nothing may be sent then.
///
/// # Examples
/// ```
/// use agui_core::consumer::resume::{ResumeError, check};
/// use agui_core::{Interrupt, ResumeEntry, ResumeStatus, RunAgentInput};
///
/// let pending = [Interrupt::new("i-1", "confirm").with_expires_at("2026-09-01T12:00:00Z")];
/// let input = RunAgentInput::new("trip-7", "turn-2", []);
/// let noon = 1_788_264_000_000;
/// let error = check(&pending, &input, noon, &mut Vec::new()).unwrap_err();
/// assert_eq!(error, ResumeError::Uncovered(vec!["i-1".into()]));
///
/// let resolved = input.with_resume([ResumeEntry::new("i-1", ResumeStatus::Resolved)]);
/// assert!(check(&pending, &resolved, noon - 1, &mut Vec::new()).is_ok());
/// let error = check(&pending, &resolved, noon, &mut Vec::new()).unwrap_err();
/// assert_eq!(error, ResumeError::Expired(vec!["i-1".into()]));
/// ```
pub fn check(
    pending: &[Interrupt],
    input: &RunAgentInput,
    now_ms: i64,
    warnings: &mut Vec<Warning>,
) -> Result<(), ResumeError> {
    if pending.is_empty() {
        return Ok(());
    }
    let mut answers: HashMap<&InterruptId, ResumeStatus> = HashMap::new();
    for entry in input.resume() {
        answers.entry(&entry.interrupt_id).or_insert(entry.status);
    }
    let mut uncovered = Vec::new();
    let mut expired = Vec::new();
    let mut listed = HashSet::new();
    for interrupt in pending {
        let list = match answers.get(&interrupt.id) {
            None => &mut uncovered,
            Some(ResumeStatus::Resolved) if has_expired(interrupt, now_ms) => &mut expired,
            Some(_) => continue,
        };
        // Two interrupts may share an id.
        if listed.insert(&interrupt.id) {
            list.push(interrupt.id.clone());
        }
    }
    if !uncovered.is_empty() {
        return Err(ResumeError::Uncovered(uncovered));
    }
    if !expired.is_empty() {
        return Err(ResumeError::Expired(expired));
    }
    warn_unknown(pending, input, warnings);
    Ok(())
}

/// Whether an interrupt can no longer be resolved at a time in milliseconds since the Unix epoch.
pub fn has_expired(interrupt: &Interrupt, now_ms: i64) -> bool {
    let expires_at = interrupt.expires_at.as_deref().and_then(parse_iso8601);
    expires_at.is_some_and(|expires_at| expires_at <= now_ms)
}

fn warn_unknown(pending: &[Interrupt], input: &RunAgentInput, warnings: &mut Vec<Warning>) {
    let known: HashSet<_> = pending.iter().map(|interrupt| &interrupt.id).collect();
    for (index, entry) in input.resume().iter().enumerate() {
        if !known.contains(&entry.interrupt_id) {
            let message = format!(
                "the entry names interrupt {}, which is not pending; sent as given",
                Quoted(entry.interrupt_id.as_str())
            );
            warnings.push(Warning::new("INT-2", message).with_path(format!("/resume/{index}/interruptId")));
        }
    }
}
