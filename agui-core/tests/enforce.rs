//! Enforcement and the compatibility boundary, rule by rule.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers fail their test")]
#![expect(clippy::needless_pass_by_value, reason = "literals are passed as they are written")]

use agui_core::enforce::{self, EnforceError};
use agui_core::json::JsonError;
use agui_core::{RunAgentInput, Warning, compat};
use serde_json::{Value, json};

fn kept(raw: Value) -> (Value, Vec<Warning>) {
    let mut warnings = Vec::new();
    let event = enforce::event(raw, &mut warnings).unwrap().expect("the event is kept");
    (serde_json::to_value(event).unwrap(), warnings)
}

fn dropped(raw: Value) -> Vec<Warning> {
    let mut warnings = Vec::new();
    assert_eq!(enforce::event(raw, &mut warnings).unwrap(), None);
    warnings
}

fn refused(raw: Value) -> EnforceError {
    enforce::event(raw, &mut Vec::new()).unwrap_err()
}

fn refused_input(raw: Value) -> EnforceError {
    enforce::received_input(raw, &mut Vec::new()).unwrap_err()
}

fn received(raw: Value) -> (RunAgentInput, Vec<Warning>) {
    let mut warnings = Vec::new();
    let input = enforce::received_input(raw, &mut warnings).unwrap();
    (input, warnings)
}

fn places(warnings: &[Warning]) -> Vec<(&str, &str)> {
    warnings.iter().map(|warning| (warning.rule(), warning.path())).collect()
}

fn snapshot(messages: Value) -> Value {
    json!({"type": "MESSAGES_SNAPSHOT", "messages": messages})
}

fn input(messages: Value) -> Value {
    json!({"threadId": "t", "runId": "r", "messages": messages})
}

// PROC-2

#[test]
fn proc_2_an_unknown_event_is_dropped_whatever_it_carries() {
    let warnings =
        dropped(json!({"type": "MESSAGE_TRANSLATED", "messageId": 12, "timestamp": "noon", "x": null}));
    assert_eq!(places(&warnings), [("PROC-2", "")]);
    assert_eq!(warnings[0].event_type(), Some("MESSAGE_TRANSLATED"));
    assert!(warnings[0].to_string().contains("MESSAGE_TRANSLATED"));
}

#[test]
fn proc_2_an_unknown_type_of_any_length_makes_a_short_warning() {
    let warnings = dropped(json!({"type": "X".repeat(1_000_000)}));
    assert!(warnings[0].to_string().len() < 400);
}

// PROC-3

#[test]
fn proc_3_unknown_members_are_removed_all_the_way_down() {
    let (event, warnings) = kept(snapshot(json!([
        {"id": "a", "role": "assistant", "content": "c", "sentiment": "+", "toolCalls": [
            {"id": "c", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}", "strict": true}}]},
        {"id": "b", "role": "user", "content": [
            {"type": "image", "source": {"type": "url", "value": "u", "ttl": 9}, "alt": "a"}]}
    ])));
    let mut paths: Vec<&str> = warnings.iter().map(Warning::path).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "/messages/0/sentiment",
            "/messages/0/toolCalls/0/function/strict",
            "/messages/0/toolCalls/0/index",
            "/messages/1/content/0/alt",
            "/messages/1/content/0/source/ttl",
        ]
    );
    assert!(warnings.iter().all(|w| w.rule() == "PROC-3" && w.event_type() == Some("MESSAGES_SNAPSHOT")));
    assert_eq!(
        event,
        snapshot(json!([
            {"id": "a", "role": "assistant", "content": "c", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"id": "b", "role": "user", "content": [{"type": "image", "source": {"type": "url", "value": "u"}}]}
        ]))
    );
}

#[test]
fn proc_3_a_member_of_another_kind_is_unknown() {
    let (event, warnings) =
        kept(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "subagentRunId": "s",
        "outcome": {"type": "success", "interrupts": []}}));
    let mut found = places(&warnings);
    found.sort_unstable();
    assert_eq!(found, [("PROC-3", "/outcome/interrupts"), ("PROC-3", "/subagentRunId")]);
    assert_eq!(event["outcome"], json!({"type": "success"}));
}

