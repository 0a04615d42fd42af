//! Several workers, other processes, and files that go away.

use super::*;
use sampan_client::wait;
use sampan_host::database::WorkerDatabase;

#[test]
fn workers_take_turns() {
    const WORKERS: usize = 3;
    const WRITES: usize = 200;
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let database = &database;
            scope.spawn(move || {
                on_worker(database, async |rig| {
                    let route = RouteUse::default();
                    route.note(true);
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
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.busy_millis_max = 400);
    let foreign = SqliteConnection::open(&database.config, Role::Maintenance)
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
        assert!(route.has_written() && !rig.db.try_acquire(&route));
        let ending = tokio::task::spawn_local(async move {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
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
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    // A busy machine may make a group old before its request ends: that one is committed, and another is tried.
    let old = (0..100).find(|number| {
        let rig = GroupRig::new(&database);
        rig.exec(&format!("INSERT INTO t (name) VALUES ('a{number}')"))
            .unwrap();
        rig.answer("a");
        let heard = Rc::clone(&rig.heard);
        drop(rig);
        *heard.borrow() == named(&["a"], Verdict::Failed)
    });
    let old = old.expect("a group that was taken back");
    let next = GroupRig::new(&database);
    next.exec("INSERT INTO t (name) VALUES ('b')").unwrap();
    next.db.finish_loading().unwrap();
    assert_eq!(committed(&database), old + 1);
}

#[test]
fn reads_of_a_turn_share_a_transaction_and_see_every_commit_of_the_process() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    let other = GroupRig::new(&database);
    on_worker(&database, async |rig| {
        let count = || rig.count("SELECT count(*) FROM t");
        let shares = || {
            let reader = rig.db.0.reader.get();
            reader.is_some_and(SqliteConnection::in_transaction)
        };
        for _ in 0..4 {
            assert_eq!(count(), 0);
        }
        assert!(!shares(), "no worker knew that there would be several");
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
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.query_inline_millis_max = 20);
    on_worker(&database, async |rig| {
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let run = |may_wait| {
            let work = |connection: &SqliteConnection, run: &RunLimits<'_>| {
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
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        // A group that is written before the file moves finds it out when it commits, and none begins after it.
        let first = rig.exec("INSERT INTO t (name) VALUES ('a')");
        first.expect("written, and not committed");
        std::fs::rename(folder.path("data.db"), folder.path("moved.db")).unwrap();
        rig.db.left(None, || true);
        assert_eq!(rig.db.losses(), 1);
        assert_eq!(WorkerDatabase::lost(&rig.db).kind(), ErrorKind::Unavailable);
        let error = rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("removed"), "{error}");
        rig.db.left(None, || false);
        rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap_err();
    });
}

/// Those who wait go on when the write has its group, when that is committed in the same turn because it is old, and
/// when the write gives up.
#[test]
fn a_write_in_place_takes_over_from_those_who_wait() {
    for is_old in [false, true] {
        takes_over(is_old);
    }
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.busy_millis_max = 20);
    let other = GroupRig::new(&database);
    other.exec("INSERT INTO t (name) VALUES ('other')").unwrap();
    on_worker(&database, async |rig| {
        let waiting = waits(&rig);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let error = rig
            .exec("INSERT INTO t (name) VALUES ('late')")
            .unwrap_err();
        assert_eq!(error.code(), Some("busy"), "{error}");
        other.db.left(None, || true);
        waiting.await.unwrap();
    });
    assert_eq!(committed(&database), 1);
}

/// Starts a run that waits for the write connection.
fn waits(rig: &GroupRig) -> tokio::task::JoinHandle<()> {
    let route = RouteUse::default();
    route.note(true);
    let db = rig.db.clone();
    tokio::task::spawn_local(async move {
        db.acquire(&route).await.unwrap();
        db.left(None, || false);
    })
}

fn takes_over(is_old: bool) {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    let (held, is_held) = std::sync::mpsc::channel();
    let other = {
        let database = Arc::clone(&database);
        std::thread::spawn(move || {
            on_worker(&database, async |rig| {
                rig.exec("INSERT INTO t (name) VALUES ('other')").unwrap();
                held.send(()).unwrap();
                wait::dawdle(Duration::from_millis(100));
                rig.db.left(None, || true);
            });
        })
    };
    is_held.recv().unwrap();
    on_worker(&database, async |rig| {
        let waiting = waits(&rig);
        // It is waiting for the connection now, which the other worker has.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        rig.exec("INSERT INTO t (name) VALUES ('in place')")
            .unwrap();
        if is_old {
            wait::dawdle(Duration::from_millis(2));
        }
        rig.answer("in place");
        assert_eq!(rig.settle().await, named(&["in place"], Verdict::Committed));
        waiting.await.unwrap();
    });
    other.join().unwrap();
    assert_eq!(committed(&database), 2);
}

#[test]
fn a_file_that_was_moved_away_is_not_made_anew() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap();
        rig.answer("a");
        rig.settle().await;
        let (path, away) = (folder.path("data.db"), folder.path("away.db"));
        std::fs::rename(&path, &away).unwrap();
        // A worker that has not read yet opens the file now.
        let late = GroupRig::new(&database);
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
