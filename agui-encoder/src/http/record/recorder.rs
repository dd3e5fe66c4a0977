//! The recorder of one run.

use std::future::{self, Future};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use agui_core::producer::{CancelReason, RunControl, RunEvents};
use agui_core::store::{
    AppendError, Compaction, DynRunStore, EventBatch, FinishError, RunLease, StoreError, held_bytes,
};
use agui_core::{Event, RunError, RunErrorEvent};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{Instrument, Span};

use super::tail::{Kept, Tail};
use super::watch::watch;
use super::{OnRecordFailure, Race, RecordSettings, race};
use crate::http::drive::Reporter;
use crate::http::follow::without_private;
use crate::http::registry::Tracked;

/// After how long a store that failed is tried again; each time twice as long.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(2);

/// What records a run.
pub(crate) struct Recorder {
    pub(crate) store: Arc<dyn DynRunStore>,
    pub(crate) events: RunEvents,
    pub(crate) control: RunControl,
    pub(crate) tail: Arc<Tail>,
    pub(crate) settings: RecordSettings,
    /// How many bytes may wait for the store before the run does.
    pub(crate) max_backlog_bytes: usize,
    pub(crate) reporter: Reporter,
    /// Lets a shutdown wait for the ending to be recorded.
    pub(crate) tracked: Tracked,
}

/// Why the recording came to its end.
enum Stop {
    /// The run has ended: what the client has had and the record has not, and the terminal event, which neither has.
    Ended(Vec<Event>, Event),
    /// The record takes no more.
    Full,
    /// The run is no longer ours.
    Lost,
    /// The record was given up some time ago. This is the terminal event.
    GivenUp(Event),
}

impl Recorder {
    /// Spawns the recorder onto the current runtime.
    pub(crate) fn spawn(self, lease: RunLease, span: Span) {
        tokio::spawn(self.run(lease).instrument(span));
    }

    async fn run(self, lease: RunLease) {
        let Self { store, events, control, tail, settings, max_backlog_bytes, reporter, tracked } = self;
        // Dropped after the lease, should it come to that: a client that sees the ending may begin the next run.
        let guard = Guard { tail: &tail, control: &control };
        let lease = lease;
        let keeper =
            Keeper { store: &*store, tail: &tail, settings: &settings, max_backlog_bytes, lease: &lease };
        let stop = {
            let pump = pin!(keeper.pump(events, &control, &reporter));
            let watch = pin!(watch(&*store, &lease, &control));
            match race(pump, watch).await {
                Race::First(stop) => stop,
                Race::Second(()) => Stop::Lost,
            }
        };
        let compaction = if control.is_unchecked() { Compaction::Never } else { Compaction::Allowed };
        let last = match stop {
            Stop::Ended(mut events, last) => {
                events.push(last.clone());
                let finish = finish(&*store, lease, events.into(), compaction);
                match timeout(settings.store_timeout, finish).await {
                    Ok(Finished::Recorded) => last,
                    Ok(Finished::Full(lease)) => {
                        let full = fail(&control, &reporter, &full());
                        end(&*store, lease, &full, &settings).await;
                        full
                    }
                    Ok(Finished::Incomplete(lease)) => {
                        end(&*store, lease, &incomplete(), &settings).await;
                        last
                    }
                    Ok(Finished::Lost) => fail(&control, &reporter, &lost()),
                    Ok(Finished::Failed(error)) => {
                        tracing::error!(%error, "the ending of the run is not recorded");
                        last
                    }
                    Err(_) => {
                        tracing::error!("the ending of the run is not recorded: the store does not answer");
                        last
                    }
                }
            }
            Stop::Full => {
                let full = fail(&control, &reporter, &full());
                end(&*store, lease, &full, &settings).await;
                full
            }
            Stop::Lost => fail(&control, &reporter, &lost()),
            Stop::GivenUp(last) => {
                end(&*store, lease, &incomplete(), &settings).await;
                last
            }
        };
        tail.end([last].into());
        drop(guard);
        drop(tracked);
    }
}

/// Sees to it that run and client have an ending, whatever becomes of the recorder.
struct Guard<'a> {
    tail: &'a Tail,
    control: &'a RunControl,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // The recorder was dropped, or the ending was written unjudged and the handler would write on to nobody.
        if !self.control.is_over() {
            self.control.settle_failed(&RunError::internal("nothing of the run is recorded any more"));
            self.control.cancel(CancelReason::Stopped);
        }
        // The real one is there already, unless the recorder was dropped.
        self.tail.end([error_event(&lost())].into());
    }
}

