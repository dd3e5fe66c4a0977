//! Which route a path is, and what may be done there.

use ::http::Method;
use agui_core::ThreadId;

use crate::http::handlers::Agent;
use crate::http::{Refusal, RefusalCode};

/// A route, with the segments that name something as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'p> {
    Info,
    Run(&'p str),
    Connect(&'p str),
    Stop(&'p str, &'p str),
    Envelope,
}

/// What is asked for, of whom.
#[derive(Debug)]
pub(super) enum Call {
    Run(Agent),
    Connect(Agent),
    Stop(Agent, ThreadId),
}

impl<'p> Route<'p> {
    /// The route of a path below the mount.
    pub(super) fn find(path: &'p str, envelope: bool) -> Result<Self, Refusal> {
        let path = path.split('?').next().unwrap_or_default();
        let mut segments = path.strip_prefix('/').unwrap_or(path).split('/');
        let route = match (segments.next(), segments.next(), segments.next(), segments.next()) {
            (Some(""), None, ..) if envelope => Self::Envelope,
            (Some("info"), None, ..) => Self::Info,
            (Some("agent"), Some(id), Some("run"), None) => Self::Run(id),
            (Some("agent"), Some(id), Some("connect"), None) => Self::Connect(id),
            (Some("agent"), Some(id), Some("stop"), Some(thread)) if segments.next().is_none() => {
                Self::Stop(id, thread)
            }
            _ => return Err(Refusal::new(RefusalCode::NotFound)),
        };
        Ok(route)
    }

    pub(super) fn check_method(self, method: &Method) -> Result<(), Refusal> {
        match self {
            Self::Info if *method == Method::GET || *method == Method::HEAD => Ok(()),
            Self::Info => Err(Refusal::method_not_allowed("GET, HEAD")),
            _ if *method == Method::POST => Ok(()),
            _ => Err(Refusal::method_not_allowed("POST")),
        }
    }
}

/// A segment of a path as it was meant.
pub(super) fn decode(segment: &str) -> Result<String, Refusal> {
    let bad = || Refusal::new(RefusalCode::InvalidRequest).with_message("The path has a malformed escape.");
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(bad()) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_route_or_nothing() {
        for (path, route) in [
            ("", Some(Route::Envelope)),
            ("/", Some(Route::Envelope)),
            ("/?x=1", Some(Route::Envelope)),
            ("/info", Some(Route::Info)),
            ("/info?fresh=1", Some(Route::Info)),
            ("/info/", None),
            ("//info", None),
            ("/agent/a/run", Some(Route::Run("a"))),
            ("/agent//run", Some(Route::Run(""))),
            ("/agent/a%2Fb/connect", Some(Route::Connect("a%2Fb"))),
            ("/agent/a/b/connect", None),
            ("/agent/a/stop/t%20u", Some(Route::Stop("a", "t%20u"))),
            ("/agent/a/stop/", Some(Route::Stop("a", ""))),
            ("/agent/a/stop", None),
            ("/agent/a/stop/t/u", None),
            ("/agent/a", None),
            ("/threads", None),
        ] {
            assert_eq!(Route::find(path, true).ok(), route, "{path}");
        }
        assert!(Route::find("/", false).is_err());
    }

    #[test]
    fn escapes_are_undone_once_and_have_to_be_whole() {
        for (segment, meant) in [
            ("trip%2F7", Some("trip/7")),
            ("%C3%A4%20%3f", Some("ä ?")),
            ("a+b", Some("a+b")),
            ("%252F", Some("%2F")),
            ("%", None),
            ("%4", None),
            ("%4g", None),
            ("%-1", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(segment).ok().as_deref(), meant, "{segment}");
        }
    }
}
