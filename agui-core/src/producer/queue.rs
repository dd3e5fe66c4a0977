//! The queue between a handler and whoever reads its run, and the one lock around it.
//!
//! The writer and its queue sit behind one mutex, held for the length of one check and push and never across an
//! await. Dropping a handle does not take it. A writer that meets a full queue waits for room without holding anything.

use std::mem;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

use crate::sequence::OpenItem;
use crate::{Event, RunAgentInput};

use super::launch::CancelReason;
use super::{EventSink, Extensions, RunSetup, RunWriter, SinkClosed, WriteError};

/// How much a run may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct RunLimits {
    /// Events that wait for the reader before the handler does; 256 by default.
    pub max_queued_events: usize,
    /// Bytes, roughly, that wait for the reader before the handler does; 1 MiB by default. One event may go beyond it.
    pub max_queued_bytes: usize,
    /// Bytes one event may take as JSON; 10 MiB by default.
    pub max_event_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_queued_events: 256,
            max_queued_bytes: 1024 * 1024,
            max_event_bytes: RunWriter::<Vec<Event>>::DEFAULT_MAX_EVENT_BYTES,
        }
    }
}

impl RunLimits {
    /// Sets how many events wait for the reader before the handler does, at least one.
    pub fn with_max_queued_events(mut self, events: usize) -> Self {
        self.max_queued_events = events.max(1);
        self
    }

    /// Sets how many bytes wait for the reader before the handler does.
    pub const fn with_max_queued_bytes(mut self, bytes: usize) -> Self {
        self.max_queued_bytes = bytes;
        self
    }

    /// Sets how many bytes one event may take as JSON.
    pub const fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }
}

/// What a run's handles, its reader and its driver share.
#[derive(Debug)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    /// Items whose handles are gone and that the writer has not been told of. Apart from the writer, because a handle
    /// may be dropped by whoever holds the lock: a closure that owns it, say.
    released: Mutex<Vec<OpenItem>>,
    /// Whether there are any, so that a write need not look.
    has_released: AtomicBool,
    /// Told when the queue has room again.
    space: Notify,
    pub(super) input: Arc<RunAgentInput>,
    pub(super) extensions: Extensions,
    pub(super) cancelled: CancellationToken,
}

#[derive(Debug)]
struct Inner {
    writer: RunWriter<RunQueue>,
    cancel_reason: Option<CancelReason>,
}

/// The sink of a [`Run`](super::Run): the events that wait for its reader.
#[derive(Debug)]
pub struct RunQueue {
    events: Vec<Event>,
    /// Events that the reader is done with, to be used again.
    used: Vec<Event>,
    bytes: usize,
    limits: RunLimits,
    reader: Option<Waker>,
    /// Whether a writer may be waiting for room.
    contended: bool,
    /// Whether the reader's last turn made room for a writer that had waited for it: that writer is about to go on, at
    /// least with the event it waited with, and would have to get the same buffer again. Otherwise the reader is the
    /// faster one, and an idle run keeps nothing.
    expects_more: bool,
    /// How many events were dropped since a writer last gave way, if the run goes on without a reader.
    discarded: Option<usize>,
}

/// What an idle run keeps of its buffer: room for an event that comes alone.
const IDLE_EVENTS: usize = 1;
/// How much larger a buffer gets that is too small. One that fills up does so at once, before its reader is awake.
const GROWTH: usize = 8;
/// After how many discarded events a writer gives way to other tasks: without a reader nothing else makes it wait.
const DISCARDS_PER_TURN: usize = 128;

impl RunQueue {
    const fn is_full(&self) -> bool {
        // A limit of none would never have room, so it stands for one.
        let max_events = if self.limits.max_queued_events == 0 { 1 } else { self.limits.max_queued_events };
        self.events.len() >= max_events
            || (self.bytes >= self.limits.max_queued_bytes && !self.events.is_empty())
    }

    /// Remembers a reader that found nothing; false if nothing will come.
    fn poll_idle(&mut self, cx: &Context<'_>, over: bool) -> Poll<bool> {
        if over {
            return Poll::Ready(false);
        }
        if !self.expects_more && self.events.capacity() > IDLE_EVENTS {
            self.events = Vec::new();
        }
        match &mut self.reader {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.events.len();
        let capacity = (len * GROWTH).min(self.limits.max_queued_events).max(len + 1);
        self.events.reserve_exact(capacity - len);
    }

    /// Whether the writer has to give way first: nothing else makes it wait while nobody reads.
    fn takes_turn(&mut self) -> bool {
        let due = self.discarded.is_some_and(|count| count >= DISCARDS_PER_TURN);
        if due {
            self.discarded = Some(0);
        }
        due
    }
}

impl EventSink for RunQueue {
    fn send(&mut self, event: Event) -> Result<(), SinkClosed> {
        self.send_sized(event, 0)
    }

