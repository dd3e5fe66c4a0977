//! A chat application's vocabulary (in `projection/chat.rs`) over AG-UI and back: nothing is lost through JSON text,
//! foreign material does not disturb, an illegal order does not leave, nothing is carried over a reconnect.

#![expect(clippy::unwrap_used, reason = "what cannot be sent or received fails its test")]

#[path = "projection/chat.rs"]
mod chat;

use std::convert::Infallible;
use std::sync::Arc;

use agui_core::producer::{RunError, RunSetup, launch};
use agui_core::projection::{
    Leftovers, ProjectError, Projection, finish_into, project_into, project_iter, project_stream,
    recover_iter, recover_stream,
};
use agui_core::sequence::{Policy, Sequence};
use agui_core::{
    Event, Interrupt, Metadata, MetadataNamespace, Run, RunAgentInput, RunFinishedOutcome, RunWriter,
    TextMessageContentEvent, TextMessageEndEvent, enforce, handler_from_stream,
};
use chat::{
    CancelledExtra, Chat, ChatError, CompleteExtra, DeltaExtra, Draft, Frame, LEFTOVERS, MenuExtra, Presence,
    StartExtra, TitleExtra, ToolResultExtra, ToolUse, ToolUseExtra, UserExtra, UserLine,
};
use futures_util::{StreamExt, stream};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a producer sends for the frames of one connection: one event per line, in an order it may send.
fn send(frames: impl IntoIterator<Item = Frame>) -> Vec<String> {
    let mut sequence = Sequence::new(Policy::Producer);
    project_iter(Chat::default(), frames)
        .map(|event| {
            let event = event.unwrap();
            sequence.check(&event).unwrap();
            serde_json::to_string(&event).unwrap()
        })
        .collect()
}

/// What a consumer's stages let through, and how many warnings they had about it.
fn receive<'a>(lines: impl IntoIterator<Item = &'a String>) -> (Vec<Event>, usize) {
    let mut warnings = Vec::new();
    let mut sequence = Sequence::new(Policy::Consumer);
    let mut events = Vec::new();
    for line in lines {
        if let Some(event) = enforce::event_from_json(line.as_bytes(), &mut warnings).unwrap() {
            sequence.check(&event).unwrap();
            events.push(event);
        }
    }
    let notices = sequence.take_notices();
    (events, warnings.len() + notices.len())
}

/// The frames of one connection, which is received without a warning.
fn recover<'a>(lines: impl IntoIterator<Item = &'a String>) -> Vec<Frame> {
    let (events, warnings) = receive(lines);
    assert_eq!(warnings, 0);
    frames_of(&events)
}

fn frames_of(events: &[Event]) -> Vec<Frame> {
    recover_iter(Chat::default(), events).map(Result::unwrap).collect()
}

fn start() -> Frame {
    let extra = StartExtra { model: Some("m-large".into()), region: Some("eu".into()) };
    Frame::StreamStart { conversation: "room/42".into(), stream: "turn:7".into(), extra }
}

fn delta(message: &str, words: &str, seq: u64) -> Frame {
    let extra = DeltaExtra { seq: Some(seq), confidence: Some(0.1 + 0.2) };
    Frame::Delta { message: message.into(), text: words.into(), extra }
}

fn user(message: &str) -> Frame {
    let extra = UserExtra { device: Some("phone".into()), mentions: Some(vec!["bo".into()]) };
    Frame::UserMessage(UserLine {
        message: message.into(),
        author: Some("ada".into()),
        text: "And Porto, @bo?".into(),
        extra,
    })
}

fn tool_use(call: &str) -> Frame {
    let extra = ToolUseExtra { approved_by: Some("ada".into()), timeout_ms: Some(500) };
    let arguments = json!({"city": "Porto", "days": [1, 2.5, null], "exact": 9_007_199_254_740_993_u64});
    Frame::ToolUse(ToolUse { call: call.into(), tool: "weather".into(), arguments, extra })
}

