//! The views of a request, and its way to another thread.

use super::*;

#[test]
fn a_request_reaches_another_thread_whole() {
    let bytes = b"POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-A: one\r\nContent-Length: 3\r\n\r\nabc";
    let request = Request::from_bytes(bytes).unwrap();
    request.early_hint(b"</a.css>").unwrap();
    let owned = request.to_owned_request().expect("a whole body");
    let seen = std::thread::spawn(move || {
        let request = owned.into_request();
        assert!(request.take_early_hints().is_empty());
        let field = request.header("x-a").map(<[u8]>::to_vec);
        (request.target().to_owned(), field, request.body().to_vec())
    });
    let seen = seen.join().expect("its end");
    let wanted = (
        "/a%20b?x=1".to_owned(),
        Some(b"one".to_vec()),
        b"abc".to_vec(),
    );
    assert_eq!(seen, wanted);
    assert_eq!(request.body(), b"abc");
    assert_eq!(request.take_early_hints(), b"Link: </a.css>\r\n");
}

#[test]
fn views() {
    let request = Request::from_bytes(
        b"PURGE http://other:81/a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-A:\t one \r\nx-a: \
         two\r\nEmpty:\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
    )
    .unwrap();
    assert_eq!(
        (request.method(), request.method_str()),
        (Method::Other, "PURGE")
    );
    assert_eq!(
        (request.path(), request.query(), request.host()),
        ("/a%20b", Some("x=1"), Some("other:81"))
    );
    assert_eq!(request.target(), "http://other:81/a%20b?x=1");
    assert_eq!(request.header("X-a"), Some(&b"one"[..]));
    assert_eq!(
        request.joined_header("x-A").as_deref(),
        Some(&b"one, two"[..])
    );
    assert_eq!(request.joined_header("none"), None);
    assert_eq!(request.header("empty"), Some(&b""[..]));
    assert_eq!(request.header("none"), None);
    assert_eq!(request.headers().count(), 5);
    assert_eq!(request.body(), b"abc");
    assert_eq!(
        Request::from_bytes(b"GET / HTTP/1.1\r\nHost: h\r\n")
            .unwrap_err()
            .status,
        400
    );
    assert_eq!(
        Request::from_bytes(b"GET http://h HTTP/1.0\r\n\r\n")
            .unwrap()
            .path(),
        "/"
    );
}
