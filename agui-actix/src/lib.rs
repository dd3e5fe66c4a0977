//! AG-UI 1.0 agents for actix-web.
//!
//! The names every adapter exports, so that an agent written today moves between frameworks by changing one import. The
//! routes for actix-web are not part of this version; until they are, a `actix-web` handler can drive the [`Endpoint`] itself: hand
//! it the head with [`begin`](Endpoint::begin), then the body, and turn the response's body into its own.
//!
//! ```
//! use agui_actix::{Endpoint, Run, RunEnd, RunError};
//!
//! async fn agent(run: Run) -> Result<RunEnd, RunError> {
//!     run.text("Hello").await?;
//!     Ok(RunEnd::success())
//! }
//!
//! let endpoint = Endpoint::new(agent);
//! # let _ = endpoint;
//! ```
//!
//! The other types of the protocol are [`agui_core`]'s, which is exported from here, so that an agent needs no
//! dependency of its own on it.
//!
//! What a client reads of a failed run says nothing of why; a `tracing` subscriber or [`Endpoint::with_error_hook`]
//! tells.

pub use agui_core::{self, Run, RunEnd, RunError, RunHandler};
pub use agui_encoder::http::Endpoint;
