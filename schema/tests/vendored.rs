//! The vendored schema is the file that its provenance says it is.

#![expect(clippy::unwrap_used, reason = "a test may panic in its helpers too")]

use sha2::{Digest, Sha256};

fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn the_recorded_sums_are_those_of_the_vendored_file() {
    let sum = sha256(agui_schema::SCHEMA_JSON.as_bytes());
    assert_eq!(include_str!("../SHA256SUMS"), format!("{sum}  ag-ui-1.0.schema.json\n"));
    assert!(
        include_str!("../README.md").contains(&format!("| sha256 of the file here | `{sum}` |")),
        "{sum}"
    );
}
