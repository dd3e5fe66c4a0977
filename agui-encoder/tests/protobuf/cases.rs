//! The verdicts on bytes that no well-behaved encoder writes.

use agui_encoder::protobuf::Decoded;

use crate::support::{CASES, decode_both, entries, normal, tree_of, unhex};

#[test]
fn every_case_gets_its_verdict() {
    for case in entries(CASES) {
        let name = case["name"].as_str().unwrap();
        let result = decode_both(&unhex(&case));
        let verdict = match &result {
            Ok(Decoded::Dropped { .. }) => "drop",
            Ok(_) => "event",
            Err(_) => "fatal",
        };
        if case["also"].as_array().is_some_and(|also| also.iter().any(|other| other == verdict)) {
            continue;
        }
        assert_eq!(verdict, case["result"], "{name}: {result:?}");
        let Ok(decoded) = result else { continue };
        assert_eq!(!decoded.warnings().is_empty(), verdict == "drop" || case["warning"] == true, "{name}");
        if let Some(tree) = tree_of(decoded) {
            assert_eq!(normal(&tree), normal(&case["decoded"]), "{name}");
        }
    }
}
