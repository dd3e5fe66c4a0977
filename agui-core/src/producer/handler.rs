//! What an agent implements.

use std::future::Future;
use std::pin::Pin;

use crate::AgentCapabilities;

use super::{Run, RunEnd, RunError};

/// Serves runs. One value serves all of them, at the same time; what belongs to one run lives in its [`Run`].
///
/// A closure or an `async fn` that takes a [`Run`] is a handler as well.
///
/// # Examples
/// ```
/// # use agui_core::AgentCapabilities;
/// # use agui_core::producer::{Run, RunEnd, RunError, RunHandler};
/// struct Echo;
///
/// impl RunHandler for Echo {
///     async fn run(&self, run: Run) -> Result<RunEnd, RunError> {
///         let text = run.input().last_user_message().map(|message| message.content.text().into_owned());
///         run.text(text.unwrap_or_default()).await?;
///         Ok(RunEnd::success())
///     }
/// }
/// # fn assert_handler(_: impl RunHandler) {}
/// # assert_handler(Echo);
/// # assert_handler(|run: Run| async move { run.text("hi").await?; Ok(RunEnd::success()) });
/// ```
pub trait RunHandler: Send + Sync + 'static {
    /// Serves one run. `Ok` finishes it; `Err` becomes `RUN_ERROR` with a generic message and a code, unless the error
    /// was [marked public](RunError::public).
    ///
    /// What is left open is closed. A panic becomes `RUN_ERROR` without its text. When the run is told to stop,
    /// [`Run::cancelled`] resolves, and after a grace period the future is dropped.
    fn run(&self, run: Run) -> impl Future<Output = Result<RunEnd, RunError>> + Send;

    /// What the agent declares about itself (`CAP-1`); nothing by default.
    fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities::default()
    }
}

impl<F, Fut> RunHandler for F
where
    F: Fn(Run) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<RunEnd, RunError>> + Send,
{
    fn run(&self, run: Run) -> impl Future<Output = Result<RunEnd, RunError>> + Send {
        self(run)
    }
}

/// [`RunHandler`] behind a pointer, for registries of different handlers. Every handler is one.
pub trait DynRunHandler: Send + Sync + 'static {
    /// Serves one run; see [`RunHandler::run`].
    fn run_boxed<'a>(
        &'a self,
        run: Run,
    ) -> Pin<Box<dyn Future<Output = Result<RunEnd, RunError>> + Send + 'a>>;

    /// What the agent declares about itself; see [`RunHandler::capabilities`].
    fn capabilities(&self) -> AgentCapabilities;
}

impl<H: RunHandler> DynRunHandler for H {
    fn run_boxed<'a>(
        &'a self,
        run: Run,
    ) -> Pin<Box<dyn Future<Output = Result<RunEnd, RunError>> + Send + 'a>> {
        Box::pin(self.run(run))
    }

    fn capabilities(&self) -> AgentCapabilities {
        RunHandler::capabilities(self)
    }
}
