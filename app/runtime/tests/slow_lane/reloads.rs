//! Reloads and shutdowns while requests are in the slow lane.

use super::{SETTINGS, Served, config, config_of, serve, serve_with};
use sampan_client::wait;
use sampan_runtime::Reloaded;
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

/// Reloads with other settings than those of [`SETTINGS`].
fn reload_with(
    served: &Served,
    (folder, settings): (&Path, &str),
    (file, text): (&str, &str),
) -> Result<Reloaded, String> {
    std::fs::write(folder.join(file), text).expect("written");
    let reloader = served.running.reloader();
    reloader.reload(config_of(folder, &served.logger, settings))
}

/// Returns the app with `slow = false` for its slow routes.
fn quick(text: &str) -> String {
    let text = text.replace("slow = true", "slow = false");
    text.replace("slow: true", "slow: false")
}

/// Returns the app with a start that fails where `condition` holds, which is the same in both languages.
fn failing_where(file: &str, text: &str, condition: &str) -> String {
    let start = match file {
        "app.lua" => {
            format!("app.on_start(function() if {condition} then error('no start') end end)\n")
        }
        _ => format!("app.onStart(() => {{ if ({condition}) throw new Error('no start'); }});\n"),
    };
    format!("{text}{start}")
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

/// Returns the app with a start that waits in the isolate of the lane until the row `go` is there.
fn waiting_in_the_lane(file: &str, text: &str) -> String {
    let start = match file {
        "app.lua" => {
            "app.on_start(function()\n  if app.worker.index ~= 2 then return end\n  \
             while not has('go') do app.time.sleep(0.005) end\nend)\n"
        }
        _ => {
            "app.onStart(async () => {\n  if (app.worker.index !== 2) return;\n  \
             while (!has('go')) await time.sleep(0.005);\n});\n"
        }
    };
    format!("{text}{start}")
}

#[test]
fn slow_routes_are_answered_while_the_new_code_starts_in_their_isolate() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), file, &version(text, 1));
        let next = waiting_in_the_lane(file, &version(text, 2));
        reload(&served, folder.path(), file, &next).expect("reloaded");
        for _ in 0..2 {
            assert_eq!(served.ask("/slow"), "version 1 2", "{file}");
        }
        served.ask("/say/go");
        wait::until("the new code answers", || {
            served.ask("/slow") == "version 2 2"
        });
        assert!(served.running.shutdown());
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
        let quick = quick(&version(text, 1));
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

#[test]
fn a_refused_reload_leaves_the_lanes_as_they_were() {
    let settings = SETTINGS.replace("workers = 1", "workers = 2");
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve_with(folder.path(), file, &version(text, 1), &settings);
        assert_eq!(served.ask("/slow"), "version 1 3");
        // The first worker loads it.
        let refused = failing_where(file, &quick(&version(text, 2)), "app.worker.index == 2");
        let place = (folder.path(), settings.as_str());
        let fault = reload_with(&served, place, (file, &refused)).expect_err("it does not start");
        assert!(fault.contains("no start"), "{fault}");
        for _ in 0..3 {
            assert_eq!(served.ask("/slow"), "version 1 3", "{file}");
        }
        let next = quick(&version(text, 3));
        reload_with(&served, place, (file, &next)).expect("reloaded");
        for _ in 0..3 {
            assert_ne!(served.ask("/slow"), "version 3 3", "{file}");
        }
        assert!(served.running.shutdown());
    }
}

#[test]
fn a_reload_whose_isolates_do_not_start_is_done_and_can_be_repaired() {
    let settings = SETTINGS.replace("slow = 1", "slow = 2");
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve_with(folder.path(), file, &quick(&version(text, 1)), &settings);
        assert_eq!(served.ask("/slow"), "version 1 1");
        // The isolate before it starts.
        let broken = failing_where(file, &version(text, 2), "app.worker.index == 3");
        let place = (folder.path(), settings.as_str());
        let reloaded = reload_with(&served, place, (file, &broken)).expect("it is swapped");
        let told = reloaded.not_loaded.join("\n");
        assert!(
            told.contains("slow routes go on among the others: ") && told.contains("no start"),
            "{told}"
        );
        assert_eq!(served.ask("/slow"), "version 2 1", "{file}");
        let log = served.logger.lines();
        assert!(!log.contains("not reloaded"), "{log}");
        assert!(
            log.contains("slow routes go on among the others: "),
            "{log}"
        );
        assert!(log.contains("no start"), "{log}");
        wait::until("the isolate that started has ended", || {
            served.logger.lines().matches("version 2 stops").count() == 1
        });
        reload_with(&served, place, (file, &version(text, 3))).expect("reloaded");
        assert_ne!(served.ask("/slow"), "version 3 1", "{file}");
        assert!(served.running.shutdown());
        let log = served.logger.lines();
        assert_eq!(log.matches("version 3 stops").count(), 3, "{log}");
    }
}
