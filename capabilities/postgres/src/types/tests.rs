//! Tests of values on their way to the server and from it.

use super::oids::{self, Oid};
use super::read::{CellForms, Reading, Unreadable};
use super::{array, bind, dates};
use bytes::BytesMut;
use sampan_host::{Cell, Rows, Value};
use std::sync::Arc;

fn bound(value: &Value, oid: Oid) -> Result<String, String> {
    let mut out = BytesMut::new();
    bind::write(value, oid, &mut out)?;
    Ok(String::from_utf8_lossy(&out[4..]).into_owned())
}

#[test]
fn values_fit_the_type_that_the_server_has_found() {
    const TEXT: Oid = 25;
    for (value, oid, expected) in [
        (Value::Int(i64::MAX), oids::INT8, "9223372036854775807"),
        (Value::Float(5.0), oids::INT4, "5"),
        (Value::Bool(true), oids::INT2, "1"),
        (Value::from(" 42 "), oids::INT8, "42"),
        (Value::Int(1), oids::BOOL, "t"),
        (Value::Bool(false), oids::BOOL, "f"),
        (Value::Int(5), TEXT, "5"),
        (Value::Float(5.0), TEXT, "5"),
        (
            Value::Float(9_007_199_254_740_992.0),
            TEXT,
            "9007199254740992",
        ),
        (Value::Float(-1e20), TEXT, "-100000000000000000000"),
        (Value::Float(1e21), TEXT, "1e21"),
        (Value::Float(-0.0), oids::FLOAT8, "-0"),
        (Value::Bool(true), TEXT, "1"),
        (Value::Float(0.1), oids::FLOAT8, "0.1"),
        (Value::Float(f64::NEG_INFINITY), oids::FLOAT8, "-Infinity"),
        (Value::Float(f64::NAN), oids::FLOAT4, "NaN"),
        (Value::Float(f64::NAN), oids::FLOAT8, "NaN"),
        (Value::Float(f64::NAN), oids::NUMERIC, "NaN"),
        (Value::from("1.50"), oids::NUMERIC, "1.50"),
        (Value::Float(f64::INFINITY), oids::DATE, "Infinity"),
        (
            Value::Float(f64::NEG_INFINITY),
            oids::TIMESTAMPTZ,
            "-Infinity",
        ),
        (Value::from("ä"), oids::BYTEA, "ä"),
        (Value::from("{}"), oids::JSONB, "{}"),
        (Value::from("äöüäöü-1"), oids::DATE, "äöüäöü-1"),
        (Value::from("2026-01-31"), oids::DATE, "2026-01-31"),
        (
            Value::from("-000043-03-15T12:00:00.000Z"),
            oids::TIMESTAMPTZ,
            "0044-03-15 12:00:00.000+00 BC",
        ),
        (
            Value::from("0000-01-02T00:00:00.000Z"),
            oids::TIMESTAMP,
            "0001-01-02 00:00:00.000+00 BC",
        ),
        (
            Value::from("+010000-01-01T00:00:00.000Z"),
            oids::TIMESTAMP,
            "10000-01-01 00:00:00.000+00",
        ),
    ] {
        assert_eq!(bound(&value, oid).as_deref(), Ok(expected), "{value:?}");
    }
    for (value, oid, why) in [
        (
            Value::from("abc"),
            oids::INT4,
            "the text \"abc\" is not a whole number, as the type integer has",
        ),
        (Value::Float(2.5), oids::INT8, "2.5 is not a whole number"),
        (
            Value::Float(1e21),
            oids::INT8,
            "1000000000000000000000 is outside of the type bigint",
        ),
        (
            Value::from("9223372036854775808"),
            oids::INT8,
            "9223372036854775808 is outside of the type bigint",
        ),
        (
            Value::Float(f64::NAN),
            oids::TIMESTAMPTZ,
            "NaN, or an invalid Date, is no time",
        ),
        (
            Value::from("-004713-01-01T00:00:00.000Z"),
            oids::DATE,
            "the year 4714 BC is before 4713 BC",
        ),
        (
            Value::Int(40_000),
            oids::INT2,
            "40000 is outside of the type smallint",
        ),
        (
            Value::Int(2),
            oids::BOOL,
            "the number 2 is not of the type boolean: give a boolean, 0 or 1",
        ),
        (Value::Float(f64::NAN), TEXT, "NaN is no number"),
        (Value::Float(f64::NAN), oids::JSONB, "NaN is no number"),
        (
            Value::from("a\0b"),
            TEXT,
            "PostgreSQL keeps no text with the character NUL",
        ),
        (Value::Bytes(vec![1]), TEXT, "is not of the type text"),
        (
            Value::Int(1),
            oids::TIMESTAMP,
            "give text such as 2026-01-31 12:00:00, or write to_timestamp(?)",
        ),
        (
            Value::List(Vec::new()),
            oids::INT4,
            "is not of the type integer",
        ),
        (Value::Map(Vec::new()), oids::JSONB, "give it as JSON text"),
        (
            Value::from("abc"),
            oids::NUMERIC,
            "is not of the type numeric",
        ),
    ] {
        let error = bound(&value, oid).expect_err("refused");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn dates_reach_from_the_first_year_to_the_last() {
    let timestamp = |micros| {
        let mut text = String::new();
        dates::write_timestamp(micros, &mut text);
        text
    };
    for (micros, expected) in [
        (0, "2000-01-01 00:00:00"),
        (-1, "1999-12-31 23:59:59.999999"),
        (1_500_000, "2000-01-01 00:00:01.500"),
        (9_223_371_331_199_999_999, "294276-12-31 23:59:59.999999"),
        (-211_813_488_000_000_000, "4714-11-24 00:00:00 BC"),
        (-63_082_281_600_000_000, "0001-01-01 00:00:00"),
        (-63_082_281_600_000_001, "0001-12-31 23:59:59.999999 BC"),
        (i64::MAX, "infinity"),
        (i64::MIN, "-infinity"),
    ] {
        assert_eq!(timestamp(micros), expected);
    }
    let mut text = String::new();
    dates::write_date(59, &mut text);
    assert_eq!(text, "2000-02-29");
}

/// Reads a cell as a script gets it that asks for `forms`.
fn read(bytes: &[u8], oid: Oid, forms: CellForms) -> Result<Rows, Unreadable> {
    let mut rows = Rows::new(Arc::from(["a".to_owned()]));
    Reading::of(oid).push(bytes, forms, &mut rows)?;
    Ok(rows)
}

#[test]
fn cells_are_times_and_numbers_only_where_they_are_asked_for() {
    const DATES: CellForms = CellForms {
        has_dates: true,
        has_numbers: false,
    };
    const NUMBERS: CellForms = CellForms {
        has_dates: false,
        has_numbers: true,
    };
    let [day, moment] = [
        59_i32.to_be_bytes().to_vec(),
        (-1_i64).to_be_bytes().to_vec(),
    ];
    let check = |bytes: &[u8], oid, forms, expected| {
        let rows = read(bytes, oid, forms).expect("a cell");
        match (rows.cell(0, 0), expected) {
            (Cell::Float(found), Cell::Float(expected)) => {
                assert_eq!(found.to_bits(), expected.to_bits());
            }
            (found, expected) => assert_eq!(found, expected),
        }
    };
    for forms in [CellForms::default(), NUMBERS] {
        check(&day, oids::DATE, forms, Cell::Text("2000-02-29"));
        let text = Cell::Text("1999-12-31 23:59:59.999999");
        check(&moment, oids::TIMESTAMPTZ, forms, text);
    }
    for forms in [CellForms::default(), DATES] {
        check(b"1.50", oids::NUMERIC, forms, Cell::Text("1.50"));
        check(b"NaN", oids::NUMERIC, forms, Cell::Text("NaN"));
    }
    check(&day, oids::DATE, DATES, Cell::Date(951_782_400_000));
    for oid in [oids::TIMESTAMP, oids::TIMESTAMPTZ] {
        for (micros, expected) in [
            (0, Cell::Date(946_684_800_000)),
            (-1, Cell::Date(946_684_799_999)),
            (9_223_371_331_199_999_999, Cell::Date(9_224_318_015_999_999)),
            (i64::MAX, Cell::Float(f64::INFINITY)),
            (i64::MIN, Cell::Float(f64::NEG_INFINITY)),
        ] {
            check(&micros.to_be_bytes(), oid, DATES, expected);
        }
    }
    for (days, expected) in [
        (i32::MAX, Cell::Float(f64::INFINITY)),
        (i32::MIN, Cell::Float(f64::NEG_INFINITY)),
        // 5874897-12-31, the last one.
        (2_145_031_948, Cell::Date(185_331_706_992_000_000)),
    ] {
        check(&days.to_be_bytes(), oids::DATE, DATES, expected);
    }
    for (single, expected) in [
        (0.1_f32, 0.1),
        (-0.0, -0.0),
        (16_777_216.0, 16_777_216.0),
        // Its shortest digits are those of 2147483600.
        (2_147_483_648.0, 2_147_483_648.0),
        (-9_007_199_254_740_992.0, -9_007_199_254_740_992.0),
        (1e20, 1e20),
        (f32::NEG_INFINITY, f64::NEG_INFINITY),
        (f32::NAN, f64::NAN),
    ] {
        let forms = CellForms::default();
        check(
            &single.to_be_bytes(),
            oids::FLOAT4,
            forms,
            Cell::Float(expected),
        );
    }
    let huge = "9".repeat(1_000);
    for (digits, expected) in [
        ("1.50", 1.5),
        ("-0.1", -0.1),
        ("9007199254740993", 9_007_199_254_740_992.0),
        (&*huge, f64::INFINITY),
        ("NaN", f64::NAN),
        ("-Infinity", f64::NEG_INFINITY),
    ] {
        check(
            digits.as_bytes(),
            oids::NUMERIC,
            NUMBERS,
            Cell::Float(expected),
        );
    }
    // Arrays stay JSON text, and times of day stay text.
    let both = CellForms {
        has_dates: true,
        has_numbers: true,
    };
    check(b"{1.50}", 1231, both, Cell::Text("[\"1.50\"]"));
    check(b"12:00:00", oids::TIME, both, Cell::Text("12:00:00"));
    for (bytes, oid) in [
        (&b"1.5.0"[..], oids::NUMERIC),
        (b"\xff", oids::NUMERIC),
        (b"1", oids::DATE),
    ] {
        assert!(matches!(read(bytes, oid, both), Err(Unreadable::Malformed)));
    }
}

#[test]
fn arrays_become_json_and_lists_become_arrays() {
    for (literal, element, expected) in [
        ("{}", oids::INT4, Some("[]")),
        ("{1,NULL,-3}", oids::INT8, Some("[1,null,-3]")),
        ("{{1,2},{3,4}}", oids::INT4, Some("[[1,2],[3,4]]")),
        ("[0:1]={1,2}", oids::INT4, Some("[1,2]")),
        (
            "{a,\"b c\",\"NULL\",\"q\\\"\\\\\"}",
            25,
            Some("[\"a\",\"b c\",\"NULL\",\"q\\\"\\\\\"]"),
        ),
        ("{t,f}", oids::BOOL, Some("[true,false]")),
        ("{1.5,NaN}", oids::FLOAT8, Some("[1.5,\"NaN\"]")),
        ("{1.50}", oids::NUMERIC, Some("[\"1.50\"]")),
        (
            "{\"2026-01-31 12:00:00+00\"}",
            oids::TIMESTAMPTZ,
            Some("[\"2026-01-31 12:00:00\"]"),
        ),
        ("{\"{\\\"a\\\": 1}\"}", oids::JSONB, Some("[{\"a\": 1}]")),
        ("{", oids::INT4, None),
        ("{1", oids::INT4, None),
        ("{1}}", oids::INT4, None),
        ("", oids::INT4, None),
        ("{,}", oids::INT4, None),
        ("{\"a", 25, None),
    ] {
        let mut json = String::new();
        let done = array::write_json(literal, element, &mut json);
        assert_eq!(done.map(|()| &*json), expected, "{literal}");
    }
    let list = Value::List(vec![
        Value::Null,
        Value::Int(1),
        Value::from("a \"b\" \\ {}"),
        Value::List(vec![Value::Bool(true), Value::Bytes(vec![0, 255])]),
    ]);
    assert_eq!(bound(&Value::Map(Vec::new()), 1007).as_deref(), Ok("{}"));
    let numbers = Value::List(vec![Value::Float(f64::NAN), Value::Float(0.5)]);
    assert_eq!(bound(&numbers, 1231).as_deref(), Ok("{NaN,0.5}"));
    let error = bound(&numbers, 1009).expect_err("refused");
    assert!(error.contains("NaN is no number"), "{error}");
    assert_eq!(
        bound(&list, 1009).as_deref(),
        Ok("{NULL,1,\"a \\\"b\\\" \\\\ {}\",{1,\"\\\\x00ff\"}}")
    );
}

#[test]
fn booleans_in_lists_are_written_as_the_type_of_the_elements_reads_them() {
    let flags = || Value::List(vec![Value::Bool(true), Value::Bool(false)]);
    let list = Value::List(vec![flags(), flags()]);
    for (array, element, expected) in [
        (1000, oids::BOOL, ["t", "f"]),
        (1005, oids::INT2, ["1", "0"]),
        (1007, oids::INT4, ["1", "0"]),
        (1016, oids::INT8, ["1", "0"]),
        (1009, 25, ["1", "0"]),
        (1231, oids::NUMERIC, ["1", "0"]),
        (199, oids::JSON, ["true", "false"]),
        (3807, oids::JSONB, ["true", "false"]),
    ] {
        assert_eq!(oids::element(array), Some(element));
        let [yes, no] = expected;
        let literal = format!("{{{{{yes},{no}}},{{{yes},{no}}}}}");
        assert_eq!(bound(&list, array), Ok(literal));
        // A boolean alone is written so too.
        assert_eq!(bound(&Value::Bool(true), element).as_deref(), Ok(yes));
        assert_eq!(bound(&Value::Bool(false), element).as_deref(), Ok(no));
    }
    // An array of a type of the user's own: 1 is a boolean there too.
    assert_eq!(bound(&flags(), 99_999).as_deref(), Ok("{1,0}"));
}
