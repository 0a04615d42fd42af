//! Connections: kept, closed meanwhile, limited, given up.

use super::*;
use sampan_http::client::ClientFaultKind;
use std::sync::mpsc;

#[test]
fn a_connection_is_used_again() {
    let peer = Peer::once(|mut socket| {
        for body in ["one", "two", "three"] {
            let head = read_head(&mut socket);
            assert!(
                head.starts_with("GET /a?b HTTP/1.1\r\nhost: 127.0.0.1:"),
                "{head}"
            );
            assert!(head.contains("\r\nuser-agent: sampan/"), "{head}");
            match body {
                "two" => {
                    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\n\r\n";
                    socket.write_all(text.as_bytes()).expect("sent");
                }
                body => answer(&mut socket, body),
            }
        }
        assert_eq!(read_head(&mut socket), "", "the client closes");
    });
    run(async {
        let client = client(ClientLimits::default());
        for body in ["one", "two", "three"] {
            let answer = text(&client, get(peer.url("/a?b"))).await;
            assert_eq!(answer, Ok((200, body.to_owned())));
            assert_eq!(client.connections(), (1, 1));
        }
    });
    peer.ended();
}

#[test]
fn answers_without_a_body_keep_their_connection() {
    let peer = Peer::once(|mut socket| {
        for head in [
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        ] {
            read_head(&mut socket);
            socket.write_all(head.as_bytes()).expect("sent");
        }
        read_head(&mut socket);
        answer(&mut socket, "");
    });
    run(async {
        let client = client(ClientLimits::default());
        let answer = client
            .clone()
            .fetch(get(peer.url("/")))
            .await
            .expect("an answer");
        assert!(answer.status == 204 && answer.body.is_none());
        let head = request("HEAD", peer.url("/"), ClientBody::None);
        let answer = client.clone().fetch(head).await.expect("an answer");
        assert_eq!(
            (field_of(&answer, "content-length"), answer.body.is_none()),
            (Some("9"), true)
        );
        assert_eq!(
            text(&client, get(peer.url("/"))).await,
            Ok((200, String::new()))
        );
        assert_eq!(client.connections().0, 1);
    });
    peer.ended();
}

/// A server whose first connection takes a second request and closes without an answer.
fn closing_at_the_second(then: Vec<PeerTurn>) -> Peer {
    let first: PeerTurn = Box::new(|mut socket| {
        read_head(&mut socket);
        answer(&mut socket, "first");
        read_head(&mut socket);
    });
    Peer::start(std::iter::once(first).chain(then).collect())
}

#[test]
fn a_request_is_sent_again_if_a_kept_connection_was_closed() {
    let peer = closing_at_the_second(vec![Box::new(|mut socket| {
        let head = read_head(&mut socket);
        assert!(head.starts_with("PUT / "), "{head}");
        let mut body = [0; 4];
        socket.read_exact(&mut body).expect("the body again");
        answer(&mut socket, "second");
    })]);
    run(async {
        let client = client(ClientLimits::default());
        assert_eq!(
            text(&client, get(peer.url("/"))).await,
            Ok((200, "first".to_owned()))
        );
        let put = request("PUT", peer.url("/"), ClientBody::Bytes("body".into()));
        assert_eq!(text(&client, put).await, Ok((200, "second".to_owned())));
    });
    peer.ended();
}

#[test]
fn a_request_that_may_have_had_an_effect_is_sent_once() {
    let peer = closing_at_the_second(Vec::new());
    run(async {
        let client = client(ClientLimits::default());
        assert_eq!(
            text(&client, get(peer.url("/"))).await,
            Ok((200, "first".to_owned()))
        );
        let post = request("POST", peer.url("/"), ClientBody::Bytes("body".into()));
        let fault = text(&client, post).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Closed);
        assert!(fault.text.contains("without an answer"), "{fault}");
    });
    peer.ended();
}

