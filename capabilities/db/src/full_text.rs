//! Queries of a full-text search from what people type: of FTS5, and of PostgreSQL.

use crate::sql_policy::search::SEARCH_BYTES_MAX;
use sampan_host::names::snake_case;
use sampan_host::{Args, Error, Value, refusals};

/// The number of words of a text that count. FTS5 takes longer with each.
const WORDS_MAX: usize = 32;
/// The number of letters of a word that count.
const LETTERS_MAX: usize = 64;

/// `db.fts_query(text, options)`, in the words of a database.
pub(crate) fn fts_query(mut args: Args, query: fn(&str, bool) -> String) -> Result<Value, Error> {
    let text = args.text(0);
    let is_prefix = match args.take(1) {
        Value::Map(options) => prefix(&options)?,
        _ => false,
    };
    Ok(Value::Text(query(&text, is_prefix)))
}

fn prefix(options: &[(String, Value)]) -> Result<bool, Error> {
    let mut is_prefix = false;
    for (name, value) in options {
        match (snake_case(name).as_str(), value) {
            ("prefix", Value::Bool(value)) => is_prefix = *value,
            ("prefix", _) => return Err(Error::script("prefix must be true or false")),
            (name, _) => return Err(refusals::unknown_option(name, &["prefix"])),
        }
    }
    Ok(is_prefix)
}

/// Returns the words that count.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).take(WORDS_MAX)
}

/// Each word in quotes, in which only quotes and backslashes mean something, for `to_tsquery`
/// (<https://www.postgresql.org/docs/current/datatype-textsearch.html>).
pub(crate) fn postgres_query(text: &str, is_prefix: bool) -> String {
    let mut query = String::with_capacity(text.len().min(4096) + 8);
    for word in words(text) {
        if !query.is_empty() {
            query.push_str(" & ");
        }
        query.push('\'');
        for letter in word.chars().take(LETTERS_MAX) {
            query.push(letter);
            if matches!(letter, '\'' | '\\') {
                query.push(letter);
            }
        }
        query.push('\'');
        if is_prefix {
            query.push_str(":*");
        }
    }
    query
}

/// Each word in quotes, in which only quotes mean something (<https://sqlite.org/fts5.html#fts5_strings>). Words and
/// letters count that fit into a query which a statement takes.
pub(crate) fn sqlite_query(text: &str, is_prefix: bool) -> String {
    let mut query = String::with_capacity(SEARCH_BYTES_MAX);
    for word in words(text) {
        // With a space, two quotes, a star, and the longest letter.
        if query.len() + 4 + 4 > SEARCH_BYTES_MAX {
            break;
        }
        if !query.is_empty() {
            query.push(' ');
        }
        query.push('"');
        for letter in word.chars().take(LETTERS_MAX) {
            if query.len() + letter.len_utf8().max(2) + 2 > SEARCH_BYTES_MAX {
                break;
            }
            query.push(letter);
            if letter == '"' {
                query.push('"');
            }
        }
        query.push('"');
        // The beginning of nothing would be no query.
        if is_prefix && word.chars().any(char::is_alphanumeric) {
            query.push('*');
        }
    }
    if query.is_empty() {
        // A query that finds nothing.
        query.push_str("\"\"");
    }
    query
}

#[cfg(test)]
mod tests {
    use super::{SEARCH_BYTES_MAX, postgres_query, sqlite_query};
    use rusqlite::Connection;

    fn index() -> Connection {
        let sqlite = crate::sqlite::memory::connect_in_memory().expect("opened");
        let sql = "CREATE VIRTUAL TABLE t USING fts5(a);
            INSERT INTO t VALUES ('tea and biscuits'), ('she said \"tea\"'), ('C++ AND NEAR(x)'), ('größe');";
        sqlite.execute_batch(sql).expect("made");
        sqlite
    }

    fn found(sqlite: &Connection, text: &str, is_prefix: bool) -> Vec<i64> {
        let query = sqlite_query(text, is_prefix);
        assert!(query.len() <= SEARCH_BYTES_MAX, "{text:?} gives {query}");
        let sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid";
        let mut statement = sqlite.prepare(sql).expect("prepared");
        let rows = statement.query_map([&query], |row| row.get(0));
        let rows = rows.and_then(Iterator::collect::<rusqlite::Result<Vec<i64>>>);
        rows.unwrap_or_else(|error| panic!("{text:?} gives {query}: {error}"))
    }

    #[test]
    fn words_are_found_whatever_else_they_have() {
        let sqlite = index();
        for (text, expected) in [
            ("tea", &[1, 2][..]),
            ("tea biscuits", &[1]),
            ("\"tea\"", &[1, 2]),
            ("  tea\u{0}\tand\n", &[1]),
            ("c++", &[3]),
            ("NEAR(x)", &[3]),
            ("AND", &[1, 3]),
            ("a:b -c ^d", &[]),
            ("tea %", &[1, 2]),
            ("GRÖßE", &[4]),
            ("bisc", &[]),
            ("", &[]),
            ("*", &[]),
            ("\"", &[]),
            ("%\u{0}\"", &[]),
        ] {
            assert_eq!(found(&sqlite, text, false), expected, "{text:?}");
        }
        for (text, expected) in [("bisc", &[1][..]), ("te an", &[1]), ("%", &[]), ("\"", &[])] {
            assert_eq!(found(&sqlite, text, true), expected, "{text:?}");
        }
    }

    #[test]
    fn words_for_postgresql_are_in_quotes() {
        assert_eq!(
            postgres_query(" tea  it's\u{0}a\\b ", true),
            r"'tea':* & 'it''s':* & 'a\\b':*"
        );
        assert_eq!(postgres_query("a & !b", false), "'a' & '&' & '!b'");
        assert_eq!(postgres_query("", true), "");
    }

    #[test]
    fn no_text_is_an_error() {
        let sqlite = index();
        let signs = [
            '"',
            '*',
            '(',
            ')',
            'a',
            ' ',
            '\u{0}',
            '^',
            ':',
            '-',
            '+',
            '{',
            '}',
            'é',
            '\u{1F600}',
        ];
        let mut state = 1_u32;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..state % 12 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push(signs[(state >> 16) as usize % signs.len()]);
            }
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            found(&sqlite, &text, state & 1 == 0);
        }
        found(&sqlite, &"long".repeat(100_000), true);
        found(&sqlite, &"many ".repeat(100_000), true);
        for sign in ['"', 'é', '\u{1F600}'] {
            for length in 1..80 {
                let word: String = std::iter::repeat_n(sign, length).collect();
                found(&sqlite, &format!("{word} ").repeat(40), true);
            }
        }
    }
}
