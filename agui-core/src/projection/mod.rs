//! Applications with a vocabulary of their own: their frames as AG-UI events, and back.
//!
//! A [`Projection`] says what each frame of an application becomes, and which frames a stream of events stands for.
//! [`Leftovers`] carries what an event has no place for. The functions of this module put a projection to work on
//! iterators, streams and a [`RunWriter`](crate::RunWriter).
//!
//! Four habits make a projection lossless and pleasant to meet:
//!
//! * What AG-UI can say goes where AG-UI says it, so that every consumer understands it; a `CUSTOM` event is for
//!   what no other event means (`PASS-2`), and an interrupt for what the application asks (`INT-1`).
//! * The rest goes under one key of the application's own (`META-3`), on the event that carries the frame's main
//!   content. Folded into a message, a later value under the key replaces an earlier one whole (`META-1`): what
//!   describes the whole item belongs on its START, and what whoever folds or merges deltas may lose, on the deltas.
//! * Long spellings only. Made of a chunk, its START and its content both carry the metadata (`CHUNK-7`), and a frame
//!   would be recovered twice.
//! * Everything foreign is none of its business. An event that stands for no frame gives none, and is no error; a
//!   known event without leftovers, because it is another producer's or somebody stripped them, gives a frame that
//!   lacks just those.
//!
//! Events to recover from have passed a consumer's stages: they are enforced, expanded and [verified](crate::sequence).
//! None of it is done again here, and nothing here folds events into messages.
//!
//! Nothing outlives a connection. A projection remembers what an item under way needs, and after a reconnect the
//! stream says all of it again. So each connection, in each direction, starts with a new value, as a rule its
//! `Default`; the functions for iterators and streams take the value and do not give it back.
//!
//! A handler's [`Run`](crate::Run) writes `RUN_STARTED` and `RUN_FINISHED` itself. Served by
//! [`handler_from_stream`](crate::handler_from_stream), a projection decides the outcome, the result and the
//! interrupts, but metadata on those two events does not go out. A vocabulary that needs it there uses a `CUSTOM`
//! event, or writes into a `RunWriter`.
//!
//! # Examples
//! A chat of three frames. `mood` and `cost` have no place in AG-UI.
//!
//! ```
//! use agui_core::projection::{Leftovers, LeftoversError, Projection, project_iter, recover_iter};
//! use agui_core::*;
//!
//! #[derive(Debug, Clone, PartialEq)]
//! enum Frame {
//!     Open { room: String, turn: String },
//!     Word { text: String, mood: Option<String> },
//!     Close { cost: Option<u64> },
//! }
//!
//! #[derive(Debug, thiserror::Error)]
//! enum ChatError {
//!     #[error("a frame came outside a turn")]
//!     NoTurn,
//!     #[error(transparent)]
//!     Leftovers(#[from] LeftoversError),
//! }
//!
//! const LEFTOVERS: Leftovers = Leftovers::new(MetadataNamespace::new("acme"), "frame");
//!
//! /// Remembers the room and the turn that is open.
//! #[derive(Default)]
//! struct Chat(Option<(String, String)>);
//!
//! impl Projection for Chat {
//!     type Frame = Frame;
//!     type Error = ChatError;
//!
//!     fn project(&mut self, frame: Frame, out: &mut Vec<Event>) -> Result<(), ChatError> {
//!         match frame {
//!             Frame::Open { room, turn } => {
//!                 out.push(RunStartedEvent::new(&room, &turn).with_protocol_version(PROTOCOL_VERSION).into());
//!                 out.push(TextMessageStartEvent::new(&turn).into());
//!                 self.0 = Some((room, turn));
//!             }
//!             Frame::Word { text, mood } => {
//!                 let (_, turn) = self.0.as_ref().ok_or(ChatError::NoTurn)?;
//!                 out.push(LEFTOVERS.attach(TextMessageContentEvent::new(turn, text), &mood)?);
//!             }
//!             Frame::Close { cost } => {
//!                 let (room, turn) = self.0.take().ok_or(ChatError::NoTurn)?;
//!                 out.push(TextMessageEndEvent::new(&turn).into());
//!                 out.push(LEFTOVERS.attach(RunFinishedEvent::new(room, turn), &cost)?);
//!             }
//!         }
//!         Ok(())
//!     }
//!
//!     fn recover(&mut self, event: &Event, out: &mut Vec<Frame>) -> Result<(), ChatError> {
//!         match event {
//!             Event::RunStarted(event) => {
//!                 out.push(Frame::Open { room: event.thread_id.to_string(), turn: event.run_id.to_string() });
//!             }
//!             Event::TextMessageContent(event) => {
//!                 let mood = LEFTOVERS.get(event.metadata.as_ref())?;
//!                 out.push(Frame::Word { text: event.delta.clone(), mood });
//!             }
//!             Event::RunFinished(event) => {
//!                 out.push(Frame::Close { cost: LEFTOVERS.get(event.metadata.as_ref())? });
//!             }
//!             _ => {}
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let frames = vec![
//!     Frame::Open { room: "lobby".into(), turn: "7".into() },
//!     Frame::Word { text: "Hello".into(), mood: Some("glad".into()) },
//!     Frame::Word { text: " there".into(), mood: None },
//!     Frame::Close { cost: Some(3) },
//! ];
//! let events = project_iter(Chat::default(), frames.clone()).collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(
//!     serde_json::to_string(&events[2])?,
//!     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"7","delta":"Hello","metadata":{"acme.frame":"glad"}}"#,
//! );
//! assert_eq!(recover_iter(Chat::default(), &events).collect::<Result<Vec<_>, _>>()?, frames);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapt;
mod leftovers;

pub use adapt::{
    ProjectError, finish_into, project_into, project_iter, project_stream, recover_iter, recover_stream,
};
pub use leftovers::{Leftovers, LeftoversError};

use crate::Event;

/// Maps an application's frames to AG-UI events, and events back to frames.
///
/// One value serves one direction of one connection, from its first frame or event to its last; the
/// [module](self) says why, and has an example.
///
/// Each method appends to `out` and leaves what is in it alone. After an error, what was appended does not count: the
/// functions of this module drop it, and go on with the next frame or event. An implementation therefore changes
/// itself only once nothing can fail any more, as far as that matters to it.
pub trait Projection {
    /// One message of the application's vocabulary.
    type Frame;
    /// Why a frame has no projection, or what an event carries is not what the projection put there.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Appends the events that a frame stands for, in order; none is an answer too.
    ///
    /// # Errors
    /// The frame cannot be said in AG-UI where it stands. (An illegal order need not be noticed here; whoever takes
    /// the events notices.)
    fn project(&mut self, frame: Self::Frame, out: &mut Vec<Event>) -> Result<(), Self::Error>;

    /// Appends what is due when no more frames come, such as the end of a run that was cut off. Nothing by default.
    ///
    /// # Errors
    /// What is pending cannot be said in AG-UI.
    fn finish_projecting(&mut self, out: &mut Vec<Event>) -> Result<(), Self::Error> {
        let _ = out;
        Ok(())
    }

    /// Appends the frames that an event completes: none for an event in the middle of a frame, and none for one that
    /// stands for no frame at all.
    ///
    /// # Errors
    /// The event is one of the projection's, and what it carries cannot be read. An event that the projection does not
    /// know is no error.
    fn recover(&mut self, event: &Event, out: &mut Vec<Self::Frame>) -> Result<(), Self::Error>;

    /// Appends what can be said of frames that are incomplete when no more events come. Nothing by default: what has
    /// not ended is dropped, as is proper for a tool call (`STREAM-5`).
    ///
    /// # Errors
    /// What is pending cannot be read.
    fn finish_recovering(&mut self, out: &mut Vec<Self::Frame>) -> Result<(), Self::Error> {
        let _ = out;
        Ok(())
    }
}
