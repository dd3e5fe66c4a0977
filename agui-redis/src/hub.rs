//! The one connection of a process on which it is told that something has happened.
//!
//! Followers and drivers wait for word on a channel of their thread, all of them on one pub/sub connection. A message has
//! no content: whoever hears of it reads what there is. So nothing depends on a message: when the connection was gone, all
//! who wait are told to look when it is back, and each has its own clock for a lease besides. A blocking read of the
//! streams would not do. It can name streams of one slot only, which in a cluster is those of one thread, and it cannot
//! be told of another stream while it blocks.
//!
//! The connection is asked to answer now and then, because one whose other end vanished would be silent for ever.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agui_core::store::StoreError;
use futures_util::StreamExt;
use redis::RedisResult;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{mpsc, watch};

use crate::RedisSettings;

/// Between two attempts to connect: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// How many channels are changed with one command.
const AT_ONCE: usize = 512;

/// Who waits for what.
#[derive(Debug)]
pub(crate) struct Hub {
    topics: Mutex<HashMap<Arc<str>, Topic>>,
    changes: mpsc::UnboundedSender<Arc<str>>,
}

#[derive(Debug)]
struct Topic {
    word: watch::Sender<()>,
    waiting: usize,
}

impl Hub {
    /// A hub that works until it is dropped.
    pub(crate) fn start(settings: &RedisSettings) -> Arc<Self> {
        let (changes, queue) = mpsc::unbounded_channel();
        let hub = Arc::new(Self { topics: Mutex::default(), changes });
        let listener = Listener {
            hub: Arc::downgrade(&hub),
            settings: settings.clone(),
            queue,
            subscribed: HashSet::new(),
            node: 0,
        };
        tokio::spawn(listener.run());
        hub
    }

    /// Waits for word on a channel from now on; `None` if as many do as may.
    pub(crate) fn listen(self: &Arc<Self>, channel: &str, at_most: usize) -> Option<Listening> {
        let mut topics = self.lock();
        let channel: Arc<str> = match topics.get_key_value(channel) {
            Some((channel, _)) => Arc::clone(channel),
            None => channel.into(),
        };
        let topic = topics
            .entry(Arc::clone(&channel))
            .or_insert_with(|| Topic { word: watch::Sender::new(()), waiting: 0 });
        if topic.waiting >= at_most {
            return None;
        }
        topic.waiting += 1;
        if topic.waiting == 1 {
            // Fails only when the listener is gone, and then every wait ends with an error.
            let _ = self.changes.send(Arc::clone(&channel));
        }
        Some(Listening { word: topic.word.subscribe(), hub: Arc::clone(self), channel })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Topic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait on a channel to look.
    fn say(&self, channel: &str) {
        if let Some(topic) = self.lock().get(channel) {
            topic.word.send_replace(());
        }
    }
}

/// Waits for word on a channel. Dropped, it waits no longer.
#[derive(Debug)]
pub(crate) struct Listening {
    word: watch::Receiver<()>,
    hub: Arc<Hub>,
    channel: Arc<str>,
}

impl Listening {
    /// Forgets what happened so far. Called before looking, so that nothing falls between looking and waiting.
    pub(crate) fn mark(&mut self) {
        self.word.mark_unchanged();
    }

