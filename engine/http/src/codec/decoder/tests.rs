//! Heads that repeat themselves, and the buffer of a body.

use super::*;

/// The targets of all requests in `bytes`, and the status of the fault at the end.
fn targets(decoder: &mut Decoder, bytes: &[u8]) -> (Vec<String>, Option<u16>) {
    let limits = Limits::default();
    let mut found = Vec::new();
    decoder.clear();
    decoder.feed(bytes);
    loop {
        match decoder.next(&limits) {
            DecoderEvent::Request => {
                let target = decoder.head().target.of(decoder.head_bytes());
                found.push(String::from_utf8_lossy(target).into_owned());
                decoder.advance();
            }
            DecoderEvent::Head => decoder.accept_body(1024).unwrap(),
            DecoderEvent::Incomplete(_) => return (found, None),
            DecoderEvent::Fault(fault) => return (found, Some(fault.status)),
        }
    }
}

#[test]
fn a_repeated_head_is_recognised_and_nothing_else_is() {
    let mut decoder = Decoder::new();
    let first = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(targets(&mut decoder, first).0, ["/a"]);
    assert!(!decoder.known.is_empty());
    let twice = [&first[..], first].concat();
    assert_eq!(targets(&mut decoder, &twice).0, ["/a", "/a"]);
    // One field more, another target, and a line end too few are not repetitions.
    let more = b"GET /a HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n";
    assert_eq!(targets(&mut decoder, more), (vec![], Some(400)));
    assert!(decoder.known.is_empty(), "a refused head is not known");
    assert_eq!(targets(&mut decoder, first).0, ["/a"]);
    let other = b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(targets(&mut decoder, other).0, ["/b"]);
    assert_eq!(targets(&mut decoder, &first[..first.len() - 2]).0.len(), 0);
    // The body behind a known head is that of the new request.
    let with_body =
        |body: &str| format!("POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{body}");
    targets(&mut decoder, with_body("xx").as_bytes());
    decoder.clear();
    decoder.feed(with_body("yy").as_bytes());
    assert_eq!(decoder.next(&Limits::default()), DecoderEvent::Head);
    decoder.accept_body(2).unwrap();
    assert_eq!(decoder.next(&Limits::default()), DecoderEvent::Request);
    assert_eq!(decoder.body(), b"yy");
}

/// A client that announces much and sends little does not have much memory reserved for it.
#[test]
fn a_buffer_grows_with_the_bytes_that_come_and_ends_with_the_body() {
    const LENGTH: usize = 10_000_000;
    let mut decoder = Decoder::new();
    let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {LENGTH}\r\n\r\n");
    decoder.feed(head.as_bytes());
    let limits = Limits::default();
    assert_eq!(decoder.next(&limits), DecoderEvent::Head);
    assert_eq!(decoder.accept_body(LENGTH), Ok(()));
    let mut most = 0;
    while let DecoderEvent::Incomplete(_) = decoder.next(&limits) {
        let buffer = decoder.buffer();
        let capacity = buffer.capacity();
        assert!(capacity <= (4 * buffer.len()).max(BUFFER_KEPT_BYTES_MAX));
        buffer.resize(capacity.min(head.len() + LENGTH), b'x');
        most = most.max(capacity);
    }
    assert_eq!(decoder.body().len(), LENGTH);
    assert_eq!(most, head.len() + LENGTH);
    decoder.advance();
    decoder.clear();
    assert_eq!(decoder.buffer().capacity(), BUFFER_BYTES);
}
