//! The payloads that fuzzing has kept: what decodes, one for each kind of event, verdict of enforcement and size. Both ways of decoding agree on
//! each, and what is valid survives the wire.

use agui_encoder::protobuf::{Decoded, decode};
use serde_json::json;

use crate::support::{decode_both, normal, payload, unhex_text};

/// What `examples/fuzz_protobuf.rs` kept, a line of hexadecimal each.
const CORPUS: &str = include_str!("corpus.txt");

#[test]
fn every_kept_payload_has_one_verdict_and_survives_the_wire_if_it_is_an_event() {
    let (mut events, mut unfit) = (0, 0);
    for line in CORPUS.lines() {
        let Ok(decoded) = decode_both(&unhex_text(line)) else { panic!("{line}: kept because it decodes") };
        let Decoded::Tree { tree, .. } = decoded else { continue };
        let Ok(Some(event)) = agui_core::enforce::event(tree, &mut Vec::new()) else {
            unfit += 1;
            continue;
        };
        let again = match decode(&payload(&event)) {
            Ok(Decoded::Event(again)) => again,
            Ok(Decoded::Tree { tree, .. }) => {
                agui_core::enforce::event(tree, &mut Vec::new()).unwrap().unwrap()
            }
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(normal(&json!(again)), normal(&json!(event)), "{line}");
        events += 1;
    }
    assert!(events > 300 && unfit > 300, "the corpus is of both kinds: {events} events, {unfit} unfit");
}