fn tool_result(call: &str, message: &str) -> Frame {
    let extra = ToolResultExtra { cached: Some(true), exit_code: Some(-1) };
    Frame::ToolResult { call: call.into(), message: message.into(), output: "rain".into(), extra }
}

fn title() -> Frame {
    let extra = TitleExtra { by: Some("model".into()), automatic: Some(true) };
    Frame::TitleChange { title: "Two cities".into(), extra }
}

fn draft() -> Frame {
    Frame::Draft(Draft { text: "And Far".into(), cursor: 7 })
}

fn presence() -> Frame {
    Frame::Presence(Presence { user: "bo".into(), online: true })
}

fn menu() -> Frame {
    let extra = MenuExtra { columns: Some(2), icons: Some(vec!["train".into(), "bus".into()]) };
    let choices = vec!["train".into(), "bus".into()];
    Frame::Menu { id: "menu-1".into(), question: "How?".into(), choices, extra }
}

fn complete() -> Frame {
    Frame::Complete { extra: CompleteExtra { finish_reason: Some("stop".into()), latency_ms: Some(12) } }
}

fn cancelled() -> Frame {
    Frame::Cancelled { extra: CancelledExtra { by: Some("ada".into()), reason: Some("too long".into()) } }
}

/// A stream with every kind of frame that does not end one.
fn stream_ending_with(end: Frame) -> Vec<Frame> {
    vec![
        start(),
        presence(),
        delta("a1", "Lisbon", 1),
        delta("a1", "", 2),
        user("u1"),
        delta("a1", ": sun.", 3),
        tool_use("c1"),
        draft(),
        tool_result("c1", "r1"),
        title(),
        delta("a2", "Porto: rain.", 4),
        end,
    ]
}

/// The frame without what AG-UI has no place for.
fn bare(mut frame: Frame) -> Frame {
    match &mut frame {
        Frame::StreamStart { extra, .. } => *extra = StartExtra::default(),
        Frame::Delta { extra, .. } => *extra = DeltaExtra::default(),
        Frame::Complete { extra } => *extra = CompleteExtra::default(),
        Frame::UserMessage(user) => user.extra = UserExtra::default(),
        Frame::ToolUse(call) => call.extra = ToolUseExtra::default(),
        Frame::ToolResult { extra, .. } => *extra = ToolResultExtra::default(),
        Frame::TitleChange { extra, .. } => *extra = TitleExtra::default(),
        // All of these is in the value of their event.
        Frame::Draft(_) | Frame::Presence(_) => {}
        Frame::Menu { extra, .. } => *extra = MenuExtra::default(),
        Frame::Cancelled { extra } => *extra = CancelledExtra::default(),
    }
    frame
}

#[test]
fn every_frame_survives_the_way_through_json_text() {
    for end in [complete(), menu(), cancelled()] {
        let frames = stream_ending_with(end);
        assert_eq!(recover(&send(frames.clone())), frames);
    }
}

#[test]
fn several_streams_follow_each_other_on_one_connection() {
    let next = |stream: &str| Frame::StreamStart {
        conversation: "room/42".into(),
        stream: stream.into(),
        extra: StartExtra::default(),
    };
    // The second stream goes on with the message of the first, which opens it again (`STREAM-4`).
    let frames =
        vec![next("1"), delta("a1", "Lis", 1), cancelled(), next("2"), delta("a1", "bon", 2), complete()];
    assert_eq!(recover(&send(frames.clone())), frames);
}

#[test]
fn what_ag_ui_can_say_is_said_to_every_consumer() {
    let lines = send(stream_ending_with(menu()));
    let (events, _) = receive(&lines);
    let types: Vec<_> = events.iter().map(|event| event.event_type().as_str()).collect();
    assert_eq!(
        types,
        [
            "RUN_STARTED",
            "CUSTOM",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "CUSTOM",
            "TOOL_CALL_RESULT",
            "STATE_DELTA",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]
    );
    // Nothing of the application's own appears under any metadata key but its one (`META-3`).
    for event in &events {
        for key in event.metadata().into_iter().flat_map(|metadata| metadata.keys()) {
            assert_eq!(*key, LEFTOVERS.key());
        }
    }
    let finished: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(
        finished["outcome"]["interrupts"][0],
        json!({
            "id": "menu-1",
            "reason": "acme.menu",
            "message": "How?",
            "responseSchema": {"enum": ["train", "bus"]},
            "metadata": {"acme.frame": {"columns": 2, "icons": ["train", "bus"]}},
        })
    );
}

