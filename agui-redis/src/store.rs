//! The store itself: each thing that is asked of it, as scripts on the keys of one thread.
//!
//! Commands of drivers have a connection of their own, so that a replay of many megabytes, which has another, is not in
//! front of a batch. Nothing is locked across an await, and nothing is polled: whoever waits is told by the
//! [hub](crate::hub), and looks at a lease when it is due.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agui_core::store::{
    AppendError, BeginError, Compaction, Cursor, EventBatch, Figures, FinishError, FollowError, Follower,
    NewRun, RunEntry, RunLease, RunStore, StopOutcome, StopSignal, StoreError, ThreadKey, ThreadRecord,
    replay,
};
use agui_core::{Event, RunId};
use futures_util::future::join;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::batch::{self, ENDING_BYTES, RUN_BYTES, run_bytes};
use crate::drive::Drive;
use crate::follower;
use crate::hub::Hub;
use crate::index::{Entry, Index};
use crate::keys::{ThreadKeys, id_field};
use crate::link::Link;
use crate::record::{RunRecord, RunState, ThreadState};
use crate::{RedisSettings, scripts};

/// How many threads are looked after at a time.
const UPKEEP_AT_ONCE: usize = 4;
/// How often a run that is nobody's any more is closed before somebody else's doing it is taken for granted.
const ATTEMPTS: usize = 4;
/// How long a run's id may be, in bytes. Whoever looks at a thread is sent the ids of all of its runs.
const MAX_RUN_ID: usize = 16 * 1024;
/// Between two looks at a run while Redis is away.
const PAUSE: Duration = Duration::from_millis(500);

/// Keeps runs in Redis, for all processes that are given the same settings. Clones share their connections.
///
/// # Examples
/// ```no_run
/// use agui_core::store::{NewRun, RunStore, ThreadKey};
/// use agui_redis::{RedisRunStore, RedisSettings};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = RedisRunStore::connect(RedisSettings::new("redis://127.0.0.1")?).await?;
/// let thread = ThreadKey::new("planner", "trip-7");
/// let lease = store.begin(&thread, NewRun::new("turn-1")).await?;
///
/// // On another node:
/// let other = RedisRunStore::connect(RedisSettings::new("redis://127.0.0.1")?).await?;
/// other.request_stop(&thread, None).await?;
/// # drop(lease); Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisRunStore {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for RedisRunStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisRunStore").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

/// What clones of the store, its leases and its followers share.
pub(crate) struct Shared {
    pub(crate) settings: RedisSettings,
    /// For whoever drives runs.
    pub(crate) link: Link,
    /// For whoever reads them.
    pub(crate) reader: Link,
    pub(crate) hub: Arc<Hub>,
    pub(crate) index: Index,
    pub(crate) upkeep: Semaphore,
    pub(crate) followers: AtomicU64,
    /// Where leases that are dropped see to their runs, wherever they are dropped.
    pub(crate) runtime: Handle,
}

impl RedisRunStore {
    /// Connects to Redis. Spawns on the runtime that this is called in what listens for word of other processes.
    ///
    /// # Errors
    /// Redis cannot be reached, or refuses the user what the store needs.
    pub async fn connect(settings: RedisSettings) -> Result<Self, StoreError> {
        let (link, reader) = join(Link::open(&settings), Link::open(&settings)).await;
        let (link, reader) = (link?, reader?);
        let shared = Shared {
            hub: Hub::start(&settings),
            index: Index::new(&settings),
            upkeep: Semaphore::new(UPKEEP_AT_ONCE),
            followers: AtomicU64::new(0),
            runtime: Handle::current(),
            link,
            reader,
            settings,
        };
        // Says whether the user may do what has to be done.
        shared.index.totals(&shared.link).await?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What a lease of this store refers to.
    fn drive<'l>(&self, lease: &'l RunLease) -> Result<&'l Drive, AppendError> {
        let drive = lease.guard::<Drive>().filter(|drive| Arc::ptr_eq(&drive.shared, &self.shared));
        drive.ok_or(AppendError::LeaseLost)
    }

    fn keys(&self, key: &ThreadKey) -> ThreadKeys {
        ThreadKeys::new(&self.shared.settings.prefix, key)
    }
}

