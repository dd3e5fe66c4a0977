//! What is measured over real sockets: the SDK's handler against a bare one of the same framework, in one server
//! process, in turn.

pub(crate) mod apps;
mod client;
mod server;

use anyhow::Context;
use clap::ValueEnum;
use tokio::runtime::{Builder, Runtime};

pub(crate) use server::Framework;

use crate::measure::{Compared, count, median};
use crate::report::{Direction, Row};
use server::Server;

/// Events of the chat with its start and end.
const EVENTS: usize = 2_004;
/// How many runs one measurement has at least.
const RUNS: usize = 16;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) rounds: usize,
    /// The largest number of clients at a time.
    pub(crate) max_clients: usize,
    /// The largest number of open streams.
    pub(crate) max_streams: usize,
}

impl Extent {
    pub(crate) const FULL: Self = Self { rounds: 7, max_clients: 1_000, max_streams: 5_000 };
    pub(crate) const QUICK: Self = Self { rounds: 5, max_clients: 256, max_streams: 1_000 };
}

/// Whether a name is a framework's.
pub(crate) fn is_framework(name: &str) -> bool {
    Framework::value_variants().iter().any(|framework| framework.name() == name)
}

/// Every measure of one framework.
pub(crate) fn rows(framework: Framework, extent: Extent) -> anyhow::Result<Vec<Row>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut rows = Vec::new();
    for clients in [1, 16, 256, 1_000] {
        if clients <= extent.max_clients {
            ready(&runtime, framework, clients, extent.rounds, &mut rows)
                .with_context(|| format!("{} with {clients} clients", framework.name()))?;
        }
    }
    yielding(&runtime, framework, extent.rounds, &mut rows)?;
    for streams in [1_000, 5_000] {
        if streams <= extent.max_streams {
            rows.push(idle(&runtime, framework, streams)?);
        }
    }
    Ok(rows)
}

/// What one side of a round came to.
struct Sample {
    /// Events in a second.
    rate: f64,
    /// Nanoseconds of the server's processor time per event.
    processor: f64,
    /// Nanoseconds to the first event, the median over all clients.
    first: f64,
}

fn sample(runtime: &Runtime, server: &Server, path: &str, clients: usize) -> anyhow::Result<Sample> {
    let (mut seconds, mut first, mut runs) = (0.0, Vec::new(), 0);
    let before = server.processor_time()?;
    while runs < RUNS {
        let seen = runtime.block_on(client::ask(server.address, path, clients))?;
        seconds += seen.whole.as_secs_f64();
        first.extend(seen.first.iter().map(|first| first.as_secs_f64() * 1e9));
        runs += clients;
    }
    let events = count(runs * EVENTS);
    let processor = (server.processor_time()? - before) / events;
    Ok(Sample { rate: events / seconds, processor, first: median(first) })
}

/// The raw body and the SDK's in turn, after one unmeasured run of each.
fn rounds(
    runtime: &Runtime,
    server: &Server,
    pace: &str,
    clients: usize,
    rounds: usize,
) -> anyhow::Result<Vec<(Sample, Sample)>> {
    let (raw, sdk) = (format!("/raw/{pace}"), format!("/sdk/{pace}"));
    runtime.block_on(client::ask(server.address, &raw, 1))?;
    runtime.block_on(client::ask(server.address, &sdk, 1))?;
    (0..rounds)
        .map(|_| Ok((sample(runtime, server, &raw, clients)?, sample(runtime, server, &sdk, clients)?)))
        .collect()
}

fn compared(rounds: &[(Sample, Sample)], of: fn(&Sample) -> f64) -> Compared {
    Compared::of(&rounds.iter().map(|(raw, sdk)| (of(raw), of(sdk))).collect::<Vec<_>>())
}

fn ready(
    runtime: &Runtime,
    framework: Framework,
    clients: usize,
    how_many: usize,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    let server = Server::start(framework)?;
    let rounds = rounds(runtime, &server, "ready", clients, how_many)?;
    let name = |what: &str| format!("{}: {what}", framework.name());
    let workload = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    // The targets stop at 256.
    let at_least = (clients <= 256).then_some(2.5);
    let per_event = (clients <= 256).then_some(0.4);
    let rate = compared(&rounds, |sample| sample.rate);
    let row = Row::of(name("all ready, events per second"), &workload, "events/s", rate);
    rows.push(row.with_target(Direction::AtLeast, at_least));
    let processor = compared(&rounds, |sample| sample.processor);
    let row = Row::of(name("all ready, server CPU per event"), &workload, "ns", processor);
    rows.push(row.with_target(Direction::AtMost, per_event));
    let first = compared(&rounds, |sample| sample.first);
    let limit = match clients {
        1 => Some(1.1),
        16 => Some(0.08),
        _ => None,
    };
    let row = Row::of(name("all ready, time to first event"), &workload, "ns", first);
    rows.push(row.with_target(Direction::AtMost, limit));
    Ok(())
}

fn yielding(
    runtime: &Runtime,
    framework: Framework,
    how_many: usize,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    let server = Server::start(framework)?;
    let rounds = rounds(runtime, &server, "yielding", 16, how_many)?;
    let processor = compared(&rounds, |sample| sample.processor);
    let name = format!("{}: one at a time, server CPU per event", framework.name());
    rows.push(Row::of(name, "16 clients", "ns", processor).with_target(Direction::AtMost, Some(1.05)));
    Ok(())
}

/// What an open stream that waits keeps. Each side has a process of its own, whose memory has not been used before.
fn idle(runtime: &Runtime, framework: Framework, streams: usize) -> anyhow::Result<Row> {
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let mut sides = [0.0; 2];
        for (side, path) in sides.iter_mut().zip(["/raw/idle", "/sdk/idle"]) {
            let server = Server::start(framework)?;
            let open = runtime.block_on(client::open(server.address, path))?;
            let before = server.memory()?;
            let mut held = vec![open];
            for _ in 0..streams {
                held.push(runtime.block_on(client::open(server.address, path))?);
            }
            *side = (server.memory()? - before) / count(streams);
        }
        rounds.push((sides[0], sides[1]));
    }
    let name = format!("{}: memory per idle stream", framework.name());
    let row = Row::of(name, &format!("{streams} streams"), "bytes", Compared::of(&rounds));
    Ok(row.with_target(Direction::AtMost, Some(1.1)))
}