    #[expect(
        clippy::inline_always,
        reason = "an event is large to pass on, and this is called from one hot place"
    )]
    #[inline(always)]
    fn send_sized(&mut self, event: Event, bytes: usize) -> Result<(), SinkClosed> {
        if let Some(discarded) = &mut self.discarded {
            *discarded = discarded.saturating_add(1);
            return Ok(());
        }
        if self.events.len() == self.events.capacity() {
            self.grow();
        }
        self.events.push(event);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    #[inline]
    fn used_event(&mut self) -> Option<Event> {
        self.used.pop()
    }
}

impl Shared {
    pub(super) fn new(setup: RunSetup) -> Self {
        let queue = RunQueue {
            events: Vec::new(),
            used: Vec::new(),
            bytes: 0,
            limits: setup.limits,
            reader: None,
            contended: false,
            expects_more: false,
            discarded: None,
        };
        let input = setup.input;
        let mut writer =
            RunWriter::new(Arc::clone(&input), queue).with_max_event_bytes(setup.limits.max_event_bytes);
        if setup.echo_input {
            writer = writer.with_echoed_input();
        }
        Self {
            inner: Mutex::new(Inner { writer, cancel_reason: None }),
            released: Mutex::new(Vec::new()),
            has_released: AtomicBool::new(false),
            space: Notify::new(),
            input,
            extensions: setup.extensions,
            cancelled: CancellationToken::new(),
        }
    }

    /// The lock. A closure of the application's may panic under it, between two calls of the writer or while it looks
    /// at the state; the writer is consistent at every step, so that a lock left by a panic is as good as any.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, with the writer told of the items let go of.
    #[inline]
    fn lock_to_write(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.lock();
        // Looked at first, because a write to what every clone shares costs more than all that is around it.
        if self.has_released.load(Ordering::Relaxed) {
            self.take_released(&mut inner);
        }
        inner
    }

    #[cold]
    fn take_released(&self, inner: &mut Inner) {
        if self.has_released.swap(false, Ordering::Acquire) {
            let released = mem::take(&mut *self.released.lock().unwrap_or_else(PoisonError::into_inner));
            for item in released {
                inner.writer.release(item);
            }
        }
    }

    /// Runs `write` as soon as the queue has room.
    #[inline]
    pub(super) async fn write<T, W>(&self, write: W) -> Result<T, WriteError>
    where
        W: FnOnce(&mut RunWriter<RunQueue>) -> Result<T, WriteError>,
    {
        // Nearly always there is room, and nothing to get ready for waiting.
        match self.try_write(write, None) {
            Tried::Written(result) => result,
            refused => self.write_later(refused).await,
        }
    }

    /// Goes on after an attempt, if it was refused.
    pub(super) async fn write_later<T, W>(&self, tried: Tried<T, W>) -> Result<T, WriteError>
    where
        W: FnOnce(&mut RunWriter<RunQueue>) -> Result<T, WriteError>,
    {
        match tried {
            Tried::Written(result) => result,
            Tried::Full(write) => self.write_with_room(write).await,
            Tried::NotNow(write) => {
                give_way().await;
                self.write_with_room(write).await
            }
        }
    }

    async fn write_with_room<T, W>(&self, mut write: W) -> Result<T, WriteError>
    where
        W: FnOnce(&mut RunWriter<RunQueue>) -> Result<T, WriteError>,
    {
        loop {
            let mut room = pin!(self.space.notified());
            match self.try_write(write, Some(room.as_mut())) {
                Tried::Written(result) => return result,
                Tried::Full(refused) => {
                    write = refused;
                    room.await;
                }
                Tried::NotNow(refused) => {
                    write = refused;
                    give_way().await;
                }
            }
        }
    }

