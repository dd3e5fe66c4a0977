//! Redis for tests and benchmarks: servers of one's own, on free ports of the loopback interface, gone when dropped.
//!
//! The programs `redis-server` and `redis-cli`, 7.0 or later, have to be installed; `cargo xtask ci` sees to it. A server
//! has a folder of its own and nothing of a configuration that the system may have.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "everything here is part of a test, and fails it by a panic"
)]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

/// How often a port that somebody else was given meanwhile is exchanged for another.
const ATTEMPTS: usize = 10;

/// A Redis server.
#[derive(Debug)]
pub struct RedisServer {
    child: Child,
    port: u16,
    arguments: Vec<String>,
    folder: TempDir,
}

impl RedisServer {
    /// A server that writes nothing to disk.
    pub fn start() -> Self {
        Self::start_with(&["--save", "", "--appendonly", "no"])
    }

    /// A server that has written to disk what it has answered.
    pub fn start_persistent() -> Self {
        Self::start_with(&["--save", "", "--appendonly", "yes", "--appendfsync", "always"])
    }

    /// A server that also takes TLS, with the files of a certificate and of its key.
    pub fn start_with_tls(certificate: &str, key: &str) -> Self {
        Self::start_with(&[
            "--save",
            "",
            "--tls-cert-file",
            certificate,
            "--tls-key-file",
            key,
            "--tls-ca-cert-file",
            certificate,
            "--tls-auth-clients",
            "no",
            "--tls-port",
            &free_port().to_string(),
        ])
    }

    /// A server with these arguments.
    pub fn start_with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let mut all: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            if arguments.contains(&"--cluster-enabled") {
                all.extend(["--cluster-port".to_owned(), free_port().to_string()]);
            }
            if let Some(child) = launch(port, &all, &folder) {
                return Self { child, port, arguments: all, folder };
            }
        }
        panic!("redis-server does not start on any of {ATTEMPTS} free ports");
    }

    /// Where it listens.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// `rediss://127.0.0.1:PORT`, of a server that takes TLS.
    pub fn tls_url(&self) -> String {
        let port = self.arguments.iter().skip_while(|argument| *argument != "--tls-port").nth(1);
        format!("rediss://127.0.0.1:{}", port.expect("it was started with TLS"))
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }

    /// Starts it again where it was, after [`kill`](Self::kill).
    pub fn start_again(&mut self) {
        self.child = launch(self.port, &self.arguments, &self.folder).expect("the port is still free");
    }

    /// Stops it from doing anything, its connections left open.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is a program").success());
    }

    /// What `redis-cli` prints for a command.
    pub fn cli(&self, arguments: &[&str]) -> String {
        cli(self.port, arguments)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A cluster of three servers without replicas.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts the servers and waits until all of them know each other.
    pub fn start() -> Self {
        let arguments = [
            "--save",
            "",
            "--appendonly",
            "no",
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "2000",
        ];
        let nodes: Vec<_> = (0..3).map(|_| RedisServer::start_with(&arguments)).collect();
        let first = nodes.first().expect("three of them");
        let addresses: Vec<_> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        let mut create = vec!["--cluster", "create"];
        create.extend(addresses.iter().map(String::as_str));
        create.push("--cluster-yes");
        let told = first.cli(&create);
        assert!(told.contains("All 16384 slots covered"), "{told}");
        for node in &nodes {
            while !node.cli(&["cluster", "info"]).contains("cluster_state:ok") {
                thread::yield_now();
            }
        }
        Self { nodes }
    }

    /// The URLs of all nodes, with commas between them.
    pub fn url(&self) -> String {
        self.nodes.iter().map(RedisServer::url).collect::<Vec<_>>().join(",")
    }

    /// The servers.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }
}

fn cli(port: u16, arguments: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(arguments).output();
    let output = output.expect("redis-cli is installed along with redis-server");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// Starts a server and waits until it accepts connections. `None` if it ends before.
fn launch(port: u16, arguments: &[String], folder: &TempDir) -> Option<Child> {
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--daemonize", "no", "--dir"])
        .arg(folder.path())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap_or_else(|error| {
        panic!(
            "redis-server cannot be started ({error}): these tests need Redis 7.0 or later, which Debian has as \
             `redis-server`; `cargo xtask ci` installs it"
        )
    });
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let ready = lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections")));
    if !ready {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    // A full pipe would stop the server.
    thread::spawn(move || lines.for_each(drop));
    Some(child)
}
