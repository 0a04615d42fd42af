//! Bodies of requests, and large bodies both ways.

use super::*;
use sampan_http::client::ClientFaultKind;
use sampan_http::{BodyError, BodyStream, Chunk};
use std::process::Command;
use std::task::{Context, Poll};

/// So many pieces of so many bytes, one at each second poll.
struct Pieces {
    left: usize,
    bytes: usize,
    is_ready: bool,
}

impl Pieces {
    fn body(left: usize, bytes: usize, length: Option<u64>) -> ClientBody {
        let stream = Self {
            left,
            bytes,
            is_ready: false,
        };
        ClientBody::Stream(Box::new(stream), length)
    }
}

impl BodyStream for Pieces {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        self.is_ready = !self.is_ready;
        if self.is_ready {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(vec![b'x'; self.bytes].into())))
    }
}

struct Failing;

impl BodyStream for Failing {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        Poll::Ready(Some(Err(BodyError("the script has failed".to_owned()))))
    }
}

#[test]
fn bodies_are_framed_by_what_is_known_of_them() {
    let peer = Peer::once(|mut socket| {
        for (framing, body) in [
            ("content-length: 0", ""),
            ("content-length: 4", "body"),
            (
                "transfer-encoding: chunked",
                "2\r\nxx\r\n2\r\nxx\r\n0\r\n\r\n",
            ),
            ("content-length: 4", "xxxx"),
        ] {
            let head = read_head(&mut socket);
            assert!(head.ends_with(&format!("\r\n{framing}\r\n\r\n")), "{head}");
            let mut sent = vec![0; body.len()];
            socket.read_exact(&mut sent).expect("the body");
            assert_eq!(sent, body.as_bytes());
            answer(&mut socket, "taken");
        }
    });
    run(async {
        let client = client(ClientLimits::default());
        for body in [
            ClientBody::None,
            ClientBody::Bytes("body".into()),
            Pieces::body(2, 2, None),
            Pieces::body(2, 2, Some(4)),
        ] {
            let answer = text(&client, request("POST", peer.url("/"), body)).await;
            assert_eq!(answer, Ok((200, "taken".to_owned())));
        }
        assert_eq!(client.connections(), (1, 1));
    });
    peer.ended();
}

#[test]
fn a_body_that_fails_ends_the_request() {
    for (body, fault) in [
        (
            Pieces::body(2, 2, Some(5)),
            "the body is not as long as its length says",
        ),
        (
            Pieces::body(2, 2, Some(3)),
            "the body is not as long as its length says",
        ),
        (
            ClientBody::Stream(Box::new(Failing), None),
            "the body failed: the script has failed",
        ),
    ] {
        let peer = Peer::once(|mut socket| drop(socket.read_to_end(&mut Vec::new())));
        run(async {
            let client = client(ClientLimits::default());
            let post = request("POST", peer.url("/"), body);
            let found = text(&client, post).await.unwrap_err();
            assert_eq!(found.kind, ClientFaultKind::Upload);
            assert!(found.text.ends_with(fault), "{found}");
            assert_eq!(client.connections(), (0, 0));
        });
        peer.ended();
    }
}

#[test]
fn an_answer_may_come_before_the_body_has_been_sent() {
    let peer = Peer::once(|mut socket| {
        read_head(&mut socket);
        let early = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge";
        socket.write_all(early.as_bytes()).expect("sent");
        // Nothing is read until the client has gone.
        let _ = socket.read_to_end(&mut Vec::new());
    });
    run(async {
        let client = client(ClientLimits::default());
        let post = request(
            "POST",
            peer.url("/"),
            Pieces::body(usize::MAX, 10_000, None),
        );
        assert_eq!(text(&client, post).await, Ok((413, "large".to_owned())));
        assert_eq!(client.connections(), (0, 0), "half a request is on it");
    });
    peer.ended();
}

#[test]
fn a_server_that_does_not_read_is_given_up() {
    let (told, given_up) = std::sync::mpsc::channel();
    let peer = Peer::once(move |socket| {
        given_up.recv().expect("told");
        drop(socket);
    });
    run(async {
        let client = client(ClientLimits::default());
        let mut post = request(
            "POST",
            peer.url("/"),
            ClientBody::Bytes(vec![0; 64 << 20].into()),
        );
        post.options.idle_millis_max = Some(50);
        let fault = text(&client, post).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout);
        assert!(
            fault
                .text
                .ends_with("no progress within 50 ms (idle_millis_max)"),
            "{fault}"
        );
        assert_eq!(client.connections(), (0, 0));
    });
    told.send(()).expect("told");
    peer.ended();
}

/// Sends and receives so many bytes at the same time, through a server that gives back what it gets.
fn stream_both_ways(bytes: usize) {
    const PIECE: usize = 64 * 1024;
    let peer = Peer::once(move |mut socket| {
        read_head(&mut socket);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
        socket.write_all(head.as_bytes()).expect("sent");
        let mut piece = vec![0; PIECE];
        let mut left = bytes;
        while left > 0 {
            let len = socket.read(&mut piece).expect("a piece");
            socket.write_all(&piece[..len]).expect("sent");
            left -= len;
        }
    });
    run(async {
        let client = client(ClientLimits {
            answer_bytes_max: 0,
            ..ClientLimits::default()
        });
        let post = request(
            "POST",
            peer.url("/"),
            Pieces::body(bytes / PIECE, PIECE, Some(bytes as u64)),
        );
        let answer = client.clone().fetch(post).await.expect("an answer");
        let mut body = answer.body.expect("a body");
        let mut received = 0;
        while let Some(piece) = poll_fn(|cx| body.poll_piece(cx)).await.expect("a piece") {
            received += piece.len();
        }
        assert_eq!(received, bytes);
    });
    peer.ended();
}

#[test]
fn a_large_body_goes_both_ways() {
    stream_both_ways(32 * 1024 * 1024);
}

#[test]
fn a_gigabyte_goes_both_ways_in_little_memory() {
    let mut command = Command::new(std::env::current_exe().expect("the tests"));
    command.args(["--ignored", "--exact", "uploads::a_gigabyte_alone"]);
    let output = command.output().expect("run");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(words.contains("1 passed"), "{words}");
}

/// Measures the memory of its process, so it has one of its own.
#[test]
#[ignore = "started by a_gigabyte_goes_both_ways_in_little_memory"]
fn a_gigabyte_alone() {
    stream_both_ways(1024 * 1024 * 1024);
    let status = std::fs::read_to_string("/proc/self/status").expect("the status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak
        .and_then(|text| text.trim().strip_suffix("kB"))
        .expect("the peak");
    let peak: u64 = peak.trim().parse().expect("a number");
    assert!(peak <= 40 * 1024, "{peak} KiB");
}
