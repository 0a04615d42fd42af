//! Types of the server as cells, and values as parameters of these types.

use crate::rig::{Db, shown, with_database};
use sampan_host::{Cell, Value};
use sampan_postgres::{CellForms, RowLimits};

#[test]
fn cells_have_the_kinds_that_apps_on_sqlite_know() {
    with_database(async |database| {
        let db = Db::new(database.config());
        for (sql, expected) in [
            ("NULL::int", "null"),
            ("1::int2", "int 1"),
            ("(-2147483648)::int4", "int -2147483648"),
            ("9223372036854775807", "int 9223372036854775807"),
            (
                "(-9223372036854775807 - 1)::int8",
                "int -9223372036854775808",
            ),
            ("4294967295::oid", "int 4294967295"),
            ("true", "int 1"),
            ("1 = 2", "int 0"),
            ("0.1::float4", "float 0.1"),
            ("0.1::float8", "float 0.1"),
            ("'NaN'::float8", "float NaN"),
            ("'-Infinity'::float4", "float -inf"),
            ("1.50::numeric", "text 1.50"),
            ("'NaN'::numeric", "text NaN"),
            ("''::text", "text "),
            ("'naïve 🛶'::varchar(20)", "text naïve 🛶"),
            ("'a'::char(3)", "text a  "),
            ("'\\x00ff'::bytea", "bytes [0, 255]"),
            (
                "'2026-01-31 12:34:56'::timestamp",
                "text 2026-01-31 12:34:56",
            ),
            (
                "'2026-01-31 12:34:56.789'::timestamp",
                "text 2026-01-31 12:34:56.789",
            ),
            (
                "'2026-01-31 12:34:56.7+02'::timestamptz",
                "text 2026-01-31 10:34:56.700",
            ),
            ("'infinity'::timestamptz", "text infinity"),
            ("'2024-02-29'::date", "text 2024-02-29"),
            ("'4714-11-24 BC'::date", "text 4714-11-24 BC"),
            ("'5874897-12-31'::date", "text 5874897-12-31"),
            (
                "'294276-12-31 23:59:59'::timestamp",
                "text 294276-12-31 23:59:59",
            ),
            ("'12:34:56'::time", "text 12:34:56"),
            ("'1 day'::interval", "text 1 day"),
            (
                "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid",
                "text a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            ),
            ("'{\"a\":  1}'::json", "text {\"a\":  1}"),
            ("'{\"a\":  1}'::jsonb", "text {\"a\": 1}"),
            ("ARRAY[1,NULL,3]", "text [1,null,3]"),
            ("ARRAY['a','b \"c\"']", "text [\"a\",\"b \\\"c\\\"\"]"),
            ("ARRAY[[1,2],[3,4]]", "text [[1,2],[3,4]]"),
            ("'{}'::text[]", "text []"),
            (
                "ARRAY['2026-01-31 12:00+00'::timestamptz]",
                "text [\"2026-01-31 12:00:00\"]",
            ),
            ("'192.168.0.1'::inet", "text 192.168.0.1"),
            ("int4range(1, 5)", "text [1,5)"),
            ("ROW(1, 'a')", "text (1,a)"),
            ("1::money", "text $1.00"),
        ] {
            let found = db.cell(&format!("SELECT {sql}"), ()).await;
            assert_eq!(found, expected, "{sql}");
        }
        let digits = "7".repeat(1_000);
        let sql = "SELECT ?::numeric * 1";
        assert_eq!(
            db.cell(sql, [Value::from(&*digits)]).await,
            format!("text {digits}")
        );
    });
}

#[test]
fn cells_are_times_and_numbers_for_those_who_ask_for_them() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let limits = RowLimits {
            forms: CellForms {
                has_dates: true,
                has_numbers: true,
            },
            ..RowLimits::default()
        };
        for (sql, asked, others) in [
            ("1.50::numeric", "float 1.5", "text 1.50"),
            ("'NaN'::numeric", "float NaN", "text NaN"),
            ("'-Infinity'::float8", "float -inf", "float -inf"),
            (
                "'2026-01-31 12:34:56.7891+02'::timestamptz",
                "date 1769855696789",
                "text 2026-01-31 10:34:56.789100",
            ),
            (
                "'1969-12-31 23:59:59.9999'::timestamp",
                "date -1",
                "text 1969-12-31 23:59:59.999900",
            ),
            (
                "'2024-02-29'::date",
                "date 1709164800000",
                "text 2024-02-29",
            ),
            ("'infinity'::timestamptz", "float inf", "text infinity"),
            ("'-infinity'::date", "float -inf", "text -infinity"),
            ("NULL::timestamptz", "null", "null"),
            ("'12:34:56'::time", "text 12:34:56", "text 12:34:56"),
            ("ARRAY[1.50]", "text [\"1.50\"]", "text [\"1.50\"]"),
        ] {
            // One statement, whose types the worker knows.
            let sql = format!("SELECT {sql}");
            let rows = db.0.query(&sql, &Value::Null, limits).await.expect(&sql);
            assert_eq!(shown(rows.cell(0, 0)), asked, "{sql}");
            assert_eq!(db.cell(&sql, ()).await, others, "{sql}");
            let done = db.0.run(&sql, &Value::Null).await.expect(&sql);
            let rows = done.expect("no table").rows;
            assert_eq!(shown(rows.cell(0, 0)), others, "{sql}");
        }
        let tx = db.0.begin().await.unwrap();
        let rows = tx.query("SELECT '2024-02-29'::date", &Value::Null, limits);
        assert_eq!(
            rows.await.unwrap().cell(0, 0),
            Cell::Date(1_709_164_800_000)
        );
        tx.commit().await.unwrap();
        for value in [f64::INFINITY, f64::NEG_INFINITY] {
            for of in ["date", "timestamp", "timestamptz"] {
                let sql = format!("SELECT CAST(? AS {of})");
                let params = Value::List(vec![Value::Float(value)]);
                let rows = db.0.query(&sql, &params, limits).await.expect(&sql);
                assert_eq!(rows.cell(0, 0), Cell::Float(value), "{sql}");
            }
        }
        // Each number that a cell may be is a parameter of its type.
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for of in ["real", "double precision", "numeric"] {
                let sql = format!("SELECT CAST(? AS {of})");
                let params = Value::List(vec![Value::Float(value)]);
                let rows = db.0.query(&sql, &params, limits).await.expect(&sql);
                let expected = shown(Cell::Float(value));
                assert_eq!(shown(rows.cell(0, 0)), expected, "{sql}");
            }
        }
    });
}

