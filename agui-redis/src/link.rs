//! The connections for commands: one that comes back by itself, to a server or to a cluster.
//!
//! Nothing waits for Redis longer than the settings say. What fails is told as a [`StoreError`], with the client's error
//! behind it; neither has more of a URL in it than the address.

use std::time::Duration;

use agui_core::store::StoreError;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, ConnectionInfo, FromRedisValue, RedisError, RedisResult, Value};

use crate::RedisSettings;
use crate::scripts::Script;

/// A connection that many use at once.
#[derive(Clone)]
pub(crate) struct Link {
    kind: Kind,
    timeout: Duration,
}

#[derive(Clone)]
enum Kind {
    Server(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Link {
    pub(crate) async fn open(settings: &RedisSettings) -> Result<Self, StoreError> {
        #[cfg(feature = "tls")]
        choose_provider();
        let timeout = settings.timeout;
        let opened = tokio::time::timeout(timeout, Self::open_kind(settings)).await;
        let kind = opened.map_err(|_| late())?.map_err(|error| failed("cannot be connected to", error))?;
        Ok(Self { kind, timeout })
    }

    async fn open_kind(settings: &RedisSettings) -> RedisResult<Kind> {
        let timeout = settings.timeout;
        if settings.cluster {
            let nodes = settings.nodes.iter().map(|node| with_tcp(node, timeout));
            let builder =
                ClusterClientBuilder::new(nodes).connection_timeout(timeout).response_timeout(timeout);
            #[cfg(feature = "tls")]
            let builder = match settings.certificates() {
                Some(certificates) => builder.certs(certificates),
                None => builder,
            };
            return builder.build()?.get_async_connection().await.map(Kind::Cluster);
        }
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout))
            // Whoever comes next tries again; nobody is to wait for a long row of attempts.
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(20));
        let client = settings.client(0)?;
        ConnectionManager::new_with_config(client, config).await.map(Kind::Server)
    }

    /// Sends a command, and once more if the connection turns out to be gone: all that this store asks for may be asked
    /// twice.
    async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        match self.send_once(command).await {
            Err(error) if error.is_connection_dropped() => self.send_once(command).await,
            answer => answer,
        }
    }

    async fn send_once(&self, command: &Cmd) -> RedisResult<Value> {
        let answer = match &self.kind {
            Kind::Server(connection) => connection.clone().req_packed_command(command).await,
            Kind::Cluster(connection) => connection.clone().req_packed_command(command).await,
        };
        answer?.extract_error()
    }

    /// Runs a command.
    pub(crate) async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let answer = tokio::time::timeout(self.timeout, self.send(command)).await;
        read(answer.map_err(|_| late())?.map_err(|error| failed("could not do what it was asked", error))?)
    }

    /// Runs a script, by its digest; a server that does not know it is sent it whole.
    pub(crate) async fn call<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: impl Fn(&mut Cmd),
    ) -> Result<T, StoreError> {
        let make = |verb: &str, what: &str| {
            let mut command = redis::cmd(verb);
            command.arg(what).arg(keys.len()).arg(keys);
            arguments(&mut command);
            command
        };
        let answer = async {
            match self.send(&make("EVALSHA", &script.digest)).await {
                Err(error) if error.code() == Some("NOSCRIPT") => self.send(&make("EVAL", script.text)).await,
                answer => answer,
            }
        };
        let answer = tokio::time::timeout(self.timeout, answer).await;
        read(answer.map_err(|_| late())?.map_err(|error| failed("could not do what it was asked", error))?)
    }
}

impl RedisSettings {
    /// The client of a node, counted around.
    pub(crate) fn client(&self, at: usize) -> RedisResult<Client> {
        let node = self.nodes.get(at % self.nodes.len().max(1));
        let node =
            node.ok_or_else(|| RedisError::from((redis::ErrorKind::InvalidClientConfig, "no node")))?;
        let node = with_tcp(node, self.timeout);
        #[cfg(feature = "tls")]
        if let Some(certificates) = self.certificates() {
            return Client::build_with_tls(node, certificates);
        }
        Client::open(node)
    }

    #[cfg(feature = "tls")]
    fn certificates(&self) -> Option<redis::TlsCertificates> {
        let root_cert = Some(self.root_certificates.clone()?);
        Some(redis::TlsCertificates { client_tls: None, root_cert })
    }
}

/// An application that has not chosen whose cryptography it uses gets one that needs no choice.
#[cfg(feature = "tls")]
fn choose_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails if somebody else was quicker, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// A peer that vanished without a word is noticed by the system, when what was sent stays unacknowledged.
fn with_tcp(node: &ConnectionInfo, timeout: Duration) -> ConnectionInfo {
    let settings = node.tcp_settings().clone().set_nodelay(true);
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    let settings = settings.set_user_timeout(timeout * 2);
    #[cfg(not(any(target_os = "android", target_os = "fuchsia", target_os = "linux")))]
    let _ = timeout;
    node.clone().set_tcp_settings(settings)
}

fn read<T: FromRedisValue>(value: Value) -> Result<T, StoreError> {
    T::from_redis_value(value).map_err(|error| failed("answered what was not expected", error.into()))
}

fn late() -> StoreError {
    StoreError::new("Redis took too long to answer")
}

fn failed(what: &str, error: RedisError) -> StoreError {
    StoreError::new(format!("Redis {what}")).with_source(error)
}
