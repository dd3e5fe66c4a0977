//! Following a thread: its record and then its run in progress, as one sequence.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;

use super::{Cursor, EventBatch, StoreError};

/// Events in the order recorded, and the place behind them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Page {
    /// The events; at least one.
    pub events: EventBatch,
    /// The place behind them, to follow on from.
    pub cursor: Cursor,
}

impl Page {
    /// A page, for stores to make.
    pub const fn new(events: EventBatch, cursor: Cursor) -> Self {
        Self { events, cursor }
    }
}

/// What a follower is handed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Followed {
    /// Events.
    Page(Page),
    /// Everything that was recorded has been handed over, and a run is still in progress: what follows is live. Told
    /// once, and not at all if the run in progress ended before.
    CaughtUp,
}

/// Where a [`Follower`] gets its pages: what a store implements.
pub trait FollowSource: Send + 'static {
    /// The next page; `None` behind the end of the run that was in progress when the follower was made, or behind the
    /// record where none was. After an error, the follower is done.
    fn poll_followed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Followed, StoreError>>>;
}

/// Reads a thread from a place on, and live until its run in progress ends.
///
/// Dropping it disturbs nobody. It holds nothing back: what is not asked for stays in the store.
pub struct Follower {
    /// Never locked: whoever reads has the follower for itself. What is `Send` becomes `Sync` by it, which a response's
    /// body has to be in some frameworks, and a source need not be.
    source: Option<Mutex<Box<dyn FollowSource>>>,
}

impl Follower {
    /// A follower of a store's.
    pub fn new(source: impl FollowSource) -> Self {
        Self { source: Some(Mutex::new(Box::new(source))) }
    }

    /// What comes next; `None` at the end, and from then on.
    pub fn poll_followed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Followed, StoreError>>> {
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let polled = source.get_mut().unwrap_or_else(PoisonError::into_inner).poll_followed(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.source = None;
        }
        polled
    }

    /// What comes next; `None` at the end.
    ///
    /// # Errors
    /// The store failed, or gave the thread up.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Followed>, StoreError> {
        poll_fn(|cx| self.poll_followed(cx)).await.transpose()
    }

    /// The next page, without being told where the record ends and the live events begin.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next_page(&mut self) -> Result<Option<Page>, StoreError> {
        loop {
            match self.next().await? {
                Some(Followed::Page(page)) => return Ok(Some(page)),
                Some(Followed::CaughtUp) => {}
                None => return Ok(None),
            }
        }
    }
}

impl Stream for Follower {
    type Item = Result<Followed, StoreError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_followed(cx)
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("done", &self.source.is_none()).finish_non_exhaustive()
    }
}
