//! Migrations: order, checksums, refusals, and what is left after one that fails.

use super::*;
use crate::test_folder::TestFolder;
use sampan_client::wait;
use std::fs;

/// A folder with migrations and a database beside it.
struct MigrationScene(TestFolder);

impl MigrationScene {
    fn new(files: &[(&str, &str)]) -> Self {
        let scene = Self(TestFolder::new());
        fs::create_dir(scene.dir()).expect("a folder");
        for (name, text) in files {
            scene.put(name, text);
        }
        scene
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.dir().join(name), text).expect("written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.dir().join(name)).expect("removed");
    }

    fn dir(&self) -> PathBuf {
        self.0.path("migrations")
    }

    fn migrations(&self) -> Migrations {
        Migrations::in_folder(self.dir())
    }

    fn config(&self) -> DatabaseConfig {
        DatabaseConfig::new(self.0.path("a.db"))
    }

    fn run(&self) -> Result<MigrationReport, Error> {
        run(&self.config(), &self.migrations(), &mut |_| {})
    }

    /// Expects an error of one line with these parts.
    fn fails(&self, parts: &[&str]) {
        let error = self.run().expect_err("a fault").to_string();
        for part in parts {
            assert!(error.contains(part), "{error:?} does not contain {part:?}");
        }
        assert_eq!(error.lines().count(), 1, "{error:?}");
    }

    fn states(&self) -> Vec<MigrationState> {
        let entries = status(&self.config(), &self.migrations()).expect("a status");
        entries.into_iter().map(|entry| entry.state).collect()
    }

    fn sqlite(&self) -> rusqlite::Connection {
        crate::sqlite::memory::connect_for_test(self.config().path).expect("opened")
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.sqlite()
            .query_row(&sql, (), |row| row.get(0))
            .expect("a table")
    }

    fn tables(&self) -> Vec<String> {
        let sqlite = self.sqlite();
        let mut statement = sqlite
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .expect("valid");
        let names = statement.query_map((), |row| row.get(0)).expect("rows");
        names.collect::<Result<_, _>>().expect("names")
    }
}

const USERS: (&str, &str) = (
    "0001_users.sql",
    "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT);\nINSERT INTO users(name) VALUES ('Ann'), ('Bob');\n",
);

#[test]
fn each_is_applied_once_in_order() {
    let scene = MigrationScene::new(&[
        USERS,
        ("0002_age.sql", "ALTER TABLE users ADD COLUMN age INTEGER"),
    ]);
    assert_eq!(
        scene.states(),
        [MigrationState::Pending, MigrationState::Pending]
    );
    assert!(!scene.config().path.exists(), "looking creates nothing");
    let report = scene.run().expect("applied");
    assert_eq!(
        (report.applied, report.known),
        (vec!["0001_users".to_owned(), "0002_age".to_owned()], 0)
    );
    assert_eq!(scene.count("users"), 2);
    let again = scene.run().expect("nothing to do");
    assert_eq!((again.applied.len(), again.known), (0, 2));
    scene.put(
        "0003_more.sql",
        "INSERT INTO users(name, age) VALUES ('Cid', 3);",
    );
    assert_eq!(scene.run().expect("applied").applied, ["0003_more"]);
    assert_eq!(scene.count("users"), 3);
    assert!(
        scene
            .states()
            .iter()
            .all(|state| matches!(state, MigrationState::Applied(at) if at.ends_with('Z')))
    );
}

#[test]
fn line_ends_do_not_count_as_a_change() {
    let scene = MigrationScene::new(&[USERS]);
    scene.run().expect("applied");
    scene.put(
        USERS.0,
        &format!("\u{feff}{}", USERS.1.replace('\n', "\r\n")),
    );
    assert_eq!(scene.run().expect("the same").known, 1);
}

