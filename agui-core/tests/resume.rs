//! What a consumer may send: answers to interrupts (`INT-2`), expiry, and the input of the next exchange.

#![expect(clippy::unwrap_used, reason = "helpers outside of test functions fail their tests too")]

use agui_core::consumer::Conversation;
use agui_core::consumer::prepare::{Peer, next_input, outgoing, prepare_input};
use agui_core::consumer::resume::{ResumeError, check, parse_iso8601};
use agui_core::{
    ActivityMessage, Event, Interrupt, Interrupts, Message, ResumeEntry, ResumeStatus, RunAgentInput,
    RunFinishedEvent, RunFinishedInterruptOutcome, RunStartedEvent, StateSnapshotEvent, UserMessage, Warning,
};
use proptest::prelude::*;
use serde_json::json;

const NOW: i64 = 1_788_264_000_000;

fn answering(entries: &[(&str, ResumeStatus)]) -> RunAgentInput {
    let entries: Vec<_> = entries.iter().map(|(id, status)| ResumeEntry::new(*id, *status)).collect();
    RunAgentInput::new("t", "r2", []).with_resume(entries)
}

fn checked(pending: &[Interrupt], input: &RunAgentInput) -> (Result<(), ResumeError>, Vec<Warning>) {
    let mut warnings = Vec::new();
    (check(pending, input, NOW, &mut warnings), warnings)
}

#[test]
fn every_pending_interrupt_needs_an_entry_int_2() {
    let pending = [Interrupt::new("a", "?"), Interrupt::new("b", "?"), Interrupt::new("c", "?")];
    let input = answering(&[("b", ResumeStatus::Resolved)]);
    let error = checked(&pending, &input).0.unwrap_err();
    assert_eq!(error, ResumeError::Uncovered(vec!["a".into(), "c".into()]));
    assert_eq!(error.rule(), "INT-2");
    assert!(error.to_string().contains("interrupts \"a\", \"c\""), "{error}");
    // Without any resume it is no better.
    let error = checked(&pending, &RunAgentInput::new("t", "r2", [])).0.unwrap_err();
    assert_eq!(error.interrupt_ids().len(), 3);

    let all = answering(&[
        ("c", ResumeStatus::Cancelled),
        ("a", ResumeStatus::Resolved),
        ("b", ResumeStatus::Resolved),
    ]);
    assert_eq!(checked(&pending, &all), (Ok(()), vec![]));
}

#[test]
fn an_expired_interrupt_can_be_cancelled_and_not_resolved_int_2() {
    let expiring = |at: &str| [Interrupt::new("a", "?").with_expires_at(at)];
    let (resolved, cancelled) =
        (answering(&[("a", ResumeStatus::Resolved)]), answering(&[("a", ResumeStatus::Cancelled)]));
    for at in ["2001-02-03T04:05:06Z", "2026-09-01T12:00:00Z", "2026-09-01T12:00:00", "2026-09-01"] {
        let error = checked(&expiring(at), &resolved).0.unwrap_err();
        assert_eq!(error, ResumeError::Expired(vec!["a".into()]), "{at}");
        assert!(error.to_string().contains("\"a\""));
        assert_eq!(checked(&expiring(at), &cancelled), (Ok(()), vec![]), "{at}");
    }
    for at in ["2026-09-01T12:00:00.001Z", "2199-01-01T00:00:00Z", "soon", "", "1788264000000", "12:00"] {
        assert_eq!(checked(&expiring(at), &resolved), (Ok(()), vec![]), "{at}");
    }
}

#[test]
fn an_entry_for_nothing_pending_is_sent_with_a_warning_only_while_others_are_int_2() {
    let input = answering(&[("a", ResumeStatus::Resolved), ("x", ResumeStatus::Resolved)]);
    let (result, warnings) = checked(&[Interrupt::new("a", "?")], &input);
    assert_eq!(result, Ok(()));
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(
        (warning.rule(), warning.path(), warning.event_type()),
        ("INT-2", "/resume/1/interruptId", None)
    );
    assert!(warning.message().contains("\"x\""));
    assert_eq!(checked(&[], &input), (Ok(()), vec![]));
}

