//! Clients that cost next to nothing: they post one input and count the bytes of the answer.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::LocalSet;

use super::apps::INPUT;

/// What the clients of one measurement saw.
pub(crate) struct Seen {
    /// From the requests to the end of the last answer.
    pub(crate) whole: Duration,
    /// From the requests to the first event, client by client.
    pub(crate) first: Vec<Duration>,
}

/// Has so many clients, connected already, ask at once, and reads every answer to its end.
pub(crate) async fn ask(address: SocketAddr, path: &str, clients: usize) -> anyhow::Result<Seen> {
    let local = LocalSet::new();
    let (request, ready) = (Rc::<str>::from(request(path)), Rc::new(Barrier::new(clients)));
    let mut asked = Vec::new();
    for _ in 0..clients {
        let socket = TcpStream::connect(address).await?;
        let (request, ready) = (Rc::clone(&request), Rc::clone(&ready));
        asked.push(local.spawn_local(async move {
            ready.wait().await;
            read_to_end(socket, &request).await
        }));
    }
    let answered = async move {
        let mut answers = Vec::new();
        for client in asked {
            answers.push(client.await??);
        }
        anyhow::Ok(answers)
    };
    let answers = local.run_until(answered).await?;
    let start = answers.iter().map(|answer| answer.asked).min().context("nobody asked")?;
    let end = answers.iter().map(|answer| answer.end).max().context("nobody asked")?;
    let first = answers.iter().map(|answer| answer.first - answer.asked).collect();
    Ok(Seen { whole: end - start, first })
}

/// When what happened to one client.
struct Answer {
    asked: Instant,
    first: Instant,
    end: Instant,
}

/// Opens a stream and reads its first event.
pub(crate) async fn open(address: SocketAddr, path: &str) -> anyhow::Result<TcpStream> {
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(request(path).as_bytes()).await?;
    let (mut buffer, mut read) = ([0; 2048], 0);
    while memmem::find(&buffer[..read], b"data: ").is_none() {
        let more = socket.read(&mut buffer[read..]).await?;
        ensure!(more > 0, "{path} ended before its first event");
        read += more;
    }
    Ok(socket)
}

async fn read_to_end(mut socket: TcpStream, request: &str) -> anyhow::Result<Answer> {
    let mut buffer = vec![0; 64 * 1024];
    let (mut first, mut tail, mut sum) = (None, Vec::new(), 0);
    let asked = Instant::now();
    socket.write_all(request.as_bytes()).await?;
    loop {
        let read = socket.read(&mut buffer).await?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        if first.is_none() && memmem::find(bytes, b"data: ").is_some() {
            first = Some(Instant::now());
        }
        sum += read;
        tail.extend_from_slice(&bytes[bytes.len().saturating_sub(256)..]);
        tail.drain(..tail.len().saturating_sub(256));
    }
    ensure!(memmem::find(&tail, b"RUN_FINISHED").is_some(), "an answer of {sum} bytes has no end");
    Ok(Answer { asked, first: first.context("an answer without an event")?, end: Instant::now() })
}

fn request(path: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: text/event-stream\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{INPUT}",
        INPUT.len()
    )
}
