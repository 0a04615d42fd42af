//! Statements that stay prepared: their places, their turns, their connection that moves.

use super::testing::{all, scratch};
use super::*;
use sampan_host::Cell;

/// Has nothing prepared.
fn given_up() -> Result<(), Trouble> {
    Err(Trouble::Sqlite(rusqlite::Error::InvalidQuery))
}

fn one(db: &SqliteConnection, sql: &str, param: Value) -> i64 {
    let rows = db.query(sql, &Value::List(vec![param]), &all()).expect(sql);
    match rows.cell(0, 0) {
        Cell::Int(value) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn statements_take_turns_and_move_with_their_connection() {
    let (folder, mut config, _db) = scratch();
    config.statements_max = 6;
    let mut db = SqliteConnection::open(&config, Role::Reader).unwrap();
    for round in 0..20 {
        // Eight texts for six places, of which four are compared first: some are found, others were given up.
        for number in [0, 1, 0, 0, 2, 3, 4, 5, 1, 6, 7, 3, round % 8] {
            let sql = format!("SELECT ? + {number}");
            assert_eq!(one(&db, &sql, Value::Int(round)), round + number);
        }
        assert_eq!(db.prepared.len(), 6);
        // To another address, in another thread, and back.
        let moved = Box::new(db);
        db = *std::thread::spawn(move || {
            assert_eq!(one(&moved, "SELECT ? + 1", Value::Int(round)), round + 1);
            moved
        })
        .join()
        .unwrap();
    }
    drop(db);
    drop(folder);
}

#[test]
fn what_was_not_used_longest_is_given_up() {
    let (_folder, mut config, _db) = scratch();
    config.statements_max = 6;
    let db = SqliteConnection::open(&config, Role::Reader).unwrap();
    let text = |number: i64| format!("SELECT ? + {number}");
    for number in [0, 1, 2, 3, 4, 5, 0, 2, 6, 7] {
        assert_eq!(one(&db, &text(number), Value::Int(1)), 1 + number);
    }
    let is_kept = |number| db.prepared.script(&text(number), given_up).is_ok();
    let kept: Vec<i64> = (0..8).filter(|number| is_kept(*number)).collect();
    assert_eq!(kept, [0, 2, 4, 5, 6, 7]);
}

#[test]
fn one_place_is_enough() {
    let (_folder, mut config, _db) = scratch();
    for places in [0, 1] {
        config.statements_max = places;
        let db = SqliteConnection::open(&config, Role::Reader).unwrap();
        for _ in 0..3 {
            assert_eq!(one(&db, "SELECT ?", Value::Int(1)), 1);
            assert_eq!(one(&db, "SELECT ? + 1", Value::Int(1)), 2);
        }
        assert_eq!(db.prepared.len(), 1);
    }
}

#[test]
fn a_statement_that_fails_is_kept_and_what_was_bound_is_forgotten() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(a UNIQUE)");
    let sql = "INSERT INTO t VALUES (?)";
    let run = |param: Value| db.exec(sql, &Value::List(vec![param]), &all());
    run(Value::Int(1)).unwrap();
    assert!(run(Value::Int(1)).is_err());
    assert!(run(Value::Float(f64::NAN)).is_err());
    // Without parameters it has NULL.
    let mut kept = db.prepared.script(sql, given_up).unwrap();
    kept.start().finish().unwrap();
    drop(kept);
    assert_eq!(
        db.rows("SELECT a FROM t WHERE rowid > 1").cell(0, 0),
        Cell::Null
    );
    run(Value::Int(2)).unwrap();
    assert_eq!(db.rows("SELECT count(*) FROM t").cell(0, 0), Cell::Int(3));
}
