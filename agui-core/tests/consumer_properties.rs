//! The consumer on arbitrary streams: every path gives the same, both spellings give the same, nothing that the schema
//! rejects gets through, and nothing panics.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers fail their test")]

mod common;

use agui_core::chunk::ChunkExpander;
use agui_core::consumer::{Conversation, Frame, Pipeline, StreamEnd};
use agui_core::sequence::{Policy, Sequence};
use agui_core::{Event, RunFinishedEvent, RunStartedEvent, compat, enforce};
use agui_schema::Validator;
use common::Source;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a pipeline made of a stream.
#[derive(Debug, PartialEq)]
struct Read {
    events: Vec<Event>,
    warnings: Vec<String>,
    /// Rule, place and path of the error.
    error: Option<(String, u64, String)>,
    end: StreamEnd,
}

impl Read {
    /// Feeds frames to their end or to the one that is refused, after which everything is.
    fn through<'f>(mut pipeline: Pipeline, frames: impl IntoIterator<Item = Frame<'f>>) -> Self {
        let mut events = Vec::new();
        let mut error = None;
        for frame in frames {
            let before = events.len();
            match pipeline.feed(frame, &mut |event| events.push(event)) {
                Ok(()) => assert!(error.is_none(), "a rejected stream goes on"),
                Err(_) if error.is_some() => assert_eq!(events.len(), before),
                Err(found) => {
                    error = Some((found.rule().to_owned(), found.index(), found.path().to_owned()));
                }
            }
        }
        let end = pipeline.finish();
        let warnings = pipeline.warnings().iter();
        let warnings = warnings.map(|warning| format!("{:?} {warning}", warning.event_index())).collect();
        Self { events, warnings, error, end }
    }

    fn folded(&self) -> (Conversation, usize) {
        let mut conversation = Conversation::new();
        let mut warnings = Vec::new();
        for event in &self.events {
            conversation.apply(event, &mut warnings);
        }
        (conversation, warnings.len())
    }
}

fn started() -> Event {
    RunStartedEvent::new("t", "r").into()
}

fn finished() -> Event {
    RunFinishedEvent::new("t", "r").into()
}

/// Random events behind a start, without those that may not stand where they do.
fn well_formed(candidates: Vec<Event>) -> Vec<Event> {
    let (mut expander, mut sequence) = (ChunkExpander::new(), Sequence::new(Policy::Consumer));
    let mut stream = Vec::new();
    for event in std::iter::once(started()).chain(candidates) {
        let mut next = (expander.clone(), sequence.clone());
        let mut stands = true;
        let outcome = next.0.expand(event.clone(), |event| stands = stands && next.1.check(&event).is_ok());
        if outcome.is_ok() && stands {
            (expander, sequence) = next;
            stream.push(event);
        }
    }
    stream
}

/// One lane's items, to be spelled out or as chunks.
#[derive(Debug, Clone)]
struct Item {
    kind: u8,
    deltas: Vec<&'static str>,
    metadata: Option<u8>,
    /// Whether continuations name the item again.
    names_itself: bool,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let delta = prop::sample::select(vec!["a", "", "bc", "\n", "é"]);
    let item = (0..3_u8, vec(delta, 1..4), prop::option::of(any::<u8>()), any::<bool>());
    vec(
        item.prop_map(|(kind, deltas, metadata, names_itself)| Item { kind, deltas, metadata, names_itself }),
        0..5,
    )
}

/// One event of an item, at one of its deltas; a chunk has its family's name as its type's beginning.
fn spelled(
    item: &Item,
    (id, delta): (&str, usize),
    owner: Option<&str>,
    what: &str,
    members: Value,
) -> Value {
    let (family, name) =
        [("TEXT_MESSAGE", "messageId"), ("TOOL_CALL", "toolCallId"), ("REASONING_MESSAGE", "messageId")]
            [usize::from(item.kind)];
    let what = if family == "TOOL_CALL" && what == "CONTENT" { "ARGS" } else { what };
    let mut event = members;
    event["type"] = format!("{family}_{what}").into();
    event[name] = id.into();
    if let Some(owner) = owner {
        event["subagentRunId"] = owner.into();
    }
    if let Some(metadata) = item.metadata.filter(|_| what == "CONTENT" || what == "ARGS" || what == "CHUNK") {
        // Every delta has a member that no other has, and one that the last of them decides.
        event["metadata"] = json!({format!("m{delta}"): metadata, "last": delta});
    }
    event
}

/// What opens an item says beside its id.
fn opening(item: &Item) -> Value {
    match item.kind {
        0 => json!({"role": "user", "name": "n"}),
        1 => json!({"toolCallName": "f"}),
        _ => json!({}),
    }
}