#[test]
fn a_call_for_the_front_end_is_named_when_the_stream_completes() {
    let frames = [start(), tool_use("c1"), tool_use("c2"), tool_result("c1", "r1"), complete()];
    let finished: Value = serde_json::from_str(send(frames).last().unwrap()).unwrap();
    assert_eq!(finished["outcome"], json!({"type": "success", "pendingToolCallIds": ["c2"]}));
}

/// Events of others: nobody's frames. Each bundle may stand anywhere inside a run.
fn foreign(kind: usize, number: usize) -> Vec<Value> {
    let id = format!("foreign-{number}");
    match kind {
        0 => vec![json!({"type": "CUSTOM", "name": "other.signal", "value": null})],
        1 => vec![json!({"type": "RAW", "event": {"type": "delta", "text": "no frame"}, "source": "acme"})],
        2 => vec![json!({"type": "STATE_SNAPSHOT", "snapshot": {"title": "not ours", "plan": []}})],
        3 => vec![json!({"type": "STATE_DELTA", "delta": [
            {"op": "test", "path": "/title", "value": "Two cities"},
            {"op": "add", "path": "/titles", "value": "x"},
            {"op": "remove", "path": "/title"},
        ]})],
        4 => {
            vec![json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "PLAN", "content": {}})]
        }
        5 => vec![
            json!({"type": "REASONING_START", "messageId": id}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": "hm"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
            json!({"type": "REASONING_END", "messageId": id}),
        ],
        6 => vec![
            json!({"type": "STEP_STARTED", "stepName": id}),
            json!({"type": "STEP_FINISHED", "stepName": id}),
        ],
        7 => vec![
            json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "system"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "no frame"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
        ],
        8 => vec![
            json!({"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": "scout"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": id, "subagentRunId": id}),
            // Untagged, it belongs to the subagent's message all the same (`SUB-3`).
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "no frame"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id}),
        ],
        // Unknown to the consumer: gone before it gets here (`PROC-2`).
        _ => vec![json!({"type": "SIGNAL_RAISED", "level": number})],
    }
}

const FOREIGN_KINDS: usize = 10;

/// Puts the bundles of others between the lines, by places that need not fit.
fn interleave(lines: &[String], bundles: &[(usize, usize)]) -> Vec<String> {
    let mut mixed = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        // Before the line, since the last place of a run is before its end; nothing may stand before its start.
        if !line.starts_with(r#"{"type":"RUN_STARTED""#) {
            for (number, (kind, _)) in
                bundles.iter().enumerate().filter(|(_, (_, wanted))| wanted % lines.len() == place)
            {
                mixed.extend(foreign(*kind, number).iter().map(Value::to_string));
            }
        }
        mixed.push(line.clone());
    }
    mixed
}

#[test]
fn foreign_events_stand_for_no_frame() {
    let frames = stream_ending_with(complete());
    let lines = send(frames.clone());
    for kind in 0..FOREIGN_KINDS {
        let everywhere: Vec<_> = (1..lines.len()).map(|place| (kind, place)).collect();
        let mixed = interleave(&lines, &everywhere);
        assert!(mixed.len() >= 2 * lines.len() - 1);
        let (events, warnings) = receive(&mixed);
        assert_eq!(warnings > 0, kind == FOREIGN_KINDS - 1, "kind {kind}");
        assert_eq!(frames_of(&events), frames, "kind {kind}");
    }
}

#[test]
fn metadata_of_others_stays_beside_ours() {
    let frames = stream_ending_with(cancelled());
    let (mut events, _) = receive(&send(frames.clone()));
    for event in &mut events {
        let metadata = event.metadata().cloned().unwrap_or_default();
        event.set_metadata(Some(metadata.with("other.trace", 7).with("frame", "no").with("acme", [1])));
    }
    assert_eq!(frames_of(&events), frames);
}

