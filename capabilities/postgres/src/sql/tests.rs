//! Tests of tokens, parameters and kinds of statements.

use super::tokens::{Token, Tokens};
use super::{Sql, Verb};

fn text(sql: &str) -> String {
    Sql::parse(sql).expect(sql).text
}

fn names(sql: &str) -> Vec<String> {
    let params = Sql::parse(sql).expect(sql).params;
    params
        .iter()
        .map(|name| name.as_deref().unwrap_or("?").to_owned())
        .collect()
}

#[test]
fn parameters_are_numbered_in_their_order() {
    for (sql, expected) in [
        ("SELECT ?, ?", "SELECT $1, $2"),
        ("SELECT :a, :b, :a", "SELECT $1, $2, $1"),
        ("SELECT @a, $b, :a", "SELECT $1, $2, $3"),
        ("SELECT ?2, ?, ?1", "SELECT $2, $3, $1"),
        ("SELECT $2, $1", "SELECT $2, $1"),
        ("WHERE a=? AND b>=:b", "WHERE a=$1 AND b>=$2"),
        ("SELECT?", "SELECT $1"),
        ("LIMIT:n", "LIMIT $1"),
        ("SELECT :größe", "SELECT $1"),
        ("SELECT ?||'x', 'x'||?", "SELECT $1||'x', 'x'||$2"),
        ("SELECT ?::int, :a::text", "SELECT $1::int, $2::text"),
        (
            "SELECT -?, @ ?, a[?], a[:i]",
            "SELECT -$1, @ $2, a[$3], a[$4]",
        ),
        (
            "SELECT a[1:2], a[:i:3], a[x:y]",
            "SELECT a[1:2], a[$1:3], a[x:y]",
        ),
        ("SELECT (ARRAY[1,?])[?]", "SELECT (ARRAY[1,$1])[$2]"),
    ] {
        assert_eq!(text(sql), expected, "{sql}");
    }
    assert_eq!(names("SELECT :a, @b, ?, :a"), [":a", "@b", "?"]);
}

#[test]
fn operators_of_jsonb_are_told_from_parameters() {
    for (sql, expected) in [
        ("SELECT a ?? 'k'", "SELECT a ? 'k'"),
        ("SELECT a ?? ?", "SELECT a ? $1"),
        ("SELECT a ???", "SELECT a ?$1"),
        ("SELECT a ?| ? , a ?& :b", "SELECT a ?| $1 , a ?& $2"),
        ("SELECT a ??| ? , a ??& :b", "SELECT a ?| $1 , a ?& $2"),
        (
            "SELECT a @? ?, a @@ ?, a @> ?, a <@ b",
            "SELECT a @? $1, a @@ $2, a @> $3, a <@ b",
        ),
        (
            "SELECT a <@b, a @>b, a #> ?",
            "SELECT a <@b, a @>b, a #> $1",
        ),
    ] {
        assert_eq!(text(sql), expected, "{sql}");
    }
}

#[test]
fn strings_names_and_comments_have_no_parameters() {
    for sql in [
        "SELECT '?', ':a', 'it''s ?'",
        "SELECT E'\\'?', e'\\\\', 'a\\'",
        "SELECT \"a?\", \"b\"\":c\", U&\"?\", U&'?'",
        "SELECT $$ ? $$, $tag$ ? $$ :a $tag$, $a1$?$a1$",
        "SELECT 1 -- ? :a\n, 2",
        "SELECT /* ? /* :a */ ? */ 1",
        "SELECT B'?', X'?', N'?'",
        "SELECT a::int, 'x'::text, foo$bar, f(a := 1), a => 2",
        "SELECT 'open ?",
        "SELECT \"open ?",
        "SELECT /* open ?",
        "SELECT $x$ open ? $y$",
        "SELECT E'open \\",
        "SELECT 1.5, .5, 1e10, 1..2",
    ] {
        let parsed = Sql::parse(sql).expect(sql);
        assert_eq!(parsed.text, sql);
        assert!(parsed.params.is_empty(), "{sql}: {:?}", parsed.params);
    }
}

#[test]
fn statements_that_cannot_be_sent_are_refused() {
    for (sql, why) in [
        ("SELECT 'a\0b'", "NUL"),
        ("SELECT ?0", "from 1"),
        ("SELECT ?65536", "more than 65535"),
        ("SELECT $99999999999", "more than 65535"),
    ] {
        let error = Sql::parse(sql).expect_err(sql);
        assert!(error.contains(why), "{error}");
    }
    assert!(Sql::parse(&" ".repeat(1024 * 1024 + 1)).is_err());
    assert_eq!(
        Sql::parse("SELECT ?65535").expect("the last").params.len(),
        65_535
    );
}

