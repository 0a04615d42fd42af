//! Our functions against SQLite's own, and all that a client's text could make slow under a time limit.

use super::*;
use crate::sqlite::connection::testing::{all, scratch};
use crate::test_folder::thread_cpu_time;
use sampan_host::Value as Param;
use std::time::Duration;

/// Two connections, of which the first has our functions.
fn both() -> [Connection; 2] {
    let [ours, plain] = [(); 2].map(|()| crate::sqlite::memory::connect_in_memory().unwrap());
    install(&ours).unwrap();
    [ours, plain]
}

/// The value, or what is said instead.
fn outcome(sqlite: &Connection, sql: &str, params: &[Value]) -> String {
    let result = sqlite.query_row(sql, rusqlite::params_from_iter(params), |row| {
        Ok(format!("{:?}", row.get_ref(0)?))
    });
    result.unwrap_or_else(|error| error.to_string())
}

fn values() -> Vec<Value> {
    let texts = [
        "",
        " ",
        "a",
        "aa",
        "ab",
        "aba",
        "abab",
        "b",
        "ä",
        "äö",
        "öä",
        "xäx",
        "🛶",
        "🛶a🛶",
        "a\0b",
        "\0",
        "\0a",
        "A",
        "1",
        "-12",
        "1.5",
        "0.1",
        "61 62",
        "6162",
        "6",
        "616",
        "6g",
        "61-62",
        "-",
        "- ",
        " 61",
        "é61\u{ffff}",
        "\u{fffd}",
        "abcdefghijklmnopqrstuvwxyz -äö🛶",
        "\u{e000}\u{80}",
    ];
    let bytes: [&[u8]; 9] = [
        b"",
        b"a",
        b"ab\0",
        b"\xff",
        b"\xa4",
        b"\xc3",
        b"\xc3\xa4\xa4",
        b"a\xa4\xc3",
        b"\xf7\xbf\xbf\xbf61\xed\xa0\x80",
    ];
    let mut values = vec![
        Value::Null,
        Value::Integer(1),
        Value::Integer(-12),
        Value::Integer(i64::MIN),
        Value::Real(0.1),
        Value::Real(1.5),
        Value::Real(1e300),
        Value::Real(-0.0),
    ];
    values.extend(texts.map(|text| Value::Text(text.to_owned())));
    values.extend(bytes.map(|bytes| Value::Blob(bytes.to_vec())));
    values
}

