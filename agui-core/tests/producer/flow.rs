//! Who waits for whom: backpressure, cancellation, tasks and threads.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use agui_core::producer::{
    CancelReason, Extensions, Launched, Run, RunControl, RunEnd, RunError, RunEvents, RunLimits, RunOutcome,
    RunSetup, RunTask, WriteError, launch,
};
use agui_core::{Event, RunAgentInput};
use futures_util::FutureExt;
use futures_util::future::join;
use serde_json::json;

use crate::{input, serve};

fn limited(events: usize) -> RunSetup {
    RunSetup::new(input()).with_limits(RunLimits::default().with_max_queued_events(events))
}

fn take(events: &mut RunEvents) -> Vec<Event> {
    let mut taken = Vec::new();
    let _ = events.poll_take(&mut Context::from_waker(Waker::noop()), &mut taken);
    taken
}

fn poll(task: &mut (impl Future + Unpin)) -> bool {
    pin!(task).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn a_full_queue_makes_the_handler_wait_and_taking_from_it_lets_it_go_on() {
    let handler = |run: Run| async move {
        for number in 0..100 {
            run.custom("n", number).await?;
        }
        Ok(RunEnd::success())
    };
    let Launched { mut task, mut events, .. } = launch(Arc::new(handler), limited(10));
    let mut seen = 0;
    while !poll(&mut task) {
        // However often it is polled, no more than this waits.
        assert!(!poll(&mut task));
        let taken = take(&mut events);
        assert_eq!(taken.len(), 10);
        seen += taken.len();
    }
    assert_eq!(seen + take(&mut events).len(), 101);
}

/// Polls a run's handler once, takes `RUN_STARTED`, and gives the run with what has to live on.
fn started() -> (Run, RunEvents, RunTask, RunControl) {
    let (give, given) = mpsc::channel();
    let handler = move |run: Run| {
        give.send(run).unwrap();
        std::future::pending::<Result<RunEnd, RunError>>()
    };
    let Launched { mut task, mut events, control, .. } = launch(Arc::new(handler), limited(10));
    assert!(!poll(&mut task));
    assert_eq!(take(&mut events).len(), 1);
    (given.recv().unwrap(), events, task, control)
}

#[test]
fn what_was_written_before_a_closure_panicked_reaches_the_reader_at_once() {
    let (run, mut events, _task, _control) = started();
    let (wait, waiting) = mpsc::channel();
    let (read, reading) = mpsc::channel();
    std::thread::spawn(move || {
        let mut next = pin!(events.next());
        let event = futures_executor::block_on(std::future::poll_fn(|cx| {
            let polled = next.as_mut().poll(cx);
            if polled.is_pending() {
                wait.send(()).unwrap();
            }
            polled
        }));
        read.send(event).unwrap();
    });
    waiting.recv().unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        run.with(|scope| -> Result<(), WriteError> {
            scope.custom("before", 1)?;
            panic!("the application's")
        })
        .now_or_never()
    }));
    assert!(panicked.is_err());
    let event = reading.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(json!(event)["name"], "before");
    // The run goes on.
    assert!(run.custom("after", 2).now_or_never().unwrap().is_ok());
}

#[test]
fn a_panic_while_the_state_is_looked_at_or_changed_leaves_the_run_as_it_was() {
    let (run, mut events, _task, _control) = started();
    let read = catch_unwind(AssertUnwindSafe(|| run.state().read(|_| panic!("the application's"))));
    assert!(read.is_err());
    let change = |state: &mut serde_json::Value| {
        *state = json!({"half": "done"});
        panic!("the application's")
    };
    let updated = catch_unwind(AssertUnwindSafe(|| run.state().update(change).now_or_never()));
    assert!(updated.is_err());
    assert_eq!(run.state().get(), json!({}));
    assert_eq!(take(&mut events), []);
    run.state().set("/n", 1).now_or_never().unwrap().unwrap();
    assert_eq!(take(&mut events).len(), 1);
}

