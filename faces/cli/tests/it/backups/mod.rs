//! Copies of the database elsewhere: made by a server, restored by the command and by another server.

mod bucket;
mod faults;
mod kills;
mod restoring;
mod s3;

use crate::commands::command::{run, sampan, succeeds};
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Each request writes ten rows in one commit.
const APP: &str = r#"
local app = require "sampan"
local db = app.db
app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS added (n INTEGER PRIMARY KEY, text TEXT)")
end)
app.post("/add/:n", function(req)
  local n = tonumber(req.params.n)
  db.batch(function()
    for at = n * 10, n * 10 + 9 do
      db.exec("INSERT INTO added VALUES (?, hex(randomblob(200)))", { at })
    end
  end)
end)
app.get("/count", function() return { count = db.one("SELECT count(*) AS n FROM added").n } end)
"#;

/// A project with a copy, and the folder of the copy.
struct BackupScene {
    scratch: Scratch,
    /// The folder of the copy, unless it is in a bucket.
    copy: PathBuf,
    url: String,
    /// The number of the next request.
    next: u64,
    /// The time after its answer, for each request that was answered.
    answered: Vec<u64>,
}

impl BackupScene {
    fn new(more: &str) -> Self {
        let mut scene = Self::at("", "");
        scene.url = format!("file://{}", scene.copy.display());
        scene.configure(more);
        scene
    }

    /// A project whose copy is somewhere else.
    fn at(url: &str, more: &str) -> Self {
        let scratch = Scratch::new(&[("app.lua", APP)]);
        let scene = Self {
            copy: scratch.path().join("copy"),
            scratch,
            url: url.to_owned(),
            next: 0,
            answered: Vec::new(),
        };
        scene.configure(more);
        scene
    }

    /// Writes the configuration. A busy disk may keep the app's first statement waiting for seconds.
    fn configure(&self, more: &str) {
        let url = &self.url;
        let toml = format!(
            "[backup]\nurl = \"{url}\"\nevery = \"10 ms\"\n{more}\n[db]\ncheckpoint_pages = 40\n\
             [limits]\nscript_millis_max = 20000\n"
        );
        std::fs::write(self.scratch.path().join("sampan.toml"), toml).expect("written");
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    fn start(&self) -> Process {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> Process {
        Process::start(self.command().args(more))
    }

    /// Starts a server, and waits until it says something.
    fn start_until(&self, more: &[&str], text: &str) -> Process {
        Process::start_until(self.command().args(more), text)
    }

    fn command(&self) -> Command {
        let folder = self.scratch.path().display().to_string();
        sampan(&["run", &folder, "--listen", "127.0.0.1:0", "--workers", "1"])
    }

    fn add(&mut self, process: &Process) {
        ask(process, "POST", &format!("/add/{}", self.next));
        self.answered.push(now());
        self.next += 1;
    }

    /// Restores to a file beside the project: the state's time, and the number of requests in it.
    fn restore(&self, more: &[&str]) -> (u64, u64) {
        self.try_restore(more).expect("restored")
    }

    /// Does what [`BackupScene::restore`] does, or returns what the command says.
    fn try_restore(&self, more: &[&str]) -> Result<(u64, u64), String> {
        let to = self.scratch.path().join("restored.db");
        let to = to.display().to_string();
        let folder = self.scratch.path().display().to_string();
        let mut args = vec!["db", "restore", "--to", &to, "--force"];
        args.extend(more);
        let url = self.url();
        args.extend([url.as_str(), folder.as_str()]);
        let (code, told, errors) = run(&args);
        if (code, errors.as_str()) != (0, "") {
            return Err(errors);
        }
        let (_, time) = told.split_once("the state of ").expect("a time");
        let (time, _) = time.split_once(',').expect("its end");
        Ok((millis(time), self.requests_in(&to)))
    }

    /// The number of requests in a database: those before it, each whole.
    fn requests_in(&self, file: &str) -> u64 {
        let folder = self.scratch.path().display().to_string();
        let ask = |sql: &str| succeeds(&["db", &folder, "--db", file, "--mode", "csv", sql]);
        if !ask("SELECT name FROM sqlite_schema").contains("added") {
            return 0;
        }
        let told = ask("SELECT count(*) || ' ' || coalesce(max(n) + 1, 0) AS c FROM added");
        let line = told.lines().last().expect("a row");
        let (count, end) = line.split_once(' ').expect("two numbers");
        assert_eq!(count, end, "no commit is missing between others");
        let count: u64 = count.parse().expect("a number");
        assert_eq!(count % 10, 0, "no commit is there by half");
        count / 10
    }

    /// Removes the database, as on a machine that is new.
    fn remove_database(&self) {
        for name in ["data.db", "data.db-wal", "data.db-shm"] {
            let _ = std::fs::remove_file(self.scratch.path().join(name));
        }
    }

    /// The number of times that the copy began with the whole database.
    fn generations(&self) -> usize {
        let folders = std::fs::read_dir(&self.copy).expect("a folder");
        let folders = folders.flatten().filter(|entry| entry.path().is_dir());
        folders.count()
    }

    /// Waits until the copy has all requests.
    fn all_copied(&self) {
        wait::until("the copy", || {
            let restored = self.try_restore(&[]);
            restored.is_ok_and(|(_, requests)| requests == self.next)
        });
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    millis_of(since.expect("after 1970"))
}

fn millis_of(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).expect("a time")
}

/// Reads a time such as `2026-11-27T00:15:01.004Z`, or such as `20261127T001501.004Z` in a name.
fn millis(text: &str) -> u64 {
    let digits: Vec<u64> = text
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|digit| u64::from(digit - b'0'))
        .collect();
    let number = |range: std::ops::Range<usize>| {
        digits[range]
            .iter()
            .fold(0, |number, digit| number * 10 + digit)
    };
    let (year, month, day) = (number(0..4), number(4..6), number(6..8));
    // Days since 1970 of a date of the Gregorian calendar, whose years begin in March here.
    let (year, month) = match month > 2 {
        true => (year, month - 3),
        false => (year - 1, month + 9),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days - 719_468;
    let seconds = days * 86_400 + number(8..10) * 3_600 + number(10..12) * 60 + number(12..14);
    seconds * 1_000 + number(14..17)
}

/// All files of a copy, by their names.
fn objects(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // A server may remove what it does not need meanwhile.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if !is_hidden => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}
