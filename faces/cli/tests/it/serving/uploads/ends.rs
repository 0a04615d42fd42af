//! Forms with large files in every way to end: nothing of them stays, and what cannot be kept is said.

use crate::serving::uploads::{each_language_of, form, head, start_with, temporary, wait_until};
use crate::support::{Process, Scratch};
use sampan_testkit::{Answer, Client};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

const LUA: &str = r#"
local app = require "sampan"
local options = { stream = true, body_bytes_max = "80 MB" }
app.post("/throw", options, function(req) req:form() error("on purpose") end)
app.post("/hang", options, function(req) local form = req:form() app.time.sleep(60) return form.f.size end)
app.post("/size", options, function(req) return { size = req:form().f.size } end)
app.post("/save", options, function(req) req:form().f:save("kept") end)
app.post("/pieces", options, function(req)
  local file, pieces, bytes, last = req:form().f, 0, 0, nil
  for piece in function() return file:read() end do
    pieces, bytes, last = pieces + 1, bytes + #piece, piece:byte(-1)
  end
  return { pieces = pieces, bytes = bytes, last = last }
end)
app.post("/whole", options, function(req)
  local file = req:form().f
  local text, bytes = file:text(), file:bytes()
  return { text = #text, bytes = #bytes, same = text == bytes, last = bytes:byte(-1) }
end)
app.post("/write", function(req) app.files.write("written", ("x"):rep(1000000)) end)
"#;

const JS: &str = r#"
import { app, files, time } from "sampan";
const options = { stream: true, bodyBytesMax: "80 MB" };
app.post("/throw", options, async (req) => { await req.form(); throw new Error("on purpose"); });
app.post("/hang", options, async (req) => { const form = await req.form(); await time.sleep(60); return form.f.size; });
app.post("/size", options, async (req) => ({ size: (await req.form()).f.size }));
app.post("/save", options, async (req) => (await req.form()).f.save("kept"));
app.post("/pieces", options, async (req) => {
  const { f } = await req.form();
  let pieces = 0, bytes = 0, last = 0;
  for (let piece = await f.read(); piece; piece = await f.read()) {
    pieces += 1;
    bytes += piece.length;
    last = piece.at(-1);
  }
  return { bytes, last, pieces };
});
app.post("/whole", options, async (req) => {
  const { f } = await req.form();
  const text = await f.text(), bytes = await f.bytes();
  const same = text === new TextDecoder().decode(bytes);
  return { bytes: bytes.length, last: bytes.at(-1), same, text: text.length };
});
app.post("/write", () => files.write("written", "x".repeat(1000000)));
"#;

fn each_language(test: impl Fn(&Scratch, &str)) {
    each_language_of(LUA, JS, |scratch| {
        let is_lua = scratch.path().join("app.lua").exists();
        test(scratch, if is_lua { "app.lua" } else { "app.js" });
    });
}

fn send(address: SocketAddr, path: &str, body: &[u8]) -> Client {
    let mut client = Client::connect(address).expect("someone listens");
    client
        .send(head(path, body.len()).as_bytes())
        .expect("sent");
    // Whoever refuses it early may not read all of it.
    let _ = client.send(body);
    client
}

fn post(address: SocketAddr, path: &str, body: &[u8]) -> Answer {
    send(address, path, body).read(false).expect("an answer")
}

#[test]
fn nothing_stays_of_a_form_whose_request_fails() {
    each_language(|scratch, name| {
        let settings = "[forms]\nfile_bytes_max = \"2 MB\"\n[limits]\nhandler_millis_max = 2000\ncleanup_millis_max = \
         100\n";
        let running = start_with(scratch, settings);
        let storage = scratch.path().join("storage");
        let large = form(&vec![b'x'; 1_000_000]);
        let too_large = form(&vec![b'x'; 4_000_000]);
        for (path, body, status) in [
            ("/throw", &large, 500),
            ("/size", &too_large, 413),
            ("/hang", &large, 504),
        ] {
            let answer = post(running.address(), path, body);
            assert_eq!(answer.status, status, "{name} {path}: {}", answer.text());
            wait_until(&format!("{name} {path}: it is gone"), || {
                temporary(&storage) == (0, 0)
            });
        }
        assert!(running.shutdown());
    });
}

#[test]
fn nothing_stays_of_a_form_at_a_shutdown() {
    each_language(|scratch, name| {
        let running = start_with(
            scratch,
            "[limits]\nshutdown_millis_max = 200\ncleanup_millis_max = 100\n",
        );
        let storage = scratch.path().join("storage");
        let client = send(running.address(), "/hang", &form(&vec![b'x'; 1_000_000]));
        wait_until("it is on the disk", || temporary(&storage) == (1, 0));
        running.shutdown();
        drop(client);
        wait_until(&format!("{name}: it is gone"), || {
            temporary(&storage) == (0, 0)
        });
    });
}

/// Returns the number of files without a name that a process has open below a folder.
fn open_files_below(process: &Process, folder: &Path) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", process.id())).expect("a list");
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let is_below = |link: &std::path::PathBuf| {
        link.starts_with(folder) && link.to_string_lossy().ends_with("(deleted)")
    };
    links.filter(is_below).count()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| name(entry.expect("one"))).collect()
}

