//! What every run store owes, as checks that run against one.
//!
//! [`check`] runs them, each on threads of its own, so that one store serves them all and may hold other things. They
//! panic where the store departs from the contract, spawn nothing, and wait for nothing but the store: where leases are
//! renewed, until one has run out. How a store comes to give threads up depends on its limits; what is owed then,
//! [`only_idle_threads_are_given_up`] checks apart.
//!
//! # Examples
//! ```
//! use agui_core::store::{MemoryRunStore, contract};
//!
//! futures_executor::block_on(contract::check(&MemoryRunStore::default()));
//! ```

#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a check fails its test by panicking"
)]

use std::mem;

use futures_util::future::{join, join_all};

use super::{
    AppendError, BeginError, Compaction, Cursor, DynRunStore, EventBatch, FollowError, Followed, Follower,
    NewRun, RunLease, StopOutcome, StopSignal, ThreadKey, replay,
};
use crate::{
    Event, RunErrorEvent, RunFinishedEvent, RunId, RunStartedEvent, TextMessageContentEvent,
    TextMessageEndEvent, TextMessageStartEvent,
};

/// Runs every check that needs nothing but the store.
///
/// # Panics
/// The store departs from the contract.
pub async fn check(store: &dyn DynRunStore) {
    unknown_threads_are_unknown(store).await;
    a_thread_has_one_run_at_a_time(store).await;
    a_run_id_is_used_once(store).await;
    agents_and_odd_names_keep_apart(store).await;
    owners_keep_apart(store).await;
    a_finished_run_is_replayed_to_the_end(store).await;
    a_follower_goes_on_live_without_a_seam(store).await;
    every_cursor_of_a_run_in_progress_is_good(store).await;
    followers_do_not_wait_for_each_other(store).await;
    the_thread_is_free_before_the_ending_is_seen(store).await;
    stops_reach_the_driver(store).await;
    a_lease_ends_with_its_run(store).await;
    unjudged_runs_stay_as_they_are(store).await;
    a_lost_run_ends_for_its_followers(store).await;
}

/// A name that no other check and no other process uses.
fn fresh(what: &str) -> ThreadKey {
    ThreadKey::new("contract", format!("{what}/{}", crate::id::mint::<RunId>("")))
}

fn started(run: &str) -> Event {
    RunStartedEvent::new("contract", run).into()
}

fn finished(run: &str) -> Event {
    RunFinishedEvent::new("contract", run).into()
}

fn delta(text: impl Into<String>) -> Event {
    TextMessageContentEvent::new("m", text.into()).into()
}

async fn begin(store: &dyn DynRunStore, key: &ThreadKey, run: &str) -> RunLease {
    store.begin_boxed(key, NewRun::new(run)).await.expect("the thread is idle")
}

async fn append(store: &dyn DynRunStore, lease: &RunLease, events: impl Into<EventBatch>) {
    store.append_boxed(lease, events.into()).await.expect("there is room");
}

async fn finish(store: &dyn DynRunStore, lease: RunLease) {
    let ending = [finished(lease.run_id().as_str())].into();
    store.finish_boxed(lease, ending, Compaction::Allowed).await.expect("the run is the lease's");
}

async fn follow(store: &dyn DynRunStore, key: &ThreadKey, after: Option<&Cursor>) -> Follower {
    store.follow_boxed(key, after).await.expect("the store works").expect("the thread is known")
}

/// Everything to the end.
async fn rest(follower: &mut Follower) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(page) = follower.next_page().await.expect("the thread stays") {
        assert!(!page.events.is_empty(), "a page has events");
        events.extend(page.events.iter().cloned());
    }
    events
}

/// Everything that is recorded, while the run goes on.
async fn recorded(follower: &mut Follower) -> (Vec<Event>, Vec<Cursor>) {
    let (mut events, mut cursors) = (Vec::new(), Vec::new());
    loop {
        match follower.next().await.expect("the thread stays") {
            Some(Followed::Page(page)) => {
                events.extend(page.events.iter().cloned());
                cursors.push(page.cursor);
            }
            Some(Followed::CaughtUp) => return (events, cursors),
            None => panic!("the run is in progress"),
        }
    }
}

