//! Logins and limits as a client meets them.

use crate::support::{Process, Scratch};
use sampan_testkit::{Answer, Client, wait};
use std::process::Command;
use std::time::Duration;

const LOGINS: usize = 60;

const LUA: &str = r#"
local app = require "sampan"
local kept
app.on_start(function() kept = app.password.hash("secret") end)
app.post("/login", function() return { ok = app.password.verify("guess", kept) } end)
app.get("/plain", function() return "plain" end)
app.get("/limited", function() return "in" end)
app.use("/limited", app.rate_limit{ limit = 2, per = 3600, name = "few" })
"#;

const JS: &str = r#"
import { app, password } from "sampan";
let kept;
app.onStart(async () => { kept = await password.hash("secret"); });
app.post("/login", async () => ({ ok: await password.verify("guess", kept) }));
app.get("/plain", () => "plain");
app.get("/limited", () => "in");
app.use("/limited", app.rateLimit({ limit: 2, per: 3600, name: "few" }));
"#;

fn each_language(test: impl Fn(&str, &Process)) {
    for (file, source) in [("app.lua", LUA), ("app.js", JS)] {
        let scratch = Scratch::new(&[(file, source)]);
        let process = Process::start(Command::new(env!("CARGO_BIN_EXE_sampan")).args([
            "run",
            &scratch.file(file),
            "--listen",
            "127.0.0.1:0",
            "--workers",
            "2",
            // A machine that does much else needs minutes for the hashes.
            "--set",
            "limits.handler_millis_max=600000",
        ]));
        test(file, &process);
    }
}

fn ask(client: &mut Client, path: &str) -> Answer {
    client.ask("GET", path, &[], "").expect("an answer")
}

#[test]
fn many_logins_at_once_keep_no_other_route_waiting() {
    each_language(|name, process| {
        let mut clients: Vec<_> = (0..LOGINS).map(|_| process.client()).collect();
        for client in &mut clients {
            let login = b"POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
            client.send(login).expect("sent");
        }
        let answers = std::thread::spawn(move || {
            for client in &mut clients {
                let answer = client.read(false).expect("an answer");
                assert_eq!(answer.text(), r#"{"ok":false}"#);
            }
        });
        let (mut client, mut plain) = (process.client(), 0);
        while !answers.is_finished() {
            assert_eq!(ask(&mut client, "/plain").status, 200);
            plain += 1;
            // The hashes need the processors more than the requests beside them.
            wait::dawdle(Duration::from_millis(2));
        }
        answers.join().expect("all were answered");
        println!("{name}: {plain} other answers beside {LOGINS} logins");
        // Behind the logins there would be one at most for each that ends.
        assert!(plain > LOGINS * 2, "{name}: {plain} other answers");
    });
}

#[test]
fn whoever_is_above_a_limit_is_told_how_long_to_wait() {
    each_language(|name, process| {
        let mut client = process.client();
        for (status, remaining) in [(200, 1), (200, 0), (429, 0), (429, 0)] {
            let answer = ask(&mut client, "/limited");
            assert_eq!(answer.status, status, "{name}");
            let state = answer.header("ratelimit").concat();
            let seconds = state.strip_prefix(&format!("\"few\";r={remaining};t="));
            let seconds: u64 = seconds.expect(&state).parse().expect("seconds");
            // The window has begun with the server, a moment ago.
            assert!((3_500..=3_601).contains(&seconds), "{name}: {state}");
            let wait = answer.header("retry-after").concat();
            let told = if status == 429 {
                seconds.to_string()
            } else {
                String::new()
            };
            assert_eq!(wait, told, "{name}");
        }
    });
}