impl RunStore for RedisRunStore {
    async fn begin(&self, key: &ThreadKey, run: NewRun) -> Result<RunLease, BeginError> {
        let shared = &self.shared;
        let keys = self.keys(key);
        let run_id = run.run_id.clone();
        if run_id.as_str().len() > MAX_RUN_ID {
            return Err(StoreError::new(format!("a run id is longer than {MAX_RUN_ID} bytes")).into());
        }
        let grant = shared.first_grant(&run_id);
        // The owner's name is the thread's, and is counted there once it is known whose it is.
        let admitted_bytes = grant + run.owner.as_ref().map_or(0, |owner| owner.len() as u64);
        let token = uuid::Uuid::new_v4().simple().to_string();
        let mut drive = Drive::new(Arc::clone(shared), keys.clone(), token.clone(), run_id.clone(), grant);
        let admission = shared.admit(&keys.tag, admitted_bytes, 1);
        let (begun, admitted) = join(shared.begin(&keys, &token, &run), admission).await;
        match begun {
            Ok(serial) => drive.serial = serial,
            Err(refusal) => {
                if !matches!(refusal, BeginError::Store(_)) {
                    drive.end();
                    if matches!(admitted, Ok(true)) {
                        shared.take_back(&keys.tag, admitted_bytes, 1).await;
                    }
                }
                return Err(refusal);
            }
        }
        // Where it does not stay, the drive takes the run back as it goes.
        if !admitted? {
            return Err(BeginError::Full);
        }
        drive.begun = true;
        Ok(RunLease::new(key.clone(), run_id, token).with_guard(drive))
    }

    async fn append(&self, lease: &RunLease, events: EventBatch) -> Result<(), AppendError> {
        let drive = self.drive(lease)?;
        if events.is_empty() {
            return Ok(());
        }
        let text = batch::encode(&events)?;
        let size = batch::size(&text);
        self.shared.make_room(drive, size).await?;
        let (place, count, bytes, batches) = {
            let mut progress = drive.progress();
            let place = progress.send(&events);
            let count = progress.events + events.len() as u64;
            (place, count, progress.bytes + size, progress.batches)
        };
        let retention = if batches == 0 { self.shared.retention_ms() } else { 0 };
        let keys = [&*drive.keys.thread, &drive.stream];
        let appended = self.shared.link.call::<i64>(&scripts::APPEND, &keys, |command| {
            command
                .arg(&drive.token)
                .arg(format!("{place}-{count}"))
                .arg(&text)
                .arg(bytes)
                .arg(&drive.keys.events)
                .arg(retention)
                .arg(batches);
        });
        drive.judge(appended.await?)?;
        drive.progress().confirm(place, size);
        Ok(())
    }

    async fn finish(
        &self,
        lease: RunLease,
        events: EventBatch,
        compaction: Compaction,
    ) -> Result<(), FinishError> {
        let finished = async {
            let drive = self.drive(&lease)?;
            self.shared.finish(drive, &events, compaction).await?;
            drive.end();
            Ok(())
        };
        finished.await.map_err(|error| FinishError::new(lease, error))
    }

    fn renew_interval(&self) -> Option<Duration> {
        Some(self.shared.settings.lease / 3)
    }

    async fn renew(&self, lease: &RunLease) -> Result<(), AppendError> {
        let drive = self.drive(lease)?;
        let shared = &self.shared;
        let keys = [&*drive.keys.thread, &drive.keys.lease];
        let kept_ms = shared.link.call::<i64>(&scripts::RENEW, &keys, |command| {
            command.arg(&drive.token).arg(shared.lease_ms());
        });
        let Ok(kept_ms) = u64::try_from(kept_ms.await?) else {
            drive.end();
            return Err(AppendError::LeaseLost);
        };
        if shared.expires_soon(kept_ms) {
            // Not some time: it must not wait behind what is done for other threads.
            shared.keep_on(&drive.keys).await?;
        }
        shared.note_use(&drive.keys);
        Ok(())
    }

    async fn stop_requested(&self, lease: &RunLease) -> Result<StopSignal, StoreError> {
        let Ok(drive) = self.drive(lease) else { return Ok(StopSignal::LeaseLost) };
        let Some(mut control) = self.shared.hub.listen(&drive.keys.control, usize::MAX) else {
            return Err(StoreError::new("nobody listens to Redis any more"));
        };
        let mut look = redis::cmd("HMGET");
        look.arg(&drive.keys.thread).arg("a").arg("s");
        loop {
            control.mark();
            let found: Result<(Option<String>, Option<String>), _> = self.shared.link.command(&look).await;
            match found {
                Ok((active, _)) if active.as_ref() != Some(&drive.token) => return Ok(StopSignal::LeaseLost),
                Ok((_, Some(_))) => return Ok(StopSignal::Stop),
                Ok((_, None)) => control.next().await,
                // The run goes on without Redis for a while, and is told when it is back.
                Err(_) => drop(tokio::time::timeout(PAUSE, control.next()).await),
            }
        }
    }

