//! All pages of all commits arrive, in order, whatever checkpoints do; and a gap is noticed.

use super::check_file;
use super::follower::Place;
use super::reading::{ReadOutcome, log_path};
use super::wal::WalFile;
use crate::config::DatabaseConfig;
use crate::database::Database;
use crate::test_folder::TestFolder;
use sampan_client::wait;
use sampan_host::page_log::{LogPosition, PageBatch, PageLog, PageSink};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The pages behind a whole copy.
#[derive(Clone, Default)]
struct Copied(Arc<Mutex<CopiedPages>>);

#[derive(Default)]
struct CopiedPages {
    pages: BTreeMap<u32, Vec<u8>>,
    page_bytes: usize,
    database_pages: u32,
    position: LogPosition,
    batches: usize,
    commits: u32,
    lost: Vec<String>,
    /// Pages of a commit that has not ended.
    open: Vec<(u32, Vec<u8>)>,
}

impl PageSink for Copied {
    fn take(&mut self, batch: PageBatch) -> bool {
        let mut copied = self.0.lock().expect("no panic");
        copied.page_bytes = batch.page_bytes as usize;
        copied.position = batch.position;
        copied.batches += 1;
        copied.commits += batch.commits;
        let pages = batch.pages.chunks(batch.page_bytes as usize);
        let pages = batch.numbers.iter().copied().zip(pages.map(<[u8]>::to_vec));
        copied.open.extend(pages);
        if let Some(count) = batch.database_pages {
            copied.database_pages = count;
            let ended = std::mem::take(&mut copied.open);
            copied.pages.extend(ended);
            copied.pages.retain(|number, _| *number <= count);
        }
        true
    }

    fn whole_copy_begins(&mut self, _: LogPosition) {
        let mut copied = self.0.lock().expect("no panic");
        copied.pages.clear();
    }

    fn has_lost(&mut self, why: &str) {
        self.0.lock().expect("no panic").lost.push(why.to_owned());
    }
}

/// An open database that is copied.
struct LogScene {
    folder: TestFolder,
    database: Database,
    copied: Copied,
}

impl LogScene {
    fn new(checkpoint_pages: u32) -> Self {
        let folder = TestFolder::new();
        let mut config = DatabaseConfig::new(folder.path("a.db"));
        config.checkpoint_pages = checkpoint_pages;
        let database = Database::new(config, Arc::new(|_, line: &str| panic!("{line}")));
        database.prepare().expect("opened");
        let scene = Self {
            folder,
            database,
            copied: Copied::default(),
        };
        scene.write("CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB)");
        scene.database.follow(Box::new(scene.copied.clone()));
        scene
    }

    fn whole(&self) -> PathBuf {
        self.folder.path("whole.db")
    }

    fn copy_whole(&self) {
        self.database.copy_whole(&self.whole()).expect("copied");
    }

    /// A commit, as the workers make it.
    fn write(&self, sql: &str) {
        let opened = self.database.opened().expect("open");
        wait::until("room in the log", || !opened.log_is_full());
        let writer = opened.writers.try_take().expect("free");
        wait::until("a write", || {
            let written = writer.sqlite().execute_batch(sql);
            if let Err(error) = &written {
                let code = error.sqlite_error_code();
                assert_eq!(code, Some(rusqlite::ErrorCode::DatabaseBusy));
            }
            written.is_ok()
        });
        self.database.committed(opened, writer);
    }

    fn lost(&self) -> Vec<String> {
        self.copied.0.lock().expect("no panic").lost.clone()
    }

    /// Puts the pages onto the whole copy, and compares the result with the database.
    fn assert_same(&self) {
        self.database.read().expect("read");
        assert_eq!(self.lost(), Vec::<String>::new());
        let copied = self.copied.0.lock().expect("no panic");
        assert!(copied.open.is_empty(), "a commit ends");
        let mut bytes = fs::read(self.whole()).expect("a copy");
        for (number, page) in &copied.pages {
            let start = (*number as usize - 1) * page.len();
            bytes.resize(bytes.len().max(start + page.len()), 0);
            bytes[start..start + page.len()].copy_from_slice(page);
        }
        if copied.page_bytes > 0 {
            bytes.truncate(copied.database_pages as usize * copied.page_bytes);
        }
        let restored = self.folder.path("restored.db");
        fs::write(&restored, bytes).expect("written");
        check_file(&restored).expect("whole");
        let [was, is] = [self.database.config.path.clone(), restored].map(|path| {
            let sqlite = crate::sqlite::memory::connect_for_test(path).expect("opened");
            let sql = "SELECT id, hex(x) FROM t ORDER BY id";
            let mut statement = sqlite.prepare(sql).expect("prepared");
            let rows = statement.query_map((), |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            });
            let rows = rows.expect("rows").collect::<Result<Vec<_>, _>>();
            rows.expect("rows")
        });
        assert!(was == is, "{} and {} rows", was.len(), is.len());
    }
}