#[test]
fn booleans_in_lists_fit_the_elements_as_alone() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let flags = || Value::List(vec![Value::Bool(true), Value::Bool(false)]);
        for (of, expected) in [
            ("bool", "[true,false]"),
            ("int", "[1,0]"),
            ("numeric", "[\"1\",\"0\"]"),
            ("text", "[\"1\",\"0\"]"),
            ("jsonb", "[true,false]"),
        ] {
            let sql = format!("SELECT CAST(? AS {of}[])");
            assert_eq!(db.cell(&sql, [flags()]).await, format!("text {expected}"));
        }
    });
}

#[test]
fn columns_have_the_types_of_their_table_and_names_of_their_own() {
    with_database(async |database| {
        let db = Db::new(database.config());
        database.psql(
            "CREATE TYPE mood AS ENUM ('ok', 'sad'); CREATE DOMAIN small AS int CHECK (VALUE < 10)",
        );
        db.exec(
            "CREATE TABLE t (m mood, s small, ms mood[], j jsonb, n numeric(5,2), d date, b bytea)",
            (),
        )
        .await
        .unwrap();
        let insert = "INSERT INTO t VALUES (:m, :s, :ms, :j, :n, :d, :b)";
        let moods = Value::List(vec![Value::from("ok"), Value::from("sad")]);
        let params = [
            ("m", Value::from("sad")),
            ("s", Value::from("5")),
            ("ms", moods),
            ("j", Value::from("[1]")),
            ("n", Value::Float(1.5)),
            ("d", Value::from("2026-01-31")),
            ("b", Value::Bytes(vec![0, 1])),
        ];
        let params = Value::Map(
            params
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        );
        db.exec(insert, params).await.unwrap();
        let rows = db
            .query("SELECT *, 1 AS \"a B\", 2 FROM t", ())
            .await
            .unwrap();
        assert_eq!(
            &rows.columns()[..],
            ["m", "s", "ms", "j", "n", "d", "b", "a B", "?column?"]
        );
        let cells: Vec<String> = (0..9).map(|column| shown(rows.cell(0, column))).collect();
        assert_eq!(
            cells,
            [
                "text sad",
                "int 5",
                "text {ok,sad}",
                "text [1]",
                "text 1.50",
                "text 2026-01-31",
                "bytes [0, 1]",
                "int 1",
                "int 2",
            ]
        );
        for (sql, value, code, why) in [
            (
                "INSERT INTO t (s) VALUES (?)",
                Value::from("five"),
                "type",
                "five",
            ),
            (
                "INSERT INTO t (s) VALUES (?)",
                Value::Int(11),
                "check",
                "small_check",
            ),
            (
                "INSERT INTO t (m) VALUES (?)",
                Value::from("glad"),
                "type",
                "glad",
            ),
            (
                "INSERT INTO t (d) VALUES (?)",
                Value::from("0000-01-01"),
                "data",
                "out of range",
            ),
            (
                "INSERT INTO t (d) VALUES (?)",
                Value::from("soon"),
                "type",
                "soon",
            ),
            (
                "INSERT INTO t (n) VALUES (?)",
                Value::Int(1000),
                "data",
                "overflow",
            ),
            (
                "SELECT ?::text",
                Value::Float(f64::NAN),
                "parameter",
                "NaN is no number",
            ),
            ("SELECT ?::text", Value::from("a\0"), "parameter", "NUL"),
            (
                "SELECT j ?? ? FROM t",
                Value::Bytes(vec![1]),
                "parameter",
                "is not of the type text",
            ),
        ] {
            let error = db.query(sql, [value]).await.unwrap_err();
            assert_eq!(error.code(), Some(code), "{sql}: {error}");
            assert!(error.message().contains(why), "{sql}: {error}");
        }
        let any = "SELECT array_agg(x) FROM generate_series(1, 9) x WHERE x = ANY(?)";
        let list = Value::List(vec![Value::Int(2), Value::Int(7)]);
        assert_eq!(db.cell(any, [list]).await, "text [2,7]");
        assert_eq!(
            db.cell("SELECT '{\"k\": 1}'::jsonb ?? ?", [Value::from("k")])
                .await,
            "int 1"
        );
        let rows = db.query("SELECT 1 WHERE false", ()).await.unwrap();
        assert_eq!((rows.len(), rows.columns().len()), (0, 1));
        let rows = db.query("CREATE TABLE u (a int)", ()).await.unwrap();
        assert_eq!((rows.len(), rows.columns().len()), (0, 0));
        let rows = db
            .query("INSERT INTO u VALUES (1), (2) RETURNING a", ())
            .await
            .unwrap();
        assert_eq!((rows.len(), rows.cell(1, 0)), (2, Cell::Int(2)));
    });
}

