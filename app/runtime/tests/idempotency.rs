//! Claims on idempotency keys of two servers on one database, whose clock the test sets.

use sampan_client::{Answer, Client, wait};
use sampan_host::clock;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server};
use std::time::Duration;

const BEGIN: u64 = 1_777_681_800;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
db.exec("CREATE TABLE IF NOT EXISTS signs (sign TEXT)")
local function has(sign) return db.one("SELECT 1 FROM signs WHERE sign = ?", { sign }) ~= nil end
app.use("/order", app.idempotency{ user = function() return 1 end })
app.post("/order", function(req)
  local name = req.headers["x-name"]
  if name == "fails" then error("on purpose") end
  if name == "busy" then return app.text("busy", 503) end
  if name == "slow" then
    db.exec("INSERT INTO signs VALUES ('begun')")
    while not has("go") do time.sleep(0.002) end
  end
  return name
end)
app.post("/go", function() db.exec("INSERT INTO signs VALUES ('go')") return "gone" end)
app.get("/begun", function() return tostring(has("begun")) end)
"#;

/// Sets the time of day again when it is dropped.
struct Clock;

impl Clock {
    fn set(&self, seconds: u64) {
        clock::set(Some(Duration::from_secs(BEGIN + seconds)));
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        clock::set(None);
    }
}

/// Sends a request whose URL is the same for both servers.
fn send(running: &Running, line: &str, fields: &str, body: &str) -> Client {
    let mut client = Client::connect(running.address()).expect("connected");
    let length = body.len();
    let request =
        format!("{line} HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    client.send(request.as_bytes()).expect("sent");
    client
}

fn ask(running: &Running, line: &str) -> String {
    let mut client = send(running, line, "", "");
    client.read(false).expect("an answer").text()
}

fn fields(key: &str, name: &str) -> String {
    format!("Idempotency-Key: {key}\r\nX-Name: {name}\r\n")
}

fn order(running: &Running, key: &str, name: &str, body: &str) -> Answer {
    let mut client = send(running, "POST /order", &fields(key, name), body);
    client.read(false).expect("an answer")
}

#[test]
fn a_claim_counts_for_other_processes_until_its_lease_ends() {
    let clock = Clock;
    clock.set(0);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("app.lua"), APP).expect("written");
    let logger = Logger::captured(Level::Info);
    // Each server has an id of its own, as a process has.
    let start = || {
        let text = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[db]\npath = \"data.db\"\n[workers]\nslow = 0\n";
        let mut config = AppConfig::from_text(folder.path(), text).expect("valid");
        config.program.logger = logger.clone();
        Server::start(config).expect("it starts")
    };
    let (one, other) = (start(), start());

    // The claim of a handler that has failed is taken over by its own process alone.
    for body in ["a", "b"] {
        assert_eq!(order(&one, "fails", "fails", body).status, 500);
    }
    clock.set(119);
    let refused = order(&other, "fails", "made", "b");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(refused.header("retry-after"), ["1"]);
    assert_eq!(order(&other, "fails", "made", "a").status, 422);
    clock.set(121);
    assert_eq!(order(&other, "fails", "made", "b").text(), "made");
    let again = order(&one, "fails", "made", "b");
    assert_eq!(again.header("idempotent-replayed"), ["true"]);

    // One whose answer is not recorded is given back.
    assert_eq!(order(&one, "busy", "busy", "").status, 503);
    assert_eq!(order(&other, "busy", "made", "").text(), "made");

    // Where a request outlives its lease, the one that another process runs then is recorded.
    let mut slow = send(&one, "POST /order", &fields("slow", "slow"), "");
    wait::until("it has begun", || ask(&other, "GET /begun") == "true");
    assert_eq!(order(&other, "slow", "quick", "").status, 409);
    clock.set(242);
    assert_eq!(order(&other, "slow", "quick", "").text(), "quick");
    assert!(!logger.lines().contains("took longer than"));
    assert_eq!(ask(&other, "POST /go"), "gone");
    let slow = slow.read(false).expect("an answer");
    assert_eq!((slow.status, slow.text()), (200, "slow".to_owned()));
    let told = "it took longer than 120 seconds here, and this answer is not recorded";
    assert!(logger.lines().contains(told), "{}", logger.lines());
    for running in [&one, &other] {
        let again = order(running, "slow", "slow", "");
        assert_eq!(again.text(), "quick");
        assert_eq!(again.header("idempotent-replayed"), ["true"]);
    }
    assert!(one.shutdown() && other.shutdown());
}
