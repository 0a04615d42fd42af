//! Group commit as a worker uses it: several requests, one transaction, and what happens when one of them breaks it.

use crate::Config;
use crate::Db;
use crate::database::{Database, RouteUse};
use crate::sqlite::connection::{Connection, Role, Run};
use crate::test_folder::Folder;
use sampan_host::{Cell, Error, ErrorKind, Outbox, Value, Verdict, Watch};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

struct Rig {
    db: Db,
    outbox: Outbox,
    watch: Arc<Watch>,
    /// What became of the answers, by their name.
    heard: Rc<RefCell<Vec<(String, Verdict)>>>,
}

impl Rig {
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

fn database(folder: &Folder, change: impl FnOnce(&mut Config)) -> Arc<Database> {
    let mut config = Config::new(folder.path("data.db"));
    change(&mut config);
    let database = Arc::new(Database::new(config, Arc::new(|_: &str| {})));
    let first = Rig::new(&database);
    for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT",
        "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
        "CREATE TRIGGER abort_all BEFORE INSERT ON t WHEN NEW.name = 'trigger' BEGIN SELECT RAISE(ROLLBACK, 'never'); END",
    ] {
        first.exec(sql).unwrap();
    }
    first.db.finish_loading().unwrap();
    database
}

/// Runs a test as on a worker's thread, with the task that commits.
fn on_worker(database: &Arc<Database>, test: impl AsyncFnOnce(Rig)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let rig = Rig::new(database);
        let serving = tokio::task::spawn_local(rig.db.clone().serve());
        let reading = tokio::task::spawn_local(rig.db.clone().end_turns());
        test(rig).await;
        serving.abort();
        reading.abort();
    });
}

/// What another process would see.
fn committed(database: &Database) -> i64 {
    let reader = Connection::open(&database.config, Role::Maintenance)
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
    let folder = Folder::new();
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
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("a");
        let error = rig
            .exec("INSERT INTO t (name) VALUES ('b'), ('a')")
            .unwrap_err();
        assert!(error.message().contains("UNIQUE"), "{error}");
        rig.answer("constraint");
        let outer = rig.db.0.enter_batch().unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('c')").unwrap();
        let inner = rig.db.0.enter_batch().unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('d')").unwrap();
        rig.db.0.leave_batch(inner, false).unwrap();
        rig.db.0.leave_batch(outer, true).unwrap();
        rig.answer("nested");
        let thrown = rig.db.0.enter_batch().unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('e')").unwrap();
        rig.db.0.leave_batch(thrown, false).unwrap();
        rig.answer("thrown");
        // A script that is stopped leaves its batch open.
        rig.db.0.enter_batch().unwrap();
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
        let folder = Folder::new();
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
    let folder = Folder::new();
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
        // Whoever catches it may go on.
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
        rig.answer("caught");
        assert_eq!(rig.settle().await, named(&["caught"], Verdict::Committed));
        assert_eq!(committed(&database), 2);
    });
}

#[test]
fn a_batch_whose_transaction_was_undone_does_nothing_more() {
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let outer = rig.db.0.enter_batch().unwrap();
        let inner = rig.db.0.enter_batch().unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.exec("INSERT OR ROLLBACK INTO t (name) VALUES ('a')")
            .unwrap_err();
        let error = rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap_err();
        assert!(error.message().contains("undid"), "{error}");
        // Whoever catches the error and goes on is told at the end.
        rig.db.0.leave_batch(inner, true).unwrap_err();
        rig.db.0.leave_batch(outer, true).unwrap_err();
        let route = RouteUse::default();
        rig.db.left(Some(&route), || false);
        assert!(route.alone.load(Relaxed) && route.writes.load(Relaxed));
        rig.exec("INSERT INTO t (name) VALUES ('c')").unwrap();
        rig.db.left(Some(&route), || false);
        assert_eq!(committed(&database), 1, "it runs alone now");
    });
}

