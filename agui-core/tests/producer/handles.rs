//! Messages, calls, reasoning and steps: when they open, when they close, what may stand in between.

use agui_core::producer::{Run, RunEnd, RunError, TextStart, WriteError};
use agui_core::{ContentPart, TextMessageRole, TextPart};
use serde_json::json;

use crate::{between, short};

type Ended = Result<RunEnd, RunError>;

#[test]
fn a_message_opens_with_its_first_delta() {
    let events = between(|run: Run| async move {
        let mut untouched = run.message();
        untouched.delta("").await?;
        let mut answer = run.message().with_id("m1").with_role(TextMessageRole::System).with_name("Ada");
        run.custom("before", 1).await?;
        answer.delta("Hel").await?;
        answer.delta("").await?;
        answer.delta("lo").await?;
        assert_eq!(answer.end().await?, "m1");
        Ok(RunEnd::success())
    });
    assert_eq!(
        events,
        [
            json!({"type": "CUSTOM", "name": "before", "value": 1}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "system", "name": "Ada"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hel"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "lo"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m1"}),
        ]
    );
}

#[test]
fn what_is_never_written_to_leaves_no_trace() {
    let events = between(|run: Run| async move {
        drop((run.message(), run.tool_call("f"), run.reasoning(), run.activity("plan")));
        let _ = run.subagent("scout");
        Ok(RunEnd::success())
    });
    assert_eq!(short(&events), [""; 0]);
}

#[test]
fn what_is_ended_without_content_opens_and_closes() {
    let events = between(|run: Run| async move {
        run.message().with_id("m").end().await?;
        run.tool_call("f").with_id("c").end().await?;
        run.reasoning().with_id("s").end().await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events),
        [
            "TEXT_MESSAGE_START m",
            "TEXT_MESSAGE_END m",
            "TOOL_CALL_START c",
            "TOOL_CALL_END c",
            "REASONING_START s",
            "REASONING_MESSAGE_START s",
            "REASONING_MESSAGE_END s",
            "REASONING_END s",
        ]
    );
}

#[test]
fn a_dropped_handle_closes_its_item_before_the_next_event_of_its_owner() {
    let events = between(|run: Run| async move {
        let mut text = run.message().with_id("m");
        text.delta("x").await?;
        let call = run.tool_call("f").with_id("c");
        call.args("{").await?;
        let mut thought = run.reasoning().with_id("s");
        thought.delta("hm").await?;
        let step = run.step("plan").await?;
        drop((text, call, thought, step));
        // Another owner's events do not close them.
        run.attributed_to("red").custom("theirs", 1).await?;
        run.custom("ours", 1).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events)[8..],
        [
            "CUSTOM theirs",
            "STEP_FINISHED plan",
            "REASONING_MESSAGE_END s",
            "REASONING_END s",
            "TOOL_CALL_END c",
            "TEXT_MESSAGE_END m",
            "CUSTOM ours",
        ]
    );
}

