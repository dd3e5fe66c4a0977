//! Which format answers a request: a total function of its `Accept` values (`BIND-3`).
//!
//! The binary format is chosen whenever this build has it and `Accept` admits its media type with q > 0; the weights of
//! two formats are not compared, and SSE answers everything else, `Accept: text/html` included. There is no refusal.
//!
//! What counts: several `Accept` lines are one list. Of the ranges that match, the most specific decides; of two equally
//! specific ones the higher q. A range that is malformed, or has a parameter before its q, matches nothing and is
//! skipped; a q that does not parse is 0. No `Accept` at all admits SSE alone: a client that names nothing cannot be
//! assumed to read binary.
//!
//! Invariants: no allocation, no panic, weights are integers in thousandths.

use http::HeaderValue;

/// A format of the event stream that this build can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Format {
    /// Server-sent events (`BIND-2`).
    #[default]
    Sse,
    /// Length-prefixed protobuf (`BIND-3`).
    #[cfg(feature = "protobuf")]
    Protobuf,
    /// Newline-delimited JSON (`BIND-6`), for other transports than HTTP. Never negotiated.
    Ndjson,
}

impl Format {
    /// The media type, exactly as `Content-Type` carries it.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            #[cfg(feature = "protobuf")]
            Self::Protobuf => crate::protobuf::MEDIA_TYPE,
            Self::Ndjson => crate::NdjsonEncoder::CONTENT_TYPE,
        }
    }
}

/// What a range that names no type of ours says, such as `*/*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Wildcards {
    /// It admits every format, as the protocol has it (`BIND-3`).
    #[default]
    AdmitAll,
    /// It admits SSE alone, for hosts whose callers send `*/*` without reading binary (`curl`, a bare `fetch`).
    AdmitSse,
}

/// The format that answers a request with these `Accept` values.
///
/// # Examples
/// ```
/// use agui_encoder::{Format, negotiate};
/// use http::HeaderValue;
///
/// let accept = [HeaderValue::from_static("text/html, text/event-stream;q=0.1")];
/// assert_eq!(negotiate(&accept).media_type(), "text/event-stream");
/// assert_eq!(negotiate([]), Format::Sse);
/// ```
pub fn negotiate<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>) -> Format {
    negotiate_with(accept, Wildcards::AdmitAll)
}

/// [`negotiate`], with a say in what wildcards admit.
pub fn negotiate_with<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>, wildcards: Wildcards) -> Format {
    choose(accept, BINARY_FORMATS, wildcards).unwrap_or_default()
}

/// A media type without parameters, in lower case.
#[derive(Debug, Clone, Copy)]
struct MediaType {
    kind: &'static str,
    subtype: &'static str,
}

/// The binary formats of this build, the preferred one first.
const BINARY_FORMATS: &[(Format, MediaType)] = &[
    #[cfg(feature = "protobuf")]
    (Format::Protobuf, MediaType { kind: "application", subtype: "vnd.ag-ui.event+proto" }),
];

/// The first of the formats that is admitted.
fn choose<'a, F: Copy>(
    accept: impl IntoIterator<Item = &'a HeaderValue>,
    formats: &[(F, MediaType)],
    wildcards: Wildcards,
) -> Option<F> {
    if formats.is_empty() {
        return None;
    }
    // One verdict per format; the list of formats is short.
    let mut verdicts = [Verdict::default(); 4];
    for value in accept {
        for range in ranges(value.as_bytes()) {
            for ((_, media_type), verdict) in formats.iter().zip(&mut verdicts) {
                verdict.consider(&range, *media_type);
            }
        }
    }
    formats
        .iter()
        .zip(&verdicts)
        .find(|(_, verdict)| verdict.admits(wildcards))
        .map(|((format, _), _)| *format)
}

/// How well a range fits: the more it names, the more it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Anything,
    Kind,
    Exact,
}

/// What the ranges so far say about one media type: the weight of the most specific one.
#[derive(Debug, Clone, Copy, Default)]
struct Verdict(Option<(Specificity, u16)>);

impl Verdict {
    fn consider(&mut self, range: &Range<'_>, media_type: MediaType) {
        if let Some(specificity) = range.fits(media_type) {
            self.0 = self.0.max(Some((specificity, range.thousandths)));
        }
    }

    fn admits(self, wildcards: Wildcards) -> bool {
        match self.0 {
            Some((Specificity::Exact, thousandths)) => thousandths > 0,
            Some((_, thousandths)) => thousandths > 0 && wildcards == Wildcards::AdmitAll,
            None => false,
        }
    }
}

/// One element of an `Accept` list.
#[derive(Debug)]
struct Range<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    /// A parameter before the q narrows the range to a variant that nobody here has.
    narrowed: bool,
    thousandths: u16,
}

impl Range<'_> {
    fn fits(&self, media_type: MediaType) -> Option<Specificity> {
        if self.narrowed {
            None
        } else if self.kind == b"*" {
            Some(Specificity::Anything)
        } else if !self.kind.eq_ignore_ascii_case(media_type.kind.as_bytes()) {
            None
        } else if self.subtype == b"*" {
            Some(Specificity::Kind)
        } else {
            self.subtype.eq_ignore_ascii_case(media_type.subtype.as_bytes()).then_some(Specificity::Exact)
        }
    }
}

/// The well-formed ranges of one `Accept` line.
fn ranges(line: &[u8]) -> impl Iterator<Item = Range<'_>> {
    split_unquoted(line, b',').filter_map(range)
}

fn range(element: &[u8]) -> Option<Range<'_>> {
    let mut pieces = split_unquoted(element, b';');
    let name = pieces.next()?.trim_ascii();
    let slash = name.iter().position(|&byte| byte == b'/')?;
    let (kind, subtype) = (name.get(..slash)?, name.get(slash + 1..)?);
    if !is_token(kind) || !is_token(subtype) || (kind == b"*" && subtype != b"*") {
        return None;
    }
    let mut range = Range { kind, subtype, narrowed: false, thousandths: 1000 };
    for parameter in pieces {
        let parameter = parameter.trim_ascii();
        // An empty parameter, as in `text/plain;`, says nothing.
        if parameter.is_empty() {
            continue;
        }
        let equals = parameter.iter().position(|&byte| byte == b'=');
        let name = equals.map_or(parameter, |at| parameter.get(..at).unwrap_or_default()).trim_ascii_end();
        if name.eq_ignore_ascii_case(b"q") {
            let weight = equals.and_then(|at| parameter.get(at + 1..)).unwrap_or_default();
            range.thousandths = thousandths(weight.trim_ascii_start()).unwrap_or(0);
            // What follows the weight extends `Accept` itself and narrows nothing.
            return Some(range);
        }
        range.narrowed = true;
    }
    Some(range)
}

/// A weight between 0 and 1 with at most three decimals.
fn thousandths(weight: &[u8]) -> Option<u16> {
    let (whole, decimals) = match weight {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut value = u16::from(whole - b'0');
    for place in 0..3 {
        let digit = decimals.get(place).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u16::from(digit - b'0');
    }
    (value <= 1000).then_some(value)
}

/// A token of HTTP: a type, a subtype, the name of a parameter.
fn is_token(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// Splits at a separator that is not inside a quoted string.
fn split_unquoted(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |&byte| {
        if escaped {
            escaped = false;
        } else if quoted && byte == b'\\' {
            escaped = true;
        } else if byte == b'"' {
            quoted = !quoted;
        }
        byte == separator && !quoted
    })
}

#[cfg(test)]
#[path = "negotiate/tests.rs"]
mod tests;
