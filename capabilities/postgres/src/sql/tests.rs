//! Tests of tokens, parameters and kinds of statements.

use super::functions::{KEYWORDS, PURE};
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
fn statements_that_change_the_connection_are_told_apart() {
    use Verb::{Lock, Other, Read, Setting, Temporary, Write};
    for (sql, verb) in [
        ("CREATE TEMP TABLE t (n int)", Temporary),
        ("create /* x */ temporary table t as select 1", Temporary),
        ("CREATE LOCAL TEMP TABLE t (n int)", Temporary),
        ("CREATE GLOBAL TEMPORARY TABLE t (n int)", Temporary),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", Temporary),
        ("CREATE TEMP SEQUENCE s", Temporary),
        ("CREATE TABLE pg_temp.t (n int)", Temporary),
        ("CREATE TABLE IF NOT EXISTS pg_temp.t (n int)", Temporary),
        ("SELECT 1 AS n INTO TEMP t", Temporary),
        ("SELECT 1 AS n INTO LOCAL TEMPORARY TABLE t", Temporary),
        ("SELECT 1 AS n INTO pg_temp.t", Temporary),
        (
            "WITH a AS (SELECT 1 AS n) SELECT n INTO TEMP t FROM a",
            Temporary,
        ),
        ("SELECT 1 AS n INTO t", Other),
        ("SELECT 1 AS n INTO UNLOGGED t FROM temp", Other),
        ("CREATE TABLE temp (temporary int, temp int)", Other),
        ("CREATE TABLE local AS SELECT temp FROM temp", Other),
        ("CREATE VIEW temp AS SELECT 'CREATE TEMP TABLE t'", Other),
        ("SELECT temp FROM temp", Read),
        ("INSERT INTO temp VALUES (1)", Write),
        ("INSERT INTO t SELECT n FROM local temp", Write),
        (
            "MERGE INTO temp USING u ON true WHEN MATCHED THEN DELETE",
            Write,
        ),
        ("SELECT set_config('a.b', ?, false)", Setting),
        ("SELECT set_config('a.b', ?, ?)", Setting),
        ("SELECT set_config('a.b', ?, NOT true)", Setting),
        ("SELECT set_config('a.b', ?, true AND false)", Setting),
        ("SELECT set_config('a.b', f(1, 2, true))", Setting),
        (
            "SELECT pg_catalog . \"set_config\" ('a.b', 'c', false)",
            Setting,
        ),
        (
            "SELECT set_config('a', 'b', true), set_config('c', set_config('d', 'e', false), true)",
            Setting,
        ),
        (
            "INSERT INTO t SELECT set_config('a.b', 'c', false)",
            Setting,
        ),
        (
            "EXPLAIN ANALYZE SELECT set_config('a.b', 'c', false)",
            Setting,
        ),
        (
            "CREATE TABLE t AS SELECT set_config('a.b', 'c', false)",
            Setting,
        ),
        ("SELECT set_config('a.b', concat(?, ',', ?), TRUE)", Read),
        (
            "SELECT set_config ( 'a', set_config('b', 'c', true) , true )",
            Read,
        ),
        (
            "SELECT own.set_config('a.b', 'c', false), set_config FROM t",
            Read,
        ),
        ("SELECT 'set_config(1)' -- set_config(1)", Read),
        (
            "GRANT EXECUTE ON FUNCTION set_config(text, text, boolean) TO a",
            Other,
        ),
        ("SELECT pg_advisory_lock(42)", Lock),
        ("SELECT pg_try_advisory_lock(4, 2)", Lock),
        ("SELECT 1 WHERE PG_ADVISORY_LOCK_SHARED(1) IS NULL", Lock),
        ("SELECT pg_try_advisory_lock_shared(1)", Lock),
        ("WITH a AS (SELECT pg_advisory_lock(1)) DELETE FROM t", Lock),
        (
            "SELECT pg_advisory_xact_lock(42), pg_try_advisory_xact_lock(1)",
            Read,
        ),
        ("SELECT pg_advisory_unlock(42)", Read),
    ] {
        assert_eq!(Sql::parse(sql).expect(sql).verb, verb, "{sql}");
    }
}

#[test]
fn functions_that_may_write_are_found() {
    for list in [KEYWORDS, PURE] {
        assert!(list.is_sorted(), "{list:?}");
    }
    for sql in [
        "SELECT id, title FROM notes WHERE id = ?",
        "SELECT count(*), COALESCE(max(n), 0), pg_catalog.now() FROM t WHERE a IN (1, 2) AND (b OR NOT (c))",
        "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE id = ANY(?)) LIMIT (2)",
        "SELECT sum(n) FILTER (WHERE n > 0), rank() OVER (PARTITION BY a), max(n) OVER w FROM t WINDOW w AS (ORDER BY n)",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM t",
        "SELECT CAST(a AS numeric(10, 2)), b::varchar(10), c::own.kind(3), ARRAY(SELECT 1) FROM t",
        "WITH RECURSIVE a(n) AS (SELECT 1), b (m) AS NOT MATERIALIZED (SELECT 2) SELECT * FROM a JOIN b USING (n)",
        "SELECT * FROM unnest(?) WITH ORDINALITY AS u(a, b), LATERAL (SELECT 1) AS v (c), (VALUES (1)) AS w(d)",
        "SELECT a, b FROM t GROUP BY GROUPING SETS ((a), (b)), ROLLUP (a), (a) HAVING (count(*) > 1)",
        "SELECT * FROM json_to_recordset(?) AS x(a int, b text) ORDER BY (a) FOR UPDATE",
        "SELECT 'f(1)', \"f\" -- f(1)\n FROM t /* f(1) */ WHERE a = f",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "VALUES (1), (2)",
    ] {
        let parsed = Sql::parse(sql).expect(sql);
        assert!(parsed.only_reads(), "{sql}");
    }
    for sql in [
        "SELECT slowadd()",
        "SELECT nextval('s')",
        "SELECT \"Count\"(1)",
        "SELECT own.count(1)",
        "SELECT own . add /* x */ (1)",
        "SELECT * FROM t, LATERAL add(t.id)",
        "SELECT CASE WHEN add(1) THEN 1 END",
        "WITH a AS (SELECT add(1)) SELECT * FROM a",
        "WITH a(n) AS (VALUES (1)) SELECT add(n) FROM a",
        "SELECT max(add(1))",
        "SELECT 1 AS n, add(1)",
        "VALUES (add(1))",
        "INSERT INTO t VALUES (1)",
        "SELECT 1 INTO t",
    ] {
        let parsed = Sql::parse(sql).expect(sql);
        assert!(!parsed.only_reads(), "{sql}");
    }
    for (sql, leaves_traces) in [
        ("DO $$ BEGIN END $$", true),
        ("call p(1)", true),
        ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", false),
    ] {
        assert_eq!(Sql::parse(sql).expect(sql).leaves_traces, leaves_traces);
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
        (
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END; SELECT 3",
            &[
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END",
                "SELECT 3",
            ],
        ),
        (
            "begin /* x */ atomic SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END; ELSE 3 END AS end, t.end; END; COMMIT",
            &[
                "begin /* x */ atomic SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END; ELSE 3 END AS end, t.end; END",
                "COMMIT",
            ],
        ),
        (
            "BEGIN; SELECT atomic; END; SELECT 'BEGIN ATOMIC'; SELECT 1",
            &[
                "BEGIN",
                "SELECT atomic",
                "END",
                "SELECT 'BEGIN ATOMIC'",
                "SELECT 1",
            ],
        ),
    ] {
        assert_eq!(super::statements(text), expected, "{text:?}");
    }
}
