//! Where a writer's events go.

use crate::Event;

/// Takes the events of a run, one by one, in order.
///
/// Implemented for `Vec<Event>` and for closures; a transport of its own implements it in a few lines.
///
/// # Examples
/// ```
/// # use agui_core::producer::{EventSink, RunEnd, RunWriter};
/// # use agui_core::RunAgentInput;
/// let mut lines = Vec::new();
/// let sink = |event| lines.push(serde_json::to_string(&event).unwrap());
/// let mut writer = RunWriter::new(RunAgentInput::new("t", "r", []), sink);
/// writer.start()?;
/// writer.finish(RunEnd::success());
/// drop(writer);
/// assert_eq!(lines.len(), 2);
/// # Ok::<(), agui_core::producer::WriteError>(())
/// ```
pub trait EventSink {
    /// Takes one event.
    ///
    /// # Errors
    /// The sink takes no more events; the writer then refuses everything that follows.
    fn send(&mut self, event: Event) -> Result<(), SinkClosed>;

    /// Takes one event of which the writer knows about how many bytes it takes, for sinks that bound their memory.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn send_sized(&mut self, event: Event, bytes: usize) -> Result<(), SinkClosed> {
        let _ = bytes;
        self.send(event)
    }

    /// An event that has been sent and read, whose memory may be used again; none by default. Most sinks pass their
    /// events on and never see them again.
    #[inline]
    fn used_event(&mut self) -> Option<Event> {
        None
    }
}

/// The sink takes no more events: its reader is gone or it failed. The sink itself knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sink takes no more events")]
#[expect(clippy::exhaustive_structs, reason = "sinks outside this crate have to build it")]
pub struct SinkClosed;

impl EventSink for Vec<Event> {
    fn send(&mut self, event: Event) -> Result<(), SinkClosed> {
        self.push(event);
        Ok(())
    }
}

impl<F: FnMut(Event)> EventSink for F {
    fn send(&mut self, event: Event) -> Result<(), SinkClosed> {
        self(event);
        Ok(())
    }
}
