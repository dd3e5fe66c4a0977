//! The frames that wait for a peer, up to a limit in frames and in bytes.
//!
//! One frame may go beyond the limit in bytes. What is full takes nothing more from the run, whose agent waits then.

use std::collections::VecDeque;

use bytes::Bytes;

#[derive(Debug)]
pub(super) struct Outbox {
    frames: VecDeque<Bytes>,
    bytes: usize,
    max_frames: usize,
    max_bytes: usize,
}

impl Outbox {
    pub(super) const fn new(max_frames: usize, max_bytes: usize) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, max_frames, max_bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        !self.frames.is_empty() && (self.frames.len() >= self.max_frames || self.bytes >= self.max_bytes)
    }

    pub(super) fn push(&mut self, frame: Bytes) {
        self.bytes = self.bytes.saturating_add(frame.len());
        self.frames.push_back(frame);
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let frame = self.frames.pop_front()?;
        self.bytes = self.bytes.saturating_sub(frame.len());
        if self.frames.is_empty() {
            // A socket is idle for most of its life.
            self.frames.shrink_to(8);
        }
        Some(frame)
    }

    pub(super) fn clear(&mut self) {
        self.frames = VecDeque::new();
        self.bytes = 0;
    }
}
