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
            ("", ""),
        ] {
            assert_eq!(without_values(sql), shown);
        }
        assert!(without_values(&"é,".repeat(10_000)).len() < STATEMENT_BYTES_MAX + 8);
        assert_eq!(operation("  select 1"), "SELECT");
        assert_eq!(operation("é"), "");
    }
}