#[test]
fn one_that_fails_leaves_nothing_behind() {
    for (sql, parts) in [
        (
            "CREATE TABLE b(x);\nINSERT INTO users(name) VALUES ('x');\n\nINSERT INTO none VALUES (1);\n",
            &["0002_b.sql:4:1: no such table: none; nothing of it was applied"][..],
        ),
        (
            "CREATE TABLE b(x UNIQUE);\nINSERT INTO b\n  VALUES (1), (1);",
            &["0002_b.sql:2:1: UNIQUE constraint failed: b.x; nothing"],
        ),
        (
            "CREATE TABLE b(x);\nCREATE TABLE\n  c(x,,y);",
            &[
                "0002_b.sql:3:7: near \",\": syntax error (in the statement that begins in line 2); nothing",
            ],
        ),
        (
            "CREATE TABLE b(x); COMMIT; CREATE TABLE c(x);",
            &["0002_b.sql:1:20: COMMIT cannot be used in a migration"],
        ),
        (
            "CREATE TABLE b(x);\nINSERT OR ROLLBACK INTO users(id) VALUES (1);",
            &["0002_b.sql:2:1: UNIQUE constraint failed: users.id"],
        ),
        (
            "CREATE TABLE b(u REFERENCES users);\nINSERT INTO b VALUES (1), (9), (10), (11);",
            &[
                "0002_b.sql: FOREIGN KEY constraint failed: row 2 of table b refers to a row of users that does not \
                 exist, and 2 other rows do so too; nothing",
            ],
        ),
        (
            "CREATE TABLE b(k TEXT PRIMARY KEY, u REFERENCES users) WITHOUT ROWID; INSERT INTO b VALUES ('a', 9);",
            &["a row of table b refers to a row of users that does not exist; nothing"],
        ),
        ("-- later\n", &["0002_b.sql: there is no statement in it"]),
        (
            "DROP TABLE _sampan_migrations;",
            &["0002_b.sql:1:1: _sampan_migrations lists the migrations that are applied"],
        ),
    ] {
        let scene = MigrationScene::new(&[
            USERS,
            ("0002_b.sql", sql),
            ("0003_c.sql", "CREATE TABLE c(x)"),
        ]);
        scene.fails(parts);
        assert_eq!(scene.tables(), ["_sampan_migrations", "users"], "{sql}");
        assert_eq!(scene.count("users"), 2, "{sql}");
        assert!(matches!(
            scene.states()[..],
            [
                MigrationState::Applied(_),
                MigrationState::Pending,
                MigrationState::Pending
            ]
        ));
        scene.put("0002_b.sql", "CREATE TABLE b(x)");
        assert_eq!(scene.run().expect("repaired").applied.len(), 2);
    }
}

#[test]
fn the_server_s_own_names_are_refused() {
    let scene = MigrationScene::new(&[("0001_a.sql", "CREATE TABLE a(b);")]);
    for sql in [
        "CREATE TABLE c(d);\n\nCREATE TABLE _sampan_jobs(x);",
        "-- rename\n\nALTER TABLE a RENAME TO _sampan_a;",
    ] {
        scene.put("0002_b.sql", sql);
        scene.fails(&["0002_b.sql:3:1: ", "_sampan_", "belong to the server"]);
    }
    scene.put("0002_b.sql", "ALTER TABLE a RENAME TO sampan_a;");
    scene.run().expect("applied");
}

#[test]
fn a_table_can_be_rebuilt_under_those_that_refer_to_it() {
    let pets = "CREATE TABLE pets(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES users ON DELETE CASCADE);
        INSERT INTO pets(owner) VALUES (1), (2);";
    let rebuild = "CREATE TABLE fresh(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        INSERT INTO fresh SELECT * FROM users; DROP TABLE users; ALTER TABLE fresh RENAME TO users;";
    let scene = MigrationScene::new(&[
        USERS,
        ("0002_pets.sql", pets),
        ("0003_rebuild.sql", rebuild),
    ]);
    scene.run().expect("applied");
    assert_eq!((scene.count("users"), scene.count("pets")), (2, 2));
}

