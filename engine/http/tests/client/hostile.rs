//! Servers that answer badly, and addresses that must not be reached.

use super::*;
use sampan_client::wait;
use sampan_http::client::{ClientFaultKind, Resolve};
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn fault_of(answer: impl Into<Vec<u8>>, limits: ClientLimits) -> ClientFault {
    let peer = Peer::answering(answer);
    let fault = run(async {
        let client = client(limits);
        let fault = text(&client, get(peer.url("/x?secret"))).await.unwrap_err();
        let (open, kept) = client.connections();
        assert_eq!(open, kept);
        fault
    });
    let url = peer.url("/x: ");
    peer.ended();
    assert!(fault.text.starts_with(&url), "{fault}");
    fault
}

#[test]
fn garbage_and_lies_are_faults() {
    use ClientFaultKind::{Answer, Closed};
    let small = ClientLimits {
        answer_head_bytes_max: 1000,
        answer_fields_max: 10,
        ..ClientLimits::default()
    };
    let chunked =
        |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    for (answer, kind, text) in [
        (
            "SSH-2.0-OpenSSH_9\r\n".to_owned(),
            Answer,
            "it is not HTTP/1.1",
        ),
        (
            "HTTP/1.1 abc\r\n\r\n".to_owned(),
            Answer,
            "malformed status line",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc".to_owned(),
            Answer,
            "two different Content-Length",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"
                .to_owned(),
            Answer,
            "Content-Length and Transfer-Encoding",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_owned(),
            Closed,
            "the connection ended in the middle of the answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nX: ".to_owned(),
            Closed,
            "closed the connection without an answer",
        ),
        (
            chunked("5\r\nhelloo\r\n0\r\n\r\n"),
            Answer,
            "bad line end after chunk",
        ),
        (chunked("zz\r\n"), Answer, "bad chunk size"),
        (
            chunked("ffffffffffffffff\r\nabc"),
            Closed,
            "in the middle of the answer",
        ),
        (
            chunked("5\r\nhello\r\n"),
            Closed,
            "in the middle of the answer",
        ),
    ] {
        let fault = fault_of(answer, small.clone());
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.text.contains(text), "{fault}");
    }
}

#[test]
fn answers_have_limits() {
    let small = ClientLimits {
        answer_head_bytes_max: 1000,
        answer_fields_max: 3,
        answer_bytes_max: 5,
        ..ClientLimits::default()
    };
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(100_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(4));
    let large = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!";
    for (answer, text) in [
        (endless.as_str(), "head too long (at most 1000)"),
        (&many, "too many fields (at most 3)"),
        (large, "more than the 5 bytes that are allowed"),
    ] {
        let fault = fault_of(answer, small.clone());
        assert_eq!(fault.kind, ClientFaultKind::TooLarge, "{fault}");
        assert!(fault.text.contains(text), "{fault}");
    }
}

#[test]
fn a_body_that_stops_is_given_up() {
    for (key, options) in [
        (
            "no progress within 20 ms (idle_millis_max)",
            ClientOptions {
                idle_millis_max: Some(20),
                ..ClientOptions::default()
            },
        ),
        (
            "not done within 20 ms (total_millis_max)",
            ClientOptions {
                total_millis_max: Some(20),
                ..ClientOptions::default()
            },
        ),
    ] {
        let peer = Peer::once(|mut socket| {
            read_head(&mut socket);
            let begun = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
            let _ = socket.write_all(begun.as_bytes());
            assert_eq!(read_head(&mut socket), "");
        });
        run(async {
            let client = client(ClientLimits::default());
            let request = ClientRequest {
                options,
                ..get(peer.url("/"))
            };
            let fault = text(&client, request).await.unwrap_err();
            assert!(fault.text.ends_with(key), "{fault}");
            assert_eq!(client.connections(), (0, 0));
        });
        peer.ended();
    }
}

#[test]
fn addresses_of_this_machine_are_refused_in_every_form() {
    let strict = Client::new(Arc::default(), Lookups::default());
    run(async {
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "0177.0.0.1",
            "0x7f.1",
            "127.1",
            "0.0.0.0",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "169.254.169.254",
            "%31%32%37.0.0.1",
        ] {
            let fault = text(&strict, get(format!("http://{host}:9/")))
                .await
                .unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Refused, "{host}: {fault}");
            assert!(
                fault.text.contains("write in [fetch]: allow = ["),
                "{fault}"
            );
        }
        assert_eq!(strict.connections(), (0, 0));
    });
}

