//! Bodies that are parts of files: sent whole, in order, and never more than the head says.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use common::*;
use sampan_http::{Answer, Body, FilePart, Limits, Precomputed, Request, Response};

const LEN: usize = 10 * 1024 * 1024;

/// More than the buffers of all sockets between a server and its client: a tunnel has two more, each of up to 32 MiB.
const LEN_UNREAD: usize = 512 * 1024 * 1024;

/// A file of its own in the folder for such, removed with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, len: usize) -> Scratch {
        let path = std::env::temp_dir().join(format!("sampan-files-{name}-{}", std::process::id()));
        let bytes: Vec<u8> = (0..len).map(|at| (at / 7) as u8).collect();
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    /// A file of zeros, which takes no room on the disk.
    fn sparse(name: &str, len: usize) -> Scratch {
        let scratch = Scratch::new(name, 0);
        let file = File::options().write(true).open(&scratch.0).unwrap();
        file.set_len(len as u64).unwrap();
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn part(path: &PathBuf, start: u64, len: u64) -> Response {
    let mut response = Response::new(200);
    let file = Arc::new(File::open(path).unwrap());
    response.set_body(Body::File(FilePart { file, start, len }));
    response
}

/// Serves parts of a file: `/whole`, `/part` (100 bytes from 50 on), `/none`, `/fixed`.
fn serve(path: PathBuf, limits: Limits) -> Server {
    Server::start(limits, move || {
        let len = std::fs::metadata(&path).unwrap().len();
        let fixed = Precomputed::new(part(&path, 0, len)).unwrap();
        Rc::new(Function(move |request: &Rc<Request>| {
            match request.path() {
                "/part" => Answer::Now(part(&path, 50, 100)),
                "/none" => Answer::Now(part(&path, 0, 0)),
                "/fixed" => Answer::Precomputed(fixed.clone()),
                _ => Answer::Now(part(&path, 0, len)),
            }
        }))
    })
}

/// The head and the body of an answer that says its length.
fn read_answer(socket: &mut std::net::TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let (_, after) = head.split_once("Content-Length: ").unwrap();
    let length = after.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    socket.read_exact(&mut body).unwrap();
    (head, body)
}

#[test]
fn parts_of_files_are_sent_in_the_order_of_their_requests() {
    let file = Scratch::new("order", LEN);
    let whole = std::fs::read(&file.0).unwrap();
    let server = serve(file.0.clone(), Limits::default());
    let mut socket = server.connect();
    let targets = ["/part", "/whole", "/none", "/fixed", "/part"];
    let pipelined: String = targets
        .iter()
        .map(|target| format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n"))
        .collect();
    socket.write_all(pipelined.as_bytes()).unwrap();
    for target in targets {
        let (head, body) = read_answer(&mut socket);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let expected = match target {
            "/part" => &whole[50..150],
            "/none" => &[],
            _ => &whole[..],
        };
        assert!(body == expected, "{target}");
    }
    let head = server.exchange(b"HEAD /fixed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert!(
        head.contains(&format!("Content-Length: {LEN}\r\n")),
        "{head}"
    );
    assert!(head.ends_with("\r\n\r\n"), "HEAD has no body");
}

#[test]
fn a_file_that_becomes_shorter_ends_the_connection_and_nothing_stands_in_for_it() {
    let file = Scratch::new("shorter", LEN);
    let server = serve(file.0.clone(), Limits::default());
    let mut socket = server.connect();
    let twice = "GET /whole HTTP/1.1\r\nHost: h\r\n\r\n".repeat(2);
    socket.write_all(twice.as_bytes()).unwrap();
    let mut first = vec![0; 100_000];
    socket.read_exact(&mut first).unwrap();
    let shorter = File::options().write(true).open(&file.0).unwrap();
    shorter.set_len(LEN as u64 / 2).unwrap();
    let mut rest = Vec::new();
    // The end of the connection, orderly or not.
    if let Err(error) = socket.read_to_end(&mut rest) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "no end");
    }
    let received = first.len() + rest.len();
    assert!(received < LEN, "{received} bytes");
    let heads = rest.windows(8).filter(|bytes| bytes == b"HTTP/1.1");
    assert_eq!(heads.count(), 0, "no answer follows one that is cut");
}

#[test]
fn a_client_that_does_not_read_is_given_up_and_others_are_served_meanwhile() {
    let file = Scratch::sparse("slow", LEN_UNREAD);
    let limits = Limits {
        write_idle_millis_max: 300,
        ..Limits::default()
    };
    let server = serve(file.0.clone(), limits);
    let mut slow = server.connect();
    slow.write_all(b"GET /fixed HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    wait::until("asking", || server.handle.requests() == 1);
    let other = server.exchange(b"GET /part HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert!(other.starts_with("HTTP/1.1 200"));
    wait::until("giving up", || server.handle.connections() == 0);
    let received = std::io::copy(&mut slow, &mut std::io::sink()).unwrap_or_default();
    assert!(received < LEN_UNREAD as u64, "{received} bytes");
}

#[test]
fn a_client_that_reads_slowly_gets_all_of_it() {
    let file = Scratch::new("steady", LEN);
    let whole = std::fs::read(&file.0).unwrap();
    let server = serve(file.0.clone(), Limits::default());
    let mut socket = server.connect();
    socket
        .write_all(b"GET /whole HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        .unwrap();
    let (mut received, mut part) = (Vec::new(), vec![0; 300_000]);
    loop {
        wait::dawdle(Duration::from_millis(2));
        let len = socket.read(&mut part).unwrap();
        if len == 0 {
            break;
        }
        received.extend_from_slice(&part[..len]);
    }
    assert!(received.ends_with(&whole));
}