/// Nothing is known of a thread that had no run, and asking changes nothing.
pub async fn unknown_threads_are_unknown(store: &dyn DynRunStore) {
    let key = fresh("unknown");
    for _ in 0..2 {
        assert!(store.follow_boxed(&key, None).await.expect("the store works").is_none());
        assert!(store.thread_boxed(&key).await.expect("the store works").is_none());
        let stop = store.request_stop_boxed(&key, None).await.expect("the store works");
        assert_eq!(stop, StopOutcome::Idle);
    }
}

/// A second run is refused, naming the first, which goes on.
pub async fn a_thread_has_one_run_at_a_time(store: &dyn DynRunStore) {
    let key = fresh("exclusion");
    // Several at once: one gets it.
    let names = ["a", "b", "c", "d"];
    let attempts = names.map(|name| store.begin_boxed(&key, NewRun::new(name)));
    let mut leases = Vec::new();
    let mut refusals = Vec::new();
    for attempt in join_all(attempts).await {
        match attempt {
            Ok(lease) => leases.push(lease),
            Err(BeginError::Busy { run_id }) => refusals.push(run_id),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((leases.len(), refusals.len()), (1, 3));
    let lease = leases.pop().expect("one lease");
    assert!(refusals.iter().all(|named| named == lease.run_id()));
    append(store, &lease, [started("x")]).await;
    let record = store.thread_boxed(&key).await.expect("the store works").expect("the thread is known");
    assert_eq!((record.runs.len(), record.active_run()), (1, Some(lease.run_id())));
    finish(store, lease).await;
    let record = store.thread_boxed(&key).await.expect("the store works").expect("the thread is known");
    assert_eq!(record.active_run(), None);
}

/// An id that the record has is refused, also after the run has ended.
pub async fn a_run_id_is_used_once(store: &dyn DynRunStore) {
    let key = fresh("run-ids");
    let lease = begin(store, &key, "one").await;
    append(store, &lease, [started("one")]).await;
    finish(store, lease).await;
    let again = store.begin_boxed(&key, NewRun::new("one")).await;
    assert!(matches!(again, Err(BeginError::RunIdUsed)), "{again:?}");
    let lease = begin(store, &key, "two").await;
    finish(store, lease).await;
}

/// Threads are told apart by agent and by every character of their names.
pub async fn agents_and_odd_names_keep_apart(store: &dyn DynRunStore) {
    let base = crate::id::mint::<RunId>("");
    let names = ["", "a:b", "a", "{x}", "ä/?#%", "a\nb", "a\0b", "*", "\"'; --"];
    let mut keys: Vec<_> = names.iter().map(|name| ThreadKey::new("one", format!("{base}{name}"))).collect();
    keys.push(ThreadKey::new("two", base.as_str()));
    keys.push(ThreadKey::new(format!("one{base}"), ""));
    keys.push(ThreadKey::new("one:a", base.as_str()));
    let mut leases = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let lease = begin(store, key, "r").await;
        append(store, &lease, [started("r"), delta(at.to_string())]).await;
        leases.push(lease);
    }
    for lease in leases {
        finish(store, lease).await;
    }
    for (at, key) in keys.iter().enumerate() {
        let events = rest(&mut follow(store, key, None).await).await;
        assert_eq!(events, [started("r"), delta(at.to_string()), finished("r")], "{key:?}");
    }
}

/// A thread belongs to whoever began it.
pub async fn owners_keep_apart(store: &dyn DynRunStore) {
    let key = fresh("owners");
    let mine = |run: &str| NewRun::new(run).with_owner("me");
    let lease = store.begin_boxed(&key, mine("a")).await.expect("a new thread");
    finish(store, lease).await;
    for other in [NewRun::new("b"), NewRun::new("b").with_owner("you")] {
        let refused = store.begin_boxed(&key, other).await;
        assert!(matches!(refused, Err(BeginError::OtherOwner)), "{refused:?}");
    }
    let record = store.thread_boxed(&key).await.expect("the store works").expect("the thread is known");
    assert_eq!(record.owner.as_deref(), Some("me"));
    let lease = store.begin_boxed(&key, mine("b")).await.expect("one's own thread");
    finish(store, lease).await;
}

/// The runs of an idle thread come in order, and then the end.
pub async fn a_finished_run_is_replayed_to_the_end(store: &dyn DynRunStore) {
    let key = fresh("replay");
    let mut expected = Vec::new();
    for run in ["one", "two"] {
        let lease = begin(store, &key, run).await;
        let events = [
            started(run),
            TextMessageStartEvent::new("m").into(),
            delta("a"),
            TextMessageEndEvent::new("m").into(),
        ];
        expected.extend(events.iter().cloned());
        append(store, &lease, events).await;
        finish(store, lease).await;
        expected.push(finished(run));
    }
    let mut follower = follow(store, &key, None).await;
    assert_eq!(rest(&mut follower).await, expected);
    assert!(follower.next().await.expect("the end").is_none(), "the end stays");
    let record = store.thread_boxed(&key).await.expect("the store works").expect("the thread is known");
    let mut behind = follow(store, &key, Some(&record.end)).await;
    assert_eq!(rest(&mut behind).await, []);
}

/// What is recorded and what comes later are one sequence, wherever the follower joins.
pub async fn a_follower_goes_on_live_without_a_seam(store: &dyn DynRunStore) {
    let key = fresh("seam");
    let lease = begin(store, &key, "r").await;
    let mut expected = vec![started("r")];
    append(store, &lease, [started("r")]).await;
    let mut followers = Vec::new();
    for round in 0..20 {
        let mut follower = follow(store, &key, None).await;
        if round % 2 == 0 {
            let (events, _) = recorded(&mut follower).await;
            assert_eq!(events, expected);
            followers.push((follower, events));
        } else {
            followers.push((follower, Vec::new()));
        }
        let batch = [delta(format!("{round}.a")), delta(format!("{round}.b"))];
        expected.extend(batch.iter().cloned());
        append(store, &lease, batch).await;
    }
    expected.push(finished("r"));
    // Some wait while the ending is written.
    let readers = join_all(followers.into_iter().map(|(mut follower, mut events)| async move {
        events.extend(rest(&mut follower).await);
        events
    }));
    let (all, ()) = join(readers, finish(store, lease)).await;
    for events in all {
        assert_eq!(events, expected);
    }
}

/// A follower that goes on from any cursor sees the rest and nothing else.
pub async fn every_cursor_of_a_run_in_progress_is_good(store: &dyn DynRunStore) {
    let key = fresh("cursors");
    let lease = begin(store, &key, "r").await;
    append(store, &lease, [started("r")]).await;
    for at in 0..5 {
        append(store, &lease, [delta(at.to_string())]).await;
    }
    let mut follower = follow(store, &key, None).await;
    let mut all = Vec::new();
    let mut seen = Vec::new();
    while all.len() < 6 {
        let page = follower.next_page().await.expect("the thread stays").expect("the run goes on");
        all.extend(page.events.iter().cloned());
        seen.push((all.len(), page.cursor));
    }
    let end = store.thread_boxed(&key).await.expect("the store works").expect("the thread is known").end;
    seen.push((all.len(), end));
    for (count, cursor) in seen {
        // As it comes back from outside.
        let cursor = Cursor::new(cursor.as_str());
        let (events, _) = recorded(&mut follow(store, &key, Some(&cursor)).await).await;
        assert_eq!(events, all.get(count..).unwrap_or_default());
    }
    for odd in ["", "x", "1", "-1-1", "99999999999999999999.0.0", "\0"] {
        let refused = store.follow_boxed(&key, Some(&Cursor::new(odd))).await;
        assert!(refused.is_err(), "{odd:?} is no cursor of this thread");
    }
    finish(store, lease).await;
}

/// One that does not read, and one that leaves, disturb nobody.
pub async fn followers_do_not_wait_for_each_other(store: &dyn DynRunStore) {
    let key = fresh("slow");
    let lease = begin(store, &key, "r").await;
    append(store, &lease, [started("r")]).await;
    let mut slow = follow(store, &key, None).await;
    let gone = follow(store, &key, None).await;
    let mut quick = follow(store, &key, None).await;
    recorded(&mut quick).await;
    drop(gone);
    let mut expected = vec![started("r")];
    for at in 0..500 {
        let event = delta(at.to_string());
        append(store, &lease, [event.clone()]).await;
        let page = quick.next_page().await.expect("the thread stays").expect("the run goes on");
        assert_eq!(&*page.events, std::slice::from_ref(&event));
        expected.push(event);
    }
    finish(store, lease).await;
    expected.push(finished("r"));
    assert_eq!(rest(&mut quick).await, [finished("r")]);
    assert_eq!(rest(&mut slow).await, expected);
}

/// Whoever sees the ending can begin the next run.
pub async fn the_thread_is_free_before_the_ending_is_seen(store: &dyn DynRunStore) {
    let key = fresh("free");
    for round in 0..10 {
        let run = format!("r{round}");
        let lease = begin(store, &key, &run).await;
        append(store, &lease, [started(&run)]).await;
        let record = store.thread_boxed(&key).await.expect("the store works").expect("the thread is known");
        let mut follower = follow(store, &key, Some(&record.end)).await;
        let next = async {
            assert_eq!(rest(&mut follower).await, [finished(&run)]);
            begin(store, &key, &format!("next{round}")).await
        };
        let (next, ()) = join(next, finish(store, lease)).await;
        finish(store, next).await;
    }
}

/// A stop is told to the driver once, and only where it is meant.
pub async fn stops_reach_the_driver(store: &dyn DynRunStore) {
    let key = fresh("stop");
    let stop = async |run: Option<&str>| {
        let run = run.map(RunId::from);
        store.request_stop_boxed(&key, run.as_ref()).await.expect("the store works")
    };
    let lease = begin(store, &key, "r").await;
    let run_id = RunId::from("r");
    assert_eq!(stop(Some("other")).await, StopOutcome::OtherRun { run_id: run_id.clone() });
    let (signal, first) = join(store.stop_requested_boxed(&lease), stop(Some("r"))).await;
    assert_eq!(signal.expect("the store works"), StopSignal::Stop);
    assert_eq!(first, StopOutcome::Stopping { run_id: run_id.clone() });
    assert_eq!(stop(None).await, StopOutcome::AlreadyStopping { run_id });
    // A driver that asks late is told as well.
    assert_eq!(store.stop_requested_boxed(&lease).await.expect("the store works"), StopSignal::Stop);
    // A stop does not end the run: its driver does.
    append(store, &lease, [started("r")]).await;
    finish(store, lease).await;
    assert_eq!(stop(None).await, StopOutcome::Idle);
    assert_eq!(stop(Some("r")).await, StopOutcome::Idle);
    // The next run does not inherit it.
    let lease = begin(store, &key, "s").await;
    assert_eq!(stop(None).await, StopOutcome::Stopping { run_id: "s".into() });
    finish(store, lease).await;
}

/// A lease that was given up is good for nothing, and nobody waits for its run.
pub async fn a_lease_ends_with_its_run(store: &dyn DynRunStore) {
    let key = fresh("lease");
    let lease = begin(store, &key, "r").await;
    store.renew_boxed(&lease).await.expect("the run goes on");
    append(store, &lease, [started("r")]).await;
    let forged = RunLease::new(key.clone(), "r".into(), "0");
    let refused = store.append_boxed(&forged, [delta("x")].into()).await;
    assert!(matches!(refused, Err(AppendError::LeaseLost)), "{refused:?}");
    let refused = store.finish_boxed(forged, [finished("r")].into(), Compaction::Allowed).await;
    let refused = refused.expect_err("not the lease of the run");
    assert!(matches!(refused.error, AppendError::LeaseLost), "{refused:?}");
    assert!(store.renew_boxed(&refused.lease).await.is_err());
    let signal = store.stop_requested_boxed(&refused.lease).await.expect("the store works");
    assert_eq!(signal, StopSignal::LeaseLost);
    let mut follower = follow(store, &key, None).await;
    let failed: Event = RunErrorEvent::new("no").with_code("x").into();
    store
        .finish_boxed(lease, [failed.clone()].into(), Compaction::Allowed)
        .await
        .expect("the run is the lease's");
    assert_eq!(rest(&mut follower).await, [started("r"), failed]);
}

/// A run that is not to be compacted is replayed event for event.
pub async fn unjudged_runs_stay_as_they_are(store: &dyn DynRunStore) {
    let key = fresh("unjudged");
    let lease = begin(store, &key, "r").await;
    append(store, &lease, [delta("a"), delta("b")]).await;
    append(store, &lease, [delta("c")]).await;
    store
        .finish_boxed(lease, [finished("r")].into(), Compaction::Never)
        .await
        .expect("the run is the lease's");
    let events = rest(&mut follow(store, &key, None).await).await;
    assert_eq!(events, [delta("a"), delta("b"), delta("c"), finished("r")]);
}

/// A run whose driver is gone ends for whoever follows it, and its thread is free.
pub async fn a_lost_run_ends_for_its_followers(store: &dyn DynRunStore) {
    // A driver lets its lease go, or dies without a word, which only a store that has leases renewed can notice.
    let losses: [fn(RunLease); 2] = [drop, mem::forget];
    let noticed = if store.renew_interval().is_some() { 2 } else { 1 };
    for lose in losses.into_iter().take(noticed) {
        let key = fresh("lost");
        let lease = begin(store, &key, "r").await;
        append(store, &lease, [started("r")]).await;
        let mut followers = Vec::new();
        for _ in 0..2 {
            let mut follower = follow(store, &key, None).await;
            assert_eq!(recorded(&mut follower).await.0, [started("r")]);
            followers.push(follower);
        }
        lose(lease);
        for events in join_all(followers.iter_mut().map(rest)).await {
            assert_eq!(events, [replay::lost()]);
        }
        let next = begin(store, &key, "next").await;
        finish(store, next).await;
        let events = rest(&mut follow(store, &key, None).await).await;
        assert_eq!(events, [started("r"), replay::lost(), finished("next")]);
    }
}

/// A thread that was given up is unknown, and none is given up whose run is in progress.
///
/// `pass` brings about that idle threads are given up, by time that goes by or by others that need the room. It is asked
/// again and again, with the lease of the run in progress renewed in between, until it says false.
///
/// # Panics
/// The store departs from the contract.
pub async fn only_idle_threads_are_given_up(store: &dyn DynRunStore, mut pass: impl AsyncFnMut() -> bool) {
    let (idle, busy) = (fresh("idle"), fresh("busy"));
    for key in [&idle, &busy] {
        let lease = begin(store, key, "one").await;
        append(store, &lease, [started("one")]).await;
        finish(store, lease).await;
    }
    let end = store.thread_boxed(&idle).await.expect("the store works").expect("the thread is known").end;
    let lease = begin(store, &busy, "two").await;
    append(store, &lease, [started("two")]).await;
    while pass().await {
        store.renew_boxed(&lease).await.expect("the run goes on");
    }

    assert!(store.thread_boxed(&idle).await.expect("the store works").is_none());
    assert!(store.follow_boxed(&idle, None).await.expect("the store works").is_none());
    let refused = store.follow_boxed(&idle, Some(&end)).await;
    assert!(matches!(refused, Err(FollowError::CursorExpired)), "{refused:?}");
    let stop = store.request_stop_boxed(&idle, None).await.expect("the store works");
    assert_eq!(stop, StopOutcome::Idle);

    let mut expected = vec![started("one"), finished("one"), started("two")];
    let mut follower = follow(store, &busy, None).await;
    assert_eq!(recorded(&mut follower).await.0, expected);
    append(store, &lease, [delta("a")]).await;
    finish(store, lease).await;
    assert_eq!(rest(&mut follower).await, [delta("a"), finished("two")]);
    expected.extend([delta("a"), finished("two")]);
    assert_eq!(rest(&mut follow(store, &busy, None).await).await, expected);

    // Nothing of it is left: it is anybody's, and its ids are new.
    let run = NewRun::new("one").with_owner("somebody");
    let lease = store.begin_boxed(&idle, run).await.expect("a new thread");
    finish(store, lease).await;
    assert_eq!(rest(&mut follow(store, &idle, None).await).await, [finished("one")]);
}
