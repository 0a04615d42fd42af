//! The other direction of HTTP/1.1: an answer means one thing in every split, and a request that was encoded is the
//! one that a server decodes.

use sampan_http::codec::{
    AnswerDecoder, AnswerEvent, AnswerFraming, Decoder, DecoderEvent, SentBody, encode_request,
};
use sampan_http::{Limits, Method};

/// The words beside those of requests.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"\t", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 X\r\nLink: x\r\n\r\n", b"HTTP/1.1 101 X\r\n\r\n",
    b"HTTP/1.1 204 No\r\n\r\n", b"HTTP/1.1 304 No\r\n", b"HTTP/2", b"Content-Length: 5\r\n", b"Content-Length: 6\r\n",
    b"Content-Length: 0\r\n", b"Content-Length: 5, 5\r\n", b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Connection: close\r\n",
    b"Connection: keep-alive\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"hello", b" folded\r\n",
    b"GET|/|host=h", b"POST|/a?b|host=h|content-length=5", b"|", b"=", b"x=y\r\nz: a",
];

/// The meaning of an answer: status, framing, whether the connection goes on, fields, body, and where it ends; the last
/// is `None` where bytes are missing.
#[derive(Debug, PartialEq)]
struct Meaning {
    status: u16,
    framing: AnswerFraming,
    keep_alive: bool,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
    end: Option<usize>,
}

pub(crate) fn run(bytes: &[u8]) {
    let limits = Limits {
        head_bytes_max: 512,
        headers_max: 16,
        ..Limits::DEFAULT
    };
    for method in [Method::Get, Method::Head] {
        let whole = decode(bytes, bytes.len().max(1), method, &limits);
        for step in [1, 2, 3, 7, 64] {
            let split = decode(bytes, step, method, &limits);
            assert_eq!(split, whole, "in pieces of {step}");
        }
        if let Ok(Some(meaning)) = &whole {
            assert!(meaning.status >= 200);
            let is_kept_open = meaning.framing == AnswerFraming::UntilClose && meaning.keep_alive;
            assert!(!is_kept_open, "the end of the body is not found");
        }
    }
    encode(bytes);
}

/// Returns what an answer means; `None` where its head is not whole, a text for what is wrong.
fn decode(
    bytes: &[u8],
    step: usize,
    method: Method,
    limits: &Limits,
) -> Result<Option<Meaning>, &'static str> {
    let mut decoder = AnswerDecoder::default();
    let mut pieces = bytes.chunks(step);
    let mut fed = 0;
    loop {
        match decoder.next(method, limits) {
            AnswerEvent::Head => break,
            AnswerEvent::Interim(status) => assert!((100..200).contains(&status) && status != 101),
            AnswerEvent::Fault(fault) => return Err(fault.reason),
            AnswerEvent::Incomplete => {
                let Some(piece) = pieces.next() else {
                    return Ok(None);
                };
                fed += piece.len();
                decoder.buffer().extend_from_slice(piece);
                assert!(decoder.buffer().len() <= limits.head_bytes_max.max(step) + step);
            }
        }
    }
    let (head, text) = decoder.head();
    let fields = head.fields.iter();
    let fields = fields.map(|field| (field.name.of(text).to_vec(), field.value.of(text).to_vec()));
    let mut meaning = Meaning {
        status: head.status,
        framing: head.framing,
        keep_alive: head.keep_alive,
        fields: fields.collect(),
        body: Vec::new(),
        end: None,
    };
    let body = head.body();
    let mut rest = decoder.take_rest();
    let head_end = fed - rest.len();
    let Some(mut body) = body else {
        meaning.end = Some(head_end);
        return Ok(Some(meaning));
    };
    let mut read = head_end;
    loop {
        let piece = body.decode(&mut rest, limits);
        let piece = piece.map_err(|fault| fault.reason)?;
        read += piece.read;
        meaning.body.extend_from_slice(&rest[..piece.data]);
        if piece.is_last {
            meaning.end = Some(read);
            return Ok(Some(meaning));
        }
        match pieces.next() {
            Some(piece) => rest = piece.to_vec(),
            None => {
                meaning.end = body.ends_with_connection().then_some(bytes.len());
                return Ok(Some(meaning));
            }
        }
    }
}

/// Takes the bytes as `method|target|name=value|...`.
fn encode(bytes: &[u8]) {
    let mut parts = bytes.split(|&byte| byte == b'|');
    let mut text = || std::str::from_utf8(parts.next().unwrap_or_default()).ok();
    let (Some(method), Some(target)) = (text(), text()) else {
        return;
    };
    let fields = parts.map(|part| {
        let end = part.iter().position(|&byte| byte == b'=');
        let (name, value) = part.split_at(end.unwrap_or(part.len()));
        (name, value.get(1..).unwrap_or_default())
    });
    let fields: Vec<_> = fields.take(40).collect();
    let mut out = Vec::new();
    let body = SentBody::Bytes(5);
    if encode_request(&mut out, method, target, fields.iter().copied(), body).is_err() {
        assert!(out.is_empty());
        return;
    }
    out.extend_from_slice(b"hello");
    let limits = Limits::default();
    let mut decoder = Decoder::new();
    decoder.feed(&out);
    let mut event = decoder.next(&limits);
    if event == DecoderEvent::Head {
        assert_eq!(decoder.accept_body(limits.body_bytes_max), Ok(()));
        event = decoder.next(&limits);
    }
    match event {
        // A target or a Host that servers do not take is the server's to refuse.
        DecoderEvent::Fault(_) => return,
        event => assert_eq!(event, DecoderEvent::Request),
    }
    let (head, text) = (decoder.head(), decoder.head_bytes());
    assert_eq!(head.method_text.of(text), method.as_bytes());
    assert_eq!(head.target.of(text), target.as_bytes());
    assert_eq!((decoder.body(), decoder.rest()), (&b"hello"[..], &b""[..]));
    let sent = head.fields.iter().map(|field| field.name.of(text));
    let kept = fields
        .iter()
        .map(|(name, _)| *name)
        .chain([&b"content-length"[..]]);
    let is_own = |name: &[u8]| {
        let own = [
            "connection",
            "content-length",
            "expect",
            "keep-alive",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ];
        own.iter()
            .any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
    };
    let kept = kept.filter(|name| !is_own(name) || *name == b"content-length");
    let lengths = |name: &&[u8]| *name == b"content-length";
    assert_eq!(sent.clone().filter(lengths).count(), 1);
    assert!(
        kept.filter(|name| !lengths(name))
            .eq(sent.filter(|name| !lengths(name)))
    );
}
