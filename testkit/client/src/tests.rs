//! The client against a server that sends what it is told, right or wrong.

use super::*;
use std::net::TcpListener;

/// A server for one connection that answers each read with the next text, and then closes.
fn serve(answers: &[&'static str]) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let answers = answers.to_vec();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        for answer in answers {
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok_and(|count| count > 0) {
                stream
                    .write_all(answer.as_bytes())
                    .expect("the client listens");
            }
        }
    });
    Client::connect(address).expect("it listens")
}

#[test]
fn bodies_are_taken_to_the_byte() {
    let mut client = serve(&[
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end",
    ]);
    let mut ask = || client.ask("GET", "/", &[], "").expect("well-formed");
    let first = ask();
    assert_eq!((first.text().as_str(), first.keeps_alive), ("{}", true));
    let second = ask();
    assert_eq!((second.status, second.text().as_str()), (404, "abc"));
    let third = ask();
    assert_eq!(
        (third.text().as_str(), third.keeps_alive),
        ("until the end", false)
    );
    assert!(client.is_silent().expect("it is open"));
}

#[test]
fn a_body_longer_than_announced_is_no_silence() {
    let mut client = serve(&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}}"]);
    assert!(
        client.ask("GET", "/", &[], "").is_ok(),
        "the first part is right"
    );
    assert!(!client.is_silent().expect("it is open"));
}

#[test]
fn waiting_returns_what_is_found_and_what_has_settled() {
    let mut looks = 0;
    let mut count = || {
        looks += 1;
        looks
    };
    assert_eq!(
        wait::found("a third look", || (count() == 3).then_some("third")),
        "third"
    );
    assert_eq!(wait::settled("the number", || count().min(20)), 20);
}

#[test]
fn malformed_answers_are_errors() {
    for answer in [
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "hello",
    ] {
        assert!(
            serve(&[answer]).ask("GET", "/", &[], "").is_err(),
            "{answer:?}"
        );
    }
}
