//! What becomes of runs that have ended: they are compacted, the oldest of a thread are dropped beyond its limit, and idle
//! threads go to make room.
//!
//! It is work for the process that ended the run, after it has answered, a few threads at a time. A run is rewritten as
//! another stream, which takes the place of the first one only if the run is still what it was when it was read. So
//! several processes may do the same, and one that dies leaves a stream that expires. Readers of the first stream keep it
//! for as long as they read.

use std::sync::Arc;
use std::time::Duration;

use agui_core::Event;
use agui_core::store::{StoreError, compact, replay};

use crate::batch::{self, run_bytes};
use crate::index::Entry;
use crate::keys::{ThreadKeys, id_field};
use crate::record::{RunRecord, RunState, ThreadState};
use crate::scripts;
use crate::store::{Noticed, Shared, millis};

/// How long a stream that was replaced stays when nobody reads it.
pub(crate) const GRACE: Duration = Duration::from_secs(60);
/// How many bytes of a rewritten run are one batch.
const PIECE: usize = 256 * 1024;
/// How many bytes are read at a time.
pub(crate) const READ_AT_ONCE: usize = 256 * 1024;
/// A thread that is used is kept on when less than so many eighths of its time are left.
const RENEW_BELOW: u64 = 7;

/// A piece of a run as it was read.
pub(crate) struct Piece {
    /// What the run was at that moment; absent if it is gone.
    pub(crate) run: Option<RunRecord>,
    /// How long the run in progress is its driver's, in milliseconds; absent if it is not in progress.
    pub(crate) lease_ms: Option<u64>,
    /// There was nothing behind these.
    pub(crate) complete: bool,
    /// Places and batches.
    pub(crate) batches: Vec<(u64, Vec<u8>)>,
}

impl Shared {
    /// Does what is due for a thread, some time.
    pub(crate) fn keep_up_later(self: &Arc<Self>, keys: &ThreadKeys) {
        let (shared, keys) = (Arc::clone(self), keys.clone());
        self.runtime.spawn(async move {
            let Ok(_permit) = shared.upkeep.acquire().await else { return };
            if let Err(error) = shared.keep_up(&keys).await {
                tracing::debug!(%error, thread = %keys.tag, "a thread could not be looked after");
            }
        });
    }

    /// Whether a thread that is used has to be kept on.
    pub(crate) fn expires_soon(&self, kept_ms: u64) -> bool {
        kept_ms < self.retention_ms() / 8 * RENEW_BELOW
    }

    /// Takes note that a thread is used, which has so much time left.
    pub(crate) fn used(self: &Arc<Self>, keys: &ThreadKeys, kept_ms: u64) {
        if self.expires_soon(kept_ms) {
            return self.keep_up_later(keys);
        }
        self.note_use(keys);
    }

    /// Has it noted that a thread is used.
    pub(crate) fn note_use(self: &Arc<Self>, keys: &ThreadKeys) {
        let (shared, tag) = (Arc::clone(self), Arc::clone(&keys.tag));
        self.runtime.spawn(async move { shared.index.note(&shared.link, &tag, Entry::Use).await.map(drop) });
    }

    async fn keep_up(self: &Arc<Self>, keys: &ThreadKeys) -> Result<(), StoreError> {
        let thread = loop {
            let Some(thread) = self.look(keys).await? else {
                self.index.note(&self.link, &keys.tag, Entry::Gone).await?;
                return Ok(());
            };
            if let Some(token) = thread.expired() {
                self.close(keys, token, Noticed::Expired).await?;
                return Ok(());
            }
            if !self.rewrite_one(keys, &thread).await? {
                break thread;
            }
        };
        if self.expires_soon(thread.kept_ms) {
            self.extend(keys, &thread).await?;
        }
        let entry = match thread.active {
            // What is set aside for it is known to its driver alone.
            Some(_) => Entry::Use,
            None => Entry::Set { bytes: thread.bytes, runs: thread.runs.len() },
        };
        self.index.note(&self.link, &keys.tag, entry).await?;
        Ok(())
    }

    /// Lets a thread live on, as it is now.
    pub(crate) async fn keep_on(&self, keys: &ThreadKeys) -> Result<(), StoreError> {
        match self.look(keys).await? {
            Some(thread) => self.extend(keys, &thread).await,
            None => Ok(()),
        }
    }

