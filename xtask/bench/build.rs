//! Keeps which compiler built the program, for the line that describes the machine.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let short: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=AGUI_BENCH_RUSTC={}", short.join(" "));
}
