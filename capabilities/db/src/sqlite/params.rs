//! Parameters of a statement: a list fills `?` in order, a table fills `:name`, `@name` and `$name`.

use crate::sql_policy::search::SEARCH_BYTES_MAX;
use crate::sqlite::error::ErrorCode;
use crate::sqlite::run::Trouble;
use crate::sqlite::statement::{Execution, Statement};
use crate::sqlite::status;
use rusqlite::types::ValueRef;
use sampan_host::{Hint, Value};

/// The most parameters that a table fills: finding each takes a look at all names.
const NAMED_PARAMS_MAX: usize = 1_000;

/// Binds `params` to all parameters of the statement.
///
/// # Errors
/// Too many or too few, a name that the statement does not have, a value that SQLite does not have.
pub(crate) fn bind(execution: &mut Execution<'_>, params: &Value) -> Result<(), Trouble> {
    match params {
        Value::Null => bind_list(execution, &[], None),
        Value::List(values) => bind_list(execution, values, Some(Hint::ShortList)),
        // An empty table of Lua is a list too.
        Value::Map(members) if members.is_empty() && names(execution).is_empty() => {
            bind_list(execution, &[], Some(Hint::ShortList))
        }
        Value::Map(members) => bind_names(execution, members),
        other => Err(refused(format!(
            "parameters are a list or named values, not {}",
            other.type_name()
        ))),
    }
}

fn refused(message: impl Into<String>) -> Trouble {
    Trouble::Refused(ErrorCode::Parameter, message.into(), None)
}

/// `hint`: what may have happened if there are too few.
fn bind_list(
    execution: &mut Execution<'_>,
    values: &[Value],
    hint: Option<Hint>,
) -> Result<(), Trouble> {
    let expected = execution.parameter_count();
    if values.len() != expected {
        let message = wrong_count(execution, expected, values.len());
        let hint = hint.filter(|_| values.len() < expected);
        return Err(Trouble::Refused(ErrorCode::Parameter, message, hint));
    }
    for (index, value) in values.iter().enumerate() {
        bind_one(execution, index + 1, value)?;
    }
    Ok(())
}

fn wrong_count(statement: &Statement, expected: usize, given: usize) -> String {
    let amount = |count: usize| match count {
        0 => "no parameters".to_owned(),
        1 => "1 parameter".to_owned(),
        more => format!("{more} parameters"),
    };
    let given_text = match given {
        0 => "none".to_owned(),
        more => more.to_string(),
    };
    let mut message = format!("{} expected, {given_text} given", amount(expected));
    let names = names(statement);
    if given == 0 && !names.is_empty() {
        message = format!("{message}: the statement has {}", names.join(", "));
    } else if given > expected {
        message.push_str(" (a ? in quotes is text)");
    }
    message
}

/// The names of the parameters that have one, with their prefix, in order.
fn names(statement: &Statement) -> Vec<String> {
    (1..=statement.parameter_count())
        .filter_map(|index| statement.parameter_name(index))
        .map(str::to_owned)
        .collect()
}

fn bind_names(execution: &mut Execution<'_>, members: &[(String, Value)]) -> Result<(), Trouble> {
    let count = execution.parameter_count();
    if count > NAMED_PARAMS_MAX {
        return Err(refused(format!(
            "{count} parameters; a table fills at most {NAMED_PARAMS_MAX}: give a list"
        )));
    }
    let mut is_used = vec![false; members.len()];
    for index in 1..=count {
        let Some(name) = execution.parameter_name(index) else {
            return Err(refused(
                "named parameters given, but the statement has a parameter without a name (?): give a list".to_owned(),
            ));
        };
        // The first byte is the prefix. `:x` and `@x` are two parameters that one member fills.
        let Some(at) = members.iter().position(|(key, _)| bare(key) == &name[1..]) else {
            let given = match members {
                [] => "none is given".to_owned(),
                _ => format!(
                    "given are {}",
                    list(members.iter().map(|(key, _)| key.as_str()))
                ),
            };
            return Err(Trouble::Refused(
                ErrorCode::Parameter,
                format!("parameter {name} is missing: {given}"),
                Some(Hint::MissingMember),
            ));
        };
        is_used[at] = true;
        bind_one(execution, index, &members[at].1)?;
    }
    match is_used.iter().position(|is_used| !is_used) {
        None => Ok(()),
        Some(unused) => Err(refused(format!(
            "the statement has no parameter :{}; it has {}",
            bare(&members[unused].0),
            list(names(execution).iter().map(String::as_str))
        ))),
    }
}

