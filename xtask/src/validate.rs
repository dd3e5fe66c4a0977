//! `cargo xtask validate`: judge the frames of a recording by the vendored schema, and their order by the protocol.
//!
//! Shapes are judged frame by frame, all of them. The order is judged as a consumer judges it, by the
//! [`Pipeline`]: up to the first frame for which the stream is rejected, since nothing after it means what it says.
//! A consumer lets pass what the schema does not know; the schema has its say about that.

use std::{io::Read, ops::ControlFlow};

use agui_core::consumer::{self, Pipeline};
use agui_encoder::decode::FrameRef;
use agui_schema::{Definition, Instance, Validator, json};
use anyhow::{Context, bail};
use serde_json::Value;

use crate::{
    Verdict, counted,
    frames::{self, Ending, Wire},
};

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The definition of the schema that every frame has to satisfy, by its name there.
    #[arg(long, default_value_t = Definition::EVENT, value_name = "NAME")]
    definition: Definition,
    /// How the frames are laid out. Without it the file's ending decides (.sse, .ndjson, .jsonl, .pb, .protobuf,
    /// .binpb, .json), and without a known ending it is sse for events and json for any other definition.
    #[arg(long, value_enum)]
    format: Option<Layout>,
    /// Judge each event by itself, not the order in which they come.
    #[arg(long)]
    shape_only: bool,
    /// The file to judge, `-` for standard input.
    file: String,
}

/// How the frames of a file are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Layout {
    /// Server-sent events.
    Sse,
    /// One frame per line.
    Ndjson,
    /// Length-prefixed protobuf.
    Protobuf,
    /// One JSON document. Where events are expected, a list is taken for a list of frames.
    Json,
}

impl Layout {
    fn of_name(name: &str) -> Option<Self> {
        if name.to_ascii_lowercase().ends_with(".json") {
            return Some(Self::Json);
        }
        Wire::of_name(name).map(|wire| match wire {
            Wire::Sse => Self::Sse,
            Wire::Ndjson => Self::Ndjson,
            Wire::Protobuf => Self::Protobuf,
        })
    }
}

/// Prints one line per violation, frames counted from 1: `frame N: POINTER: WHAT (DEFINITION, KEYWORD)` about a shape,
/// `frame N: WHAT (RULE)` about the order.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let layout = args
        .format
        .or_else(|| Layout::of_name(&args.file))
        .unwrap_or(if args.definition == Definition::EVENT { Layout::Sse } else { Layout::Json });
    let mut violations = 0_usize;
    let mut print = |line: String| {
        println!("{line}");
        violations += 1;
    };
    let mut judge = Judge::new(args.definition, !args.shape_only, &mut print);
    judge.read(frames::open(&args.file)?, layout).with_context(|| format!("cannot read {}", args.file))?;
    let frames = judge.frames;
    if frames == 0 {
        // Most likely the wrong format, and surely not something to pass a check with.
        bail!("no frames found in {} (read as {layout:?})", args.file);
    }
    eprintln!("{}, {}", counted(frames, "frame"), counted(violations, "violation"));
    Ok(Verdict::of(violations))
}

/// Judges frames one after the other.
struct Judge<'p> {
    definition: Definition,
    /// Judges the order; nothing once that is no longer judged.
    order: Option<Pipeline>,
    frames: u64,
    complain: &'p mut dyn FnMut(String),
}

impl<'p> Judge<'p> {
    fn new(definition: Definition, in_order: bool, complain: &'p mut dyn FnMut(String)) -> Self {
        let order = (in_order && definition == Definition::EVENT).then(Pipeline::new);
        Self { definition, order, frames: 0, complain }
    }