    /// Waits until something has happened since the mark.
    pub(crate) async fn next(&mut self) {
        if self.word.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut topics = self.hub.lock();
        if let Some(topic) = topics.get_mut(&self.channel) {
            topic.waiting -= 1;
            if topic.waiting == 0 {
                topics.remove(&self.channel);
                let _ = self.hub.changes.send(Arc::clone(&self.channel));
            }
        }
    }
}

/// The task behind a hub.
struct Listener {
    hub: Weak<Hub>,
    settings: RedisSettings,
    queue: mpsc::UnboundedReceiver<Arc<str>>,
    /// The channels that Redis knows of.
    subscribed: HashSet<Arc<str>>,
    /// The node to connect to next.
    node: usize,
}

impl Listener {
    async fn run(mut self) {
        let mut pause = PAUSES.0;
        loop {
            match self.connect().await {
                Ok((sink, stream)) => {
                    pause = PAUSES.0;
                    if let Err(End::Unneeded) = self.serve(sink, stream).await {
                        return;
                    }
                    tracing::warn!("the subscriptions to Redis are lost; connecting again");
                }
                Err(error) => tracing::debug!(%error, "Redis cannot be subscribed to"),
            }
            self.node = self.node.wrapping_add(1);
            tokio::time::sleep(pause).await;
            if self.hub().is_err() {
                return;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn hub(&self) -> Result<Arc<Hub>, End> {
        self.hub.upgrade().ok_or(End::Unneeded)
    }

    async fn connect(&self) -> Result<(PubSubSink, PubSubStream), StoreError> {
        let client = self.settings.client(self.node);
        let opened = async { client?.get_async_pubsub().await };
        let opened = tokio::time::timeout(self.settings.timeout, opened).await;
        let pubsub = opened
            .map_err(|_| StoreError::new("Redis took too long"))?
            .map_err(|error| StoreError::new("Redis cannot be connected to").with_source(error))?;
        Ok(pubsub.split())
    }

    /// Passes on what is heard, until there is an end to it.
    async fn serve(&mut self, mut sink: PubSubSink, mut stream: PubSubStream) -> Result<Infallible, End> {
        self.subscribed.clear();
        let channels: Vec<_> = self.hub()?.lock().keys().cloned().collect();
        for channels in channels.chunks(AT_ONCE) {
            self.change(&mut sink, channels).await?;
        }
        let mut clock = tokio::time::interval(self.settings.lease / 3);
        loop {
            tokio::select! {
                message = stream.next() => {
                    let message = message.ok_or(End::Lost)?;
                    self.hub()?.say(message.get_channel_name());
                }
                changed = self.queue.recv() => {
                    let mut channels = vec![changed.ok_or(End::Unneeded)?];
                    while channels.len() < AT_ONCE && let Ok(channel) = self.queue.try_recv() {
                        channels.push(channel);
                    }
                    channels.sort_unstable();
                    channels.dedup();
                    self.change(&mut sink, &channels).await?;
                }
                _ = clock.tick() => {
                    let pong = sink.ping::<redis::Value>();
                    self.confirm(async { pong.await.map(drop) }).await?;
                }
            }
        }
    }

    /// Brings what Redis knows of the channels in line with who waits.
    async fn change(&mut self, sink: &mut PubSubSink, channels: &[Arc<str>]) -> Result<(), End> {
        let (wanted, unwanted): (Vec<_>, Vec<_>) = {
            let hub = self.hub()?;
            let topics = hub.lock();
            channels.iter().cloned().partition(|channel| topics.contains_key(channel))
        };
        // Of those who are wanted, somebody may have come back before the last one's leaving was seen to.
        let new: Vec<&str> = wanted
            .iter()
            .filter(|channel| !self.subscribed.contains(*channel))
            .map(|channel| &**channel)
            .collect();
        if !new.is_empty() {
            self.confirm(sink.subscribe(&new)).await?;
        }
        let old: Vec<&str> = unwanted
            .iter()
            .filter(|channel| self.subscribed.contains(*channel))
            .map(|channel| &**channel)
            .collect();
        if !old.is_empty() {
            self.confirm(sink.unsubscribe(&old)).await?;
        }
        for channel in &unwanted {
            self.subscribed.remove(channel);
        }
        let hub = self.hub()?;
        for channel in wanted {
            // What came before Redis had the subscription was not heard.
            hub.say(&channel);
            self.subscribed.insert(channel);
        }
        Ok(())
    }

    async fn confirm(&self, change: impl Future<Output = RedisResult<()>>) -> Result<(), End> {
        match tokio::time::timeout(self.settings.timeout, change).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(End::Lost),
        }
    }
}

/// Why a connection is no longer served.
enum End {
    /// Nobody has the hub any more.
    Unneeded,
    /// It broke, or did not answer in time.
    Lost,
}
