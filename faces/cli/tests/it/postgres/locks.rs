//! Locks of several processes on one database.

use super::each_app;
use super::serving::project;
use crate::commands::command::sampan;
use crate::support::{Process, Scratch};
use sampan_testkit::Client;
use std::net::SocketAddr;
use std::thread;

const LUA: &str = r#"
local app = require "sampan"
local db = app.db

app.post("/count", function()
  return app.lock("count", { timeout = 300 }, function()
    local n = db.one("SELECT count(*) AS n FROM notes").n
    app.time.sleep(0.002)
    db.exec("INSERT INTO notes (title) VALUES (?)", { "n" .. n })
    return "counted"
  end)
end)
app.post("/hold", function()
  app.lock("held", function()
    db.exec("INSERT INTO notes (title) VALUES ('held')")
    app.time.sleep(600)
  end)
end)
app.post("/nap", function()
  app.lock("held", function()
    db.exec("INSERT INTO notes (title) VALUES ('napping')")
    app.time.sleep(10)
  end)
  return "had it all the time"
end)
app.post("/leave", function()
  app.lock("held", function()
    db.exec("INSERT INTO notes (title) VALUES ('here')")
    pcall(app.time.sleep, 600)
    db.exec("INSERT INTO notes (title) VALUES ('left')")
    while not db.one("SELECT title FROM notes WHERE title = 'end'") do app.time.sleep(0.005) end
  end)
end)
app.post("/try", function()
  local ok, err = pcall(app.lock, "held", { timeout = 0 }, function() end)
  return ok and "free" or err.code
end)
app.post("/take", function()
  return app.lock("held", { timeout = 300 }, function() return "taken" end)
end)
"#;

const JS: &str = r#"
import { app, db, time } from "sampan";

app.post("/count", () => app.lock("count", { timeout: 300 }, async () => {
  const { n } = await db.one("SELECT count(*) AS n FROM notes");
  await time.sleep(0.002);
  await db.exec("INSERT INTO notes (title) VALUES (?)", [`n${n}`]);
  return "counted";
}));
app.post("/hold", () => app.lock("held", async () => {
  await db.exec("INSERT INTO notes (title) VALUES ('held')");
  await time.sleep(600);
}));
app.post("/nap", async () => {
  await app.lock("held", async () => {
    await db.exec("INSERT INTO notes (title) VALUES ('napping')");
    await time.sleep(10);
  });
  return "had it all the time";
});
app.post("/leave", () => app.lock("held", async () => {
  await db.exec("INSERT INTO notes (title) VALUES ('here')");
  try {
    await time.sleep(600);
  } catch {
    await db.exec("INSERT INTO notes (title) VALUES ('left')");
    while (!await db.one("SELECT title FROM notes WHERE title = 'end'")) await time.sleep(0.005);
  }
}));
app.post("/try", async () => {
  try {
    await app.lock("held", { timeout: 0 }, () => {});
    return "free";
  } catch (error) {
    return error.code;
  }
});
app.post("/take", () => app.lock("held", { timeout: 300 }, () => "taken"));
"#;

/// The requests to each process.
const REQUESTS: usize = 20;

fn start(scratch: &Scratch, file: &str, url: &str) -> Process {
    let path = scratch.file(file);
    let args = [
        "run",
        &path,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        "2",
        "--db",
        url,
    ];
    Process::start(&mut sampan(&args))
}

fn post(address: SocketAddr, path: &str) -> String {
    let mut client = Client::connect(address).expect("someone listens");
    let answer = client.ask("POST", path, &[], "").expect("an answer");
    answer.text()
}

#[test]
fn one_handler_of_all_processes_has_a_lock() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let settings =
            "[limits]\nhandler_millis_max = 600000\n[db]\nstatement_millis_max = 60000\n";
        std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
        let database = server.database();
        let url = server.url(&database);
        let mut all = [(); 3].map(|()| start(&scratch, file, &url));
        thread::scope(|scope| {
            for at in 0..3 * REQUESTS {
                let address = all[at % 3].address;
                scope.spawn(move || assert_eq!(post(address, "/count"), "counted"));
            }
        });
        // Each has seen the rows of all before.
        let titles = "SELECT count(DISTINCT title) FROM notes";
        assert_eq!(server.psql(&database, titles), (3 * REQUESTS).to_string());
        let address = all[0].address;
        // The connection ends with the process.
        let holding = thread::spawn(move || {
            let mut client = Client::connect(address).expect("someone listens");
            drop(client.ask("POST", "/hold", &[], ""));
        });
        let held = "SELECT count(*) FROM notes WHERE title = 'held'";
        sampan_testkit::wait::until("the lock is held", || server.psql(&database, held) == "1");
        assert_eq!(post(all[1].address, "/try"), "lock_timeout", "{file}");
        assert_eq!(post(all[0].address, "/try"), "lock_timeout", "{file}");
        all[0].signal("KILL");
        all[0].status();
        holding.join().expect("no panic");
        assert_eq!(post(all[2].address, "/take"), "taken", "{file}");
        // The answer does not wait until the server has the lock back.
        let rows = "SELECT count(*) FROM _sampan_locks";
        sampan_testkit::wait::until("the lock is given back", || {
            server.psql(&database, rows) == "0"
        });
        assert_eq!(post(all[1].address, "/try"), "free", "{file}");
    }
}

#[test]
fn a_handler_whose_process_was_stopped_for_too_long_fails() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let settings =
            "[limits]\nhandler_millis_max = 600000\n[db]\nstatement_millis_max = 60000\n";
        std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
        let database = server.database();
        let url = server.url(&database);
        let all = [(); 2].map(|()| start(&scratch, file, &url));
        let address = all[0].address;
        let napping = thread::spawn(move || {
            let mut client = Client::connect(address).expect("someone listens");
            client
                .ask("POST", "/nap", &[], "")
                .expect("an answer")
                .status
        });
        let held = "SELECT count(*) FROM notes WHERE title = 'napping'";
        sampan_testkit::wait::until("the lock is held", || server.psql(&database, held) == "1");
        all[0].signal("STOP");
        let taken = post(all[1].address, "/take");
        // Its nap has ended by now, so its handler goes on before the server has answered anything.
        all[0].signal("CONT");
        assert_eq!(taken, "taken", "{file}");
        assert_eq!(napping.join().expect("no panic"), 503, "{file}");
    }
}

#[test]
fn a_lock_is_held_until_the_cleanup_of_its_request_has_ended() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let settings = "[limits]\nhandler_millis_max = 600000\ncleanup_millis_max = 600000\n";
        std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
        let database = server.database();
        let url = server.url(&database);
        let all = [(); 2].map(|()| start(&scratch, file, &url));
        let until = |title: &str| {
            let count = format!("SELECT count(*) FROM notes WHERE title = '{title}'");
            sampan_testkit::wait::until(title, || server.psql(&database, &count) == "1");
        };
        let mut client = Client::connect(all[0].address).expect("someone listens");
        client
            .send(b"POST /leave HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
            .expect("sent");
        until("here");
        drop(client);
        until("left");
        for process in &all {
            assert_eq!(post(process.address, "/try"), "lock_timeout", "{file}");
        }
        server.psql(&database, "INSERT INTO notes (title) VALUES ('end')");
        sampan_testkit::wait::until("the lock is free", || {
            post(all[1].address, "/try") == "free"
        });
    }
}
