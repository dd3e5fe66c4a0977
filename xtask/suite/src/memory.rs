//! That a run of any length takes a bounded amount of memory while nobody reads it.
//!
//! The figure is that of the whole process, so this runs alone, in a test binary of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agui_core::{Run, RunEnd};

use crate::client::start_run;
use crate::{Start, endpoint};

const DELTAS: usize = 1_000_000;
/// What the process may grow by while a flood meets a client that does not read: the run's queue, the chunk being
/// written and the framework's buffers take less than a tenth of it, the whole flood would take forty times as much.
const MOST_BYTES: usize = 12 * 1024 * 1024;

/// How many of the deltas the client reads in the end.
const READ: usize = 50_000;

/// A handler writes a million deltas at a client that reads nothing; then the client reads on for a while.
pub async fn a_flood_is_bounded_while_nobody_reads(start: Start) {
    let written = Arc::new(AtomicUsize::new(0));
    let progress = Arc::clone(&written);
    let server = start(endpoint(move |run: Run| {
        let progress = Arc::clone(&progress);
        async move {
            let mut answer = run.message();
            for index in 0..DELTAS {
                answer.delta(format!("{index:0>400}")).await?;
                progress.store(index + 1, Ordering::Relaxed);
            }
            Ok(RunEnd::success())
        }
    }))
    .await;
    let (_client, mut answer) = start_run(&server).await;
    answer.until("\"RUN_STARTED\"").await;
    let before = resident_bytes();

    let stalled = wait_for_stall(&written).await;
    assert!(stalled < DELTAS / 2, "the handler has written {stalled} deltas and waits for nobody");
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < MOST_BYTES, "{growth} bytes more while nobody reads, {stalled} deltas written");

    // What waited is not lost. It is read and dropped piece by piece, or the reader would take what the server saves.
    for index in 0..READ {
        let frame = loop {
            let frame = answer.until("\n\n").await;
            if frame.contains("\"delta\"") {
                break frame;
            }
        };
        assert!(frame.contains(&format!("{index:0>400}\"")), "delta {index} is {frame}");
    }
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < MOST_BYTES, "{growth} bytes more after {READ} deltas were read");
}

/// Waits until a count has stopped rising: everything between the handler and the client is full.
async fn wait_for_stall(count: &AtomicUsize) -> usize {
    let mut seen = count.load(Ordering::Relaxed);
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = count.load(Ordering::Relaxed);
        if now == seen && now > 0 {
            return now;
        }
        seen = now;
    }
}

/// How much memory the process has, in bytes, as the kernel counts it. Zero where the kernel does not say.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
