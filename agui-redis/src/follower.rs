//! Reading a thread: its runs one after the other, and the last of them live.
//!
//! A piece is read when it is asked for, and decoded batch by batch. A follower that is at the end of a run in progress
//! waits for word from the [hub](crate::hub) or for the run's lease to be due, whichever is first; so a producer that died is
//! noticed on time by whoever follows it. While Redis is away, or takes no ending for such a run, it tries again, for the time
//! of a lease.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use agui_core::store::{Cursor, FollowError, FollowSource, Followed, Follower, Page, StoreError};
use futures_util::{Stream, stream};
use tokio::time::{Instant, sleep, timeout};

use crate::batch;
use crate::hub::Listening;
use crate::keys::ThreadKeys;
use crate::record::{Place, RunRecord};
use crate::store::{Noticed, Shared};

/// Between two attempts to read while Redis is away.
const PAUSE: Duration = Duration::from_millis(100);
/// A lease is looked at so much after it is due.
const MARGIN: Duration = Duration::from_millis(5);

/// Opens a follower of what is recorded behind a place.
pub(crate) async fn open(
    shared: &Arc<Shared>,
    keys: ThreadKeys,
    after: Option<&Cursor>,
) -> Result<Option<Follower>, FollowError> {
    let Some(thread) = shared.known(&keys).await? else {
        return match after {
            None => Ok(None),
            Some(_) => Err(FollowError::CursorExpired),
        };
    };
    let mut runs: VecDeque<_> = thread.runs.iter().map(|(serial, run)| Reading::new(*serial, run)).collect();
    let mut at = 0;
    if let Some(after) = after {
        let place = Place::parse(after).ok_or(FollowError::CursorExpired)?;
        let from = thread.runs.iter().position(|(_, run)| run.token == place.token);
        let from = from.ok_or(FollowError::CursorExpired)?;
        runs.drain(..from);
        at = match thread.runs.get(from) {
            Some((_, run)) if run.generation == place.generation => place.at,
            // A run that was rewritten has lost its places, all but the one behind it.
            Some((_, run)) if place.generation == 0 && place.at >= run.recorded => run.last,
            _ => return Err(FollowError::CursorExpired),
        };
    }
    let listening = thread.active.map(|_| {
        let listening = shared.hub.listen(&keys.events, shared.settings.limits.max_followers);
        listening.ok_or(FollowError::TooManyFollowers)
    });
    let listening = listening.transpose()?;
    shared.used(&keys, thread.kept_ms);
    shared.followers.fetch_add(1, Ordering::Relaxed);
    let reader = Reader {
        shared: Arc::clone(shared),
        keys,
        runs,
        at,
        unread: VecDeque::new(),
        complete: false,
        told: false,
        listening,
        well: Instant::now(),
        unclosed: None,
        due: Duration::ZERO,
    };
    let pages = stream::unfold(reader, async |mut reader| {
        let next = reader.next().await.transpose()?;
        Some((next, reader))
    });
    Ok(Some(Follower::new(RedisFollower { pages: Box::pin(pages) })))
}

struct RedisFollower {
    pages: Pin<Box<dyn Stream<Item = Result<Followed, StoreError>> + Send>>,
}

impl FollowSource for RedisFollower {
    fn poll_followed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Followed, StoreError>>> {
        self.pages.as_mut().poll_next(cx)
    }
}

/// A run that is to be read.
struct Reading {
    serial: u64,
    token: String,
    generation: u64,
    /// The last place, once it is known.
    end: Option<u64>,
}

impl Reading {
    fn new(serial: u64, run: &RunRecord) -> Self {
        let end = run.end_of(run.generation);
        Self { serial, token: run.token.clone(), generation: run.generation, end }
    }
}

/// The runs that a thread had when the follower was made, read one after the other.
struct Reader {
    shared: Arc<Shared>,
    keys: ThreadKeys,
    runs: VecDeque<Reading>,
    /// The place in the first run up to which everything was handed over.
    at: u64,
    /// Batches that were read and not handed over.
    unread: VecDeque<(u64, Vec<u8>)>,
    /// There was nothing behind what was read.
    complete: bool,
    told: bool,
    listening: Option<Listening>,
    /// When Redis answered last.
    well: Instant,
    /// Since when a run that is nobody's any more cannot be closed.
    unclosed: Option<Instant>,
    /// When the lease of the run in progress is to be looked at, from then on.
    due: Duration,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Followed>, StoreError> {
        loop {
            let Some(run) = self.runs.front() else { return Ok(None) };
            if let Some((place, text)) = self.unread.pop_front() {
                self.at = place;
                let cursor = Place { token: &run.token, generation: run.generation, at: place }.cursor();
                return Ok(Some(Followed::Page(Page::new(batch::decode(&text)?, cursor))));
            }
            if run.end.is_some_and(|end| self.at >= end) {
                self.runs.pop_front();
                (self.at, self.complete) = (0, false);
                continue;
            }
            if self.complete {
                // A run that has ended is never complete before its end.
                if !std::mem::replace(&mut self.told, true) {
                    return Ok(Some(Followed::CaughtUp));
                }
                self.wait().await;
            }
            self.read().await?;
        }
    }

    /// Waits until there may be more.
    async fn wait(&mut self) {
        let due = self.due.saturating_sub(self.well.elapsed());
        match &mut self.listening {
            Some(listening) => drop(timeout(due, listening.next()).await),
            None => sleep(due).await,
        }
    }

    async fn read(&mut self) -> Result<(), StoreError> {
        let Some(run) = self.runs.front_mut() else { return Ok(()) };
        // Before looking, so that what comes while looking is not slept through.
        if let Some(listening) = &mut self.listening {
            listening.mark();
        }
        let stream = self.keys.stream(&run.token, run.generation);
        let place = (&*stream, run.generation);
        let piece = match self.shared.read(&self.keys, run.serial, &run.token, place, self.at).await {
            Ok(piece) => piece,
            Err(error) if self.well.elapsed() > self.shared.settings.lease => return Err(error),
            Err(_) => {
                sleep(PAUSE).await;
                return Ok(());
            }
        };
        self.well = Instant::now();
        let Some(record) = piece.run else {
            return Err(StoreError::new("the thread is gone from Redis"));
        };
        run.end = run.end.or_else(|| record.end_of(run.generation));
        self.complete = piece.complete;
        self.unread = piece.batches.into();
        if run.end.is_some() {
            self.complete = false;
            if self.unread.is_empty() && run.end.is_some_and(|end| self.at < end) {
                return Err(StoreError::new("a part of the thread is gone from Redis"));
            }
            return Ok(());
        }
        let Some(lease_ms) = piece.lease_ms else {
            return Err(StoreError::new("the thread is gone from Redis"));
        };
        if lease_ms == 0 && self.unread.is_empty() {
            // Read again, whoever closed it.
            self.complete = false;
            match self.shared.close(&self.keys, &run.token, Noticed::Expired).await {
                Ok(_) => self.unclosed = None,
                Err(error) => {
                    // It can be read, and takes no writes: its memory is full, say.
                    let since = *self.unclosed.get_or_insert_with(Instant::now);
                    if since.elapsed() > self.shared.settings.lease {
                        return Err(error);
                    }
                    tracing::debug!(%error, "a run could not be closed");
                    sleep(PAUSE).await;
                }
            }
        }
        self.due = Duration::from_millis(lease_ms) + MARGIN;
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.followers.fetch_sub(1, Ordering::Relaxed);
    }
}
