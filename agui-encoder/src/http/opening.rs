//! The beginning of an attachment: a thread is read to its end before its reader is sent the first event.
//!
//! That takes as much memory as the conversation does, so only a few threads are opened at a time, by a task that no
//! client holds up: the one that asks may not read at all. What is left of the thread once it is open is what is to be
//! sent of it, and no event of that is over the limit. A conversation that does not fit into an event is not sent as a
//! snapshot: its reader is made to hold nothing, and gets the record.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agui_core::Event;
use agui_core::store::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::follow::FollowReader;
use super::record::unreadable;

/// How many threads of a server are opened at a time.
pub(crate) const AT_A_TIME: usize = 4;

/// A thread that is being opened.
pub(crate) struct Opening(JoinHandle<Opened>);

/// A thread that is open: what to send first, and who reads on, if anybody.
type Opened = (Vec<Event>, Option<Box<FollowReader>>);

/// Reads the thread once more from its beginning, for a client that holds nothing after these events.
pub(crate) type Again = Box<dyn FnOnce(Vec<Event>) -> BoxFuture<'static, Option<FollowReader>> + Send>;

impl Opening {
    /// Opens a thread once there is room for that. `again` is for a conversation that is too large for an event, and
    /// absent where the reader cannot be made to hold nothing.
    pub(crate) fn spawn(reader: FollowReader, again: Option<Again>, room: Arc<Semaphore>) -> Self {
        Self(tokio::spawn(open(Box::new(reader), again, room)))
    }

    /// Puts what is to be sent first into `out`, and gives who reads on.
    pub(crate) fn poll_open(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<Event>,
    ) -> Poll<Option<Box<FollowReader>>> {
        Pin::new(&mut self.0).poll(cx).map(|opened| {
            let (events, reader) = opened.unwrap_or_else(|error| {
                tracing::error!(%error, "a thread was not opened");
                (vec![unreadable()], None)
            });
            *out = events;
            reader
        })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn open(mut reader: Box<FollowReader>, again: Option<Again>, room: Arc<Semaphore>) -> Opened {
    // The semaphore is never closed.
    let mut place = room.acquire_owned().await.ok();
    let mut events = Vec::new();
    poll_fn(|cx| {
        let polled = reader.poll_unlimited(cx, &mut events);
        if reader.is_due() {
            // The run that is waited for may be another process's, and its beginning far off.
            place = None;
        }
        polled
    })
    .await;
    if reader.all_fit(&events) {
        return (events, Some(reader));
    }
    let Some(again) = again else {
        reader.limit(&mut events);
        return (events, Some(reader));
    };
    let emptied = reader.emptied();
    // The place in the store is given back before another one is taken.
    drop((events, reader));
    match again(emptied).await {
        Some(reader) => (Vec::new(), Some(Box::new(reader))),
        None => (vec![unreadable()], None),
    }
}