#[test]
fn settings_of_one_do_not_hold_in_the_next() {
    let table = (
        "0001_a.sql",
        "PRAGMA ignore_check_constraints=ON; CREATE TABLE a(x CHECK (x > 0)); INSERT INTO a VALUES (0);",
    );
    let scene = MigrationScene::new(&[table, ("0002_b.sql", "INSERT INTO a VALUES (0);")]);
    scene.fails(&["0002_b.sql:1:1: CHECK constraint failed"]);
}

#[test]
fn a_folder_that_does_not_fit_the_database_is_refused() {
    let scene = MigrationScene::new(&[USERS, ("0002_b.sql", "CREATE TABLE b(x)")]);
    scene.run().expect("applied");
    scene.put("0003_c.sql", "CREATE TABLE c(x)");
    let before = scene.tables();

    scene.put(USERS.0, "CREATE TABLE users(id INTEGER PRIMARY KEY);");
    scene.fails(&[
        "0001_users.sql was changed after it was applied (2",
        "put the change into a new migration",
    ]);
    assert!(matches!(
        scene.states()[..],
        [
            MigrationState::Changed(_),
            MigrationState::Applied(_),
            MigrationState::Pending
        ]
    ));
    scene.put(USERS.0, USERS.1);

    scene.remove("0002_b.sql");
    scene.fails(&["0003_c.sql: there is no migration 0002 before it"]);
    scene.remove("0003_c.sql");
    scene.fails(&["the database is newer than ", "0002_b was applied to it"]);
    assert!(matches!(
        scene.states()[..],
        [MigrationState::Applied(_), MigrationState::Missing(_)]
    ));
    scene.put("0002_b.sql", "CREATE TABLE b(x)");

    // Only by hand can a database get here.
    scene
        .sqlite()
        .execute_batch("DELETE FROM _sampan_migrations WHERE id = 1")
        .expect("deleted");
    scene.fails(&["0001_users.sql was not applied, but later ones were"]);
    assert!(matches!(
        scene.states()[..],
        [MigrationState::Late, MigrationState::Applied(_)]
    ));
    assert_eq!(scene.tables(), before);
}

#[test]
fn two_processes_at_once_apply_each_once() {
    let files: Vec<(String, String)> = (1..=20)
        .map(|id| {
            (
                format!("{id:04}_t.sql"),
                format!("CREATE TABLE t{id}(x); INSERT INTO t{id} VALUES (1);"),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let scene = MigrationScene::new(&files);
    let reports: Vec<MigrationReport> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| scene.run().expect("applied")))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(
        reports
            .iter()
            .map(|report| report.applied.len())
            .sum::<usize>(),
        20,
        "{reports:?}"
    );
    assert!(
        reports
            .iter()
            .all(|report| report.applied.len() + report.known == 20),
        "{reports:?}"
    );
    assert_eq!(scene.count("t20"), 1);
}

#[test]
fn waiting_for_a_lock_has_an_end() {
    let scene = MigrationScene::new(&[USERS]);
    scene.run().expect("applied");
    scene.put("0002_b.sql", "CREATE TABLE b(x)");
    let other = scene.sqlite();
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let mut config = scene.config();
    config.busy_millis_max = 100;
    let error = run(&config, &scene.migrations(), &mut |_| {})
        .expect_err("locked")
        .to_string();
    assert!(
        error.contains("database is locked; nothing of it was applied"),
        "{error}"
    );
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.run());
        wait::dawdle(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        other.execute_batch("COMMIT").expect("unlocked");
        waiting.join().expect("no panic")
    });
    assert_eq!(waiting.expect("applied").applied, ["0002_b"]);
}

#[test]
fn what_is_no_database_is_left_alone() {
    let scene = MigrationScene::new(&[USERS]);
    let path = scene.config().path;
    fs::write(&path, "a text of another program, longer than the header of a database would be: 100 bytes and then \
     some more").expect("written");
    let before = fs::read(&path).expect("read");
    scene.fails(&["a.db: file is not a database"]);
    assert_eq!(fs::read(&path).expect("read"), before);
    let empty = MigrationScene::new(&[]);
    assert_eq!(
        empty.run().expect("nothing to do"),
        MigrationReport::default()
    );
    assert!(!empty.config().path.exists());
}