    fn read(&mut self, mut source: impl Read, layout: Layout) -> std::io::Result<()> {
        let wire = match layout {
            Layout::Sse => Wire::Sse,
            Layout::Ndjson => Wire::Ndjson,
            Layout::Protobuf => Wire::Protobuf,
            Layout::Json => {
                let mut text = Vec::new();
                source.read_to_end(&mut text)?;
                self.document(&String::from_utf8_lossy(&text));
                return Ok(());
            }
        };
        let ending = frames::read(source, wire, |frame| {
            self.frame(frame);
            ControlFlow::<()>::Continue(())
        })?;
        let broken = match ending {
            Ending::Clean | Ending::Stopped(()) => None,
            Ending::Truncated(_) => Some("the file breaks off inside it (LIFE-11)".to_owned()),
            Ending::Refused(error) => Some(frames::refusal(&error)),
        };
        if let Some(reason) = broken {
            self.frames += 1;
            self.order = None;
            self.complain(&reason);
        }
        self.end();
        Ok(())
    }

    fn frame(&mut self, frame: FrameRef<'_>) {
        if frame.is_binary() {
            match frames::tree(frame) {
                Ok(tree) => self.judge(&tree, frame),
                Err(error) => {
                    self.frames += 1;
                    // What a consumer drops and goes on from is a violation of the shape all the same.
                    if self.order.as_mut().is_some_and(|order| order.feed(frame, &mut |_| {}).is_err()) {
                        self.order = None;
                    }
                    self.complain(&format!("/: {error}"));
                }
            }
            return;
        }
        if !frame.lossy() && std::str::from_utf8(frame.text()).is_err() {
            self.frames += 1;
            self.order = None;
            self.complain("/: expected JSON: it is not UTF-8 (PROC-6)");
            return;
        }
        self.judge(&*String::from_utf8_lossy(frame.text()), frame);
    }

    /// A document is one frame, unless it is a list where events are expected: that is a stream.
    fn document(&mut self, text: &str) {
        // The list around the events is no level of theirs.
        match json::read(text, json::MAX_DEPTH + 1) {
            Ok(Value::Array(events)) if self.definition == Definition::EVENT => {
                for event in &events {
                    self.judge(event, event.clone());
                }
                self.end();
            }
            // The validator says in one place what is no JSON.
            _ => {
                self.order = None;
                self.judge(text, "");
            }
        }
    }

    fn judge<'a>(&mut self, instance: impl Into<Instance<'a>>, material: impl Into<consumer::Frame<'a>>) {
        self.frames += 1;
        let violations = Validator::shared().definition(self.definition, instance).err();
        for violation in violations.iter().flatten() {
            self.complain(&violation.to_string());
        }
        let Some(order) = &mut self.order else { return };
        let Err(error) = order.feed(material, &mut |_| {}) else {
            // Nobody asks for them, and a long recording can have many.
            order.take_warnings();
            return;
        };
        self.order = None;
        // What makes a frame malformed has been said.
        if violations.is_none() {
            self.complain(&error.message());
        }
    }

    /// The recording is over: its last run should be, too.
    fn end(&mut self) {
        if let Some(mut order) = self.order.take()
            && self.frames > 0
            && order.finish().is_truncated()
        {
            self.complain("the stream ends here, and its run has not (LIFE-11)");
        }
    }

    fn complain(&mut self, what: &str) {
        (self.complain)(format!("frame {}: {what}", self.frames));
    }
}

#[cfg(test)]
mod tests {
    use agui_encoder::protobuf::encode_raw;
    use clap::Parser;

    use super::*;

    const GOOD: &str = r#"{"type":"STEP_STARTED","stepName":"s"}"#;
    const BAD: &str = r#"{"type":"STEP_STARTED","stepName":1}"#;
    const BAD_LINE: &str = "frame 2: /stepName: expected string, found 1 (StepStartedEvent, type)";
    const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
    const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn judged(
        text: impl AsRef<[u8]>,
        definition: Definition,
        layout: Layout,
        in_order: bool,
    ) -> (u64, Vec<String>) {
        let mut lines = Vec::new();
        let mut complain = |line| lines.push(line);
        let mut judge = Judge::new(definition, in_order, &mut complain);
        judge.read(text.as_ref(), layout).unwrap();
        (judge.frames, lines)
    }

    fn shapes(text: impl AsRef<[u8]>, layout: Layout) -> (u64, Vec<String>) {
        judged(text, Definition::EVENT, layout, false)
    }

