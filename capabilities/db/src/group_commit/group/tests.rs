//! Group commit as a worker uses it: several requests, one transaction, and what happens when one of them breaks it.

use crate::DatabaseConfig;
use crate::Db;
use crate::database::Database;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::open::Role;
use crate::sqlite::run::RunLimits;
use crate::test_folder::TestFolder;
use sampan_host::database::RouteUse;
use sampan_host::{Cell, Error, ErrorKind, Outbox, Value, Verdict, Watch};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

mod own;
mod transactions;
mod workers;

struct GroupRig {
    db: Db,
    outbox: Outbox,
    watch: Arc<Watch>,
    /// The fate of the answers, by their name.
    heard: Rc<RefCell<Vec<(String, Verdict)>>>,
}

impl GroupRig {
    fn new(database: &Arc<Database>) -> Self {
        let (outbox, watch) = (Outbox::default(), Arc::new(Watch::default()));
        Self {
            db: Db::new(Arc::clone(database), outbox.clone(), Arc::clone(&watch)),
            outbox,
            watch,
            heard: Rc::default(),
        }
    }

    fn exec(&self, sql: &str) -> Result<i64, Error> {
        self.db
            .0
            .run(sql, false, false, |c, run| c.exec(sql, &Value::Null, run))
            .map(|done| done.changes)
    }

    fn count(&self, sql: &str) -> i64 {
        let rows = self
            .db
            .0
            .run(sql, false, false, |c, run| c.query(sql, &Value::Null, run))
            .unwrap();
        match rows.cell(0, 0) {
            Cell::Int(count) => count,
            other => panic!("{other:?}"),
        }
    }

    /// The end of a request's run: its answer is held.
    fn answer(&self, name: &str) {
        let (heard, name) = (Rc::clone(&self.heard), name.to_owned());
        self.db.left(None, || false);
        self.outbox.hold(Box::new(move |verdict| {
            heard.borrow_mut().push((name, verdict));
        }));
    }

    fn verdicts(&self) -> Vec<(String, Verdict)> {
        std::mem::take(&mut *self.heard.borrow_mut())
    }

    async fn settle(&self) -> Vec<(String, Verdict)> {
        self.outbox.settled().await;
        self.verdicts()
    }
}

fn database(folder: &TestFolder, change: impl FnOnce(&mut DatabaseConfig)) -> Arc<Database> {
    let mut config = DatabaseConfig::new(folder.path("data.db"));
    change(&mut config);
    let database = Arc::new(Database::new(config, Arc::new(|_, _: &str| {})));
    let first = GroupRig::new(&database);
    for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT",
        "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
        "CREATE TRIGGER abort_all BEFORE INSERT ON t WHEN NEW.name = 'trigger' BEGIN SELECT RAISE(ROLLBACK, 'never'); \
         END",
    ] {
        first.exec(sql).unwrap();
    }
    first.db.finish_loading().unwrap();
    database
}

/// Runs a test as on a worker's thread, with the task that commits.
fn on_worker(database: &Arc<Database>, test: impl AsyncFnOnce(GroupRig)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let rig = GroupRig::new(database);
        let serving = tokio::task::spawn_local(rig.db.clone().serve());
        let reading = tokio::task::spawn_local(rig.db.clone().end_turns());
        test(rig).await;
        serving.abort();
        reading.abort();
    });
}

/// Returns the rows visible to another process.
fn committed(database: &Database) -> i64 {
    let reader = SqliteConnection::open(&database.config, Role::Maintenance)
        .map_err(|fault| fault.error)
        .unwrap();
    reader
        .sqlite()
        .query_row("SELECT count(*) FROM t", (), |row| row.get(0))
        .unwrap()
}

fn named(names: &[&str], verdict: Verdict) -> Vec<(String, Verdict)> {
    names
        .iter()
        .map(|name| ((*name).to_owned(), verdict))
        .collect()
}

