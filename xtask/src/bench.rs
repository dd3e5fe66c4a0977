//! `cargo xtask bench`: what the workspace costs, as one table of ratios.
//!
//! The measuring is a program of its own, the crate `agui-bench`, which has to be built with optimisation and without
//! the features that this one turns on. This module builds and runs it, and sees to valgrind, which counts instructions.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::{Verdict, workspace_root};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Under two minutes: fewer rounds, and no more clients and streams than the targets ask for.
    #[arg(long)]
    quick: bool,
    /// Write the table into the README.
    #[arg(long)]
    write: bool,
    /// Only operations whose name has this in it.
    #[arg(long)]
    only: Option<String>,
}

/// Complains if a target is missed.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    if !has_valgrind() {
        // Not fatal: instructions are then not measured, and the table says so.
        println!("valgrind is missing; installing it");
        drop(Command::new("apt-get").args(["install", "--yes", "--quiet", "valgrind"]).status());
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root()?);
    command.args(["run", "--quiet", "--profile", "bench", "--package", "agui-bench", "--"]);
    command.args(args.quick.then_some("--quick"));
    command.args(args.write.then_some("--write"));
    command.args(args.only.iter().flat_map(|only| ["--only", only]));
    match command.status().context("cargo does not start")?.code() {
        Some(0) => Ok(Verdict::Clean),
        Some(1) => Ok(Verdict::Complaints),
        _ => bail!("the measuring failed"),
    }
}

fn has_valgrind() -> bool {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}