    /// Lets a thread live on, all of its runs at once, so that none goes before it. One that another run has begun on since
    /// is looked at again by whoever began it.
    async fn extend(&self, keys: &ThreadKeys, thread: &ThreadState) -> Result<(), StoreError> {
        let streams: Vec<_> =
            thread.runs.iter().map(|(_, run)| keys.stream(&run.token, run.generation)).collect();
        let mut names = vec![&*keys.thread];
        names.extend(streams.iter().map(String::as_str));
        let extended = self.link.call::<i64>(&scripts::EXTEND, &names, |command| {
            command.arg(thread.counter).arg(self.retention_ms());
        });
        extended.await.map(drop)
    }

    /// Compacts a run, or drops some. False if nothing is due, or something else came in between.
    async fn rewrite_one(&self, keys: &ThreadKeys, thread: &ThreadState) -> Result<bool, StoreError> {
        for (serial, run) in &thread.runs {
            if let Some(state) = run.state.compacted() {
                return self.compact(keys, *serial, run, state).await;
            }
        }
        let ended = thread.runs.len() - usize::from(thread.active.is_some());
        let excess = ended.saturating_sub(self.settings.limits.max_runs_per_thread);
        if excess == 0 {
            return Ok(false);
        }
        self.drop_oldest(keys, thread.runs.get(..ended).unwrap_or_default(), excess).await
    }

    async fn compact(
        &self,
        keys: &ThreadKeys,
        serial: u64,
        run: &RunRecord,
        state: RunState,
    ) -> Result<bool, StoreError> {
        let events = self.read_all(keys, serial, run).await?;
        let compacted = compact(&events);
        let mut after = RunRecord { state, ..run.clone() };
        if compacted.len() < events.len() {
            self.write(keys, &mut after, &compacted).await?;
        }
        self.swap(keys, (serial, run), &after, &[]).await
    }

    /// Drops at least so many of the runs that have ended. The next one begins with what they came to.
    async fn drop_oldest(
        &self,
        keys: &ThreadKeys,
        runs: &[(u64, RunRecord)],
        excess: usize,
    ) -> Result<bool, StoreError> {
        let mut dropped = Vec::new();
        for (at, (serial, run)) in runs.iter().enumerate() {
            let events = self.read_all(keys, *serial, run).await?;
            // Snapshots stand behind a RUN_STARTED (LIFE-1).
            if at < excess || !matches!(events.first(), Some(Event::RunStarted(_))) {
                dropped.extend(events);
                continue;
            }
            let Some(events) = replay::restate(&dropped, &events) else { return Ok(false) };
            let mut after = run.clone();
            self.write(keys, &mut after, &events).await?;
            return self.swap(keys, (*serial, run), &after, runs.get(..at).unwrap_or_default()).await;
        }
        Ok(false)
    }

    /// All events of a run that has ended.
    async fn read_all(
        &self,
        keys: &ThreadKeys,
        serial: u64,
        run: &RunRecord,
    ) -> Result<Vec<Event>, StoreError> {
        let stream = keys.stream(&run.token, run.generation);
        let mut events = Vec::new();
        let mut at = 0;
        while at < run.last {
            let piece = self.read(keys, serial, &run.token, (&stream, run.generation), at).await?;
            for (place, text) in &piece.batches {
                events.extend(batch::decode(text)?.iter().cloned());
                at = *place;
            }
            if piece.batches.is_empty() {
                return Err(StoreError::new("a part of a run is gone from Redis"));
            }
        }
        Ok(events)
    }

    /// What a run has behind a place.
    pub(crate) async fn read(
        &self,
        keys: &ThreadKeys,
        serial: u64,
        token: &str,
        (stream, generation): (&str, u64),
        after: u64,
    ) -> Result<Piece, StoreError> {
        let names = [&*keys.thread, &keys.lease, stream];
        let reply = self.reader.call::<Vec<redis::Value>>(&scripts::READ, &names, |command| {
            command
                .arg(serial)
                .arg(token)
                .arg(after.saturating_add(1))
                .arg(generation)
                .arg(READ_AT_ONCE)
                .arg(millis(GRACE));
        });
        Piece::read(reply.await?).ok_or_else(|| StoreError::new("Redis answered what was not expected"))
    }

