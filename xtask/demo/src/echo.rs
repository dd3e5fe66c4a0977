//! The agent that answers with what it was told.

use agui_core::producer::WriteError;
use agui_core::{
    AgentCapabilities, IdentityCapabilities, Run, RunEnd, RunError, RunHandler, TransportCapabilities,
};

use crate::cancel::unless_cancelled;

/// Repeats the last user message, word by word.
///
/// The answer is one message with the id `{runId}:m1`, whose deltas concatenate to exactly the text: each is a word
/// with the white space behind it, and white space in front of the first word belongs to it. Without a user message,
/// or without text in it, the message opens and closes and has no content.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "an agent without settings is its name")]
pub struct EchoAgent;

impl EchoAgent {
    /// What the agent says about itself.
    pub const DESCRIPTION: &'static str = "Repeats the last user message, word by word.";
}

impl RunHandler for EchoAgent {
    async fn run(&self, run: Run) -> Result<RunEnd, RunError> {
        let answer = async {
            let text = run.input().last_user_message().map(|message| message.content.text().into_owned());
            let mut message = run.message().with_id(format!("{}:m1", run.run_id()));
            for word in words(text.as_deref().unwrap_or_default()) {
                message.delta(word).await?;
            }
            message.end().await?;
            Ok::<_, WriteError>(())
        };
        match unless_cancelled(&run, answer).await {
            Ok(answered) => {
                answered?;
                Ok(RunEnd::success())
            }
            Err(_) => Ok(RunEnd::cancelled()),
        }
    }

    fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities::default()
            .with_identity(
                IdentityCapabilities::default().with_name("echo").with_description(Self::DESCRIPTION),
            )
            .with_transport(TransportCapabilities::default().with_streaming(true).with_http_binary(true))
    }
}

/// Splits a text behind each stretch of white space that follows a word.
fn words(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let gap = rest[word..].find(char::is_whitespace).map_or(rest.len(), |at| word + at);
        let end = rest[gap..].find(|c: char| !c.is_whitespace()).map_or(rest.len(), |at| gap + at);
        let (piece, others) = rest.split_at(end);
        rest = others;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_word_keeps_the_white_space_behind_it() {
        let split = |text| words(text).collect::<Vec<_>>();
        assert_eq!(split("hello  big world"), ["hello  ", "big ", "world"]);
        assert_eq!(split(" \n hello "), [" \n hello "]);
        assert_eq!(split("  "), ["  "]);
        assert_eq!(split("größe\u{a0}zählt"), ["größe\u{a0}", "zählt"]);
        assert!(split("").is_empty());
    }
}