    /// The complaints about events in their order, the same in every layout.
    fn in_order(events: &[&str]) -> Vec<String> {
        let data: Vec<_> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let (frames, lines) = judged(data.concat(), Definition::EVENT, Layout::Sse, true);
        let whole = (frames, lines.clone());
        assert_eq!(judged(events.join("\n"), Definition::EVENT, Layout::Ndjson, true), whole);
        let list = format!("[{}]", events.join(","));
        assert_eq!(judged(list, Definition::EVENT, Layout::Json, true), whole);
        // Not everything can be said on the binary wire.
        let mut body = bytes::BytesMut::new();
        let encoded = events
            .iter()
            .try_for_each(|event| encode_raw(&json::read(event, json::MAX_DEPTH).unwrap(), &mut body));
        if encoded.is_ok() {
            assert_eq!(judged(&body, Definition::EVENT, Layout::Protobuf, true), whole);
        }
        lines
    }

    #[test]
    fn violations_carry_the_number_of_their_frame_in_every_layout() {
        let expected = (3, vec![BAD_LINE.to_owned()]);
        let body = format!("data: {GOOD}\n\n: x\n\ndata: {BAD}\n\ndata: {GOOD}\n\n");
        assert_eq!(shapes(body, Layout::Sse), expected);
        assert_eq!(shapes(format!("{GOOD}\n{BAD}\n\n{GOOD}"), Layout::Ndjson), expected);
        assert_eq!(shapes(format!("[{GOOD},{BAD},{GOOD}]"), Layout::Json), expected);
    }

    #[test]
    fn a_json_document_is_one_frame_unless_it_is_a_list_of_events() {
        assert_eq!(judged(GOOD, Definition::EVENT, Layout::Json, true), (1, vec![]));
        assert_eq!(judged("[]", "JsonPatch".parse().unwrap(), Layout::Json, true), (1, vec![]));
    }

    #[test]
    fn text_that_is_not_json_is_a_violation_of_its_frame() {
        for (text, layout) in [("data: [DONE]\n\n", Layout::Sse), ("{", Layout::Json)] {
            let (frames, lines) = judged(text, Definition::EVENT, layout, true);
            assert_eq!((frames, lines.len()), (1, 1));
            assert!(lines[0].starts_with("frame 1: /: expected JSON: "), "{lines:?}");
        }
        let (frames, lines) = shapes(b"1\n\xff\n", Layout::Ndjson);
        assert_eq!((frames, lines[1].as_str()), (2, "frame 2: /: expected JSON: it is not UTF-8 (PROC-6)"));
    }

