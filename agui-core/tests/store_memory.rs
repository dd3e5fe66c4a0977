//! The memory store at its limits, and what it does with runs that have ended.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

use agui_core::store::{
    AppendError, BeginError, Compaction, EventBatch, FollowError, Followed, Follower, MemoryLimits,
    MemoryRunStore, NewRun, RunLease, RunStore, ThreadKey,
};
use agui_core::{
    CustomEvent, Event, EventType, Message, RunAgentInput, RunErrorEvent, RunFinishedEvent, RunStartedEvent,
    StateSnapshotEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent, UserMessage,
};
use futures_executor::block_on;

fn thread(name: &str) -> ThreadKey {
    ThreadKey::new("agent", name)
}

fn begin(store: &MemoryRunStore, key: &ThreadKey, run: &str) -> RunLease {
    block_on(store.begin(key, NewRun::new(run))).unwrap()
}

fn append(
    store: &MemoryRunStore,
    lease: &RunLease,
    events: impl Into<EventBatch>,
) -> Result<(), AppendError> {
    block_on(store.append(lease, events.into()))
}

fn finish(store: &MemoryRunStore, lease: RunLease) {
    let ending: Event = RunFinishedEvent::new("t", lease.run_id()).into();
    block_on(store.finish(lease, [ending].into(), Compaction::Allowed)).unwrap();
}

fn started(run: &str) -> Event {
    RunStartedEvent::new("t", run).into()
}

fn delta(text: &str) -> Event {
    TextMessageContentEvent::new("m", text).into()
}

fn message(text: &[&str]) -> Vec<Event> {
    let mut events = vec![TextMessageStartEvent::new("m").into()];
    events.extend(text.iter().map(|text| delta(text)));
    events.push(TextMessageEndEvent::new("m").into());
    events
}

/// A whole run with some text.
fn run(store: &MemoryRunStore, key: &ThreadKey, run: &str, bytes: usize) {
    let lease = begin(store, key, run);
    append(store, &lease, [started(run), delta(&"x".repeat(bytes))]).unwrap();
    finish(store, lease);
}

fn follow(store: &MemoryRunStore, key: &ThreadKey) -> Follower {
    block_on(store.follow(key, None)).unwrap().unwrap()
}

fn rest(follower: &mut Follower) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(page) = block_on(follower.next_page()).unwrap() {
        events.extend(page.events.iter().cloned());
    }
    events
}

fn replayed(store: &MemoryRunStore, key: &ThreadKey) -> Vec<Event> {
    rest(&mut follow(store, key))
}

fn is_known(store: &MemoryRunStore, key: &ThreadKey) -> bool {
    block_on(store.thread(key)).unwrap().is_some()
}

fn bytes(store: &MemoryRunStore) -> usize {
    usize::try_from(block_on(store.figures()).unwrap().bytes).unwrap()
}

#[test]
fn a_run_beyond_its_cap_is_told_so_and_can_still_fail() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_run_bytes(10_000));
    let key = thread("t");
    let lease = begin(&store, &key, "r");
    append(&store, &lease, [started("r")]).unwrap();
    let mut watcher = follow(&store, &key);
    let refused = append(&store, &lease, [delta("a"), delta(&"x".repeat(10_000))]);
    assert!(matches!(refused, Err(AppendError::RecordFull)), "{refused:?}");
    // Nothing of the batch is there, and what fits still does.
    append(&store, &lease, [delta("b")]).unwrap();
    let large: Event = RunFinishedEvent::new("t", "r").with_result("x".repeat(10_000)).into();
    let refused = block_on(store.finish(lease, [large].into(), Compaction::Allowed)).unwrap_err();
    assert!(matches!(refused.error, AppendError::RecordFull));
    let full: Event = RunErrorEvent::new("The record is full.").with_code("record_full").into();
    block_on(store.finish(refused.lease, [full.clone()].into(), Compaction::Allowed)).unwrap();
    assert_eq!(rest(&mut watcher), [started("r"), delta("b"), full]);
}

#[test]
fn idle_threads_make_room_those_used_longest_ago_first() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_threads(3));
    for name in ["a", "b", "c"] {
        run(&store, &thread(name), "r", 1);
    }
    replayed(&store, &thread("a"));
    run(&store, &thread("d"), "r", 1);
    let known = ["a", "b", "c", "d"].map(|name| is_known(&store, &thread(name)));
    assert_eq!(known, [true, false, true, true]);
}

