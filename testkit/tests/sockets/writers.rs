//! Sockets beside requests that write: events wait for their turn, and the collector runs meanwhile.

use crate::{App, WAYS, say, text};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The connections that write at the same time, and the threads that drive them.
const WRITERS: usize = 480;
const THREADS: usize = 4;

const MESSAGES: usize = 600;

const WRITING: [&str; 2] = [
    r#"local app = require "sampan"
app.db.exec("CREATE TABLE IF NOT EXISTS t (v TEXT)")
app.get("/write", function()
  app.db.exec("INSERT INTO t (v) VALUES (?)", { ("x"):rep(100) })
  return { ok = true }
end)
app.ws("/", { message = function(ws, message) ws:send(message) end })"#,
    r#"import { app, db } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS t (v TEXT)");
app.get("/write", () => {
  db.exec("INSERT INTO t (v) VALUES (?)", ["x".repeat(100)]);
  return { ok: true };
});
app.ws("/", { message(ws, message) { ws.send(message); } });"#,
];

/// Asks on many connections at once, again and again.
fn write(address: SocketAddr, stop: &AtomicBool) {
    let connect = || TcpStream::connect(address).expect("someone listens");
    let mut all: Vec<_> = (0..WRITERS / THREADS).map(|_| connect()).collect();
    let mut answer = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        for socket in &mut all {
            let request = b"GET /write HTTP/1.1\r\nHost: a\r\n\r\n";
            socket.write_all(request).expect("sent");
        }
        for socket in &mut all {
            let count = socket.read(&mut answer).expect("an answer");
            assert!(answer[..count].starts_with(b"HTTP/1.1 "));
        }
    }
}

#[test]
fn sockets_stay_open_beside_requests_that_write() {
    for (file, way) in &WAYS[..2] {
        let app = App::start((file, *way), WRITING, "");
        let (stop, address) = (Arc::new(AtomicBool::new(false)), app.running.address());
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                let stop = Arc::clone(&stop);
                thread::spawn(move || write(address, &stop))
            })
            .collect();
        let mut sockets: Vec<_> = (0..4).map(|_| app.connect()).collect();
        for _ in 0..MESSAGES {
            sockets.iter_mut().for_each(|socket| say(socket, "x"));
            for socket in &mut sockets {
                assert_eq!(text(socket), "x", "{file}");
            }
        }
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().expect("no panic");
        }
        drop(sockets);
        assert!(app.running.shutdown(), "{file}");
    }
}