#[test]
fn an_event_written_as_it_is_closes_what_was_dropped_too() {
    let events = between(|run: Run| async move {
        let mut text = run.message().with_id("m");
        text.delta("x").await?;
        drop(text);
        run.emit(agui_core::StepStartedEvent::new("plan")).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(short(&events)[2..], ["TEXT_MESSAGE_END m", "STEP_STARTED plan", "STEP_FINISHED plan"]);
}

#[test]
fn a_call_closes_a_text_that_no_live_handle_holds_and_no_other() {
    let events = between(|run: Run| async move {
        let mut gone = run.message().with_id("gone");
        gone.delta("x").await?;
        let mut alive = run.message().with_id("alive");
        alive.delta("x").await?;
        drop(gone);
        let call = run.tool_call("f").with_id("c");
        call.start().await?;
        alive.delta("y").await?;
        call.end().await?;
        alive.end().await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events)[4..],
        [
            "TEXT_MESSAGE_END gone",
            "TOOL_CALL_START c",
            "TEXT_MESSAGE_CONTENT alive y",
            "TOOL_CALL_END c",
            "TEXT_MESSAGE_END alive",
        ]
    );
}

#[test]
fn parallel_calls_stay_apart() {
    let events = between(|run: Run| async move {
        let (a, b) = (run.tool_call("f").with_id("a"), run.tool_call("g").with_id("b"));
        a.start().await?;
        b.start().await?;
        a.args("{\"q\":").await?;
        b.args("{\"r\":").await?;
        a.args("1}").await?;
        b.args("2}").await?;
        a.end().await?;
        b.result_as("rb", "two").await?;
        a.result_as("ra", vec![ContentPart::from(TextPart::new("one"))]).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events),
        [
            "TOOL_CALL_START a",
            "TOOL_CALL_START b",
            "TOOL_CALL_ARGS a {\"q\":",
            "TOOL_CALL_ARGS b {\"r\":",
            "TOOL_CALL_ARGS a 1}",
            "TOOL_CALL_ARGS b 2}",
            "TOOL_CALL_END a",
            "TOOL_CALL_END b",
            "TOOL_CALL_RESULT rb",
            "TOOL_CALL_RESULT ra",
        ]
    );
    assert_eq!(events[8]["toolCallId"], "b");
    assert_eq!(events[9]["content"], json!([{"type": "text", "text": "one"}]));
    assert_eq!(events[9]["role"], "tool");
}

#[test]
fn whole_messages_take_one_call() {
    let events = between(|run: Run| async move {
        let first = run.text("Hello").await?;
        let empty = run.text("").await?;
        assert_ne!(first, empty);
        let start = TextStart::new().with_id("m").with_role(TextMessageRole::Developer).with_name("n");
        run.with(|scope| scope.text(start, "x")).await?;
        Ok(RunEnd::success())
    });
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let (start, content, end) = ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END");
    assert_eq!(kinds, [start, content, end, start, end, start, content, end]);
    assert_eq!(events[5], json!({"type": start, "messageId": "m", "role": "developer", "name": "n"}));
}

#[test]
fn a_closed_message_goes_on_only_after_a_new_start() {
    let events = between(|run: Run| async move {
        let id = run.text("a").await?;
        let late = run.with(|scope| scope.text_delta(&id, "b")).await.unwrap_err();
        assert_eq!(late.rule(), Some("STREAM-1"));
        let mut again = run.message().with_id(&id);
        again.delta("b").await?;
        // Reopened as somebody else's, it is refused.
        drop(again);
        let other = run.message().with_id(&id).with_role(TextMessageRole::User).end().await.unwrap_err();
        assert_eq!(other.rule(), Some("STREAM-4"));
        Ok(RunEnd::success())
    });
    assert_eq!(events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_START").count(), 2);
}

#[test]
fn reasoning_is_a_span_with_a_message_and_its_encrypted_value() {
    let events = between(|run: Run| async move {
        let mut thought = run.reasoning().with_id("s");
        thought.delta("").await?;
        thought.delta("hm").await?;
        thought.encrypted("b64");
        thought.end().await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        events,
        [
            json!({"type": "REASONING_START", "messageId": "s"}),
            json!({"type": "REASONING_MESSAGE_START", "role": "reasoning", "messageId": "s"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "s", "delta": "hm"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": "s"}),
            json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "s", "encryptedValue": "b64"}),
            json!({"type": "REASONING_END", "messageId": "s"}),
        ]
    );
}

#[test]
fn ids_go_out_as_they_came() {
    for id in ["room/42", "lc_run--1234", "u#1", "6F9619FF-8B86-D011-B42D-00CF4FC964FF", "", "ä\u{0}"] {
        let events = between(move |run: Run| async move {
            run.message().with_id(id).end().await?;
            run.tool_call("f").with_id(format!("call {id}")).with_parent_message_id(id).end().await?;
            Ok(RunEnd::success())
        });
        assert_eq!(events[0]["messageId"], id);
        assert_eq!(events[2]["toolCallId"], format!("call {id}"));
        assert_eq!(events[2]["parentMessageId"], id);
    }
}

#[test]
fn made_ids_are_unique_over_runs() {
    let mut ids = std::collections::HashSet::new();
    for _ in 0..3 {
        let events = between(|run: Run| async move {
            run.text("x").await?;
            run.reasoning().end().await?;
            run.tool_call("f").result("1").await?;
            run.tool_call("f").result("2").await?;
            run.activity("plan").snapshot(agui_core::JsonObject::new()).await?;
            run.subagent("scout").start().await?.finish(json!(null)).await?;
            Ok(RunEnd::success())
        });
        for event in events {
            let member = match event["type"].as_str().unwrap() {
                "TEXT_MESSAGE_START"
                | "REASONING_MESSAGE_START"
                | "TOOL_CALL_RESULT"
                | "ACTIVITY_SNAPSHOT" => "messageId",
                "TOOL_CALL_START" => "toolCallId",
                "SUBAGENT_STARTED" => "subagentRunId",
                _ => continue,
            };
            assert!(ids.insert(event[member].as_str().unwrap().to_owned()), "{event}");
        }
    }
    assert_eq!(ids.len(), 3 * 8);
}

#[test]
fn a_handle_may_be_dropped_inside_of_a_write() {
    let events = between(|run: Run| async move {
        let mut text = run.message().with_id("m");
        text.delta("x").await?;
        run.with(move |scope| {
            let text = text;
            scope.text_delta(text.id(), "y")
        })
        .await?;
        run.custom("next", 1).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        short(&events)[1..],
        ["TEXT_MESSAGE_CONTENT m x", "TEXT_MESSAGE_CONTENT m y", "TEXT_MESSAGE_END m", "CUSTOM next"]
    );
}

#[test]
fn a_refused_start_leaves_the_handle_as_it_was() {
    async fn agent(run: Run) -> Ended {
        let mut first = run.message().with_id("m");
        first.delta("x").await?;
        let mut second = run.message().with_id("m");
        let refused = second.delta("y").await.unwrap_err();
        assert!(matches!(&refused, WriteError::Sequence(error) if error.message().contains("already open")));
        first.end().await?;
        // It opens now: as a continuation of the closed message.
        second.delta("y").await?;
        second.end().await?;
        Ok(RunEnd::success())
    }
    let events = between(agent);
    assert_eq!(
        short(&events)[3..],
        ["TEXT_MESSAGE_START m", "TEXT_MESSAGE_CONTENT m y", "TEXT_MESSAGE_END m"]
    );
}

#[test]
fn a_step_is_its_owners() {
    let events = between(|run: Run| async move {
        let ours = run.step("lookup: whales").await?;
        assert_eq!(run.step("lookup: whales").await.unwrap_err().rule(), Some("LIFE-10"));
        let theirs = run.attributed_to("red").step("lookup: whales").await?;
        ours.finish().await?;
        theirs.finish().await?;
        run.step("lookup: whales").await?.finish().await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events.len(), 6);
    assert_eq!(
        events[3],
        json!({"type": "STEP_FINISHED", "stepName": "lookup: whales", "subagentRunId": "red"})
    );
}

#[test]
fn an_activity_needs_its_snapshot_first() {
    let events = between(|run: Run| async move {
        let activity = run.activity("plan").with_id("p");
        let add = || vec![agui_core::JsonPatchOperation::add("/x".parse().unwrap(), 1)];
        assert_eq!(activity.patch(add()).await.unwrap_err().rule(), Some("STATE-11"));
        activity.snapshot(agui_core::JsonObject::new()).await?;
        activity.patch(add()).await?;
        let root = vec![agui_core::JsonPatchOperation::replace("".parse().unwrap(), 5)];
        assert_eq!(activity.patch(root).await.unwrap_err().rule(), Some("STATE-8"));
        activity.snapshot_if_absent(agui_core::JsonObject::new()).await?;
        Ok(RunEnd::success())
    });
    assert_eq!(
        events[1..],
        [
            json!({"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "plan",
                   "patch": [{"op": "add", "path": "/x", "value": 1}]}),
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "plan", "content": {}, "replace": false}),
        ]
    );
}
