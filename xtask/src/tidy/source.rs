//! Rust source with everything that is not code blanked out.
//!
//! A few dozen lines of lexing instead of a parser: rules only ask what is code, what is a comment and what is text.
//! Every character keeps its line, so that findings can name it.

/// A source file whose comments are spaces and whose literals have lost their content.
#[derive(Debug, PartialEq)]
pub(super) struct Source(String);

impl Source {
    pub(super) fn new(text: &str) -> Self {
        Self(masked(text))
    }

    /// The code: comments are spaces, the content of strings and characters is `_`.
    pub(super) fn code(&self) -> &str {
        &self.0
    }

    /// Lines that hold something other than comments.
    pub(super) fn code_lines(&self) -> usize {
        self.0.lines().filter(|line| !line.trim().is_empty()).count()
    }

    /// The source without its `#[cfg(test)]` modules.
    pub(super) fn without_tests(&self) -> Self {
        const GATE: &str = "#[cfg(test)]";
        let mut kept = String::new();
        let mut rest = self.0.as_str();
        while let Some((before, after)) = rest.split_once(GATE) {
            kept.push_str(before);
            let is_module = after.trim_start().starts_with("mod ");
            if let Some(end) = is_module.then(|| end_of_item(after)).flatten() {
                rest = &after[end..];
            } else {
                kept.push_str(GATE);
                rest = after;
            }
        }
        kept.push_str(rest);
        Self(kept)
    }
}

/// Where the item that a text begins with is over: after its semicolon or its closing brace.
fn end_of_item(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            ';' if depth == 0 => return Some(at + 1),
            '{' => depth += 1,
            '}' if depth <= 1 => return Some(at + 1),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn masked(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let follows_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (length, filler) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), ' ')
        } else if rest.starts_with("/*") {
            (block_comment(rest), ' ')
        } else if let Some(length) = raw_string(rest).filter(|_| !follows_word) {
            (length, '_')
        } else if first == '"' {
            (quoted(rest, '"'), '_')
        } else if first == '\'' && is_character(rest) {
            (quoted(rest, '\''), '_')
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        let (skipped, after) = rest.split_at(length);
        code.extend(skipped.chars().map(|c| if c.is_whitespace() { c } else { filler }));
        rest = after;
    }
    code
}

/// The length of the block comment that a text begins with; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of the raw string that a text begins with, whatever its prefix.
fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = text[prefix.len()..].chars().take_while(|c| *c == '#').count();
    let start = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()))
}

/// The length of the literal between quotes that a text begins with.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Whether a quote opens a character rather than a lifetime.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    match characters.next() {
        Some('\\') => true,
        Some(_) => characters.next() == Some('\''),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new(text).0
    }

    #[test]
    fn comments_become_spaces() {
        assert_eq!(
            code("a // b\nc /* d /* e */ f */ g"),
            format!("a {}\nc {} g", " ".repeat(4), " ".repeat(17))
        );
    }

    #[test]
    fn literals_lose_their_content() {
        assert_eq!(code(r#"f("a // b", 'c', '"', "\"")"#), "f(__ __ __, ___, ___, ____)");
        assert_eq!(code(r##"r#"todo!"# x"##), "__________ x");
        assert_eq!(code(r"'\'' + b"), "____ + b");
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code("fn f<'a>(x: &'a str) // '"), "fn f<'a>(x: &'a str)     ");
    }

    #[test]
    fn a_string_over_several_lines_counts_as_code() {
        assert_eq!(Source::new("let x = \"a\n  // b\n\";\n// c\n").code_lines(), 3);
    }

    #[test]
    fn test_modules_are_cut_out_and_nothing_else() {
        let source = Source::new(
            "a();\n#[cfg(test)]\nmod tests {\n fn b() { \"}\"; }\n}\nc();\n#[cfg(test)]\nuse d;\n",
        );
        let kept = source.without_tests();
        assert!(!kept.code().contains("fn b"), "{kept:?}");
        assert!(kept.code().contains("c();") && kept.code().contains("use d;"), "{kept:?}");
        assert_eq!(Source::new("#[cfg(test)]\nmod tests;\na();\n").without_tests().code_lines(), 1);
    }
}
