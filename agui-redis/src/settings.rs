//! Where Redis is, and how much is kept there for how long.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use redis::{ConnectionInfo, IntoConnectionInfo};

/// Where a [`RedisRunStore`](crate::RedisRunStore) keeps runs, how much of them and for how long.
///
/// Every process that shares runs is given the same ones.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use agui_redis::RedisSettings;
///
/// let settings = RedisSettings::new("redis://agents:secret@cache.internal:6379/2")?
///     .with_prefix("shop:")
///     .with_retention(Duration::from_secs(30 * 24 * 3600));
/// assert!(!format!("{settings:?}").contains("secret"));
/// # Ok::<(), agui_redis::SettingsError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct RedisSettings {
    pub(crate) nodes: Vec<ConnectionInfo>,
    pub(crate) cluster: bool,
    pub(crate) prefix: String,
    pub(crate) lease: Duration,
    pub(crate) retention: Duration,
    pub(crate) timeout: Duration,
    pub(crate) limits: RedisLimits,
    #[cfg(feature = "tls")]
    pub(crate) root_certificates: Option<Vec<u8>>,
}

/// How much a store keeps.
///
/// Bytes are those of the events as JSON and of the ids of runs, with a little for each batch and each run. Redis takes
/// about as much again where batches are small, and more for a while: a run that is rewritten is there twice. So they lie
/// well below the server's `maxmemory`, half of it at most, with `maxmemory-policy noeviction`: this store chooses what
/// goes, and knows what may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct RedisLimits {
    /// Bytes of all threads under the prefix; 1 GiB by default, well below Redis's `maxmemory`. Whole idle threads go, those
    /// used longest ago first.
    pub max_bytes: u64,
    /// Threads under the prefix; 100,000 by default.
    pub max_threads: u64,
    /// Bytes of one run; 64 MiB by default. The run is told that its record is full.
    pub max_run_bytes: u64,
    /// Bytes that are set aside for a run when it begins, and each time it needs more; 64 KiB by default.
    pub grant_bytes: u64,
    /// Readers in this process of a thread whose run is in progress; 64 by default.
    pub max_followers: usize,
    /// Ended runs that a thread keeps; 1,000 by default, at least one. The oldest kept one begins with snapshots in place
    /// of what was dropped.
    pub max_runs_per_thread: usize,
}

impl Default for RedisLimits {
    fn default() -> Self {
        Self {
            max_bytes: 1024 * 1024 * 1024,
            max_threads: 100_000,
            max_run_bytes: 64 * 1024 * 1024,
            grant_bytes: 64 * 1024,
            max_followers: 64,
            max_runs_per_thread: 1_000,
        }
    }
}

impl RedisLimits {
    /// Sets how many bytes all threads may take.
    pub const fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how many threads there may be.
    pub const fn with_max_threads(mut self, threads: u64) -> Self {
        self.max_threads = threads;
        self
    }

    /// Sets how many bytes one run may take.
    pub const fn with_max_run_bytes(mut self, bytes: u64) -> Self {
        self.max_run_bytes = bytes;
        self
    }

    /// Sets how many bytes are set aside for a run at a time.
    pub const fn with_grant_bytes(mut self, bytes: u64) -> Self {
        self.grant_bytes = bytes;
        self
    }

    /// Sets how many of this process may read a thread whose run is in progress.
    pub const fn with_max_followers(mut self, followers: usize) -> Self {
        self.max_followers = followers;
        self
    }

    /// Sets how many ended runs a thread keeps, at least one.
    pub fn with_max_runs_per_thread(mut self, runs: usize) -> Self {
        self.max_runs_per_thread = runs.max(1);
        self
    }
}

