//! The statements of a text, found without a database: what SQLite's shell does to know whether a line completes one.

/// A statement in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The text, with the `;` if there is one.
    pub sql: &'a str,
    /// The byte at which it begins.
    pub at: usize,
    /// True if its `;` is there.
    pub is_complete: bool,
}

/// The statements of a text, in their order. Only the last may be incomplete.
pub fn statements(text: &str) -> impl Iterator<Item = Statement<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = next(text, at)?;
        at = found.at + found.sql.len();
        Some(found)
    })
}

/// Reports whether nothing in the text waits for its `;`.
pub fn is_complete(text: &str) -> bool {
    statements(text).all(|statement| statement.is_complete)
}

/// A token of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Blank,
    Word(&'a str),
    Semicolon,
    /// A string or a quoted name; `false` if its end is missing.
    Quoted(bool),
    Other,
}

fn next(text: &str, from: usize) -> Option<Statement<'_>> {
    let mut at = from;
    let mut start = None;
    let mut creates = Creates::Start;
    // The last two tokens: a trigger ends with `; END ;`.
    let (mut last, mut before) = (Token::Blank, Token::Blank);
    while at < text.len() {
        let (token, length) = token(&text[at..]);
        let here = at;
        at += length;
        match token {
            Token::Blank => continue,
            Token::Semicolon if start.is_none() => continue,
            Token::Semicolon => {
                let is_end = matches!(last, Token::Word(word) if word.eq_ignore_ascii_case("END"))
                    && before == Token::Semicolon;
                if creates != Creates::Trigger || is_end {
                    let at_start = start?;
                    return Some(Statement {
                        sql: &text[at_start..at],
                        at: at_start,
                        is_complete: true,
                    });
                }
            }
            _ => {}
        }
        start.get_or_insert(here);
        creates = creates.after(token);
        (before, last) = (last, token);
    }
    let at = start?;
    Some(Statement {
        // Only what is blank to `token`: a statement of nothing but a no-break space would be empty, and never end.
        sql: text[at..].trim_ascii_end(),
        at,
        is_complete: false,
    })
}

/// The kind of object that a statement creates: the body of a trigger may contain `;`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Creates {
    Start,
    /// After `CREATE`, perhaps with `TEMP`.
    Create,
    Trigger,
    Nothing,
}

impl Creates {
    fn after(self, token: Token<'_>) -> Self {
        let is = |words: &[&str]| {
            let Token::Word(word) = token else {
                return false;
            };
            words.iter().any(|it| it.eq_ignore_ascii_case(word))
        };
        match self {
            Self::Start if is(&["EXPLAIN", "QUERY", "PLAN"]) => Self::Start,
            Self::Start if is(&["CREATE"]) => Self::Create,
            Self::Create if is(&["TEMP", "TEMPORARY"]) => Self::Create,
            Self::Create if is(&["TRIGGER"]) => Self::Trigger,
            Self::Trigger => Self::Trigger,
            _ => Self::Nothing,
        }
    }
}

/// The token that the text begins with, and its bytes.
fn token(text: &str) -> (Token<'_>, usize) {
    let until = |end: &str, from: usize| text[from..].find(end).map(|at| from + at + end.len());
    let bytes = text.as_bytes();
    match bytes[0] {
        byte if byte.is_ascii_whitespace() => {
            // SQLite takes a vertical tab for a space behind another.
            let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
            let end = bytes.iter().position(|byte| !is_space(byte));
            (Token::Blank, end.unwrap_or(text.len()))
        }
        // SQLite takes a byte order mark for a space.
        _ if text.starts_with('\u{feff}') => (Token::Blank, '\u{feff}'.len_utf8()),
        b'-' if bytes.get(1) == Some(&b'-') => (Token::Blank, until("\n", 2).unwrap_or(text.len())),
        b'/' if bytes.get(1) == Some(&b'*') => (Token::Blank, until("*/", 2).unwrap_or(text.len())),
        b';' => (Token::Semicolon, 1),
        quote @ (b'\'' | b'"' | b'`') => {
            // A quote that is doubled begins the next string at once, which ends where this one would have.
            let end = bytes[1..].iter().position(|&byte| byte == quote);
            end.map_or((Token::Quoted(false), text.len()), |at| {
                (Token::Quoted(true), at + 2)
            })
        }
        b'[' => until("]", 1).map_or((Token::Quoted(false), text.len()), |end| {
            (Token::Quoted(true), end)
        }),
        byte if is_part(byte) => {
            let end = bytes.iter().position(|&byte| !is_part(byte));
            let end = end.unwrap_or(text.len());
            (Token::Word(&text[..end]), end)
        }
        _ => (Token::Other, 1),
    }
}

/// Reports whether a byte can stand in a word: those of letters beyond ASCII can.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        statements(text).map(|it| it.sql).collect()
    }

    #[test]
    fn semicolons_end_statements_only_outside_of_texts_and_triggers() {
        assert_eq!(
            split(" ; SELECT ';', \"a;\", `b;`, [c;] -- d;\n; /* e; */ SELECT 'it''s; 1' "),
            [
                "SELECT ';', \"a;\", `b;`, [c;] -- d;\n;",
                "SELECT 'it''s; 1'"
            ]
        );
        let trigger =
            "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; END;";
        assert_eq!(split(&format!("{trigger} SELECT 1")), [trigger, "SELECT 1"]);
        assert_eq!(split("CREATE TABLE trigger_a(x); END;").len(), 2);
        assert_eq!(split("SELECT 'ä', ö; SELECT 2;").len(), 2);
    }

    #[test]
    fn spaces_that_sql_does_not_know_are_statements() {
        for space in ["\u{a0}", "\u{3000}", "\x0b"] {
            let mut found = statements(space).map(|it| it.sql);
            assert_eq!((found.next(), found.next()), (Some(space), None));
        }
    }

    #[test]
    fn spaces_that_sql_knows_alone_do_not_hide_the_end_of_a_trigger() {
        for space in ["\u{feff}", " \x0b"] {
            let text =
                format!("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;{space}END; SELECT 2;");
            assert_eq!(split(&text).len(), 2, "{space:?}");
        }
    }

    #[test]
    fn a_text_is_complete_when_nothing_waits_for_its_end() {
        for complete in ["", " -- a", "SELECT 1;", "SELECT 1; -- b", "/* open"] {
            assert!(is_complete(complete), "{complete:?}");
        }
        for open in [
            "SELECT 1",
            "SELECT ';",
            "SELECT 1; SELECT",
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;",
        ] {
            assert!(!is_complete(open), "{open:?}");
        }
    }
}
