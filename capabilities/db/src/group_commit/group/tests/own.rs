//! The statements of capabilities: those that are kept together, and their limits.

use super::*;
use crate::group_commit::transaction::{Transaction, TransactionPlace};
use sampan_host::database::AppTables;
use sampan_host::request::RecordedWithWrites;
use sampan_host::{BackgroundRun, CurrentRun, RunOwner};

const ENDLESS: &str =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";

fn add(tables: &dyn AppTables, name: &str) -> Result<(), Error> {
    let sql = format!("INSERT INTO t (name) VALUES ('{name}')");
    tables.write(&sql, &Value::Null).map(drop)
}

/// Adds two rows together, of which the second is there already.
fn add_twice(tables: &dyn AppTables, name: &str) -> Error {
    let both = || add(tables, name).and_then(|()| add(tables, name));
    tables.atomically(Box::new(both)).unwrap_err()
}

#[test]
fn statements_that_are_kept_together_leave_nothing_where_one_fails() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('neighbour')")
            .unwrap();
        rig.answer("neighbour");
        let error = add_twice(&rig.db, "a");
        assert!(error.message().contains("UNIQUE"), "{error}");
        let both = || add(&rig.db, "b").and_then(|()| add(&rig.db, "c"));
        rig.db.atomically(Box::new(both)).unwrap();
        assert_eq!(
            rig.settle().await,
            named(&["neighbour"], Verdict::Committed)
        );
        assert_eq!(committed(&database), 3);
        // Within a batch the rest of the batch stays, and no route counts as one that writes.
        let batch = rig.db.0.enter_batch(false).unwrap();
        add(&rig.db, "d").unwrap();
        add_twice(&rig.db, "e");
        rig.db.0.leave_batch(batch, true).unwrap();
        rig.db.left(None, || true);
        rig.outbox.settled().await;
        assert_eq!(committed(&database), 4);
        let route = RouteUse::default();
        add_twice(&rig.db, "f");
        rig.db.left(Some(&route), || true);
        assert!(!route.has_written());
        // A function that is a write of the script says so.
        rig.db.note_write();
        rig.db.begin_in_place().unwrap();
        rig.db.left(Some(&route), || true);
        assert!(route.has_written());
    });
}

#[test]
fn statements_that_lost_their_group_are_not_in_the_way_of_the_next() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let undone = || {
            add(&rig.db, "a")?;
            // The work goes on as if nothing had happened.
            add(&rig.db, "trigger").unwrap_err();
            Ok(())
        };
        rig.db.atomically(Box::new(undone)).unwrap_err();
        assert_eq!(rig.db.losses(), 1);
        // No run of a script ends in between.
        rig.db.atomically(Box::new(|| add(&rig.db, "b"))).unwrap();
        assert_eq!(rig.outbox.settled().await, Verdict::Committed);
        assert_eq!(committed(&database), 1);
    });
}

#[test]
fn statements_in_a_transaction_are_kept_together() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let place = TransactionPlace::new(&rig.db.0).unwrap();
        let transaction = Transaction::begin(place).await.unwrap();
        add(&*transaction, "a").unwrap();
        add_twice(&*transaction, "b");
        transaction
            .atomically(Box::new(|| add(&*transaction, "c")))
            .unwrap();
        transaction.commit().await.unwrap();
    });
    assert_eq!(committed(&database), 2);
}

#[test]
fn reads_of_capabilities_have_not_the_limit_of_scripts() {
    let folder = TestFolder::new();
    let database = database(&folder, |config| {
        config.query_inline_millis_max = 1;
        config.statement_millis_max = 50;
    });
    on_worker(&database, async |rig| {
        for is_open in [false, true] {
            if is_open {
                add(&rig.db, "a").unwrap();
            }
            let error = rig.db.own_read(ENDLESS, &Value::Null).unwrap_err();
            // A read that waits for the write connection and tries again would not end.
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let text = error.message();
            let told = "the server itself ran longer than statement_millis_max (50 ms)";
            assert!(text.contains(told) && !text.contains("batch"), "{text}");
        }
        assert_eq!(rig.outbox.settled().await, Verdict::Committed);
        assert_eq!(committed(&database), 1);
    });
}

#[test]
fn writes_that_are_recorded_with_an_answer_are_not_committed_before() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let run = CurrentRun::default();
        rig.db.measure(run.clone());
        let recorded = Rc::new(BackgroundRun::default());
        let owner = RunOwner::Background(Rc::clone(&recorded));
        owner.store().put(RecordedWithWrites);
        run.set_background(Some(recorded));
        // These have undone a transaction before.
        let opened = database.opened().unwrap();
        let (read, write) = ("SELECT count(*) FROM t", "UPDATE t SET name = name || 'x'");
        opened.lonely.add(read);
        opened.lonely.add(write);
        rig.exec("INSERT INTO t (name) VALUES ('neighbour')")
            .unwrap();
        rig.answer("neighbour");
        rig.db.left(None, || false);
        // The writes of others are safe before such a run has written.
        rig.count(read);
        assert_eq!(rig.verdicts(), named(&["neighbour"], Verdict::Committed));
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        let error = rig.exec(read).unwrap_err();
        assert!(error.message().contains("Idempotency-Key"), "{error}");
        rig.exec(write).unwrap();
        assert_eq!(committed(&database), 1);
        add(&rig.db, "the record").unwrap();
        rig.answer("a");
        assert_eq!(rig.settle().await, named(&["a"], Verdict::Committed));
        assert_eq!(committed(&database), 3);
        // Other runs have no record that must not be missing.
        run.set_background(None);
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
        rig.count(read);
        assert_eq!(committed(&database), 4);
    });
}
