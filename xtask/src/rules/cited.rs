//! The tests of a source file and the rules they cite.
//!
//! Source is read line by line, as rustfmt lays it out: a test is an attribute, a name, and everything up to the brace
//! that stands where the attribute does. Comments and attributes right above belong to it.

use std::collections::BTreeSet;

/// One test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) name: String,
    /// What looks like the number of a rule.
    pub(super) rules: BTreeSet<String>,
}

pub(super) fn tests_of(source: &str) -> Vec<Test> {
    let lines: Vec<&str> = source.lines().collect();
    let mut tests = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let attribute = line.trim_start();
        if attribute != "#[test]" && !attribute.starts_with("#[tokio::test") {
            continue;
        }
        let closing = format!("{}}}", &line[..line.len() - attribute.len()]);
        let above = lines[..at].iter().rev().take_while(|line| {
            let line = line.trim_start();
            line.starts_with("//") || line.starts_with("#[")
        });
        let start = at - above.count();
        let end = lines[at..].iter().position(|line| *line == closing).map_or(lines.len(), |end| at + end);
        let name = lines[at..end].iter().find_map(|line| name_of(line)).unwrap_or_default();
        let rules = lines[start..end].iter().flat_map(|line| numbers(line)).collect();
        tests.push(Test { name: name.to_owned(), rules });
    }
    tests
}

/// The name of the function that a line begins.
fn name_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split('(').next()
}

/// Capitals, a hyphen, digits, as words of their own.
fn numbers(line: &str) -> impl Iterator<Item = String> {
    line.split(|character: char| !(character.is_ascii_alphanumeric() || character == '-' || character == '_'))
        .filter(|word| {
            word.split_once('-').is_some_and(|(family, number)| {
                let capitals = !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_uppercase());
                let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                capitals && digits
            })
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, rules: &[&str]) -> Test {
        Test { name: name.to_owned(), rules: rules.iter().map(|&rule| rule.to_owned()).collect() }
    }

    #[test]
    fn a_test_cites_what_stands_in_it_and_right_above_it() {
        let source = r#"//! LIFE-1 in general.

fn helper() -> &'static str {
    "LIFE-2"
}

// LIFE-3, about what follows.

/// LIFE-4 (`LIFE-5`).
#[expect(clippy::unwrap_used, reason = "LIFE-6")]
#[test]
fn first() {
    if true {
        assert_eq!("STREAM-11", helper());
    }
}

mod inner {
    #[tokio::test(start_paused = true)]
    async fn second() {
        // XLIFE-7a, LIFE-8b, life-9, LIFE-, -9 are none; UTF-8 looks like one.
    }
    const RULE: &str = "LIFE-10";
}
"#;
        assert_eq!(
            tests_of(source),
            [test("first", &["LIFE-4", "LIFE-5", "LIFE-6", "STREAM-11"]), test("second", &["UTF-8"]),]
        );
    }
}