/// A name without the prefix that a script may have written.
fn bare(key: &str) -> &str {
    key.strip_prefix([':', '@', '$']).unwrap_or(key)
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

fn bind_one(execution: &mut Execution<'_>, index: usize, value: &Value) -> Result<(), Trouble> {
    let text = match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => &[],
    };
    if text.len() > SEARCH_BYTES_MAX && execution.searches.contains(&index) {
        let why = format!(
            "{} bytes; a full-text search takes at most {SEARCH_BYTES_MAX}",
            text.len()
        );
        return Err(unbindable(execution, index, &why));
    }
    let bound = match value {
        Value::Null => ValueRef::Null,
        Value::Bool(value) => ValueRef::Integer(i64::from(*value)),
        Value::Int(value) => ValueRef::Integer(*value),
        Value::Float(value) if value.is_nan() => {
            return Err(unbindable(execution, index, "NaN is no number"));
        }
        Value::Float(value) => ValueRef::Real(*value),
        Value::Text(_) => ValueRef::Text(text),
        Value::Bytes(_) => ValueRef::Blob(text),
        Value::List(_) => {
            let why = "a list; for IN give it as JSON to IN (SELECT value FROM json_each(?))";
            return Err(unbindable(execution, index, why));
        }
        other => return Err(unbindable(execution, index, &other.type_name())),
    };
    execution
        .bind(index, bound)
        .map_err(|error| match status::is_out_of_memory(&error) {
            true => Trouble::Sqlite(error),
            false => unbindable(execution, index, &crate::sqlite::error::words(&error)),
        })
}

fn unbindable(statement: &Statement, index: usize, why: &str) -> Trouble {
    let name = statement
        .parameter_name(index)
        .map(|name| format!(" ({name})"))
        .unwrap_or_default();
    refused(format!("parameter {index}{name} cannot be bound: {why}"))
}

#[cfg(test)]
mod tests {
    use crate::sqlite::connection::SqliteConnection;
    use crate::sqlite::connection::testing::{all, scratch};
    use sampan_host::{Cell, Rows, Value};

    fn list(values: impl Into<Vec<Value>>) -> Value {
        Value::List(values.into())
    }

    fn table(members: &[(&str, Value)]) -> Value {
        let member = |(key, value): &(&str, Value)| ((*key).to_owned(), value.clone());
        Value::Map(members.iter().map(member).collect())
    }

    fn rows(db: &SqliteConnection, sql: &str, params: &Value) -> Rows {
        db.query(sql, params, &all()).expect(sql)
    }

    fn refusal(db: &SqliteConnection, sql: &str, params: &Value) -> String {
        let fault = db.query(sql, params, &all()).expect_err(sql);
        assert_eq!(fault.error.kind(), sampan_host::ErrorKind::Script);
        fault.error.message().to_owned()
    }

    #[test]
    fn odd_values_come_back_as_they_went_in() {
        let (_folder, _, db) = scratch();
        db.done("CREATE TABLE t(v)");
        let blob = vec![0xA5; 1024 * 1024];
        let cases = [
            (Value::Null, Cell::Null),
            (Value::Bool(true), Cell::Int(1)),
            (Value::Bool(false), Cell::Int(0)),
            (Value::Int(i64::MIN), Cell::Int(i64::MIN)),
            (Value::Int(i64::MAX), Cell::Int(i64::MAX)),
            (Value::Int((1 << 53) + 1), Cell::Int((1 << 53) + 1)),
            (Value::Float(0.1), Cell::Float(0.1)),
            (Value::Float(5.0), Cell::Float(5.0)),
            (
                Value::Float(f64::MIN_POSITIVE),
                Cell::Float(f64::MIN_POSITIVE),
            ),
            (Value::Float(f64::INFINITY), Cell::Float(f64::INFINITY)),
            (Value::from(""), Cell::Text("")),
            (Value::from("a\0b"), Cell::Text("a\0b")),
            (Value::from("🛶 sân"), Cell::Text("🛶 sân")),
            (Value::Bytes(Vec::new()), Cell::Bytes(b"")),
            (Value::Bytes(b"\0\xff".to_vec()), Cell::Bytes(b"\0\xff")),
            (Value::Bytes(blob.clone()), Cell::Bytes(&blob)),
        ];
        for (value, cell) in &cases {
            // Positional, by number, and by each kind of name.
            let params = list([value.clone()]);
            assert_eq!(rows(&db, "SELECT ?", &params).cell(0, 0), *cell);
            assert_eq!(rows(&db, "SELECT ?1", &params).cell(0, 0), *cell);
            let named = table(&[("v", value.clone())]);
            for sql in ["SELECT :v", "SELECT @v", "SELECT $v"] {
                assert_eq!(rows(&db, sql, &named).cell(0, 0), *cell);
            }
            // And through the file.
            db.done("DELETE FROM t");
            rows(&db, "INSERT INTO t VALUES (?)", &params);
            assert_eq!(db.rows("SELECT v FROM t").cell(0, 0), *cell);
        }
    }