/// One run in both spellings: two lanes whose steps are interleaved as the dice say.
fn both_spellings(lanes: &[Vec<Item>; 2], dice: &[bool]) -> (Vec<Value>, Vec<Value>) {
    let owners = [None, Some("sub")];
    let mut steps: Vec<std::collections::VecDeque<(usize, usize)>> = lanes
        .iter()
        .map(|items| {
            let steps = |(at, item): (usize, &Item)| {
                (0..item.deltas.len()).map(move |delta| (at, delta)).collect::<Vec<_>>()
            };
            items.iter().enumerate().flat_map(steps).collect()
        })
        .collect();
    let (mut triads, mut chunks) = (vec![json!(started())], vec![json!(started())]);
    let mut dice = dice.iter().cycle();
    while steps.iter().any(|lane| !lane.is_empty()) {
        let lane = usize::from(*dice.next().unwrap_or(&true));
        let lane = if steps[lane].is_empty() { 1 - lane } else { lane };
        let (at, delta) = steps[lane].pop_front().unwrap();
        let item = &lanes[lane][at];
        let (id, owner) = (format!("{lane}-{at}"), owners[lane]);
        let text = item.deltas[delta];
        let at = (id.as_str(), delta);
        if delta == 0 {
            let mut open = opening(item);
            if item.kind == 2 {
                open["role"] = "reasoning".into();
            }
            triads.push(spelled(item, at, owner, "START", open));
        }
        triads.push(spelled(item, at, owner, "CONTENT", json!({"delta": text})));
        if delta + 1 == item.deltas.len() {
            triads.push(spelled(item, at, owner, "END", json!({})));
        }
        let mut members = if delta == 0 { opening(item) } else { json!({}) };
        members["delta"] = text.into();
        let mut chunk = spelled(item, at, owner, "CHUNK", members);
        if delta > 0 && !item.names_itself {
            chunk.as_object_mut().unwrap().retain(|name, _| name != "messageId" && name != "toolCallId");
        }
        chunks.push(chunk);
    }
    triads.push(json!(finished()));
    chunks.push(json!(finished()));
    (triads, chunks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_and_triads_of_one_run_fold_alike(
        parent in items(), subagent in items(), dice in vec(any::<bool>(), 1..40),
    ) {
        let (triads, chunks) = both_spellings(&[parent, subagent], &dice);
        let read = |stream: &[Value]| {
            Read::through(Pipeline::new(), stream.iter().map(|event| Frame::Tree(event.clone())))
        };
        let (triads, chunks) = (read(&triads), read(&chunks));
        for read in [&triads, &chunks] {
            prop_assert_eq!(&read.error, &None);
            prop_assert!(read.warnings.is_empty(), "{:?}", read.warnings);
            prop_assert_eq!(read.end, StreamEnd::Complete);
        }
        let ((triads, warned), (chunks, chunks_warned)) = (triads.folded(), chunks.folded());
        prop_assert_eq!(triads.to_messages(), chunks.to_messages());
        prop_assert_eq!(triads.pending_tool_call_ids(), chunks.pending_tool_call_ids());
        prop_assert_eq!((warned, chunks_warned), (0, 0));
    }

    #[test]
    fn every_path_of_a_well_formed_stream_gives_the_same(candidates in vec(common::event(), 0..24)) {
        let stream = well_formed(candidates);
        let texts: Vec<String> = stream.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let text = || texts.iter().map(|text| Frame::from(text.as_str()));
        let look = |raw: Value, out: &mut Vec<Value>| out.push(raw);
        let fast = Read::through(Pipeline::new(), text());
        prop_assert_eq!(&fast.error, &None);
        // Nothing was removed or repaired; the order of events has notices of its own.
        let removed = |warning: &String| {
            ["(PROC-", "(SHAPE-6", "(VER-3"].iter().any(|rule| warning[warning.rfind('(').unwrap()..].starts_with(rule))
        };
        prop_assert!(!fast.warnings.iter().any(removed), "{:?}", fast.warnings);
        let reversed: Vec<String> = stream.iter().map(type_last).collect();
        for other in [
            Read::through(Pipeline::new().with_middleware(look), text()),
            Read::through(Pipeline::new(), stream.iter().map(|event| Frame::Tree(json!(event)))),
            Read::through(Pipeline::new(), stream.iter().map(|event| Frame::from(event.clone()))),
            Read::through(Pipeline::new(), reversed.iter().map(|text| Frame::from(text.as_str()))),
        ] {
            prop_assert_eq!(&other, &fast);
        }
    }

    #[test]
    fn a_stream_of_anything_never_panics_and_keeps_what_was_delivered(
        events in vec(prop_oneof![
            3 => common::event().prop_map(|event| json!(event).to_string().into_bytes()),
            3 => common::mutate::event().prop_map(|event| event.to_string().into_bytes()),
            1 => common::json_value().prop_map(|value| value.to_string().into_bytes()),
            1 => vec(any::<u8>(), 0..32),
        ], 0..12),
        in_a_run in any::<bool>(),
    ) {
        let start = in_a_run.then(|| serde_json::to_vec(&started()).unwrap());
        let frames: Vec<Vec<u8>> = start.into_iter().chain(events).collect();
        let read = |frames: &[Vec<u8>]| {
            Read::through(Pipeline::new(), frames.iter().map(|text| Frame::from(text.as_slice())))
        };
        let whole = read(&frames);
        whole.folded();
        for event in &whole.events {
            prop_assert!(!event.event_type().as_str().ends_with("_CHUNK"));
        }
        if let Some((_, index, _)) = whole.error {
            let accepted = read(&frames[..usize::try_from(index).unwrap()]);
            prop_assert_eq!(accepted.error, None);
            prop_assert_eq!(&whole.events[..accepted.events.len()], &accepted.events[..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn enforcement_lets_nothing_through_that_the_schema_rejects(raw in common::mutate::event()) {
        prop_assert_eq!(let_through(&raw), Ok(()));
    }

    #[test]
    fn enforcement_of_inputs_lets_nothing_through_that_the_schema_rejects(raw in common::mutate::run_input()) {
        for (translate, enforce) in [
            (compat::received_input as fn(&mut Value, &mut Vec<_>) -> _, enforce::received_input as fn(Value, &mut Vec<_>) -> _),
            (compat::outgoing_input, enforce::input),
        ] {
            let mut warnings = Vec::new();
            let mut translated = raw.clone();
            let enforced = translate(&mut translated, &mut warnings).and_then(|()| enforce(translated, &mut warnings));
            if let Ok(input) = enforced {
                let out = json!(input);
                if let Err(violations) = Validator::shared().input(&out) {
                    prop_assert!(false, "{} became {}: {}", raw, out, violations);
                }
            } else {
                prop_assert!(Validator::shared().input(&raw).is_err(), "{} was refused", raw);
            }
        }
    }
}

/// Whether enforcement and the schema agree about an event: what comes out is valid; what was valid is neither refused
/// nor changed nor remarked upon, and what was not does not pass in silence.
fn let_through(raw: &Value) -> Result<(), String> {
    let valid_before = Validator::shared().event(raw).is_ok();
    let mut warnings = Vec::new();
    let mut translated = raw.clone();
    let enforced = compat::event(&mut translated, &mut warnings)
        .and_then(|()| enforce::event(translated, &mut warnings));
    match enforced {
        Ok(Some(event)) => {
            let out = json!(event);
            match Validator::shared().event(&out) {
                Err(violations) => Err(format!("{raw} became {out}: {violations}")),
                Ok(()) if valid_before != warnings.is_empty() => Err(format!("{raw}: {warnings:?}")),
                Ok(()) => Ok(()),
            }
        }
        Ok(None) | Err(_) if valid_before => Err(format!("{raw} was refused")),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The value with each of its places once left out and once filled with each of a few other values.
fn changed_once(value: &Value) -> Vec<Value> {
    let fillings = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0.5),
        json!(1_u64 << 53),
        json!(""),
        json!([]),
        json!({}),
    ];
    let mut changed = Vec::new();
    for place in places(value) {
        for filling in &fillings {
            let mut value = value.clone();
            *value.pointer_mut(&place).unwrap() = filling.clone();
            changed.push(value);
        }
        let (parent, token) = place.rsplit_once('/').unwrap();
        let mut value = value.clone();
        match value.pointer_mut(parent).unwrap() {
            Value::Object(members) => drop(members.remove(&token.replace("~1", "/").replace("~0", "~"))),
            Value::Array(items) => drop(items.remove(token.parse().unwrap())),
            _ => {}
        }
        changed.push(value);
    }
    changed
}

/// Pointers to everything inside of a value.
fn places(value: &Value) -> Vec<String> {
    let inside = |token: String, value: &Value| {
        let inner = places(value).into_iter().map(|place| format!("/{token}{place}"));
        std::iter::once(format!("/{token}")).chain(inner).collect::<Vec<_>>()
    };
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| inside(name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, value)| inside(at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn enforcement_lets_nothing_through_whatever_one_thing_is_wrong_with_an_event() {
    for kind in agui_core::EventType::ALL {
        // The byte decides which member of a union an event has.
        for byte in 0..6 {
            let event = json!(Source::new(vec![byte; 512]).event(*kind));
            for raw in changed_once(&event) {
                assert_eq!(let_through(&raw), Ok(()));
            }
        }
    }
}

/// The event's text with its type behind everything else.
fn type_last(event: &Event) -> String {
    let Value::Object(mut members) = json!(event) else { panic!("an event is an object") };
    let kind = members.remove("type").unwrap();
    let mut text = Value::Object(members).to_string();
    text.truncate(text.len() - 1);
    if text.len() > 1 {
        text.push(',');
    }
    format!("{text}\"type\":{kind}}}")
}

#[test]
fn the_random_streams_are_more_than_their_start() {
    // The filter that makes streams well-formed leaves most of what a run may hold.
    let events = (0..=255_u8).map(|byte| {
        let mut source = Source::new(
            (0..200).map(|at| byte.wrapping_mul(31).wrapping_add(u8::wrapping_mul(at, 7))).collect(),
        );
        let kind = *source.choose(agui_core::EventType::ALL);
        source.event(kind)
    });
    assert!(well_formed(events.collect()).len() > 32);
}
