//! What the run does not take, and what becomes of it.

use agui_core::producer::{Run, RunEnd, RunError, RunLimits, RunSetup, RunWriter, TextStart, WriteError};
use agui_core::{
    CustomEvent, Event, MessageId, RunFinishedEvent, TextMessageChunkEvent, TextMessageContentEvent,
    TextMessageEndEvent, TokenUsage,
};
use serde_json::json;

use crate::{ending, input, serve, short};

type Ended = Result<RunEnd, RunError>;

#[test]
fn a_refusal_passed_on_is_a_protocol_violation() {
    async fn agent(run: Run) -> Ended {
        run.emit(TextMessageEndEvent::new("m")).await?;
        Ok(RunEnd::success())
    }
    let end = ending(agent);
    assert_eq!((&end["type"], &end["code"]), (&json!("RUN_ERROR"), &json!("protocol_violation")));
    assert_ne!(end["message"], RunError::GENERIC_MESSAGE);
}

#[test]
fn a_refusal_that_is_handled_leaves_the_run_as_it_was() {
    let events = serve(RunSetup::new(input()), |run: Run| async move {
        let refused = run.emit(TextMessageContentEvent::new("m", "x")).await.unwrap_err();
        assert_eq!((refused.rule(), refused.code()), (Some("STREAM-1"), Some("protocol_violation")));
        run.text("still there").await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events.len(), 5);
}

/// The two spellings of one item: the message says that they mix, not that something is "already started".
#[test]
fn mixing_the_spellings_of_one_item_is_refused_as_that() {
    async fn agent(run: Run) -> Ended {
        let chunk = || TextMessageChunkEvent::default().with_message_id("m-1").with_delta("a");
        let mut text = run.message().with_id("m-1");
        text.start().await?;
        let refused = run.emit(chunk()).await.unwrap_err();
        assert_eq!(refused.rule(), Some("CHUNK-6"));
        assert!(refused.to_string().contains("mix"), "{refused}");
        text.end().await?;
        // Closed, it may be spoken of in chunks; then they may not be ended by an event.
        run.emit(chunk()).await?;
        let refused = run.emit(TextMessageEndEvent::new("m-1")).await.unwrap_err();
        assert!(refused.to_string().contains("mix"), "{refused}");
        Ok(RunEnd::success())
    }
    assert_eq!(ending(agent)["type"], "RUN_FINISHED");
}

#[test]
fn an_event_over_the_limit_is_refused_and_ends_the_run_when_passed_on() {
    async fn agent(run: Run) -> Ended {
        run.custom("small", "x").await?;
        run.custom("large", "x".repeat(2000)).await?;
        Ok(RunEnd::success())
    }
    let setup = RunSetup::new(input()).with_limits(RunLimits::default().with_max_event_bytes(1000));
    let events = serve(setup, agent);
    assert_eq!(short(&events), ["RUN_STARTED", "CUSTOM small", "RUN_ERROR"]);
    assert_eq!(events[2]["code"], "event_too_large");
}

#[test]
fn the_limit_is_on_the_bytes_of_the_json() {
    // Quotes and controls take more bytes written than read.
    for text in ["x".repeat(300), "\u{0}".repeat(100), "\"".repeat(200), "ä".repeat(150)] {
        let event = Event::from(CustomEvent::new("n", text.clone()));
        let bytes = serde_json::to_vec(&event).unwrap().len();
        let write = |limit: usize| {
            let mut writer = RunWriter::new(input(), Vec::new()).with_max_event_bytes(limit);
            writer.start().unwrap();
            writer.emit(event.clone())
        };
        write(bytes).unwrap();
        let refused = write(bytes - 1).unwrap_err();
        assert!(
            matches!(refused, WriteError::TooLarge { bytes: found, limit } if found == bytes && limit == bytes - 1)
        );
    }
}

#[test]
fn a_whole_message_over_the_limit_is_not_left_open() {
    let setup = RunSetup::new(input()).with_limits(RunLimits::default().with_max_event_bytes(1000));
    let events = serve(setup, |run: Run| async move {
        let refused = run.text("x".repeat(2000)).await.unwrap_err();
        assert_eq!(refused.code(), Some("event_too_large"));
        run.custom("next", 1).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events[2]["type"], "TEXT_MESSAGE_END");
    assert_eq!(events[3]["type"], "CUSTOM");
}

#[test]
fn an_ending_over_the_limit_becomes_one_that_fits() {
    let setup = || RunSetup::new(input()).with_limits(RunLimits::default().with_max_event_bytes(1000));
    let result = serve(setup(), |run: Run| async move {
        run.add_usage(TokenUsage::default().with_input_tokens(3u64));
        Ok(RunEnd::success().with_result("x".repeat(2000)))
    });
    let told = serve(setup(), |run: Run| async move {
        run.add_usage(TokenUsage::default().with_input_tokens(3u64));
        Err(RunError::public("x".repeat(2000)).with_code("quota"))
    });
    for events in [result, told] {
        assert_eq!(events.len(), 2);
        assert_eq!(
            (&events[1]["type"], &events[1]["code"]),
            (&json!("RUN_ERROR"), &json!("event_too_large"))
        );
        assert_eq!(events[1]["usage"], json!([{"inputTokens": 3}]));
        assert!(events[1].to_string().len() <= 1000);
    }
}

#[test]
fn integers_that_no_reader_accepts_do_not_leave() {
    const LIMIT: i64 = 9_007_199_254_740_991;
    let mut writer = RunWriter::new(input(), Vec::new());
    writer.start().unwrap();
    for timestamp in [LIMIT + 1, -LIMIT - 1, i64::MIN, i64::MAX] {
        let refused = writer.emit(CustomEvent::new("n", 1).with_timestamp(timestamp).into()).unwrap_err();
        assert_eq!((refused.rule(), refused.code()), (Some("SHAPE-3"), Some("protocol_violation")));
    }
    for timestamp in [LIMIT, -LIMIT] {
        writer.emit(CustomEvent::new("n", 1).with_timestamp(timestamp).into()).unwrap();
    }
    let usage = TokenUsage::default().with_output_tokens(u64::MAX);
    let finished = RunFinishedEvent::new("t", "r").with_usage(vec![usage.clone()]);
    assert_eq!(writer.emit(finished.into()).unwrap_err().rule(), Some("SHAPE-3"));
    // What the run sums up stays within the bound.
    writer.add_usage(usage);
    writer.finish(RunEnd::success());
    assert_eq!(json!(writer.sink().last())["usage"], json!([{"outputTokens": LIMIT}]));
}

#[test]
fn what_goes_out_unchecked_is_not_judged_and_nothing_is_closed_after_it() {
    let events = serve(RunSetup::new(input()), |run: Run| async move {
        let mut text = run.message().with_id("m");
        text.delta("x").await?;
        run.emit_unchecked(TextMessageContentEvent::new("other", "y")).await?;
        run.attributed_to("red").emit_unchecked(TextMessageEndEvent::new("other")).await?;
        drop(text);
        run.custom("next", 1).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events[2..]),
        [
            "TEXT_MESSAGE_CONTENT m x",
            "TEXT_MESSAGE_CONTENT other y",
            "TEXT_MESSAGE_END other",
            "CUSTOM next",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(events[4].get("subagentRunId"), None);
}

#[test]
fn a_message_id_names_one_message() {
    let mut writer = RunWriter::new(input(), Vec::new());
    writer.start().unwrap();
    let mut scope = writer.parent();
    let id = scope.text(TextStart::new().with_id("m"), "x").unwrap();
    let call = scope.start_tool_call(agui_core::producer::ToolCallStart::new("f")).unwrap();
    scope.end_tool_call(&call).unwrap();
    let refused = scope.tool_result_as(id.clone(), &call, "ok").unwrap_err();
    assert_eq!(refused.rule(), Some("SHAPE-9"));
    assert_eq!(scope.start_reasoning_message(&id).unwrap_err().rule(), Some("SHAPE-9"));
    assert_eq!(
        scope.activity_snapshot(&id, "plan", agui_core::JsonObject::new()).unwrap_err().rule(),
        Some("SHAPE-9")
    );
    let result: MessageId = scope.tool_result(&call, "ok").unwrap();
    // The message that a call gets has the call's id; a tool message cannot be it, nor carry it.
    let same = agui_core::producer::ToolCallStart::new("f").with_id(result.as_str());
    assert_eq!(scope.start_tool_call(same).unwrap_err().rule(), Some("SHAPE-9"));
    let child = agui_core::producer::ToolCallStart::new("f").with_parent_message_id(&result);
    assert_eq!(scope.start_tool_call(child).unwrap_err().rule(), Some("SUB-4"));
}