#[test]
fn an_interrupt_of_others_is_no_menu() {
    let (mut events, _) = receive(&send([start(), menu()]));
    let Some(Event::RunFinished(finished)) = events.last_mut() else { panic!("the run finishes") };
    let Some(RunFinishedOutcome::Interrupt(outcome)) = &mut finished.outcome else { panic!("it asks") };
    let mut interrupts = outcome.interrupts.to_vec();
    interrupts.insert(0, Interrupt::new("other-1", "confirm"));
    outcome.interrupts = interrupts.try_into().unwrap();
    assert_eq!(frames_of(&events), [start(), menu()]);
}

/// Removes all metadata, as a consumer between the two ends might, although it must not (`META-4`).
fn strip(events: &mut [Event]) {
    for event in events {
        event.set_metadata(None);
        if let Event::RunFinished(finished) = event
            && let Some(RunFinishedOutcome::Interrupt(outcome)) = &mut finished.outcome
        {
            let bare = outcome.interrupts.iter().cloned().map(|mut interrupt| {
                interrupt.metadata = None;
                interrupt
            });
            outcome.interrupts = bare.collect::<Vec<_>>().try_into().unwrap();
        }
    }
}

#[test]
fn stripped_metadata_costs_what_ag_ui_has_no_place_for_and_no_frame() {
    for end in [complete(), menu(), cancelled()] {
        let frames = stream_ending_with(end);
        let (mut events, _) = receive(&send(frames.clone()));
        strip(&mut events);
        let recovered = frames_of(&events);
        assert_ne!(recovered, frames);
        assert_eq!(recovered, frames.into_iter().map(bare).collect::<Vec<_>>());
    }
}

#[test]
fn another_producers_stream_gives_frames_without_extras() {
    // A call without arguments, a result in parts, no outcome: nothing our side would write.
    let lines = [
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "now"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
        json!({"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "m", "content": [
            {"type": "text", "text": "12"}, {"type": "text", "text": ":00"},
        ]}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
    ]
    .map(|event| event.to_string());
    let call = ToolUse {
        call: "c".into(),
        tool: "now".into(),
        arguments: json!({}),
        extra: ToolUseExtra::default(),
    };
    let expected = [
        Frame::StreamStart { conversation: "t".into(), stream: "r".into(), extra: StartExtra::default() },
        Frame::ToolUse(call),
        Frame::ToolResult {
            call: "c".into(),
            message: "m".into(),
            output: "12:00".into(),
            extra: ToolResultExtra::default(),
        },
        Frame::Complete { extra: CompleteExtra::default() },
    ];
    assert_eq!(recover(&lines), expected);
}

#[test]
fn what_cannot_be_read_is_an_error_of_its_event_and_the_rest_goes_on() {
    let (mut events, _) = receive(&send(stream_ending_with(complete())));
    for event in &mut events {
        match event {
            Event::TextMessageContent(content) if content.delta == "Lisbon" => {
                content.metadata = Some(Metadata::new().with(LEFTOVERS.key(), "no object"));
            }
            Event::ToolCallArgs(args) => args.delta = r#"{"city":"#.into(),
            Event::Custom(custom) if custom.name == "acme.draft" => custom.value = Value::Null,
            _ => {}
        }
    }
    let mut errors = Vec::new();
    let frames: Vec<_> = recover_iter(Chat::default(), &events)
        .filter_map(|frame| frame.map_err(|error| errors.push(error)).ok())
        .collect();
    let [ChatError::Leftovers(leftovers), ChatError::Arguments { call, .. }, ChatError::Custom { name, .. }] =
        &errors[..]
    else {
        panic!("{errors:?}")
    };
    assert_eq!((leftovers.key(), call.as_str(), *name), ("acme.frame", "c1", "acme.draft"));
    let lost = [delta("a1", "Lisbon", 1), tool_use("c1"), draft()];
    let mut kept = stream_ending_with(complete());
    kept.retain(|frame| !lost.contains(frame));
    assert_eq!(frames, kept);
}

