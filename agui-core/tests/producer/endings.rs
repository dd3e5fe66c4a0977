//! How a run begins and ends: one start, one ending, everything closed before it, and what it says.

use agui_core::producer::{EventSink, TextStart};
use agui_core::producer::{
    Launched, Run, RunEnd, RunError, RunOutcome, RunSetup, RunWriter, SinkClosed, launch,
};
use agui_core::{
    Event, Interrupt, Interrupts, RunAgentInput, RunErrorEvent, RunFinishedEvent, RunFinishedSuccessOutcome,
    RunStartedEvent, TokenUsage, ToolCallId,
};
use serde_json::{Value, json};

use crate::{ending, input, serve, short};

type Ended = Result<RunEnd, RunError>;

fn io_error() -> std::io::Error {
    std::io::Error::other("postgres://app:pw@db/x refused")
}

/// Opens one of everything and leaves it open.
async fn open_everything(run: &Run) -> Result<impl Sized + use<>, RunError> {
    let mut text = run.message().with_id("m");
    text.delta("x").await?;
    let call = run.tool_call("f").with_id("c");
    call.args("{").await?;
    let mut thought = run.reasoning().with_id("s");
    thought.delta("hm").await?;
    let step = run.step("lookup: whales").await?;
    let scout = run.subagent("scout").with_id("a").start().await?;
    let mut theirs = scout.message().with_id("theirs");
    theirs.delta("x").await?;
    Ok((text, call, thought, step, scout, theirs))
}

const CLOSED: [&str; 7] = [
    "TEXT_MESSAGE_END theirs",
    "SUBAGENT_FINISHED a",
    "STEP_FINISHED lookup: whales",
    "REASONING_MESSAGE_END s",
    "REASONING_END s",
    "TOOL_CALL_END c",
    "TEXT_MESSAGE_END m",
];

#[test]
fn an_early_return_closes_what_is_open() {
    let events = serve(RunSetup::new(input()), |run: Run| async move {
        let _open = open_everything(&run).await?;
        Ok(RunEnd::success())
    });
    let (last, before) = events.split_last().unwrap();
    assert_eq!(short(&before[before.len() - 7..]), CLOSED);
    assert_eq!(last["type"], "RUN_FINISHED");
}

#[test]
fn an_error_closes_what_is_open_and_is_the_last_event() {
    async fn agent(run: Run) -> Ended {
        let _open = open_everything(&run).await?;
        Err(io_error())?;
        Ok(RunEnd::success())
    }
    let events = serve(RunSetup::new(input()), agent);
    let (last, before) = events.split_last().unwrap();
    assert_eq!(short(&before[before.len() - 7..]), CLOSED);
    assert_eq!(
        *last,
        json!({"type": "RUN_ERROR", "message": RunError::GENERIC_MESSAGE, "code": "internal_error"})
    );
}

#[test]
fn handles_kept_beyond_the_run_write_nothing_more() {
    let kept = std::sync::Arc::new(std::sync::Mutex::new(None));
    let keep = std::sync::Arc::clone(&kept);
    let events = serve(RunSetup::new(input()), move |run: Run| {
        let keep = std::sync::Arc::clone(&keep);
        async move {
            let mut text = run.message();
            text.delta("x").await?;
            *keep.lock().unwrap() = Some((text, run));
            Ok(RunEnd::success())
        }
    });
    assert_eq!(events.len(), 5);
    let (mut text, run) = kept.lock().unwrap().take().unwrap();
    assert!(run.is_over());
    let late = futures_executor::block_on(text.delta("y"));
    assert!(matches!(late, Err(agui_core::WriteError::Closed)));
}

