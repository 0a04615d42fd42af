//! The text of a statement without the values that are written in it.

/// The longest text of a statement in a span, in bytes.
const STATEMENT_BYTES_MAX: usize = 4_096;
/// The longest word that is taken as an operation, in bytes.
const OPERATION_BYTES_MAX: usize = 20;

/// Returns the first word of a statement in capitals, such as `SELECT`.
pub fn operation(sql: &str) -> String {
    let sql = sql.trim_start();
    let end = sql
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(sql.len());
    sql[..end.min(OPERATION_BYTES_MAX)].to_ascii_uppercase()
}

/// Returns the text of a statement with `?` in the place of texts and numbers that are written in it, cut where it is
/// long.
pub fn without_values(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len().min(STATEMENT_BYTES_MAX));
    let mut rest = sql;
    // True behind what a number cannot follow: a name, a parameter such as `$1` or `?1`.
    let mut is_in_word = false;
    while let Some(c) = rest.chars().next() {
        if out.len() >= STATEMENT_BYTES_MAX {
            out.push('…');
            break;
        }
        let taken = match c {
            '\'' => {
                out.push('?');
                quoted_bytes(rest)
            }
            // A string of PostgreSQL in which a backslash takes the next character.
            'e' | 'E' if !is_in_word && rest[1..].starts_with('\'') => {
                out.push('?');
                1 + escaped_bytes(&rest[1..])
            }
            '$' if !is_in_word && dollar_tag(rest).is_some() => {
                out.push('?');
                dollar_bytes(rest)
            }
            // Comments may have values too.
            '-' if rest.starts_with("--") => {
                let end = rest.find('\n');
                end.unwrap_or(rest.len())
            }
            '/' if rest.starts_with("/*") => comment_bytes(rest),
            // A quoted name.
            '"' | '`' => {
                let bytes = name_bytes(rest, c);
                out.push_str(&rest[..bytes]);
                bytes
            }
            '0'..='9' if !is_in_word => {
                out.push('?');
                let is_number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
                rest.find(|c| !is_number(c)).unwrap_or(rest.len())
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        is_in_word = c.is_alphanumeric() || matches!(c, '_' | '$' | '?' | ':' | '@' | '"' | '`');
        rest = &rest[taken..];
    }
    out
}

/// Returns the length of a text with its quotes, in which a quote is written twice.
fn quoted_bytes(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\'', Some(b'\'')) => at += 2,
            (b'\'', _) => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the length of a text in which a backslash takes the next byte.
fn escaped_bytes(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\\', _) | (b'\'', Some(b'\'')) => at += 2,
            (b'\'', _) => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the beginning `$tag$` of a text of PostgreSQL; `None` where it is a parameter or something else.
fn dollar_tag(rest: &str) -> Option<&str> {
    let name = rest[1..].find('$')? + 1;
    let is_name =
        |(at, c): (usize, char)| c == '_' || c.is_alphabetic() || at > 0 && c.is_numeric();
    rest[1..name]
        .char_indices()
        .all(is_name)
        .then(|| &rest[..=name])
}

/// Returns the length of a text between two `$tag$`.
fn dollar_bytes(rest: &str) -> usize {
    let tag = dollar_tag(rest).unwrap_or_default();
    let end = rest[tag.len()..].find(tag);
    end.map_or(rest.len(), |end| tag.len() + end + tag.len())
}

/// Returns the length of a comment, up to the end of those within it.
fn comment_bytes(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

fn name_bytes(rest: &str, quote: char) -> usize {
    rest[1..].find(quote).map_or(rest.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out_and_names_stay() {
        for (sql, shown) in [
            (
                "SELECT * FROM t1 WHERE a = ?",
                "SELECT * FROM t1 WHERE a = ?",
            ),
            (
                "SELECT x2 FROM t WHERE a = $1",
                "SELECT x2 FROM t WHERE a = $1",
            ),
            (
                "WHERE name = 'O''Brien' AND n > 1.5e3",
                "WHERE name = ? AND n > ?",
            ),
            (
                "WHERE \"my 1 col\" = 'é' LIMIT 10",
                "WHERE \"my 1 col\" = ? LIMIT ?",
            ),
            ("VALUES (x'00ff', 0x1F, -7)", "VALUES (x?, ?, -?)"),
            ("a = 'not closed", "a = ?"),
            ("a -- the user's\n, 'secret'", "a \n, ?"),
            ("/* don't /* nest */ */ a = 'secret'", " a = ?"),
            ("a /* open 'secret'", "a "),
            ("a = E'it\\'s secret' AND b = e'\\\\'", "a = ? AND b = ?"),
            ("name = 'secret'", "name = ?"),
            (
                "a = $$secret$$::text, $t$it's secret$t$, $1, $2",
                "a = ?::text, ?, $1, $2",
            ),
            ("a = $$open secret", "a = ?"),
            ("", ""),
        ] {
            assert_eq!(without_values(sql), shown);
        }
        assert!(without_values(&"é,".repeat(10_000)).len() < STATEMENT_BYTES_MAX + 8);
        assert_eq!(operation("  select 1"), "SELECT");
        assert_eq!(operation("é"), "");
    }
}
