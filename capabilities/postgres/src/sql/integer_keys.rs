//! Columns that give ids on SQLite and do not on PostgreSQL.

use super::tokens::{Token, Tokens};
use std::collections::HashSet;
use std::ops::Range;

/// A column `INTEGER PRIMARY KEY` of a `CREATE TABLE`: SQLite gives its rows ids, and PostgreSQL does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerKey {
    /// The place of the text in the list of texts.
    pub text: usize,
    /// The place of the column in the text, in bytes.
    pub at: usize,
    /// The table as it is written, without its schema.
    pub table: String,
    /// The column as it is written.
    pub column: String,
}

/// A token that is neither white space nor a comment.
struct Part<'a> {
    token: Token,
    text: &'a str,
    range: Range<usize>,
}

impl Part<'_> {
    fn is(&self, word: &str) -> bool {
        self.token == Token::Word && self.text.eq_ignore_ascii_case(word)
    }

    fn is_name(&self) -> bool {
        matches!(self.token, Token::Word | Token::Quoted)
    }
}

/// Returns the columns `INTEGER PRIMARY KEY` in texts of SQL. One that refers to another table has the ids of that, and
/// one that has a default, or gets one by an `ALTER TABLE` in any of the texts, is as it should be: these are left out.
pub fn integer_keys(texts: &[&str]) -> Vec<IntegerKey> {
    let mut found = Vec::new();
    let mut altered = HashSet::new();
    for (number, text) in texts.iter().enumerate() {
        let parts: Vec<Part<'_>> = Tokens::new(text)
            .filter(|(token, _)| *token != Token::Gap)
            .map(|(token, range)| Part {
                token,
                text: &text[range.clone()],
                range,
            })
            .collect();
        for statement in parts.split(|part| part.token == Token::Semicolon) {
            altered.extend(altered_table(statement));
            let keys = table_keys(statement).into_iter();
            found.extend(keys.map(|key| IntegerKey {
                text: number,
                ..key
            }));
        }
    }
    found.retain(|key| !altered.contains(&folded(&key.table)));
    found
}

/// Returns a name as PostgreSQL compares it.
fn folded(name: &str) -> String {
    match name.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').to_owned(),
        None => name.to_ascii_lowercase(),
    }
}

/// Passes these words, if they are next.
fn skip<'p, 'a>(parts: &'p [Part<'a>], words: &[&str]) -> &'p [Part<'a>] {
    let is_next =
        words.len() <= parts.len() && words.iter().zip(parts).all(|(word, part)| part.is(word));
    if is_next {
        &parts[words.len()..]
    } else {
        parts
    }
}