fn writer() -> RunWriter<Vec<Event>> {
    RunWriter::new(RunAgentInput::new("room/42", "turn:7", []), Vec::new())
}

#[test]
fn a_run_takes_the_frames_of_a_stream() {
    for end in [complete(), menu(), cancelled()] {
        let frames = stream_ending_with(end);
        let (mut chat, mut writer) = (Chat::default(), writer());
        for frame in frames.clone() {
            project_into(&mut chat, frame, &mut writer).unwrap();
        }
        finish_into(&mut chat, &mut writer).unwrap();
        assert!(writer.is_over());
        assert_eq!(frames_of(&writer.into_sink()), frames);
    }
}

#[test]
fn an_illegal_projection_is_an_error_that_names_the_rule() {
    let same_message = |message: &str| [start(), delta("a1", "x", 1), user(message)];
    let other_conversation = Frame::StreamStart {
        conversation: "room/43".into(),
        stream: "turn:7".into(),
        extra: StartExtra::default(),
    };
    let cases: [(&str, Vec<Frame>); 5] = [
        // Before the stream, or after it, there is no place for anything.
        ("LIFE-1", vec![presence()]),
        ("LIFE-2", vec![start(), start()]),
        ("LIFE-9", vec![other_conversation]),
        ("STREAM-1", same_message("a1").to_vec()),
        ("STREAM-4", vec![start(), user("u1"), delta("u1", "x", 1)]),
    ];
    for (rule, frames) in cases {
        let (mut chat, mut writer) = (Chat::default(), writer());
        let (last, before) = frames.split_last().unwrap();
        for frame in before {
            project_into(&mut chat, frame.clone(), &mut writer).unwrap();
        }
        let written = writer.sink().len();
        let error = project_into(&mut chat, last.clone(), &mut writer).unwrap_err();
        assert_eq!(error.rule(), Some(rule));
        assert!(error.to_string().contains(rule), "{error}");
        assert_eq!(writer.sink().len(), written, "the refused event has not gone out");
    }
    // The same frames are fine where no id is used twice.
    let (mut chat, mut writer) = (Chat::default(), writer());
    for frame in same_message("u1") {
        project_into(&mut chat, frame, &mut writer).unwrap();
    }
}

#[test]
fn a_frame_that_the_projection_refuses_writes_nothing() {
    let (mut chat, mut writer) = (Chat::default(), writer());
    let error = project_into(&mut chat, complete(), &mut writer).unwrap_err();
    assert!(matches!(error, ProjectError::Projection(ChatError::NoStream)));
    assert_eq!(error.rule(), None);
    assert!(writer.sink().is_empty());
    project_into(&mut chat, start(), &mut writer).unwrap();

    let results: Vec<_> = project_iter(Chat::default(), [complete(), start()]).collect();
    assert!(matches!(results[..], [Err(ChatError::NoStream), Ok(Event::RunStarted(_)), ..]));
}

#[test]
fn frames_that_stop_without_an_end_are_no_success() {
    let frames = vec![start(), delta("a1", "Lis", 1)];
    let lines = send(frames.clone());
    let (events, _) = receive(&lines);
    let Some(Event::RunError(error)) = events.last() else { panic!("{events:?}") };
    assert_eq!(error.code.as_deref(), Some("cut_off"));
    // The other side sees the frames as they were: without an end.
    assert_eq!(recover(&lines), frames);

    let (mut chat, mut writer) = (Chat::default(), writer());
    for frame in frames {
        project_into(&mut chat, frame, &mut writer).unwrap();
    }
    finish_into(&mut chat, &mut writer).unwrap();
    assert!(writer.is_over());
}

