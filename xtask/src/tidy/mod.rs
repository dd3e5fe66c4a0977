//! `cargo xtask tidy`: the rules of the repository that no compiler checks.
//!
//! Rules about text are functions from one file to its findings, so that each can be tested on a few lines. They look
//! at every file of the workspace, whether or not it is committed yet, leaving out what is built or downloaded.

mod dependencies;
mod source;

use std::{
    fmt::{self, Write as _},
    fs,
    path::Path,
};

use anyhow::Context;
use sha2::{Digest, Sha256};

use self::source::Source;
use crate::{Verdict, counted, workspace_root};

/// The longest a file may be, in lines of code.
const MAX_FILE_LINES: usize = 1000;
/// The most an adapter may have, tests excepted: more belongs into agui-encoder. Each of its [`APART`] may have as much.
const MAX_ADAPTER_LINES: usize = 150;
/// What an adapter may have beside the rest: the WebSocket glue, and what one binding has alone.
const APART: [&str; 2] = ["websocket.rs", "loopback.rs"];
const ADAPTERS: [&str; 3] = ["agui-axum", "agui-actix", "agui-warp"];
/// Folders that hold nothing of ours.
const SKIPPED: [&str; 6] = ["target", "node_modules", "__pycache__", ".venv", ".git", "dist"];
/// Vendored files that have to be recorded.
const VENDORED: [&str; 2] = ["schema/ag-ui-1.0.schema.json", "agui-encoder/proto/agui.proto"];

/// One breach of a rule.
#[derive(Debug, PartialEq)]
struct Finding {
    file: String,
    /// Counted from 1; absent when the finding is about the file as a whole.
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into() }
    }

    fn at(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Prints every breach of a rule.
pub(crate) fn run() -> anyhow::Result<Verdict> {
    let root = workspace_root()?;
    let mut findings = Vec::new();
    let mut files = Vec::new();
    collect(&root, "", &mut files)?;
    for (path, bytes) in &files {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        if has_ending(path, &["rs"]) {
            let source = Source::new(text);
            findings.extend(module_doc(path, text));
            findings.extend(length(path, &source));
            findings.extend(leftovers(path, &source));
        }
        if has_ending(path, &["rs", "toml", "md", "js", "mjs", "ts", "py", "sh", "yml"])
            || path.starts_with(".ci/")
        {
            findings.extend(machine_paths(path, text));
        }
    }
    findings.extend(ADAPTERS.iter().flat_map(|adapter| adapter_budget(adapter, &files)));
    findings.extend(vendored(&VENDORED, &files));
    if !files.iter().any(|(path, _)| path == "CHANGELOG.md") {
        findings.push(Finding::of_file("CHANGELOG.md", "is missing"));
    }
    findings.extend(dependencies::check(&root)?);

    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files looked at, {}", files.len(), counted(findings.len(), "finding"));
    Ok(Verdict::of(findings.len()))
}

/// Every file below a folder, by its path from the root with `/` between the parts.
pub(crate) fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    let mut entries: Vec<_> =
        fs::read_dir(folder).with_context(unreadable)?.collect::<Result<_, _>>().with_context(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().with_context(unreadable)?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            files.push((path, fs::read(entry.path()).with_context(unreadable)?));
        }
    }
    Ok(())
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// Every module says first what it is for. Generated code does not have to.
fn module_doc(path: &str, text: &str) -> Option<Finding> {
    let is_generated = text.lines().next().is_some_and(|line| line.contains("@generated"));
    (!text.starts_with("//!") && !is_generated).then(|| Finding::at(path, 1, "should open with `//!`"))
}

fn length(path: &str, source: &Source) -> Option<Finding> {
    let lines = source.code_lines();
    (lines > MAX_FILE_LINES).then(|| {
        Finding::of_file(path, format!("has {lines} lines of code; {MAX_FILE_LINES} are the most, split it"))
    })
}

/// What should not land: tests that do not run, and code that is not there yet.
fn leftovers(path: &str, source: &Source) -> Vec<Finding> {
    const LEFTOVERS: [(&str, &str); 4] = [
        ("#[ignore", "a test that never runs"),
        ("todo!", "code that is not there"),
        ("unimplemented!", "code that is not there"),
        ("dbg!", "a debugging aid"),
    ];
    let mut findings = Vec::new();
    for (number, line) in source.code().lines().enumerate() {
        for (leftover, what) in LEFTOVERS {
            let is_whole_word = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if line.match_indices(leftover).any(|(at, _)| is_whole_word(at)) {
                findings.push(Finding::at(path, number + 1, format!("`{leftover}` is {what}")));
            }
        }
    }
    findings
}

/// Nothing in the repository depends on where somebody has checked it out.
fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    // Put together here, so that this file does not find itself.
    const PLACES: [&str; 4] =
        [concat!("/wo", "rk/"), concat!("../sha", "red"), concat!("/tm", "p/"), concat!("/ho", "me/")];
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        findings.extend(PLACES.iter().filter(|place| line.contains(**place)).map(|place| {
            Finding::at(path, number + 1, format!("refers to a place of one machine: {place}"))
        }));
    }
    findings
}

fn adapter_budget(adapter: &str, files: &[(String, Vec<u8>)]) -> Vec<Finding> {
    let folder = format!("{adapter}/src/");
    let mut apart = Vec::new();
    let mut rest = 0;
    for (path, bytes) in files {
        let Some(file) = path.strip_prefix(&folder) else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        if !has_ending(file, &["rs"]) || path.ends_with("/tests.rs") {
            continue;
        }
        let lines = Source::new(text).without_tests().code_lines();
        if APART.contains(&file) {
            apart.push((path, lines));
        } else {
            rest += lines;
        }
    }
    apart.push((&folder, rest));
    let over = apart.into_iter().filter(|(_, lines)| *lines > MAX_ADAPTER_LINES);
    over.map(|(place, lines)| {
        let message = format!(
            "has {lines} lines of code; {MAX_ADAPTER_LINES} are the most, the rest belongs into agui-encoder"
        );
        Finding::of_file(place, message)
    })
    .collect()
}

