//! `cargo xtask ci`: every check, in one command, with nothing installed but a toolchain.
//!
//! Cheap checks come first. A failing check does not hide the ones after it: all are run, each under a heading and with
//! its tool's own output, and a table at the end names the ones that failed. Lints are denied by arguments to clippy
//! and rustdoc, never by `RUSTFLAGS`, which would make every dependency be built once more; all steps share one target
//! folder, so that what differs between two feature sets is the only thing built twice.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::{Verdict, conformance, interop, proto, redis, rules, schema, tidy, workspace_root};

/// The command's options.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also check every feature and every pair of features of every crate.
    #[arg(long)]
    full: bool,
}

/// What a step does.
enum Work {
    /// A cargo command, with variables for its environment.
    Cargo { arguments: Vec<String>, environment: &'static [(&'static str, &'static str)] },
    /// Another command of this program.
    Task(fn() -> anyhow::Result<Verdict>),
}

/// One check.
struct Step {
    name: String,
    work: Work,
}

impl Step {
    fn cargo(name: &str, arguments: &str) -> Self {
        Self::cargo_with(name, arguments, &[])
    }

    fn cargo_with(name: &str, arguments: &str, environment: &'static [(&'static str, &'static str)]) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { name: name.to_owned(), work: Work::Cargo { arguments, environment } }
    }

    fn task(name: &str, task: fn() -> anyhow::Result<Verdict>) -> Self {
        Self { name: name.to_owned(), work: Work::Task(task) }
    }

    /// The command line, for the heading.
    fn command(&self) -> String {
        match &self.work {
            Work::Cargo { arguments, environment } => {
                let variables = environment.iter().map(|(name, value)| format!("{name}={value:?} "));
                format!("{}cargo {}", variables.collect::<String>(), arguments.join(" "))
            }
            Work::Task(_) => format!("cargo xtask {}", self.name),
        }
    }

    fn run(&self, root: &Path) -> anyhow::Result<Verdict> {
        match &self.work {
            Work::Cargo { arguments, environment } => {
                let status = Command::new(cargo())
                    .args(arguments)
                    .envs(environment.iter().copied())
                    .current_dir(root)
                    .status()
                    .context("cannot start cargo")?;
                Ok(if status.success() { Verdict::Clean } else { Verdict::Complaints })
            }
            Work::Task(task) => task(),
        }
    }
}

/// Runs every check and prints what came of each.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let root = workspace_root()?;
    let mut steps = steps(has_cargo_command("nextest"));
    if args.full {
        steps.extend(full_steps(&root)?);
    }
    let mut outcomes = Vec::new();
    for step in &steps {
        println!("\n==> {}: {}", step.name, step.command());
        let start = Instant::now();
        let passed = match step.run(&root) {
            Ok(verdict) => verdict == Verdict::Clean,
            Err(error) => {
                println!("error: {error:#}");
                false
            }
        };
        outcomes.push((step.name.as_str(), passed, start.elapsed()));
    }
    println!("\n==> summary\n{}", summary(&outcomes));
    Ok(Verdict::of(outcomes.iter().filter(|(_, passed, _)| !passed).count()))
}

/// The checks of every run, in their order.
fn steps(has_nextest: bool) -> Vec<Step> {
    const DENY: &[(&str, &str)] = &[("RUSTDOCFLAGS", "-D warnings")];
    const ALONE: &str = "-p agui-core -p agui-encoder";
    const ADAPTERS: &str = "-p agui-axum -p agui-actix -p agui-warp";
    let runner =
        if has_nextest { "nextest run --no-fail-fast" } else { "test --lib --bins --tests --examples" };
    let keep_going = if has_nextest { "" } else { "--no-fail-fast" };
    vec![
        Step::cargo("fmt", "fmt --all --check"),
        Step::task("tidy", tidy::run),
        Step::task("rules", rules::run),
        // The workspace as a whole turns on every feature of the core and the encoder, because a member of it asks for
        // it. What most users build is these two alone.
        Step::cargo("clippy, all features", "clippy --workspace --all-targets --all-features -- -D warnings"),
        Step::cargo("clippy, default features", &format!("clippy {ALONE} --all-targets -- -D warnings")),
        Step::cargo(
            "clippy, no features",
            // Without tests, whose helpers ask for features.
            &format!("clippy {ALONE} {ADAPTERS} --lib --no-default-features -- -D warnings"),
        ),
        Step::task("redis for the tests", redis::install),
        Step::cargo("tests", &format!("{runner} --workspace --all-features {keep_going}")),
        Step::cargo("tests, default features", &format!("{runner} {ALONE} {keep_going}")),
        Step::cargo("doctests", "test --doc --workspace --all-features"),
        Step::task("schema --check", schema::check_committed),
        Step::task("proto --check", proto::check_committed),
        Step::task("conformance", conformance::run_default),
        Step::cargo_with("rustdoc, default features", &format!("doc {ALONE} --no-deps"), DENY),
        Step::cargo_with("rustdoc, all features", "doc --workspace --no-deps --all-features", DENY),
        Step::task("interop", interop::run_default),
    ]
}

