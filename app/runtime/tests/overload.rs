//! A worker that gets more requests than its scripts can answer, in both languages.

use sampan_client::{Answer, Client};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server};
use std::path::Path;

/// More connections than may wait before any is refused.
const CROWD: usize = 200;

/// One worker, and runs that no machine is too busy for.
const SERVER: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\ntrusted_proxies = [\"127.0.0.1\"]\n\
    [workers]\nslow = 0\n[limits]\nscript_millis_max = 60000\nhandler_millis_max = 120000\n\
    [db]\npath = \":memory:\"\n";

const LUA: &str = r#"
local app = require "sampan"
local order = 0
local function work()
  local sum = 0
  for at = 1, 200000 do sum = (sum + at * at) % 1000003 end
  order = order + 1
  return { order = order, sum = sum }
end
app.get("/work", { slow = false }, work)
app.get("/stream", { slow = false }, function()
  return app.stream(function(write)
    while true do
      work()
      write(("x"):rep(1000))
    end
  end)
end)
app.get("/first", { priority = "high" }, function() return "first" end)
app.use("/keyed", app.rate_limit{ limit = 1000000, per = 60, key = "X-Api-Key" })
app.get("/keyed", { slow = false }, work)
app.use("/guarded/*", work)
"#;

const JS: &str = r#"
import { app, stream } from "sampan";
let order = 0;
function work() {
  let sum = 0;
  for (let at = 1; at <= 50000; at++) sum = (sum + at * at) % 1000003;
  order += 1;
  return { order, sum };
}
app.get("/work", { slow: false }, work);
app.get("/stream", { slow: false }, () => stream(async (write) => {
  while (true) {
    work();
    await write("x".repeat(1000));
  }
}));
app.get("/first", { priority: "high" }, () => "first");
app.use("/keyed", app.rateLimit({ limit: 1000000, per: 60, key: "X-Api-Key" }));
app.get("/keyed", { slow: false }, work);
app.use("/guarded/*", work);
"#;

struct Served {
    running: Running,
    logger: Logger,
}

fn serve(folder: &Path, (file, text): (&str, &str), overload: &str) -> Served {
    std::fs::write(folder.join(file), text).expect("written");
    let public = folder.join("public/guarded");
    std::fs::create_dir_all(&public).expect("a folder");
    std::fs::write(public.join("page.html"), "a page").expect("written");
    let logger = Logger::captured(Level::Info);
    let settings = format!("{SERVER}[overload]\n{overload}\n");
    let mut config = AppConfig::from_text(folder, &settings).expect("valid");
    config.program.logger = logger.clone();
    let running = Server::start(config).expect("it starts");
    Served { running, logger }
}

impl Served {
    fn client(&self) -> Client {
        Client::connect(self.running.address()).expect("connected")
    }
}

fn send(client: &mut Client, path: &str, address: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {address}\r\n\r\n");
    client.send(request.as_bytes()).expect("sent");
}

fn read(client: &mut Client) -> Answer {
    client.read(false).expect("an answer")
}

/// The place of an answer among all that the handler has made.
fn order(answer: &Answer) -> u64 {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    let number = text.split("\"order\":").nth(1).expect("an order");
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

fn both(test: impl Fn((&'static str, &'static str))) {
    for app in [("app.lua", LUA), ("app.js", JS)] {
        test(app);
    }
}

/// Sends the requests of a crowd and then one of another, and returns the number of answers that it has waited for.
fn waited(
    app: (&str, &str),
    crowd: impl Fn(&mut Client, usize),
    other: impl Fn(&mut Client),
) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let served = serve(folder.path(), app, "target_millis = 60000");
    let mut many: Vec<Client> = (0..CROWD).map(|_| served.client()).collect();
    let mut one = served.client();
    for (at, client) in many.iter_mut().enumerate() {
        crowd(client, at);
    }
    // The crowd's requests are being answered: nearly all of them wait.
    let begun = order(&read(&mut many[0]));
    other(&mut one);
    let answered = order(&read(&mut one));
    for client in &mut many[1..] {
        order(&read(client));
    }
    answered.saturating_sub(begun)
}

/// Fewer answers than the half of a crowd.
const FEW: u64 = CROWD as u64 / 2;

#[test]
fn one_client_with_many_requests_does_not_keep_the_others_waiting() {
    both(|app| {
        // Where there is no route, and before a file, middleware is the script.
        for path in ["/work", "/keyed", "/guarded/nothing", "/guarded/page.html"] {
            // Without the field of the key the address counts.
            let waited = waited(
                app,
                |client, _| send(client, path, "192.0.2.1"),
                |client| send(client, path, "192.0.2.2"),
            );
            assert!(waited < FEW, "{} {path}: {waited}", app.0);
        }
    });
}

#[test]
fn where_a_rate_limit_counts_by_a_field_its_values_take_turns() {
    let keyed = |client: &mut Client, key: &str, address: &str| {
        let request = format!(
            "GET /keyed HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {address}\r\nx-api-key: {key}\r\n\r\n"
        );
        client.send(request.as_bytes()).expect("sent");
    };
    both(|app| {
        let of_one_address = waited(
            app,
            |client, _| keyed(client, "many", "192.0.2.1"),
            |client| keyed(client, "one", "192.0.2.1"),
        );
        assert!(of_one_address < FEW, "{}: {of_one_address}", app.0);
        let of_many_addresses = waited(
            app,
            |client, at| keyed(client, "many", &format!("198.51.100.{at}")),
            |client| keyed(client, "one", "192.0.2.1"),
        );
        assert!(of_many_addresses < FEW, "{}: {of_many_addresses}", app.0);
    });
}

#[test]
fn requests_that_wait_too_long_for_too_long_are_refused_and_important_ones_last() {
    both(|app| {
        let folder = tempfile::tempdir().expect("a folder");
        let overload = "target_millis = 1\ninterval_millis = 5\nwaiting_min = 10";
        let served = serve(folder.path(), app, overload);
        let mut crowd: Vec<Client> = (0..CROWD).map(|_| served.client()).collect();
        let mut important = served.client();
        for client in &mut crowd {
            send(client, "/work", "192.0.2.1");
        }
        send(&mut important, "/first", "192.0.2.1");
        let answer = read(&mut important);
        assert_eq!((answer.status, answer.text().as_str()), (200, "first"));
        let answers: Vec<Answer> = crowd.iter_mut().map(read).collect();
        let (accepted, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer.status == 200);
        assert!(accepted.len() >= 10, "{}: {}", app.0, accepted.len());
        assert!(!refused.is_empty(), "{}", app.0);
        for answer in refused {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_eq!(answer.header("retry-after"), ["1"]);
        }
        let log = served.logger.lines();
        assert!(log.contains("[overload] target_millis"), "{log}");
        // The connections go on, and so does the server.
        for client in &mut crowd {
            send(client, "/work", "192.0.2.1");
            assert_eq!(read(client).status, 200);
        }
    });
}

#[test]
fn without_it_requests_are_answered_as_they_come() {
    both(|app| {
        let folder = tempfile::tempdir().expect("a folder");
        let overload = "enabled = false\ntarget_millis = 1\ninterval_millis = 1\nwaiting_min = 0";
        let served = serve(folder.path(), app, overload);
        let mut crowd: Vec<Client> = (0..CROWD).map(|_| served.client()).collect();
        for client in &mut crowd {
            send(client, "/work", "192.0.2.1");
        }
        for client in &mut crowd {
            assert_eq!(read(client).status, 200);
        }
    });
}

#[test]
fn clients_that_leave_while_they_wait_are_forgotten() {
    both(|app| {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), app, "target_millis = 60000");
        let mut crowd: Vec<Client> = (0..CROWD).map(|_| served.client()).collect();
        for client in &mut crowd {
            send(client, "/work", "192.0.2.1");
        }
        let begun = order(&read(&mut crowd[0]));
        drop(crowd);
        let mut other = served.client();
        send(&mut other, "/work", "192.0.2.2");
        let answered = order(&read(&mut other));
        assert!(answered < begun + CROWD as u64, "{answered} after {begun}");
        assert!(
            served.running.shutdown(),
            "{}: it ends in good order",
            app.0
        );
    });
}

#[test]
fn a_stream_that_computes_lets_others_have_their_turn() {
    both(|app| {
        let folder = tempfile::tempdir().expect("a folder");
        let served = serve(folder.path(), app, "");
        let mut stream = std::net::TcpStream::connect(served.running.address()).expect("connected");
        let request = b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n";
        std::io::Write::write_all(&mut stream, request).expect("sent");
        let mut buffer = [0; 4096];
        let mut received = 0;
        while received < 100_000 {
            received += std::io::Read::read(&mut stream, &mut buffer).expect("more");
        }
        let reading = stream.try_clone().expect("a clone");
        let reader = std::thread::spawn(move || {
            while std::io::Read::read(&mut stream, &mut buffer).is_ok_and(|bytes| bytes > 0) {}
        });
        let mut other = served.client();
        for _ in 0..10 {
            send(&mut other, "/first", "192.0.2.1");
            assert_eq!(read(&mut other).text(), "first");
        }
        reading.shutdown(std::net::Shutdown::Both).expect("closed");
        reader.join().expect("no panic");
    });
}
