//! AG-UI 1.0 agents for warp.
//!
//! The names every adapter exports, so that an agent written today moves between frameworks by changing one import. The
//! routes for warp are not part of this version; until they are, a `warp` handler can drive the [`Endpoint`] itself: hand
//! it the head with [`begin`](Endpoint::begin), then the body, and turn the response's body into its own.
//!
//! ```
//! use agui_warp::{Endpoint, Run, RunEnd, RunError};
//!
//! async fn agent(run: Run) -> Result<RunEnd, RunError> {
//!     run.text("Hello").await?;
//!     Ok(RunEnd::success())
//! }
//!
//! let endpoint = Endpoint::new(agent);
//! # let _ = endpoint;
//! ```

pub use agui_core::{Run, RunEnd, RunError, RunHandler};
pub use agui_encoder::http::Endpoint;
