//! Projects that cannot be written, as in the image of a container.

use crate::commands::command::serve;
use crate::support::{Process, ask, ends_well};
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const LUA: &str = r#"
local app = require "sampan"
app.get("/", function() return "hello" end)
app.post("/add", function()
  app.db.exec("CREATE TABLE IF NOT EXISTS t (a)")
  app.db.exec("INSERT INTO t VALUES (1)")
end)
app.get("/count", function() return { count = app.db.one("SELECT count(*) AS n FROM t").n } end)
app.post("/visit", function(req) req.session.visits = (req.session.visits or 0) + 1 end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";
app.get("/", () => "hello");
app.post("/add", () => {
  db.exec("CREATE TABLE IF NOT EXISTS t (a)");
  db.exec("INSERT INTO t VALUES (1)");
});
app.get("/count", () => ({ count: db.one("SELECT count(*) AS n FROM t").n }));
app.post("/visit", (req) => { req.session.visits = (req.session.visits ?? 0) + 1; });
"#;

/// A folder that cannot be written: a file system of its own for root, whom no permission stops.
struct ReadOnlyProject {
    folder: TempDir,
    is_mounted: bool,
}

impl ReadOnlyProject {
    /// Makes a folder with a project. `None`, and a line that says so, where root may not mount.
    fn new(file: &str, source: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let is_mounted = geteuid().is_root();
        if is_mounted && !mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], folder.path()) {
            println!("SKIPPED: nothing can be mounted here: no project on a read-only file system");
            return None;
        }
        let made = Self { folder, is_mounted };
        fs::write(made.path().join(file), source).expect("written");
        fs::create_dir(made.path().join("public")).expect("a folder");
        fs::write(made.path().join("public/page.txt"), "a page").expect("written");
        match is_mounted {
            true => assert!(mount(&["-o", "remount,ro"], made.path()), "remounted"),
            false => made.permit(0o555),
        }
        fs::write(made.path().join("more"), "").expect_err("it cannot be written");
        Some(made)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn permit(&self, mode: u32) {
        fs::set_permissions(self.path(), Permissions::from_mode(mode)).expect("permitted");
    }
}

impl Drop for ReadOnlyProject {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        } else {
            self.permit(0o755);
        }
    }
}

/// Reports whether `mount` does it.
fn mount(args: &[&str], folder: &Path) -> bool {
    let mut mount = Command::new("mount");
    let mounted = mount.args(args).arg(folder).stderr(Stdio::null()).status();
    mounted.is_ok_and(|status| status.success())
}

#[test]
fn a_project_that_cannot_be_written_is_served_and_its_database_is_told() {
    for (file, source) in [("app.lua", LUA), ("app.js", JS)] {
        let Some(project) = ReadOnlyProject::new(file, source) else {
            return;
        };
        let folder = project.path().display().to_string();
        let process = Process::start(&mut serve(&folder, 1));
        assert_eq!(ask(&process, "GET", "/"), "hello", "{file}");
        assert_eq!(ask(&process, "GET", "/page.txt"), "a page", "{file}");
        let mut client = process.client();
        for (method, path) in [("POST", "/add"), ("GET", "/count"), ("POST", "/visit")] {
            let answer = client.ask(method, path, &[], "").expect("an answer");
            assert_eq!(answer.status, 503, "{file}: {path}: {}", answer.text());
        }
        assert_eq!(ask(&process, "GET", "/"), "hello", "{file}");
        let log = ends_well(process);
        assert!(
            log.contains("data.db: unable to open database file"),
            "{log}"
        );
        let hint = "mounted read-only: mount it for writing, or name a file elsewhere";
        assert!(log.contains(hint) || !project.is_mounted, "{log}");
    }
}

#[test]
fn with_a_database_elsewhere_nothing_is_missing() {
    for (file, source) in [("app.lua", LUA), ("app.js", JS)] {
        let Some(project) = ReadOnlyProject::new(file, source) else {
            return;
        };
        let elsewhere = tempfile::tempdir().expect("a folder");
        let folder = project.path().display().to_string();
        let start = || {
            let mut command = serve(&folder, 2);
            command.arg("--db").arg(elsewhere.path().join("data.db"));
            Process::start(&mut command)
        };
        for count in 1..=2 {
            let mut process = start();
            let log = process.read_errors();
            ask(&process, "POST", "/add");
            ask(&process, "POST", "/visit");
            process.signal("HUP");
            log.until("reloaded");
            let counted = ask(&process, "GET", "/count");
            assert_eq!(counted, format!("{{\"count\":{count}}}"), "{file}");
            process.signal("TERM");
            assert_eq!(process.status(), Some(0), "{file}: {}", log.text());
            let log = log.join().expect("its end");
            assert!(!log.contains("ERROR"), "{file}: {log}");
        }
    }
}