/// The way of events from the run to its record and its client.
struct Keeper<'a> {
    store: &'a dyn DynRunStore,
    tail: &'a Tail,
    settings: &'a RecordSettings,
    max_backlog_bytes: usize,
    lease: &'a RunLease,
}

impl Keeper<'_> {
    /// Records and hands on until there is no more to record.
    async fn pump(&self, mut events: RunEvents, control: &RunControl, reporter: &Reporter) -> Stop {
        // What the client has had and the record has not, and the terminal event once the run has written it.
        let mut backlog = Backlog::default();
        let mut last = None;
        let mut is_first = true;
        loop {
            let handed_on = !backlog.events.is_empty();
            if let Some(last) = last {
                return Stop::Ended(backlog.events, last);
            }
            let (batch, for_client) = if handed_on {
                (EventBatch::from(std::mem::take(&mut backlog).events), None)
            } else {
                let mut taken;
                (taken, last) = take(&mut events).await;
                if taken.is_empty() {
                    continue;
                }
                let for_client = std::mem::take(&mut is_first).then(|| prepare(&mut taken)).flatten();
                let batch = EventBatch::from(taken);
                let for_client = for_client.unwrap_or_else(|| EventBatch::clone(&batch));
                (batch, Some(for_client))
            };
            let mut append = pin!(append(self.store, self.lease, batch, self.settings.patience));
            let mut appended = poll_once(append.as_mut()).await;
            // A record that is given up is not the client's loss.
            if let Some(batch) = for_client
                && !matches!(appended, Poll::Ready(Err(AppendError::RecordFull | AppendError::LeaseLost)))
            {
                self.hand_on(batch).await;
            }
            // The store takes its time, or has failed and is tried again.
            let appended = loop {
                if let Poll::Ready(appended) = appended {
                    break appended;
                }
                if last.is_some() || backlog.bytes >= self.max_backlog_bytes {
                    appended = Poll::Ready(append.as_mut().await);
                    continue;
                }
                match race(append.as_mut(), pin!(take(&mut events))).await {
                    Race::First(result) => appended = Poll::Ready(result),
                    Race::Second((taken, ending)) => {
                        last = ending;
                        if !taken.is_empty() {
                            backlog.add(&taken);
                            self.hand_on(taken.into()).await;
                        }
                    }
                }
            };
            match appended {
                Ok(()) => {}
                Err(AppendError::RecordFull) => return Stop::Full,
                Err(AppendError::LeaseLost) => return Stop::Lost,
                Err(error) => {
                    tracing::error!(%error, "the record of the run is given up");
                    return match self.settings.on_failure {
                        OnRecordFailure::GoOn => Stop::GivenUp(self.go_on(events, last).await),
                        OnRecordFailure::End => {
                            Stop::GivenUp(fail(control, reporter, &RunError::internal(error)))
                        }
                    };
                }
            }
        }
    }

    /// Serves the client alone, to the end of the run.
    async fn go_on(&self, mut events: RunEvents, mut last: Option<Event>) -> Event {
        loop {
            if let Some(last) = last {
                return last;
            }
            let taken;
            (taken, last) = take(&mut events).await;
            if !taken.is_empty() && self.tail.push(taken.into()) == Kept::Behind {
                // The record has not what it needs.
                self.tail.go_on(None);
            }
        }
    }

    /// Gives events to the client, or moves it to the record if it is too far behind.
    async fn hand_on(&self, batch: EventBatch) {
        if self.tail.push(batch) == Kept::Fine {
            return;
        }
        let follow = self.store.follow_boxed(self.lease.key(), None);
        let record = match timeout(self.settings.store_timeout, follow).await {
            Ok(Ok(record)) => record,
            Ok(Err(error)) => {
                tracing::error!(%error, "a client that is behind cannot be moved to the record");
                None
            }
            Err(_) => {
                tracing::error!(
                    "a client that is behind cannot be moved to the record: the store does not answer"
                );
                None
            }
        };
        self.tail.go_on(record);
    }
}

/// What waits for the store.
#[derive(Default)]
struct Backlog {
    events: Vec<Event>,
    bytes: usize,
}

impl Backlog {
    fn add(&mut self, events: &[Event]) {
        self.bytes += events.iter().map(held_bytes).sum::<usize>();
        self.events.extend_from_slice(events);
    }
}