#[test]
fn a_public_error_says_what_it_says() {
    let told = |error: fn() -> RunError| ending(move |_: Run| async move { Err(error()) });
    assert_eq!(
        told(|| RunError::public("The quota is used up.").with_code("quota")),
        json!({"type": "RUN_ERROR", "message": "The quota is used up.", "code": "quota"})
    );
    assert_eq!(told(|| RunError::public("No.")), json!({"type": "RUN_ERROR", "message": "No."}));
    assert_eq!(
        told(|| RunError::internal(io_error()).with_public_message("Try later.").with_code("db")),
        json!({"type": "RUN_ERROR", "message": "Try later.", "code": "db"})
    );
    assert_eq!(
        told(|| RunError::internal(io_error()).with_code("db")),
        json!({"type": "RUN_ERROR", "message": RunError::GENERIC_MESSAGE, "code": "db"})
    );
    assert_eq!(RunError::from(io_error()).source().unwrap().to_string(), io_error().to_string());
}

#[test]
fn identity_is_the_inputs() {
    let mut input = RunAgentInput::new("thr/ä", "turn:0007", []);
    input.parent_run_id = Some("turn:0006".into());
    let events = serve(RunSetup::new(input), |_: Run| async { Ok(RunEnd::success()) });
    assert_eq!(
        events,
        [
            json!({"type": "RUN_STARTED", "threadId": "thr/ä", "runId": "turn:0007", "protocolVersion": "1.0",
                   "parentRunId": "turn:0006"}),
            json!({"type": "RUN_FINISHED", "threadId": "thr/ä", "runId": "turn:0007"}),
        ]
    );
}

#[test]
fn a_run_starts_once() {
    let events = serve(RunSetup::new(input()), |run: Run| async move {
        let again = run.emit(RunStartedEvent::new("t", "r")).await.unwrap_err();
        assert_eq!(again.rule(), Some("LIFE-2"));
        Ok(RunEnd::success())
    });
    assert_eq!(events.len(), 2);
}

#[test]
fn the_input_is_echoed_where_that_is_asked_for() {
    let input = input().with_state(json!({"a": null})).with_forwarded_props(json!([null]));
    let setup = || RunSetup::new(input.clone()).with_echoed_input();
    let events = serve(setup(), |_: Run| async { Ok(RunEnd::success()) });
    assert_eq!(events[0]["input"], json!(input));

    // An input beyond the limit cannot be echoed: that is the run's failure, not a frame nobody can read.
    let limits = agui_core::producer::RunLimits::default().with_max_event_bytes(100);
    let handler = |run: Run| async move {
        assert!(matches!(run.text("x").await, Err(agui_core::WriteError::Closed)));
        Ok(RunEnd::success())
    };
    let events = serve(setup().with_limits(limits), handler);
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["type"], &events[0]["code"]), (&json!("RUN_ERROR"), &json!("event_too_large")));
}

#[test]
fn usage_is_summed_per_provider_and_model() {
    let usage = |model: &str, input: u64| TokenUsage::default().with_model(model).with_input_tokens(input);
    let handler = move |run: Run| async move {
        run.add_usage(usage("a", 1));
        run.attributed_to("red").add_usage(usage("b", 10).with_output_tokens(0u64));
        run.add_usage(usage("a", 2).with_provider("p"));
        Ok(RunEnd::success().with_usage([usage("a", 4), usage("a", 8).with_provider("p")]))
    };
    assert_eq!(
        ending(handler)["usage"],
        json!([
            {"model": "a", "inputTokens": 5},
            {"model": "b", "inputTokens": 10, "outputTokens": 0},
            {"provider": "p", "model": "a", "inputTokens": 10},
        ])
    );
    let failing = move |run: Run| async move {
        run.add_usage(usage("a", 1));
        Err(RunError::public("no"))
    };
    assert_eq!(ending(failing)["usage"], json!([{"model": "a", "inputTokens": 1}]));
    assert_eq!(ending(|_: Run| async { Ok(RunEnd::success()) }).get("usage"), None);
}

