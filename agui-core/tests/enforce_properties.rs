//! Enforcement on arbitrary events and inputs, valid and changed: the typed reading and the one through a tree agree,
//! what comes out is valid, and nothing panics.

mod common;

use agui_core::enforce;
use agui_core::json::{self, Utf8};
use agui_core::{Event, EventType, RunAgentInput, compat};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn every_event_type_is_read_both_ways_without_a_warning() {
    for kind in EventType::ALL {
        for event in [common::minimal_event(*kind), common::full_event(*kind)] {
            assert_eq!(event.event_type(), *kind);
            let mut warnings = Vec::new();
            let raw = serde_json::to_value(&event).unwrap();
            assert_eq!(enforce::event(raw.clone(), &mut warnings).unwrap(), Some(event.clone()));
            assert_eq!(Event::from_json(raw.to_string().as_bytes()).unwrap(), event);
            assert!(warnings.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_typed_reading_and_enforcement_agree_on_valid_events(event in common::event()) {
        let mut warnings = Vec::new();
        let text = serde_json::to_vec(&event).unwrap();
        prop_assert_eq!(Event::from_json(&text).unwrap(), event.clone());
        let raw = serde_json::from_slice(&text).unwrap();
        prop_assert_eq!(enforce::event(raw, &mut warnings).unwrap(), Some(event));
        prop_assert!(warnings.is_empty());
    }

    #[test]
    fn the_typed_reading_and_enforcement_agree_on_changed_events(raw in common::mutate::event()) {
        let strict = Event::from_json(raw.to_string().as_bytes());
        let mut warnings = Vec::new();
        match (strict, enforce::event(raw, &mut warnings)) {
            (Ok(strict), enforced) => {
                prop_assert_eq!(enforced, Ok(Some(strict)));
                prop_assert!(warnings.is_empty());
            }
            (Err(_), Ok(Some(event))) => {
                prop_assert!(!warnings.is_empty());
                let text = serde_json::to_vec(&event).unwrap();
                prop_assert_eq!(Event::from_json(&text).unwrap(), event);
            }
            (Err(_), Ok(None)) => prop_assert_eq!(warnings.len(), 1),
            (Err(_), Err(error)) => {
                prop_assert_eq!(error.path().is_empty(), error.pointer().is_empty());
                prop_assert!(error.rule().contains('-'));
            }
        }
    }

    #[test]
    fn valid_inputs_and_capabilities_pass_without_a_warning(
        input in common::run_input(), capabilities in common::capabilities()
    ) {
        let mut warnings = Vec::new();
        let raw = serde_json::to_value(&input).unwrap();
        prop_assert_eq!(enforce::input(raw.clone(), &mut warnings).unwrap(), input);
        let untouched = {
            let mut translated = raw.clone();
            compat::received_input(&mut translated, &mut warnings).unwrap();
            translated == raw
        };
        prop_assert!(untouched);
        let raw = serde_json::to_value(&capabilities).unwrap();
        prop_assert_eq!(enforce::capabilities(raw, &mut warnings).unwrap(), capabilities);
        prop_assert!(warnings.is_empty());
    }

    #[test]
    fn the_two_ways_of_reading_an_input_agree(input in common::run_input()) {
        let raw = serde_json::to_value(&input).unwrap();
        let mut warnings = Vec::new();
        let through_the_tree = enforce::received_input(raw.clone(), &mut warnings).unwrap();
        let typed = RunAgentInput::from_json(raw.to_string().as_bytes()).unwrap();
        prop_assert_eq!(typed, (through_the_tree, warnings));
    }

    #[test]
    fn changed_inputs_never_panic_and_come_out_valid(change in common::mutate::event(), input in common::run_input()) {
        let mut raw = serde_json::to_value(&input).unwrap();
        raw["messages"] = change.get("messages").cloned().unwrap_or(change);
        if let Ok(input) = enforce::received_input(raw, &mut Vec::new()) {
            let text = serde_json::to_vec(&input).unwrap();
            prop_assert_eq!(serde_json::from_slice::<RunAgentInput>(&text).unwrap(), input);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        let _ = enforce::event_from_json(&bytes, &mut Vec::new());
        let _ = enforce::event_from_json_lossy(&bytes, &mut Vec::new());
        let _ = RunAgentInput::from_json(&bytes);
    }

    #[test]
    fn damaged_text_is_judged_as_serde_json_judges_it(
        event in common::event(), cut in any::<prop::sample::Index>(), insert in "[\\\\\"\\]\\[{}:,udD8cfF0-9eE.+ -]{0,6}"
    ) {
        let text = serde_json::to_string(&event).unwrap();
        let mut at = cut.index(text.len());
        while !text.is_char_boundary(at) { at -= 1; }
        let damaged = format!("{}{insert}{}", &text[..at], &text[at..]);
        let mut warnings = Vec::new();
        let ours = json::read(damaged.as_bytes(), Utf8::Strict, &mut warnings);
        match serde_json::from_str::<Value>(&damaged) {
            Ok(theirs) => prop_assert_eq!(ours.unwrap(), theirs),
            // What only we accept has a lone surrogate.
            Err(_) => prop_assert!(ours.is_err() || !warnings.is_empty()),
        }
    }
}
