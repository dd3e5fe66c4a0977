//! The demo server as a child process: built, started on a free port, stopped by a signal.
//!
//! Invariant: a started server does not outlive its [`Demo`], also when a suite could not be run.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::Value;

use super::{must_pass, target_dir};
use crate::ci::cargo;

// None of these is the demo's default, so that a flag which is not read shows.
const TOKEN: &str = "interop-token";
const KEEPALIVE_MS: &str = "500";
const BODY_LIMIT: &str = "262144";

/// How long the server may take until it says that it listens.
const START: Duration = Duration::from_secs(30);
/// How long it may take to end once it has been told to.
const STOP: Duration = Duration::from_secs(5);

/// A running demo server.
#[derive(Debug)]
pub(super) struct Demo {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Demo {
    /// Builds the demo of a binding and starts it.
    ///
    /// # Errors
    /// It does not build, does not start, or does not print `listening on ADDR` in time.
    pub(super) fn start(root: &Path, adapter: &str) -> anyhow::Result<Self> {
        let program = build(root, adapter, "demo")?;
        let folder = target_dir(root).join("interop");
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let log = folder.join(format!("{adapter}.log"));
        let stderr = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = Command::new(&program);
        command.args(["--addr", "127.0.0.1:0", "--token", TOKEN]);
        command.args(["--keepalive-ms", KEEPALIVE_MS, "--body-limit", BODY_LIMIT]);
        Self::spawn(command.stderr(stderr), log)
    }

    /// Starts the proxy example, which is built already, in front of a running server.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub(super) fn start_proxy(root: &Path, program: &Path, upstream: &str) -> anyhow::Result<Self> {
        let log = target_dir(root).join("interop/proxy.log");
        let stderr = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = Command::new(program);
        command.args(["--addr", "127.0.0.1:0", "--upstream", upstream]);
        Self::spawn(command.stderr(stderr), log)
    }

    /// Where it serves.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Starts a command that will say where it listens.
    fn spawn(command: &mut Command, log: PathBuf) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let child = child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        // From here on an early return stops the child.
        let mut demo = Self { child, address: String::new(), log };
        let stdout = demo.child.stdout.take().context("the demo server has no standard output")?;
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, because a full pipe would stop the server.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on ") {
                    // Nobody waits any more for a second one.
                    let _ = sender.send(address.trim().to_owned());
                }
            }
        });
        let Ok(address) = receiver.recv_timeout(START) else {
            bail!("the demo server never said that it listens; its log is {}", demo.log.display());
        };
        demo.address = address;
        Ok(demo)
    }

    /// What the suites have to know about this server.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AGUI_URL", format!("http://{}", self.address)),
            ("AGUI_TOKEN", TOKEN.to_owned()),
            ("AGUI_KEEPALIVE_MS", KEEPALIVE_MS.to_owned()),
            ("AGUI_BODY_LIMIT", BODY_LIMIT.to_owned()),
        ]
    }

    /// Ends the server by SIGTERM. `false`, with the reason printed, if it had ended by itself or does not end in time.
    ///
    /// # Errors
    /// The process cannot be asked or signalled.
    pub(super) fn stop(self) -> anyhow::Result<bool> {
        self.stop_within(STOP)
    }

    fn stop_within(mut self, time: Duration) -> anyhow::Result<bool> {
        if let Some(status) = self.child.try_wait().context("cannot ask for the demo server")? {
            eprintln!("the demo server ended by itself ({status}); its log is {}", self.log.display());
            return Ok(false);
        }
        must_pass(Command::new("kill").args(["-TERM", &self.child.id().to_string()]))?;
        let deadline = Instant::now() + time;
        while Instant::now() < deadline {
            if self.child.try_wait().context("cannot ask for the demo server")?.is_some() {
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(20));
        }
        eprintln!("the demo server did not end within {time:?} of SIGTERM");
        Ok(false)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Does nothing to a process that has ended and been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds the example and returns its path, which only cargo knows for sure. The examples of all bindings go by the same
/// names there, so the next build may put another program in its place: a server is started before the next one is built.
pub(super) fn build(root: &Path, adapter: &str, example: &str) -> anyhow::Result<PathBuf> {
    let package = format!("agui-{adapter}");
    let output = Command::new(cargo())
        .args(["build", "-p", &package, "--example", example, "--message-format=json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the example {example} of {package} does not build");
    }
    executable(&String::from_utf8_lossy(&output.stdout), example)
        .with_context(|| format!("cargo built no example {example} for {package}"))
}

/// The program among cargo's messages.
fn executable(messages: &str, example: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == example)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> anyhow::Result<Demo> {
        Demo::spawn(Command::new("sh").args(["-c", script]), PathBuf::from("the log"))
    }

    #[test]
    fn the_program_is_found_among_the_messages_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"agui_axum"},"executable":null}
not json
{"reason":"compiler-artifact","target":{"name":"demo"},"executable":"/t/examples/demo"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "demo"), Some(PathBuf::from("/t/examples/demo")));
        assert_eq!(executable("", "demo"), None);
    }

    #[test]
    fn the_address_is_what_the_server_says() {
        let demo = shell("echo starting; echo listening on 127.0.0.1:4711; exec sleep 60").unwrap();
        assert_eq!(demo.environment()[0], ("AGUI_URL", "http://127.0.0.1:4711".to_owned()));
        assert!(demo.stop().unwrap());
    }

    #[test]
    fn a_server_that_ends_before_it_listens_is_an_error() {
        let error = shell("echo oops").unwrap_err().to_string();
        assert!(error.contains("the log"), "{error}");
    }

    #[test]
    fn a_server_that_ended_by_itself_is_a_complaint() {
        let mut demo = shell("echo listening on x").unwrap();
        demo.child.wait().unwrap();
        assert!(!demo.stop().unwrap());
    }

    #[test]
    fn a_server_that_ignores_the_signal_is_a_complaint_and_is_gone_afterwards() {
        let demo = shell("trap '' TERM; echo listening on x; exec sleep 60").unwrap();
        let id = demo.child.id().to_string();
        assert!(!demo.stop_within(Duration::from_millis(200)).unwrap());
        let alive = Command::new("kill").args(["-0", &id]).stderr(Stdio::null()).status().unwrap();
        assert!(!alive.success());
    }
}