#[test]
fn a_thread_that_is_read_goes_after_those_that_are_not_and_its_reader_is_told() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_threads(2));
    run(&store, &thread("read"), "r", 1);
    let mut reader = follow(&store, &thread("read"));
    run(&store, &thread("b"), "r", 1);
    let c = begin(&store, &thread("c"), "r");
    assert!(is_known(&store, &thread("read")) && !is_known(&store, &thread("b")));
    // Nothing else is left to go.
    let d = begin(&store, &thread("d"), "r");
    assert!(!is_known(&store, &thread("read")));
    assert!(block_on(reader.next()).is_err());
    assert!(block_on(reader.next()).unwrap().is_none());
    finish(&store, c);
    finish(&store, d);
}

#[test]
fn a_run_in_progress_is_never_given_up_and_no_other_begins_beyond_the_bound() {
    let limits = MemoryLimits::default().with_max_bytes(100_000).with_grant_bytes(20_000);
    let store = MemoryRunStore::new(limits);
    let mut leases = Vec::new();
    let refused = loop {
        let key = thread(&leases.len().to_string());
        match block_on(store.begin(&key, NewRun::new("r"))) {
            Ok(lease) => leases.push(lease),
            Err(error) => break error,
        }
        assert!(bytes(&store) <= 100_000);
    };
    assert!(matches!(refused, BeginError::Full), "{refused}");
    assert_eq!(leases.len(), 4);
    // What was set aside is there to be used; beyond it, the run that wants more is told.
    for lease in &leases {
        append(&store, lease, [delta(&"x".repeat(15_000))]).unwrap();
    }
    let more = append(&store, &leases[0], [delta(&"x".repeat(30_000))]);
    assert!(matches!(more, Err(AppendError::RecordFull)), "{more:?}");
    assert!(bytes(&store) <= 100_000);
    // An ended run frees what it did not use, and goes when room is needed.
    finish(&store, leases.pop().unwrap());
    finish(&store, leases.pop().unwrap());
    append(&store, &leases[0], [delta(&"x".repeat(30_000))]).unwrap();
    for at in 0..leases.len() {
        assert!(is_known(&store, &thread(&at.to_string())));
    }
    assert!(bytes(&store) <= 100_000);
}

#[test]
fn ten_thousand_finished_runs_stay_inside_the_bound() {
    let limits = MemoryLimits::default().with_max_bytes(2_000_000).with_max_threads(500);
    let store = MemoryRunStore::new(limits);
    let kept = thread("kept");
    let lease = begin(&store, &kept, "r");
    append(&store, &lease, [started("r")]).unwrap();
    for at in 0..10_000 {
        run(&store, &thread(&(at % 900).to_string()), &at.to_string(), at % 3_000);
        assert!(bytes(&store) <= 2_000_000);
    }
    let figures = block_on(store.figures()).unwrap();
    assert!(figures.threads <= 500 && figures.runs > 400, "{figures:?}");
    assert_eq!(figures.active_runs, 1);
    finish(&store, lease);
    assert_eq!(replayed(&store, &kept).len(), 2);
}

#[test]
fn the_figures_are_no_less_than_what_is_held() {
    let store = MemoryRunStore::default();
    // The first run pays for what the store itself needs.
    run(&store, &thread("first"), "r", 1);
    let before = bytes(&store);
    let events = || {
        let input = RunAgentInput::new("t", "r", [Message::from(UserMessage::new("q", "Where to?"))]);
        let mut events = vec![RunStartedEvent::new("t", "r").with_input(Box::new(input)).into()];
        for at in 0..200 {
            let id = format!("message-{at}");
            events.push(TextMessageStartEvent::new(id.as_str()).into());
            events.push(TextMessageContentEvent::new(id.as_str(), "word ").with_timestamp(at).into());
            events.push(TextMessageEndEvent::new(id.as_str()).into());
            events.push(CustomEvent::new("c", serde_json::json!({"a": [1, 2, {"b": "c"}], "d": at})).into());
            events.push(StateSnapshotEvent::new(serde_json::json!({"plan": [{"at": at}]})).into());
        }
        events
    };
    let mut lease = None;
    let held = allocation_counter::measure(|| {
        let begun = begin(&store, &thread("second"), "r");
        for event in events() {
            append(&store, &begun, [event]).unwrap();
        }
        lease = Some(begun);
    });
    let counted = bytes(&store) - before;
    let held = usize::try_from(held.bytes_current).unwrap();
    assert!(held <= counted, "{held} bytes are held, {counted} counted");
    // Maps that keep the order of their keys take less.
    assert!(counted <= 4 * held, "{held} bytes are held, {counted} counted");
}