/// Commits of many sizes, by a generator that gives the same ones each time.
fn write_many(scene: &LogScene, count: u32, mut each: impl FnMut(u32)) {
    let mut seed = 7_u32;
    for round in 0..count {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match seed >> 29 {
            0 => scene.write("DELETE FROM t WHERE id % 3 = 0"),
            1 => scene.write("UPDATE t SET x = randomblob(5000) WHERE id % 7 = 1"),
            2 => scene.write("INSERT INTO t(x) SELECT randomblob(3000) FROM t LIMIT 40"),
            _ => scene.write("INSERT INTO t(x) VALUES (randomblob(700))"),
        }
        each(round);
    }
}

#[test]
fn all_pages_arrive_between_checkpoints() {
    let scene = LogScene::new(30);
    write_many(&scene, 20, |_| ());
    scene.copy_whole();
    write_many(&scene, 400, |round| {
        if round % 11 == 0 {
            scene.database.read().expect("read");
        }
        if round % 100 == 50 {
            scene.assert_same();
        }
    });
    scene.assert_same();
    assert!(scene.copied.0.lock().expect("no panic").commits > 100);
    // The whole copy can be made again at any time.
    scene.copy_whole();
    write_many(&scene, 20, |_| ());
    scene.assert_same();
}

#[test]
fn all_pages_arrive_when_nothing_but_checkpoints_reads_them() {
    let scene = LogScene::new(20);
    scene.copy_whole();
    write_many(&scene, 300, |_| ());
    scene.assert_same();
}

#[test]
fn a_large_commit_is_several_batches() {
    let scene = LogScene::new(1_000_000);
    scene.copy_whole();
    scene.write(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO t(x) SELECT randomblob(3500) FROM n",
    );
    scene.assert_same();
    let copied = scene.copied.0.lock().expect("no panic");
    assert!(copied.batches >= 3, "{} batches", copied.batches);
    assert_eq!(copied.commits, 1);
}

#[test]
fn a_checkpoint_of_another_process_is_noticed() {
    let scene = LogScene::new(1_000_000);
    scene.copy_whole();
    scene.write("INSERT INTO t(x) VALUES (randomblob(9000))");
    let other =
        crate::sqlite::memory::connect_for_test(&scene.database.config.path).expect("opened");
    other
        .query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(()))
        .expect("copied");
    // This one begins the log anew, over frames that nothing has read.
    scene.write("INSERT INTO t(x) VALUES (randomblob(9000))");
    scene.database.read().expect("read");
    assert_eq!(scene.lost().len(), 1, "{:?}", scene.lost());
    scene.copied.0.lock().expect("no panic").lost.clear();
    scene.copy_whole();
    scene.write("INSERT INTO t(x) VALUES (randomblob(9000))");
    scene.assert_same();
}

#[test]
fn a_log_that_starts_over_while_its_header_is_read_is_not_lost() {
    let scene = LogScene::new(1);
    scene.copy_whole();
    let follower = &scene.database.follower;
    let place = || follower.with(|state| Ok(state.place)).expect("a place");
    let position = |place: Option<Place>| place.map(|place| place.position);
    let begun = position(place());
    scene.write("INSERT INTO t(x) VALUES (randomblob(9000))");
    wait::until("a checkpoint of the write", || {
        let now = place();
        position(now) != begun && now.is_some_and(|place| place.is_copied)
    });
    // Nothing else reads meanwhile.
    let outcome = follower.with(|state| {
        let place = state.place.expect("a place");
        let before = WalFile::open(&log_path(&scene.database.config.path)).expect("a log");
        // More frames than the log before had.
        scene.write("INSERT INTO t(x) VALUES (randomblob(90000))");
        let outcome = state.read_up_to(place, before, place.position.frame + 1, SystemTime::now());
        assert_eq!(state.place, Some(place));
        outcome.map_err(|error| error.to_string())
    });
    assert_eq!(outcome, Ok(ReadOutcome::Changed));
    scene.assert_same();
}

#[test]
fn reading_goes_on_where_it_ended() {
    let scene = LogScene::new(1_000_000);
    scene.copy_whole();
    scene.write("INSERT INTO t(x) VALUES (randomblob(9000))");
    scene.database.read().expect("read");
    let position = scene.copied.0.lock().expect("no panic").position;
    scene.write("INSERT INTO t(x) VALUES (randomblob(9000))");
    // Another process, which knows the place from the copy.
    scene.database.follow(Box::new(scene.copied.clone()));
    assert!(scene.database.resume(position).expect("read"));
    scene.assert_same();
    let elsewhere = LogPosition {
        checksum: [1, 2],
        ..position
    };
    assert!(!scene.database.resume(elsewhere).expect("read"));
}

#[test]
fn a_sink_that_refuses_ends_the_reading() {
    struct Refusing;
    impl PageSink for Refusing {
        fn take(&mut self, _: PageBatch) -> bool {
            false
        }
        fn whole_copy_begins(&mut self, _: LogPosition) {}
        fn has_lost(&mut self, why: &str) {
            panic!("{why}");
        }
    }
    let scene = LogScene::new(20);
    scene.database.follow(Box::new(Refusing));
    scene.copy_whole();
    assert!(scene.database.follower.is_active());
    scene.write("INSERT INTO t(x) VALUES (1)");
    scene.database.read().expect("read");
    assert!(!scene.database.follower.is_active());
}
