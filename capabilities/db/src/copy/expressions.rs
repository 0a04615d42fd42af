//! Expressions of SQLite in the words of PostgreSQL: of CHECK constraints, defaults, generated columns and indexes.
//!
//! Only what means the same in both is translated. The server still decides whether the result fits the types.

use super::names::quoted;
use super::source::Table;
use super::tokens::{Token, tokens};
use std::fmt::Write;

/// Keywords that mean the same.
const KEYWORDS: [&str; 18] = [
    "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "ESCAPE", "CASE", "WHEN", "THEN", "ELSE",
    "END", "TRUE", "FALSE", "ISNULL", "NOTNULL", "LIKE",
];

/// Functions, and those of PostgreSQL that do the same.
const FUNCTIONS: [(&str, &str); 14] = [
    ("abs", "abs"),
    ("coalesce", "coalesce"),
    ("ifnull", "coalesce"),
    ("instr", "strpos"),
    ("length", "length"),
    ("lower", "lower"),
    ("ltrim", "ltrim"),
    ("nullif", "nullif"),
    ("replace", "replace"),
    ("round", "round"),
    ("rtrim", "rtrim"),
    ("substr", "substr"),
    ("trim", "trim"),
    ("upper", "upper"),
];

const SIGNS: [&str; 17] = [
    "(", ")", ",", "+", "-", "*", "/", "%", "||", "=", "<>", "!=", "<", "<=", ">", ">=", ".",
];

/// Translates an expression over the columns of a table.
///
/// # Errors
/// The word that PostgreSQL does not have, or means otherwise.
pub(super) fn translated(expression: &[Token], table: &Table) -> Result<String, String> {
    let mut out = String::new();
    let mut at = 0;
    while let Some(token) = expression.get(at) {
        let rest = &expression[at + 1..];
        at += 1;
        if !out.is_empty() {
            out.push(' ');
        }
        match token {
            Token::Text(text) => out.push_str(&literal(text)?),
            Token::Number(number) => out.push_str(&decimal(number)?),
            Token::Blob(digits) => {
                let _ = write!(out, "'\\x{digits}'::bytea");
            }
            Token::Sign("==") => out.push('='),
            Token::Sign(sign) if SIGNS.contains(sign) => out.push_str(sign),
            Token::Word(word)
                if rest.first().is_some_and(|next| next.is_sign("(")) && !is_keyword(word) =>
            {
                let known = FUNCTIONS
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(word));
                let (_, name) = known.ok_or_else(|| format!("the function {word}"))?;
                out.push_str(name);
            }
            Token::Word(word) if word.eq_ignore_ascii_case("LIKE") => out.push_str("ILIKE"),
            Token::Word(word) if word.eq_ignore_ascii_case("IS") => at += is(rest, &mut out),
            Token::Word(word) if is_keyword(word) => out.push_str(&word.to_ascii_uppercase()),
            Token::Word(name) | Token::Name(name) => {
                let column = table.column(name).ok_or_else(|| name.clone())?;
                out.push_str(&quoted(&column.target));
            }
            Token::Sign(sign) => return Err((*sign).to_owned()),
            Token::Other(other) => return Err(other.to_string()),
        }
    }
    Ok(out)
}

/// Writes an IS, which compares any two values in SQLite. Returns the number of tokens behind it that belong to it.
fn is(rest: &[Token], out: &mut String) -> usize {
    let is_not = rest.first().is_some_and(|next| next.is_word("NOT"));
    let operand = rest.get(usize::from(is_not));
    let is_same = operand.is_some_and(|next| {
        ["NULL", "TRUE", "FALSE"]
            .iter()
            .any(|word| next.is_word(word))
    });
    out.push_str(match (is_same, is_not) {
        (true, true) => "IS NOT",
        (true, false) => "IS",
        (false, true) => "IS DISTINCT FROM",
        (false, false) => "IS NOT DISTINCT FROM",
    });
    usize::from(is_not)
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(word))
}

fn literal(text: &str) -> Result<String, String> {
    match text.contains('\0') {
        true => Err("a text with the character NUL".to_owned()),
        false => Ok(format!("'{}'", text.replace('\'', "''"))),
    }
}

/// A number that may be written in hexadecimal digits, which PostgreSQL knows from version 16 on.
fn decimal(number: &str) -> Result<String, String> {
    let digits = number.to_ascii_lowercase().replace('_', "");
    let Some(hex) = digits.strip_prefix("0x") else {
        return Ok(digits);
    };
    let value = u64::from_str_radix(hex, 16).map_err(|_| number.to_owned())?;
    Ok(value.cast_signed().to_string())
}