#[test]
fn one_entry_covers_two_interrupts_of_one_id_and_of_two_entries_the_first_counts_int_2() {
    let twice = [Interrupt::new("a", "?"), Interrupt::new("a", "!").with_expires_at("2001-01-01")];
    assert_eq!(checked(&twice, &answering(&[("a", ResumeStatus::Cancelled)])), (Ok(()), vec![]));
    let resolved_first = answering(&[("a", ResumeStatus::Resolved), ("a", ResumeStatus::Cancelled)]);
    assert_eq!(checked(&twice, &resolved_first).0, Err(ResumeError::Expired(vec!["a".into()])));
    let cancelled_first = answering(&[("a", ResumeStatus::Cancelled), ("a", ResumeStatus::Resolved)]);
    assert_eq!(checked(&twice, &cancelled_first), (Ok(()), vec![]));
}

#[test]
fn a_refused_input_begins_nothing_int_2() {
    let mut conversation = interrupted();
    let before = conversation.to_messages();
    let mut draft = next_input(&conversation, "t", "r2");
    draft.messages.push(UserMessage::new("u2", "and?").into());
    let refused = prepare_input(&mut conversation, draft.clone(), Peer::Current, NOW, &mut Vec::new());
    assert_eq!(refused, Err(ResumeError::Uncovered(vec!["i".into()])));
    assert_eq!(conversation.to_messages(), before);

    draft.resume = Some(vec![ResumeEntry::new("i", ResumeStatus::Cancelled)]);
    let input = prepare_input(&mut conversation, draft, Peer::Current, NOW, &mut Vec::new()).unwrap();
    assert_eq!(input.messages.len(), 2);
    assert_eq!(conversation.message_count(), 3);
    // Pending until a run has finished.
    assert_eq!(conversation.open_interrupts().len(), 1);
}

/// A user's message, an activity, a state, and a run that stopped to ask.
fn interrupted() -> Conversation {
    let mut conversation = Conversation::new();
    conversation.push_message(UserMessage::new("u", "pay"));
    conversation.push_message(ActivityMessage::new("act", "bar", serde_json::Map::new()));
    let interrupts = Interrupts::from(Interrupt::new("i", "ok?"));
    for event in [
        Event::from(RunStartedEvent::new("t", "r")),
        StateSnapshotEvent::new(json!({"due": 5})).into(),
        RunFinishedEvent::new("t", "r").with_outcome(RunFinishedInterruptOutcome::new(interrupts)).into(),
    ] {
        conversation.apply(&event, &mut Vec::new());
    }
    conversation
}

#[test]
fn the_next_input_carries_the_thread_the_messages_and_the_state_int_10() {
    let mut input = next_input(&interrupted(), "t", "r2");
    outgoing(&mut input, Peer::Current);
    assert_eq!(
        serde_json::to_value(&input).unwrap(),
        json!({
            "threadId": "t", "runId": "r2", "protocolVersion": "1.0", "state": {"due": 5},
            "messages": [{"role": "user", "id": "u", "content": "pay"}],
            "tools": [], "context": [], "forwardedProps": {},
        })
    );
}

#[test]
fn activities_stay_behind_in_what_is_held_state_9() {
    let activity = Message::from(ActivityMessage::new("act", "bar", serde_json::Map::new()));
    let user = Message::from(UserMessage::new("u", "hi"));
    let given = RunAgentInput::new("t", "r", [activity.clone(), user.clone()]);
    let mut conversation = Conversation::new();
    let sent = prepare_input(&mut conversation, given, Peer::Current, NOW, &mut Vec::new()).unwrap();
    assert_eq!(sent.messages, std::slice::from_ref(&user));
    assert_eq!(conversation.to_messages(), [activity, user]);
}

#[test]
fn an_input_without_a_state_leaves_a_null_one_and_sends_none_state_10() {
    let mut conversation = Conversation::new();
    conversation.apply(&Event::from(StateSnapshotEvent::new(json!(null))), &mut Vec::new());
    let draft = RunAgentInput::new("t", "r2", []);
    let input = prepare_input(&mut conversation, draft.clone(), Peer::Current, NOW, &mut Vec::new()).unwrap();
    assert_eq!((input.state, conversation.state()), (None, &json!(null)));

    // Any other state that is held gives way to what absence means (INPUT-1).
    conversation.set_state(json!({"a": 1}));
    let input = prepare_input(&mut conversation, draft, Peer::Current, NOW, &mut Vec::new()).unwrap();
    assert_eq!((input.state, conversation.state()), (Some(json!({})), &json!({})));
}

#[test]
fn a_null_state_is_left_out_and_stays_null_state_10() {
    let mut conversation = Conversation::new();
    conversation.set_state(json!(null));
    let draft = next_input(&conversation, "t", "r");
    let sent = prepare_input(&mut conversation, draft, Peer::Current, NOW, &mut Vec::new()).unwrap();
    assert_eq!(sent.state, None);
    assert_eq!(conversation.state(), &json!(null));
}