#[test]
fn a_new_connection_that_closes_is_a_fault() {
    let peer = Peer::once(|mut socket| drop(read_head(&mut socket)));
    run(async {
        let client = client(ClientLimits::default());
        let fault = text(&client, get(peer.url("/"))).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Closed);
        assert_eq!(client.connections(), (0, 0));
    });
    peer.ended();
}

#[test]
fn a_connection_with_more_than_its_answer_is_not_kept() {
    for rest in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\n\r\nhe",
    ] {
        let peer = Peer::answering(rest);
        run(async {
            let client = client(ClientLimits::default());
            assert_eq!(
                text(&client, get(peer.url("/"))).await,
                Ok((200, "he".to_owned()))
            );
            assert_eq!(client.connections(), (0, 0));
        });
        peer.ended();
    }
}

#[test]
fn a_caller_that_leaves_closes_the_connection() {
    let (told, left) = mpsc::channel();
    let endless = |told: mpsc::Sender<()>| -> PeerTurn {
        Box::new(move |mut socket| {
            read_head(&mut socket);
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            socket.write_all(head.as_bytes()).expect("sent");
            while socket.write_all(b"5\r\nhello\r\n").is_ok() {}
            told.send(()).expect("told");
        })
    };
    let silent = |told: mpsc::Sender<()>| -> PeerTurn {
        Box::new(move |mut socket| {
            read_head(&mut socket);
            assert_eq!(read_head(&mut socket), "");
            told.send(()).expect("told");
        })
    };
    let peer = Peer::start(vec![endless(told.clone()), silent(told)]);
    run(async {
        let client = client(ClientLimits::default());
        let answer = client
            .clone()
            .fetch(get(peer.url("/")))
            .await
            .expect("an answer");
        let mut body = answer.body.expect("a body");
        let piece = poll_fn(|cx| body.poll_piece(cx)).await.expect("a piece");
        assert!(piece.expect("bytes").starts_with(b"hello"));
        assert_eq!(client.connections(), (1, 0));
        drop(body);
        assert_eq!(client.connections(), (0, 0));
        left.recv().expect("the server saw the end");

        let limits = ClientOptions {
            head_millis_max: Some(20),
            ..ClientOptions::default()
        };
        let late = ClientRequest {
            options: limits,
            ..get(peer.url("/"))
        };
        let fault = text(&client, late).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout);
        assert!(
            fault
                .text
                .ends_with("no answer within 20 ms (head_millis_max)"),
            "{fault}"
        );
        left.recv().expect("the server saw the end");
        assert_eq!(client.connections(), (0, 0));
    });
    peer.ended();
}

#[test]
fn requests_wait_for_a_free_connection() {
    let peer = Peer::once(|mut socket| {
        for body in ["one", "two", "three"] {
            read_head(&mut socket);
            answer(&mut socket, body);
        }
    });
    run(async {
        let client = client(ClientLimits {
            connections_per_host_max: 1,
            waiting_max: 2,
            ..ClientLimits::default()
        });
        let ask = || text(&client, get(peer.url("/")));
        let (one, two, three, four) = tokio::join!(ask(), ask(), ask(), ask());
        assert_eq!(one, Ok((200, "one".to_owned())));
        assert_eq!(two, Ok((200, "two".to_owned())));
        assert_eq!(three, Ok((200, "three".to_owned())));
        let fault = four.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Busy);
        assert!(fault.text.contains("waiting_max is 2"), "{fault}");
    });
    peer.ended();
}

#[test]
fn a_request_that_asks_again_does_not_pass_those_that_wait() {
    let peer = Peer::once(|mut socket| {
        for path in ["/one", "/waits", "/again", "/last"] {
            let head = read_head(&mut socket);
            assert!(
                head.starts_with(&format!("GET {path} HTTP/1.1\r\n")),
                "{head}"
            );
            answer(&mut socket, path);
        }
    });
    run(async {
        let client = client(ClientLimits {
            connections_per_host_max: 1,
            ..ClientLimits::default()
        });
        let ask = async |path: &str| {
            let answer = text(&client, get(peer.url(path))).await;
            assert_eq!(answer, Ok((200, path.to_owned())));
        };
        // All in one task: the one that asks again does so in the turn in which it gives its connection back.
        let twice = async {
            ask("/one").await;
            ask("/again").await;
        };
        tokio::join!(twice, ask("/waits"));
        ask("/last").await;
        assert_eq!(client.connections(), (1, 1));
    });
    peer.ended();
}

