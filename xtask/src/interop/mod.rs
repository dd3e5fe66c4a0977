//! `cargo xtask interop`: published clients against the demo servers, over a real socket.
//!
//! Starts the demo server of each binding in turn, runs the suites of `xtask/interop` against it, and judges every frame
//! they captured by the vendored schema. Random events that the reference's encoder writes are read back and written again.
//! What is installed comes by name and exact version from the registries of npm and Python, into
//! `xtask/interop/node_modules` and a virtual environment in the target folder, and only when it is not there yet. All
//! suites run even if one fails. Nothing here knows the protocol: the expectations live in `xtask/interop/cases`.

mod demo;
mod generated;
mod tools;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use agui_schema::Validator;
use anyhow::{Context, bail, ensure};

use crate::{Verdict, counted, workspace_root};
use demo::Demo;

/// The command's options.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// A binding whose demo server is built and started; all of them unless some are named.
    #[arg(long = "adapter", value_enum)]
    adapters: Vec<Adapter>,
    /// Use the demo server that already runs here. How it was configured is read from `AGUI_TOKEN`,
    /// `AGUI_KEEPALIVE_MS` and `AGUI_BODY_LIMIT`; without them it is taken to have the demo's defaults.
    #[arg(long, conflicts_with = "adapters")]
    url: Option<String>,
}

/// The bindings that ship a demo server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Adapter {
    Axum,
    Actix,
    Warp,
}

impl Adapter {
    const ALL: [Self; 3] = [Self::Axum, Self::Actix, Self::Warp];

    fn name(self) -> &'static str {
        match self {
            Self::Axum => "axum",
            Self::Actix => "actix",
            Self::Warp => "warp",
        }
    }
}

/// Runs every suite against the demo server of every binding.
pub(crate) fn run_default() -> anyhow::Result<Verdict> {
    run(&Args::default())
}

/// Runs every suite; complaints are the failures they printed.
pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let root = workspace_root()?;
    let target = target_dir(&root);
    let suites = root.join("xtask/interop");
    tools::install_node_packages(&suites)?;
    let python = tools::install_python_packages(&suites, &target)?;
    let place = Place { root, target, suites, python };

    let mut failed = Vec::new();
    if let Some(url) = &args.url {
        failed.extend(place.judge_server("url", vec![("AGUI_URL", url.clone())])?);
    } else {
        let named = if args.adapters.is_empty() { &Adapter::ALL[..] } else { &args.adapters };
        // The proxy is the same in front of every binding.
        let proxy = demo::build(&place.root, "axum", "proxy")?;
        for adapter in named {
            failed.extend(place.judge_demo(adapter.name(), &proxy)?);
        }
    }

    println!("==> random events on the binary wire");
    let (count, differences) = generated::compare(&place.suites, &place.target.join("interop/generated"))?;
    for difference in &differences {
        println!("{difference}");
    }
    println!("{count} events, {}", counted(differences.len(), "difference"));
    if !differences.is_empty() {
        failed.push("an event on the binary wire".to_owned());
    }
    for failure in &failed {
        eprintln!("interop: {failure} failed");
    }
    Ok(Verdict::of(failed.len()))
}

/// Where everything is.
struct Place {
    root: PathBuf,
    target: PathBuf,
    suites: PathBuf,
    python: PathBuf,
}

impl Place {
    /// Runs every suite against the demo server of a binding and a proxy in front of it. What failed, by name.
    fn judge_demo(&self, name: &str, proxy: &Path) -> anyhow::Result<Vec<String>> {
        println!("==> the demo server of {name}");
        let demo = Demo::start(&self.root, name)?;
        let proxy = Demo::start_proxy(&self.root, proxy, &format!("{}/agui", demo.url()))?;
        let mut environment = demo.environment();
        environment.push(("AGUI_PROXY_URL", proxy.url()));
        let mut failed = self.judge_server(name, environment)?;
        if !proxy.stop()? {
            failed.push(format!("the proxy before {name}"));
        }
        if !demo.stop()? {
            failed.push(format!("the demo server of {name}"));
        }
        Ok(failed)
    }