    #[test]
    fn text_that_is_not_utf8_becomes_bytes() {
        let (_folder, _, db) = scratch();
        let rows = db.rows("SELECT CAST(x'41ff' AS TEXT), CAST(x'41' AS TEXT)");
        assert_eq!(rows.cell(0, 0), Cell::Bytes(b"A\xff"));
        assert_eq!(rows.cell(0, 1), Cell::Text("A"));
    }

    #[test]
    fn counts_must_match() {
        let (_folder, _, db) = scratch();
        let one = list([Value::Int(1)]);
        assert_eq!(
            refusal(&db, "SELECT ?, ?", &one),
            "2 parameters expected, 1 given (in: SELECT ?, ?)"
        );
        assert_eq!(
            refusal(&db, "SELECT ?", &Value::Null),
            "1 parameter expected, none given (in: SELECT ?)"
        );
        assert_eq!(
            refusal(&db, "SELECT 1", &one),
            "no parameters expected, 1 given (a ? in quotes is text) (in: SELECT 1)"
        );
        assert!(refusal(&db, "SELECT ?3", &one).starts_with("3 parameters expected, 1 given"));
        assert_eq!(
            refusal(&db, "SELECT :a", &table(&[])),
            "parameter :a is missing: none is given (in: SELECT :a)"
        );
        for none in [Value::Null, list([]), table(&[])] {
            assert_eq!(rows(&db, "SELECT 1", &none).len(), 1);
        }
        // What was bound before a refusal is not there the next time.
        let two = list([Value::Int(1), list([])]);
        refusal(&db, "SELECT ?, ?", &two);
        let two = list([Value::Null, Value::Null]);
        assert_eq!(rows(&db, "SELECT ?, ?", &two).cell(0, 0), Cell::Null);
    }

    #[test]
    fn names_must_match() {
        let (_folder, _, db) = scratch();
        let sql = "SELECT :a, @b, :a, $c, @a";
        let full = [
            ("a", Value::Int(1)),
            ("b", Value::Int(2)),
            ("c", Value::Int(3)),
        ];
        let found = rows(&db, sql, &table(&full));
        let cells: Vec<_> = (0..5).map(|column| found.cell(0, column)).collect();
        assert_eq!(cells, [1, 2, 1, 3, 1].map(Cell::Int));
        let prefixed = [(":a", Value::Int(4))];
        assert_eq!(
            rows(&db, "SELECT :a", &table(&prefixed)).cell(0, 0),
            Cell::Int(4)
        );
        assert_eq!(
            refusal(&db, "SELECT :a, :b", &table(&full[..1])),
            "parameter :b is missing: given are a (in: SELECT :a, :b)"
        );
        assert_eq!(
            refusal(&db, "SELECT :a, :b", &table(&full)),
            "the statement has no parameter :c; it has :a, :b (in: SELECT :a, :b)"
        );
        assert!(
            refusal(&db, "SELECT 1", &table(&full))
                .starts_with("the statement has no parameter :a; it has none")
        );
        assert!(refusal(&db, "SELECT ?", &table(&full)).starts_with("named parameters given, but"));
        // A list fills names in their order.
        let pair = list([Value::Int(1), Value::Int(2)]);
        assert_eq!(
            rows(&db, "SELECT :x, :y, :x", &pair).cell(0, 1),
            Cell::Int(2)
        );
    }

    #[test]
    fn what_sqlite_does_not_have_is_named() {
        let (_folder, _, db) = scratch();
        let nested = list([Value::Int(1), table(&[("x", Value::Null)])]);
        assert!(
            refusal(&db, "SELECT ?, :name", &nested)
                .starts_with("parameter 2 (:name) cannot be bound: a map")
        );
        let cases = [
            (
                list([]),
                "a list; for IN give it as JSON to IN (SELECT value FROM json_each(?))",
            ),
            (Value::Float(f64::NAN), "NaN is no number"),
            (Value::Rows(db.rows("SELECT 1")), "a list"),
            (Value::Row(db.rows("SELECT 1")), "a map"),
            (
                Value::Bytes(vec![0; 65 * 1024 * 1024]),
                "string or blob too big",
            ),
        ];
        for (value, why) in cases {
            assert!(
                refusal(&db, "SELECT ?", &list([value]))
                    .starts_with(&format!("parameter 1 cannot be bound: {why}"))
            );
        }
        assert!(
            refusal(&db, "SELECT ?", &Value::from("x"))
                .starts_with("parameters are a list or named values, not a string")
        );
    }
}