#[test]
fn proc_3_a_null_in_an_unknown_member_is_only_unknown() {
    let (_, warnings) = kept(json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "priority": null}));
    assert_eq!(places(&warnings), [("PROC-3", "/priority")]);
}

#[test]
fn proc_3_an_odd_name_is_escaped_in_its_path() {
    let (_, warnings) = kept(json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "a/b~c": 1}));
    assert_eq!(warnings[0].path(), "/a~1b~0c");
}

#[test]
fn proc_3_a_flood_of_unknown_members_is_counted_and_not_kept() {
    let part = json!({"type": "text", "text": "", "x": 1});
    let raw = snapshot(json!([{"id": "a", "role": "user", "content": vec![part; 5000]}]));
    let (_, warnings) = kept(raw);
    assert_eq!(warnings.len(), agui_core::warning::MAX_PER_VALUE + 1);
    assert!(warnings.last().unwrap().message().starts_with("4900 more"));
}

// PROC-4

#[test]
fn proc_4_an_unknown_value_in_an_optional_member_removes_the_member() {
    let (event, warnings) = kept(json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "narrator"}));
    assert_eq!(places(&warnings), [("PROC-4", "/role")]);
    assert_eq!(event, json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}));

    let (event, warnings) = kept(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
        "outcome": {"type": "postponed", "until": null, "x": {"type": 5}}}));
    assert_eq!(places(&warnings), [("PROC-4", "/outcome")]);
    assert_eq!(event.get("outcome"), None);
}

#[test]
fn proc_4_an_unknown_value_in_a_required_member_removes_what_holds_it() {
    let (event, warnings) = kept(snapshot(json!([
        {"id": "a", "role": "user", "content": [
            {"type": "video", "source": {"type": "magnet", "value": 5}, "metadata": {}, "alt": "unknown too"},
            {"type": "text", "text": "kept"}]},
        {"id": "b", "role": "user", "content": [{"type": "image", "source": {"type": "magnet"}}]}
    ])));
    assert_eq!(places(&warnings), [("PROC-4", "/messages/0/content/0"), ("PROC-4", "/messages/1/content/0")]);
    assert_eq!(event["messages"][0]["content"], json!([{"type": "text", "text": "kept"}]));
    assert_eq!(event["messages"][1]["content"], json!([]));
}

#[test]
fn proc_4_an_unknown_value_can_remove_the_whole_event() {
    let warnings = dropped(json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "span", "entityId": "e",
        "encryptedValue": "v", "colour": 1}));
    assert_eq!(places(&warnings), [("PROC-4", "")]);
    assert_eq!(warnings[0].event_type(), Some("REASONING_ENCRYPTED_VALUE"));
    assert!(warnings[0].message().contains("`subtype` is \"span\""));
}

#[test]
fn proc_4_an_unknown_element_is_dropped_from_its_list() {
    let (event, warnings) = kept(snapshot(json!([
        {"id": "a", "role": "user", "content": "x"}, {"role": "observer", "id": 5}, {"id": "b", "role": "user", "content": "y"}
    ])));
    assert_eq!(places(&warnings), [("PROC-4", "/messages/1")]);
    assert_eq!(event["messages"][1]["id"], "b");

    let (event, warnings) = kept(json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c",
        "content": [{"type": "map", "bounds": []}, {"type": "text", "text": "c"}]}));
    assert_eq!(places(&warnings), [("PROC-4", "/content/0")]);
    assert_eq!(event["content"], json!([{"type": "text", "text": "c"}]));
}

#[test]
fn proc_4_an_unknown_patch_operation_is_dropped_from_its_patch() {
    let (event, warnings) = kept(json!({"type": "STATE_DELTA", "delta": [
        {"op": "add", "path": "/a", "value": null, "comment": [1]}, {"op": "increment", "path": 5}]}));
    assert_eq!(places(&warnings), [("PROC-4", "/delta/1")]);
    assert_eq!(event["delta"], json!([{"op": "add", "path": "/a", "value": null, "comment": [1]}]));
}