/// Returns the last part of the name that is next, and what is behind it.
fn name<'p, 'a>(mut parts: &'p [Part<'a>]) -> Option<(&'a str, &'p [Part<'a>])> {
    loop {
        let (first, rest) = parts.split_first()?;
        if !first.is_name() {
            return None;
        }
        match rest.first() {
            Some(dot) if dot.token == Token::Dot => parts = &rest[1..],
            _ => return Some((first.text, rest)),
        }
    }
}

/// Returns the table to whose columns an `ALTER TABLE` gives values.
fn altered_table(statement: &[Part<'_>]) -> Option<String> {
    let begin = skip(statement, &["ALTER", "TABLE"]);
    if begin.len() == statement.len() {
        return None;
    }
    let (table, rest) = name(skip(skip(begin, &["IF", "EXISTS"]), &["ONLY"]))?;
    let gives = |pair: &[Part<'_>]| {
        pair[0].is("ADD") && pair[1].is("GENERATED") || pair[0].is("SET") && pair[1].is("DEFAULT")
    };
    rest.windows(2).any(gives).then(|| folded(table))
}

/// Returns the columns of a `CREATE TABLE`.
fn table_keys(statement: &[Part<'_>]) -> Vec<IntegerKey> {
    let mut rest = skip(statement, &["CREATE"]);
    if rest.len() == statement.len() {
        return Vec::new();
    }
    for word in ["GLOBAL", "LOCAL", "TEMP", "TEMPORARY", "UNLOGGED"] {
        rest = skip(rest, &[word]);
    }
    let table = skip(rest, &["TABLE"]);
    if table.len() == rest.len() {
        return Vec::new();
    }
    let Some((table, [open, body @ ..])) = name(skip(table, &["IF", "NOT", "EXISTS"])) else {
        return Vec::new();
    };
    if open.token != Token::Open {
        return Vec::new();
    }
    let entries = entries(body);
    let referring: Vec<String> = entries
        .iter()
        .filter_map(|entry| {
            entry
                .iter()
                .position(|part| part.is("FOREIGN"))
                .map(|at| &entry[at..])
        })
        .filter_map(|foreign| foreign.get(3))
        .map(|column| folded(column.text))
        .collect();
    let is_key = |entry: &&[Part<'_>]| {
        let [column, kind, rest @ ..] = entry else {
            return false;
        };
        let has = |word: &str| rest.iter().any(|part| part.is(word));
        column.is_name()
            && kind.is("INTEGER")
            && rest
                .windows(2)
                .any(|pair| pair[0].is("PRIMARY") && pair[1].is("KEY"))
            && !["GENERATED", "DEFAULT", "REFERENCES"].into_iter().any(has)
            && !referring.contains(&folded(column.text))
    };
    let keys = entries.into_iter().filter(is_key);
    keys.map(|entry| IntegerKey {
        text: 0,
        at: entry[0].range.start,
        table: table.to_owned(),
        column: entry[0].text.to_owned(),
    })
    .collect()
}

/// Returns the entries between the parentheses of a table, which commas end.
fn entries<'p, 'a>(body: &'p [Part<'a>]) -> Vec<&'p [Part<'a>]> {
    let mut entries = Vec::new();
    let (mut begin, mut depth) = (0, 0);
    for (at, part) in body.iter().enumerate() {
        match part.token {
            Token::Open => depth += 1,
            Token::Close if depth > 0 => depth -= 1,
            Token::Close => {
                entries.push(&body[begin..at]);
                break;
            }
            _ if depth == 0 && part.text == "," => {
                entries.push(&body[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_primary_keys_are_found_where_they_are_meant_to_give_ids() {
        for (sql, expected) in [
            ("CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT)", "a.id@16"),
            (
                "-- one\ncreate unlogged table if not exists s.\"B\" (n text, id integer not null primary key);",
                "\"B\".id@58",
            ),
            (
                "CREATE TABLE a (n INTEGER CHECK (n IN (1, 2)), id INTEGER PRIMARY KEY)",
                "a.id@47",
            ),
            // These give ids, or have those of others.
            (
                "CREATE TABLE a (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
                "",
            ),
            (
                "CREATE TABLE a (id INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)",
                "",
            ),
            (
                "CREATE TABLE a (id INTEGER PRIMARY KEY DEFAULT nextval('s'))",
                "",
            ),
            ("CREATE TABLE a (id serial PRIMARY KEY)", ""),
            ("CREATE TABLE a (id INTEGER PRIMARY KEY REFERENCES b)", ""),
            (
                "CREATE TABLE a (id INTEGER PRIMARY KEY, FOREIGN KEY (id) REFERENCES b)",
                "",
            ),
            (
                "CREATE TABLE a (id INTEGER PRIMARY KEY); ALTER TABLE ONLY A ALTER id ADD GENERATED ALWAYS AS IDENTITY",
                "",
            ),
            // As on SQLite.
            ("CREATE TABLE a (id INT PRIMARY KEY, n TEXT)", ""),
            (
                "CREATE TABLE a (a INTEGER, b INTEGER, PRIMARY KEY (a, b))",
                "",
            ),
            // Not in what is run.
            ("-- CREATE TABLE a (id INTEGER PRIMARY KEY)", ""),
            (
                "INSERT INTO t VALUES ('CREATE TABLE a (id INTEGER PRIMARY KEY)')",
                "",
            ),
            (
                "DO $$ BEGIN CREATE TABLE a (id INTEGER PRIMARY KEY); END $$",
                "",
            ),
            ("CREATE TABLE a (id INTEGER PRIMARY KEY", ""),
            ("CREATE TABLE a AS SELECT 1; CREATE TABLE", ""),
        ] {
            let found = integer_keys(&[sql]).into_iter();
            let found: Vec<String> = found
                .map(|key| format!("{}.{}@{}", key.table, key.column, key.at))
                .collect();
            assert_eq!(found.join(" "), expected, "{sql}");
        }
    }

    #[test]
    fn another_text_may_make_the_ids() {
        let texts = [
            "CREATE TABLE a (id INTEGER PRIMARY KEY)",
            "CREATE TABLE b (id INTEGER PRIMARY KEY)",
            "ALTER TABLE a ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY",
        ];
        let found = integer_keys(&texts);
        assert_eq!((found.len(), found[0].text), (1, 1), "{found:?}");
    }
}
