//! The code that a server runs when its files have changed, and what a reload does not change.

use sampan_client::{Client, wait};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server};
use std::path::Path;

/// One worker whose isolate is soon out of memory, and runs that no machine is too busy for.
const SETTINGS: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[workers]\nslow = 0\n\
    [limits]\nscript_millis_max = 60000\nmemory_bytes_max = \"16MB\"\n[db]\npath = \"data.db\"\n";

const LUA: &str = r#"
local app = require "sampan"
local kept = {}
app.get("/", function() return "version 1" end)
app.get("/fill", function()
  while true do kept[#kept + 1] = ("x"):rep(1000) .. #kept end
end)
"#;

const JS: &str = r#"
import { app } from "sampan";
const kept = [];
app.get("/", () => "version 1");
app.get("/fill", () => {
  while (true) kept.push("x".repeat(1000) + kept.length);
});
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

fn config(folder: &Path, logger: &Logger, settings: &str) -> AppConfig {
    let mut config = AppConfig::from_text(folder, settings).expect("valid");
    config.program.logger = logger.clone();
    config
}

/// Serves a project of one file.
fn serve(folder: &Path, file: &str, text: &str, logger: &Logger) -> Running {
    std::fs::write(folder.join(file), text).expect("written");
    Server::start(config(folder, logger, SETTINGS)).expect("it starts")
}

/// Asks over a connection of its own.
fn ask(running: &Running, path: &str) -> String {
    let mut client = Client::connect(running.address()).expect("connected");
    client.ask("GET", path, &[], "").expect("an answer").text()
}

#[test]
fn an_isolate_that_is_replaced_loads_the_code_that_serves() {
    for (file, text) in APPS {
        let folder = tempfile::tempdir().expect("a folder");
        let logger = Logger::captured(Level::Info);
        let running = serve(folder.path(), file, text, &logger);
        std::fs::write(folder.path().join(file), "(").expect("written");
        wait::until("the isolate is replaced", || {
            ask(&running, "/fill");
            let log = logger.lines();
            assert!(!log.contains("replacing a worn-out isolate"), "{log}");
            log.contains("an isolate that ran out of memory was replaced")
        });
        // The one before may have been replaced before the last request, which has filled the next then.
        wait::until("an isolate with room answers", || {
            ask(&running, "/") == "version 1"
        });
        assert!(running.shutdown());
    }
}

#[test]
fn a_server_that_ends_refuses_reloads_and_applies_no_migration() {
    let folder = tempfile::tempdir().expect("a folder");
    let logger = Logger::captured(Level::Info);
    let running = serve(folder.path(), "app.lua", LUA, &logger);
    let reloader = running.reloader();
    assert!(running.shutdown());
    let migrations = folder.path().join("migrations");
    std::fs::create_dir(&migrations).expect("a folder");
    std::fs::write(migrations.join("0001_seen.sql"), "CREATE TABLE seen (id);").expect("written");
    let reloaded = reloader.reload(config(folder.path(), &logger, SETTINGS));
    assert_eq!(reloaded.expect_err("it ends"), "the server ends");
    let log = logger.lines();
    assert!(!log.contains("migration"), "{log}");
}

#[test]
fn a_setting_that_needs_a_restart_is_told_until_it_is_as_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let logger = Logger::captured(Level::Info);
    let running = serve(folder.path(), "app.lua", LUA, &logger);
    let reload = |settings: &str| {
        let config = config(folder.path(), &logger, settings);
        let reloaded = running.reloader().reload(config);
        reloaded.expect("it loads").need_restart
    };
    let proxied = "proxy_protocol = true\ntrusted_proxies = [\"10.0.0.0/8\"]\n[workers]";
    let proxied = SETTINGS.replace("[workers]", proxied);
    for _ in 0..2 {
        assert_eq!(reload(&proxied), ["[server] proxy_protocol"]);
    }
    assert!(reload(SETTINGS).is_empty());
    assert!(running.shutdown());
}

#[test]
fn another_number_of_threads_for_jobs_needs_a_restart_once_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let logger = Logger::captured(Level::Info);
    let running = serve(folder.path(), "app.lua", LUA, &logger);
    let reload = |workers: u32| {
        let settings = format!("{SETTINGS}[jobs]\nworkers = {workers}\n");
        let config = config(folder.path(), &logger, &settings);
        let reloaded = running.reloader().reload(config);
        reloaded.expect("it loads").need_restart
    };
    assert!(reload(1).is_empty());
    let jobs = format!("{LUA}app.job(\"nothing\", function() end)\n");
    std::fs::write(folder.path().join("app.lua"), jobs).expect("written");
    assert!(reload(1).is_empty());
    for _ in 0..2 {
        assert_eq!(reload(3), ["[jobs] workers"]);
    }
    assert!(reload(1).is_empty());
    assert!(running.shutdown());
}
