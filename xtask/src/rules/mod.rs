//! `cargo xtask rules`: which tests cite which rule of the protocol.
//!
//! A test cites a rule when its comments, attributes or body have the rule's number. Helpers do not count: only what
//! stands in a test function, or in the comment above it, says what that test is for. A rule that binds a consumer and
//! that no test cites is a complaint, unless it is exempt with a reason; so is an exemption that is not needed, and a
//! number that no rule has. What binds producers alone is printed for information.
//!
//! A citation shows where to look, not that the test is right.

mod cited;
mod table;

use std::{collections::BTreeMap, path::Path};

use self::{
    cited::tests_of,
    table::{Binds, EXEMPT, FAMILIES},
};
use crate::{Verdict, counted, tidy, workspace_root};

/// Tests by the rule they cite.
type Citations = BTreeMap<String, Vec<String>>;

/// Prints every rule with its tests, then what is wrong.
pub(crate) fn run() -> anyhow::Result<Verdict> {
    let citations = read(&workspace_root()?)?;
    let (mut consumer, mut uncited) = (0, Vec::new());
    for (rule, binds) in rules() {
        let tests = citations.get(&rule).map_or(&[][..], Vec::as_slice);
        let exempt = EXEMPT.iter().find(|(exempt, _)| *exempt == rule);
        println!("{rule} ({})", binds.as_str());
        for test in tests {
            println!("    {test}");
        }
        if let Some((_, reason)) = exempt {
            println!("    exempt: {reason}");
        }
        consumer += usize::from(binds.consumer());
        if tests.is_empty() && !binds.consumer() {
            uncited.push(rule);
        }
    }
    println!("\nwithout a test, for information: {}", uncited.join(" "));
    let complaints = complaints(&citations, EXEMPT);
    for complaint in &complaints {
        println!("{complaint}");
    }
    println!(
        "rules: {} in all, {consumer} bind a consumer, {} of them exempt, {}",
        rules().count(),
        EXEMPT.len(),
        counted(complaints.len(), "complaint")
    );
    Ok(Verdict::of(complaints.len()))
}

fn rules() -> impl Iterator<Item = (String, Binds)> {
    FAMILIES.iter().flat_map(|(family, rules)| {
        rules.iter().zip(1..).map(move |(binds, number)| (format!("{family}-{number}"), *binds))
    })
}

/// The citations of the workspace. The tests of this program are about the tool, not about the protocol.
fn read(root: &Path) -> anyhow::Result<Citations> {
    let mut files = Vec::new();
    tidy::collect(root, "", &mut files)?;
    let mut citations = Citations::new();
    for (path, bytes) in &files {
        let is_rust = Path::new(path).extension().is_some_and(|ending| ending == "rs");
        if !is_rust || path.starts_with("xtask/src/") {
            continue;
        }
        for test in tests_of(&String::from_utf8_lossy(bytes)) {
            for rule in test.rules {
                citations.entry(rule).or_default().push(format!("{path}: {}", test.name));
            }
        }
    }
    Ok(citations)
}

fn complaints(citations: &Citations, exempt: &[(&str, &str)]) -> Vec<String> {
    let known: BTreeMap<String, Binds> = rules().collect();
    let is_exempt = |rule: &str| exempt.iter().any(|(exempt, _)| *exempt == rule);
    let mut complaints: Vec<String> = rules()
        .filter(|(rule, binds)| binds.consumer() && !is_exempt(rule) && !citations.contains_key(rule))
        .map(|(rule, _)| format!("{rule} binds a consumer, and no test cites it"))
        .collect();
    for (rule, _) in exempt {
        match known.get(*rule) {
            None => complaints.push(format!("{rule} is exempt, and no such rule exists")),
            Some(binds) if !binds.consumer() => {
                complaints.push(format!("{rule} is exempt, and binds no consumer anyway"));
            }
            Some(_) => {}
        }
        if let Some(tests) = citations.get(*rule) {
            complaints.push(format!("{rule} is exempt, and has a test: {}", tests.join(", ")));
        }
    }
    for (rule, tests) in citations {
        let (family, _) = rule.split_once('-').unwrap_or_default();
        if FAMILIES.iter().any(|(known, _)| *known == family) && !known.contains_key(rule) {
            complaints.push(format!("no rule has the number {rule}, which is cited by {}", tests.join(", ")));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Citations of every rule but some.
    fn all_but(left_out: &[&str]) -> Citations {
        rules()
            .filter(|(rule, _)| !left_out.contains(&rule.as_str()))
            .map(|(rule, _)| (rule, vec!["a.rs: test".to_owned()]))
            .collect()
    }

    #[test]
    fn a_consumers_rule_without_a_test_is_a_complaint_unless_it_is_exempt() {
        let citations = all_but(&["LIFE-11", "SEC-1", "INT-8"]);
        assert_eq!(complaints(&citations, &[]), ["LIFE-11 binds a consumer, and no test cites it"]);
        assert_eq!(complaints(&citations, &[("LIFE-11", "because")]), [""; 0]);
    }

    #[test]
    fn an_exemption_that_is_not_needed_is_a_complaint() {
        let citations = all_but(&["LIFE-9"]);
        let found = complaints(&citations, &[("LIFE-1", ""), ("LIFE-9", ""), ("LIFE-99", "")]);
        assert_eq!(
            found,
            [
                "LIFE-1 is exempt, and has a test: a.rs: test",
                "LIFE-9 is exempt, and binds no consumer anyway",
                "LIFE-99 is exempt, and no such rule exists",
            ]
        );
    }

    #[test]
    fn a_number_that_no_rule_has_is_a_complaint() {
        let mut citations = all_but(&[]);
        for cited in ["LIFE-99", "UTF-8"] {
            citations.insert(cited.to_owned(), vec!["a.rs: test".to_owned()]);
        }
        assert_eq!(
            complaints(&citations, &[]),
            ["no rule has the number LIFE-99, which is cited by a.rs: test"]
        );
    }

    #[test]
    fn rules_are_numbered_from_one_and_stand_once() {
        let all: Vec<String> = rules().map(|(rule, _)| rule).collect();
        assert_eq!((all[0].as_str(), all.len()), ("SHAPE-1", 122));
        let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