/// A resolver whose answers follow one another.
struct Rebinding {
    answers: Vec<Vec<IpAddr>>,
    asked: Arc<AtomicUsize>,
}

impl Resolve for Rebinding {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let at = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers[at.min(self.answers.len() - 1)].clone())
    }
}

fn rebinding(answers: &[&[&str]], allow: &str) -> (Client, Arc<AtomicUsize>) {
    let addresses = |texts: &&[&str]| {
        texts
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect()
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let resolver = Rebinding {
        answers: answers.iter().map(addresses).collect(),
        asked: Arc::clone(&asked),
    };
    let settings = ClientSettings {
        limits: ClientLimits {
            lookup_millis: 0,
            ..ClientLimits::default()
        },
        policy: AddressPolicy::of(&[allow.to_owned()]).expect("an entry"),
        ..ClientSettings::default()
    };
    (
        Client::new(Arc::new(settings), Lookups::new(Box::new(resolver))),
        asked,
    )
}

#[test]
fn the_address_that_was_checked_is_connected() {
    let peer = Peer::once(|mut socket| {
        read_head(&mut socket);
        let port = socket.local_addr().expect("an address").port();
        let text = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://name.test:{port}/again\r\nConnection: close\r\n\
             Content-Length: 0\r\n\r\n"
        );
        socket.write_all(text.as_bytes()).expect("sent");
    });
    run(async {
        // The name has another address each time that it is looked up: once for the check and the connection, and again
        // at the redirect.
        let (client, asked) = rebinding(&[&["127.0.0.1"], &["127.0.0.2"]], "127.0.0.1/32");
        let url = format!("http://name.test:{}/", peer.address.port());
        let fault = text(&client, get(url)).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Refused, "{fault}");
        assert!(
            fault
                .text
                .contains("name.test has a loopback address (127.0.0.2)"),
            "{fault}"
        );
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    });
    peer.ended();
}

#[test]
fn all_addresses_of_a_name_are_checked() {
    run(async {
        let (client, _) = rebinding(&[&["127.0.0.1", "10.0.0.1"]], "127.0.0.1");
        let fault = text(&client, get("http://name.test:9/")).await.unwrap_err();
        assert!(
            fault
                .text
                .contains("name.test has a private address (10.0.0.1)"),
            "{fault}"
        );
    });
}

#[test]
fn the_next_address_is_tried_when_one_does_not_answer() {
    let peer = Peer::once(|mut socket| {
        read_head(&mut socket);
        answer(&mut socket, "found");
    });
    run(async {
        let (client, _) = rebinding(&[&["127.0.0.3", "127.0.0.1"]], "127.0.0.0/8");
        let url = format!("http://name.test:{}/", peer.address.port());
        assert_eq!(text(&client, get(url)).await, Ok((200, "found".to_owned())));
        let (client, _) = rebinding(&[&["127.0.0.3", "127.0.0.4"]], "127.0.0.0/8");
        let url = format!("http://name.test:{}/", peer.address.port());
        let fault = text(&client, get(url)).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Connect, "{fault}");
    });
    peer.ended();
}

/// A listener that takes no connection, and those that fill its queue: a further one gets no answer.
fn silent(address: &str) -> (TcpListener, Vec<TcpStream>) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    let address: SocketAddr = address.parse().expect("an address");
    socket.bind(&address.into()).expect("bound");
    socket.listen(0).expect("listening");
    let listener: TcpListener = socket.into();
    let address = listener.local_addr().expect("its address");
    let mut filling = Vec::new();
    while let Ok(socket) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
        filling.push(socket);
    }
    (listener, filling)
}

#[test]
fn the_next_address_is_tried_when_one_says_nothing() {
    let (listener, filling) = silent("127.0.0.3:0");
    let port = listener.local_addr().expect("its address").port();
    let answering = TcpListener::bind(("127.0.0.1", port)).expect("a listener");
    let server = std::thread::spawn(move || {
        let (mut socket, _) = answering.accept().expect("a connection");
        read_head(&mut socket);
        answer(&mut socket, "found");
    });
    run(async {
        // Without the next address it would wait for the limit, which is far longer.
        let (client, _) = rebinding(&[&["127.0.0.3", "127.0.0.1"]], "127.0.0.0/8");
        let url = format!("http://name.test:{port}/");
        assert_eq!(text(&client, get(url)).await, Ok((200, "found".to_owned())));
    });
    server.join().expect("the server");
    drop(filling);
}