#[test]
fn requests_that_run_together_are_committed_together() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        for name in ["a", "b", "c"] {
            rig.exec(&format!("INSERT INTO t (name) VALUES ('{name}')"))
                .unwrap();
            rig.answer(name);
        }
        // A request that only reads sees what the others wrote, so its answer waits with theirs.
        assert_eq!(rig.count("SELECT count(*) FROM t"), 3);
        rig.answer("reader");
        assert_eq!(committed(&database), 0);
        assert!(rig.verdicts().is_empty());
        assert_eq!(
            rig.settle().await,
            named(&["a", "b", "c", "reader"], Verdict::Committed)
        );
        assert_eq!(committed(&database), 3);
        // Without a group nothing is held.
        rig.answer("later");
        assert_eq!(rig.verdicts(), named(&["later"], Verdict::Committed));
    });
}

#[test]
fn errors_undo_their_statement_or_their_batch_alone() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("a");
        let error = rig
            .exec("INSERT INTO t (name) VALUES ('b'), ('a')")
            .unwrap_err();
        assert!(error.message().contains("UNIQUE"), "{error}");
        rig.answer("constraint");
        let outer = rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('c')").unwrap();
        let inner = rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('d')").unwrap();
        rig.db.0.leave_batch(inner, false).unwrap();
        rig.db.0.leave_batch(outer, true).unwrap();
        rig.answer("nested");
        let thrown = rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('e')").unwrap();
        rig.db.0.leave_batch(thrown, false).unwrap();
        rig.answer("thrown");
        // A script that is stopped leaves its batch open.
        rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('f')").unwrap();
        rig.answer("stopped");
        assert_eq!(rig.settle().await.len(), 5);
        assert_eq!(
            rig.count("SELECT count(*) FROM t WHERE name IN ('a', 'c')"),
            2
        );
        assert_eq!(committed(&database), 2);
    });
}

#[test]
fn nobody_is_told_of_writes_that_a_neighbour_undid() {
    for sql in [
        "INSERT OR ROLLBACK INTO t (name) VALUES ('a')",
        "INSERT INTO t (name) VALUES ('trigger')",
    ] {
        let folder = TestFolder::new();
        let database = database(&folder, |_| {});
        on_worker(&database, async |rig| {
            rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
            rig.answer("innocent");
            let losses = rig.db.losses();
            rig.exec(sql).unwrap_err();
            assert_eq!(rig.db.losses(), losses + 1);
            assert_eq!(rig.verdicts(), named(&["innocent"], Verdict::Failed));
            // The request goes on, but it will be answered 500, so it writes nothing more.
            rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap_err();
            rig.db.left(None, || false);
            assert_eq!(committed(&database), 0);
            rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
            rig.answer("next request");
            rig.settle().await;
            assert_eq!(committed(&database), 1);
            // From now on the statement has a transaction of its own.
            rig.exec("INSERT INTO t (name) VALUES ('c')").unwrap();
            rig.answer("neighbour");
            let _ = rig.exec(sql);
            assert_eq!(rig.verdicts(), named(&["neighbour"], Verdict::Committed));
            rig.db.left(None, || false);
            assert!(committed(&database) >= 2);
        });
    }
}

#[test]
fn a_statement_that_undid_nothing_but_itself_is_an_error_like_others() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("first");
        rig.settle().await;
        let losses = rig.db.losses();
        let error = rig
            .exec("INSERT OR ROLLBACK INTO t (name) VALUES ('a')")
            .unwrap_err();
        assert!(error.message().contains("UNIQUE"), "{error}");
        assert_eq!(rig.db.losses(), losses);
        // A script that catches it may continue.
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
        rig.answer("caught");
        assert_eq!(rig.settle().await, named(&["caught"], Verdict::Committed));
        assert_eq!(committed(&database), 2);
    });
}