/// Every sum that a `SHA256SUMS` file records is the sum of the file beside it, and no vendored file goes unrecorded.
fn vendored(expected: &[&str], files: &[(String, Vec<u8>)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut recorded = Vec::new();
    for (path, bytes) in files {
        let folder = match path.rsplit_once('/') {
            Some((folder, "SHA256SUMS")) => format!("{folder}/"),
            None if path == "SHA256SUMS" => String::new(),
            _ => continue,
        };
        for (number, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
            let Some((sum, name)) = line.split_once("  ") else {
                findings.push(Finding::at(path, number + 1, "should read `SUM  FILE`"));
                continue;
            };
            let file = format!("{folder}{name}");
            match files.iter().find(|(other, _)| *other == file) {
                None => findings.push(Finding::at(path, number + 1, format!("{file} is missing"))),
                Some((_, content)) if sha256(content) != sum => {
                    findings.push(Finding::of_file(&file, format!("is not the file that {path} records")));
                }
                Some(_) => {}
            }
            recorded.push(file);
        }
    }
    findings.extend(
        expected
            .iter()
            .filter(|file| !recorded.iter().any(|known| known == *file))
            .map(|file| Finding::of_file(file, "is vendored, and no SHA256SUMS records it")),
    );
    findings
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_module_without_a_doc_is_found() {
        assert_eq!(messages(module_doc("a.rs", "use x;\n")), ["a.rs:1: should open with `//!`"]);
        assert_eq!(module_doc("a.rs", "//! For this.\n"), None);
        assert_eq!(module_doc("a.rs", "// @generated by a tool\n"), None);
    }

    #[test]
    fn a_file_is_too_long_by_its_code_alone() {
        let code = "let x = 1;\n".repeat(MAX_FILE_LINES);
        let padded = format!("{code}// a comment\n\n/* and\n another */\n");
        assert_eq!(length("a.rs", &Source::new(&padded)), None);
        assert!(length("a.rs", &Source::new(&format!("{padded}x();\n"))).is_some());
    }

    #[test]
    fn leftovers_are_found_in_code_and_nowhere_else() {
        let text = "//! todo!\n#[ignore]\nfn a() { todo!() }\n#[ignore = \"x\"] /* dbg! */\n\"unimplemented!\"; my_dbg!(x); dbg!(x)\n";
        assert_eq!(
            messages(leftovers("a.rs", &Source::new(text))),
            [
                "a.rs:2: `#[ignore` is a test that never runs",
                "a.rs:3: `todo!` is code that is not there",
                "a.rs:4: `#[ignore` is a test that never runs",
                "a.rs:5: `dbg!` is a debugging aid",
            ]
        );
    }

    #[test]
    fn places_of_one_machine_are_found() {
        let text = format!("fine/tmpx\ncd /{}/x\n", "tmp");
        assert_eq!(messages(machine_paths("a.md", &text)).len(), 1);
    }

    #[test]
    fn an_adapter_is_measured_without_tests_and_its_websocket_by_itself() {
        let code = |lines: usize| "let x = 1;\n".repeat(lines).into_bytes();
        let with_tests =
            format!("let x = 1;\n#[cfg(test)]\nmod tests {{\n{}}}\n", "let x = 1;\n".repeat(500));
        let mut files = vec![
            ("agui-axum/src/lib.rs".to_owned(), code(MAX_ADAPTER_LINES - 1)),
            ("agui-axum/src/websocket.rs".to_owned(), code(MAX_ADAPTER_LINES)),
            ("agui-axum/src/body.rs".to_owned(), with_tests.into_bytes()),
            ("agui-axum/tests/all.rs".to_owned(), code(300)),
        ];
        assert_eq!(adapter_budget("agui-axum", &files), []);
        files.push(("agui-axum/src/more.rs".to_owned(), code(1)));
        files[1].1 = code(MAX_ADAPTER_LINES + 1);
        let findings = messages(adapter_budget("agui-axum", &files));
        for (finding, place) in findings.iter().zip(["agui-axum/src/websocket.rs", "agui-axum/src/"]) {
            assert!(finding.starts_with(&format!("{place}: has 151 lines of code")), "{finding}");
        }
        assert_eq!(findings.len(), 2);
    }

    #[test]
    fn vendored_files_are_held_to_their_sums() {
        let file = "schema/ag-ui-1.0.schema.json";
        let sums = |sum: &str| {
            ("schema/SHA256SUMS".to_owned(), format!("{sum}  ag-ui-1.0.schema.json\n").into_bytes())
        };
        let content = (file.to_owned(), b"abc".to_vec());
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(vendored(&[file], &[sums(right), content.clone()]), []);
        assert_eq!(
            messages(vendored(&[file], &[sums(&right.replace('b', "c")), content.clone()])),
            [format!("{file}: is not the file that schema/SHA256SUMS records")]
        );
        assert_eq!(
            messages(vendored(&[file], &[sums(right)])),
            [format!("schema/SHA256SUMS:1: {file} is missing")]
        );
        assert_eq!(
            messages(vendored(&[file], &[content])),
            [format!("{file}: is vendored, and no SHA256SUMS records it")]
        );
    }
}