#[test]
fn proc_4_a_discriminator_that_is_missing_or_no_string_is_malformed() {
    for (raw, path) in [
        (json!({"messageId": "m"}), "type"),
        (json!({"type": 5}), "type"),
        (json!({"type": null}), "type"),
        (snapshot(json!([{"id": "a", "content": "x"}])), "messages[0].role"),
        (snapshot(json!([{"id": "a", "role": ["user"], "content": "x"}])), "messages[0].role"),
        (
            snapshot(json!([{"id": "a", "role": "user", "content": [{"text": "x"}]}])),
            "messages[0].content[0].type",
        ),
        (json!({"type": "STATE_DELTA", "delta": [{"path": "/a", "value": 1}]}), "delta[0].op"),
        (json!({"type": "STATE_DELTA", "delta": [{"op": 1, "path": "/a"}]}), "delta[0].op"),
        (json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {}}), "outcome.type"),
    ] {
        let error = refused(raw);
        assert_eq!((error.rule(), error.path()), ("PROC-4", path));
    }
}

// PROC-5

#[test]
fn proc_5_a_malformed_member_is_fatal_and_named() {
    for (raw, path, message) in [
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": 42}),
            "messageId",
            "`messageId` must be a string.",
        ),
        (json!({"type": "CUSTOM", "name": "n"}), "value", "`value` is missing."),
        (json!({"type": "RUN_ERROR", "code": "X"}), "message", "`message` is missing."),
        (json!({"type": "STATE_DELTA", "delta": {}}), "delta", "`delta` must be a list."),
        (
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "t", "content": []}),
            "content",
            "`content` must be an object.",
        ),
        (
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "t", "content": {}, "replace": "no"}),
            "replace",
            "`replace` must be true or false.",
        ),
        (
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": {}}),
            "content",
            "`content` must be a string or a list of content parts.",
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": "success"}),
            "outcome",
            "`outcome` must be an object.",
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "interrupt", "interrupts": []}}),
            "outcome.interrupts",
            "`outcome.interrupts` must be a list of at least 1.",
        ),
        (
            json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": 1, "entityId": "e", "encryptedValue": "v"}),
            "subtype",
            "`subtype` must be a string.",
        ),
        (
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": 1}),
            "protocolVersion",
            "`protocolVersion` must be a string.",
        ),
        (
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"threadId": "t", "runId": "r"}}),
            "input.messages",
            "`input.messages` is missing.",
        ),
    ] {
        let error = refused(raw);
        assert_eq!((error.rule(), error.path(), error.message().as_str()), ("PROC-5", path, message));
    }
}

#[test]
fn proc_5_a_fixed_value_that_is_another_is_malformed() {
    let call = |kind| {
        json!([{"id": "a", "role": "assistant", "toolCalls": [
        {"id": "c", "type": kind, "function": {"name": "f", "arguments": ""}}]}])
    };
    for (raw, path) in [
        (json!({"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "assistant"}), "role"),
        (
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "", "role": "user"}),
            "role",
        ),
        (snapshot(call("method")), "messages[0].toolCalls[0].type"),
    ] {
        let error = refused(raw);
        assert_eq!((error.rule(), error.path()), ("PROC-5", path));
    }
}

#[test]
fn proc_5_unknown_material_excuses_nothing_beside_it() {
    let error =
        refused(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ["x"], "novel": 1}));
    assert_eq!(error.path(), "delta");
    // Inside a value that would be removed, before and after what removes it.
    for (part, path) in [
        (json!({"type": "image", "source": {"type": "magnet"}, "id": 5}), "messages[0].content[0].id"),
        (
            json!({"type": "image", "source": {"type": "magnet"}, "metadata": null}),
            "messages[0].content[0].metadata",
        ),
    ] {
        assert_eq!(refused(snapshot(json!([{"id": "a", "role": "user", "content": [part]}]))).path(), path);
    }
    let raw = json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "span", "entityId": "e"});
    assert_eq!(refused(raw).path(), "encryptedValue");
}

