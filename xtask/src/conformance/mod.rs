//! `cargo xtask conformance`: run the cases of a corpus for consumers, and say where one is not met.
//!
//! A case is a file in the format of `agui-core/tests/conformance/README.md`. [`case`] reads it, [`exchange`] drives a
//! consumer through it, [`check`] compares. No case is known here by its name and none is skipped: a file that is not a
//! case, or that demands something not known here, fails.

mod case;
mod check;
mod exchange;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use self::case::Case;
use crate::{Verdict, workspace_root};

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with the case files, or one whose folder `streams` has them. Without it, the corpus of the
    /// repository.
    dir: Option<PathBuf>,
}

/// Prints one line per failing case with what differed, and how many passed and failed.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => corpus()?,
    };
    let mut passed = 0;
    let mut failed = 0;
    for file in case_files(&folder)? {
        let differences = judge(&file);
        if differences.is_empty() {
            passed += 1;
        } else {
            failed += 1;
            println!("{}: {}", name_of(&file), differences.join("; "));
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(Verdict::of(failed))
}

/// Runs the corpus of the repository.
pub(crate) fn run_default() -> anyhow::Result<Verdict> {
    run(&Args { dir: None })
}

fn corpus() -> anyhow::Result<PathBuf> {
    Ok(workspace_root()?.join("agui-core/tests/conformance"))
}

/// The case files of a folder, by name.
fn case_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let streams = folder.join("streams");
    let folder = if streams.is_dir() { &streams } else { folder };
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("no case files in {}", folder.display());
    }
    files.sort();
    Ok(files)
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What differs from the expectation of a case file.
fn judge(file: &Path) -> Vec<String> {
    let case = match read(file) {
        Ok(case) => case,
        Err(error) => return vec![format!("not a case: {error:#}")],
    };
    match exchange::run(&case, exchange::Feeding::Text) {
        Ok(report) => check::differences(&case.expect, &report),
        Err(error) => vec![format!("{error:#}")],
    }
}

fn read(file: &Path) -> anyhow::Result<Case> {
    let case = Case::parse(&fs::read(file)?)?;
    if case.name != name_of(file) {
        bail!("it calls itself {:?}", case.name);
    }
    Ok(case)
}

#[cfg(test)]
mod tests;
