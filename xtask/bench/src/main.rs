//! What the workspace costs, as one table of ratios: `cargo xtask bench`.
//!
//! Every figure stands beside a floor, the least that could do the same work, measured in turn with it in the same run.
//! Nothing here is a unit of time to compare machines by, and nothing is published.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::panic,
    reason = "a program that measures prints, and stops where its own workloads are wrong"
)]

mod callgrind;
mod cases;
mod floor;
mod growth;
mod loopback;
mod machine;
mod measure;
#[path = "../../../agui-encoder/tests/oracle/mod.rs"]
mod oracle;
mod readme;
mod report;
mod workloads;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use loopback::{Extent, Framework};
use measure::{Compared, Effort};
use report::Row;

#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    about = "What the workspace costs, beside the least that could do the same"
)]
struct CommandLine {
    /// Fewer rounds, and no more clients and streams than the targets ask for: under two minutes.
    #[arg(long)]
    quick: bool,
    /// Write the table into the README.
    #[arg(long)]
    write: bool,
    /// Only operations whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// What runs under callgrind.
    #[command(hide = true)]
    Count,
    /// A server to measure, until standard input is closed.
    #[command(hide = true)]
    Serve { framework: Framework },
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let outcome = match line.command {
        Some(Command::Count) => {
            callgrind::run(selected(&line.only));
            Ok(false)
        }
        Some(Command::Serve { framework }) => framework.serve().map(|()| false),
        None => table(&line),
    };
    match outcome {
        Ok(missed) => ExitCode::from(u8::from(missed)),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn selected(only: &str) -> Vec<cases::Case> {
    cases::all().into_iter().filter(|case| case.operation.contains(only)).collect()
}

/// Measures and prints everything. True if a target is missed.
fn table(line: &CommandLine) -> anyhow::Result<bool> {
    let (effort, extent) =
        if line.quick { (Effort::QUICK, Extent::QUICK) } else { (Effort::FULL, Extent::FULL) };
    println!("{}", machine::describe());
    let mut rows = in_process(effort, &line.only)?;
    rows.extend(growth::rows(effort, &line.only));
    for framework in <Framework as clap::ValueEnum>::value_variants() {
        if framework.name().contains(&line.only) {
            rows.extend(loopback::rows(*framework, extent)?);
        }
    }
    println!("{}", report::text(&rows));
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    println!("{} rows, {missed} targets missed", rows.len());
    if line.write {
        readme::write(&rows)?;
    }
    Ok(missed > 0)
}

fn in_process(effort: Effort, only: &str) -> anyhow::Result<Vec<Row>> {
    let mut cases = selected(only);
    let mut rounds = vec![Vec::new(); cases.len()];
    for _ in 0..effort.rounds {
        for (case, rounds) in cases.iter_mut().zip(&mut rounds) {
            let each = measure::count(case.events);
            let floor = effort.time(&mut case.floor) / each;
            rounds.push((floor, effort.time(&mut case.ours) / each));
        }
    }
    let counted = if !cases.is_empty() && callgrind::is_installed() {
        let events: Vec<usize> = cases.iter().map(|case| case.events).collect();
        callgrind::count_all(&events, only)?.into_iter().map(Some).collect()
    } else {
        vec![None; cases.len()]
    };
    let rows = cases.iter().zip(rounds).zip(counted).map(|((case, rounds), counted)| {
        Row::of(case.operation, case.workload, "ns", Compared::of(&rounds))
            .with_targets(case.targets)
            .with_instructions(counted)
    });
    Ok(rows.collect())
}
