//! Splitting a recorded file into frames, for commands that look at one frame at a time.
//!
//! Internal to xtask and for whole files only: no limits, no incremental reading, no judgement of what a frame says.
//! Nothing outside this crate may grow to depend on it.

/// How the frames of a file are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Server-sent events: one frame per event, its `data` lines joined.
    Sse,
    /// One frame per line.
    Ndjson,
    /// One JSON document. Where events are expected, a list is taken for a list of frames.
    Json,
}

impl Format {
    /// The format that a file's name suggests.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "sse" => Some(Self::Sse),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// The payloads of an event stream, in order. Events without data are no frames; one that the file breaks off is.
pub(crate) fn sse(text: &str) -> Vec<String> {
    let mut frames = Vec::new();
    let mut data: Option<String> = None;
    for line in lines(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        if line.is_empty() {
            frames.extend(data.take().filter(|data| !data.is_empty()));
            continue;
        }
        // A comment is a line whose field name is empty.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            }
        }
    }
    frames.extend(data.filter(|data| !data.is_empty()));
    frames
}

/// The lines of a file that are not blank.
pub(crate) fn ndjson(text: &str) -> Vec<String> {
    lines(text).filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// Lines ended by CR, LF or CRLF, as the event stream format has it.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, after) = rest.split_once(['\r', '\n']).unwrap_or((rest, ""));
        // The second half of a CRLF belongs to the ending just found.
        let ended_by_cr = rest.as_bytes().get(line.len()) == Some(&b'\r');
        rest = if ended_by_cr { after.strip_prefix('\n').unwrap_or(after) } else { after };
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lines_are_joined_and_other_fields_ignored() {
        let text = ": hello\nevent: message\nid: 7\ndata: {\"a\":\ndata:1}\n\ndata\n\ndata: 2\n\n:only a comment\n\n";
        assert_eq!(sse(text), ["{\"a\":\n1}", "2"]);
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        for ending in ["\n", "\r", "\r\n"] {
            let text = ["data: 1", "data: 2", "", "data: 3", "", ""].join(ending);
            assert_eq!(sse(&text), ["1\n2", "3"], "{ending:?}");
        }
        assert_eq!(ndjson("1\r\n\r\n2\r3"), ["1", "2", "3"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(sse("\u{feff}data: 1\n\n"), ["1"]);
    }

    #[test]
    fn only_one_space_after_the_colon_is_dropped() {
        assert_eq!(sse("data:  x:y \n\n"), [" x:y "]);
    }

    #[test]
    fn a_frame_the_file_breaks_off_is_a_frame() {
        assert_eq!(sse("data: 1\n\ndata: {\"ty"), ["1", "{\"ty"]);
    }

    #[test]
    fn the_format_follows_the_ending() {
        assert_eq!(Format::of_name("a/run.SSE"), Some(Format::Sse));
        assert_eq!(Format::of_name("run.v2.jsonl"), Some(Format::Ndjson));
        assert_eq!(Format::of_name("run.json"), Some(Format::Json));
        assert_eq!(Format::of_name("-"), None);
    }
}