#[test]
fn a_kept_connection_makes_room_for_another_server() {
    let peers: Vec<_> = (0..3)
        .map(|_| {
            Peer::once(|mut socket| {
                read_head(&mut socket);
                answer(&mut socket, "yes");
                assert_eq!(read_head(&mut socket), "");
            })
        })
        .collect();
    run(async {
        let client = client(ClientLimits {
            connections_max: 2,
            ..ClientLimits::default()
        });
        for peer in &peers {
            assert_eq!(
                text(&client, get(peer.url("/"))).await,
                Ok((200, "yes".to_owned()))
            );
        }
        assert_eq!(client.connections(), (2, 2));
    });
    peers.into_iter().for_each(Peer::ended);
}

#[test]
fn a_kept_connection_ends_after_its_time() {
    let (told, left) = tokio::sync::oneshot::channel();
    let peer = Peer::once(move |mut socket| {
        read_head(&mut socket);
        answer(&mut socket, "yes");
        assert_eq!(read_head(&mut socket), "");
        told.send(()).expect("told");
    });
    run(async {
        let client = client(ClientLimits {
            kept_millis_max: 20,
            ..ClientLimits::default()
        });
        assert_eq!(
            text(&client, get(peer.url("/"))).await,
            Ok((200, "yes".to_owned()))
        );
        left.await.expect("the server saw the end");
        assert_eq!(client.connections(), (0, 0));
    });
    peer.ended();
}

#[test]
fn waiting_for_a_connection_has_a_limit() {
    let peer = Peer::once(|mut socket| {
        read_head(&mut socket);
        let begun = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
        socket.write_all(begun.as_bytes()).expect("sent");
        assert_eq!(read_head(&mut socket), "");
    });
    run(async {
        let client = client(ClientLimits {
            connections_per_host_max: 1,
            ..ClientLimits::default()
        });
        let first = client
            .clone()
            .fetch(get(peer.url("/")))
            .await
            .expect("an answer");
        let mut second = get(peer.url("/"));
        second.options.connect_millis_max = Some(20);
        let fault = text(&client, second).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout);
        assert!(
            fault
                .text
                .ends_with("no connection within 20 ms (connect_millis_max)"),
            "{fault}"
        );
        drop(first);
        assert_eq!(client.connections(), (0, 0));
    });
    peer.ended();
}

#[test]
fn a_host_at_its_own_limit_costs_no_other_its_connection() {
    let kept = Peer::once(|mut socket| {
        for _ in 0..2 {
            read_head(&mut socket);
            answer(&mut socket, "kept");
        }
    });
    let busy = Peer::once(|mut socket| {
        read_head(&mut socket);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
        socket.write_all(head).expect("sent");
        assert_eq!(read_head(&mut socket), "", "the client closes");
    });
    run(async {
        let client = client(ClientLimits {
            connections_max: 2,
            connections_per_host_max: 1,
            ..ClientLimits::default()
        });
        let first = text(&client, get(kept.url("/"))).await;
        assert_eq!(first, Ok((200, "kept".to_owned())));
        let unread = client.clone().fetch(get(busy.url("/"))).await;
        let unread = unread.expect("an answer");
        let mut late = get(busy.url("/"));
        late.options.connect_millis_max = Some(10);
        let fault = text(&client, late).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout, "{fault}");
        assert_eq!(client.connections(), (2, 1));
        let again = text(&client, get(kept.url("/"))).await;
        assert_eq!(again, Ok((200, "kept".to_owned())));
        drop(unread);
    });
    kept.ended();
    busy.ended();
}
