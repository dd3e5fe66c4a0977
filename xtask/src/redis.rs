//! Redis for the tests of the store that is kept there: installed from Debian's packages where it is missing.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::Verdict;

/// Sees to it that `redis-server` and `redis-cli` can be started.
pub(crate) fn install() -> anyhow::Result<Verdict> {
    if ["redis-server", "redis-cli"].into_iter().all(is_there) {
        return Ok(Verdict::Clean);
    }
    let apt = |arguments: &[&str]| -> anyhow::Result<()> {
        println!("==> apt-get {}", arguments.join(" "));
        let mut command = Command::new("apt-get");
        let status = command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
        ensure!(
            status.context("there is no apt-get to install redis-server with")?.success(),
            "apt-get failed"
        );
        Ok(())
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", "redis-server"])?;
    ensure!(is_there("redis-server"), "redis-server is installed and does not start");
    Ok(Verdict::Clean)
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