    /// Runs `write` if the queue has room. Otherwise `room`, if there is one, is told when it has.
    #[inline]
    pub(super) fn try_write<T, W>(&self, write: W, room: Option<Pin<&mut Notified<'_>>>) -> Tried<T, W>
    where
        W: FnOnce(&mut RunWriter<RunQueue>) -> Result<T, WriteError>,
    {
        let _woken = WakeOnUnwind(self);
        let mut inner = self.lock_to_write();
        if inner.writer.is_over() {
            return Tried::Written(Err(WriteError::Closed));
        }
        let queue = inner.writer.sink_mut();
        if queue.takes_turn() {
            return Tried::NotNow(write);
        }
        if queue.is_full() {
            if let Some(room) = room {
                // Registered under the lock, so that room made from here on is not missed.
                room.enable();
                queue.contended = true;
            }
            return Tried::Full(write);
        }
        let result = write(&mut inner.writer);
        self.written(inner);
        Tried::Written(result)
    }

    /// Runs `write` at once, whatever waits: for endings and for what costs no room.
    pub(super) fn write_now<T>(&self, write: impl FnOnce(&mut RunWriter<RunQueue>) -> T) -> T {
        let _woken = WakeOnUnwind(self);
        let mut inner = self.lock_to_write();
        let result = write(&mut inner.writer);
        self.written(inner);
        result
    }

    /// Tells whoever waits for what has been written, after the lock is gone.
    #[inline]
    fn written(&self, inner: MutexGuard<'_, Inner>) {
        let over = inner.writer.is_over();
        wake_reader(inner);
        if over {
            self.space.notify_waiters();
        }
    }

    /// Looks at the writer. Nothing is written, so nobody has to be told, also when `read` panics.
    pub(super) fn read<T>(&self, read: impl FnOnce(&mut RunWriter<RunQueue>) -> T) -> T {
        read(&mut self.lock().writer)
    }

    /// Marks an item whose handle is gone.
    pub(super) fn release(&self, item: OpenItem) {
        self.released.lock().unwrap_or_else(PoisonError::into_inner).push(item);
        self.has_released.store(true, Ordering::Release);
    }

    /// Moves everything that waits into `buffer`; false once the run is over and nothing waits any more.
    pub(super) fn poll_take(&self, cx: &Context<'_>, buffer: &mut Vec<Event>) -> Poll<bool> {
        let mut inner = self.lock();
        let over = inner.writer.is_over();
        let queue = inner.writer.sink_mut();
        if queue.events.is_empty() {
            if queue.expects_more && buffer.is_empty() && buffer.capacity() > queue.events.capacity() {
                mem::swap(buffer, &mut queue.events);
            }
            return queue.poll_idle(cx, over);
        }
        if buffer.is_empty() {
            mem::swap(buffer, &mut queue.events);
        } else {
            buffer.append(&mut queue.events);
        }
        self.taken(inner);
        Poll::Ready(true)
    }

    /// As [`poll_take`](Self::poll_take), in the place of what is in `buffer`, whose strings are used again.
    pub(super) fn poll_refill(&self, cx: &Context<'_>, buffer: &mut Vec<Event>) -> Poll<bool> {
        let mut inner = self.lock();
        let over = inner.writer.is_over();
        let queue = inner.writer.sink_mut();
        if queue.events.is_empty() {
            let polled = queue.poll_idle(cx, over);
            let mut unused = Vec::new();
            if polled.is_ready() || !queue.expects_more {
                mem::swap(&mut queue.used, &mut unused);
            } else if !buffer.is_empty() {
                mem::swap(&mut queue.used, buffer);
            }
            drop(inner);
            drop(unused);
            buffer.clear();
            return polled;
        }
        mem::swap(buffer, &mut queue.events);
        if !queue.events.is_empty() {
            mem::swap(&mut queue.used, &mut queue.events);
        }
        // Those from before the last batch, of which there are some if it had fewer deltas; else room for the next events.
        let older = if queue.events.is_empty() { Vec::new() } else { mem::take(&mut queue.events) };
        let unused = if queue.contended { Vec::new() } else { mem::take(&mut queue.used) };
        self.taken(inner);
        drop((older, unused));
        Poll::Ready(true)
    }

    /// Tells whoever waits for room that the queue is empty, after the lock is gone.
    fn taken(&self, mut inner: MutexGuard<'_, Inner>) {
        let queue = inner.writer.sink_mut();
        queue.bytes = 0;
        let contended = mem::take(&mut queue.contended);
        queue.expects_more = contended;
        drop(inner);
        if contended {
            self.space.notify_waiters();
        }
    }

    /// Ends the run without an ending: what waits is dropped, what is written from now on is refused.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.writer.close();
        let queue = inner.writer.sink_mut();
        let dropped = (mem::take(&mut queue.events), mem::take(&mut queue.used));
        queue.bytes = 0;
        wake_reader(inner);
        self.space.notify_waiters();
        drop(dropped);
    }

    /// Lets the run go on without a reader.
    pub(super) fn detach(&self) {
        let mut inner = self.lock();
        let queue = inner.writer.sink_mut();
        let dropped = (mem::take(&mut queue.events), mem::take(&mut queue.used));
        queue.bytes = 0;
        queue.reader = None;
        queue.discarded.get_or_insert(0);
        drop(inner);
        self.space.notify_waiters();
        drop(dropped);
    }

    pub(super) fn cancel(&self, reason: CancelReason) {
        self.lock().cancel_reason.get_or_insert(reason);
        self.cancelled.cancel();
    }

    pub(super) fn cancel_reason(&self) -> Option<CancelReason> {
        self.lock().cancel_reason
    }
}

/// What came of an attempt to write.
pub(super) enum Tried<T, W> {
    /// It was made, or the run is over.
    Written(Result<T, WriteError>),
    /// There is no room.
    Full(W),
    /// Others have not had a turn for long.
    NotNow(W),
}

/// Tells of what a closure had written before it panicked: otherwise that would wait for the next write. It is made
/// before the lock is taken, so that the lock is gone when it is dropped.
struct WakeOnUnwind<'s>(&'s Shared);

impl Drop for WakeOnUnwind<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.written(self.0.lock());
        }
    }
}

/// Wakes the reader if there is something for it, after the lock is gone.
#[inline]
fn wake_reader(mut inner: MutexGuard<'_, Inner>) {
    let over = inner.writer.is_over();
    let queue = inner.writer.sink_mut();
    // While there is a backlog, its reader has been woken and not been back.
    if queue.reader.is_none() || (!over && queue.events.is_empty()) {
        return;
    }
    let waker = queue.reader.take();
    drop(inner);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Lets other tasks run once.
async fn give_way() {
    let mut given = false;
    std::future::poll_fn(|cx| {
        if mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
