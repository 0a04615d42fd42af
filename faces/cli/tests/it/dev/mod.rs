//! `sampan dev`: what is saved is served, pages hear of it, and errors are shown where one looks.

mod errors;
mod https;
mod life;
mod mails;
mod previews;
mod saves;

use crate::support::{Process, Scratch};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

fn dev(scratch: &Scratch, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command
        .arg("dev")
        .arg(scratch.path())
        .args(["--listen", "127.0.0.1:0", "--workers", "2"]);
    command.args(more);
    command
}

fn write(scratch: &Scratch, name: &str, text: &str) {
    let path = scratch.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("written");
}

fn get(process: &Process, path: &str, lines: &[&str]) -> (u16, String) {
    let answer = process
        .client()
        .ask("GET", path, lines, "")
        .expect("an answer");
    (answer.status, answer.text())
}

/// The longest time that an event may take, on a machine that compiles meanwhile.
const TIME_MAX: Duration = Duration::from_secs(20);

const PAGES: &[&str] = &["Accept: text/html,*/*"];

/// A page in a browser, as far as it listens.
struct Page {
    stream: BufReader<TcpStream>,
    /// The state that it knows.
    state: serde_json::Value,
}

impl Page {
    fn open(process: &Process) -> Self {
        let mut stream = TcpStream::connect(process.address).expect("connected");
        stream.set_read_timeout(Some(TIME_MAX)).expect("set");
        stream
            .write_all(b"GET /_sampan/dev/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("sent");
        let mut page = Self {
            stream: BufReader::new(stream),
            state: serde_json::Value::Null,
        };
        page.hear();
        page
    }

    /// Waits for the next event.
    fn hear(&mut self) -> &serde_json::Value {
        // Its comments would keep it waiting for ever.
        let deadline = Instant::now() + TIME_MAX;
        loop {
            assert!(
                Instant::now() < deadline,
                "heard nothing since {}",
                self.state
            );
            let mut line = String::new();
            let length = self.stream.read_line(&mut line).expect("an event");
            assert!(length > 0, "the stream ended");
            if let Some(state) = line.strip_prefix("data: ") {
                self.state = serde_json::from_str(state).expect("JSON");
                return &self.state;
            }
        }
    }

    fn version(&self) -> String {
        self.state["version"].as_str().expect("text").to_owned()
    }

    /// Waits until the project is another; the time may have brought faults before.
    fn hears_of_reload(&mut self) {
        let before = self.version();
        while self.version() == before {
            self.hear();
        }
    }

    /// Waits until the project does not load, and gives the page that says so.
    fn hears_of_fault(&mut self) -> String {
        loop {
            if let Some(fault) = self.hear()["fault"].as_str() {
                return fault.to_owned();
            }
        }
    }
}

fn app(file: &str, word: &str) -> String {
    match file {
        "app.lua" => format!(
            "local app = require 'sampan'\napp.get('/', function() return app.html('<body>{word}</body>') end)\n"
        ),
        _ => format!(
            "import {{ app, html }} from 'sampan';\napp.get('/', () => html('<body>{word}</body>'));\n"
        ),
    }
}