#[test]
fn streams_give_what_iterators_give() {
    let frames = stream_ending_with(complete());
    futures_executor::block_on(async {
        let events = project_stream(Chat::default(), stream::iter(frames[..frames.len() - 1].to_vec()));
        let events: Vec<Event> = events.map(Result::unwrap).collect().await;
        // The end that the projection has pending comes too.
        assert!(matches!(events.last(), Some(Event::RunError(_))));
        let recovered = recover_stream(Chat::default(), stream::iter(events));
        let recovered: Vec<Frame> = recovered.map(Result::unwrap).collect().await;
        assert_eq!(recovered, frames[..frames.len() - 1]);
    });
}

#[test]
fn a_handler_serves_an_agent_that_speaks_the_vocabulary() {
    for end in [complete(), menu(), cancelled()] {
        let frames = stream_ending_with(end);
        let spoken = frames.clone();
        let handler = handler_from_stream(move |_run: Run| {
            project_stream(Chat::default(), stream::iter(spoken.clone()))
                .map(|event| event.map_err(RunError::from))
        });
        let setup = RunSetup::new(RunAgentInput::new("room/42", "turn:7", []));
        let events: Vec<Event> = futures_executor::block_on(async {
            let launched = launch(Arc::new(handler), setup);
            launched.control.settle(launched.task.await);
            stream::unfold(launched.events, |mut events| async { events.next().await.map(|e| (e, events)) })
                .collect()
                .await
        });
        // The run writes its two ends itself, so metadata of those is all that is lost. A menu's is its interrupt's.
        let expected: Vec<_> = frames
            .into_iter()
            .map(|frame| match frame {
                Frame::StreamStart { .. } | Frame::Complete { .. } | Frame::Cancelled { .. } => bare(frame),
                frame => frame,
            })
            .collect();
        assert_eq!(frames_of(&events), expected);
    }
}

#[test]
fn a_reconnect_starts_from_nothing_and_recovers_everything() {
    let frames = stream_ending_with(complete());
    let lines = send(frames.clone());
    for cut in 0..lines.len() {
        // The connection breaks: what was complete by then has been recovered, the rest is dropped with the value.
        let seen = recover(&lines[..cut]);
        assert_eq!(seen, frames[..seen.len()]);
        // The next one replays the run from its start, and nothing is missing or twice.
        assert_eq!(recover(&lines), frames);
    }
}

#[test]
fn a_producers_next_connection_does_not_lean_on_the_one_before() {
    let once = send(stream_ending_with(complete()));
    // An answer is left open, a call unanswered, when the first connection goes.
    send([start(), tool_use("c9"), delta("a1", "Lis", 1)]);
    assert_eq!(send(stream_ending_with(complete())), once);
}

#[test]
fn what_a_failed_run_abandons_does_not_show_up_in_the_next() {
    let lines = [
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "1"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "u", "delta": "old"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
        json!({"type": "RUN_ERROR", "message": "gone"}),
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "2"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "u", "delta": "new"}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "u"}),
        // A producer's slip, which a consumer need not notice: the message was the assistant's (`STREAM-4`).
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "system"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "no frame"}),
    ]
    .map(|event| event.to_string());
    let frames = recover(&lines);
    assert_eq!(frames.len(), 3);
    assert!(matches!(&frames[2], Frame::UserMessage(user) if user.text == "new"));
}

/// Whole messages, the last of which may be incomplete.
#[derive(Default)]
struct Lines(String);

impl Projection for Lines {
    type Frame = String;
    type Error = Infallible;

    fn project(&mut self, frame: String, out: &mut Vec<Event>) -> Result<(), Infallible> {
        out.push(TextMessageContentEvent::new("m", frame).into());
        Ok(())
    }

    fn recover(&mut self, event: &Event, out: &mut Vec<String>) -> Result<(), Infallible> {
        match event {
            Event::TextMessageContent(event) => self.0.push_str(&event.delta),
            Event::TextMessageEnd(_) => out.push(std::mem::take(&mut self.0)),
            _ => {}
        }
        Ok(())
    }

    fn finish_recovering(&mut self, out: &mut Vec<String>) -> Result<(), Infallible> {
        out.extend(Some(std::mem::take(&mut self.0)).filter(|rest| !rest.is_empty()));
        Ok(())
    }
}

