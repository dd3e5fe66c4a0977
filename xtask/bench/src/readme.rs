//! The table in short, in the project's front page between two marks.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::machine;
use crate::report::{self, Row};

const START: &str =
    "<!-- bench: what stands until the end mark is written by `cargo xtask bench --write` -->";
const END: &str = "<!-- bench: end -->";

/// Replaces what stands between the marks.
pub(crate) fn write(rows: &[Row]) -> anyhow::Result<()> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let page = fs::read_to_string(&path).context("cannot read README.md")?;
    let (before, rest) = page.split_once(START).context("README.md has no mark for the table's start")?;
    let (_, after) = rest.split_once(END).context("README.md has no mark for the table's end")?;
    let mut section = String::new();
    let judged = rows.iter().filter(|row| row.has_target()).count();
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    writeln!(
        section,
        "\n\nMeasured on {}: {} of {judged} targets met.\n",
        machine::describe(),
        judged - missed
    )?;
    section.push_str(&report::summary(rows));
    section.push('\n');
    fs::write(&path, [before, START, &section, END, after].concat()).context("cannot write README.md")
}
