//! The statements of a file, as PostgreSQL's lexer ends them (`src/backend/parser/scan.l`). The body of a function
//! between BEGIN ATOMIC and END is not looked at: such a file needs a transaction.

/// Returns the statements of a text, each from its first word on.
pub(super) fn statements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut at) = (None, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = &text[at..];
        let byte = bytes[at];
        let (length, is_word) = match byte {
            b';' => {
                found.extend(begin.take().map(|begin| text[begin..at].trim_end()));
                (1, false)
            }
            b'-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), false),
            b'/' if rest.starts_with("/*") => (comment(rest), false),
            b'\'' => (quoted(rest, '\'', is_escaped(&text[..at])), true),
            b'"' => (quoted(rest, '"', false), true),
            b'$' if !text[..at].ends_with(is_name) => (dollar_quoted(rest), true),
            _ => {
                let one = rest.chars().next().unwrap_or(' ');
                (one.len_utf8(), !one.is_whitespace())
            }
        };
        if is_word && begin.is_none() {
            begin = Some(at);
        }
        at += length;
    }
    found.extend(begin.map(|begin| text[begin..].trim_end()));
    found
}

/// Returns the first word of a statement that begins or ends a transaction, if there is one.
pub(super) fn transaction_word<'a>(statements: &[&'a str]) -> Option<&'a str> {
    const WORDS: [&str; 6] = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT"];
    let mut words = statements
        .iter()
        .filter_map(|one| one.split(|c: char| !c.is_ascii_alphabetic()).next());
    words.find(|word| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

fn is_name(one: char) -> bool {
    one.is_alphanumeric() || one == '_' || one == '$'
}

/// Reports whether the quote behind `before` begins a string with backslashes: `E'...'`.
fn is_escaped(before: &str) -> bool {
    let Some(before) = before.strip_suffix(['e', 'E']) else {
        return false;
    };
    !before.ends_with(is_name)
}

/// Returns the length of a comment; comments nest.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < text.len() {
        let rest = &text.as_bytes()[at..];
        let step = match rest {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
    }
    at.min(text.len())
}

/// Returns the length of a string or a name in quotes. Doubled quotes begin the next one.
fn quoted(text: &str, quote: char, has_escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, one)) = chars.next() {
        if one == quote {
            return at + 1;
        }
        if has_escapes && one == '\\' {
            chars.next();
        }
    }
    text.len()
}

/// Returns the length of a string between `$$` or `$name$`, or of the dollar alone.
fn dollar_quoted(text: &str) -> usize {
    let Some(end) = text[1..].find('$').map(|at| at + 2) else {
        return 1;
    };
    let tag = &text[..end];
    let name = &tag[1..end - 1];
    if name.starts_with(|one: char| one.is_ascii_digit()) || !name.chars().all(is_name) {
        return 1;
    }
    text[end..]
        .find(tag)
        .map_or(text.len(), |at| end + at + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_of_strings_and_comments() {
        for (text, expected) in [
            ("", &[][..]),
            (" ;;\n-- a;b\n/* c; /* d; */ e; */;", &[]),
            ("SELECT 1; SELECT 2", &["SELECT 1", "SELECT 2"]),
            (
                "SELECT 'a;''b;' ; SELECT \"x;y\"",
                &["SELECT 'a;''b;'", "SELECT \"x;y\""],
            ),
            (
                r"SELECT E'a\';b'; SELECT 'c\'; SELECT 3",
                &[r"SELECT E'a\';b'", r"SELECT 'c\'", "SELECT 3"],
            ),
            (
                "DO $$ BEGIN; END; $$; DO $x$ a; $$ b; $x$; SELECT a$b$c; SELECT $1; é",
                &[
                    "DO $$ BEGIN; END; $$",
                    "DO $x$ a; $$ b; $x$",
                    "SELECT a$b$c",
                    "SELECT $1",
                    "é",
                ],
            ),
            (
                "-- no transaction\nSELECT 1 -- one\n;",
                &["SELECT 1 -- one"],
            ),
            ("SELECT 'open; end", &["SELECT 'open; end"]),
        ] {
            assert_eq!(statements(text), expected, "{text:?}");
        }
    }
}