#[test]
fn calls_without_an_answer_are_named_in_the_order_made() {
    async fn call(run: Run) -> Result<(), RunError> {
        run.tool_call("paint").with_id("c-3").end().await?;
        run.tool_call("clock").with_id("c-2").result("noon").await?;
        let cut_off = run.tool_call("paint").with_id("c-1");
        cut_off.args("{\"col").await?;
        Ok(())
    }
    let success = ending(|run: Run| async move {
        call(run).await?;
        Ok(RunEnd::success().with_result(0))
    });
    assert_eq!(success["outcome"], json!({"type": "success", "pendingToolCallIds": ["c-3", "c-1"]}));
    assert_eq!(success["result"], 0);
    let asking = ending(|run: Run| async move {
        call(run).await?;
        Ok(RunEnd::interrupt(Interrupt::new("i-1", "confirm")))
    });
    assert_eq!(
        asking["outcome"],
        json!({"type": "interrupt", "interrupts": [{"id": "i-1", "reason": "confirm"}]})
    );
    let explicit = ending(|run: Run| async move {
        call(run).await?;
        Ok(RunEnd::with_outcome(RunFinishedSuccessOutcome::new()))
    });
    assert_eq!(explicit["outcome"]["pendingToolCallIds"], json!(["c-3", "c-1"]));
    assert_eq!(ending(|_: Run| async { Ok(RunEnd::success()) }).get("outcome"), None);
}

#[test]
fn pending_calls_that_do_not_fit_end_the_run_as_a_failure_with_its_usage() {
    let failed = ending(|run: Run| async move {
        run.add_usage(TokenUsage::default().with_input_tokens(3u64));
        let named = [ToolCallId::from("c-9")];
        Ok(RunEnd::with_outcome(RunFinishedSuccessOutcome::new().with_pending_tool_call_ids(named)))
    });
    assert_eq!(failed["code"], "protocol_violation");
    assert_eq!(failed["usage"], json!([{"inputTokens": 3}]));
}

#[test]
fn two_interrupts_end_a_run_and_none_or_two_of_one_id_cannot() {
    let both = vec![Interrupt::new("i-1", "a").with_tool_call_id("c-1"), Interrupt::new("i-2", "b")];
    let interrupts = Interrupts::try_from(both).unwrap();
    let end = ending(move |_: Run| {
        let interrupts = interrupts.clone();
        async move { Ok(RunEnd::interrupt(interrupts)) }
    });
    assert_eq!(end["outcome"]["interrupts"].as_array().unwrap().len(), 2);
    assert!(Interrupts::try_from(vec![]).is_err());
    assert!(Interrupts::try_from(vec![Interrupt::new("i", "a"), Interrupt::new("i", "b")]).is_err());

    // A list that was read may hold the same id twice; it does not go out again.
    let read: Interrupts =
        serde_json::from_value(json!([{"id": "i", "reason": "a"}, {"id": "i", "reason": "b"}])).unwrap();
    let end = ending(move |_: Run| {
        let read = read.clone();
        async move { Ok(RunEnd::interrupt(read)) }
    });
    assert_eq!(end["code"], "protocol_violation");
}

#[test]
fn a_cancelled_run_closes_what_is_open_and_has_no_result() {
    let end = ending(|_: Run| async { Ok(RunEnd::cancelled().with_result("half")) });
    assert_eq!(
        end,
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}})
    );

    let mut writer = RunWriter::new(input(), Vec::new());
    writer.start().unwrap();
    writer.parent().start_text(TextStart::new().with_id("m")).unwrap();
    writer.add_usage(TokenUsage::default().with_input_tokens(1u64));
    writer.cancel();
    let events: Vec<Value> = writer.into_sink().iter().map(|event| json!(event)).collect();
    assert_eq!(short(&events[2..]), ["TEXT_MESSAGE_END m", "RUN_FINISHED"]);
    assert_eq!(events[3]["usage"], json!([{"inputTokens": 1}]));
}

#[test]
fn a_result_of_null_is_none() {
    assert_eq!(ending(|_: Run| async { Ok(RunEnd::success().with_result(Value::Null)) }).get("result"), None);
    assert_eq!(ending(|_: Run| async { Ok(RunEnd::success().with_result(false)) })["result"], false);
}

