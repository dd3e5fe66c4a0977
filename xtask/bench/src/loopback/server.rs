//! A server in a process of its own, so that its time and memory are nobody else's.
//!
//! It has one worker thread, whatever the framework: on a machine with two processors the other one is the clients'. The
//! process serves until its standard input is closed.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use axum::serve::ListenerExt;
use clap::ValueEnum;
use tokio::net::{TcpListener, TcpSocket};

use super::apps;

/// What serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framework {
    Axum,
    Actix,
    Warp,
}

impl Framework {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Axum => "axum",
            Self::Actix => "actix",
            Self::Warp => "warp",
        }
    }

    /// Serves until standard input is closed, and says where.
    pub(crate) fn serve(self) -> anyhow::Result<()> {
        std::thread::spawn(|| {
            let mut nothing = Vec::new();
            drop(std::io::stdin().read_to_end(&mut nothing));
            std::process::exit(0);
        });
        match self {
            Self::Axum => runtime()?.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                println!("listening on {}", listener.local_addr()?);
                let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
                Ok(tokio::spawn(async { axum::serve(listener, apps::axum()).await }).await??)
            }),
            Self::Actix => {
                let frames = apps::frames();
                let app = move || actix_web::App::new().configure(|config| apps::actix(config, &frames));
                actix_web::rt::System::new().block_on(async {
                    let server = actix_web::HttpServer::new(app).workers(1).tcp_nodelay(true).backlog(8192);
                    let server = server.bind("127.0.0.1:0")?;
                    println!("listening on {}", server.addrs()[0]);
                    Ok(server.run().await?)
                })
            }
            Self::Warp => runtime()?.block_on(async {
                let socket = TcpSocket::new_v4()?;
                socket.set_nodelay(true)?;
                socket.bind("127.0.0.1:0".parse()?)?;
                let listener = socket.listen(1024)?;
                println!("listening on {}", listener.local_addr()?);
                tokio::spawn(warp::serve(apps::warp()).incoming(listener).run()).await?;
                Ok(())
            }),
        }
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// A server that runs. It ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(framework: Framework) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["serve", framework.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the server does not start")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("a pipe was asked for")?).read_line(&mut line)?;
        let address =
            line.trim().strip_prefix("listening on ").context("the server did not say where it is")?;
        Ok(Self { address: address.parse()?, process })
    }

    /// Nanoseconds of processor time so far, of all threads.
    pub(crate) fn processor_time(&self) -> anyhow::Result<f64> {
        let mut sum = 0.0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let spent = std::fs::read_to_string(task?.path().join("schedstat"))?;
            sum += spent.split(' ').next().context("schedstat has fields")?.parse::<f64>()?;
        }
        Ok(sum)
    }

    /// Bytes of memory of the process's own.
    pub(crate) fn memory(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closes its standard input.
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}