/// What `--full` adds.
fn full_steps(root: &Path) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    if has_cargo_command("hack") {
        let arguments = "hack check --workspace --feature-powerset --depth 2 --no-dev-deps";
        steps.push(Step::cargo("pairs of features", arguments));
    } else {
        for (package, features) in packages(root)? {
            steps.extend(feature_sets(&features).into_iter().map(|set| {
                let name = format!("{package} with {}", if set.is_empty() { "no features" } else { &set });
                Step::cargo(&name, &format!("check -p {package} --no-default-features --features={set}"))
            }));
        }
    }
    Ok(steps)
}

/// No feature, each one, and each pair.
fn feature_sets(features: &[String]) -> Vec<String> {
    let mut sets = vec![String::new()];
    for (index, feature) in features.iter().enumerate() {
        sets.push(feature.clone());
        sets.extend(features.iter().skip(index + 1).map(|other| format!("{feature},{other}")));
    }
    sets
}

/// The packages of the workspace with their features, `default` excepted.
fn packages(root: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let output = Command::new(cargo())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed");
    }
    packages_in(&serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON")?)
}

fn packages_in(metadata: &Value) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages
        .iter()
        .map(|package| {
            let name = package["name"].as_str().context("a package without a name")?;
            let features = package["features"].as_object().context("a package without features")?;
            let features = features.keys().filter(|feature| *feature != "default").cloned().collect();
            Ok((name.to_owned(), features))
        })
        .collect()
}

fn summary(outcomes: &[(&str, bool, Duration)]) -> String {
    let mut lines: Vec<String> = outcomes
        .iter()
        .map(|(name, passed, took)| {
            format!("{} {:>5}s  {name}", if *passed { "ok    " } else { "FAILED" }, took.as_secs())
        })
        .collect();
    let failed = outcomes.iter().filter(|(_, passed, _)| !passed).count();
    lines.push(format!("{} checks passed, {failed} failed", outcomes.len() - failed));
    lines.join("\n")
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn has_cargo_command(name: &str) -> bool {
    Command::new(cargo())
        .args([name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn feature_sets_are_none_each_and_each_pair() {
        let features = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(feature_sets(&features), ["", "a", "a,b", "a,c", "b", "b,c", "c"]);
        assert_eq!(feature_sets(&[]), [""]);
    }

    #[test]
    fn doctests_are_a_step_of_their_own_with_either_runner() {
        for has_nextest in [true, false] {
            let commands: Vec<_> = steps(has_nextest).iter().map(Step::command).collect();
            assert_eq!(
                commands.iter().filter(|command| command.contains("--doc ")).count(),
                1,
                "{commands:#?}"
            );
        }
    }

    #[test]
    fn what_most_users_build_is_linted_tested_and_documented_without_the_workspace() {
        for has_nextest in [true, false] {
            let commands: Vec<_> = steps(has_nextest).iter().map(Step::command).collect();
            for verb in ["clippy", if has_nextest { "nextest" } else { "test" }, "doc"] {
                let start = format!("cargo {verb} ");
                let alone = |command: &&String| {
                    command.contains(&start)
                        && command.contains("-p agui-core -p agui-encoder")
                        && !command.contains("-features")
                };
                assert_eq!(commands.iter().filter(alone).count(), 1, "{verb}: {commands:#?}");
            }
        }
    }

    #[test]
    fn lints_are_denied_without_touching_the_flags_of_dependencies() {
        for step in steps(true) {
            let command = step.command();
            assert!(!command.contains("RUSTFLAGS"), "{command}");
            if command.contains("clippy") {
                assert!(command.ends_with("-- -D warnings"), "{command}");
            }
            if command.contains("cargo doc") {
                assert!(command.starts_with(r#"RUSTDOCFLAGS="-D warnings" "#), "{command}");
            }
        }
    }

    #[test]
    fn packages_and_features_are_read_from_the_metadata() {
        let metadata = json!({"packages": [{"name": "x", "features": {"default": ["b"], "b": [], "a": []}}]});
        assert_eq!(packages_in(&metadata).unwrap()["x"], ["b", "a"]);
        assert!(packages_in(&json!({})).is_err());
    }

    #[test]
    fn the_summary_names_what_failed() {
        let outcomes = [("fmt", true, Duration::from_secs(1)), ("tests", false, Duration::from_secs(20))];
        assert_eq!(summary(&outcomes), "ok         1s  fmt\nFAILED    20s  tests\n1 checks passed, 1 failed");
    }
}
