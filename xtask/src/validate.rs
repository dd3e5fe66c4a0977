//! `cargo xtask validate`: judge the frames of a file by the vendored schema.
//!
//! Shapes only: each frame by itself, not the order in which they come.

use std::{fs, io::Read};

use agui_schema::{Definition, Validator, Violations};
use anyhow::{Context, bail};
use serde_json::Value;

use crate::{
    Verdict,
    frames::{self, Format},
};

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The definition of the schema that every frame has to satisfy, by its name there.
    #[arg(long, default_value_t = Definition::EVENT, value_name = "NAME")]
    definition: Definition,
    /// How the frames are laid out. Without it the file's ending decides (.sse, .ndjson, .jsonl, .json), and without
    /// a known ending it is sse for events and json for any other definition.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The file to judge, `-` for standard input.
    file: String,
}

/// Prints one line per violation: `frame N: POINTER: WHAT (DEFINITION, KEYWORD)`, frames counted from 1.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let text = read(&args.file)?;
    let format = args
        .format
        .or_else(|| Format::of_name(&args.file))
        .unwrap_or(if args.definition == Definition::EVENT { Format::Sse } else { Format::Json });
    let report = judge(&text, args.definition, format);
    if report.frames == 0 {
        // Most likely the wrong format, and surely not something to pass a check with.
        bail!("no frames found in {} (read as {format:?})", args.file);
    }
    for line in &report.lines {
        println!("{line}");
    }
    eprintln!("{} frames, {} violations", report.frames, report.lines.len());
    Ok(Verdict::of(report.lines.len()))
}

fn read(file: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = fs::read(file).with_context(|| format!("cannot read {file}"))?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What was found in a file.
#[derive(Debug, Default, PartialEq)]
struct Report {
    frames: usize,
    lines: Vec<String>,
}

impl Report {
    fn add(&mut self, outcome: Result<(), Violations>) {
        self.frames += 1;
        for violation in outcome.err().iter().flatten() {
            self.lines.push(format!("frame {}: {violation}", self.frames));
        }
    }
}

fn judge(text: &str, definition: Definition, format: Format) -> Report {
    let validator = Validator::shared();
    let mut report = Report::default();
    let frames = match format {
        Format::Sse => frames::sse(text),
        Format::Ndjson => frames::ndjson(text),
        Format::Json => match serde_json::from_str(text) {
            Ok(Value::Array(events)) if definition == Definition::EVENT => {
                for event in &events {
                    report.add(validator.event(event));
                }
                return report;
            }
            Ok(value) => {
                report.add(validator.definition(definition, &value));
                return report;
            }
            // Left to the validator, which says in one place what is no JSON.
            Err(_) => vec![text.to_owned()],
        },
    };
    for frame in &frames {
        report.add(validator.definition(definition, frame));
    }
    report
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const GOOD: &str = r#"{"type":"STEP_STARTED","stepName":"s"}"#;
    const BAD: &str = r#"{"type":"STEP_STARTED","stepName":1}"#;
    const BAD_LINE: &str = "frame 2: /stepName: expected string, found 1 (StepStartedEvent, type)";

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn lines(text: &str, format: Format) -> (usize, Vec<String>) {
        let report = judge(text, Definition::EVENT, format);
        (report.frames, report.lines)
    }

    #[test]
    fn violations_carry_the_number_of_their_frame_in_every_format() {
        let expected = (3, vec![BAD_LINE.to_owned()]);
        assert_eq!(
            lines(&format!("data: {GOOD}\n\n: x\n\ndata: {BAD}\n\ndata: {GOOD}\n\n"), Format::Sse),
            expected
        );
        assert_eq!(lines(&format!("{GOOD}\n{BAD}\n\n{GOOD}"), Format::Ndjson), expected);
        assert_eq!(lines(&format!("[{GOOD},{BAD},{GOOD}]"), Format::Json), expected);
    }

    #[test]
    fn a_json_document_is_one_frame_unless_it_is_a_list_of_events() {
        assert_eq!(lines(GOOD, Format::Json), (1, vec![]));
        let report = judge("[]", "JsonPatch".parse().unwrap(), Format::Json);
        assert_eq!(report, Report { frames: 1, lines: vec![] });
    }

    #[test]
    fn text_that_is_not_json_is_a_violation_of_its_frame() {
        for (text, format) in [("data: [DONE]\n\n", Format::Sse), ("{", Format::Json)] {
            let (frames, lines) = lines(text, format);
            assert_eq!((frames, lines.len()), (1, 1));
            assert!(lines[0].starts_with("frame 1: /: expected JSON: "), "{lines:?}");
        }
    }

    #[test]
    fn an_unknown_definition_is_refused_on_the_command_line() {
        assert!(Line::try_parse_from(["validate", "--definition", "Evnt", "-"]).is_err());
        let line =
            Line::try_parse_from(["validate", "--definition", "Tool", "--format", "ndjson", "-"]).unwrap();
        assert_eq!(line.args.definition.as_str(), "Tool");
        assert_eq!(line.args.format, Some(Format::Ndjson));
    }
}