/// What the run has written by now, at least something; the terminal event apart.
async fn take(events: &mut RunEvents) -> (Vec<Event>, Option<Event>) {
    let mut taken = Vec::new();
    let more = future::poll_fn(|cx| events.poll_take(cx, &mut taken)).await;
    if !more {
        // A run that is recorded is not closed without an ending; this is for the reader, not for the rules.
        return (taken, Some(error_event(&lost())));
    }
    let is_terminal = |event: &Event| matches!(event, Event::RunFinished(_) | Event::RunError(_));
    let last = taken.iter().position(is_terminal).and_then(|at| {
        // An unjudged run may write on. Nothing of the run comes behind its ending.
        taken.truncate(at + 1);
        taken.pop()
    });
    (taken, last)
}

/// Makes the input on `RUN_STARTED` what the record has of it: who reads the thread later needs the messages and, to
/// apply the run's patches, the state; the rest was between this client and the agent. Gives what the client is sent if
/// that is something else.
fn prepare(events: &mut [Event]) -> Option<EventBatch> {
    let Some(Event::RunStarted(started)) = events.first_mut() else { return None };
    let input = started.input.as_mut()?;
    input.forwarded_props = None;
    input.resume = None;
    input.protocol_version = None;
    input.tools.get_or_insert_default();
    input.context.get_or_insert_default();
    input.state.as_ref()?;
    let (first, rest) = events.split_first()?;
    Some(std::iter::once(without_private(first)).chain(rest.iter().cloned()).collect())
}

/// Records events, and tries again for a time if the store fails.
async fn append(
    store: &dyn DynRunStore,
    lease: &RunLease,
    batch: EventBatch,
    patience: Duration,
) -> Result<(), AppendError> {
    let deadline = Instant::now() + patience;
    let mut delay = FIRST_RETRY;
    loop {
        let Ok(appended) = timeout_at(deadline, store.append_boxed(lease, EventBatch::clone(&batch))).await
        else {
            return Err(StoreError::new("it does not answer").into());
        };
        match appended {
            Err(AppendError::Store(error)) if Instant::now() + delay < deadline => {
                tracing::warn!(%error, "recording is tried again");
            }
            appended => return appended,
        }
        sleep(delay).await;
        delay = (delay * 2).min(LAST_RETRY);
    }
}

/// What came of finishing a run.
enum Finished {
    Recorded,
    Full(RunLease),
    Incomplete(RunLease),
    Lost,
    Failed(StoreError),
}

/// Finishes a run, and tries again if the store fails, for as long as it is polled.
async fn finish(
    store: &dyn DynRunStore,
    mut lease: RunLease,
    batch: EventBatch,
    compaction: Compaction,
) -> Finished {
    let mut delay = FIRST_RETRY;
    loop {
        let finished = store.finish_boxed(lease, EventBatch::clone(&batch), compaction).await;
        let error = match finished {
            Ok(()) => return Finished::Recorded,
            Err(FinishError { lease: back, error, .. }) => {
                lease = back;
                error
            }
        };
        match error {
            AppendError::RecordFull => return Finished::Full(lease),
            AppendError::Incomplete => return Finished::Incomplete(lease),
            // An attempt that seemed to fail has got through.
            AppendError::LeaseLost if delay > FIRST_RETRY => return Finished::Recorded,
            AppendError::LeaseLost => return Finished::Lost,
            AppendError::Store(error) if delay >= LAST_RETRY => return Finished::Failed(error),
            error => tracing::warn!(%error, "the ending of the run is recorded again"),
        }
        sleep(delay).await;
        delay = (delay * 2).min(LAST_RETRY);
    }
}

/// Finishes a run with nothing but an error, as well as it goes.
async fn end(store: &dyn DynRunStore, lease: RunLease, last: &Event, settings: &RecordSettings) {
    let finish = finish(store, lease, [last.clone()].into(), Compaction::Never);
    if !matches!(timeout(settings.store_timeout, finish).await, Ok(Finished::Recorded)) {
        tracing::error!("the record of the run has no ending");
    }
}

/// Ends a run for a reason of the record's, and gives the event that says so.
fn fail(control: &RunControl, reporter: &Reporter, error: &RunError) -> Event {
    reporter.report(error);
    control.settle_failed(error);
    // The handler hears of it, and need not write on.
    control.cancel(CancelReason::Stopped);
    error_event(error)
}

fn error_event(error: &RunError) -> Event {
    RunErrorEvent::new(error.public_message()).with_code(error.code()).into()
}

fn full() -> RunError {
    RunError::public("The record of the run is full.").with_code("record_full")
}

/// What a record ends with whose run had more to say.
fn incomplete() -> Event {
    RunErrorEvent::new("The record of the run is incomplete.").with_code("internal_error").into()
}

fn lost() -> RunError {
    RunError::public("The run was lost.").with_code("producer_lost")
}

async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}
