//! Statements for PostgreSQL: what is written for scripts becomes what the server gets.
//!
//! An input is a statement as it is. Its bytes are also choices of pieces with a known meaning, which stand one behind
//! the other: the server's text is put together from them, and the parameters are counted.

use sampan_postgres::{integer_keys, server_sql, statements};

/// Pieces of statements.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"?", b"??", b"?|", b"?&", b"?||", b"??|", b"?1", b"?0", b"?65536", b"$1", b"$a", b"$$", b"$a$", b"$a$ ? $a$", b":a", b"::", b"::text", b"@a", b"@?", b"@>",
    b"'", b"''", b"'?'", b"E'", b"E'\\'", b"U&'", b"U&\"", b"B'1'", b"\"", b"\"?\"", b"--", b"-- ?\n", b"/*", b"*/", b"/* /* ? */ */", b"[", b"]", b"a[1:b]",
    b";", b"; ", b".", b"..", b"1.5e-3", b"1_000", b"(", b")", b"SELECT ", b"INSERT INTO t (a) VALUES (?)", b" RETURNING a", b"WITH a AS (", b"\xc3\xa9",
    b"\0", b"\x0b", b"\n", b"CREATE TABLE t (id INTEGER PRIMARY KEY)", b"ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY", b",", b" FOREIGN KEY (id)",
];

/// Pieces as they are written, and as the server gets them; `None` for a parameter, or for the one of that name.
const PIECES: &[(&str, Piece)] = &[
    ("?", Piece::Positional),
    (":first", Piece::Named),
    ("@second", Piece::Named),
    ("$third", Piece::Named),
    ("??", Piece::Text("?")),
    ("??|", Piece::Text("?|")),
    ("?|", Piece::Text("?|")),
    ("?&", Piece::Text("?&")),
    ("@?", Piece::Text("@?")),
    ("::text", Piece::Text("::text")),
    ("'a ? :b ;'", Piece::Text("'a ? :b ;'")),
    ("'it''s ?'", Piece::Text("'it''s ?'")),
    ("'\\'", Piece::Text("'\\'")),
    ("E'\\' ? '", Piece::Text("E'\\' ? '")),
    ("\"a ? \"\" ;\"", Piece::Text("\"a ? \"\" ;\"")),
    ("$$ ? ' $$", Piece::Text("$$ ? ' $$")),
    ("$é$ ? $$ ; $é$", Piece::Text("$é$ ? $$ ; $é$")),
    ("/* ? /* ' */ ; */", Piece::Text("/* ? /* ' */ ; */")),
    ("-- ? ' ;\n", Piece::Text("-- ? ' ;\n")),
    ("(", Piece::Text("(")),
    (")", Piece::Text(")")),
    ("a.b", Piece::Text("a.b")),
    ("1.5e-3", Piece::Text("1.5e-3")),
    ("é$1é", Piece::Text("é$1é")),
];

/// The meaning of a piece.
#[derive(Clone, Copy)]
enum Piece {
    Text(&'static str),
    Positional,
    Named,
}

pub(crate) fn run(bytes: &[u8]) {
    pieces(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut end = 0;
    for statement in statements(text) {
        let at = text[end..].find(statement).map(|at| end + at);
        let at = at.expect("statements stand behind each other");
        assert!(!statement.is_empty() && !statement.starts_with(';'));
        end = at + statement.len();
    }
    for key in integer_keys(&[text]) {
        assert!(text[key.at..].starts_with(&key.column), "{key:?}");
    }
    let Ok((server, params)) = server_sql(text) else {
        return;
    };
    if !text.contains(['?', ':', '@', '$']) {
        assert_eq!((&*server, params.len()), (text, 0), "without parameters");
    }
    // It is a statement of its own, which has the same parameters by their numbers. Other signs may begin a name there
    // that were a part of an operator.
    if !server.contains(['?', '@', ':']) {
        let (again, numbered) = server_sql(&server).expect("it was one before");
        assert_eq!((again, numbered.len()), (server, params.len()), "{text:?}");
    }
}

/// Puts a statement together from pieces.
fn pieces(bytes: &[u8]) {
    let (mut written, mut expected) = (String::new(), String::new());
    let mut names: Vec<Option<&str>> = Vec::new();
    for byte in bytes.iter().take(256) {
        let (text, piece) = PIECES[usize::from(*byte) % PIECES.len()];
        written.push_str(text);
        let number = match piece {
            Piece::Text(text) => {
                expected.push_str(text);
                None
            }
            Piece::Named => names.iter().position(|name| *name == Some(text)),
            Piece::Positional => Some(names.len()),
        };
        if !matches!(piece, Piece::Text(_)) {
            let number = number.unwrap_or(names.len());
            if number == names.len() {
                names.push(matches!(piece, Piece::Named).then_some(text));
            }
            expected.push_str(&format!("${}", number + 1));
        }
        written.push(' ');
        expected.push(' ');
    }
    let (server, params) = server_sql(&written).expect("there are few parameters");
    assert_eq!(server, expected, "{written:?}");
    let params: Vec<Option<&str>> = params.iter().map(Option::as_deref).collect();
    assert_eq!(params, names, "{written:?}");
}