#[test]
fn results_are_those_of_sqlite() {
    let [ours, plain] = both();
    let values = values();
    let two = [
        "instr(?1, ?2)",
        // Text that is not UTF-8.
        "instr(CAST(?1 AS TEXT), CAST(?2 AS TEXT))",
        "trim(?1, ?2)",
        "ltrim(?1, ?2)",
        "rtrim(?1, ?2)",
        "unhex(?1, ?2)",
        "unhex(CAST(?1 AS TEXT), CAST(?2 AS TEXT))",
        "replace(?1, ?2, 'ab')",
        "replace(?1, ?2, ?2 || ?1)",
        "replace(?1, ?2, NULL)",
        "replace(?1, 'a', ?2)",
    ];
    for call in two {
        let sql = format!("SELECT {call}");
        let typed = format!("SELECT typeof({call}) || hex({call})");
        for first in &values {
            for second in &values {
                let params = [first.clone(), second.clone()];
                for sql in [&sql, &typed] {
                    assert_eq!(
                        outcome(&ours, sql, &params),
                        outcome(&plain, sql, &params),
                        "{call} of {params:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn trims_of_many_characters_are_those_of_sqlite() {
    let [ours, plain] = both();
    let set: String = (0x20..0x300).filter_map(char::from_u32).collect();
    for text in ["äöüx", "xä界äx", "界", "", "äöü界ab"] {
        for call in ["trim", "ltrim", "rtrim", "unhex"] {
            let sql = format!("SELECT {call}(?, ?)");
            let params = [text, &set].map(|text| Value::Text(text.to_owned()));
            assert_eq!(
                outcome(&ours, &sql, &params),
                outcome(&plain, &sql, &params)
            );
        }
    }
}

#[test]
fn json_is_that_of_sqlite() {
    let [ours, plain] = both();
    let texts = [
        "{}",
        "[]",
        "{\"a\":[1,2,{\"b\":null}]}",
        "{a:'x', b:+1, /* c */}",
        "[1,[2,[3,[]]]]",
        "\"x\\\"[\"",
        "1",
        "null",
        "nonsense",
        "",
        "{\"a\":null}",
        "{\"a\":{\"b\":null,\"c\":\"ä\"}}",
    ];
    let mut values: Vec<Value> = texts.map(|text| Value::Text(text.to_owned())).to_vec();
    values.extend([
        Value::Null,
        Value::Integer(5),
        Value::Real(0.5),
        Value::Blob(vec![0x0B]),
        Value::Blob(b"{}".to_vec()),
        Value::Blob(vec![0xFF, 0xFF]),
    ]);
    let calls = [
        "json_patch(?1, ?2)",
        "hex(jsonb_patch(?1, ?2))",
        // Whether the function around it takes it for JSON.
        "json_array(json_patch(?1, ?2), json_pretty(?1))",
        "json_pretty(?1)",
        "json_pretty(?1, ?2)",
        "json_pretty(jsonb_patch(?1, ?2), ' ')",
        "typeof(json_pretty(?1, ?2)) || typeof(json_patch(?1, ?2))",
    ];
    for call in calls {
        let sql = format!("SELECT {call} FROM (SELECT ?1, ?2)");
        for first in &values {
            for second in &values {
                let params = [first.clone(), second.clone()];
                assert_eq!(
                    outcome(&ours, &sql, &params),
                    outcome(&plain, &sql, &params),
                    "{call} of {params:?}"
                );
            }
        }
    }
}

#[test]
fn they_stand_where_sqlites_own_may() {
    let (_folder, _, db) = scratch();
    for sql in [
        "CREATE TABLE t(a TEXT, b TEXT AS (replace(a, '-', '')), CHECK (instr(a, 'x') = 0))",
        "CREATE INDEX i ON t(trim(a, '-'))",
        "CREATE VIEW v AS SELECT json_patch('{}', a) AS j, json_pretty(a), unhex(a, ' ') FROM t WHERE ltrim(a, 'b') \
         <> ''",
        "INSERT INTO t VALUES ('-{}-')",
        "UPDATE t SET a = '{}'",
    ] {
        db.done(sql);
    }
    assert_eq!(db.rows("SELECT * FROM v").len(), 1);
    let plan = db.rows("EXPLAIN QUERY PLAN SELECT * FROM t WHERE trim(a, '-') = 'x'");
    assert!(format!("{plan:?}").contains("USING INDEX i"), "{plan:?}");
    assert!(
        db.refusal("INSERT INTO t VALUES ('x')")
            .starts_with("CHECK constraint failed")
    );
    assert_eq!(
        db.rows("PRAGMA integrity_check").cell(0, 0),
        sampan_host::Cell::Text("ok")
    );
}

/// JSON with as many names as fit.
fn object(prefix: char, bytes: usize) -> String {
    let names = (0..bytes / 13).map(|index| format!("\"{prefix}{index:07x}\":1"));
    format!("{{{}}}", names.collect::<Vec<_>>().join(","))
}

#[test]
fn no_call_takes_long_whatever_the_text() {
    const SIZE: usize = 1024 * 1024;
    let (_folder, _, db) = scratch();
    db.done("CREATE VIRTUAL TABLE f USING fts5(x)");
    db.done("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) INSERT INTO f SELECT 'a b a b \
     a ' || i FROM n");
    let a = "a".repeat(SIZE);
    let nearly = format!("{}b", "a".repeat(SIZE / 2));
    let others = format!("{}a", "b".repeat(SIZE - 1));
    let wide: String = ('\u{100}'..).take(SIZE / 3).chain(['a']).collect();
    let odd = {
        let mut bytes = b"\xa4".repeat(SIZE / 2);
        bytes.push(b'a');
        Param::Bytes(bytes)
    };
    let deep = format!(
        "{}{}1{}",
        "[".repeat(990),
        "1,".repeat(SIZE / 2),
        "]".repeat(990)
    );
    let pattern = |begin: &str, len: usize, end: &str| {
        Param::from(format!("{begin}{}{end}", "a".repeat(len)).as_str())
    };
    let text = |text: &str| Param::from(text);
    let over = ["at most", "too complex", "too big", "fts5:"];
    // Statement, parameters, and whether it is refused.
    let cases: Vec<(&str, Vec<Param>, bool)> = vec![
        ("SELECT instr(?, ?)", vec![text(&a), text(&nearly)], false),
        ("SELECT instr(?, ?)", vec![odd.clone(), odd.clone()], false),
        (
            "SELECT replace(?, ?, 'x')",
            vec![text(&a), text(&nearly)],
            false,
        ),
        (
            "SELECT replace(?, 'a', ?)",
            vec![text(&a), text(&nearly)],
            true,
        ),
        ("SELECT trim(?, ?)", vec![text(&a), text(&others)], false),
        ("SELECT ltrim(?, ?)", vec![text(&a), text(&wide)], false),
        ("SELECT rtrim(?, ?)", vec![text(&wide), text(&wide)], false),
        ("SELECT trim(?, ?)", vec![text(&a), odd.clone()], true),
        (
            "SELECT unhex(?, ?)",
            vec![text(&"-".repeat(SIZE)), text(&others.replace('a', "-"))],
            false,
        ),
        ("SELECT unhex(?, ?)", vec![odd.clone(), odd.clone()], false),
        (
            "SELECT json_patch(?, ?)",
            vec![text(&object('a', SIZE)), text(&object('b', SIZE))],
            true,
        ),
        (
            "SELECT jsonb_patch(?, ?)",
            vec![text(&object('a', SIZE)), text(&object('b', SIZE))],
            true,
        ),
        (
            "SELECT json_patch(?, ?)",
            vec![text(&object('a', SIZE)), text(&object('b', 240))],
            false,
        ),
        (
            "SELECT json_patch(?, ?)",
            vec![text(&object('a', 16_000)), text(&object('b', 16_000))],
            false,
        ),
        ("SELECT json_pretty(?)", vec![text(&deep)], true),
        (
            "SELECT json_pretty(?, ?)",
            vec![text("[[[[[1,2,3,4,5,6]]]]]"), text(&a)],
            true,
        ),
        (
            "SELECT json_pretty(?)",
            vec![text(&object('a', SIZE))],
            false,
        ),
        (
            "SELECT json(?), json_valid(?)",
            vec![text(&deep), text(&deep)],
            false,
        ),
        (
            "SELECT json_set(?, '$.z', 1)",
            vec![text(&object('a', SIZE))],
            false,
        ),
        (
            "SELECT json_set('{}', '$' || ?, 1)",
            vec![text(&".a".repeat(SIZE / 2))],
            true,
        ),
        (
            "SELECT ? LIKE ?",
            vec![text(&a), pattern("%", 125, "b%")],
            false,
        ),
        (
            "SELECT ? GLOB ?",
            vec![text(&a), pattern("*", 125, "b*")],
            false,
        ),
        (
            "SELECT ? LIKE ?",
            vec![text(&a), text(&"%a".repeat(64))],
            false,
        ),
        (
            "SELECT ? LIKE ?",
            vec![text(&a), pattern("%", 128, "")],
            true,
        ),
        (
            "SELECT count(*) FROM f WHERE f MATCH ?",
            vec![text(&"a ".repeat(128))],
            false,
        ),
        (
            "SELECT count(*) FROM f WHERE f MATCH ?",
            vec![pattern("\"", 250, "\"")],
            false,
        ),
        (
            "SELECT count(*) FROM f WHERE f MATCH ?",
            vec![text(&"a ".repeat(129))],
            true,
        ),
        (
            "SELECT count(*) FROM f WHERE f MATCH ?",
            vec![text(&"(".repeat(256))],
            true,
        ),
        (
            "SELECT length(printf('%' || ? || 'd', 1))",
            vec![text("16000000")],
            false,
        ),
        (
            "SELECT length(printf('%*.*f', ?, ?, 1.5))",
            vec![Param::Int(8_000_000); 2],
            false,
        ),
        (
            "SELECT printf('%' || ? || 'd', 1)",
            vec![text("1000000000")],
            true,
        ),
        (
            "SELECT length(zeroblob(?))",
            vec![Param::Int(16_000_000)],
            false,
        ),
        ("SELECT zeroblob(?)", vec![Param::Int(1_000_000_000)], true),
        (
            "SELECT length(hex(zeroblob(?)))",
            vec![Param::Int(8_000_000)],
            false,
        ),
        (
            "SELECT length(randomblob(?))",
            vec![Param::Int(16_000_000)],
            false,
        ),
        (
            "SELECT randomblob(?)",
            vec![Param::Int(1_000_000_000)],
            true,
        ),
        (
            "SELECT length(quote(?)), length(upper(?))",
            vec![text(&a); 2],
            false,
        ),
        (
            "SELECT length(strftime(?, 'now'))",
            vec![text(&"%s".repeat(SIZE / 2))],
            false,
        ),
        (
            "SELECT length(group_concat(?1 || x)) FROM (SELECT x FROM f LIMIT 15)",
            vec![text(&a)],
            false,
        ),
        (
            "SELECT date('now', ?)",
            vec![text("+100000000000 months")],
            false,
        ),
    ];
    for (sql, params, is_refused) in cases {
        let before = thread_cpu_time();
        let result = db.query(sql, &Param::List(params), &all());
        let took = thread_cpu_time() - before;
        // Some five times what the slowest takes; SQLite's own functions take seconds, if not hours.
        assert!(took < Duration::from_secs(2), "{sql}: {took:?}");
        match result {
            Ok(_) => assert!(!is_refused, "{sql} is not refused"),
            Err(fault) => {
                let message = fault.error.message();
                assert!(
                    is_refused
                        && (over.iter().any(|word| message.contains(word))
                            || message.contains("too deep")),
                    "{sql}: {message}"
                );
            }
        }
        println!("{:6} us {sql}", took.as_micros());
    }
}

#[test]
fn many_slow_rows_are_interrupted_in_time() {
    let (_folder, _, db) = scratch();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT count(replace(?1, \
     'b', i)) FROM n";
    let run = crate::sqlite::run::RunLimits {
        limit: Some(Duration::from_millis(50)),
        ..all()
    };
    let text = Param::List(vec![Param::from("a".repeat(1024 * 1024).as_str())]);
    let before = thread_cpu_time();
    assert!(db.query(sql, &text, &run).is_err());
    let took = thread_cpu_time() - before;
    assert!(took < Duration::from_secs(2), "{took:?}");
}