#[test]
fn what_the_application_passed_goes_out_untouched_input_3() {
    let mut input: RunAgentInput = serde_json::from_value(json!({
        "threadId": "t", "runId": "r", "messages": [], "protocolVersion": "0.9", "parentRunId": "p",
        "state": {"a": [null]}, "tools": [{"name": "f", "description": "d"}],
        "context": [{"description": "d", "value": "v"}], "forwardedProps": {"a": null},
        "resume": [{"interruptId": "i", "status": "resolved", "payload": {"x": null}}],
    }))
    .unwrap();
    let before = serde_json::to_value(&input).unwrap();
    outgoing(&mut input, Peer::Undeclared);
    assert_eq!(input.protocol_version, None);
    outgoing(&mut input, Peer::Current);
    let mut after = serde_json::to_value(&input).unwrap();
    assert_eq!(after["protocolVersion"], "1.0");
    after["protocolVersion"] = json!("0.9");
    assert_eq!(after, before);
}

#[test]
fn dates_by_iso_8601_are_read_and_nothing_else_int_2() {
    const DAY: i64 = 86_400_000;
    for (text, expected) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970", 0),
        ("1970-02", 31 * DAY),
        ("19700102", DAY),
        ("19700102T010203Z", DAY + 3_723_000),
        ("1970-01-01T01:00", 3_600_000),
        ("1970-01-01T01", 3_600_000),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00.5", 500),
        ("1970-01-01T00:00:00,123456789Z", 123),
        ("1970-01-01T00:00:00+02:00", -7_200_000),
        ("1970-01-01T00:00:00-0130", 5_400_000),
        ("1970-01-01T00:00:00-05", 18_000_000),
        ("1970-01-01T24:00:00Z", DAY),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("2000-02-29", 951_782_400_000),
        ("0000-01-01", -719_528 * DAY),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] {
        assert_eq!(parse_iso8601(text), Some(expected), "{text}");
    }
    for text in [
        "",
        "T",
        "Z",
        "soon",
        "1970-13-01",
        "1970-00-01",
        "1970-01-32",
        "2001-02-29",
        "1900-02-29",
        "1970-1-1",
        "70-01-01",
        "1970-01T00:00Z",
        "1970-01-01T",
        "1970-01-01 00:00:00Z",
        "1970-01-01T25:00",
        "1970-01-01T24:01",
        "1970-01-01T00:60",
        "1970-01-01T00:00:61",
        "1970-01-01T00:00:00.",
        "1970-01-01T00:00.5",
        "1970-01-01T00:00:00+",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T000000Z",
        "19700101T00:00:00Z",
        " 1970-01-01",
        "1970-01-01T00:00:00ZZ",
        "+1970-01-01",
        "-1970-01-01",
        "١٩٧٠-٠١-٠١",
        "Thu, 01 Jan 1970 00:00:00 GMT",
    ] {
        assert_eq!(parse_iso8601(text), None, "{text}");
    }
}

/// Days from the epoch, by counting years and months one after the other.
fn counted_days(year: i64, month: i64, day: i64) -> i64 {
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let of_year = |year| if leap(year) { 366 } else { 365 };
    let years: i64 =
        if year >= 1970 { (1970..year).map(of_year).sum() } else { -(year..1970).map(of_year).sum::<i64>() };
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    years + (1..month).map(|month| lengths[usize::try_from(month).unwrap() - 1]).sum::<i64>() + day - 1
}

proptest! {
    #[test]
    fn a_date_is_where_counting_the_days_puts_it(
        year in 0..10_000_i64, month in 1..13_i64, day in 1..29_i64,
        hour in 0..24_i64, minute in 0..60_i64, second in 0..60_i64, ms in 0..1_000_i64, ahead in -1_439..1_440_i64,
    ) {
        let (sign, off) = if ahead < 0 { ('-', -ahead) } else { ('+', ahead) };
        let text = format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}{sign}{:02}:{:02}", off / 60, off % 60,
        );
        let expected = ((counted_days(year, month, day) * 24 + hour) * 60 + minute - ahead) * 60_000 + second * 1_000 + ms;
        prop_assert_eq!(parse_iso8601(&text), Some(expected));
        // The basic format says the same.
        let basic = text.replacen('-', "", 2).replace(':', "");
        prop_assert_eq!(parse_iso8601(&basic), Some(expected));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,30}|[0-9TZ:+., -]{0,30}") {
        let _ = parse_iso8601(&text);
    }
}
