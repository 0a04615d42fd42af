//! Clients that ask for large answers and do not read them.

mod slow_sockets;

use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;

const LIMITS: &str = "[workers]\nslow = 0\n[limits]\nunsent_bytes_max = \"64 MB\"\nunsent_bytes_per_client_max = \"64 MB\"\n";

/// The number of clients, which would hold three times the limit.
const CLIENTS: usize = 12;

/// An answer of 16 MB, which is more than the buffers of a socket hold.
const APPS: [(&str, &str); 2] = [
    (
        "app.lua",
        "local app = require 'sampan'\nlocal large = ('x'):rep(16000000)\napp.get('/large', function() return large end)\n\
         app.get('/', function() return 'served' end)\n",
    ),
    (
        "app.js",
        "import { app } from 'sampan';\nconst large = 'x'.repeat(16000000);\napp.get('/large', () => large);\n\
         app.get('/', () => 'served');\n",
    ),
];

#[test]
fn clients_that_do_not_read_are_closed_and_their_memory_goes_back() {
    for (file, app) in APPS {
        let scratch = Scratch::new(&[(file, app), ("sampan.toml", LIMITS)]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.arg("run").arg(scratch.path());
        command.args(["--listen", "127.0.0.1:0", "--workers", "2"]);
        let mut process = Process::start(&mut command);
        let log = process.follow_errors();
        let served = || {
            let answer = process.client().ask("GET", "/", &[], "");
            assert_eq!(answer.expect("an answer").text(), "served", "{file}");
        };
        served();
        let before = process.memory_kib();
        let lazy: Vec<TcpStream> = (0..CLIENTS)
            .map(|_| {
                let mut socket = TcpStream::connect(process.address).expect("a socket");
                let asked = socket.write_all(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
                asked.expect("sent");
                served();
                socket
            })
            .collect();
        // Four answers stay below the limit, and what the sockets hold of them does not count. Two workers close them, so
        // the lines may come in another order.
        let mut counts: Vec<usize> = (1..=CLIENTS - 4).collect();
        while !counts.is_empty() {
            let line = log
                .recv_timeout(wait::EVENT_TIME_MAX)
                .expect("a line for each closed connection");
            let parts = [
                "closed the connection of 127.0.0.1, which held",
                "[limits] unsent_bytes_",
            ];
            let is_told = |count: &usize| line.contains(&format!("; {count} connection"));
            let told = counts.iter().position(is_told);
            assert!(
                told.is_some() && parts.iter().all(|part| line.contains(part)),
                "{file}: {line}"
            );
            told.map(|at| counts.remove(at));
        }
        served();
        let held = process.memory_kib().saturating_sub(before);
        // The buffers of sockets take more or less of the answers.
        assert!(held > 4 * 1024, "{file}: {held} KiB");
        drop(lazy);
        wait::until(format!("{file}: half of {held} KiB given back"), || {
            process.memory_kib() <= before + held / 2
        });
    }
}

/// The request alone allocates here, so that no later allocation gives its memory back.
#[test]
fn memory_of_a_request_goes_back_although_no_other_comes() {
    let app = "import { app } from 'sampan';\n\
               app.get('/', () => ({ length: Array.from({ length: 8 }, () => 'x'.repeat(5e6)).length }));\n";
    let scratch = Scratch::new(&[("app.js", app)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("run").arg(scratch.path());
    command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    let process = Process::start(&mut command);
    let before = process.memory_kib();
    let answer = process.client().ask("GET", "/", &[], "");
    assert_eq!(answer.expect("an answer").text(), r#"{"length":8}"#);
    let text = "the memory goes back";
    wait::until(text, || process.memory_kib() < before + 20_000);
}