    /// Writes events as another generation of a run, which nobody knows of yet.
    async fn write(
        &self,
        keys: &ThreadKeys,
        run: &mut RunRecord,
        events: &[Event],
    ) -> Result<(), StoreError> {
        // Never the one of somebody who does the same.
        run.generation = uuid::Uuid::new_v4().as_u64_pair().0 | 1;
        (run.last, run.events, run.bytes) = (0, 0, run_bytes(&run.run_id));
        let stream = keys.stream(&run.token, run.generation);
        let mut text = Vec::new();
        for event in events {
            batch::push(event, &mut text)?;
            run.events += 1;
            if text.len() >= PIECE {
                self.put(&stream, run, &std::mem::take(&mut text)).await?;
            }
        }
        if !text.is_empty() {
            self.put(&stream, run, &text).await?;
        }
        Ok(())
    }

    async fn put(&self, stream: &str, run: &mut RunRecord, text: &[u8]) -> Result<(), StoreError> {
        run.last += 1;
        run.bytes += batch::size(text);
        let names = [stream];
        let put = self.link.call::<i64>(&scripts::PUT, &names, |command| {
            command
                .arg(format!("{}-{}", run.last, run.events))
                .arg(text)
                .arg(run.bytes)
                .arg(self.retention_ms());
        });
        put.await.map(drop)
    }

    /// Puts a run in the place of what it was, and of those before it. False if any of them changed.
    async fn swap(
        &self,
        keys: &ThreadKeys,
        (serial, before): (u64, &RunRecord),
        after: &RunRecord,
        dropped: &[(u64, RunRecord)],
    ) -> Result<bool, StoreError> {
        let stream = |run: &RunRecord| keys.stream(&run.token, run.generation);
        let mut names = vec![keys.thread.clone(), stream(after), stream(before)];
        names.extend(dropped.iter().map(|(_, run)| stream(run)));
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let gone: u64 = before.bytes + dropped.iter().map(|(_, run)| run.bytes).sum::<u64>();
        let more = i128::from(after.bytes) - i128::from(gone);
        let swapped = self.link.call::<i64>(&scripts::SWAP, &names, |command| {
            command.arg(serial).arg(before.line()).arg(after.line()).arg(more.to_string()).arg(millis(GRACE));
            for (serial, run) in dropped {
                command.arg(serial).arg(run.line()).arg(id_field(&run.run_id));
            }
        });
        Ok(swapped.await? == 1)
    }

    /// Gives up a thread to make room. False if it has a run in progress.
    pub(crate) async fn evict(self: &Arc<Self>, tag: &str) -> Result<bool, StoreError> {
        let keys = ThreadKeys::of_tag(&self.settings.prefix, tag);
        loop {
            let Some(thread) = self.look(&keys).await? else { return Ok(true) };
            match thread.expired() {
                Some(token) => drop(self.close(&keys, token, Noticed::Expired).await?),
                None => return self.forget(&keys, &thread).await,
            }
        }
    }

    /// Gives up an idle thread that is still as it was seen.
    pub(crate) async fn forget(&self, keys: &ThreadKeys, thread: &ThreadState) -> Result<bool, StoreError> {
        let streams: Vec<_> =
            thread.runs.iter().map(|(_, run)| keys.stream(&run.token, run.generation)).collect();
        let mut names = vec![&*keys.thread];
        names.extend(streams.iter().map(String::as_str));
        let gone = self.link.call::<i64>(&scripts::FORGET, &names, |command| {
            command.arg(thread.counter);
        });
        Ok(gone.await? == 1)
    }
}

impl Piece {
    fn read(reply: Vec<redis::Value>) -> Option<Self> {
        let mut reply = reply.into_iter();
        let line: String = redis::from_redis_value(reply.next()?).ok()?;
        if line.is_empty() {
            return Some(Self { run: None, lease_ms: None, complete: true, batches: Vec::new() });
        }
        let run = RunRecord::parse(&line)?;
        let lease_ms: i64 = redis::from_redis_value(reply.next()?).ok()?;
        let complete: i64 = redis::from_redis_value(reply.next()?).ok()?;
        let mut batches = Vec::with_capacity(reply.len() / 2);
        while let Some(place) = reply.next() {
            batches
                .push((redis::from_redis_value(place).ok()?, redis::from_redis_value(reply.next()?).ok()?));
        }
        // A run in progress without a lease is told by 0; -3 says that it is not in progress.
        let lease_ms = (lease_ms != -3).then(|| u64::try_from(lease_ms).unwrap_or(0));
        Some(Self { run: Some(run), lease_ms, complete: complete == 1, batches })
    }
}