#[test]
fn proc_5_a_frame_that_is_no_object_is_malformed() {
    for raw in [json!(null), json!([]), json!("RUN_STARTED"), json!(5)] {
        let error = refused(raw);
        assert_eq!((error.path(), error.message().as_str()), ("", "The event must be an object."));
    }
}

#[test]
fn proc_5_the_first_offending_member_is_reported() {
    let error = refused_input(json!({"threadId": 5}));
    assert_eq!(error.path(), "threadId");
    let error = refused_input(json!({"threadId": "t", "runId": "r", "messages": [
        {"role": "user", "content": "Hi"}, {"id": 5, "role": "user", "content": "Hi"}]}));
    assert_eq!((error.path(), error.pointer()), ("messages[0].id", "/messages/0/id"));
    assert!(error.is_missing());
    assert_eq!(refused_input(json!({})).path(), "threadId");
}

#[test]
fn proc_5_an_error_says_nothing_of_the_value() {
    let error = refused(json!({"type": "STEP_STARTED", "stepName": {"password": "hunter2"}}));
    assert_eq!(error.to_string(), "STEP_STARTED: `stepName` must be a string (PROC-5)");
    assert!(!format!("{error:?}").contains("hunter2"));
}

// SHAPE

#[test]
fn shape_1_a_required_payload_may_be_null_and_may_not_be_missing() {
    for (raw, member) in [
        (json!({"type": "CUSTOM", "name": "n", "value": null}), "value"),
        (json!({"type": "RAW", "event": null}), "event"),
        (json!({"type": "STATE_SNAPSHOT", "snapshot": null}), "snapshot"),
    ] {
        let (event, warnings) = kept(raw.clone());
        assert_eq!((&event, warnings.len()), (&raw, 0));
        let mut without = raw;
        without.as_object_mut().unwrap().remove(member);
        assert_eq!(refused(without).path(), member);
    }
}

#[test]
fn shape_2_open_values_are_kept_whole_and_quietly() {
    let raw = json!({"type": "RAW", "event": {"type": "RUN_FINISHED", "nested": [null, {"unknown": true}]},
        "metadata": {"a": null, "role": {"x": []}}, "rawEvent": {"deep": [null]}});
    let (event, warnings) = kept(raw.clone());
    assert_eq!((event, warnings.len()), (raw, 0));
}

#[test]
fn shape_3_a_timestamp_is_an_integer_within_the_safe_range() {
    for good in [
        json!(0),
        json!(-9_007_199_254_740_991_i64),
        json!(9_007_199_254_740_991_i64),
        json!(1_730_000_000_000.0),
    ] {
        kept(json!({"type": "STEP_STARTED", "stepName": "s", "timestamp": good}));
    }
    for bad in
        [json!(0.5), json!(9_007_199_254_740_992_i64), json!(u64::MAX), json!(1e300), json!("0"), json!(true)]
    {
        let error = refused(json!({"type": "STEP_STARTED", "stepName": "s", "timestamp": bad}));
        assert_eq!((error.rule(), error.path()), ("SHAPE-3", "timestamp"));
    }
    let error = refused(json!({"type": "RUN_ERROR", "message": "m", "usage": [{"inputTokens": -1}]}));
    assert_eq!((error.rule(), error.path()), ("SHAPE-3", "usage[0].inputTokens"));
}

#[test]
fn shape_6_a_null_in_an_optional_member_is_malformed() {
    for member in ["name", "role", "subagentRunId", "metadata", "timestamp", "rawEvent"] {
        let mut raw = json!({"type": "TEXT_MESSAGE_START", "messageId": "m"});
        raw[member] = Value::Null;
        let error = refused(raw);
        assert_eq!((error.rule(), error.path()), ("SHAPE-6", member));
    }
}

