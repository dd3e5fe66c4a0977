//! Which handler serves a request: the only one, or the one a header names.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ::http::{HeaderMap, HeaderName};
use agui_core::DynRunHandler;

use super::{Refusal, RefusalCode};

/// A handler, and the name it goes by where there are several.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) handler: Arc<dyn DynRunHandler>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The handlers of one path.
#[derive(Debug, Clone)]
pub(crate) enum Handlers {
    One(Agent),
    Named { header: HeaderName, agents: HashMap<Arc<str>, Agent>, default: Option<Arc<str>> },
}

impl Handlers {
    pub(crate) fn choose(&self, headers: &HeaderMap) -> Result<Agent, Refusal> {
        let (header, agents, default) = match self {
            Self::One(agent) => return Ok(agent.clone()),
            Self::Named { header, agents, default } => (header, agents, default),
        };
        let mut names = headers.get_all(header).iter();
        let agent = match (names.next(), names.next()) {
            // Which of two names counts, a layer in front of the endpoint may see otherwise.
            (_, Some(_)) => None,
            // An empty value names nothing, as an absent one.
            (Some(name), None) if !name.is_empty() => name.to_str().ok().and_then(|name| agents.get(name)),
            _ => default.as_ref().and_then(|name| agents.get(name)),
        };
        agent.cloned().ok_or_else(|| {
            Refusal::new(RefusalCode::AgentNotFound)
                .with_message(format!("The header {header} names no agent that is served here."))
        })
    }

    /// The agent of a name, on transports that name it apart from the headers. Where there is one agent it is that one.
    #[cfg(any(feature = "websocket", feature = "stdio"))]
    pub(crate) fn named(&self, name: &str) -> Result<Agent, Refusal> {
        match self {
            Self::One(agent) => Ok(agent.clone()),
            Self::Named { agents, .. } => {
                agents.get(name).cloned().ok_or_else(|| Refusal::new(RefusalCode::AgentNotFound))
            }
        }
    }
}