#[test]
fn malformed_requests_are_not_sent() {
    run(async {
        let client = client(ClientLimits::default());
        let with = |name: &str, value: &str| ClientRequest {
            fields: vec![field(name, value)],
            ..get("http://127.0.0.1:9/")
        };
        for request in [
            get("/relative"),
            get("ftp://127.0.0.1/"),
            get("http://user:pass@127.0.0.1/"),
            request("CONNECT", "http://127.0.0.1:9/", ClientBody::None),
        ] {
            let fault = text(&client, request).await.unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Request, "{fault}");
        }
        let peer = Peer::start(vec![Box::new(drop), Box::new(drop), Box::new(drop)]);
        for mut bad in [
            with("a b", "c"),
            with("a", "b\r\nc: d"),
            request("G T", "", ClientBody::None),
        ] {
            bad.url = peer.url("/");
            let fault = text(&client, bad).await.unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Request, "{fault}");
        }
        assert_eq!(client.connections(), (0, 0));
        peer.ended();
    });
}

#[test]
fn the_end_of_an_answer_that_is_all_read_is_not_late() {
    let peer = Peer::once(|mut socket| {
        read_head(&mut socket);
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
        socket.write_all(answer).expect("sent");
    });
    run(async {
        let client = client(ClientLimits::default());
        let mut asked = get(peer.url("/"));
        asked.options.total_millis_max = Some(500);
        let answer = client.fetch(asked).await.expect("an answer");
        let mut body = answer.body.expect("a body");
        let piece = poll_fn(|cx| body.poll_piece(cx)).await;
        assert_eq!(piece.expect("a piece"), Some(b"x".to_vec()));
        wait::dawdle(Duration::from_millis(510));
        let end = poll_fn(|cx| body.poll_piece(cx)).await;
        assert_eq!(end.expect("the end"), None);
    });
    peer.ended();
}

#[test]
fn the_time_of_the_whole_counts_while_there_is_more_to_read() {
    let peer = Peer::once(|mut socket| {
        read_head(&mut socket);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        socket.write_all(head).expect("sent");
        // The client closes before it has read all.
        let _ = socket.write_all(&vec![b'x'; 1_000_000]);
    });
    run(async {
        let client = client(ClientLimits::default());
        let mut asked = get(peer.url("/"));
        asked.options.total_millis_max = Some(500);
        let answer = client.fetch(asked).await.expect("an answer");
        let mut body = answer.body.expect("a body");
        let first = poll_fn(|cx| body.poll_piece(cx)).await;
        assert!(first.expect("a piece").is_some());
        wait::dawdle(Duration::from_millis(510));
        let late = poll_fn(|cx| body.poll_piece(cx)).await;
        let fault = late
            .map(|piece| piece.map(|bytes| bytes.len()))
            .unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout);
        assert!(fault.text.contains("total_millis_max"), "{fault}");
    });
    peer.ended();
}

#[test]
fn time_in_which_the_body_is_not_read_is_not_idle() {
    let (go_on, told) = std::sync::mpsc::channel();
    let peer = Peer::once(move |mut socket| {
        read_head(&mut socket);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        socket.write_all(head).expect("sent");
        told.recv().expect("told");
        socket.write_all(b"late").expect("sent");
    });
    run(async {
        let client = client(ClientLimits::default());
        let mut asked = get(peer.url("/"));
        asked.options.idle_millis_max = Some(300);
        let answer = client.fetch(asked).await.expect("an answer");
        let mut body = answer.body.expect("a body");
        // Nothing is there yet, and the reader does not wait for it.
        let first = poll_fn(|cx| std::task::Poll::Ready(body.poll_piece(cx))).await;
        assert!(first.is_pending());
        body.pause();
        wait::dawdle(Duration::from_millis(400));
        let mut second = pin!(poll_fn(|cx| body.poll_piece(cx)));
        let now = poll_fn(|cx| std::task::Poll::Ready(second.as_mut().poll(cx))).await;
        assert!(now.is_pending(), "{now:?}");
        go_on.send(()).expect("the server");
        assert_eq!(second.await, Ok(Some(b"late".to_vec())));
    });
    peer.ended();
}