#[test]
fn shape_6_the_nulls_of_older_peers_are_read_as_absent() {
    for (mut raw, path) in [
        (json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "rawEvent": null}), "/rawEvent"),
        (json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": null}), "/result"),
        (json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": null}), "/outcome"),
        (json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": null}), "/result"),
        (
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": null}),
            "/parentMessageId",
        ),
        (json!({"type": "TOOL_CALL_CHUNK", "parentMessageId": null}), "/parentMessageId"),
        (
            snapshot(json!([{"id": "a", "role": "user", "content": [
            {"type": "image", "source": {"type": "url", "value": "u"}, "metadata": null}]}])),
            "/messages/0/content/0/metadata",
        ),
        (
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"threadId": "t", "runId": "r",
            "messages": [], "tools": [{"name": "f", "description": "d", "parameters": null}]}}),
            "/input/tools/0/parameters",
        ),
    ] {
        let mut warnings = Vec::new();
        compat::event(&mut raw, &mut warnings).unwrap();
        assert_eq!(places(&warnings), [("SHAPE-6", path)]);
        assert_eq!(raw.pointer(path), None);
        assert!(warnings[0].event_type().is_some());
        assert!(enforce::event(raw, &mut warnings).unwrap().is_some());
        assert_eq!(warnings.len(), 1);
    }
}

#[test]
fn shape_6_no_other_null_is_read_as_absent() {
    for raw in [
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": null}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "name": null}),
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"threadId": "t", "runId": "r",
            "messages": [], "state": null}}),
        snapshot(
            json!([{"id": "a", "role": "user", "content": [{"type": "text", "text": "", "metadata": null}]}]),
        ),
    ] {
        let (mut translated, mut warnings) = (raw.clone(), Vec::new());
        compat::event(&mut translated, &mut warnings).unwrap();
        assert_eq!((&translated, warnings.len()), (&raw, 0));
        refused(translated);
    }
}

// PROC-10 and PROC-12

