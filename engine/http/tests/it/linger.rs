//! The end of a connection to a client that is still sending when its answer is there: the answer, and then an orderly
//! end.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use common::*;
use sampan_http::Limits;

const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\n\r\n";

/// Reads to the orderly end: a reset could take the answer away before it is read.
fn read_whole(socket: &mut TcpStream) -> String {
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends at full speed until the server has had enough.
fn flood(socket: &mut TcpStream) -> u64 {
    let mut sent = 0;
    while socket.write_all(&[b'x'; 65_536]).is_ok() {
        sent += 65_536;
    }
    sent
}

#[test]
fn an_error_answer_can_be_read_after_all_has_been_sent() {
    let server = Server::start(Limits::default(), echo(&Arc::default()));
    for _ in 0..20 {
        let mut socket = server.connect();
        socket.write_all(HEAD).unwrap();
        for _ in 0..12 {
            socket.write_all(&[b'x'; 1_000_000]).unwrap();
        }
        assert_eq!(status(&read_whole(&mut socket)), 413);
    }
}

#[test]
fn a_pause_while_sending_takes_nothing_away() {
    let limits = Limits {
        linger_idle_millis_max: 2_000,
        ..Limits::default()
    };
    let server = Server::start(limits, echo(&Arc::default()));
    let mut socket = server.connect();
    socket.write_all(HEAD).unwrap();
    for _ in 0..5 {
        wait::dawdle(Duration::from_millis(500));
        socket.write_all(&[b'x'; 10_000]).unwrap();
    }
    assert_eq!(status(&read_whole(&mut socket)), 413);
}

#[test]
fn a_client_that_never_stops_is_cut_and_stalls_nobody() {
    let limits = Limits {
        linger_millis_max: 3_000,
        ..Limits::default()
    };
    let server = Server::start(limits, echo(&Arc::default()));
    std::thread::scope(|scope| {
        let hostile = scope.spawn(|| {
            let mut socket = server.connect();
            socket.write_all(b"bad\r\n\r\n").unwrap();
            flood(&mut socket)
        });
        let mut other = server.connect();
        let mut answered = 0;
        while !hostile.is_finished() {
            other.write_all(&get("/other")).unwrap();
            read_response(&mut other);
            answered += 1;
        }
        // More than the system keeps on the way: it was received for a while.
        let sent = hostile.join().unwrap();
        assert!(sent > 8 << 20, "cut after {sent} bytes");
        assert!(answered >= 5, "only {answered} answers beside it");
    });
}

#[test]
fn a_client_that_neither_sends_nor_leaves_is_closed() {
    let limits = Limits {
        linger_idle_millis_max: 300,
        ..Limits::default()
    };
    let server = Server::start(limits, echo(&Arc::default()));
    let mut socket = server.connect();
    socket.write_all(b"bad\r\n\r\n").unwrap();
    assert_eq!(status(&read_whole(&mut socket)), 400);
    assert_eq!(server.handle.connections(), 1, "it lingers");
    wait::until("closing", || server.handle.connections() == 0);
}
