//! Checkpoints: that they are made, that the log does not grow without end, and how faults are told.

use super::*;
use crate::test_folder::TestFolder;
use sampan_client::wait;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

/// A database with a writer, and the faults that its checkpointer reports.
struct CheckpointScene {
    folder: TestFolder,
    config: DatabaseConfig,
    writer: SqliteConnection,
    checkpointer: Checkpointer,
    faults: Receiver<String>,
}

impl CheckpointScene {
    fn new(change: impl Fn(&mut DatabaseConfig)) -> Self {
        let folder = TestFolder::new();
        let mut config = DatabaseConfig::new(folder.path("a.db"));
        config.checkpoint_pages = 50;
        change(&mut config);
        let writer = SqliteConnection::open(&config, Role::Writer).expect("opened");
        writer
            .sqlite()
            .execute_batch("CREATE TABLE t(x)")
            .expect("a table");
        let (sender, faults) = channel();
        let on_fault = Box::new(move |fault| drop(sender.send(fault)));
        let checkpointer = Checkpointer::start(&config, &LogFollower::new(&config), on_fault);
        Self {
            folder,
            config,
            writer,
            checkpointer,
            faults,
        }
    }

    /// A commit of some pages, which the checkpointer is told of.
    fn write(&self, pages: u32) {
        let sql = "INSERT INTO t VALUES (zeroblob(?))";
        // As the workers do.
        wait::until("room in the log", || {
            self.checkpointer.wal_bytes() <= self.config.wal_bytes_max
        });
        wait::until("a write", || {
            let written = self.writer.sqlite().execute(sql, [i64::from(pages) * 4096]);
            if let Err(error) = &written {
                let code = error.sqlite_error_code();
                assert_eq!(code, Some(rusqlite::ErrorCode::DatabaseBusy));
            }
            written.is_ok()
        });
        self.checkpointer.committed(self.writer.wal_pages());
    }

    fn reader(&self) -> rusqlite::Connection {
        let reader = crate::sqlite::memory::connect_for_test(&self.config.path).expect("opened");
        reader
            .execute_batch("BEGIN; SELECT count(*) FROM t")
            .expect("a snapshot");
        reader
    }

    fn log(&self) -> PathBuf {
        self.folder.path("a.db-wal")
    }
}

#[test]
fn the_log_is_copied_when_it_is_long_enough() {
    let scene = CheckpointScene::new(|_| {});
    let bytes = || std::fs::metadata(&scene.config.path).expect("a file").len();
    scene.write(20);
    wait::settled("the file", bytes);
    assert!(bytes() < 20 * 4096, "not before there is enough");
    scene.write(40);
    let copied = &scene.checkpointer.shared.copied;
    wait::until("a copy", || copied.load(Relaxed) > 60);
    assert!(bytes() > 60 * 4096);
    let longest = scene.writer.wal_pages();
    scene.write(1);
    assert!(scene.writer.wal_pages() < longest, "the log starts over");
    assert!(scene.faults.try_recv().is_err());
}

#[test]
fn writers_without_a_pause_do_not_make_the_log_grow_forever() {
    let scene = CheckpointScene::new(|_| {});
    let mut longest = 0;
    for _ in 0..2_000 {
        scene.write(2);
        longest = longest.max(scene.writer.wal_pages());
    }
    // A few rounds may pass between two looks of the thread on a busy machine.
    println!("at most {longest} pages");
    assert!(longest < 50 * RESTART_TIMES * 20, "{longest} pages");
}

#[test]
fn a_log_that_became_long_starts_over_and_writers_wait_meanwhile() {
    let scene = CheckpointScene::new(|_| {});
    let other = crate::sqlite::memory::connect_for_test(&scene.config.path).expect("opened");
    scene.write(50 * RESTART_TIMES + 100);
    wait::until("an empty log", || scene.checkpointer.wal_bytes() == 0);
    // Now another connection has the lock that it needs, so that it can be seen waiting.
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    scene
        .checkpointer
        .committed(50 * RESTART_TIMES + 100 + scene.writer.wal_pages());
    let is_asked = || scene.checkpointer.wal_bytes() == u64::MAX;
    wait::until("writers being asked to wait", is_asked);
    other.execute_batch("COMMIT").expect("unlocked");
    wait::until("an empty log", || scene.checkpointer.wal_bytes() == 0);
}

#[test]
fn a_full_log_is_emptied_when_the_reader_that_needs_it_is_gone() {
    let scene = CheckpointScene::new(|config| config.wal_bytes_max = 1024 * 1024);
    let reader = scene.reader();
    scene.write(300);
    assert!(scene.checkpointer.wal_bytes() > 300 * 4096);
    let length = wait::settled("the log", || scene.checkpointer.wal_bytes());
    assert!(length > 1024 * 1024, "the reader still needs it");
    drop(reader);
    wait::until("an empty log", || scene.checkpointer.wal_bytes() == 0);
    assert_eq!(std::fs::metadata(scene.log()).expect("a log").len(), 0);
    scene.write(1);
    assert!(scene.checkpointer.wal_bytes() > 0);
}

#[test]
fn the_end_leaves_one_file() {
    let scene = CheckpointScene::new(|_| {});
    scene.write(1);
    scene.checkpointer.shutdown();
    assert_eq!(std::fs::metadata(scene.log()).expect("a log").len(), 0);
    // A second end and commits after it do no harm.
    scene.checkpointer.committed(1_000_000);
    scene.checkpointer.shutdown();
    let CheckpointScene { writer, config, .. } = &scene;
    let count: i64 = writer
        .sqlite()
        .query_row("SELECT count(*) FROM t", (), |row| row.get(0))
        .expect("there");
    assert_eq!((count, config.path.exists()), (1, true));
}

#[test]
fn faults_are_reported_but_not_again_and_again() {
    let scene = CheckpointScene::new(|_| {});
    // Something else stands where the database was.
    for file in ["a.db-wal", "a.db-shm"] {
        std::fs::remove_file(scene.folder.path(file)).expect("removed");
    }
    std::fs::write(&scene.config.path, [b'x'; 8192]).expect("written");
    for _ in 0..5 {
        scene.checkpointer.committed(100);
        wait::dawdle(PAUSE_MIN * 3);
    }
    let fault = scene
        .faults
        .recv_timeout(wait::EVENT_TIME_MAX)
        .expect("a fault");
    assert!(fault.contains("not a database"), "{fault}");
    assert!(scene.faults.try_recv().is_err(), "one is enough");
}

#[test]
fn the_estimate_follows_the_log() {
    let shared = CheckpointShared {
        config: DatabaseConfig::new("x"),
        pages: AtomicU32::new(0),
        copied: AtomicU32::new(0),
        page_bytes: AtomicU64::new(4096),
        keep_out: Arc::default(),
        follower: LogFollower::new(&DatabaseConfig::new("x")),
        is_asked: AtomicBool::new(false),
        state: Mutex::default(),
        changed: Condvar::new(),
    };
    assert_eq!((shared.wal_bytes(), shared.is_due()), (0, false));
    shared.pages.store(1_000, Relaxed);
    assert_eq!(shared.wal_bytes(), 32 + 1_000 * (4096 + 24));
    assert!(shared.is_due());
    shared.copied.store(1, Relaxed);
    assert!(!shared.is_due(), "999 are left");
    shared.copied.store(5_000, Relaxed);
    assert!(shared.is_due(), "the log has started over");
}