#[test]
fn proc_10_a_received_input_is_stripped_and_served() {
    let (input, warnings) = received(json!({"threadId": "t", "runId": "r", "deadline": 5, "messages": [
        {"id": "o", "role": "observer", "content": 5},
        {"id": "u", "role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "x"}]}]}));
    let mut found = places(&warnings);
    found.sort_unstable();
    assert_eq!(
        found,
        [("PROC-3", "/deadline"), ("PROC-4", "/messages/0"), ("PROC-4", "/messages/1/content/0")]
    );
    assert_eq!(input.messages[0].text(), "x");
    assert_eq!(warnings[0].event_type(), None);
}

#[test]
fn proc_10_malformed_input_is_refused_with_code_and_path() {
    for (body, code, path) in [
        (&b"{"[..], "invalid_json", None),
        (b"", "invalid_json", None),
        (b"{} x", "invalid_json", None),
        (b"{\"threadId\":\"\xFF\"}", "invalid_json", None),
        (b"[]", "invalid_input", None),
        (b"null", "invalid_input", None),
        (br#"{"threadId":5}"#, "invalid_input", Some("threadId")),
        (br#"{"threadId":"t","messages":[]}"#, "invalid_input", Some("runId")),
        (
            br#"{"threadId":"t","runId":"r","messages":[{"role":"user","content":"x"}]}"#,
            "invalid_input",
            Some("messages[0].id"),
        ),
        (
            br#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":5}]}"#,
            "invalid_input",
            Some("messages[0].content"),
        ),
    ] {
        let error = RunAgentInput::from_json(body).unwrap_err();
        assert_eq!((error.code(), error.path()), (code, path));
        if let Some(path) = path {
            assert!(error.message().contains(path));
        }
    }
}

#[test]
fn proc_10_the_nulls_of_older_peers_in_an_input_are_read_as_absent() {
    let (input, warnings) = received(json!({"threadId": "t", "runId": "r", "messages": [], "state": null,
        "forwardedProps": null, "tools": [{"name": "f", "description": "d", "parameters": null}],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": null}]}));
    assert!(warnings.iter().all(|warning| warning.rule() == "SHAPE-6"));
    let mut paths: Vec<&str> = warnings.iter().map(Warning::path).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/forwardedProps", "/resume/0/payload", "/state", "/tools/0/parameters"]);
    assert_eq!((input.state, input.forwarded_props), (None, None));
}

#[test]
fn input_3_nulls_inside_forwarded_props_are_kept() {
    let mut raw = input(json!([]));
    raw["forwardedProps"] = json!({"a": null, "b/c": [{"d": null}]});
    let (input, warnings) = received(raw.clone());
    assert_eq!((input.forwarded_props.as_ref(), warnings.len()), (raw.get("forwardedProps"), 0));
}

#[test]
fn proc_12_an_echoed_input_is_enforced_at_its_own_paths() {
    let (event, warnings) = kept(
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"threadId": "t",
        "runId": "r", "messages": [{"id": "u", "role": "user", "content": "hi", "tone": "warm"}], "deadline": 5}}),
    );
    let mut found = places(&warnings);
    found.sort_unstable();
    assert_eq!(found, [("PROC-3", "/input/deadline"), ("PROC-3", "/input/messages/0/tone")]);
    assert_eq!(event["input"].get("deadline"), None);
}

// STATE-9

#[test]
fn state_9_activity_messages_in_an_input_are_ignored_where_they_stood() {
    let activity = json!({"id": "a", "role": "activity", "activityType": "t", "content": {}});
    let user = json!({"id": "u", "role": "user", "content": "x"});
    let (kept, warnings) = received(input(json!([activity, user, {"role": "observer"}, activity])));
    assert_eq!(kept.messages.len(), 1);
    let mut found = places(&warnings);
    found.sort_unstable();
    assert_eq!(found, [("PROC-4", "/messages/2"), ("STATE-9", "/messages/0"), ("STATE-9", "/messages/3")]);
    // The strict reading of the same, without unknown material, says the same.
    let text = input(json!([activity, user, activity])).to_string();
    let (kept, warnings) = RunAgentInput::from_json(text.as_bytes()).unwrap();
    assert_eq!(kept.messages.len(), 1);
    assert_eq!(places(&warnings), [("STATE-9", "/messages/0"), ("STATE-9", "/messages/2")]);
    // A malformed one is malformed all the same.
    let error = refused_input(input(json!([{"id": "a", "role": "activity", "activityType": "t"}])));
    assert_eq!(error.path(), "messages[0].content");
}

// VER

#[test]
fn ver_2_a_foreign_version_is_served_with_a_warning() {
    for (version, warned) in [("1.0", false), ("0.9", false), ("1.4", true), ("2.0", true), ("1.0.0", true)] {
        let mut raw = input(json!([]));
        raw["protocolVersion"] = version.into();
        let (_, warnings) = RunAgentInput::from_json(raw.to_string().as_bytes()).unwrap();
        assert_eq!(warnings.len(), usize::from(warned), "{version}");
        if let Some(warning) = warnings.first() {
            assert_eq!((warning.rule(), warning.path()), ("VER-2", "/protocolVersion"));
            assert!(warning.message().contains(version));
        }
    }
    assert!(RunAgentInput::from_json(input(json!([])).to_string().as_bytes()).unwrap().1.is_empty());
}

#[test]
fn ver_3_binary_parts_become_media_parts() {
    for (binary, translated) in [
        (
            json!({"type": "binary", "mimeType": "image/gif", "data": "R0lG", "filename": "spin.gif"}),
            json!({"type": "image", "source": {"type": "data", "value": "R0lG", "mimeType": "image/gif"},
                "metadata": {"filename": "spin.gif"}}),
        ),
        (
            json!({"type": "binary", "mimeType": "application/pdf", "url": "vault:/doc", "id": "p"}),
            json!({"type": "document", "source": {"type": "url", "value": "vault:/doc", "mimeType": "application/pdf"}, "id": "p"}),
        ),
        (
            json!({"type": "binary", "mimeType": "Audio/ogg", "data": "T2dn", "metadata": {"k": 1}, "filename": "a"}),
            json!({"type": "audio", "source": {"type": "data", "value": "T2dn", "mimeType": "Audio/ogg"},
                "metadata": {"k": 1, "filename": "a"}}),
        ),
        (
            json!({"type": "binary", "mimeType": "video/webm", "url": ""}),
            json!({"type": "video", "source": {"type": "url", "value": "", "mimeType": "video/webm"}}),
        ),
    ] {
        let content =
            json!([{"id": "u", "role": "user", "content": [{"type": "text", "text": "see"}, binary]}]);
        let mut warnings = Vec::new();
        let mut event = snapshot(content.clone());
        compat::event(&mut event, &mut warnings).unwrap();
        assert_eq!(event["messages"][0]["content"][1], translated);
        let mut outgoing = input(content.clone());
        compat::outgoing_input(&mut outgoing, &mut warnings).unwrap();
        assert_eq!(outgoing["messages"][0]["content"][1], translated);
        assert!(warnings.is_empty());
        let (input, warnings) = RunAgentInput::from_json(input(content).to_string().as_bytes()).unwrap();
        assert_eq!(serde_json::to_value(&input.messages).unwrap()[0]["content"][1], translated);
        assert!(warnings.is_empty());
    }
}

#[test]
fn ver_3_a_loss_in_translation_is_announced() {
    let parts = json!([
        {"type": "binary", "mimeType": "image/png", "id": "only"},
        {"type": "binary", "mimeType": "image/png", "data": "aGk=", "url": "u"},
        {"type": "binary", "mimeType": "image/png", "data": "aGk=", "filename": "f", "metadata": [1]},
        {"type": "binary", "mimeType": "image/png", "data": "aGk=", "size": 2}
    ]);
    let (input, warnings) = received(input(json!([{"id": "u", "role": "user", "content": parts}])));
    assert_eq!(
        places(&warnings),
        [
            ("VER-3", "/messages/0/content/0"),
            ("VER-3", "/messages/0/content/1/url"),
            ("VER-3", "/messages/0/content/2/filename"),
            ("PROC-3", "/messages/0/content/2/size"),
        ]
    );
    assert_eq!(serde_json::to_value(&input.messages[0]).unwrap()["content"].as_array().unwrap().len(), 3);
}

#[test]
fn ver_3_translation_repairs_nothing() {
    for (part, path) in [
        (json!({"type": "binary", "data": "aGk="}), "messages[0].content[0].mimeType"),
        (json!({"type": "binary", "mimeType": "image/png", "data": 5}), "messages[0].content[0].data"),
        (
            json!({"type": "binary", "mimeType": "image/png", "data": "aGk=", "filename": null}),
            "messages[0].content[0].filename",
        ),
    ] {
        let error = refused_input(input(json!([{"id": "u", "role": "user", "content": [part]}])));
        assert_eq!((error.rule(), error.path()), ("PROC-5", path));
    }
}

#[test]
fn compat_leaves_everything_else_as_it_is() {
    for raw in [
        json!(null),
        json!([]),
        json!({"type": 5, "rawEvent": null}),
        json!({"type": "LATER", "rawEvent": null}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": {"a": null}}),
        json!({"type": "RUN_STARTED", "input": 5}),
    ] {
        let (mut translated, mut warnings) = (raw.clone(), Vec::new());
        compat::event(&mut translated, &mut warnings).unwrap();
        assert_eq!((translated, warnings.len()), (raw, 0));
    }
}

// CAP-1

#[test]
fn cap_1_capabilities_lose_what_is_unknown_and_fail_on_what_is_malformed() {
    let mut warnings = Vec::new();
    let raw = json!({"identity": {"name": "a", "mood": 1, "metadata": {"x": null}}, "custom": {"y": {}}, "later": 1});
    let capabilities = enforce::capabilities(raw, &mut warnings).unwrap();
    assert_eq!(
        serde_json::to_value(capabilities).unwrap(),
        json!({"identity": {"name": "a", "metadata": {"x": null}}, "custom": {"y": {}}})
    );
    assert_eq!(warnings.len(), 2);
    let error = enforce::capabilities(json!({"state": {"deltas": "yes"}}), &mut warnings).unwrap_err();
    assert_eq!(error.path(), "state.deltas");
}

// Text

/// The text of an event and of an input with so many containers inside each other, 2 at least.
fn nested(depth: usize) -> (String, String) {
    let value = "[".repeat(depth - 1) + &"]".repeat(depth - 1);
    (
        format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{value}}}"#),
        format!(r#"{{"threadId":"t","runId":"r","messages":[],"state":{value}}}"#),
    )
}

#[test]
fn json_of_128_levels_is_read_and_of_129_refused() {
    for depth in [2, 126, 127, 128] {
        let (event, input) = nested(depth);
        let mut warnings = Vec::new();
        assert!(enforce::event_from_json(event.as_bytes(), &mut warnings).unwrap().is_some());
        warnings.extend(RunAgentInput::from_json(input.as_bytes()).unwrap().1);
        assert!(warnings.is_empty());
    }
    for depth in [129, 1000, 100_000] {
        let (event, input) = nested(depth);
        let error = enforce::event_from_json(event.as_bytes(), &mut Vec::new()).unwrap_err();
        assert!(matches!(error, enforce::EventError::Json(JsonError::TooDeep)));
        let error = RunAgentInput::from_json(input.as_bytes()).unwrap_err();
        assert!(matches!(error, enforce::InputError::Json(JsonError::TooDeep)));
        assert_eq!(error.code(), "invalid_json");
    }
}

#[test]
fn of_a_member_twice_the_last_counts_with_a_warning_everywhere() {
    for (text, path, place, last) in [
        (r#"{"type":"CUSTOM","name":"a","name":"b","value":1}"#, "/name", "/name", json!("b")),
        (r#"{"type":"RAW","type":"CUSTOM","name":"a","value":1}"#, "/type", "/type", json!("CUSTOM")),
        (
            r#"{"type":"CUSTOM","name":"a","value":{"x":[{"k":1,"k":2}]}}"#,
            "/value/x/0/k",
            "/value/x/0/k",
            json!(2),
        ),
        (r#"{"value":{"k":1,"k":null},"type":"CUSTOM","name":"a"}"#, "/value/k", "/value/k", json!(null)),
        (
            r#"{"type":"STEP_STARTED","stepName":"s","metadata":{"k":1,"k":2}}"#,
            "/metadata/k",
            "/metadata/k",
            json!(2),
        ),
        (
            r#"{"type":"STEP_STARTED","stepName":"s","rawEvent":{"k":1,"k":2}}"#,
            "/rawEvent/k",
            "/rawEvent/k",
            json!(2),
        ),
        (
            r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"","x":1,"x":2}]}"#,
            "/delta/0/x",
            "/delta/0/x",
            json!(2),
        ),
        (
            r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"","x":{"k":1,"k":2}}]}"#,
            "/delta/0/x/k",
            "/delta/0/x/k",
            json!(2),
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"content":{"k":1,"k":2},"id":"a","activityType":"t","role":"activity"}]}"#,
            "/messages/0/content/k",
            "/messages/0/content/k",
            json!(2),
        ),
    ] {
        let mut warnings = Vec::new();
        let event = enforce::event_from_json(text.as_bytes(), &mut warnings).unwrap().expect("kept");
        assert_eq!(places(&warnings), [("PROC-6", path)], "{text}");
        assert_eq!(warnings[0].event_type(), Some(event.event_type().as_str()));
        assert_eq!(serde_json::to_value(event).unwrap().pointer(place), Some(&last));
    }
}

#[test]
fn a_lone_surrogate_becomes_a_replacement_character_with_a_warning() {
    let mut warnings = Vec::new();
    let text = br#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ud83d"}"#;
    let event = enforce::event_from_json(text, &mut warnings).unwrap().expect("kept");
    assert_eq!(serde_json::to_value(event).unwrap()["delta"], "a\u{FFFD}");
    assert_eq!(places(&warnings), [("PROC-6", "/delta")]);
    assert_eq!(warnings[0].event_type(), Some("TEXT_MESSAGE_CONTENT"));
}

#[test]
fn text_that_is_no_json_is_told_from_malformed_material() {
    for text in
        [&b"[DONE]"[..], b"", b"{\"type\":\"STEP_STARTED\",\"stepName\":\"\xFF\"}", b"{\"type\":1e400}"]
    {
        let error = enforce::event_from_json(text, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, enforce::EventError::Json(_)));
    }
    let error = enforce::event_from_json(b"[]", &mut Vec::new()).unwrap_err();
    assert!(error.malformed().is_some());
}
