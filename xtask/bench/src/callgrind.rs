//! Instructions of every case, counted by callgrind.
//!
//! The program runs itself under valgrind: each side once to warm up and once for the count, with a figure written down
//! after each. A run in which nothing is counted differently is counted the same on any machine, however busy.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::cases::Case;
use crate::measure::{Compared, Meter, count, written_down};

/// Whether instructions can be counted here.
pub(crate) fn is_installed() -> bool {
    Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What runs under valgrind: every side twice, with a mark after each time.
pub(crate) fn run(cases: Vec<Case>) {
    for mut case in cases {
        for side in [&mut case.floor, &mut case.ours] {
            for _ in 0..2 {
                side(&mut Meter::default());
                written_down();
            }
        }
    }
}

/// Counts the instructions per event of cases in the given order, floor and ours.
pub(crate) fn count_all(events: &[usize], only: &str) -> anyhow::Result<Vec<Compared>> {
    let folder = std::env::temp_dir().join(format!("agui-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let counted = count_in(&folder, events, only);
    std::fs::remove_dir_all(&folder)?;
    counted
}

fn count_in(folder: &Path, events: &[usize], only: &str) -> anyhow::Result<Vec<Compared>> {
    let out = folder.join("out");
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--toggle-collect=agui_bench::measure::collected"])
        .args(["--dump-before=agui_bench::measure::written_down", "--combine-dumps=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["--only", only, "count"])
        .stdout(Stdio::null())
        .status()
        .context("valgrind does not start")?;
    ensure!(status.success(), "the run under valgrind failed");
    let figure = |dump: usize| -> anyhow::Result<f64> {
        let path = folder.join(format!("out.{dump}"));
        let text = std::fs::read(&path).with_context(|| format!("no dump {}", path.display()))?;
        let text = String::from_utf8_lossy(&text);
        let line =
            text.lines().find_map(|line| line.strip_prefix("summary: ").or(line.strip_prefix("totals: ")));
        Ok(line.context("a dump has no sum")?.trim().parse()?)
    };
    let mut counted = Vec::new();
    for (at, events) in events.iter().enumerate() {
        // Counted from 1: the floor's warming up, the floor, our warming up, ours.
        let (floor, ours) = (figure(4 * at + 2)? / count(*events), figure(4 * at + 4)? / count(*events));
        ensure!(floor > 0.0 && ours > 0.0, "nothing was collected; is the program built without symbols?");
        counted.push(Compared { floor, ours, ratio: ours / floor });
    }
    Ok(counted)
}
