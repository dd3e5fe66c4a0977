//! What the text frames of a client say.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::http::{Peek, Refusal, RefusalCode, object, optional_text};

/// What kind of frame it is. The input itself is read by whoever starts its run.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Hello(Hello),
    Stop(Stop),
    /// The name of its agent, or what is wrong with that.
    Input(Result<Option<String>, Refusal>),
    Refused(Refusal),
    NotJson,
}

/// What ends the run in progress, if it is the one that is named.
#[derive(Debug, PartialEq)]
pub(super) struct Stop {
    pub(super) run_id: Option<String>,
}

/// The first frame of a client that has something to say about itself.
#[derive(PartialEq, Default)]
pub(super) struct Hello {
    pub(super) token: Option<String>,
    pub(super) attributes: HelloAttributes,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hello").field("attributes", &self.attributes).finish_non_exhaustive()
    }
}

/// What a client said about itself when it opened its socket: the string members of its hello, the token left out. They
/// are claims, and nothing here interprets them.
///
/// Every run of the socket carries them among its [extensions](agui_core::Run::extensions), if there was a hello.
///
/// # Examples
/// ```
/// use agui_core::{Run, RunEnd, RunError};
/// use agui_encoder::ws::HelloAttributes;
///
/// async fn agent(run: Run) -> Result<RunEnd, RunError> {
///     let client = run.extensions().get::<HelloAttributes>().and_then(|hello| hello.get("client"));
///     run.text(format!("Hello {}", client.unwrap_or("stranger"))).await?;
///     Ok(RunEnd::success())
/// }
/// # let _ = agent;
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HelloAttributes(BTreeMap<String, String>);

impl HelloAttributes {
    /// The attribute of a name; `client` is one that clients usually send.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for HelloAttributes {
    /// Shows the names: a value may be private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Frame {
    pub(super) fn read(text: &[u8]) -> Self {
        let Ok(mut peek) = Peek::read(text) else { return Self::NotJson };
        match peek.kind.take().as_ref().map(Value::as_str) {
            None => Self::Input(peek.agent()),
            Some(Some("hello")) => {
                object(text).map_or(Self::NotJson, |members| Self::Hello(Hello::new(members)))
            }
            Some(Some("stop")) => match optional_text("runId", peek.run_id) {
                Ok(run_id) => Self::Stop(Stop { run_id }),
                Err(refusal) => Self::Refused(refusal),
            },
            Some(_) => Self::Refused(
                Refusal::new(RefusalCode::InvalidRequest)
                    .with_message("A frame with a type is a hello or a stop; an input has none."),
            ),
        }
    }
}

impl Hello {
    fn new(members: Map<String, Value>) -> Self {
        let mut hello = Self::default();
        for (name, value) in members {
            let Value::String(value) = value else { continue };
            match name.as_str() {
                "type" => {}
                "token" => hello.token = Some(value),
                _ => drop(hello.attributes.0.insert(name, value)),
            }
        }
        hello
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_gives_its_strings_and_shows_neither_token_nor_values() {
        let text = br#"{"type":"hello","token":"s3cret","client":"desk","n":1,"plan":"gold"}"#;
        let Frame::Hello(hello) = Frame::read(text) else { panic!("no hello") };
        assert_eq!(hello.token.as_deref(), Some("s3cret"));
        assert_eq!(hello.attributes.iter().collect::<Vec<_>>(), [("client", "desk"), ("plan", "gold")]);
        assert_eq!(format!("{hello:?}"), r#"Hello { attributes: {"client", "plan"}, .. }"#);
    }

    #[test]
    fn a_frame_without_a_type_is_an_input_and_may_name_its_agent() {
        let none = Frame::Input(Ok(None));
        for text in [r#"{"threadId":"t"}"#, r#"{"agentId":null}"#, "[]", "null", "[[7,7]]"] {
            assert_eq!(Frame::read(text.as_bytes()), none, "{text}");
        }
        assert_eq!(Frame::read(br#"{"agentId":"a"}"#), Frame::Input(Ok(Some("a".to_owned()))));
        let Frame::Input(Err(refusal)) = Frame::read(br#"{"agentId":1}"#) else { panic!("not refused") };
        assert_eq!(refusal.code(), RefusalCode::InvalidInput);
    }

    #[test]
    fn a_stop_may_name_its_run() {
        assert_eq!(Frame::read(br#"{"type":"stop"}"#), Frame::Stop(Stop { run_id: None }));
        let named = Frame::read(br#"{"type":"stop","runId":"r"}"#);
        assert_eq!(named, Frame::Stop(Stop { run_id: Some("r".to_owned()) }));
        assert!(matches!(Frame::read(br#"{"type":"stop","runId":1}"#), Frame::Refused(_)));
    }

    #[test]
    fn of_a_member_given_twice_the_last_counts() {
        let named = Frame::Input(Ok(Some("b".to_owned())));
        let input = |members: &str| Frame::read(format!("{{{members}}}").as_bytes());
        assert_eq!(input(r#""agentId":"a","agentId":"b""#), named);
        assert_eq!(input(r#""runId":"a","runId":"r","agentId":"b""#), named);
        assert_eq!(input(r#""\ud800":1,"agentId":"b""#), named);
        assert!(matches!(input(r#""agentId":"a","agentId":1"#), Frame::Input(Err(_))));
        let stop = Frame::Stop(Stop { run_id: Some("r".to_owned()) });
        assert_eq!(input(r#""type":"stop","type":"stop","runId":"r""#), stop);
        assert_eq!(input(r#""type":"hello","runId":"a","type":"stop","runId":"r""#), stop);
        let Frame::Hello(hello) = input(r#""type":"hello","token":"a","token":"b","plan":"\ud800""#) else {
            panic!("no hello")
        };
        assert_eq!((hello.token.as_deref(), hello.attributes.get("plan")), (Some("b"), Some("\u{fffd}")));
    }

    #[test]
    fn how_deep_an_input_is_its_reader_judges() {
        let deep = |key: &str| format!("{{\"{key}\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for key in ["a", "type"] {
            assert_eq!(Frame::read(deep(key).as_bytes()), Frame::Input(Ok(None)), "{key}");
        }
    }

    #[test]
    fn what_is_no_json_is_told_from_what_is_no_frame() {
        for text in ["", "{", "hi", "{} {}", "{\"threadId\":\"t\""] {
            assert_eq!(Frame::read(text.as_bytes()), Frame::NotJson, "{text}");
        }
        for text in [r#"{"type":"x"}"#, r#"{"type":1}"#, r#"{"type":"RUN_STARTED"}"#] {
            assert!(matches!(Frame::read(text.as_bytes()), Frame::Refused(_)), "{text}");
        }
    }
}