    async fn request_stop(&self, key: &ThreadKey, run_id: Option<&RunId>) -> Result<StopOutcome, StoreError> {
        let keys = self.keys(key);
        for _ in 0..ATTEMPTS {
            let names = [&*keys.thread, &keys.lease];
            let reply = self.shared.link.call::<Vec<String>>(&scripts::STOP, &names, |command| {
                command
                    .arg(u8::from(run_id.is_some()))
                    .arg(run_id.map_or("", RunId::as_str))
                    .arg(&keys.control);
            });
            let mut reply = reply.await?.into_iter();
            let what = reply.next().unwrap_or_default();
            let which = reply.next().unwrap_or_default();
            return Ok(match &*what {
                "stopping" => StopOutcome::Stopping { run_id: which.into() },
                "already" => StopOutcome::AlreadyStopping { run_id: which.into() },
                "other" => StopOutcome::OtherRun { run_id: which.into() },
                "expired" => {
                    self.shared.close(&keys, &which, Noticed::Expired).await?;
                    continue;
                }
                _ => StopOutcome::Idle,
            });
        }
        Ok(StopOutcome::Idle)
    }

    async fn follow(&self, key: &ThreadKey, after: Option<&Cursor>) -> Result<Option<Follower>, FollowError> {
        follower::open(&self.shared, self.keys(key), after).await
    }

    async fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRecord>, StoreError> {
        let keys = self.keys(key);
        for _ in 0..ATTEMPTS {
            let Some(thread) = self.shared.known(&keys).await? else { return Ok(None) };
            let mut end = Cursor::new("");
            let mut runs = Vec::with_capacity(thread.runs.len());
            for (_, run) in &thread.runs {
                end = run.cursor(run.last);
                runs.push(RunEntry::new(run.run_id.clone(), false, run.events));
            }
            if let Some((_, run)) = thread.active_run() {
                let stream = keys.stream(&run.token, 0);
                let names = [&*keys.thread, &stream];
                let last = self.shared.reader.call::<String>(&scripts::LAST, &names, |command| {
                    command.arg(&run.token);
                });
                let last = last.await?;
                // It has ended since.
                let Some((place, count)) = last.split_once('-') else { continue };
                let unreadable = |_| StoreError::new("a place in Redis cannot be read");
                end = run.cursor(place.parse().map_err(unreadable)?);
                runs.pop();
                runs.push(RunEntry::new(run.run_id.clone(), true, count.parse().map_err(unreadable)?));
            }
            return Ok(Some(ThreadRecord::new(thread.owner, runs, end)));
        }
        Err(StoreError::new("the thread changes faster than it can be looked at"))
    }

    async fn figures(&self) -> Result<Figures, StoreError> {
        let totals = self.shared.index.totals(&self.shared.reader).await?;
        let mut figures = Figures::default();
        figures.bytes = totals.bytes;
        figures.threads = totals.threads;
        figures.runs = totals.runs;
        figures.active_runs = totals.active;
        figures.followers = self.shared.followers.load(Ordering::Relaxed);
        Ok(figures)
    }
}

/// Why a run is closed by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// Its lease seems to have run out; Redis has the last word.
    Expired,
    /// Its driver has let it go.
    Dropped,
}

impl Shared {
    pub(crate) fn lease_ms(&self) -> u64 {
        millis(self.settings.lease)
    }

    pub(crate) fn retention_ms(&self) -> u64 {
        millis(self.settings.kept())
    }

    fn first_grant(&self, run_id: &RunId) -> u64 {
        let limits = &self.settings.limits;
        limits.grant_bytes.min(limits.max_run_bytes).max(run_bytes(run_id) + ENDING_BYTES)
    }

    /// Makes the run the one in progress, and says its serial.
    async fn begin(
        self: &Arc<Self>,
        keys: &ThreadKeys,
        token: &str,
        run: &NewRun,
    ) -> Result<String, BeginError> {
        for _ in 0..ATTEMPTS {
            let names = [&*keys.thread, &keys.lease];
            let reply = self.link.call::<Vec<String>>(&scripts::BEGIN, &names, |command| {
                command
                    .arg(token)
                    .arg(run.run_id.as_str())
                    .arg(id_field(&run.run_id))
                    .arg(u8::from(run.owner.is_some()))
                    .arg(run.owner.as_deref().unwrap_or_default())
                    .arg(self.lease_ms())
                    .arg(self.retention_ms());
            });
            let mut reply = reply.await?.into_iter();
            let what = reply.next().unwrap_or_default();
            let which = reply.next().unwrap_or_default();
            match &*what {
                "begun" => {
                    let kept_ms = reply.next().and_then(|text| text.parse().ok());
                    if self.expires_soon(kept_ms.unwrap_or(0)) {
                        self.keep_up_later(keys);
                    }
                    return Ok(which);
                }
                "busy" => {
                    let run = RunRecord::parse(&which);
                    let run = run.ok_or_else(|| StoreError::new("a run in Redis cannot be read"))?;
                    return Err(BeginError::Busy { run_id: run.run_id });
                }
                "used" => return Err(BeginError::RunIdUsed),
                "owner" => return Err(BeginError::OtherOwner),
                "expired" => drop(self.close(keys, &which, Noticed::Expired).await?),
                "aging" => self.keep_on(keys).await?,
                _ => return Err(StoreError::new("Redis answered what was not expected").into()),
            }
        }
        Err(StoreError::new("the thread changes faster than a run can begin").into())
    }