/// The times that a default can give, as PostgreSQL writes the same text.
const NOW_TEXTS: [(&str, &str); 11] = [
    ("CURRENT_TIMESTAMP", "YYYY-MM-DD HH24:MI:SS"),
    ("datetime('now')", "YYYY-MM-DD HH24:MI:SS"),
    ("datetime()", "YYYY-MM-DD HH24:MI:SS"),
    ("CURRENT_DATE", "YYYY-MM-DD"),
    ("date('now')", "YYYY-MM-DD"),
    ("date()", "YYYY-MM-DD"),
    ("CURRENT_TIME", "HH24:MI:SS"),
    ("time('now')", "HH24:MI:SS"),
    (
        "strftime('%Y-%m-%dT%H:%M:%SZ','now')",
        "YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"",
    ),
    (
        "strftime('%Y-%m-%dT%H:%M:%fZ','now')",
        "YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"",
    ),
    (
        "strftime('%Y-%m-%d %H:%M:%f','now')",
        "YYYY-MM-DD HH24:MI:SS.MS",
    ),
];
const NOW_SECONDS: [&str; 3] = ["unixepoch()", "unixepoch('now')", "strftime('%s','now')"];

/// The kind of column that a default is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultFor {
    /// A boolean, for which SQLite has 0 and 1.
    Boolean,
    /// A date or a timestamp.
    Time,
    /// All others.
    Other,
}

/// Translates the default of a column.
///
/// # Errors
/// As for [`translated`].
pub(super) fn default(sql: &str, kind: DefaultFor, table: &Table) -> Result<String, String> {
    let tokens = tokens(sql);
    let mut tight = String::new();
    for token in &tokens {
        match token {
            Token::Word(word) => tight.push_str(word),
            Token::Text(text) => {
                let _ = write!(tight, "'{text}'");
            }
            Token::Sign(sign) => tight.push_str(sign),
            // No default that is looked for has another.
            _ => tight.push('?'),
        }
    }
    let same = |known: &str| tight.eq_ignore_ascii_case(known);
    if NOW_SECONDS.iter().any(|known| same(known)) {
        return Ok("floor(extract(epoch FROM now()))::bigint".to_owned());
    }
    if let Some((_, format)) = NOW_TEXTS.iter().find(|(known, _)| same(known)) {
        return Ok(match kind {
            DefaultFor::Time => "date_trunc('second', now() AT TIME ZONE 'UTC')".to_owned(),
            _ => format!("to_char(now() AT TIME ZONE 'UTC', '{format}')"),
        });
    }
    match (kind, &*tight, &*tokens) {
        (DefaultFor::Boolean, _, [Token::Number(one)]) if one == "1" => Ok("TRUE".to_owned()),
        (DefaultFor::Boolean, _, [Token::Number(zero)]) if zero == "0" => Ok("FALSE".to_owned()),
        _ => translated(&tokens, table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::source::Column;

    fn table() -> Table {
        let column = |name: &str, target: &str| Column {
            name: name.to_owned(),
            target: target.to_owned(),
            ..Column::default()
        };
        Table {
            columns: vec![
                column("a", "a"),
                column("Mixed", "mixed"),
                column("two words", "two words"),
            ],
            ..Table::default()
        }
    }

    #[test]
    fn expressions_mean_the_same() {
        for (sqlite, postgres) in [
            ("a == 0x1F", "\"a\" = 31"),
            ("MIXED is not 'it''s'", "\"mixed\" IS DISTINCT FROM 'it''s'"),
            (
                "a IS NOT NULL and a is a",
                "\"a\" IS NOT NULL AND \"a\" IS NOT DISTINCT FROM \"a\"",
            ),
            (
                "ifnull([two words], 1) IN (1, 2)",
                "coalesce ( \"two words\" , 1 ) IN ( 1 , 2 )",
            ),
            ("a LIKE 'x%'", "\"a\" ILIKE 'x%'"),
        ] {
            assert_eq!(
                translated(&tokens(sqlite), &table()).as_deref(),
                Ok(postgres),
                "{sqlite}"
            );
        }
        for (sqlite, word) in [
            ("typeof(a) = 'text'", "the function typeof"),
            ("a GLOB '*x'", "GLOB"),
            ("a & 1", "&"),
            ("\"no column\" = a", "no column"),
        ] {
            assert_eq!(
                translated(&tokens(sqlite), &table()).err().as_deref(),
                Some(word),
                "{sqlite}"
            );
        }
    }

    #[test]
    fn defaults_give_the_same_values() {
        let at_utc = |format: &str| format!("to_char(now() AT TIME ZONE 'UTC', '{format}')");
        for (sqlite, kind, postgres) in [
            ("0", DefaultFor::Boolean, "FALSE".to_owned()),
            ("0", DefaultFor::Other, "0".to_owned()),
            ("-1.5", DefaultFor::Other, "- 1.5".to_owned()),
            ("'it''s'", DefaultFor::Other, "'it''s'".to_owned()),
            (
                "current_timestamp",
                DefaultFor::Other,
                at_utc("YYYY-MM-DD HH24:MI:SS"),
            ),
            (
                "strftime( '%s', 'now' )",
                DefaultFor::Other,
                "floor(extract(epoch FROM now()))::bigint".to_owned(),
            ),
            (
                "CURRENT_TIMESTAMP",
                DefaultFor::Time,
                "date_trunc('second', now() AT TIME ZONE 'UTC')".to_owned(),
            ),
        ] {
            assert_eq!(default(sqlite, kind, &table()), Ok(postgres), "{sqlite}");
        }
        assert!(default("randomblob(16)", DefaultFor::Other, &table()).is_err());
    }
}