fn run(scratch: &Scratch, app: &str, before: &str) -> Process {
    let script = format!("{before} exec \"$0\" run \"$1\" --listen 127.0.0.1:0 --workers 1");
    Process::start(Command::new("sh").args([
        "-c",
        &script,
        env!("CARGO_BIN_EXE_sampan"),
        &scratch.file(app),
    ]))
}

#[test]
fn nothing_stays_of_a_form_whose_process_is_killed() {
    each_language(|scratch, name| {
        let mut process = run(scratch, name, "");
        let own = scratch.path().join("storage/.sampan");
        let body = form(&vec![b'x'; 1_000_000]);
        let answer = post(process.address, "/save", &body);
        assert_eq!(answer.status, 204, "{name}: {}", answer.text());
        let waiting = send(process.address, "/hang", &body);
        wait_until("it is on the disk", || {
            open_files_below(&process, scratch.path()) == 1
        });
        process.signal("KILL");
        process.status();
        drop(waiting);
        assert_eq!(names(&own), [""; 0], "{name}");
        assert_eq!(names(&scratch.path().join("storage")).len(), 2, "{name}");
        // Killed between two steps of a write it would have left this.
        std::fs::write(own.join(".sampan-0011"), "half").expect("a file");
        let _process = run(scratch, name, "");
        assert_eq!(names(&own), [""; 0], "{name}");
    });
}

/// A limit on the size of files is told like a full disk (507), which the unit tests have as `/dev/full`.
#[test]
fn what_has_no_room_on_the_disk_is_said() {
    each_language(|scratch, name| {
        let process = run(scratch, name, "ulimit -f 600;");
        let body = form(&vec![b'x'; 1_000_000]);
        for path in ["/size", "/save", "/write"] {
            let body: &[u8] = if path == "/write" { b"" } else { &body };
            let answer = post(process.address, path, body);
            assert_eq!(answer.status, 507, "{name} {path}: {}", answer.text());
        }
        let small = form(&vec![b'x'; 100_000]);
        let answer = post(process.address, "/save", &small);
        assert_eq!(answer.status, 204, "{name}: {}", answer.text());
        let storage = scratch.path().join("storage");
        let mut left = names(&storage);
        left.sort();
        assert_eq!(left, [".sampan", "kept"], "{name}");
        assert_eq!(names(&storage.join(".sampan")), [""; 0], "{name}");
    });
}

#[test]
fn a_large_file_is_read_in_pieces_and_takes_little_memory() {
    const LARGE: usize = 60_000_000;
    each_language(|scratch, name| {
        let process = run(scratch, name, "");
        let mut file = vec![b'x'; 200_000];
        *file.last_mut().expect("bytes") = b'z';
        let answer = post(process.address, "/pieces", &form(&file));
        let told = r#"{"bytes":200000,"last":122,"pieces":4}"#;
        assert_eq!(answer.text(), told, "{name}");
        let answer = post(process.address, "/whole", &form(&file));
        let told = r#"{"bytes":200000,"last":122,"same":true,"text":200000}"#;
        assert_eq!(answer.text(), told, "{name}");
        let before = process.memory_kib();
        let answer = post(process.address, "/pieces", &form(&vec![b'x'; LARGE]));
        let told = format!(
            r#"{{"bytes":{LARGE},"last":120,"pieces":{}}}"#,
            LARGE.div_ceil(65_536)
        );
        assert_eq!(answer.text(), told, "{name}");
        let more = process.memory_kib().saturating_sub(before);
        assert!(
            more < 30_000,
            "{name}: {more} KiB more after a form of {LARGE} bytes"
        );
    });
}

/// Returns the number of open files of the process that are such.
fn open(is_one: impl Fn(&Path) -> bool) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("a list");
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| is_one(link)).count()
}

#[test]
fn files_lie_where_the_configuration_says_and_are_opened_once() {
    each_language(|scratch, name| {
        let settings = "[files]\nstorage = \"data\"\ntemp = \"spool\"\ndurability = \"normal\"\n";
        let running = start_with(scratch, settings);
        let (data, spool) = (scratch.path().join("data"), scratch.path().join("spool"));
        let body = form(&vec![b'x'; 1_000_000]);
        let answer = post(running.address(), "/save", &body);
        assert_eq!(answer.status, 204, "{name}: {}", answer.text());
        assert!(data.join("kept").is_file() && !scratch.path().join("storage").exists());
        let waiting = send(running.address(), "/hang", &body);
        // The folder itself, and the file without a name.
        wait_until(&format!("{name}: it is in that folder"), || {
            open(|link| link.starts_with(&spool)) == 2
        });
        drop(waiting);
        assert!(running.shutdown());
        // Workers share what is open.
        let running = start_with(scratch, settings);
        for _ in 0..20 {
            assert_eq!(post(running.address(), "/write", b"").status, 204);
        }
        assert_eq!(open(|link| link == data), 1, "{name}");
        assert!(running.shutdown());
    });
}
