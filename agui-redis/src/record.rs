//! What Redis knows of a thread beside its events.
//!
//! A run is one line: token, generation, last place as recorded, last place as it is, events, bytes, state, run id. The id
//! stands last because it may have anything in it. Lines are compared as wholes where one is put in the place of another.

use std::collections::HashMap;
use std::sync::Arc;

use agui_core::RunId;
use agui_core::store::{Cursor, StoreError};

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunState {
    Active,
    /// Ended by its driver; may be compacted.
    Done,
    /// Ended by its driver; stays as it is.
    Never,
    /// Ended by others, because its driver was lost.
    Lost,
    /// Ended by its driver, and has been compacted.
    Compacted,
    /// Ended by others, and has been compacted.
    LostCompacted,
}

impl RunState {
    const fn letter(self) -> char {
        match self {
            Self::Active => 'a',
            Self::Done => 'd',
            Self::Never => 'n',
            Self::Lost => 'x',
            Self::Compacted => 'c',
            Self::LostCompacted => 'y',
        }
    }

    /// What a run is after it was compacted; absent if that is not to be done.
    pub(crate) const fn compacted(self) -> Option<Self> {
        match self {
            Self::Done => Some(Self::Compacted),
            Self::Lost => Some(Self::LostCompacted),
            _ => None,
        }
    }

    fn of_letter(letter: &str) -> Option<Self> {
        [Self::Active, Self::Done, Self::Never, Self::Lost, Self::Compacted, Self::LostCompacted]
            .into_iter()
            .find(|state| letter.chars().eq([state.letter()]))
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunRecord {
    /// Tells the run from every other of the store.
    pub(crate) token: String,
    /// Which of its streams is the one: 0 as recorded, another number as rewritten.
    pub(crate) generation: u64,
    /// The last place of generation 0. Nothing while the run is in progress, as the next two.
    pub(crate) recorded: u64,
    /// The last place of this generation.
    pub(crate) last: u64,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    pub(crate) state: RunState,
    pub(crate) run_id: RunId,
}

impl RunRecord {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(8, '|');
        let mut next = || parts.next();
        Some(Self {
            token: next()?.to_owned(),
            generation: next()?.parse().ok()?,
            recorded: next()?.parse().ok()?,
            last: next()?.parse().ok()?,
            events: next()?.parse().ok()?,
            bytes: next()?.parse().ok()?,
            state: RunState::of_letter(next()?)?,
            run_id: next()?.into(),
        })
    }

    pub(crate) fn line(&self) -> String {
        let Self { token, generation, recorded, last, events, bytes, state, run_id } = self;
        format!("{token}|{generation}|{recorded}|{last}|{events}|{bytes}|{}|{run_id}", state.letter())
    }

    /// Where a reader of a generation is at the end, if the run has ended and it can be known.
    pub(crate) fn end_of(&self, generation: u64) -> Option<u64> {
        match (self.state, generation) {
            (RunState::Active, _) => None,
            (_, generation) if generation == self.generation => Some(self.last),
            (_, 0) => Some(self.recorded),
            _ => None,
        }
    }

    pub(crate) fn cursor(&self, place: u64) -> Cursor {
        Place { token: &self.token, generation: self.generation, at: place }.cursor()
    }
}

/// One thread.
#[derive(Debug, Clone)]
pub(crate) struct ThreadState {
    pub(crate) owner: Option<Arc<str>>,
    /// The token of the run in progress.
    pub(crate) active: Option<String>,
    /// Whether the lease of the run in progress runs.
    pub(crate) leased: bool,
    /// How long the thread is kept, in milliseconds.
    pub(crate) kept_ms: u64,
    /// The serial of the last run begun.
    pub(crate) counter: u64,
    /// What the ended runs take.
    pub(crate) bytes: u64,
    /// By serial, oldest first.
    pub(crate) runs: Vec<(u64, RunRecord)>,
}

impl ThreadState {
    /// Reads the fields of the hash. `None` if there are none.
    pub(crate) fn read(
        mut fields: HashMap<String, String>,
        lease_ms: i64,
        kept_ms: i64,
    ) -> Result<Option<Self>, StoreError> {
        if fields.is_empty() {
            return Ok(None);
        }
        let mut runs = Vec::new();
        for (name, line) in &fields {
            let Some(serial) = name.strip_prefix('r') else { continue };
            let run = serial.parse().ok().zip(RunRecord::parse(line));
            runs.push(run.ok_or_else(|| StoreError::new("a run in Redis cannot be read"))?);
        }
        runs.sort_unstable_by_key(|(serial, _)| *serial);
        let mut number = |name: &str| fields.remove(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Some(Self {
            counter: number("n"),
            bytes: number("b"),
            owner: fields.remove("o").map(Arc::from),
            active: fields.remove("a"),
            leased: lease_ms > 0,
            kept_ms: u64::try_from(kept_ms).unwrap_or(0),
            runs,
        }))
    }

    /// The run in progress, with its serial.
    pub(crate) fn active_run(&self) -> Option<&(u64, RunRecord)> {
        let token = self.active.as_ref()?;
        self.runs.last().filter(|(_, run)| run.token == *token)
    }

    /// A run in progress that is nobody's any more.
    pub(crate) fn expired(&self) -> Option<&str> {
        self.active.as_deref().filter(|_| !self.leased)
    }
}

/// What a cursor of this store says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'c> {
    pub(crate) token: &'c str,
    pub(crate) generation: u64,
    pub(crate) at: u64,
}

impl<'c> Place<'c> {
    pub(crate) fn parse(cursor: &'c Cursor) -> Option<Self> {
        let mut parts = cursor.as_str().split('.');
        let place = Self {
            token: parts.next()?,
            generation: parts.next()?.parse().ok()?,
            at: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(place)
    }

    pub(crate) fn cursor(self) -> Cursor {
        Cursor::new(format!("{}.{}.{}", self.token, self.generation, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_as_it_was_written_whatever_its_id() {
        for id in ["", "a|b", "x\n\0", "|a|"] {
            let run = RunRecord {
                token: "t".into(),
                generation: 1,
                recorded: 2,
                last: 3,
                events: 4,
                bytes: 5,
                state: RunState::Lost,
                run_id: id.into(),
            };
            assert_eq!(RunRecord::parse(&run.line()).as_ref(), Some(&run));
        }
        for odd in ["", "t|0", "t|0|0|0|0|0|a", "t|0|0|0|0|0|aa|r", "t|-1|0|0|0|0|a|r"] {
            assert_eq!(RunRecord::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let place = Place { token: "t", generation: 7, at: u64::MAX };
        assert_eq!(Place::parse(&place.cursor()), Some(place));
        for odd in ["", ".", "t.1", "t.1.2.3", "t.x.1", "t.1.-1", "t.1.99999999999999999999"] {
            assert_eq!(Place::parse(&Cursor::new(odd)), None, "{odd}");
        }
    }
}
