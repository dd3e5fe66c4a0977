//! The memory of a flood that nobody reads. The only test of its binary: it measures the process.

mod common;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_bounded_while_nobody_reads() {
    agui_suite::memory::a_flood_is_bounded_while_nobody_reads(common::start).await;
}