#[test]
fn a_waiting_handler_is_woken_by_the_reader() {
    let handler = |run: Run| async move {
        for number in 0..1000 {
            run.custom("n", number).await?;
        }
        Ok(RunEnd::success())
    };
    // On an executor that polls only what is woken.
    assert_eq!(serve(limited(1), handler).len(), 1002);
    assert_eq!(
        serve(limited(0), |run: Run| async move {
            run.text("x").await.map(|_| RunEnd::success()).map_err(Into::into)
        })
        .len(),
        5
    );
}

#[test]
fn bytes_count_as_well_as_events() {
    let handler = |run: Run| async move {
        for _ in 0..10 {
            run.custom("n", "x".repeat(1000)).await?;
        }
        Ok(RunEnd::success())
    };
    let limits = RunLimits::default().with_max_queued_bytes(3000);
    let Launched { mut task, mut events, .. } =
        launch(Arc::new(handler), RunSetup::new(input()).with_limits(limits));
    let mut batches = Vec::new();
    while !poll(&mut task) {
        batches.push(take(&mut events).len());
    }
    batches.push(take(&mut events).len());
    assert_eq!(batches.iter().sum::<usize>(), 11);
    assert!(batches.iter().all(|batch| *batch <= 4), "{batches:?}");
}

#[test]
fn a_write_given_up_while_it_waits_has_written_nothing() {
    let handler = |run: Run| async move {
        let mut text = run.message().with_id("m");
        assert!(text.delta("lost").now_or_never().is_none(), "there was room");
        text.delta("kept").await?;
        text.end().await?;
        Ok(RunEnd::success())
    };
    let events = serve(limited(1), handler);
    assert_eq!(events[2]["delta"], "kept");
    assert_eq!(events.len(), 5);
}

#[test]
fn closing_the_run_wakes_whoever_waits() {
    let handler = |run: Run| async move {
        match run.custom("n", 1).await {
            Err(WriteError::Closed) => Err(RunError::public("it was closed")),
            other => panic!("{other:?}"),
        }
    };
    let Launched { task, events, control, .. } = launch(Arc::new(handler), limited(1));
    let closer = async {
        // The handler had its turn first and waits: RUN_STARTED fills the queue.
        control.close();
    };
    let (result, ()) = futures_executor::block_on(join(task, closer));
    assert_eq!(result.unwrap_err().public_message(), "it was closed");
    assert_eq!(control.outcome(), Some(RunOutcome::Closed));
    control.settle(Ok(RunEnd::success()));
    assert_eq!(control.outcome(), Some(RunOutcome::Closed));
    let mut events = events;
    assert_eq!(futures_executor::block_on(events.next()), None, "what waited is dropped");
}

#[test]
fn a_reader_is_woken_by_the_ending() {
    let Launched { mut events, control, task, .. } =
        launch(Arc::new(|_: Run| std::future::pending::<Result<RunEnd, RunError>>()), limited(10));
    drop(task);
    let reader = async {
        let mut seen = 0;
        while events.next().await.is_some() {
            seen += 1;
        }
        seen
    };
    let (seen, ()) = futures_executor::block_on(join(reader, async { control.settle_cancelled() }));
    assert_eq!(seen, 2);
}

#[test]
fn a_cancelled_run_tells_its_handler_at_once_and_why() {
    let handler = |run: Run| async move {
        assert!(!run.is_cancelled());
        let token = run.cancellation_token();
        run.cancelled().await;
        assert!(token.is_cancelled());
        assert_eq!(run.cancel_reason(), Some(CancelReason::Stopped));
        // What it says on the way out still goes out.
        run.text("bye").await?;
        Ok(RunEnd::cancelled())
    };
    let Launched { task, mut events, control, .. } = launch(Arc::new(handler), limited(100));
    let stop = async {
        control.cancel(CancelReason::Stopped);
        control.cancel(CancelReason::Shutdown);
        control.cancelled().await;
    };
    let (result, ()) = futures_executor::block_on(join(task, stop));
    assert_eq!(control.cancel_reason(), Some(CancelReason::Stopped), "the first reason stands");
    control.settle(result);
    assert_eq!(control.outcome(), Some(RunOutcome::Cancelled));
    assert_eq!(take(&mut events).len(), 5);
}