#[test]
fn errors_have_the_codes_and_the_places_that_sqlite_gives() {
    with_database(async |database| {
        let db = Db::new(database.config());
        for sql in [
            "CREATE TABLE p (id int PRIMARY KEY)",
            "CREATE TABLE t (id int PRIMARY KEY, \"e mail\" text UNIQUE, p int REFERENCES p, n int NOT NULL DEFAULT 0 CONSTRAINT few CHECK (n < 9))",
            "INSERT INTO t VALUES (1, 'a')",
        ] {
            db.exec(sql, ()).await.unwrap();
        }
        for (sql, code, columns, constraint) in [
            (
                "INSERT INTO t (id) VALUES (1)",
                "unique",
                &["id"][..],
                Some("t_pkey"),
            ),
            (
                "INSERT INTO t VALUES (2, 'a')",
                "unique",
                &["e mail"],
                Some("t_e mail_key"),
            ),
            (
                "INSERT INTO t (id, p) VALUES (3, 7)",
                "foreign_key",
                &["p"],
                Some("t_p_fkey"),
            ),
            (
                "INSERT INTO t (id, n) VALUES (3, NULL)",
                "not_null",
                &["n"],
                None,
            ),
            (
                "INSERT INTO t (id, n) VALUES (3, 10)",
                "check",
                &[],
                Some("few"),
            ),
        ] {
            let error = db.exec(sql, ()).await.unwrap_err();
            let details = error.details().expect("details").clone();
            assert_eq!(details.code, code, "{error}");
            assert_eq!(details.table.as_deref(), Some("t"), "{error}");
            assert_eq!(details.columns, columns, "{error}");
            assert_eq!(details.constraint.as_deref(), constraint, "{error}");
        }
        for (sql, code, why) in [
            (
                "SELEC 1",
                "syntax",
                "syntax error at or near \"SELEC\" at 1:1 (in: SELEC 1)",
            ),
            (
                "SELECT :ä,\n  nowhere",
                "syntax",
                "column \"nowhere\" does not exist at 2:3 (in: SELECT :ä, nowhere)",
            ),
            (
                "SELECT * FROM nowhere",
                "syntax",
                "relation \"nowhere\" does not exist at 1:15",
            ),
            (
                "SELECT 1; SELECT 2",
                "syntax",
                "one statement at a time: use db.batch",
            ),
            (" -- nothing\n;", "syntax", "there is no statement in it"),
            ("SELECT 1 / 0", "data", "division by zero"),
            (
                "SELECT CAST('x' AS int)",
                "type",
                "invalid input syntax for type integer",
            ),
            (
                "SELECT repeat('x', 70000000)",
                "too_large",
                "the result is larger than result_bytes_max",
            ),
            ("DO $$ BEGIN RAISE 'no'; END $$", "trigger", "no"),
            ("COPY t TO STDOUT", "denied", "or use psql"),
            ("SET search_path = x", "denied", "connections are shared"),
            ("SET LOCAL search_path = x", "denied", "use db.transaction"),
            ("BEGIN", "denied", "db.transaction make transactions"),
            ("SELECT 'a\0'", "syntax", "NUL"),
        ] {
            let values = match sql.contains(":ä") {
                true => Value::List(vec![Value::Null]),
                false => Value::Null,
            };
            let error = db.query(sql, values).await.unwrap_err();
            assert_eq!(error.code(), Some(code), "{sql}: {error}");
            assert!(error.message().contains(why), "{sql}: {error}");
        }
    });
}
