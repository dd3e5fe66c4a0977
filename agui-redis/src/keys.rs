//! What things are called in Redis.
//!
//! Ids are of any content and of any length, and Redis takes what stands in braces for the place of a key in a cluster. So
//! a thread goes by a digest of its names: all of its keys have it in braces, which puts them in one slot, and nothing that
//! a client can choose appears in a key. The lengths go into the digest, so that no two pairs of names read alike. That a
//! run's id was used is noted by a digest as well, whatever its length.

use std::fmt::Write;
use std::sync::Arc;

use agui_core::RunId;
use agui_core::store::ThreadKey;
use sha2::{Digest, Sha256};

/// The names of one thread's keys and channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadKeys {
    /// Tells the thread from every other of the store.
    pub(crate) tag: Arc<str>,
    /// The hash with everything but the events.
    pub(crate) thread: String,
    /// Exists for as long as the run in progress is its driver's.
    pub(crate) lease: String,
    /// Where followers are told that there is more to read.
    pub(crate) events: String,
    /// Where the driver is told that it may have to stop.
    pub(crate) control: String,
    base: String,
}

impl ThreadKeys {
    pub(crate) fn new(prefix: &str, key: &ThreadKey) -> Self {
        let length = (key.agent_id().len() as u64).to_be_bytes();
        let parts = [&length, key.agent_id().as_bytes(), key.thread_id().as_str().as_bytes()];
        Self::of_tag(prefix, &digest(&parts))
    }

    pub(crate) fn of_tag(prefix: &str, tag: &str) -> Self {
        let base = format!("{prefix}{{{tag}}}");
        Self {
            tag: tag.into(),
            thread: format!("{base}:t"),
            lease: format!("{base}:l"),
            events: format!("{base}:e"),
            control: format!("{base}:c"),
            base,
        }
    }

    /// The stream of a run, as recorded (generation 0) or as rewritten.
    pub(crate) fn stream(&self, token: &str, generation: u64) -> String {
        format!("{}:r:{token}:{generation}", self.base)
    }
}

/// The field of a thread's hash that says that a run id was used.
pub(crate) fn id_field(run_id: &RunId) -> String {
    format!("i:{}", digest(&[run_id.as_str().as_bytes()]))
}

fn digest(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    let mut text = String::with_capacity(64);
    for byte in digest.finalize() {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_an_id_is_in_a_key() {
        let keys = ThreadKeys::new("p:", &ThreadKey::new("a}{", "*\r\n{x}"));
        let stream = keys.stream("token", 1);
        for key in [&keys.thread, &keys.lease, &keys.events, &keys.control, &stream] {
            let rest = key.strip_prefix("p:{").unwrap();
            let (tag, rest) = rest.split_once('}').unwrap();
            assert_eq!((tag.len(), tag), (64, &*keys.tag));
            assert!(rest.chars().all(|c| c.is_ascii_alphanumeric() || c == ':'), "{rest}");
        }
    }

    #[test]
    fn names_that_read_alike_when_joined_are_different_threads() {
        let of = |agent: &str, thread: &str| ThreadKeys::new("", &ThreadKey::new(agent, thread)).tag;
        assert_ne!(of("ab", "c"), of("a", "bc"));
        assert_ne!(of("", "abc"), of("abc", ""));
        assert_eq!(of("a", "b"), of("a", "b"));
    }
}
