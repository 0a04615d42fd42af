//! Answers that their client does not read: `out_bytes_max` bounds those of one connection.

use std::io::Write;
use std::net::TcpStream;
use std::rc::Rc;

use super::common::frames::*;
use super::common::*;
use sampan_http::{Answer, Limits, Request, Response};

/// A server whose answers to `/` and to uploads are large, and those to `/none` empty.
fn start_large() -> Server {
    Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| match request.path() {
            "/none" => Answer::Now(Response::new(204)),
            _ => Answer::Now(with_body(vec![b'a'; 1 << 20])),
        }))
    })
}

/// Begins a connection with a window of zero for all answers.
fn begin_unread(server: &Server) -> TcpStream {
    let mut socket = server.connect_http2();
    socket.write_all(PREFACE).unwrap();
    let window = [0, 4, 0, 0, 0, 0];
    socket.write_all(&frame(SETTINGS, 0, 0, &window)).unwrap();
    socket
}

/// Has the server see to all frames that were sent before.
fn ping(socket: &mut TcpStream) {
    socket.write_all(&frame(PING, 0, 0, &[7; 8])).unwrap();
    assert!(read_until(socket, PING, 0).is_some());
}

/// Opens the windows, and reads so many answers.
fn read_answers(socket: &mut TcpStream, answers: usize) {
    let most = (1_u32 << 31) - 1;
    let mut window = vec![0, 4];
    window.extend(most.to_be_bytes());
    socket.write_all(&frame(SETTINGS, 0, 0, &window)).unwrap();
    let more = (most - 65_535).to_be_bytes();
    let bytes = frame(WINDOW_UPDATE, 0, 0, &more);
    socket.write_all(&bytes).unwrap();
    let mut ended = 0;
    while ended < answers {
        let (kind, flags, ..) = read_frame(socket).expect("all answers");
        ended += usize::from(kind == DATA && flags & END_STREAM != 0);
    }
}

#[test]
fn requests_wait_for_the_reader_of_earlier_answers() {
    let server = start_large();
    let mut socket = begin_unread(&server);
    for stream in (1..121).step_by(2) {
        socket.write_all(&request(stream, &[])).unwrap();
    }
    wait::until("the first", || server.handle.requests() >= 2);
    ping(&mut socket);
    assert_eq!(server.handle.requests(), 2);
    read_answers(&mut socket, 60);
    assert_eq!(server.handle.requests(), 60);
}

#[test]
fn uploads_wait_for_the_reader_of_earlier_answers() {
    let server = start_large();
    let mut socket = begin_unread(&server);
    let head = [(":method", &b"POST"[..]), GET[1], GET[2], GET[3]];
    for stream in (1..61).step_by(2) {
        let head = frame(HEADERS, END_HEADERS, stream, &block(&head));
        socket.write_all(&head).unwrap();
    }
    for stream in (1..61).step_by(2) {
        let end = frame(DATA, END_STREAM, stream, b"b");
        socket.write_all(&end).unwrap();
    }
    wait::until("the first", || server.handle.requests() >= 2);
    ping(&mut socket);
    assert_eq!(server.handle.requests(), 2);
    read_answers(&mut socket, 30);
    assert_eq!(server.handle.requests(), 30);
}

#[test]
fn small_answers_overtake_a_large_one() {
    let server = start_large();
    let mut socket = begin_unread(&server);
    socket.write_all(&request(1, &[])).unwrap();
    let none = [GET[0], GET[1], GET[2], (":path", b"/none")];
    for stream in (3..23).step_by(2) {
        let bytes = frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(&none));
        socket.write_all(&bytes).unwrap();
        assert!(read_until(&mut socket, HEADERS, stream).is_some());
    }
    read_answers(&mut socket, 1);
}
