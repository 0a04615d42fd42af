//! The parameters of a statement that are queries of a full-text search (`MATCH ?`). One search is not interrupted, and
//! a long query over many rows takes seconds, so that what a client types needs a limit of its own.

/// The longest query of a full-text search that comes as a parameter: some hundred words.
pub(crate) const SEARCH_BYTES_MAX: usize = 256;

/// The indexes, from 1, of the parameters that stand in what follows a MATCH. `index_of` finds that of a named one.
pub(crate) fn parameters(sql: &str, index_of: impl Fn(&str) -> Option<usize>) -> Box<[usize]> {
    let mut found = Vec::new();
    // The highest index so far: `?` is the next one.
    let mut highest = 0;
    // How deep in parentheses the operand of MATCH began, while it lasts.
    let mut operand = None;
    let mut depth = 0_usize;
    for token in Tokens(sql) {
        match token.as_bytes()[0] {
            b'(' => depth += 1,
            b')' => {
                if operand == Some(depth) {
                    operand = None;
                }
                depth = depth.saturating_sub(1);
            }
            b'?' | b':' | b'@' | b'$' => {
                let index = match token.strip_prefix('?') {
                    Some("") => Some(highest + 1),
                    Some(number) => number.parse().ok(),
                    None => index_of(token),
                };
                let Some(index) = index else { continue };
                highest = highest.max(index);
                if operand.is_some() {
                    found.push(index);
                }
            }
            _ if is_one_of(token, &["match"]) => operand = Some(depth),
            _ if operand == Some(depth) && is_one_of(token, &ENDS) => operand = None,
            _ => {}
        }
    }
    found.into()
}

/// The tokens that end the operand of MATCH, if it is not within parentheses.
const ENDS: [&str; 13] = [
    ",",
    ";",
    "and",
    "or",
    "order",
    "group",
    "limit",
    "union",
    "except",
    "intersect",
    "then",
    "returning",
    "window",
];

fn is_one_of(token: &str, words: &[&str]) -> bool {
    words.iter().any(|word| token.eq_ignore_ascii_case(word))
}

/// Words, parameters, strings and signs; without space and comments.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let text = self.0.trim_start();
            let length = match text.as_bytes() {
                [] => return None,
                [b'-', b'-', ..] => {
                    self.0 = text.find('\n').map_or("", |end| &text[end..]);
                    continue;
                }
                [b'/', b'*', ..] => {
                    self.0 = text[2..].split_once("*/").map_or("", |(_, after)| after);
                    continue;
                }
                // Two quotes within a string make two strings of it here, which is as good.
                [quote @ (b'\'' | b'"' | b'`'), ..] => quoted(text, char::from(*quote)),
                [b'[', ..] => quoted(text, ']'),
                [first, ..] => {
                    let is_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$');
                    let head = text.chars().next().map_or(1, char::len_utf8);
                    if is_name(char::from(*first)) || !first.is_ascii() || b"?:@#".contains(first) {
                        head + text[head..]
                            .find(|char: char| !is_name(char) && char.is_ascii())
                            .unwrap_or(text.len() - head)
                    } else {
                        head
                    }
                }
            };
            let (token, rest) = text.split_at(length);
            self.0 = rest;
            return Some(token);
        }
    }
}

fn quoted(text: &str, end: char) -> usize {
    text[1..].find(end).map_or(text.len(), |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::testing::{all, scratch};
    use sampan_host::Value;

    #[test]
    fn the_parameters_of_a_search_are_found() {
        let cases: [(&str, &[usize]); 12] = [
            ("SELECT ?, ? FROM f WHERE f MATCH ? AND a = ?", &[3]),
            ("SELECT * FROM f WHERE a = ? AND f MATCH ? LIMIT ?", &[2]),
            (
                "SELECT * FROM f WHERE f match '\"' || ? || '\"' ORDER BY ?",
                &[1],
            ),
            (
                "SELECT * FROM (SELECT * FROM f WHERE (f MATCH ?) AND b = ?)",
                &[1],
            ),
            (
                "SELECT * FROM f WHERE f MATCH (SELECT a FROM t WHERE b = ? AND c = ?) AND d = ?",
                &[1, 2],
            ),
            ("SELECT * FROM f WHERE f MATCH ?3 AND a = ?", &[3]),
            ("SELECT 'MATCH ?', ? -- MATCH ?\n, ? /* MATCH */, ?", &[]),
            ("SELECT 'it''s', \"MATCH\", [MATCH], `MATCH`, ?", &[]),
            ("SELECT a_match, matches, ? FROM t", &[]),
            ("SELECT * FROM f WHERE f MATCH/**/?", &[1]),
            ("SELECT ä FROM f WHERE é MATCH ? OR é = ?", &[1]),
            (
                "SELECT json -> '$.a' FROM f WHERE f MATCH ? UNION SELECT ?",
                &[1],
            ),
        ];
        for (sql, indexes) in cases {
            assert_eq!(*parameters(sql, |_| None), *indexes, "{sql}");
        }
    }

    #[test]
    fn a_long_query_is_refused_and_other_parameters_are_not() {
        let (_folder, _, db) = scratch();
        db.done("CREATE VIRTUAL TABLE f USING fts5(x)");
        let run = |sql: &str, params: Value| db.query(sql, &params, &all());
        let long = Value::from("a ".repeat(200).as_str());
        let list = |values: &[Value]| Value::List(values.to_vec());
        run(
            "INSERT INTO f VALUES (?)",
            list(std::slice::from_ref(&long)),
        )
        .unwrap();
        let sql = "SELECT ? FROM f WHERE f MATCH ?";
        assert_eq!(
            run(sql, list(&[long.clone(), "a".into()])).unwrap().len(),
            1
        );
        let fault = run(sql, list(&["a".into(), long.clone()])).unwrap_err();
        let message = fault.error.message();
        assert!(
            message.starts_with(
                "parameter 2 cannot be bound: 400 bytes; a full-text search takes at most 256"
            ),
            "{message}"
        );
        let named = |q: &Value, x: &Value| {
            Value::Map(vec![
                ("x".to_owned(), x.clone()),
                ("q".to_owned(), q.clone()),
            ])
        };
        let sql = "SELECT :x FROM f WHERE f MATCH :q";
        assert_eq!(run(sql, named(&"a".into(), &long)).unwrap().len(), 1);
        let fault = run(sql, named(&long, &"a".into())).unwrap_err();
        assert!(
            fault
                .error
                .message()
                .starts_with("parameter 2 (:q) cannot be bound: 400 bytes")
        );
    }
}
