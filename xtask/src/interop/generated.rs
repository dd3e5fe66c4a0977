//! Random events that the reference's encoder has put on the binary wire, read and written by ours.
//!
//! A script makes the events and has them encoded; each is there twice, as JSON and in binary. Both directions are
//! compared: what our decoder reads is what the JSON says, as that wire has it, and what our encoder writes is what the
//! reference wrote, byte for byte.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{empty, must_pass};
use crate::{carried::carried, convert::convert, frames::Wire};

/// How many differences are printed.
const MOST: usize = 10;

/// Has the events made in a folder of their own and compares; the differences, and how many events there were.
pub(super) fn compare(suites: &Path, folder: &Path) -> anyhow::Result<(usize, Vec<String>)> {
    empty(folder)?;
    must_pass(Command::new("node").arg("generate.mjs").arg(folder).current_dir(suites))?;
    let read = |name: &str| fs::read(folder.join(name)).with_context(|| format!("cannot read {name}"));
    differences(&read("generated.ndjson")?, &read("generated.pb")?)
}

fn differences(lines: &[u8], frames: &[u8]) -> anyhow::Result<(usize, Vec<String>)> {
    let events = parsed(lines)?;
    ensure!(!events.is_empty(), "no events were made");
    let mut ours = Vec::new();
    convert(frames, Wire::Protobuf, Wire::Ndjson, &mut ours).context("our decoder refuses a frame")?;
    let found = parsed(&ours)?;
    ensure!(found.len() == events.len(), "{} events were made and {} read", events.len(), found.len());
    let mut differences = Vec::new();
    for (number, (event, found)) in events.into_iter().zip(found).enumerate() {
        let expected = carried(event);
        if expected != found && differences.len() < MOST {
            let [expected, found] = [expected, found].map(|event| beginning(&event));
            differences.push(format!("event {}: expected {expected}, read {found}", number + 1));
        }
    }
    let count = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();

    let mut written = Vec::new();
    convert(lines, Wire::Ndjson, Wire::Protobuf, &mut written).context("our encoder refuses an event")?;
    if let Some(at) = written.iter().zip(frames).position(|(ours, theirs)| ours != theirs) {
        differences.push(format!("our encoder writes another byte than the reference's at {at}"));
    } else if written.len() != frames.len() {
        let (ours, theirs) = (written.len(), frames.len());
        differences.push(format!("our encoder writes {ours} bytes, the reference's {theirs}"));
    }
    Ok((count, differences))
}

/// Enough of an event to find it by.
fn beginning(event: &Value) -> String {
    event.to_string().chars().take(400).collect()
}

fn parsed(lines: &[u8]) -> anyhow::Result<Vec<Value>> {
    let events = serde_json::Deserializer::from_slice(lines).into_iter();
    events.collect::<Result<_, _>>().context("a line is no JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"a\"}\n";
    const FRAME: &[u8] = b"\0\0\0\x09\x1a\x07\x0a\x02\x08\x02\x12\x01a";

    #[test]
    fn the_same_events_on_both_wires_pass() {
        assert_eq!(differences(LINE, FRAME).unwrap(), (1, vec![]));
    }

    #[test]
    fn another_event_another_byte_and_another_count_are_told() {
        let other = b"{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"b\"}\n";
        let (_, found) = differences(other, FRAME).unwrap();
        assert!(
            found.len() == 2 && found[0].starts_with("event 1: ") && found[1].ends_with("at 12"),
            "{found:?}"
        );
        assert!(differences(b"", b"").is_err());
        assert!(differences(LINE, &[FRAME, FRAME].concat()).is_err());
        assert!(differences(LINE, &FRAME[..5]).is_err());
    }
}
