//! `cargo xtask replay`: run a recorded stream through the consumer and print one JSON report.
//!
//! The report holds what the application saw; apart from it, memory is bounded by one frame. What the input leaves out
//! is taken as the corpus's README has it: no messages, no state, and the identifiers of the last run that the stream
//! starts, for which the stream is read a first time. Standard input then goes through a temporary file.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    ops::ControlFlow,
    time::SystemTime,
};

use agui_core::consumer::Session;
use anyhow::Context;
use memchr::memmem;
use serde_json::{Map, Value};

use crate::{
    Verdict,
    frames::{self, Wire},
    report::{Ids, Reader, Report},
};

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How the frames are laid out. Without it the file's ending decides (.sse, .ndjson, .jsonl, .pb, .protobuf,
    /// .binpb), and without a known ending it is sse.
    #[arg(long, value_enum)]
    format: Option<Wire>,
    /// The run input that the stream answers, a JSON file: what an application passes, not yet cleaned.
    #[arg(long, value_name = "FILE")]
    input: Option<String>,
    /// Print only the input as the consumer would send it.
    #[arg(long)]
    send: bool,
    /// The recorded stream, `-` for standard input.
    #[arg(required_unless_present = "send")]
    file: Option<String>,
}

/// Prints the report on one line; with `--send` the input as it goes out, or on standard error why it may not.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let given = match &args.input {
        Some(file) => parse(file)?,
        None => Value::Object(Map::new()),
    };
    let format = args.format.or_else(|| Wire::of_name(args.file.as_deref()?)).unwrap_or(Wire::Sse);
    let mut ids = Ids::default();
    let mut stream: Box<dyn Read> = match &args.file {
        None => Box::new(io::empty()),
        Some(file) if !leaves_out_ids(&given) => frames::open(file)?,
        Some(file) => Box::new(scanned(file, format, &mut ids)?),
    };
    let input = completed(given, &ids);
    if args.send {
        return send(input);
    }
    let report = replay(input, format, &mut stream).context("cannot read the stream")?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(Verdict::Clean)
}

fn send(input: Value) -> anyhow::Result<Verdict> {
    match Session::new().send_json(input, now_ms()) {
        Ok(exchange) => {
            for warning in exchange.warnings() {
                eprintln!("warning: {warning}");
            }
            println!("{}", serde_json::to_string(exchange.request())?);
            Ok(Verdict::Clean)
        }
        Err(error) => {
            eprintln!("not sent: {error}");
            Ok(Verdict::Complaints)
        }
    }
}

fn parse(file: &str) -> anyhow::Result<Value> {
    let mut text = Vec::new();
    frames::open(file)?.read_to_end(&mut text).with_context(|| format!("cannot read {file}"))?;
    serde_json::from_slice(&text).with_context(|| format!("{file} is not JSON"))
}

/// The time, in milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn leaves_out_ids(input: &Value) -> bool {
    input.as_object().is_some_and(|input| !input.contains_key("threadId") || !input.contains_key("runId"))
}

/// An application's input with what it may leave out filled in.
fn completed(mut input: Value, ids: &Ids) -> Value {
    if let Value::Object(members) = &mut input {
        members.entry("threadId").or_insert_with(|| ids.thread());
        members.entry("runId").or_insert_with(|| ids.run());
        members.entry("messages").or_insert_with(|| Value::Array(Vec::new()));
    }
    input
}

/// Reads a stream for its identifiers, and gives it back from its start.
fn scanned(file: &str, format: Wire, ids: &mut Ids) -> anyhow::Result<File> {
    if file != "-" {
        scan(frames::open(file)?, format, ids).with_context(|| format!("cannot read {file}"))?;
        return File::open(file).with_context(|| format!("cannot read {file}"));
    }
    let path = std::env::temp_dir().join(format!("xtask-replay-{}-{}", std::process::id(), now_ms()));
    let mut kept = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .context("cannot make a temporary file")?;
    let read = scan(Copied { source: io::stdin(), copy: &mut kept }, format, ids);
    // Where a file in use cannot be removed it stays; there is nothing better to do about it.
    let _ = fs::remove_file(&path);
    read.context("cannot read standard input")?;
    kept.rewind().context("cannot read the temporary file")?;
    Ok(kept)
}

/// Notes the identifiers of the runs that a stream starts, up to where it cannot be cut into frames.
fn scan(stream: impl Read, format: Wire, ids: &mut Ids) -> io::Result<()> {
    let finder = memmem::Finder::new("RUN_STARTED");
    frames::read(stream, format, |frame| {
        // The binary wire spells no type out.
        if (frame.is_binary() || finder.find(frame.text()).is_some())
            && let Ok(frame) = frames::tree(frame)
        {
            ids.note(&frame);
        }
        ControlFlow::<()>::Continue(())
    })
    .map(drop)
}

/// A reader that leaves a copy of what is read.
struct Copied<'f, R> {
    source: R,
    copy: &'f mut File,
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.copy.write_all(&buffer[..count])?;
        Ok(count)
    }
}

/// One exchange of a consumer that holds nothing.
///
/// # Errors
/// The stream cannot be read. A stream that is rejected, and an input that is not sent, are reports.
pub(crate) fn replay(input: Value, format: Wire, stream: impl Read) -> io::Result<Report> {
    let mut session = Session::new();
    let refused = match session.send_json(input, now_ms()) {
        Ok(exchange) => {
            let mut reader = Reader::new(exchange);
            let ending = frames::read(stream, format, |frame| reader.feed(frame))?;
            return Ok(reader.finish(&ending));
        }
        Err(error) => error,
    };
    Ok(Report::refused(&refused, session.conversation()))
}

#[cfg(test)]
mod tests;