#[test]
fn a_terminal_event_written_as_it_is_ends_the_run() {
    async fn agent(run: Run) -> Ended {
        let text = run.message();
        run.emit(RunErrorEvent::new("broken")).await?;
        assert!(run.is_over());
        assert!(matches!(text.end().await, Err(agui_core::WriteError::Closed)));
        Ok(RunEnd::success())
    }
    let events = serve(RunSetup::new(input()), agent);
    assert_eq!(events.len(), 2);
    assert_eq!(events[1], json!({"type": "RUN_ERROR", "message": "broken"}));
}

#[test]
fn a_finish_written_as_it_is_is_refused_while_something_is_open() {
    async fn agent(run: Run) -> Ended {
        let step = run.step("lookup: whales").await?;
        let refused = run.emit(RunFinishedEvent::new("t", "r")).await.unwrap_err();
        assert_eq!(refused.rule(), Some("LIFE-3"));
        assert!(refused.to_string().contains("lookup: whales"), "{refused}");
        // What nobody holds any more is closed, whoever's it is.
        let mut theirs = run.attributed_to("red").message().with_id("m");
        theirs.delta("x").await?;
        drop((step, theirs));
        run.emit(RunFinishedEvent::new("t", "r").with_result(1)).await?;
        Ok(RunEnd::success().with_result(2))
    }
    let events = serve(RunSetup::new(input()), agent);
    assert_eq!(short(&events[4..]), ["TEXT_MESSAGE_END m", "STEP_FINISHED lookup: whales", "RUN_FINISHED"]);
    assert_eq!(events[6]["result"], 1);
}

#[test]
fn control_says_how_the_run_ended() {
    let outcome = |end: fn() -> Ended| {
        let handler = move |_: Run| async move { end() };
        let Launched { task, control, .. } = launch(std::sync::Arc::new(handler), RunSetup::new(input()));
        assert_eq!(control.outcome(), None);
        control.settle(futures_executor::block_on(task));
        control.outcome().unwrap()
    };
    assert_eq!(outcome(|| Ok(RunEnd::success())), RunOutcome::Finished);
    assert_eq!(outcome(|| Ok(RunEnd::cancelled())), RunOutcome::Cancelled);
    assert_eq!(outcome(|| Err(RunError::public("no"))), RunOutcome::Failed);
}

#[test]
fn a_failure_before_the_start_is_the_only_event() {
    let mut writer = RunWriter::new(input(), Vec::new());
    writer.fail(&RunError::public("not today"));
    assert_eq!(json!(writer.sink()), json!([{"type": "RUN_ERROR", "message": "not today"}]));
    let mut writer = RunWriter::new(input(), Vec::new());
    writer.finish(RunEnd::success());
    assert_eq!(writer.sink().len(), 1);
    assert_eq!(json!(writer.sink()[0])["code"], "protocol_violation");
}

/// A sink that takes a few events and then no more, and counts what it is offered after that.
#[derive(Debug)]
struct Short {
    room: usize,
    offered: usize,
}

impl EventSink for Short {
    fn send(&mut self, _: Event) -> Result<(), SinkClosed> {
        self.offered += 1;
        self.room = self.room.checked_sub(1).ok_or(SinkClosed)?;
        Ok(())
    }
}

#[test]
fn a_sink_that_is_closed_is_offered_nothing_more() {
    for end in [
        |writer: &mut RunWriter<Short>| writer.finish(RunEnd::success()),
        |writer: &mut RunWriter<Short>| {
            writer.fail(&RunError::public("no"));
        },
    ] {
        let mut writer = RunWriter::new(input(), Short { room: 2, offered: 0 });
        writer.start().unwrap();
        writer.parent().start_text(TextStart::new()).unwrap();
        end(&mut writer);
        assert!(writer.is_over());
        assert_eq!(writer.sink().offered, 3);
    }
}
