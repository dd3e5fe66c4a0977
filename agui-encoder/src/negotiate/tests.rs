//! Tables of `Accept` values against a build that has a binary format, and one property.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Binary;

const BINARY: &[(Binary, MediaType)] =
    &[(Binary, MediaType { kind: "application", subtype: "vnd.ag-ui.event+proto" })];

fn admits(lines: &[&str], wildcards: Wildcards) -> bool {
    let values: Vec<_> = lines.iter().map(|line| HeaderValue::from_str(line).unwrap()).collect();
    choose(&values, BINARY, wildcards).is_some()
}

macro_rules! table {
    ($($name:ident: [$($line:expr),*] => $expected:expr;)+) => { $(
        #[test]
        fn $name() {
            assert_eq!(admits(&[$($line),*], Wildcards::AdmitAll), $expected);
        }
    )+ };
}

table! {
    no_accept_is_sse: [] => false;
    an_empty_accept_is_sse: [""] => false;
    only_commas_is_sse: [", ,"] => false;
    sse_is_sse: ["text/event-stream"] => false;
    other_types_are_sse: ["text/html, application/json;q=0.9"] => false;
    the_exact_type_is_binary: ["application/vnd.ag-ui.event+proto"] => true;
    letter_case_does_not_matter: ["Application/VND.ag-UI.Event+PROTO"] => true;
    weights_of_formats_are_not_compared: ["text/event-stream, application/vnd.ag-ui.event+proto;q=0.1"] => true;
    the_smallest_weight_counts: ["application/vnd.ag-ui.event+proto;q=0.001"] => true;
    everything_admits_binary: ["*/*"] => true;
    everything_with_a_weight_admits_binary: ["text/html, */*;q=0.1"] => true;
    everything_with_weight_zero_does_not: ["*/*;q=0"] => false;
    the_kind_admits_binary: ["application/*"] => true;
    another_kind_does_not: ["text/*"] => false;
    weight_zero_does_not_admit: ["application/vnd.ag-ui.event+proto;q=0, text/event-stream"] => false;
    weight_zero_in_full_does_not_admit: ["application/vnd.ag-ui.event+proto;q=0.000"] => false;
    the_exact_type_beats_everything: ["*/*, application/vnd.ag-ui.event+proto;q=0"] => false;
    the_exact_type_beats_its_kind: ["application/*;q=0, application/vnd.ag-ui.event+proto"] => true;
    the_kind_beats_everything: ["*/*, application/*;q=0"] => false;
    the_order_does_not_matter: ["application/vnd.ag-ui.event+proto;q=0, */*"] => false;
    of_equal_ranges_the_higher_weight_counts:
        ["application/vnd.ag-ui.event+proto;q=0, application/vnd.ag-ui.event+proto;q=0.5"] => true;
    several_lines_are_one_list: ["*/*", "application/vnd.ag-ui.event+proto;q=0"] => false;
    white_space_is_allowed: ["  application/vnd.ag-ui.event+proto ; q=0.3 ,text/html"] => true;
    the_weight_is_named_in_any_case: ["application/vnd.ag-ui.event+proto;Q=0"] => false;
    a_weight_of_one_with_decimals_counts: ["application/vnd.ag-ui.event+proto;q=1.000"] => true;
    a_weight_that_is_no_number_does_not_admit: ["application/vnd.ag-ui.event+proto;q=abc"] => false;
    an_empty_weight_does_not_admit: ["application/vnd.ag-ui.event+proto;q="] => false;
    a_weight_without_equals_does_not_admit: ["application/vnd.ag-ui.event+proto;q"] => false;
    a_negative_weight_does_not_admit: ["application/vnd.ag-ui.event+proto;q=-1"] => false;
    a_weight_over_one_does_not_admit: ["application/vnd.ag-ui.event+proto;q=1.001"] => false;
    a_weight_of_two_does_not_admit: ["application/vnd.ag-ui.event+proto;q=2"] => false;
    four_decimals_do_not_admit: ["application/vnd.ag-ui.event+proto;q=0.1234"] => false;
    a_weight_with_a_point_alone_counts: ["application/vnd.ag-ui.event+proto;q=1."] => true;
    a_parameter_before_the_weight_narrows: ["application/vnd.ag-ui.event+proto;v=1"] => false;
    a_parameter_and_a_weight_narrow: ["application/vnd.ag-ui.event+proto;v=1;q=1"] => false;
    what_follows_the_weight_does_not_narrow: ["application/vnd.ag-ui.event+proto;q=1;ext=2"] => true;
    a_narrowed_range_decides_nothing: ["application/vnd.ag-ui.event+proto;v=1;q=0, */*"] => true;
    a_trailing_semicolon_says_nothing: ["application/vnd.ag-ui.event+proto;"] => true;
    a_quoted_comma_does_not_split: ["text/html;t=\"a,application/vnd.ag-ui.event+proto\""] => false;
    a_quoted_quote_does_not_end_the_string: ["text/html;t=\"\\\",*/*\", text/plain"] => false;
    a_malformed_range_is_skipped: ["application, /x, a/, ;;, application/vnd.ag-ui.event+proto"] => true;
    a_wildcard_kind_with_a_subtype_is_malformed: ["*/vnd.ag-ui.event+proto"] => false;
    a_range_with_blanks_inside_is_malformed: ["application / vnd.ag-ui.event+proto"] => false;
    a_partial_wildcard_is_no_wildcard: ["application/vnd.*"] => false;
}

#[test]
fn wildcards_can_be_told_to_admit_sse_alone() {
    let sse = |line| !admits(&[line], Wildcards::AdmitSse);
    assert!(sse("*/*"));
    assert!(sse("application/*"));
    assert!(sse("text/event-stream, */*"));
    assert!(!sse("*/*, application/vnd.ag-ui.event+proto;q=0.2"));
}

#[test]
fn a_build_without_binary_formats_always_answers_sse() {
    let accept = [HeaderValue::from_static("application/vnd.ag-ui.event+proto")];
    assert_eq!(choose(&accept, &[] as &[(Binary, MediaType)], Wildcards::AdmitAll), None);
}

#[test]
fn every_weight_is_read_in_thousandths() {
    for value in 0..=1000_u16 {
        let text = if value == 1000 { "1.000".to_owned() } else { format!("0.{value:03}") };
        assert_eq!(thousandths(text.as_bytes()), Some(value), "{text}");
    }
}

#[test]
fn bytes_outside_ascii_are_skipped_with_their_range() {
    let accept = [HeaderValue::from_bytes(b"text/\xff, application/vnd.ag-ui.event+proto").unwrap()];
    assert!(choose(&accept, BINARY, Wildcards::AdmitAll).is_some());
}

#[test]
fn negotiation_allocates_nothing() {
    let accept = [HeaderValue::from_static("text/html, application/*;q=0.5, */*;q=0.1")];
    let used = allocation_counter::measure(|| {
        choose(&accept, BINARY, Wildcards::AdmitAll);
    });
    assert_eq!(used.count_total, 0);
}

proptest! {
    #[test]
    fn arbitrary_bytes_give_a_format(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..4)) {
        let accept: Vec<_> = lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()).collect();
        let _ = choose(&accept, BINARY, Wildcards::AdmitAll);
        let _ = negotiate(&accept);
    }

    #[test]
    fn lists_of_plausible_pieces_give_a_format(line in r#"[a*/;,q=0.1 "\\+-]{0,60}"#) {
        let value = HeaderValue::from_str(&line).unwrap();
        let _ = choose([&value], BINARY, Wildcards::AdmitAll);
    }
}
