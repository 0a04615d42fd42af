//! Rust source without its comments and literals, for rules about code.

/// The source with every comment, string and character literal replaced by a space; line ends are kept.
///
/// Knows nested block comments, raw strings with any number of `#`, byte and C strings, and tells a lifetime from
/// a character.
pub(super) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    let mut previous = ' ';
    while let Some(next) = rest.chars().next() {
        let length = literal_or_comment(rest, previous);
        if length == 0 {
            code.push(next);
            previous = next;
            rest = &rest[next.len_utf8()..];
        } else {
            code.push(' ');
            code.extend(rest[..length].chars().filter(|found| *found == '\n'));
            previous = ' ';
            rest = &rest[length..];
        }
    }
    code
}

/// How many bytes of comment or literal `text` begins with. `previous` is the character before it: an `r` inside
/// a name starts no raw string.
fn literal_or_comment(text: &str, previous: char) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    if text.starts_with('\'') {
        return character(text);
    }
    if previous.is_alphanumeric() || previous == '_' {
        return 0;
    }
    for prefix in ["br", "cr", "r"] {
        if let Some(after) = text.strip_prefix(prefix)
            && let Some(length) = raw_string(after)
        {
            return prefix.len() + length;
        }
    }
    0
}

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

/// A literal in `mark`s with backslash escapes, to its end.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, found) in text.char_indices().skip(1) {
        match found {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if found == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime and is left alone.
fn character(text: &str) -> usize {
    let mut inside = text.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => quoted(text, '\''),
        (Some(one), Some('\'')) => one.len_utf8() + 2,
        _ => 0,
    }
}

/// `#"..."#` with as many `#` at both ends, or none.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let body = text[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&close).map_or(body.len(), |at| at + close.len());
    Some(hashes + 1 + length)
}

/// Whether `word` stands in `text` by itself, not as part of a longer name.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |found: char| found.is_alphanumeric() || found == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_taken_out() {
        let hidden = [
            "// hidden",
            "/* a /* nested */ hidden */",
            "\"a \\\" hidden\"",
            "r#\"a \" hidden\"#",
            "br\"hidden\"",
            "b\"hidden\"",
            "['\"', 'x'] // hidden '\"'",
            "'\\'' /* hidden */",
        ];
        for text in hidden {
            assert!(
                !code_only(text).contains("hidden"),
                "{text}: {}",
                code_only(text)
            );
        }
    }

    #[test]
    fn code_between_them_stays() {
        let shown = [
            "'a: loop { shown }",
            "&'static str; shown",
            "\"x\" shown",
            "/* x */ shown",
            "var\"x\".shown",
            "r#shown",
        ];
        for text in shown {
            assert!(
                code_only(text).contains("shown"),
                "{text}: {}",
                code_only(text)
            );
        }
        assert_eq!(code_only("a\n/* b\nc */\nd").lines().count(), 4);
    }

    #[test]
    fn a_word_is_not_a_part_of_a_name() {
        assert!(has_word("pub unsafe fn", "unsafe"));
        assert!(has_word("#[unsafe(no_mangle)]", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
    }
}
