//! From one input to the next (`INPUT`, `INT`, `VER-1`).

use agui_core::Message;
use agui_core::consumer::prepare::{Peer, next_input};
use agui_core::consumer::{Pipeline, Session};
use serde_json::{Value, json};

use crate::{NOW_MS, exchange, finished, in_a_run, input, messages, started, text};

#[test]
fn thread_run_and_messages_are_what_an_input_needs() {
    // INPUT-1
    for member in ["threadId", "runId", "messages"] {
        let mut raw = input();
        raw.as_object_mut().unwrap().remove(member);
        let mut session = Session::new();
        let error = session.send_json(raw, NOW_MS).unwrap_err();
        assert_eq!((error.rule(), error.path()), ("PROC-5", format!("/{member}").as_str()));
    }
    // What is absent means empty, and is sent as that.
    let mut session = Session::new();
    let seen = exchange(&mut session, input(), &in_a_run(&json!([])));
    let members = (&seen.sent["tools"], &seen.sent["context"], &seen.sent["state"]);
    assert_eq!(members, (&json!([]), &json!([]), &json!({})));
    assert_eq!(*session.conversation().state(), json!({}));
}

#[test]
fn forwarded_properties_are_untouched_and_a_whole_null_means_none() {
    // INPUT-3
    let open = json!({"a": null, "b": [{"type": "NOVEL"}], "threadId": 5});
    for (given, sent, warnings) in
        [(open.clone(), open, 0), (json!("text"), json!("text"), 0), (Value::Null, json!({}), 1)]
    {
        let mut raw = input();
        raw["forwardedProps"] = given;
        let seen = exchange(&mut Session::new(), raw, &in_a_run(&json!([])));
        assert_eq!((&seen.sent["forwardedProps"], seen.warnings.len()), (&sent, warnings), "{}", seen.words);
    }
}

#[test]
fn a_file_handle_travels_as_it_is() {
    // INPUT-4
    let part = json!({"type": "document", "source": {"type": "file", "value": "file:///etc/passwd?x={}", "provider": "acme"}});
    let message = json!({"id": "q", "role": "user", "content": [part]});
    let mut raw = input();
    raw["messages"] = json!([message]);
    let mut session = Session::new();
    let snapshot = json!([{"type": "MESSAGES_SNAPSHOT", "messages": [message]}]);
    let seen = exchange(&mut session, raw, &in_a_run(&snapshot));
    assert_eq!(seen.words, "");
    assert_eq!(seen.sent["messages"][0], message);
    assert_eq!(seen.events[1]["messages"][0], message);
    assert_eq!(messages(session.conversation())[0], message);
}

#[test]
fn the_run_asked_for_is_the_last_of_its_exchange() {
    // INPUT-5
    let mut session = Session::new();
    let mut replayed = started("r0");
    replayed["input"] = json!({"threadId": "t", "runId": "r0", "messages": [{"id": "q0", "role": "user", "content": "earlier"}]});
    let stream = json!([replayed, finished("r0"), started("r"), finished("r")]);
    let seen = exchange(&mut session, input(), &stream);
    assert_eq!((json!(seen.events), &seen.words[..]), (stream, ""));
    let conversation = session.conversation();
    assert_eq!(conversation.exchange_runs().len(), 2);
    assert_eq!(*conversation.last_run().unwrap().run_id.as_ref().unwrap(), "r");
    assert_eq!(messages(conversation)[0]["id"], "q0");
}

#[test]
fn the_next_input_carries_messages_and_state_as_they_now_stand() {
    // INPUT-8, STATE-9
    let parts = json!([{"type": "text", "text": "found", "metadata": 1}]);
    let mut events = text("m", "Looking.").to_vec();
    events.extend(
        json!([
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "messageId": "res", "toolCallId": "c", "content": parts},
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}},
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n", "value": 1}]},
        ])
        .as_array()
        .unwrap()
        .iter()
        .cloned(),
    );
    let mut session = Session::new();
    exchange(&mut session, input(), &in_a_run(&json!(events)));
    let next = next_input(session.conversation(), "t", "r2");
    let sent = json!(session.send(next, NOW_MS).unwrap().request());
    assert_eq!(sent["state"], json!({"n": 1}));
    let ids: Vec<&Value> =
        sent["messages"].as_array().unwrap().iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, ["m", "res"]);
    assert_eq!(sent["messages"][1]["content"], parts);
    assert!(matches!(session.conversation().message("a"), Some(Message::Activity(_))));
}