#[test]
fn the_ids_of_runs_and_the_names_of_owners_are_counted() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_bytes(1_000_000).with_grant_bytes(1));
    let mut leases = Vec::new();
    let refused = loop {
        let at = leases.len();
        let run = NewRun::new(format!("{at}{}", "x".repeat(80_000))).with_owner("o".repeat(20_000));
        match block_on(store.begin(&thread(&at.to_string()), run)) {
            Ok(lease) => leases.push(lease),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, BeginError::Full), "{refused}");
    assert_eq!(leases.len(), 9);
    drop(leases);
    // What is compacted is still counted whole.
    assert!((900_000..1_000_000).contains(&bytes(&store)), "{}", bytes(&store));
    for at in 9..30 {
        let long = NewRun::new("x".repeat(80_000)).with_owner("o".repeat(20_000));
        drop(block_on(store.begin(&thread(&at.to_string()), long)).unwrap());
        assert!(bytes(&store) <= 1_000_000);
    }
}

#[test]
fn followers_are_counted_whether_a_run_is_in_progress_or_not() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_followers(2));
    let key = thread("t");
    let lease = begin(&store, &key, "r");
    let first = follow(&store, &key);
    let _second = follow(&store, &key);
    assert!(matches!(block_on(store.follow(&key, None)), Err(FollowError::TooManyFollowers)));
    drop(first);
    let third = follow(&store, &key);
    finish(&store, lease);
    assert!(matches!(block_on(store.follow(&key, None)), Err(FollowError::TooManyFollowers)));
    drop(third);
    let _fourth = follow(&store, &key);
    assert_eq!(block_on(store.figures()).unwrap().followers, 2);
}

#[test]
fn an_ended_run_is_compacted_once_nobody_reads_it() {
    let store = MemoryRunStore::default();
    let key = thread("t");
    let lease = begin(&store, &key, "r");
    append(&store, &lease, [started("r")]).unwrap();
    let mut slow = follow(&store, &key);
    block_on(slow.next_page()).unwrap().unwrap();
    for event in message(&["a", "b", "c"]) {
        append(&store, &lease, [event]).unwrap();
    }
    finish(&store, lease);
    let before = bytes(&store);
    assert_eq!(replayed(&store, &key).len(), 7);
    let ending: Event = RunFinishedEvent::new("t", "r").into();
    assert_eq!(rest(&mut slow), [message(&["a", "b", "c"]), vec![ending.clone()]].concat());
    drop(slow);
    assert_eq!(replayed(&store, &key), [vec![started("r")], message(&["abc"]), vec![ending]].concat());
    assert!(bytes(&store) < before);
}

#[test]
fn a_cursor_into_a_compacted_run_is_expired_and_one_behind_it_is_not() {
    let store = MemoryRunStore::default();
    let key = thread("t");
    let lease = begin(&store, &key, "one");
    append(&store, &lease, [started("one")]).unwrap();
    let inside = block_on(store.thread(&key)).unwrap().unwrap().end;
    let mut follower = follow(&store, &key);
    finish(&store, lease);
    let mut behind = None;
    while let Some(page) = block_on(follower.next_page()).unwrap() {
        behind = Some(page.cursor);
    }
    drop(follower);
    run(&store, &key, "two", 1);
    assert!(matches!(block_on(store.follow(&key, Some(&inside))), Err(FollowError::CursorExpired)));
    let mut after = block_on(store.follow(&key, behind.as_ref())).unwrap().unwrap();
    assert_eq!(rest(&mut after).first(), Some(&started("two")));
}