    async fn finish(
        self: &Arc<Self>,
        drive: &Drive,
        events: &EventBatch,
        compaction: Compaction,
    ) -> Result<(), AppendError> {
        let text = batch::encode(events)?;
        let size = if events.is_empty() { 0 } else { batch::size(&text) };
        // Room was kept for the error that says that there is none, and one that says that something is missing is right.
        let mut batches = 0;
        if !matches!(&**events, [Event::RunError(_)]) {
            self.make_room(drive, size).await?;
            batches = drive.progress().batches;
        }
        let record = {
            let mut progress = drive.progress();
            let place = if events.is_empty() { progress.confirmed } else { progress.send(events) };
            RunRecord {
                token: drive.token.clone(),
                generation: 0,
                recorded: place,
                last: place,
                events: progress.events + events.len() as u64,
                bytes: progress.bytes + size,
                state: match compaction {
                    Compaction::Allowed => RunState::Done,
                    Compaction::Never => RunState::Never,
                },
                run_id: drive.run_id.clone(),
            }
        };
        let line = record.line();
        let keys = [&*drive.keys.thread, &drive.keys.lease, &drive.stream];
        let finished = self.link.call::<i64>(&scripts::FINISH, &keys, |command| {
            command
                .arg(&drive.token)
                .arg(&drive.serial)
                .arg(format!("{}-{}", record.last, record.events))
                .arg(&text)
                .arg(record.bytes)
                .arg(&line)
                .arg(&drive.keys.events)
                .arg(&drive.keys.control)
                .arg(self.retention_ms())
                .arg(batches);
        });
        drive.judge(finished.await?)?;
        // What was set aside and not used. The rest of the work may wait for its turn.
        let entry = Entry::Add {
            bytes: signed(record.bytes) - signed(drive.progress().granted),
            runs: 0,
            active: -1,
        };
        self.correct(&drive.keys.tag, entry).await;
        self.keep_up_later(&drive.keys);
        Ok(())
    }

    /// Sees to it that so many more bytes fit into a run in progress.
    async fn make_room(self: &Arc<Self>, drive: &Drive, size: u64) -> Result<(), AppendError> {
        let limits = &self.settings.limits;
        let more = {
            let progress = drive.progress();
            let needed = progress.bytes.saturating_add(size).saturating_add(ENDING_BYTES);
            if needed > limits.max_run_bytes {
                return Err(AppendError::RecordFull);
            }
            let Some(least) = needed.checked_sub(progress.granted).filter(|least| *least > 0) else {
                return Ok(());
            };
            least.max(limits.grant_bytes).min(limits.max_run_bytes - progress.granted)
        };
        if !self.admit(&drive.keys.tag, more, 0).await? {
            return Err(AppendError::RecordFull);
        }
        drive.progress().granted += more;
        Ok(())
    }

    /// What is known of a thread, as it is in Redis.
    pub(crate) async fn look(&self, keys: &ThreadKeys) -> Result<Option<ThreadState>, StoreError> {
        let names = [&*keys.thread, &keys.lease];
        let (fields, lease_ms, kept_ms): (HashMap<String, String>, i64, i64) =
            self.reader.call(&scripts::LOOK, &names, |_| {}).await?;
        ThreadState::read(fields, lease_ms, kept_ms)
    }