#[test]
fn cancelling_ones_own_token_only_signals() {
    let events = serve(limited(10), |run: Run| async move {
        run.cancellation_token().cancel();
        assert!(!run.is_cancelled());
        run.text("x").await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events.len(), 5);
}

#[test]
fn clones_write_from_several_threads() {
    const WRITERS: usize = 4;
    const DELTAS: usize = 500;
    let handler = |run: Run| async move {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let run = run.clone();
                std::thread::spawn(move || {
                    futures_executor::block_on(async {
                        let mut text = run.message().with_id(format!("m{writer}"));
                        for number in 0..DELTAS {
                            text.delta(format!("{number};")).await.unwrap();
                        }
                        text.end().await.unwrap();
                    });
                })
            })
            .collect();
        let joined = async move { threads.into_iter().all(|thread| thread.join().is_ok()) };
        assert!(joined.await);
        Ok(RunEnd::success())
    };
    let Launched { task, mut events, control, .. } = launch(Arc::new(handler), limited(3));
    // The handler blocks its thread, so the reader has another.
    let worker = std::thread::spawn(move || control.settle(futures_executor::block_on(task)));
    let mut said = vec![String::new(); WRITERS];
    futures_executor::block_on(async {
        while let Some(event) = events.next().await {
            if let Event::TextMessageContent(event) = event {
                let writer: usize = event.message_id.as_str()[1..].parse().unwrap();
                said[writer].push_str(&event.delta);
            }
        }
    });
    worker.join().unwrap();
    let expected: String = (0..DELTAS).flat_map(|number| [number.to_string(), ";".to_owned()]).collect();
    assert!(said.iter().all(|said| *said == expected));
}