    #[test]
    fn the_order_is_judged_and_names_frame_and_rule() {
        assert_eq!(
            in_order(&[STARTED, GOOD, r#"{"type":"STEP_FINISHED","stepName":"s"}"#, FINISHED]),
            [""; 0]
        );
        for (events, frame, rule) in [
            (&[GOOD][..], 1, "LIFE-1"),
            (&[STARTED, STARTED], 2, "LIFE-2"),
            (&[STARTED, GOOD, FINISHED], 3, "LIFE-3"),
            (&[STARTED, FINISHED, GOOD, GOOD], 3, "LIFE-7"),
            (&[STARTED, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#], 2, "STREAM-1"),
            (&[STARTED, r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"x"}"#], 2, "CHUNK-1"),
            (&[STARTED, GOOD], 2, "LIFE-11"),
        ] {
            let lines = in_order(events);
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].starts_with(&format!("frame {frame}: ")), "{lines:?}");
            assert!(lines[0].ends_with(&format!("({rule})")), "{lines:?}");
        }
    }

    #[test]
    fn what_makes_a_frame_malformed_is_said_once_and_the_shapes_after_it_are_judged() {
        let lines = in_order(&[STARTED, BAD, GOOD, BAD]);
        assert_eq!(lines, [BAD_LINE.to_owned(), BAD_LINE.replace("frame 2", "frame 4")]);
    }

    #[test]
    fn what_a_consumer_lets_pass_is_still_a_violation_of_the_shape() {
        let lines = in_order(&[STARTED, r#"{"type":"NEW"}"#, FINISHED]);
        assert!(lines.len() == 1 && lines[0].starts_with("frame 2: /type: "), "{lines:?}");
    }

    #[test]
    fn a_file_that_breaks_off_inside_a_frame_is_a_violation_of_that_frame() {
        let lines = shapes(format!("data: {GOOD}\n\ndata: {{\"ty"), Layout::Sse);
        assert_eq!(lines, (2, vec!["frame 2: the file breaks off inside it (LIFE-11)".to_owned()]));
    }

    #[test]
    fn a_binary_frame_that_is_no_event_is_a_violation_and_so_is_an_event_of_a_later_protocol() {
        // Nothing at all; an event in a field that 1.0 does not have; the end of a step.
        let body = b"\0\0\0\0\0\0\0\x03\x82\x02\0\0\0\0\x0a\x82\x01\x07\x0a\x02\x08\x0f\x12\x01s";
        let (frames, lines) = judged(body, Definition::EVENT, Layout::Protobuf, true);
        assert_eq!((frames, lines.len()), (3, 2), "{lines:?}");
        assert!(lines[0].starts_with("frame 1: /: ") && lines[0].ends_with("(BIND-8)"), "{lines:?}");
        assert!(lines[1].starts_with("frame 2: /: "), "{lines:?}");
        let (_, lines) = judged(&body[..9], Definition::EVENT, Layout::Protobuf, true);
        assert_eq!(lines[1], "frame 2: the file breaks off inside it (LIFE-11)");
    }

    #[test]
    fn a_frame_may_nest_as_deeply_as_a_consumer_reads() {
        let nested = |levels: usize| {
            // The event itself is a level.
            let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
            format!(r#"{{"type":"CUSTOM","name":"x","value":{open}{close}}}"#)
        };
        assert_eq!(agui_core::json::MAX_DEPTH, json::MAX_DEPTH);
        assert_eq!(in_order(&[STARTED, &nested(128), FINISHED]), [""; 0]);
        let deep = nested(129);
        let body = format!("data: {STARTED}\n\ndata: {deep}\n\n");
        let (_, lines) = judged(body, Definition::EVENT, Layout::Sse, true);
        let too_deep = "/: expected JSON: nested deeper than 128 levels (Event, json)";
        assert_eq!(lines, [format!("frame 2: {too_deep}")]);
        for document in [deep.clone(), format!("[{deep}]")] {
            let (_, lines) = judged(document, Definition::EVENT, Layout::Json, true);
            assert_eq!(lines, [format!("frame 1: {too_deep}")]);
        }
    }

    #[test]
    fn a_frame_that_is_too_large_has_one_number_and_the_counts_agree_with_their_nouns() {
        let (frames, lines) = shapes(format!("{GOOD}\n\"{}", "x".repeat(11 << 20)), Layout::Ndjson);
        let expected = "frame 2: it starts at byte 39 and is larger than 10485760 bytes (PROC-6)";
        assert_eq!((frames, lines), (2, vec![expected.to_owned()]));
        assert_eq!([0, 1, 2].map(|count| counted(count, "frame")), ["0 frames", "1 frame", "2 frames"]);
    }

    #[test]
    fn an_unknown_definition_is_refused_on_the_command_line() {
        assert!(Line::try_parse_from(["validate", "--definition", "Evnt", "-"]).is_err());
        let line =
            Line::try_parse_from(["validate", "--definition", "Tool", "--format", "ndjson", "-"]).unwrap();
        assert_eq!((line.args.definition.as_str(), line.args.shape_only), ("Tool", false));
        assert_eq!(line.args.format, Some(Layout::Ndjson));
        assert_eq!(Layout::of_name("run.JSON"), Some(Layout::Json));
        assert_eq!(Layout::of_name("run.jsonl"), Some(Layout::Ndjson));
        assert_eq!(Layout::of_name("run.pb"), Some(Layout::Protobuf));
    }
}
