//! The signal that ends a demo server. The only test of its binary: the signal is for the whole process.
#![cfg(unix)]

use std::pin::pin;
use std::process::{Command, id};
use std::time::Duration;

#[tokio::test]
async fn a_sigterm_is_heard_and_does_not_end_the_process_by_itself() {
    let mut terminated = pin!(agui_demo::terminated());
    // Listens from its first poll on.
    assert!(tokio::time::timeout(Duration::from_millis(1), &mut terminated).await.is_err());
    assert!(Command::new("kill").args(["-TERM", &id().to_string()]).status().unwrap().success());
    tokio::time::timeout(Duration::from_secs(10), terminated).await.unwrap();
}
