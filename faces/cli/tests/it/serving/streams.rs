//! Bodies of any size pass in little memory, both ways.

use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Sent each way in each language.
const BYTES: usize = 1 << 30;

/// Sent as CSV in each language.
const CSV_BYTES: usize = 1 << 25;

/// The most that the process may have in use meanwhile.
const MEMORY_KIB_MAX: u64 = 16 * 1024;

/// The end of a chunk, and the last one.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

const LUA: &str = r#"local app = require "sampan"
app.post("/count", { stream = true, body_bytes_max = "2 GB" }, function(req)
  local bytes = 0
  for chunk in req:chunks() do bytes = bytes + #chunk end
  return { bytes = bytes }
end)
app.post("/import", { stream = true, body_bytes_max = "2 GB" }, function(req)
  return { records = req:csv_records(function() end) }
end)
app.get("/send/:bytes", function(req)
  local piece = ("x"):rep(65536)
  return app.stream(function(write)
    for _ = 1, tonumber(req.params.bytes) / #piece do write(piece) end
  end)
end)
app.post("/echo", { stream = true, body_bytes_max = "2 GB" }, function(req)
  return app.stream(function(write)
    for chunk in req:chunks() do write(chunk) end
  end)
end)
"#;

const JS: &str = r#"import { app, stream } from "sampan";
app.post("/count", { stream: true, bodyBytesMax: "2 GB" }, async (req) => {
  let bytes = 0;
  for await (const chunk of req.body) bytes += chunk.length;
  return { bytes };
});
app.post("/import", { stream: true, bodyBytesMax: "2 GB" }, async (req) => {
  return { records: await req.csvRecords(() => {}) };
});
app.get("/send/:bytes", (req) => stream(async (write) => {
  const piece = new Uint8Array(65536).fill(120);
  for (let left = Number(req.params.bytes); left > 0; left -= piece.length) await write(piece);
}));
app.post("/echo", { stream: true, bodyBytesMax: "2 GB" }, (req) => new Response(req.body));
"#;

fn serve(scratch: &Scratch) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    let folder = scratch.path().display().to_string();
    command.args(["run", &folder, "--listen", "127.0.0.1:0", "--workers", "1"]);
    Process::start(&mut command)
}

fn connect(process: &Process) -> TcpStream {
    let socket = TcpStream::connect(process.address).expect("someone listens");
    let patience = Some(Duration::from_secs(20));
    socket.set_read_timeout(patience).expect("a time");
    socket.set_write_timeout(patience).expect("a time");
    socket
}

/// Sends so many bytes after a head, one line after the other, and gives the most memory that was seen.
fn send(process: &Process, socket: &mut TcpStream, path: &str, bytes: usize, line: &[u8]) -> u64 {
    let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {bytes}\r\n\r\n");
    socket.write_all(head.as_bytes()).expect("sent");
    let part = line.repeat((1 << 20) / line.len());
    let mut most = 0;
    for at in 0..bytes / part.len() {
        socket.write_all(&part).expect("sent");
        if at % 8 == 0 {
            most = most.max(process.memory_kib());
        }
    }
    most
}

/// Reads to the end of a chunked answer: the bytes that came in all, with their framing.
fn receive(process: &Process, socket: &mut TcpStream) -> (usize, u64) {
    let mut part = vec![0; 1 << 20];
    let (mut bytes, mut most) = (0, 0);
    let mut reads = 0;
    // The end may come in two reads.
    let mut last = Vec::new();
    loop {
        let len = socket.read(&mut part).expect("more");
        assert!(len > 0, "cut after {bytes} bytes");
        bytes += len;
        reads += 1;
        if reads % 64 == 0 {
            most = most.max(process.memory_kib());
        }
        last.extend_from_slice(&part[len.saturating_sub(LAST_CHUNK.len())..len]);
        last.drain(..last.len().saturating_sub(LAST_CHUNK.len()));
        if last == LAST_CHUNK {
            return (bytes, most.max(process.memory_kib()));
        }
    }
}

#[track_caller]
fn answers(socket: &mut TcpStream, body: &str) {
    let mut answer = [0; 4096];
    let len = socket.read(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..len]);
    assert!(answer.ends_with(body), "{answer}");
}