#[test]
fn deferred_foreign_keys_are_checked_at_the_end_of_each_statement() {
    let folder = Folder::new();
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
        let batch = rig.db.0.enter_batch().unwrap();
        rig.exec("INSERT INTO child VALUES (2)").unwrap();
        rig.exec("INSERT INTO parent VALUES (2)").unwrap();
        rig.db.0.leave_batch(batch, true).unwrap();
        let batch = rig.db.0.enter_batch().unwrap();
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
    let folder = Folder::new();
    let database = database(&folder, |config| config.write_millis_max = 30);
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("innocent");
        let endless = "INSERT INTO parent WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";
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
fn a_stopped_script_stops_its_statement() {
    let folder = Folder::new();
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

#[test]
fn workers_take_turns() {
    const WORKERS: usize = 3;
    const WRITES: usize = 200;
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let database = &database;
            scope.spawn(move || {
                on_worker(database, async |rig| {
                    let route = RouteUse::default();
                    route.writes.store(true, Relaxed);
                    for index in 0..WRITES {
                        rig.db.acquire(&route).await.unwrap();
                        rig.exec(&format!("INSERT INTO t (name) VALUES ('{worker}/{index}')"))
                            .unwrap();
                        rig.db.left(Some(&route), || false);
                        rig.answer("one");
                        if index % 3 == 0 {
                            rig.outbox.settled().await;
                        }
                    }
                    rig.outbox.settled().await;
                    let heard = rig.verdicts();
                    assert_eq!(heard.len(), WRITES);
                    assert!(
                        heard
                            .iter()
                            .all(|(_, verdict)| *verdict == Verdict::Committed)
                    );
                });
            });
        }
    });
    assert_eq!(committed(&database), (WORKERS * WRITES) as i64);
}

#[test]
fn the_lock_of_another_process_is_waited_for() {
    let folder = Folder::new();
    let database = database(&folder, |config| config.busy_millis_max = 400);
    let foreign = Connection::open(&database.config, Role::Maintenance)
        .map_err(|fault| fault.error)
        .unwrap();
    on_worker(&database, async |rig| {
        let route = RouteUse::default();
        foreign
            .control("BEGIN IMMEDIATE")
            .map_err(|f| f.error)
            .unwrap();
        // The first write of a route waits in place, and says what it waits for when it gives up.
        let error = rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(!error.message().contains("database is locked"), "{error}");
        rig.db.left(Some(&route), || false);
        // From then on the route waits as a future, and the worker goes on.
        assert!(route.writes.load(Relaxed) && !rig.db.try_acquire(&route));
        let ending = tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            foreign.control("COMMIT").map_err(|f| f.error).unwrap();
            foreign
        });
        rig.db.acquire(&route).await.unwrap();
        let foreign = ending.await.unwrap();
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("a");
        assert_eq!(rig.settle().await, named(&["a"], Verdict::Committed));
        // Reads never wait.
        foreign
            .control("BEGIN IMMEDIATE")
            .map_err(|f| f.error)
            .unwrap();
        assert_eq!(rig.count("SELECT count(*) FROM t"), 1);
        let error = rig.db.acquire(&route).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    });
}

#[test]
fn a_worker_that_ends_in_a_group_takes_it_back() {
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    let rig = Rig::new(&database);
    rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
    rig.answer("a");
    let heard = Rc::clone(&rig.heard);
    drop(rig);
    assert_eq!(*heard.borrow(), named(&["a"], Verdict::Failed));
    let next = Rig::new(&database);
    next.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
    next.db.finish_loading().unwrap();
    assert_eq!(committed(&database), 1);
}

