//! Files of forms that are larger than what stays in memory.

mod ends;

use crate::support::Scratch;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server};
use sampan_testkit::Client;
use sampan_testkit::wait;
use std::path::Path;

const LUA: &str = r#"
local app = require "sampan"
app.post("/save", { stream = true, body_bytes_max = "20 MB" }, function(req)
  local form = req:form()
  form.f:save("kept/" .. form.f.name)
  return { size = form.f.size, name = form.f.name, note = form.note }
end)
app.post("/forget", { stream = true, body_bytes_max = "20 MB" }, function(req)
  return { size = req:form().f.size }
end)
"#;

const JS: &str = r#"
import { app } from "sampan";
app.post("/save", { stream: true, bodyBytesMax: "20 MB" }, async (req) => {
  const form = await req.form();
  await form.f.save(`kept/${form.f.name}`);
  return { size: form.f.size, name: form.f.name, note: form.note };
});
app.post("/forget", { stream: true, bodyBytesMax: "20 MB" }, async (req) => ({ size: (await req.form()).f.size }));
"#;

const TOML: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n[log]\nlevel = \"warn\"\n";

fn start(scratch: &Scratch) -> Running {
    start_with(scratch, "")
}

/// A server with further settings.
pub(crate) fn start_with(scratch: &Scratch, settings: &str) -> Running {
    let text = format!("{TOML}{settings}");
    let mut config = AppConfig::from_text(scratch.path(), &text).expect("valid");
    config.program.logger = Logger::captured(Level::Info);
    Server::start(config).expect("it starts")
}

fn each_language(test: impl Fn(&Scratch)) {
    each_language_of(LUA, JS, test);
}

/// Tests an app in both languages.
pub(crate) fn each_language_of(lua: &str, js: &str, test: impl Fn(&Scratch)) {
    test(&Scratch::new(&[("app.lua", lua)]));
    test(&Scratch::new(&[("app.js", js)]));
}

/// A form with a file of so many bytes.
pub(crate) fn form(file: &[u8]) -> Vec<u8> {
    let mut body = b"--X\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--X\r\nContent-Disposition: \
     form-data; name=\"f\"; \
                     filename=\"../large.bin\"\r\n\r\n"
        .to_vec();
    body.extend_from_slice(file);
    body.extend_from_slice(b"\r\n--X--\r\n");
    body
}

pub(crate) fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=X\r\nContent-Length: \
         {length}\r\n\r\n"
    )
}

/// Returns the number of open files without a name below this folder the process has open, and how many names there
/// are.
pub(crate) fn temporary(storage: &Path) -> (usize, usize) {
    let open = std::fs::read_dir("/proc/self/fd").expect("a list");
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let below = links
        .filter(|link| link.starts_with(storage) && link.to_string_lossy().ends_with("(deleted)"));
    let names = std::fs::read_dir(storage.join(".sampan")).map_or(0, Iterator::count);
    (below.count(), names)
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    wait::until(what, is_so);
}

#[test]
fn a_large_file_is_saved_and_nothing_else_stays() {
    each_language(|scratch| {
        let running = start(scratch);
        let storage = scratch.path().join("storage");
        let file: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let body = form(&file);
        let mut client = Client::connect(running.address()).expect("someone listens");
        for path in ["/forget", "/save", "/save"] {
            client
                .send(head(path, body.len()).as_bytes())
                .expect("sent");
            client.send(&body).expect("sent");
            let answer = client.read(false).expect("an answer");
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.text().contains("3000000"), "{}", answer.text());
        }
        let saved = std::fs::read(storage.join("kept/large.bin")).expect("the file");
        assert!(saved == file, "other bytes were saved");
        wait_until("no temporary file is left", || {
            temporary(&storage) == (0, 0)
        });
        assert!(running.shutdown());
    });
}

#[test]
fn a_client_that_leaves_leaves_nothing_behind() {
    each_language(|scratch| {
        let running = start(scratch);
        let storage = scratch.path().join("storage");
        let body = form(&vec![b'x'; 3_000_000]);
        let mut client = Client::connect(running.address()).expect("someone listens");
        client
            .send(head("/forget", body.len()).as_bytes())
            .expect("sent");
        client.send(&body[..1_000_000]).expect("sent");
        // What has come lies in a file that nobody can find.
        wait_until("it is on the disk", || temporary(&storage) == (1, 0));
        drop(client);
        wait_until("it is gone", || temporary(&storage) == (0, 0));
        assert!(running.shutdown());
    });
}

#[test]
fn a_form_that_ends_in_an_error_leaves_nothing_behind() {
    each_language(|scratch| {
        let running = start(scratch);
        let storage = scratch.path().join("storage");
        let mut body = form(&vec![b'x'; 1_000_000]);
        body.truncate(body.len() - 8);
        let mut client = Client::connect(running.address()).expect("someone listens");
        client
            .send(head("/save", body.len()).as_bytes())
            .expect("sent");
        client.send(&body).expect("sent");
        let answer = client.read(false).expect("an answer");
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(
            answer.text().contains("without its last boundary"),
            "{}",
            answer.text()
        );
        wait_until("it is gone", || temporary(&storage) == (0, 0));
        assert!(!storage.join("kept").exists());
        assert!(running.shutdown());
    });
}
