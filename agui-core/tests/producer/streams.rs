//! Handlers that pass on a stream of events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use agui_core::Event;
use agui_core::producer::{
    Launched, Run, RunError, RunHandler, RunSetup, StreamHandler, handler_from_stream, launch,
};
use futures_util::stream;
use serde_json::{Value, json};

use crate::{input, serve, short};

type EventStream = stream::Iter<std::vec::IntoIter<Result<Event, RunError>>>;

/// A handler whose stream gives these events.
fn own(events: &Value) -> StreamHandler<impl Fn(Run) -> EventStream + Send + Sync + 'static + use<>> {
    let events: Vec<Event> = serde_json::from_value(events.clone()).unwrap();
    handler_from_stream(move |_: Run| stream::iter(events.iter().cloned().map(Ok).collect::<Vec<_>>()))
}

fn served(handler: impl RunHandler) -> Vec<Value> {
    serve(RunSetup::new(input()), handler)
}

#[test]
fn a_stream_that_simply_ends_has_completed() {
    let events = served(own(&json!([{"type": "TEXT_MESSAGE_START", "messageId": "m"}])));
    assert_eq!(short(&events), ["RUN_STARTED", "TEXT_MESSAGE_START m", "TEXT_MESSAGE_END m", "RUN_FINISHED"]);
    assert_eq!(short(&served(own(&json!([])))), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[test]
fn a_forwarded_stream_that_simply_ends_was_cut_off() {
    let events = served(own(&json!([{"type": "RUN_STARTED", "threadId": "x", "runId": "y"}])).forwarded());
    assert_eq!(short(&events), ["RUN_STARTED", "RUN_ERROR"]);
    assert_eq!(events[1]["message"], RunError::GENERIC_MESSAGE);
}

#[test]
fn boundaries_carry_the_ids_of_the_input() {
    let events = served(
        own(&json!([
            {"type": "RUN_STARTED", "threadId": "theirs", "runId": "theirs"},
            {"type": "CUSTOM", "name": "n", "value": null},
            {"type": "RUN_FINISHED", "threadId": "theirs", "runId": "theirs", "result": [1],
             "usage": [{"inputTokens": 3}]},
            {"type": "CUSTOM", "name": "late", "value": null},
        ]))
        .forwarded(),
    );
    assert_eq!(short(&events), ["RUN_STARTED", "CUSTOM n", "RUN_FINISHED"]);
    assert_eq!(
        events[2],
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": [1], "usage": [{"inputTokens": 3}]})
    );
}

#[test]
fn outcomes_pass_through_and_pending_calls_are_found() {
    for outcome in [
        json!({"type": "cancelled"}),
        json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "a"}]}),
    ] {
        let finished = json!([{"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome}]);
        assert_eq!(served(own(&finished).forwarded())[1]["outcome"], outcome);
    }
    let events = served(own(&json!([
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}},
    ])));
    assert_eq!(events[3]["outcome"], json!({"type": "success", "pendingToolCallIds": ["c"]}));
}

#[test]
fn an_error_event_passes_through_as_it_is() {
    let events = served(
        own(&json!([
            {"type": "TEXT_MESSAGE_START", "messageId": "m"},
            {"type": "RUN_ERROR", "message": "quota used up", "code": "quota", "usage": [{"inputTokens": 3}]},
        ]))
        .forwarded(),
    );
    let (last, before) = events.split_last().unwrap();
    assert_eq!(short(before), ["RUN_STARTED", "TEXT_MESSAGE_START m", "TEXT_MESSAGE_END m"]);
    assert_eq!(
        *last,
        json!({"type": "RUN_ERROR", "message": "quota used up", "code": "quota", "usage": [{"inputTokens": 3}]})
    );
    let bare = served(own(&json!([{"type": "RUN_ERROR", "message": "no"}])));
    assert_eq!(bare[1], json!({"type": "RUN_ERROR", "message": "no"}));
}

#[test]
fn an_error_of_the_stream_is_the_runs() {
    let handler = handler_from_stream(|_: Run| {
        stream::iter([Err::<Event, RunError>(RunError::public("gone").with_code("upstream"))])
    });
    assert_eq!(served(handler)[1], json!({"type": "RUN_ERROR", "message": "gone", "code": "upstream"}));
    let hidden = handler_from_stream(|_: Run| stream::iter([Err::<Event, _>(std::io::Error::other("pw"))]));
    assert_eq!(served(hidden)[1]["message"], RunError::GENERIC_MESSAGE);
}

#[test]
fn what_breaks_the_order_is_caught_here() {
    let violations = [
        json!([{"type": "TEXT_MESSAGE_END", "messageId": "m"}]),
        json!([{"type": "CUSTOM", "name": "n", "value": 1}, {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}]),
        json!([{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}]),
    ];
    for violation in violations {
        assert_eq!(served(own(&violation)).last().unwrap()["code"], "protocol_violation");
    }
}

#[test]
fn a_forwarded_end_with_items_open_is_no_success() {
    let open = json!([
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]);
    assert_eq!(served(own(&open).forwarded()).last().unwrap()["code"], "protocol_violation");
    // One's own is closed.
    assert_eq!(served(own(&open)).last().unwrap()["type"], "RUN_FINISHED");
}

#[test]
fn a_forwarded_run_of_chunks_finishes() {
    let events = served(
        own(&json!([
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"},
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
        ]))
        .forwarded(),
    );
    assert_eq!(events.len(), 4);
    assert_eq!(events[3]["type"], "RUN_FINISHED");
}

#[test]
fn a_panic_is_not_swallowed_and_the_run_can_still_be_ended() {
    fn settled(handler: impl RunHandler) -> Vec<Event> {
        let Launched { task, mut events, control, .. } = launch(Arc::new(handler), RunSetup::new(input()));
        let mut task = Box::pin(task);
        let mut cx = Context::from_waker(Waker::noop());
        let panicked = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut cx))).is_err();
        assert!(panicked, "the panic did not come out of polling the run");
        drop(task);
        control.settle_failed(&RunError::internal("panicked"));
        let mut taken = Vec::new();
        let _ = events.poll_take(&mut cx, &mut taken);
        taken
    }
    // Without the hook's message among the output of the tests.
    fn fall() -> ! {
        std::panic::resume_unwind(Box::new("secret"))
    }
    let streamed = settled(handler_from_stream(|_: Run| {
        stream::poll_fn(|_| -> Poll<Option<Result<Event, RunError>>> { fall() })
    }));
    assert_eq!(json!(streamed.last())["type"], "RUN_ERROR");
    let written = settled(|run: Run| async move {
        let mut text = run.message().with_id("m");
        text.delta("x").await?;
        // Also while the run is locked.
        run.with(|_| fall()).await?;
        Ok(agui_core::RunEnd::success())
    });
    let written: Vec<Value> = written.iter().map(|event| json!(event)).collect();
    assert_eq!(short(&written[3..]), ["TEXT_MESSAGE_END m", "RUN_ERROR"]);
    assert!(!json!(written).to_string().contains("secret"));
}