    /// What is known of a thread, after a run that is nobody's any more was closed. A thread with a run missing is not
    /// known.
    pub(crate) async fn known(
        self: &Arc<Self>,
        keys: &ThreadKeys,
    ) -> Result<Option<ThreadState>, StoreError> {
        for _ in 0..ATTEMPTS {
            let Some(thread) = self.look(keys).await? else { return Ok(None) };
            if let Some(token) = thread.expired() {
                self.close(keys, token, Noticed::Expired).await?;
                continue;
            }
            let mut exist = redis::cmd("EXISTS");
            let mut expected = 0;
            for (_, run) in thread.runs.iter().filter(|(_, run)| run.last > 0) {
                exist.arg(keys.stream(&run.token, run.generation));
                expected += 1;
            }
            if expected == 0 || self.reader.command::<u64>(&exist).await? == expected {
                return Ok(Some(thread));
            }
            // Either Redis made room for itself, or a run was dropped or rewritten long before this question went out.
            if self.forget(keys, &thread).await? {
                return Ok(None);
            }
        }
        Err(StoreError::new("a part of the thread is gone from Redis"))
    }

    /// Ends a run with the word that its producer is lost; false if it is not in progress, or is somebody's.
    pub(crate) async fn close(
        self: &Arc<Self>,
        keys: &ThreadKeys,
        token: &str,
        noticed: Noticed,
    ) -> Result<bool, StoreError> {
        let ending = batch::encode(&[replay::lost()])?;
        let stream = keys.stream(token, 0);
        let names = [&*keys.thread, &keys.lease, &stream];
        let closed = self.link.call::<i64>(&scripts::CLOSE, &names, |command| {
            command
                .arg(token)
                .arg(u8::from(noticed == Noticed::Dropped))
                .arg(&ending)
                .arg(batch::size(&ending))
                .arg(&keys.events)
                .arg(&keys.control)
                .arg(self.retention_ms())
                .arg(RUN_BYTES);
        });
        let closed = closed.await? == 1;
        if closed {
            tracing::warn!(thread = %keys.tag, "a run was closed because its producer is lost");
            self.keep_up_later(keys);
        }
        Ok(closed)
    }

    /// Sees to a run whose lease was dropped before it was finished. While Redis is away it tries again, until the lease has
    /// run out and whoever comes next sees to it.
    pub(crate) fn abandon(self: &Arc<Self>, keys: &ThreadKeys, token: &str, run_id: &RunId, begun: bool) {
        let (shared, keys, token, run_id) =
            (Arc::clone(self), keys.clone(), token.to_owned(), run_id.clone());
        self.runtime.spawn(async move {
            let since = Instant::now();
            while let Err(error) = shared.let_go(&keys, &token, &run_id, begun).await {
                if since.elapsed() > shared.settings.lease {
                    tracing::warn!(%error, thread = %keys.tag, "a run that nobody drives is left to its lease");
                    return;
                }
                sleep(PAUSE).await;
            }
        });
    }

    async fn let_go(
        self: &Arc<Self>,
        keys: &ThreadKeys,
        token: &str,
        run_id: &RunId,
        begun: bool,
    ) -> Result<(), StoreError> {
        if begun {
            return self.close(keys, token, Noticed::Dropped).await.map(drop);
        }
        let names = [&*keys.thread, &keys.lease];
        let aborted = self.link.call::<i64>(&scripts::ABORT, &names, |command| {
            command.arg(token).arg(id_field(run_id));
        });
        aborted.await?;
        self.keep_up_later(keys);
        Ok(())
    }

    /// Counts so much more for a thread, where idle ones may have to go for it; false if there is no room.
    async fn admit(self: &Arc<Self>, tag: &str, bytes: u64, runs: u8) -> Result<bool, StoreError> {
        let mut wanted = Entry::Admit { bytes, runs };
        for _ in 0..ATTEMPTS {
            let totals = self.index.note(&self.link, tag, wanted).await?;
            if !totals.admitted {
                break;
            }
            let mut stayed = false;
            for victim in totals.victims {
                if !self.evict(&victim.tag).await? {
                    // A run has begun there since.
                    self.index.note(&self.link, &victim.tag, victim.entry).await?;
                    stayed = true;
                }
            }
            if !stayed {
                return Ok(true);
            }
            // This one is counted; others have to go for it.
            wanted = Entry::Admit { bytes: 0, runs: 0 };
        }
        if !matches!(wanted, Entry::Admit { bytes: wanted, .. } if wanted == bytes) {
            self.take_back(tag, bytes, runs).await;
        }
        Ok(false)
    }

    /// Counts less again. What fails here is put right when the thread is looked after next.
    async fn take_back(&self, tag: &str, bytes: u64, runs: u8) {
        let runs = -i64::from(runs);
        self.correct(tag, Entry::Add { bytes: -signed(bytes), runs, active: runs }).await;
    }

    async fn correct(&self, tag: &str, entry: Entry) {
        if let Err(error) = self.index.note(&self.link, tag, entry).await {
            tracing::debug!(%error, "the count of a thread could not be corrected");
        }
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