/// Why settings are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The text is no Redis URL. It is not repeated, for what may be in it.
    #[error("a Redis URL is redis://[user:password@]host[:port][/database], rediss:// for TLS; {what}")]
    Url {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl RedisSettings {
    /// The server at a URL; several URLs with commas between them are nodes of a cluster.
    ///
    /// `redis://user:password@host:6379/0`, `rediss://` for TLS (with the feature `tls`), `unix:///path` for a socket.
    ///
    /// # Errors
    /// The text is no such URL.
    pub fn new(url: &str) -> Result<Self, SettingsError> {
        let nodes = url.split(',').map(node).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            cluster: nodes.len() > 1,
            nodes,
            prefix: "agui:".to_owned(),
            lease: Duration::from_secs(15),
            retention: Duration::from_secs(7 * 24 * 3600),
            timeout: Duration::from_secs(2),
            limits: RedisLimits::default(),
            #[cfg(feature = "tls")]
            root_certificates: None,
        })
    }

    /// Says whether the URL is that of a cluster's node, where it is one alone.
    pub const fn with_cluster(mut self, cluster: bool) -> Self {
        self.cluster = cluster;
        self
    }

    /// Sets who signed the servers' certificates, as PEM, in place of those that the system trusts.
    #[cfg(feature = "tls")]
    pub fn with_root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates = Some(pem.into());
        self
    }

    /// Sets what all keys and channels begin with; `agui:` by default. Stores with different prefixes have nothing in
    /// common. Braces in it are left out, because they would put all keys in one place of a cluster.
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.replace(['{', '}'], "");
        self
    }

    /// Sets how long a run stays its driver's without being renewed; 15 seconds by default, at least 100 milliseconds.
    /// It is renewed three times as often. When it runs out, the run is closed for whoever follows it.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(100));
        self
    }

    /// Sets how long a thread is kept after its last run, between a second and ten years; 7 days by default. It is never
    /// less than two [leases](Self::with_lease), so that a run in progress, which is renewed, does not expire.
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention.clamp(Duration::from_secs(1), Duration::from_secs(10 * 365 * 24 * 3600));
        self
    }

    /// Sets how long Redis may take for one command, connecting included; 2 seconds by default.
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how much is kept.
    pub const fn with_limits(mut self, limits: RedisLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl RedisSettings {
    /// How long a thread is kept.
    pub(crate) fn kept(&self) -> Duration {
        self.retention.max(self.lease.saturating_mul(2))
    }
}

impl FromStr for RedisSettings {
    type Err = SettingsError;

    fn from_str(url: &str) -> Result<Self, SettingsError> {
        Self::new(url)
    }
}

fn node(url: &str) -> Result<ConnectionInfo, SettingsError> {
    // The client's own errors are not passed on: some of them quote the text.
    let info = url.trim().into_connection_info();
    let info = info.map_err(|_| SettingsError::Url { what: "this is none" })?;
    if !info.addr().is_supported() {
        return Err(SettingsError::Url { what: "this build has no TLS" });
    }
    Ok(info)
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses only: what else a URL says is for Redis.
        let nodes: Vec<_> = self.nodes.iter().map(|node| node.addr().to_string()).collect();
        f.debug_struct("RedisSettings")
            .field("nodes", &nodes)
            .field("cluster", &self.cluster)
            .field("prefix", &self.prefix)
            .field("lease", &self.lease)
            .field("retention", &self.retention)
            .field("timeout", &self.timeout)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_an_error_shows_a_password() {
        let settings = RedisSettings::new("redis://ann:s3cret@host:7000/1").unwrap();
        let shown = format!("{settings:?}");
        assert!(
            shown.contains("host:7000") && !shown.contains("s3cret") && !shown.contains("ann"),
            "{shown}"
        );
        for odd in ["redis://ann:s3cret@host:port", "http://ann:s3cret@host", "ann:s3cret@host", ""] {
            let error = RedisSettings::new(odd).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("s3cret") && !shown.contains("ann:"), "{shown}");
        }
    }

    #[test]
    fn several_urls_are_a_cluster() {
        assert!(!RedisSettings::new("redis://a").unwrap().cluster);
        let cluster = RedisSettings::new("redis://a, redis://b").unwrap();
        assert!(cluster.cluster && cluster.nodes.len() == 2);
        assert_eq!(RedisSettings::new("redis://a").unwrap().with_prefix("{x}:").prefix, "x:");
    }
}