#[test]
fn everything_of_the_input_and_the_surroundings_reaches_the_handler() {
    #[derive(Debug, PartialEq)]
    struct User(&'static str);
    let input: RunAgentInput = serde_json::from_value(json!({
        "threadId": "t", "runId": "r", "parentRunId": "p", "messages": [{"id": "u", "role": "user", "content": "hi"}],
        "tools": [{"name": "paint", "description": ""}], "context": [{"description": "d", "value": "v"}],
        "state": {"n": 1}, "forwardedProps": {"a": null}, "resume": [{"interruptId": "i", "status": "cancelled"}],
    }))
    .unwrap();
    let expected = input.clone();
    let mut extensions = Extensions::new();
    extensions.insert(User("ada"));
    let events = serve(RunSetup::new(input).with_extensions(extensions), move |run: Run| {
        assert_eq!(run.input(), &expected);
        assert_eq!(run.extensions().get::<User>(), Some(&User("ada")));
        assert!(run.input().is_frontend_tool("paint"));
        async move { Ok(RunEnd::success().with_result(run.state().get())) }
    });
    assert_eq!(events[1]["result"], json!({"n": 1}));
}

#[test]
fn poll_take_and_next_give_one_order() {
    let handler = |run: Run| async move {
        for number in 0..6 {
            run.custom("n", number).await?;
        }
        Ok(RunEnd::success())
    };
    let Launched { task, mut events, control, .. } = launch(Arc::new(handler), limited(100));
    control.settle(futures_executor::block_on(task));
    let mut numbers = Vec::new();
    let mut note = |event: Event| {
        if let Event::Custom(event) = event {
            numbers.push(event.value.as_u64().unwrap());
        }
    };
    futures_executor::block_on(async {
        for _ in 0..3 {
            note(events.next().await.unwrap());
        }
    });
    take(&mut events).into_iter().for_each(&mut note);
    assert_eq!(futures_executor::block_on(events.next()), None);
    assert_eq!(
        events.poll_take(&mut Context::from_waker(Waker::noop()), &mut Vec::new()),
        Poll::Ready(false)
    );
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn refilling_gives_every_event_once_and_as_it_was_written() {
    let tokens = |seed: usize| {
        (0..40 + seed % 7).map(move |at| match (seed + at) % 5 {
            0 => String::new(),
            1 => "\u{1f980}".repeat((seed * at) % 40),
            2 => "x".repeat((seed * 37 + at) % 2500),
            _ => format!("{seed}.{at} "),
        })
    };
    for seed in 1..60 {
        let handler = move |run: Run| async move {
            let (mut text, mut thought) = (run.message().with_id("m"), run.reasoning().with_id("t"));
            let call = run.tool_call("f").with_id("c");
            for (at, token) in tokens(seed).enumerate() {
                match (seed + at) % 4 {
                    0 => text.delta(&token).await?,
                    1 => text.delta(token).await?,
                    2 => thought.delta(token.as_str()).await?,
                    _ => call.args(token).await?,
                }
                if (seed * at) % 11 == 3 {
                    run.custom("between", at).await?;
                    give_way().await;
                }
            }
            Ok(RunEnd::success())
        };
        let limits = RunLimits::default().with_max_queued_events(1 + seed % 9);
        let setup = || RunSetup::new(input()).with_limits(limits);
        let read = |refill: bool| {
            let Launched { mut task, mut events, control, .. } = launch(Arc::new(handler), setup());
            let mut cx = Context::from_waker(Waker::noop());
            let (mut seen, mut buffer, mut over) = (Vec::new(), Vec::new(), false);
            for turn in 0.. {
                assert!(turn < 100_000, "the run is stuck");
                if !over && let Poll::Ready(end) = Pin::new(&mut task).poll(&mut cx) {
                    control.settle(end);
                    over = true;
                }
                loop {
                    let polled = if refill {
                        events.poll_refill(&mut cx, &mut buffer)
                    } else {
                        buffer.clear();
                        events.poll_take(&mut cx, &mut buffer)
                    };
                    match polled {
                        Poll::Ready(true) => seen.extend(buffer.iter().map(|event| json!(event))),
                        Poll::Ready(false) => return seen,
                        Poll::Pending => break,
                    }
                    // Now and then the reader comes back to a queue that has been filled again.
                    if turn % 3 == 0 {
                        break;
                    }
                }
            }
            seen
        };
        assert_eq!(read(true), read(false), "seed {seed}");
    }
}

async fn give_way() {
    let mut given = false;
    std::future::poll_fn(
        |_| if std::mem::replace(&mut given, true) { Poll::Ready(()) } else { Poll::Pending },
    )
    .await;
}

const fn send<T: Send>(_: &T) {}

#[test]
fn runs_are_shared_between_threads_and_their_futures_move_between_them() {
    const fn shared<T: Clone + Send + Sync + 'static>() {}
    const fn moved<T: Send + 'static>() {}
    shared::<Run>();
    shared::<RunControl>();
    moved::<RunTask>();
    moved::<RunEvents>();
    moved::<RunError>();
    moved::<WriteError>();
    const { assert!(size_of::<Event>() <= 128) };

    let agent = async |run: Run| {
        let mut text = run.message();
        send(&text.delta("x"));
        send(&text.end());
        let call = run.tool_call("f");
        send(&call.args("x"));
        send(&call.end());
        send(&call.result("x"));
        send(&run.reasoning().end());
        send(&run.step("s"));
        send(&run.state().set("/x", 1));
        send(&run.state().update(|_| {}));
        send(&run.activity("a").snapshot(agui_core::JsonObject::new()));
        send(&run.subagent("s").start());
        send(&run.emit(agui_core::CustomEvent::new("n", 1)));
        send(&run.with(|scope| scope.custom("n", 1)));
        send(&run.cancelled());
    };
    let _ = agent;
}
