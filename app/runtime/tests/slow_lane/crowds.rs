//! Requests that wait for their turn on a worker while their route turns out to be slow.

use super::serve_with;
use sampan_client::{Answer, Client};

/// The requests of the route that keeps the worker busy: more than run at once.
const BUSY: usize = 80;
/// The requests that wait behind them.
const CROWD: usize = 60;

/// A worker, and an isolate for slow routes, which is there from the start. Proxies tell the clients. The worker would
/// soon refuse all that have to wait.
const SETTINGS: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\ntrusted_proxies = [\"127.0.0.1\"]\n\
    [workers]\nslow = 1\n[limits]\nscript_millis_max = 60000\nhandler_millis_max = 120000\n\
    [overload]\ntarget_millis = 1\ninterval_millis = 4000\nwaiting_min = 0\nslow_target_millis = 60000\n\
    [db]\npath = \":memory:\"\n";

const LUA: &str = r#"
local app = require "sampan"
local function work(rounds)
  local sum = 0
  for at = 1, rounds do sum = (sum + at * at) % 1000003 end
  return { lane = app.worker.index > app.worker.count and "slow" or "quick", sum = sum }
end
app.get("/busy", { slow = false }, function() return work(6000000) end)
app.get("/work", function() return work(2000000) end)
app.get("/slow", { slow = true }, function() return work(2000000) end)
"#;

const JS: &str = r#"
import { app } from "sampan";
function work(rounds) {
  let sum = 0;
  for (let at = 1; at <= rounds; at++) sum = (sum + at * at) % 1000003;
  return { lane: app.worker.index > app.worker.count ? "slow" : "quick", sum };
}
app.get("/busy", { slow: false }, () => work(300000));
app.get("/work", () => work(100000));
app.get("/slow", { slow: true }, () => work(100000));
"#;

fn send(client: &mut Client, path: &str, address: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {address}\r\n\r\n");
    client.send(request.as_bytes()).expect("sent");
}

fn read(client: &mut Client) -> Answer {
    client.read(false).expect("an answer")
}

fn is_slow(answer: &Answer) -> bool {
    answer.text().contains("\"slow\"")
}

#[test]
fn requests_that_wait_go_to_the_slow_lane_when_their_route_does() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve_with(folder.path(), file, text, SETTINGS);
        let clients = |count| (0..count).map(|_| served.client()).collect::<Vec<_>>();
        let (mut busy, mut crowd) = (clients(BUSY), clients(CROWD));
        for client in &mut busy {
            send(client, "/busy", "192.0.2.1");
        }
        // The first of those before them run: these have to wait.
        for client in &mut crowd {
            send(client, "/work", "192.0.2.2");
        }
        let answers: Vec<Answer> = crowd.iter_mut().map(read).collect();
        for answer in &answers {
            // The worker's limits are not those of the slow lane.
            assert_eq!(answer.status, 200, "{file}: {}", answer.text());
        }
        let slow = answers.iter().filter(|answer| is_slow(answer)).count();
        assert!(slow > CROWD / 4, "{file}: {slow} of {CROWD}");
        let others: Vec<Answer> = busy.iter_mut().map(read).collect();
        let (accepted, refused): (Vec<_>, Vec<_>) =
            others.iter().partition(|answer| answer.status == 200);
        assert!(accepted.iter().all(|answer| !is_slow(answer)), "{file}");
        assert!(refused.iter().all(|answer| answer.status == 503), "{file}");
    }
}
