//! What closes by itself costs what it closes, not what else is open, and closes in the right order.

use std::sync::Arc;

use agui_core::producer::{RunSetup, WriteError, launch};
use agui_core::{Event, Run, RunAgentInput, RunEnd, RunError, RunHandler};
use futures_executor::block_on;

/// Runs a handler without a reader and gives the bytes it allocated in all.
fn bytes_of(handler: impl RunHandler) -> u64 {
    let launched = launch(Arc::new(handler), RunSetup::new(RunAgentInput::new("t", "r", [])));
    launched.control.detach();
    allocation_counter::measure(|| launched.control.settle(block_on(launched.task))).bytes_total
}

/// Fails unless twice the work takes about twice the bytes; four times is what a look at everything open takes.
fn assert_linear<H: RunHandler>(what: &str, handler: impl Fn(usize) -> H) {
    let (once, twice) = (bytes_of(handler(1000)), bytes_of(handler(2000)));
    assert!(twice < 3 * once, "{what}: {once} bytes, then {twice}");
}

/// Opens a message and keeps its handle.
async fn open(run: &Run) -> Result<agui_core::producer::TextHandle, WriteError> {
    let mut message = run.message();
    message.delta("x").await?;
    Ok(message)
}

#[test]
fn ending_a_subagent_does_not_look_at_the_others() {
    assert_linear("subagents", |count| {
        move |run: Run| async move {
            let mut subagents = Vec::new();
            for _ in 0..count {
                subagents.push(run.subagent("scout").start().await?);
            }
            for subagent in subagents {
                subagent.finish(1).await?;
            }
            Ok(RunEnd::success())
        }
    });
}

#[test]
fn closing_a_dropped_message_does_not_look_at_the_others() {
    assert_linear("messages", |count| {
        move |run: Run| async move {
            let mut kept = Vec::new();
            for _ in 0..count {
                kept.push(open(&run).await?);
            }
            for _ in 0..count {
                drop(open(&run).await?);
            }
            Ok(RunEnd::success())
        }
    });
}

#[test]
fn what_silent_owners_let_go_of_does_not_weigh_on_the_others() {
    assert_linear("owners", |count| {
        move |run: Run| async move {
            for index in 0..count {
                drop(open(&run.attributed_to(format!("s{index}"))).await?);
            }
            for _ in 0..count {
                run.custom("tick", 1).await?;
            }
            Ok(RunEnd::success())
        }
    });
}

/// The events of a handler, by type and by the name or id that tells them apart.
fn events_of(handler: impl RunHandler) -> Vec<String> {
    let mut launched = launch(Arc::new(handler), RunSetup::new(RunAgentInput::new("t", "r", [])));
    block_on(async {
        launched.control.settle(launched.task.await);
        let mut events = Vec::new();
        while let Some(event) = launched.events.next().await {
            let what = match &event {
                Event::TextMessageStart(event) => event.message_id.to_string(),
                Event::TextMessageEnd(event) => event.message_id.to_string(),
                Event::StepFinished(event) => event.step_name.clone(),
                Event::SubagentFinished(event) => event.subagent_run_id.to_string(),
                Event::ToolCallEnd(event) => event.tool_call_id.to_string(),
                Event::Custom(event) => event.name.clone(),
                _ => continue,
            };
            events.push(format!("{} {what}", event.event_type()));
        }
        events
    })
}

#[test]
fn what_is_let_go_of_closes_the_innermost_first_and_once() {
    let events = events_of(|run: Run| async move {
        let outer = run.subagent("outer").with_id("outer").start().await?;
        let step = outer.step("look").await?;
        let inner = outer.subagent("inner").with_id("inner").start().await?;
        let mut message = inner.message().with_id("m1");
        message.delta("x").await?;
        let mut own = run.message().with_id("m2");
        own.delta("x").await?;
        // All at once, in an order of their own; the message is due by itself and with what it is in.
        drop((outer, step, message, inner, own));
        run.custom("next", 1).await?;
        Ok::<_, RunError>(RunEnd::success())
    });
    assert_eq!(
        events[2..],
        [
            "TEXT_MESSAGE_END m2",
            "TEXT_MESSAGE_END m1",
            "SUBAGENT_FINISHED inner",
            "STEP_FINISHED look",
            "SUBAGENT_FINISHED outer",
            "CUSTOM next",
        ]
    );
}

#[test]
fn an_owner_closes_only_what_is_its_own() {
    let events = events_of(|run: Run| async move {
        let (red, blue) = (run.attributed_to("red"), run.attributed_to("blue"));
        for (owner, id) in [(&red, "r1"), (&blue, "b1"), (&run, "p1")] {
            let mut message = owner.message().with_id(id);
            message.delta("x").await?;
        }
        blue.custom("blue speaks", 1).await?;
        run.custom("parent speaks", 1).await?;
        Ok::<_, RunError>(RunEnd::success())
    });
    assert_eq!(
        events[3..],
        [
            "TEXT_MESSAGE_END b1",
            "CUSTOM blue speaks",
            "TEXT_MESSAGE_END p1",
            "CUSTOM parent speaks",
            "TEXT_MESSAGE_END r1",
        ]
    );
}

#[test]
fn a_snapshot_that_moves_an_open_message_moves_its_end() {
    let events = events_of(|run: Run| async move {
        let red = run.subagent("red").with_id("red").start().await?;
        let mut message = run.message().with_id("m1");
        message.delta("x").await?;
        let mut restated = agui_core::AssistantMessage::new("m1");
        restated.subagent_run_id = Some("red".into());
        run.messages_snapshot(vec![restated.into()]).await?;
        red.finish(1).await?;
        run.custom("next", 1).await?;
        drop(message);
        Ok::<_, RunError>(RunEnd::success())
    });
    assert_eq!(events[1..], ["TEXT_MESSAGE_END m1", "SUBAGENT_FINISHED red", "CUSTOM next"]);
}
