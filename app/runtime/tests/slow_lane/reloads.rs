//! Reloads and shutdowns while requests are in the slow lane.

use super::{Served, config, serve};
use sampan_client::wait;
use std::path::Path;

/// `{N}` is the version; a slow request waits until a row is there.
const LUA: &str = r#"
local app = require "sampan"
local db = app.db
db.exec("CREATE TABLE IF NOT EXISTS seen (what TEXT)")
local SLOW = { slow = true }
local function has(what) return db.one("SELECT count(*) AS n FROM seen WHERE what = ?", { what }).n > 0 end
app.get("/slow", SLOW, function() return "{N} " .. app.worker.index end)
app.get("/waits", SLOW, function()
  db.exec("INSERT INTO seen (what) VALUES ('waits')")
  while not has("go") do app.time.sleep(0.005) end
  return "{N}"
end)
app.get("/has/:what", function(req) return tostring(has(req.params.what)) end)
app.get("/say/:what", function(req)
  db.exec("INSERT INTO seen (what) VALUES (?)", { req.params.what })
  return "said"
end)
app.on_stop(function() app.log.info("{N} stops") end)
"#;

const JS: &str = r#"
import { app, db, log, time } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS seen (what TEXT)");
const SLOW = { slow: true };
const has = (what) => db.one("SELECT count(*) AS n FROM seen WHERE what = ?", [what]).n > 0;
app.get("/slow", SLOW, () => `{N} ${app.worker.index}`);
app.get("/waits", SLOW, async () => {
  db.exec("INSERT INTO seen (what) VALUES ('waits')");
  while (!has("go")) await time.sleep(0.005);
  return "{N}";
});
app.get("/has/:what", (req) => String(has(req.params.what)));
app.get("/say/:what", (req) => {
  db.exec("INSERT INTO seen (what) VALUES (?)", [req.params.what]);
  return "said";
});
app.onStop(() => log.info("{N} stops"));
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

fn version(text: &str, number: u32) -> String {
    text.replace("{N}", &format!("version {number}"))
}

/// Sends a request that waits in the lane, and returns its client.
fn begin_to_wait(served: &Served) -> sampan_client::Client {
    let mut waiting = served.client();
    let request = b"GET /waits HTTP/1.1\r\nHost: h\r\n\r\n";
    waiting.send(request).expect("sent");
    wait::until("it waits", || served.ask("/has/waits") == "true");
    waiting
}

fn reload(served: &Served, folder: &Path, file: &str, text: &str) -> Result<(), String> {
    std::fs::write(folder.join(file), text).expect("written");
    let reloader = served.running.reloader();
    reloader.reload(config(folder, &served.logger)).map(drop)
}

#[test]
fn slow_requests_end_on_the_old_code_and_the_next_run_on_the_new_one() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, &version(text, 1));
        assert_eq!(served.ask("/slow"), "version 1 2");
        let mut waiting = begin_to_wait(&served);
        reload(&served, folder.path(), file, &version(text, 2)).expect("reloaded");
        for _ in 0..5 {
            assert_eq!(served.ask("/slow"), "version 2 2", "{file}");
        }
        let fault = reload(&served, folder.path(), file, "(").expect_err("it does not load");
        assert!(fault.contains(file), "{fault}");
        assert_eq!(served.ask("/slow"), "version 2 2", "{file}");
        served.ask("/say/go");
        assert_eq!(waiting.read(false).expect("an answer").text(), "version 1");
        wait::until("both old isolates have stopped", || {
            served.logger.lines().matches("version 1 stops").count() == 2
        });
        assert!(served.running.shutdown());
        assert_eq!(served.logger.lines().matches("version 2 stops").count(), 2);
    }
}

#[test]
fn a_shutdown_lets_slow_requests_end() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, &version(text, 1));
        let mut waiting = begin_to_wait(&served);
        served.ask("/say/go");
        assert!(served.running.shutdown());
        assert_eq!(waiting.read(false).expect("an answer").text(), "version 1");
    }
}

#[test]
fn a_reload_may_declare_the_first_slow_route() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let quick = version(text, 1).replace("slow = true", "slow = false");
        let quick = quick.replace("slow: true", "slow: false");
        let served = serve(folder.path(), file, &quick);
        assert_eq!(served.ask("/slow"), "version 1 1");
        let started = "slow routes run in 1 isolate of their own from now on";
        assert!(!served.logger.lines().contains(started));
        reload(&served, folder.path(), file, &version(text, 2)).expect("reloaded");
        assert_eq!(served.ask("/slow"), "version 2 2");
        assert!(served.logger.lines().contains(started));
        let quick = quick.replace("version 1", "version 3");
        reload(&served, folder.path(), file, &quick).expect("reloaded");
        assert_eq!(served.ask("/slow"), "version 3 1");
        assert!(served.running.shutdown());
    }
}
