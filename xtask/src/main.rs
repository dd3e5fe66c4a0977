//! Development tasks of the workspace, as `cargo xtask COMMAND`.
//!
//! One module per command; this file only reads the command line and picks one. A command reports what it found by its
//! exit code: 0 nothing to complain about, 1 complaints (all of them printed), 2 it could not do its work.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

mod bench;
mod carried;
mod ci;
mod conformance;
mod convert;
mod frames;
mod interop;
mod proto;
mod redis;
mod replay;
mod report;
mod rules;
#[cfg(test)]
mod samples;
mod schema;
mod tidy;
mod validate;

use std::{fmt::Display, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of the AG-UI workspace")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the JSON Schema generated from the Rust types, or check it.
    Schema(schema::Args),
    /// Write the Rust types generated from the protobuf schema, or check them.
    Proto(proto::Args),
    /// Judge the frames of a file by the AG-UI 1.0 schema, and their order by the protocol.
    Validate(validate::Args),
    /// Run a recorded stream through the consumer and print what came of it.
    Replay(replay::Args),
    /// Write a recorded stream as another wire has it.
    Convert(convert::Args),
    /// Run the cases of a corpus for consumers.
    Conformance(conformance::Args),
    /// Run published clients against the demo server.
    Interop(interop::Args),
    /// Measure what everything costs beside the least that could do the same work.
    Bench(bench::Args),
    /// Print which tests cite which rule of the protocol; complain about a consumer's rule that none does.
    Rules,
    /// Check the rules of the repository that no compiler checks.
    Tidy,
    /// Run every check, as continuous integration does.
    Ci(ci::Args),
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Schema(args) => schema::run(&args),
        Command::Proto(args) => proto::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Interop(args) => interop::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Rules => rules::run(),
        Command::Tidy => tidy::run(),
        Command::Ci(args) => ci::run(&args),
    };
    match outcome {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Complaints) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// What a command that did its work has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Nothing to complain about.
    Clean,
    /// Complaints, which have been printed.
    Complaints,
}

impl Verdict {
    /// `Complaints` unless there are none.
    fn of(complaints: usize) -> Self {
        if complaints == 0 { Self::Clean } else { Self::Complaints }
    }
}

/// How many there are of something, for a person.
fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The root of the workspace.
fn workspace_root() -> anyhow::Result<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).context("xtask lies in a folder of the workspace")
}
