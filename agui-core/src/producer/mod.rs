//! The producing side: what an agent calls becomes a legal sequence of events.
//!
//! [`RunWriter`] is the synchronous state machine that everything goes through; it has no executor and no clock and
//! writes into any [`EventSink`]. [`Run`] is its asynchronous face for a [`RunHandler`]: handles for messages, calls,
//! reasoning, steps, subagents, state and activities that wait while the reader is slow. [`launch`] puts a handler and
//! a `Run` together; whoever drives the result brings the timers and decides what a vanished reader means.
//!
//! A failed run says little on the wire, and this module logs nothing of it: what the handler returned is the result of
//! its [`RunTask`], for the driver to log. An HTTP endpoint does so with `tracing`, so that a program without a
//! subscriber, and without the endpoint's `with_error_hook`, never learns why an agent failed.
//!
//! Invariants: an illegal sequence does not leave the writer; a run has exactly one terminal event; whatever the
//! handler leaves open is closed before it.

mod activity;
mod end;
mod error;
mod extensions;
mod from_stream;
mod handler;
mod launch;
mod queue;
mod reasoning;
mod reuse;
mod run;
mod scope;
mod sink;
mod size;
mod state;
mod step;
mod subagent;
mod text;
mod tool;
mod writer;

pub use activity::ActivityHandle;
pub use end::{RunEnd, RunError};
pub use error::WriteError;
pub use extensions::Extensions;
pub use from_stream::{StreamHandler, handler_from_stream};
pub use handler::{DynRunHandler, RunHandler};
pub use launch::{CancelReason, Launched, RunControl, RunEvents, RunOutcome, RunSetup, RunTask, launch};
pub use queue::{RunLimits, RunQueue};
pub use reasoning::ReasoningHandle;
pub use run::Run;
pub use scope::{SubagentStart, TextStart, ToolCallStart, WriterScope};
pub use sink::{EventSink, SinkClosed};
pub use state::StateHandle;
pub use step::StepHandle;
pub use subagent::{Subagent, SubagentBuilder};
pub use text::TextHandle;
pub use tool::ToolCallHandle;
pub use writer::RunWriter;