#[test]
fn a_projection_may_give_what_is_incomplete_when_the_events_end() {
    let content = |text: &str| Event::from(TextMessageContentEvent::new("m", text));
    let events = [content("a"), TextMessageEndEvent::new("m").into(), content("b"), content("c")];
    let lines: Vec<_> = recover_iter(Lines::default(), &events).map(Result::unwrap).collect();
    assert_eq!(lines, ["a", "bc"]);
    let frames = futures_executor::block_on(
        recover_stream(Lines::default(), stream::iter(events)).map(Result::unwrap).collect::<Vec<_>>(),
    );
    assert_eq!(frames, lines);
}

#[test]
fn leftovers_touch_their_own_key_only() {
    const OURS: Leftovers = Leftovers::new(MetadataNamespace::new("acme"), "frame");
    let others = Metadata::new().with("acme.other", 1).with("acme.frames", 2);
    let mut metadata = Some(others.clone());
    OURS.put(&mut metadata, &[1, 2]).unwrap();
    OURS.put(&mut metadata, &[3]).unwrap();
    assert_eq!(metadata, Some(others.clone().with("acme.frame", [3])));

    // A value of another kind is reported, and stays for whoever looks next.
    let error = OURS.take::<String>(&mut metadata).unwrap_err();
    assert_eq!(error.key(), "acme.frame");
    assert!(error.to_string().contains("expected a string"), "{error}");
    assert_eq!(OURS.take::<Vec<u8>>(&mut metadata).unwrap(), Some(vec![3]));
    assert_eq!(metadata, Some(others));
    assert_eq!(OURS.take::<Vec<u8>>(&mut metadata).unwrap(), None);

    // What says nothing takes the key away, and the metadata with it if nothing else is there.
    let mut metadata = None;
    OURS.put(&mut metadata, "x").unwrap();
    OURS.put(&mut metadata, &None::<u8>).unwrap();
    assert_eq!(metadata, None);
    // An empty object that somebody else put there is not ours to remove.
    let mut metadata = Some(Metadata::new());
    OURS.put(&mut metadata, &()).unwrap();
    assert_eq!(metadata, Some(Metadata::new()));
}

#[test]
fn what_a_sender_puts_into_leftovers_is_repeated_up_to_a_bound_only() {
    let metadata = Metadata::new().with(LEFTOVERS.key(), "s".repeat(100_000));
    let error = LEFTOVERS.get::<u8>(Some(&metadata)).unwrap_err();
    assert!(error.to_string().len() < 300);
}

/// A frame inside a stream. Ids that have to be new are given by [`numbered`].
fn inner_frame() -> impl Strategy<Value = Frame> {
    let word = || "[ab\"\\\\\u{e9}\u{1f600} ]{0,4}";
    let maybe = move || option::of(word());
    let confidence = option::of(-1.0e6..1.0e6_f64);
    let delta =
        (0..3_u8, word(), option::of(any::<u64>()), confidence).prop_map(|(id, text, seq, confidence)| {
            Frame::Delta { message: format!("a{id}"), text, extra: DeltaExtra { seq, confidence } }
        });
    let user = (maybe(), word(), maybe(), option::of(vec(word(), 0..3))).prop_map(
        |(author, text, device, mentions)| {
            let extra = UserExtra { device, mentions };
            Frame::UserMessage(UserLine { message: String::new(), author, text, extra })
        },
    );
    let arguments = prop_oneof![
        Just(json!({})),
        any::<i64>().prop_map(|number| json!([number, null])),
        (word(), -1.0e9..1.0e9_f64).prop_map(|(key, number)| json!({ key: {"n": number} })),
        word().prop_map(Value::from),
    ];
    let tool_use = (word(), arguments, maybe(), option::of(any::<u64>())).prop_map(
        |(tool, arguments, approved_by, timeout_ms)| {
            let extra = ToolUseExtra { approved_by, timeout_ms };
            Frame::ToolUse(ToolUse { call: String::new(), tool, arguments, extra })
        },
    );
    let result = ("c{0,3}", word(), option::of(any::<bool>()), option::of(any::<i32>())).prop_map(
        |(call, output, cached, exit_code)| {
            let extra = ToolResultExtra { cached, exit_code };
            Frame::ToolResult { call, message: String::new(), output, extra }
        },
    );
    let title = (word(), maybe(), option::of(any::<bool>()))
        .prop_map(|(title, by, automatic)| Frame::TitleChange { title, extra: TitleExtra { by, automatic } });
    let draft = (word(), any::<u32>()).prop_map(|(text, cursor)| Frame::Draft(Draft { text, cursor }));
    let presence =
        (word(), any::<bool>()).prop_map(|(user, online)| Frame::Presence(Presence { user, online }));
    prop_oneof![4 => delta, 1 => user, 1 => tool_use, 1 => result, 1 => title, 1 => draft, 1 => presence]
}