    /// Runs every suite against a server that is up. What failed, by name.
    fn judge_server(
        &self,
        name: &str,
        environment: Vec<(&'static str, String)>,
    ) -> anyhow::Result<Vec<String>> {
        let captures = self.target.join("interop").join(name);
        empty(&captures)?;
        let mut failed = Vec::new();
        let mut note = |what: &str, passed: bool| {
            if !passed {
                failed.push(format!("{what} ({name})"));
            }
        };
        println!("==> clients from npm ({name})");
        let mut clients = Command::new("node");
        clients.args(["--test", "--test-reporter=spec"]).args(node_suites(&self.suites)?);
        clients.envs(environment).env("AGUI_CAPTURE_DIR", &captures);
        // Would silence the warnings that the suite listens for.
        clients.env_remove("SUPPRESS_TRANSFORMATION_WARNINGS").current_dir(&self.suites);
        note("a client from npm", passes(&mut clients)?);

        println!("==> captured frames, by the Python models ({name})");
        let mut models = Command::new(&self.python);
        models.arg("python/test_frames.py").env("AGUI_CAPTURE_DIR", &captures).current_dir(&self.suites);
        note("a frame before the Python models", passes(&mut models)?);

        println!("==> captured frames and capabilities, by the vendored schema ({name})");
        let report = judge(&captures)?;
        for line in &report.lines {
            println!("{line}");
        }
        let Report { streams, frames, capabilities, lines } = &report;
        println!(
            "{}, {}, {}, {}",
            counted(*streams, "stream"),
            counted(*frames, "frame"),
            counted(*capabilities, "capabilities declaration"),
            counted(lines.len(), "violation")
        );
        note("what was captured before the schema", lines.is_empty());
        Ok(failed)
    }
}

/// What the schema says about what was captured.
#[derive(Debug, Default, PartialEq)]
struct Report {
    streams: usize,
    frames: usize,
    capabilities: usize,
    lines: Vec<String>,
}

fn judge(captures: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let read =
        |file: &Path| fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    for file in files(captures, ".capabilities.json")? {
        report.capabilities += 1;
        let violations = Validator::shared().capabilities(&*read(&file)?).err();
        report
            .lines
            .extend(violations.iter().flatten().map(|violation| format!("{}: {violation}", file.display())));
    }
    for file in files(captures, ".ndjson")? {
        let text = read(&file)?;
        report.streams += 1;
        for (index, frame) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
            report.frames += 1;
            let violations = Validator::shared().event(frame).err();
            report.lines.extend(
                violations
                    .iter()
                    .flatten()
                    .map(|violation| format!("{} frame {}: {violation}", file.display(), index + 1)),
            );
        }
    }
    // An empty folder passes every check; it means that the suite did not capture.
    ensure!(report.frames > 0, "no frames were captured in {}", captures.display());
    Ok(report)
}

/// The test files by name: what `node --test` makes of a folder differs between its versions.
fn node_suites(suites: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let found = files(&suites.join("tests"), ".test.mjs")?;
    ensure!(!found.is_empty(), "no suites in {}", suites.display());
    Ok(found)
}

/// The files of a folder with this ending, in the order of their names.
fn files(folder: &Path, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Makes an empty folder, whatever was there before.
fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Where cargo builds, unless its configuration file says otherwise.
fn target_dir(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// Runs a command with its output on ours.
fn passes(command: &mut Command) -> anyhow::Result<bool> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    Ok(status.success())
}

/// Runs a command that has to succeed.
fn must_pass(command: &mut Command) -> anyhow::Result<()> {
    if !passes(command)? {
        bail!("{command:?} failed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// A folder of its own for a test, below the one cargo builds in.
    fn folder(name: &str) -> PathBuf {
        let folder = target_dir(&workspace_root().unwrap()).join("interop-tests").join(name);
        empty(&folder).unwrap();
        folder
    }

    #[test]
    fn some_bindings_can_be_named_or_a_server() {
        let args = |line: &[&str]| Line::try_parse_from(line).map(|line| line.args);
        assert_eq!(args(&["interop"]).unwrap().adapters, []);
        let named = args(&["interop", "--adapter", "warp", "--adapter", "actix"]).unwrap();
        assert_eq!(named.adapters, [Adapter::Warp, Adapter::Actix]);
        assert!(args(&["interop", "--adapter", "rocket"]).is_err());
        assert!(args(&["interop", "--adapter", "warp", "--url", "http://127.0.0.1:1"]).is_err());
    }

    #[test]
    fn a_captured_frame_that_breaks_the_schema_is_named_with_its_file() {
        let captures = folder("judge");
        let lines = "{\"type\":\"STEP_STARTED\",\"stepName\":\"s\"}\n{\"type\":\"STEP_STARTED\"}\n";
        fs::write(captures.join("b.ndjson"), lines).unwrap();
        fs::write(captures.join("ignored.txt"), "no frame").unwrap();
        let report = judge(&captures).unwrap();
        assert_eq!((report.streams, report.frames), (1, 2));
        assert_eq!(report.lines.len(), 1);
        assert!(report.lines[0].contains("b.ndjson frame 2: "), "{:?}", report.lines);
    }

    #[test]
    fn captured_capabilities_that_break_the_schema_are_named_with_their_file() {
        let captures = folder("judge-capabilities");
        fs::write(captures.join("a.ndjson"), "{\"type\":\"STEP_STARTED\",\"stepName\":\"s\"}\n").unwrap();
        fs::write(captures.join("good.capabilities.json"), "{\"transport\":{\"streaming\":true}}").unwrap();
        fs::write(captures.join("bad.capabilities.json"), "{\"transport\":{\"streaming\":1}}").unwrap();
        let report = judge(&captures).unwrap();
        assert_eq!((report.capabilities, report.lines.len()), (2, 1));
        assert!(report.lines[0].contains("bad.capabilities.json: "), "{:?}", report.lines);
    }

    #[test]
    fn no_captured_frame_at_all_is_an_error() {
        assert!(judge(&folder("nothing")).is_err());
    }

    #[test]
    fn the_suites_of_the_repository_are_found() {
        let suites = node_suites(&workspace_root().unwrap().join("xtask/interop")).unwrap();
        assert!(suites.iter().any(|file| file.ends_with("client-0.0.59.test.mjs")), "{suites:?}");
    }
}
