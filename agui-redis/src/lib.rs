//! The run store on Redis Streams, for AG-UI servers of more than one process.
//!
//! Behind a load balancer a client re-attaches to a run, or stops it, on another node than the one that runs it.
//! [`RedisRunStore`] is a [`RunStore`](agui_core::store::RunStore) that all of them share. It needs Redis 7.0 or later, a
//! server or a cluster.
//!
//! ```no_run
//! use agui_redis::{RedisRunStore, RedisSettings};
//!
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = RedisSettings::new("rediss://agents:secret@redis.internal")?.with_prefix("shop:");
//! let store = RedisRunStore::connect(settings).await?;
//! # let _ = store; Ok(())
//! # }
//! ```
//!
//! # What is in Redis
//! Under the prefix, of each thread: a hash with its owner and its runs, a stream of batches for each run, and a key
//! that expires as the lease of the run in progress. All of them are in one slot of a cluster, and scripts change them in
//! one step. Three more keys count what there is in all. Every key expires when nothing has been done for the retention.
//!
//! # When a process dies
//! The lease of its runs runs out ([15 seconds](RedisSettings::with_lease) by default). Whoever notices first, a follower
//! at any node or somebody who begins a run on the thread, stops or looks at it, ends the run with `RUN_ERROR`
//! `producer_lost`; what was recorded stays. Followers look when the lease is due, without being told.
//!
//! # When Redis is away
//! Every call fails with a [`StoreError`](agui_core::store::StoreError) after at most the
//! [timeout](RedisSettings::with_timeout), and works again when Redis is back; a follower bears with it for the time of a
//! lease. A batch that failed may be appended again, as the same
//! [`EventBatch`](agui_core::store::EventBatch), and is recorded once; so may a run be finished.
//! If Redis comes back with its data, runs in progress go on, unless somebody closed them for their lease first.
//!
//! What it had not yet written to disk is lost, up to a second of it with `appendfsync everysec`. A run in progress whose
//! record lacks a batch takes no more: the next append is
//! [`Incomplete`](agui_core::store::AppendError::Incomplete), and the server gives its record up as it is set to. Readers
//! who had seen more get the ending and nothing twice; those who come later get what is left, and the ending. Of runs that
//! had ended, those whose ending was lost are in progress again, until their lease runs out, and end with `producer_lost`.
//!
//! If Redis comes back empty, the thread is unknown, its followers are told so by an error, and the driver that its lease is
//! lost.
//!
//! # What Redis has to allow
//! The user of an ACL needs the keys and the channels of the prefix (`~agui:* &agui:*`) and the commands `+@read +@write
//! +@connection +@pubsub +@scripting +time`, in a cluster `+cluster` too. `maxmemory` is to be twice the
//! [`max_bytes`](RedisLimits::max_bytes) of all stores there or more, and `maxmemory-policy` to be `noeviction`: another one
//! takes whole runs, and a thread with a run missing is unknown from then on.

mod batch;
mod drive;
mod follower;
mod hub;
mod index;
mod keys;
mod link;
mod record;
mod scripts;
mod settings;
mod store;
mod upkeep;

pub use settings::{RedisLimits, RedisSettings, SettingsError};
pub use store::RedisRunStore;