fn passes_in_little_memory(file: &str, source: &str) {
    let scratch = Scratch::new(&[(file, source)]);
    let process = serve(&scratch);
    let is_little = |what: &str, most: u64| {
        assert!(most < MEMORY_KIB_MAX, "{file}, {what}: {most} KiB");
    };
    let mut socket = connect(&process);
    is_little(
        "an upload",
        send(&process, &mut socket, "/count", BYTES, b"x"),
    );
    answers(&mut socket, &format!("{{\"bytes\":{BYTES}}}"));

    let line = format!("1,{}\n", "x".repeat(61));
    let most = send(&process, &mut socket, "/import", CSV_BYTES, line.as_bytes());
    is_little("CSV", most);
    // The first line is the header.
    let records = CSV_BYTES / line.len() - 1;
    answers(&mut socket, &format!("{{\"records\":{records}}}"));

    // A reader that does not read for a while.
    let ask = format!("GET /send/{BYTES} HTTP/1.1\r\nHost: h\r\n\r\n");
    socket.write_all(ask.as_bytes()).expect("sent");
    let memory = wait::settled("memory", || process.memory_kib());
    is_little("an answer that nobody reads", memory);
    let (bytes, most) = receive(&process, &mut socket);
    assert!(bytes > BYTES, "{bytes}");
    is_little("an answer", most);

    let mut sender = socket.try_clone().expect("a socket");
    let bytes = BYTES / 4;
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| send(&process, &mut sender, "/echo", bytes, b"x"));
        let (received, most) = receive(&process, &mut socket);
        assert!(received > bytes, "{received}");
        is_little("an echo", most.max(sent.join().expect("all was sent")));
    });
}

#[test]
fn large_bodies_pass_in_little_memory_lua() {
    passes_in_little_memory("app.lua", LUA);
}

#[test]
fn large_bodies_pass_in_little_memory_js() {
    passes_in_little_memory("app.js", JS);
}

/// Each chunk is a buffer of its own. `/spoil` writes over the one that is being sent, and takes its memory away.
const SPOILED: &str = r#"import { app } from "sampan";
const chunks = [];
app.get("/", () => new Response(new ReadableStream({
  pull(controller) {
    const chunk = new Uint8Array(50000).fill(chunks.length);
    chunks.push(chunk);
    controller.enqueue(chunk);
    if (chunks.length === 200) controller.close();
  },
})));
app.get("/made", () => `${chunks.length}`);
app.get("/spoil", () => {
  // The last one is in the queue.
  const chunk = chunks.at(-2);
  chunk.fill(255);
  chunk.buffer.transfer(10).transfer(1e6);
  return chunks.length;
});
"#;

/// Bytes that a slow client did not take at once is sent as it was, whatever the script does with it.
#[test]
fn a_spoiled_buffer_reaches_a_slow_reader_whole() {
    let scratch = Scratch::new(&[("app.js", SPOILED)]);
    let process = serve(&scratch);
    let ask = |path: &str| {
        let mut socket = connect(&process);
        let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).expect("sent");
        socket
    };
    let mut socket = ask("/");
    // Nothing is read, so a chunk waits in the middle.
    wait::settled("the chunks", || {
        let mut made = String::new();
        let _ = ask("/made").read_to_string(&mut made).expect("read");
        made.rsplit("\r\n").next().unwrap_or_default().to_owned()
    });
    let mut spoiled = String::new();
    let _ = ask("/spoil").read_to_string(&mut spoiled).expect("read");
    let made = spoiled.rsplit("\r\n").next().unwrap_or_default();
    assert!(
        made.parse::<u32>().is_ok_and(|made| made < 200),
        "{spoiled}"
    );
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).expect("read");
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n");
    let mut rest = &answer[head.expect("a head") + 4..];
    for n in 0..200_u8 {
        rest = rest.strip_prefix(b"c350\r\n").expect("a size");
        assert!(rest[..50_000].iter().all(|byte| *byte == n), "chunk {n}");
        rest = rest[50_000..].strip_prefix(b"\r\n").expect("an end");
    }
    assert_eq!(rest, b"0\r\n\r\n");
}
