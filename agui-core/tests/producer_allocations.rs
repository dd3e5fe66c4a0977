//! A text delta costs the application's own string and nothing else, on every way out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use agui_core::producer::{
    Launched, Run, RunEnd, RunLimits, RunSetup, RunWriter, TextStart, ToolCallStart, launch,
};
use agui_core::{Event, RunAgentInput};

const DELTAS: usize = 100_000;

/// A sink that keeps nothing.
fn drop_event(_: Event) {}

fn input() -> RunAgentInput {
    RunAgentInput::new("t", "r", [])
}

/// As many strings as there are deltas, made beforehand.
fn strings() -> Vec<String> {
    (0..DELTAS).map(|_| "token ".to_owned()).collect()
}

#[test]
fn the_writer_passes_an_owned_delta_on_without_an_allocation() {
    let mut writer = RunWriter::new(input(), drop_event);
    writer.start().unwrap();
    let text = writer.parent().start_text(TextStart::new()).unwrap();
    let call = writer.parent().start_tool_call(ToolCallStart::new("f")).unwrap();
    let mut deltas = strings().into_iter();
    let used = allocation_counter::measure(|| {
        let mut scope = writer.parent();
        while let (Some(first), Some(second)) = (deltas.next(), deltas.next()) {
            scope.text_delta(&text, first).unwrap();
            scope.tool_call_args(&call, second).unwrap();
        }
    });
    assert_eq!(used.count_total, 0);
}

#[test]
fn a_borrowed_delta_is_copied_once() {
    let mut writer = RunWriter::new(input(), drop_event);
    writer.start().unwrap();
    let text = writer.parent().start_text(TextStart::new()).unwrap();
    let used = allocation_counter::measure(|| {
        for _ in 0..DELTAS {
            writer.parent().text_delta(&text, "token ").unwrap();
        }
    });
    assert_eq!(used.count_total, DELTAS as u64);
}

/// Through the queue: the handler fills it, waits, the reader takes it, as often as it takes.
fn through_a_run(subagent: bool) -> u64 {
    let deltas = std::sync::Mutex::new(strings());
    let handler = move |run: Run| {
        let deltas = std::mem::take(&mut *deltas.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        async move {
            let owner = if subagent { run.attributed_to("red") } else { run };
            let mut text = owner.message();
            for delta in deltas {
                text.delta(delta).await?;
            }
            text.end().await?;
            Ok(RunEnd::success())
        }
    };
    let limits = RunLimits::default().with_max_queued_events(64);
    let Launched { mut task, mut events, .. } =
        launch(Arc::new(handler), RunSetup::new(input()).with_limits(limits));
    let mut cx = Context::from_waker(Waker::noop());
    let mut taken = Vec::new();
    let mut seen = 0;
    let mut read_until = |limit: usize| {
        while seen < limit {
            assert!(Pin::new(&mut task).poll(&mut cx).is_pending(), "the handler has ended");
            let _ = events.poll_take(&mut cx, &mut taken);
            seen += taken.len();
            taken.clear();
        }
    };
    // The queue and the reader's buffer reach their size, and the message opens.
    read_until(1000);
    allocation_counter::measure(|| read_until(DELTAS - 1000)).count_total
}

#[test]
fn a_run_passes_an_owned_delta_on_without_an_allocation() {
    assert_eq!(through_a_run(false), 0);
}

#[test]
fn so_does_a_subagents() {
    assert_eq!(through_a_run(true), 0);
}

/// What a handler that streams borrowed tokens, and then waits, makes its reader and its queue allocate: on the way, and
/// what they keep in the end, in bytes.
fn through_a_refilled_run(tokens: &'static [&'static str]) -> (u64, i64) {
    let handler = move |run: Run| async move {
        let mut text = run.message();
        for token in tokens.iter().cycle().take(DELTAS) {
            text.delta(*token).await?;
        }
        std::future::pending::<()>().await;
        Ok(RunEnd::success())
    };
    let limits = RunLimits::default().with_max_queued_events(64);
    let Launched { mut task, mut events, .. } =
        launch(Arc::new(handler), RunSetup::new(input()).with_limits(limits));
    let mut cx = Context::from_waker(Waker::noop());
    let mut taken = Vec::new();
    let mut seen = 0;
    let mut read_until = |limit: usize| {
        while seen < limit {
            assert!(Pin::new(&mut task).poll(&mut cx).is_pending(), "the handler has ended");
            // Once for what there is and once to find nothing, as a reader does.
            while events.poll_refill(&mut cx, &mut taken).is_ready() {
                seen += taken.len();
            }
        }
        if limit >= DELTAS {
            taken = Vec::new();
        }
    };
    // The queue, the reader's buffer and the strings reach their size, and the message opens.
    let mut kept = allocation_counter::measure(|| read_until(1000)).bytes_current;
    let streaming = allocation_counter::measure(|| read_until(DELTAS - 1000));
    kept += streaming.bytes_current;
    kept += allocation_counter::measure(|| read_until(DELTAS)).bytes_current;
    (streaming.count_total, kept)
}

#[test]
fn a_reader_that_gives_its_events_back_makes_borrowed_deltas_free() {
    assert_eq!(through_a_refilled_run(&["token ", "a longer token "]).0, 0);
}

#[test]
fn a_run_that_waits_keeps_nothing_of_what_it_has_streamed() {
    let (_, kept) = through_a_refilled_run(&["token "]);
    // The message that is open, and what the sequence knows of it.
    assert!(kept < 4096, "{kept} bytes");
}

#[test]
fn a_long_text_is_not_kept_to_be_used_again() {
    static LONG: [&str; 2] = ["token ", include_str!("producer_allocations.rs")];
    // Every second one is too long, and is what allocates.
    let allocated = through_a_refilled_run(&LONG).0;
    assert!((DELTAS as u64 / 2 - 1000..DELTAS as u64).contains(&allocated), "{allocated}");
}