#[test]
fn a_batch_whose_transaction_was_undone_does_nothing_more() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let outer = rig.db.0.enter_batch(false).unwrap();
        let inner = rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.exec("INSERT OR ROLLBACK INTO t (name) VALUES ('a')")
            .unwrap_err();
        let error = rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap_err();
        assert!(error.message().contains("undid"), "{error}");
        // A script that catches the error and continues gets it at the end.
        rig.db.0.leave_batch(inner, true).unwrap_err();
        rig.db.0.leave_batch(outer, true).unwrap_err();
        let route = RouteUse::default();
        rig.db.left(Some(&route), || false);
        assert!(route.runs_alone() && route.has_written());
        rig.exec("INSERT INTO t (name) VALUES ('c')").unwrap();
        rig.db.left(Some(&route), || false);
        assert_eq!(committed(&database), 1, "it runs alone now");
    });
}

#[test]
fn deferred_foreign_keys_are_checked_at_the_end_of_each_statement() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec(
            "CREATE TABLE child (p INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
        )
        .unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("innocent");
        let error = rig.exec("INSERT INTO child VALUES (1)").unwrap_err();
        assert!(error.message().contains("FOREIGN KEY"), "{error}");
        let batch = rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO child VALUES (2)").unwrap();
        rig.exec("INSERT INTO parent VALUES (2)").unwrap();
        rig.db.0.leave_batch(batch, true).unwrap();
        let batch = rig.db.0.enter_batch(false).unwrap();
        rig.exec("INSERT INTO child VALUES (3)").unwrap();
        rig.db.0.leave_batch(batch, true).unwrap_err();
        rig.answer("same");
        assert_eq!(
            rig.settle().await,
            named(&["innocent", "same"], Verdict::Committed)
        );
        assert_eq!(rig.count("SELECT count(*) FROM child"), 1);
        assert_eq!(rig.db.losses(), 0);
    });
}

#[test]
fn a_write_that_takes_too_long_is_undone_with_its_group_and_runs_alone_then() {
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.write_millis_max = 30);
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("innocent");
        let endless = "INSERT INTO parent WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x \
         FROM n";
        let error = rig.exec(endless).unwrap_err();
        assert!(error.message().contains("write_millis_max"), "{error}");
        assert_eq!(rig.verdicts(), named(&["innocent"], Verdict::Failed));
        rig.db.left(None, || false);
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
        rig.answer("neighbour");
        rig.exec(endless).unwrap_err();
        assert_eq!(rig.verdicts(), named(&["neighbour"], Verdict::Committed));
        assert_eq!(committed(&database), 1);
        rig.db.left(None, || false);
        assert_eq!(rig.count("SELECT count(*) FROM parent"), 0);
    });
}

#[test]
fn a_read_that_undoes_a_transaction_takes_no_acknowledged_write_with_it() {
    let folder = TestFolder::new();
    let database = database(&folder, |config| {
        config.statement_bytes_max = 1024 * 1024;
        config.cache_kib = 64;
    });
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("innocent");
        let large = "SELECT json_group_array(hex(zeroblob(1000000))) FROM t";
        let error = rig.exec(large).unwrap_err();
        assert!(error.message().contains("statement_bytes_max"), "{error}");
        assert_eq!(rig.verdicts(), named(&["innocent"], Verdict::Failed));
        rig.db.left(None, || false);
        assert_eq!(committed(&database), 0);
        // From now on it is done behind the commit.
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
        rig.answer("neighbour");
        rig.exec(large).unwrap_err();
        assert_eq!(rig.verdicts(), named(&["neighbour"], Verdict::Committed));
        rig.db.left(None, || false);
        assert_eq!(committed(&database), 1);
    });
}

#[test]
fn a_stopped_script_stops_its_statement() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.watch.enter(1);
        rig.watch.stop(rig.watch.epoch());
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let error = rig.exec(endless).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
        rig.watch.leave();
    });
}
