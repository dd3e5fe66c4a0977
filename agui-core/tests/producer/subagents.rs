//! Subagents: attribution, nesting, and how an invocation ends.

use agui_core::producer::{Run, RunEnd};
use agui_core::{MessageId, TextMessageChunkEvent};
use serde_json::json;

use crate::{between, short};

#[test]
fn a_subagents_events_carry_its_id() {
    let events = between(|run: Run| async move {
        let scout = run
            .subagent("scout")
            .with_id("s1")
            .with_description("looks ahead")
            .with_parent_tool_call_id("c")
            .with_parent_message_id("m")
            .start()
            .await?;
        scout.text("x").await?;
        scout.step("look").await?.finish().await?;
        scout.run().clone().state().set("/seen", true).await?;
        run.custom("ours", 1).await?;
        scout.finish(json!({"found": 3})).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        events[0],
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "scout", "description": "looks ahead",
               "parentToolCallId": "c", "parentMessageId": "m"})
    );
    assert!(events[1..7].iter().all(|event| event["subagentRunId"] == "s1"), "{events:#?}");
    assert_eq!(events[7].get("subagentRunId"), None);
    assert_eq!(
        events[8],
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s1", "result": {"found": 3}})
    );
}

#[test]
fn what_a_subagent_has_open_is_closed_before_it_ends() {
    let events = between(|run: Run| async move {
        let outer = run.subagent("outer").with_id("a").start().await?;
        let mut text = outer.message().with_id("m");
        text.delta("x").await?;
        let inner = outer.subagent("inner").with_id("b").start().await?;
        let call = inner.tool_call("f").with_id("c");
        call.start().await?;
        let mut ours = run.message().with_id("ours");
        ours.delta("x").await?;
        outer.fail("lost", Some("no_way".to_owned())).await?;
        ours.delta("y").await?;
        drop((call, inner, text));
        ours.end().await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events)[7..],
        [
            "TOOL_CALL_END c",
            "SUBAGENT_FINISHED b",
            "TEXT_MESSAGE_END m",
            "SUBAGENT_ERROR a",
            "TEXT_MESSAGE_CONTENT ours y",
            "TEXT_MESSAGE_END ours",
        ]
    );
    assert_eq!(events[3]["parentSubagentRunId"], "a");
    assert_eq!(
        events[10],
        json!({"type": "SUBAGENT_ERROR", "subagentRunId": "a", "message": "lost", "code": "no_way"})
    );
}

#[test]
fn a_dropped_subagent_ends_before_its_parents_next_event() {
    let events = between(|run: Run| async move {
        let scout = run.subagent("scout").with_id("a").start().await?;
        let mut text = scout.message().with_id("m");
        text.delta("x").await?;
        drop((scout, text));
        run.custom("next", 1).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(short(&events)[3..], ["TEXT_MESSAGE_END m", "SUBAGENT_FINISHED a", "CUSTOM next"]);
}

#[test]
fn a_suspended_subagent_names_its_interrupts_or_none() {
    let events = between(|run: Run| async move {
        run.subagent("scout").with_id("a").start().await?.suspend(["i-1".into()]).await?;
        run.subagent("scout").with_id("b").start().await?.suspend([]).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events[1]["outcome"], json!({"type": "suspended", "interruptIds": ["i-1"]}));
    assert_eq!(events[3]["outcome"], json!({"type": "suspended"}));
}

#[test]
fn an_invocation_is_announced_once() {
    between(|run: Run| async move {
        run.subagent("scout").with_id("a").start().await?.finish(json!(null)).await?;
        let again = run.subagent("scout").with_id("a").start().await.unwrap_err();
        assert_eq!(again.rule(), Some("SUB-2"));
        Ok(RunEnd::success())
    });
}

#[test]
fn an_owner_that_nobody_announced_starts_subagents_of_its_own() {
    let events = between(|run: Run| async move {
        let nobody = run.attributed_to("nobody");
        nobody.text("x").await?;
        nobody.subagent("scout").with_id("a").start().await?.finish(json!(null)).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events[3], json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "scout"}));
}

#[test]
fn a_call_takes_its_owner_from_its_message_and_is_closed_all_the_same() {
    let events = between(|run: Run| async move {
        let scout = run.subagent("scout").with_id("a").start().await?;
        let id: MessageId = scout.text("x").await?;
        let call = run.tool_call("f").with_id("c").with_parent_message_id(&id);
        call.args("{").await?;
        drop(call);
        run.custom("next", 1).await?;
        // Another subagent's message does not carry it (`SUB-4`).
        let refused =
            run.attributed_to("b").tool_call("f").with_parent_message_id(&id).end().await.unwrap_err();
        assert_eq!(refused.rule(), Some("SUB-4"));
        scout.finish(json!(null)).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events)[4..],
        ["TOOL_CALL_START c", "TOOL_CALL_ARGS c {", "TOOL_CALL_END c", "CUSTOM next", "SUBAGENT_FINISHED a"]
    );
}

#[test]
fn a_subagent_that_speaks_in_chunks_ends_them() {
    let events = between(|run: Run| async move {
        let scout = run.subagent("scout").with_id("a").start().await?;
        scout.emit(TextMessageChunkEvent::default().with_message_id("m").with_delta("x")).await?;
        scout.emit(TextMessageChunkEvent::default().with_delta("y")).await?;
        scout.finish(json!(null)).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events.len(), 4);
    assert_eq!(events[2], json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "y", "subagentRunId": "a"}));
}