#[test]
fn kinds_are_found_by_words() {
    use Verb::{Copy, Local, Other, Read, Session, Transaction, Write};
    for (sql, verb) in [
        ("select 1", Read),
        ("  /* x */ (SELECT 1) UNION SELECT 2", Read),
        ("WITH a AS (SELECT 1) SELECT * FROM a", Read),
        (
            "WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a",
            Write,
        ),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", Write),
        (
            "WITH a AS (WITH b AS (SELECT 1 c) INSERT INTO t SELECT c FROM b RETURNING c) SELECT * FROM a",
            Write,
        ),
        (
            "WITH a AS (WITH RECURSIVE b(n) AS (SELECT 1), c AS (SELECT 2) /* x */ delete FROM t RETURNING *) TABLE a",
            Write,
        ),
        (
            "WITH a AS (WITH b AS (SELECT update, \"delete\" FROM t FOR UPDATE) SELECT insert, delete FROM b) \
             SELECT update, merge FROM a FOR UPDATE",
            Read,
        ),
        ("VALUES (1)", Read),
        ("INSERT INTO t VALUES (1)", Write),
        ("delete from t", Write),
        ("CREATE TABLE t (a int)", Other),
        ("EXPLAIN ANALYZE DELETE FROM t", Other),
        ("Begin", Transaction),
        ("-- so\nCOMMIT", Transaction),
        ("SAVEPOINT a", Transaction),
        ("SET search_path = x", Session),
        ("SET LOCAL search_path = x", Local),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", Local),
        ("LISTEN a", Session),
        ("COPY t FROM STDIN", Copy),
    ] {
        assert_eq!(Sql::parse(sql).expect(sql).verb, verb, "{sql}");
    }
}

#[test]
fn an_insert_can_give_the_id() {
    for (sql, table, expected) in [
        (
            "INSERT INTO t VALUES (?)",
            "t",
            "INSERT INTO t VALUES ($1) RETURNING \"i\"\"d\"",
        ),
        (
            "insert into a . \"B\" (x) select 1; -- end",
            "a.\"B\"",
            "insert into a . \"B\" (x) select 1 RETURNING \"i\"\"d\"; -- end",
        ),
        (
            "INSERT INTO t(a) VALUES (1) -- end",
            "t",
            "INSERT INTO t(a) VALUES (1) RETURNING \"i\"\"d\" -- end",
        ),
        (
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
            "t",
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x RETURNING \"i\"\"d\"",
        ),
    ] {
        let parsed = Sql::parse(sql).expect(sql);
        let insert = parsed.insert.clone().expect(sql);
        assert_eq!(insert.table, table);
        assert_eq!(parsed.returning(&insert, "i\"d").text, expected);
    }
    for sql in [
        "INSERT INTO t VALUES (1) RETURNING a",
        "SELECT 1",
        "WITH x AS (INSERT INTO t VALUES (1)) SELECT 1",
        "INSERT INTO t VALUES (1); SELECT 1",
        "UPDATE t SET a = 1",
    ] {
        assert_eq!(Sql::parse(sql).expect(sql).insert, None, "{sql}");
    }
}

#[test]
fn places_are_those_of_the_statement_as_it_is_written() {
    let sql = "SELECT ?, :name, a ?? 'ä', ? FROM nowhere";
    let parsed = Sql::parse(sql).expect("a statement");
    let at = parsed.text.find("nowhere").expect("the word");
    assert_eq!(&sql[parsed.place(at)..], "nowhere");
    assert_eq!(parsed.place(0), 0);
    let at = parsed.text.find("'ä'").expect("the text");
    assert!(sql[parsed.place(at)..].starts_with("'ä'"));
}

/// Random texts of awkward pieces: tokens cover the text, none is cut inside of a character, and a text in quotes
/// comes through as it is.
#[test]
fn random_texts_are_cut_into_tokens() {
    const PIECES: &[&str] = &[
        "?",
        "??",
        "?|",
        "?&",
        "||",
        ":",
        "::",
        ":a",
        "@b",
        "$c",
        "$1",
        "?2",
        "$$",
        "$t$",
        "'",
        "''",
        "\"",
        "E'",
        "\\",
        "--",
        "\n",
        "/*",
        "*/",
        "[",
        "]",
        "(",
        ")",
        ";",
        ".",
        "ä",
        "🛶",
        " ",
        "a",
        "1",
        "SELECT",
        "INSERT INTO",
        "U&'",
        "@",
        "@?",
        "-",
        "<@",
        "\0x",
        "RETURNING",
        ",",
        "$",
        "x'",
    ];
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for _ in 0..20_000 {
        let count = next(12);
        let sql: String = (0..count).map(|_| PIECES[next(PIECES.len())]).collect();
        let mut end = 0;
        for (token, range) in Tokens::new(&sql) {
            assert_eq!(range.start, end, "{sql:?}");
            assert!(range.end > range.start, "{sql:?}");
            let piece = sql.get(range.clone());
            assert!(piece.is_some(), "{sql:?}: {token:?} {range:?}");
            end = range.end;
        }
        assert_eq!(end, sql.len(), "{sql:?}");
        let Ok(parsed) = Sql::parse(&sql) else {
            continue;
        };
        // Strings, names and comments come through as they are, in their order.
        let mut rest = &*parsed.text;
        for (token, range) in Tokens::new(&sql) {
            if matches!(
                token,
                Token::Literal | Token::Quoted | Token::Gap | Token::Word
            ) {
                let at = rest.find(&sql[range.clone()]);
                let at = at.unwrap_or_else(|| panic!("{sql:?} became {:?}", parsed.text));
                rest = &rest[at + range.len()..];
            }
        }
        for at in 0..=parsed.text.len() {
            assert!(parsed.place(at) <= sql.len() + parsed.text.len());
        }
        if let Some(insert) = &parsed.insert {
            parsed.returning(insert, "id");
        }
    }
}

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
        assert_eq!(super::statements(text), expected, "{text:?}");
    }
}
