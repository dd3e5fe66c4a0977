//! An agent behind one URL.

use agui_core::RunAgentInput;
use agui_core::consumer::prepare::Peer;
use reqwest::Url;

use super::dial::{Dialer, parse_url};
use crate::{Agent, DialError, FrameSource};

/// An agent behind one URL: a plain endpoint. Cheap to clone; clones share their connections.
///
/// # Examples
/// ```
/// use agui_client::agui_core::{RunAgentInput, RunEnd};
/// use agui_client::agui_core::consumer::RunStatus;
/// use agui_client::{Agent, HttpAgent};
/// use agui_axum::{Endpoint, Run};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Endpoint::new(|run: Run| async move {
///     run.text("Hello").await?;
///     Ok(RunEnd::success())
/// });
/// let app = axum::Router::new().route("/agui", agui_axum::endpoint(endpoint.with_bearer_token("secret")));
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// let url = format!("http://{}/agui", listener.local_addr()?);
/// tokio::spawn(async move { axum::serve(listener, app).await });
///
/// let agent = HttpAgent::new(&url)?.with_bearer_token("secret")?;
/// let mut run = agent.run(RunAgentInput::new("trip-7", "turn-1", [])).await?;
/// assert_eq!(run.finish().await?, RunStatus::Success);
/// assert_eq!(run.conversation().to_messages()[0].text(), "Hello");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct HttpAgent {
    dialer: Dialer,
    url: Url,
}

http_settings!(HttpAgent);

impl HttpAgent {
    /// The agent behind a URL.
    ///
    /// # Errors
    /// The URL is malformed, or neither `http` nor `https`.
    pub fn new(url: impl AsRef<str>) -> Result<Self, DialError> {
        Ok(Self { dialer: Dialer::new()?, url: parse_url(url.as_ref())? })
    }
}

impl Agent for HttpAgent {
    async fn dial(&self, input: &RunAgentInput) -> Result<Box<dyn FrameSource>, DialError> {
        self.dialer.stream(self.url.clone(), input).await
    }

    fn peer(&self) -> Peer {
        self.dialer.peer
    }
}
