//! What it was measured on.

use std::fs;

/// One line about the machine and the build.
pub(crate) fn describe() -> String {
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|size| size.trim_end_matches(" kB").parse::<u64>().ok())
        .map_or_else(String::new, |kilobytes| format!(", {} GiB of memory", kilobytes.div_ceil(1024 * 1024)));
    let system = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{processor}, {threads} processors{memory}, {} {}, {}",
        std::env::consts::OS,
        system.trim(),
        env!("AGUI_BENCH_RUSTC")
    )
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
