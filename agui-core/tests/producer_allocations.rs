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