fn last_frame() -> impl Strategy<Value = Frame> {
    let maybe = || option::of("[ab]{0,2}");
    prop_oneof![
        (maybe(), option::of(any::<u64>())).prop_map(|(finish_reason, latency_ms)| Frame::Complete {
            extra: CompleteExtra { finish_reason, latency_ms },
        }),
        (maybe(), maybe()).prop_map(|(by, reason)| Frame::Cancelled { extra: CancelledExtra { by, reason } }),
        ("[ab]{0,2}", vec("[ab]{0,2}", 0..3), option::of(any::<u8>()), option::of(vec("[ab]", 0..2)))
            .prop_map(|(question, choices, columns, icons)| Frame::Menu {
                id: "menu".into(),
                question,
                choices,
                extra: MenuExtra { columns, icons },
            }),
    ]
}

/// Random frames of one connection: streams one after the other, the last of which may be cut off.
fn connection() -> impl Strategy<Value = Vec<Frame>> {
    let extra =
        (option::of("[ab]"), option::of("[ab]")).prop_map(|(model, region)| StartExtra { model, region });
    let stream = (extra, vec(inner_frame(), 0..12), last_frame());
    (vec(stream, 1..4), any::<bool>()).prop_map(|(streams, cut)| {
        let mut frames = Vec::new();
        for (number, (extra, inner, last)) in streams.into_iter().enumerate() {
            let stream = format!("turn-{number}");
            frames.push(Frame::StreamStart { conversation: "room".into(), stream, extra });
            frames.extend(inner);
            frames.push(last);
        }
        if cut {
            frames.pop();
        }
        numbered(frames)
    })
}

/// Gives every message, call and result an id of its own (`SHAPE-9`).
fn numbered(mut frames: Vec<Frame>) -> Vec<Frame> {
    let mut calls = 0;
    for (number, frame) in frames.iter_mut().enumerate() {
        match frame {
            Frame::UserMessage(user) => user.message = format!("u{number}"),
            Frame::ToolResult { call, message, .. } => {
                *message = format!("r{number}");
                // Of a call made before, or of one from before the connection.
                *call = match calls {
                    0 => "c-early".into(),
                    made => format!("c{}", call.len() % made),
                };
            }
            Frame::ToolUse(call) => {
                call.call = format!("c{calls}");
                calls += 1;
            }
            _ => {}
        }
    }
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_frames_survive(frames in connection()) {
        prop_assert_eq!(recover(&send(frames.clone())), frames);
    }

    #[test]
    fn random_frames_survive_among_foreign_events(
        frames in connection(),
        bundles in vec((0..FOREIGN_KINDS, 0..64_usize), 0..16),
    ) {
        let (events, _) = receive(&interleave(&send(frames.clone()), &bundles));
        prop_assert_eq!(frames_of(&events), frames);
    }

    #[test]
    fn random_frames_lose_their_extras_only_where_metadata_is_stripped(frames in connection()) {
        let (mut events, _) = receive(&send(frames.clone()));
        strip(&mut events);
        prop_assert_eq!(frames_of(&events), frames.into_iter().map(bare).collect::<Vec<_>>());
    }
}