#[test]
fn a_resuming_run_keeps_thread_messages_and_state() {
    // INT-10, INT-2
    let mut session = Session::new();
    let mut events = vec![started("r")];
    events.extend(text("m", "May I?"));
    events.push(json!({"type": "STATE_SNAPSHOT", "snapshot": {"draft": 1}}));
    events.push(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome":
        {"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirm"}]}}));
    exchange(&mut session, input(), &events.into());

    let next = next_input(session.conversation(), "t", "r2");
    assert_eq!(session.send(next.clone(), NOW_MS).unwrap_err().rule(), "INT-2");
    let mut next = json!(next);
    let payload = json!({"ok": null, "type": "NOVEL"});
    next["resume"] = json!([{"interruptId": "i", "status": "resolved", "payload": payload}]);
    let resumed = json!([
        started("r2"),
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/draft", "value": 2}]},
        finished("r2"),
    ]);
    let seen = exchange(&mut session, next, &resumed);
    assert_eq!(seen.words, "");
    assert_eq!((&seen.sent["threadId"], &seen.sent["state"]), (&json!("t"), &json!({"draft": 1})));
    assert_eq!(
        (&seen.sent["messages"][0]["id"], &seen.sent["resume"][0]["payload"]),
        (&json!("m"), &payload)
    );
    assert_eq!(*session.conversation().state(), json!({"draft": 2}));
    assert!(session.conversation().open_interrupts().is_empty());
}

#[test]
fn an_input_declares_our_version_unless_the_peer_predates_the_field() {
    // VER-1
    let mut raw = input();
    raw["protocolVersion"] = "0.9".into();
    let seen = exchange(&mut Session::new(), raw.clone(), &in_a_run(&json!([])));
    assert_eq!(seen.sent["protocolVersion"], "1.0");
    let seen = exchange(&mut Session::new().with_peer(Peer::Undeclared), raw, &in_a_run(&json!([])));
    assert_eq!(seen.sent.get("protocolVersion"), None);
    // A producer that declares none is from before 1.0, and read without a warning.
    assert_eq!(seen.words, "");
}

#[test]
fn warnings_beyond_the_limit_are_counted_whichever_stage_has_them() {
    let mut session = Session::new();
    let mut exchange = session.send_json(input(), NOW_MS).unwrap();
    exchange.feed(started("r"), &mut |_, _| {}).unwrap();
    let no_target = json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "P", "patch": []});
    let novel = json!({"type": "NOVEL"});
    for frame in [no_target, novel] {
        for _ in 0..=Pipeline::MAX_WARNINGS {
            exchange.feed(frame.clone(), &mut |_, _| {}).unwrap();
        }
    }
    assert_eq!(exchange.warnings().count(), 2 * Pipeline::MAX_WARNINGS);
    assert_eq!(exchange.suppressed_warnings(), 2);
}

#[test]
fn a_producer_of_a_newer_version_is_read_with_a_warning() {
    // VER-2
    for (declared, warned) in [("1.0", false), ("0.9", false), ("1.10", true), ("2.0", true), ("v1", true)] {
        let mut opening = started("r");
        opening["protocolVersion"] = declared.into();
        let seen = exchange(&mut Session::new(), input(), &json!([opening, finished("r")]));
        assert!(seen.error.is_none());
        assert_eq!(seen.warnings.len(), usize::from(warned), "{declared}: {}", seen.words);
        assert_eq!(seen.words.contains("/protocolVersion"), warned, "{declared}: {}", seen.words);
    }
}