#[test]
fn reads_of_a_turn_share_a_transaction_and_see_every_commit_of_the_process() {
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    let other = Rig::new(&database);
    on_worker(&database, async |rig| {
        let count = || rig.count("SELECT count(*) FROM t");
        let shares = || {
            let reader = rig.db.0.reader.get();
            reader.is_some_and(Connection::in_transaction)
        };
        for _ in 0..4 {
            assert_eq!(count(), 0);
        }
        assert!(!shares(), "nobody knew that there would be several");
        tokio::task::yield_now().await;
        for _ in 0..2 {
            assert_eq!(count(), 0);
            assert!(shares());
        }
        // Another worker commits in the middle of the turn, and its client asks this one.
        other.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        assert_eq!(count(), 0);
        other.db.finish_loading().unwrap();
        assert_eq!(count(), 1);
        tokio::task::yield_now().await;
        assert!(!shares(), "it ends with the turn");
        assert_eq!(count(), 1);
        tokio::task::yield_now().await;
        assert_eq!(count(), 1);
        assert!(!shares(), "a turn with one read needs no transaction");
    });
}

#[test]
fn a_read_that_took_too_long_is_not_tried_in_place_again() {
    let folder = Folder::new();
    let database = database(&folder, |config| config.query_inline_millis_max = 20);
    on_worker(&database, async |rig| {
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let run = |may_wait| {
            let work = |connection: &Connection, run: &Run<'_>| {
                connection.exec(endless, &Value::Null, run)
            };
            let error = rig.db.0.run(endless, false, may_wait, work).unwrap_err();
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::TooLong, Some("timeout"))
            );
            error.message().contains("max before")
        };
        assert!(!run(true));
        assert!(run(true));
        // A caller that cannot wait elsewhere has it tried again.
        assert!(!run(false));
    });
}

#[test]
fn nothing_is_written_to_a_file_that_was_removed() {
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        std::fs::rename(folder.path("data.db"), folder.path("moved.db")).unwrap();
        std::thread::sleep(Duration::from_millis(600));
        let error = rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("removed"), "{error}");
        rig.db.left(None, || false);
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap_err();
    });
}

#[test]
fn a_write_in_place_takes_over_from_those_who_wait() {
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    let (held, is_held) = std::sync::mpsc::channel();
    let other = {
        let database = Arc::clone(&database);
        std::thread::spawn(move || {
            on_worker(&database, async |rig| {
                rig.exec("INSERT INTO t (name) VALUES ('other')").unwrap();
                held.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(100));
                rig.db.left(None, || true);
            });
        })
    };
    is_held.recv().unwrap();
    on_worker(&database, async |rig| {
        let route = RouteUse::default();
        route.writes.store(true, Relaxed);
        let db = rig.db.clone();
        let waiting = tokio::task::spawn_local(async move {
            db.acquire(&route).await.unwrap();
            db.left(None, || false);
        });
        // It is waiting for the connection now, which the other worker has.
        tokio::time::sleep(Duration::from_millis(20)).await;
        rig.exec("INSERT INTO t (name) VALUES ('in place')")
            .unwrap();
        rig.answer("in place");
        let second = Duration::from_secs(1);
        let verdicts = tokio::time::timeout(second, rig.settle()).await;
        assert_eq!(verdicts.unwrap(), named(&["in place"], Verdict::Committed));
        tokio::time::timeout(second, waiting)
            .await
            .unwrap()
            .unwrap();
    });
    other.join().unwrap();
    assert_eq!(committed(&database), 2);
}

#[test]
fn a_file_that_was_moved_away_is_not_made_anew() {
    let folder = Folder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("a");
        rig.settle().await;
        let (path, away) = (folder.path("data.db"), folder.path("away.db"));
        std::fs::rename(&path, &away).unwrap();
        // A worker that has not read yet opens the file now.
        let late = Rig::new(&database);
        let sql = "SELECT count(*) FROM t";
        let read = late.db.0.run(sql, false, false, |connection, run| {
            connection.query(sql, &Value::Null, run)
        });
        assert!(read.is_err());
        assert!(
            !path.exists(),
            "an empty database in its place would take its log"
        );
        std::fs::rename(&away, &path).unwrap();
        assert_eq!(committed(&database), 1);
    });
}