#[test]
fn the_oldest_runs_of_a_thread_give_way_to_snapshots() {
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_runs_per_thread(2));
    let key = thread("t");
    let mut messages: Vec<Message> = Vec::new();
    for at in 0..5 {
        let run = format!("r{at}");
        messages.push(UserMessage::new(format!("q{at}"), "?").into());
        let input = RunAgentInput::new("t", run.as_str(), messages.clone());
        let answer = format!("a{at}");
        let lease = begin(&store, &key, &run);
        let events = [
            RunStartedEvent::new("t", run.as_str()).with_input(Box::new(input)).into(),
            TextMessageStartEvent::new(answer.as_str()).into(),
            TextMessageContentEvent::new(answer.as_str(), "!").into(),
            TextMessageEndEvent::new(answer.as_str()).into(),
            Event::from(StateSnapshotEvent::new(at)),
        ];
        append(&store, &lease, events).unwrap();
        finish(&store, lease);
        messages.push(agui_core::AssistantMessage::new(answer).with_content("!").into());
    }
    let record = block_on(store.thread(&key)).unwrap().unwrap();
    let ids: Vec<_> = record.runs.iter().map(|run| run.run_id.as_str()).collect();
    assert_eq!(ids, ["r3", "r4"]);
    let events = replayed(&store, &key);
    let types: Vec<_> = events.iter().take(4).map(Event::event_type).collect();
    assert_eq!(
        types,
        [
            EventType::RunStarted,
            EventType::MessagesSnapshot,
            EventType::StateSnapshot,
            EventType::TextMessageStart
        ]
    );
    let mut replay = agui_core::store::replay::Replay::new();
    let mut sent = Vec::new();
    for event in &events {
        replay.feed(event, &mut sent);
    }
    assert_eq!(replay.conversation().to_messages(), messages);
    assert_eq!(*replay.conversation().state(), 4);
    assert_eq!(events[2], StateSnapshotEvent::new(2).into());
}

#[test]
fn a_run_whose_lease_is_dropped_ends_for_everybody() {
    let store = MemoryRunStore::default();
    let key = thread("t");
    let lease = begin(&store, &key, "r");
    append(&store, &lease, [started("r")]).unwrap();
    let mut follower = follow(&store, &key);
    while let Followed::Page(_) = block_on(follower.next()).unwrap().unwrap() {}
    drop(lease);
    let events = rest(&mut follower);
    let [Event::RunError(lost)] = &*events else { panic!("{events:?}") };
    assert_eq!(lost.code.as_deref(), Some("producer_lost"));
    finish(&store, begin(&store, &key, "next"));
}

#[test]
fn a_lease_of_one_store_is_nothing_to_another() {
    let (one, other) = (MemoryRunStore::default(), MemoryRunStore::default());
    let lease = begin(&one, &thread("t"), "r");
    let _twin = begin(&other, &thread("t"), "r");
    let refused = append(&other, &lease, [started("r")]);
    assert!(matches!(refused, Err(AppendError::LeaseLost)), "{refused:?}");
}

#[test]
fn readers_on_many_threads_see_the_run_once_and_whole() {
    const EVENTS: usize = 5_000;
    let store = MemoryRunStore::new(MemoryLimits::default().with_max_followers(200));
    let key = thread("t");
    let lease = begin(&store, &key, "r");
    append(&store, &lease, [started("r")]).unwrap();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let (store, key) = (store.clone(), key.clone());
                scope.spawn(move || {
                    // Fifty of each, which join while the run goes on.
                    let readers = (0..50).map(|_| {
                        let mut follower = follow(&store, &key);
                        std::thread::yield_now();
                        async move {
                            let mut events = Vec::new();
                            while let Some(page) = follower.next_page().await.unwrap() {
                                events.extend(page.events.iter().cloned());
                            }
                            events
                        }
                    });
                    block_on(futures_util::future::join_all(readers))
                })
            })
            .collect();
        let mut expected = vec![started("r")];
        for at in 0..EVENTS {
            let event = delta(&at.to_string());
            append(&store, &lease, [event.clone()]).unwrap();
            expected.push(event);
        }
        finish(&store, lease);
        expected.push(RunFinishedEvent::new("t", "r").into());
        let expected = agui_core::store::compact(&expected);
        for reader in readers {
            for events in reader.join().unwrap() {
                // Whoever came late may have found the run compacted.
                assert_eq!(agui_core::store::compact(&events), expected);
            }
        }
    });
}

#[test]
fn a_run_says_whether_it_wrote_what_nobody_judged() {
    use agui_core::producer::{RunSetup, launch};
    use agui_core::{Run, RunEnd};

    for unjudged in [false, true] {
        let handler = move |run: Run| async move {
            run.text("one").await?;
            if unjudged {
                run.emit_unchecked(delta("two")).await?;
            }
            Ok(RunEnd::success())
        };
        let setup = RunSetup::new(RunAgentInput::new("t", "r", []));
        let launched = launch(std::sync::Arc::new(handler), setup);
        launched.control.settle(block_on(launched.task));
        assert_eq!(launched.control.is_unchecked(), unjudged);
    }
}
