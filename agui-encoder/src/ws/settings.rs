//! What a WebSocket endpoint can be told beyond the settings of its endpoint, with its defaults.

use std::time::Duration;

#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Normalized; without a list only the server's own origin.
    pub(super) origins: Option<Vec<String>>,
    pub(super) origin_required: bool,
    pub(super) hello_timeout: Duration,
    pub(super) ping_interval: Option<Duration>,
    pub(super) max_queued_frames: usize,
    pub(super) max_queued_bytes: usize,
    pub(super) slow_reader_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            origins: None,
            origin_required: false,
            hello_timeout: Duration::from_secs(5),
            ping_interval: Some(Duration::from_secs(20)),
            max_queued_frames: 256,
            max_queued_bytes: 1024 * 1024,
            slow_reader_timeout: Duration::from_secs(10),
        }
    }
}
