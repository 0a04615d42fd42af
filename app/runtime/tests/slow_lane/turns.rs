//! Requests that wait for an isolate of the slow lane: turns by client, refusals and priority.

use super::{Served, serve_with};
use sampan_client::{Answer, Client};

/// The requests of one client that wait at once.
const CROWD: usize = 100;

/// A worker, and an isolate for slow routes. Proxies tell the clients.
const SERVER: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\ntrusted_proxies = [\"127.0.0.1\"]\n\
    [workers]\nslow = 1\n[limits]\nscript_millis_max = 60000\nhandler_millis_max = 120000\n\
    [db]\npath = \":memory:\"\n";

/// Each answer tells how many there were before it.
const LUA: &str = r#"
local app = require "sampan"
local order = 0
local function work()
  local sum = 0
  for at = 1, 200000 do sum = (sum + at * at) % 1000003 end
  order = order + 1
  return { order = order, sum = sum }
end
app.get("/work", { slow = true }, work)
app.get("/first", { slow = true, priority = "high" }, work)
"#;

const JS: &str = r#"
import { app } from "sampan";
let order = 0;
function work() {
  let sum = 0;
  for (let at = 1; at <= 50000; at++) sum = (sum + at * at) % 1000003;
  order += 1;
  return { order, sum };
}
app.get("/work", { slow: true }, work);
app.get("/first", { slow: true, priority: "high" }, work);
"#;

fn serve_each(overload: &str, test: impl Fn(Served)) {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = format!("{SERVER}[overload]\n{overload}\n");
        test(serve_with(folder.path(), file, text, &settings));
    }
}

fn send(client: &mut Client, path: &str, address: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {address}\r\n\r\n");
    client.send(request.as_bytes()).expect("sent");
}

fn read(client: &mut Client) -> Answer {
    client.read(false).expect("an answer")
}

fn order(answer: &Answer) -> u64 {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    let number = text.split("\"order\":").nth(1).expect("an order");
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// Sends the requests of a crowd with one address, of which each has a connection.
fn crowd(served: &Served) -> Vec<Client> {
    let mut crowd: Vec<Client> = (0..CROWD).map(|_| served.client()).collect();
    for client in &mut crowd {
        send(client, "/work", "192.0.2.1");
    }
    crowd
}

#[test]
fn one_client_with_many_requests_does_not_keep_the_others_waiting() {
    for path in ["/work", "/first"] {
        serve_each("slow_target_millis = 60000", |served| {
            let mut crowd = crowd(&served);
            let mut other = served.client();
            let begun = order(&read(&mut crowd[0]));
            let address = if path == "/work" {
                "192.0.2.2"
            } else {
                "192.0.2.1"
            };
            send(&mut other, path, address);
            let answered = order(&read(&mut other));
            let last = crowd[1..].iter_mut().map(|client| order(&read(client)));
            let last = last.max().expect("many");
            let waited = answered.saturating_sub(begun);
            assert!(
                waited < CROWD as u64 / 2,
                "{path}: answered as number {answered}, after {begun}, of {last}"
            );
        });
    }
}

#[test]
fn requests_that_wait_too_long_for_too_long_are_refused_and_important_ones_last() {
    serve_each("slow_target_millis = 1\ninterval_millis = 5", |served| {
        let mut crowd = crowd(&served);
        let mut important = served.client();
        send(&mut important, "/first", "192.0.2.1");
        order(&read(&mut important));
        let answers: Vec<Answer> = crowd.iter_mut().map(read).collect();
        let (accepted, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer.status == 200);
        assert!(!accepted.is_empty() && !refused.is_empty());
        for answer in refused {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_eq!(answer.header("retry-after"), ["1"]);
        }
        let log = served.logger.lines();
        assert!(log.contains("[overload] slow_target_millis"), "{log}");
        // The connections go on, and so does the server.
        for client in &mut crowd {
            send(client, "/work", "192.0.2.1");
            assert_eq!(read(client).status, 200);
        }
    });
}

#[test]
fn without_overload_requests_are_answered_as_they_come() {
    serve_each(
        "enabled = false\nslow_target_millis = 1\ninterval_millis = 1",
        |served| {
            for client in &mut crowd(&served) {
                assert_eq!(read(client).status, 200);
            }
        },
    );
}
