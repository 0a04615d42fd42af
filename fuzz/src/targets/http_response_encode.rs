//! Comparison of the encoder with another parser: one response, with the fields that were accepted and
//! nothing that a value smuggled in, and a body that ends where its framing says.

use std::task::{Context, Poll};

use sampan_http::codec::{
    BodyRest, ChunkDecoder, ChunkProgress, DATE_BYTES, Exchange, Length, encode_chunk,
    encode_last_chunk, encode_response,
};
use sampan_http::{
    Body, BodyError, BodyStream, Chunk, Limits, Precomputed, PrecomputedRest, Response,
};

const DATE: &[u8; DATE_BYTES] = b"Sun, 06 Nov 1994 08:49:37 GMT";

/// Name and value.
type Header<'a> = (&'a [u8], &'a [u8]);

/// The input as instructions: the first bytes choose status and exchange, the lines behind them are a body, then
/// headers as `name=value` (without `=`, the header has an empty value).
pub(crate) fn run(bytes: &[u8]) {
    let [a, b, flags, rest @ ..] = bytes else {
        return;
    };
    let status = u16::from_be_bytes([*a, *b]) % 1100;
    let exchange = Exchange {
        head_only: flags & 1 != 0,
        version_minor: u8::from(flags & 2 == 0),
        keep_alive: flags & 4 == 0,
    };
    let mut pieces = rest.split(|&byte| byte == b'|');
    let body = pieces.next().unwrap_or_default();
    let headers: Vec<Header<'_>> = pieces
        .map(|piece| {
            let end = piece
                .iter()
                .position(|&byte| byte == b'=')
                .unwrap_or(piece.len());
            (&piece[..end], piece.get(end + 1..).unwrap_or_default())
        })
        .take(40)
        .collect();
    let streamed = flags & 8 != 0;
    let (response, accepted) = make(status, body, streamed, &headers);
    let declared = response.declared_length();
    let mut out = Vec::new();
    let (rest, keep_alive) = encode_response(&mut out, response, exchange, DATE);
    let Some(is_chunked) = finish(&mut out, rest) else {
        assert!(declared.is_some_and(|declared| declared != body.len() as u64));
        return;
    };
    let bodiless = exchange.head_only || matches!(status, 204 | 304);
    let expected: &[u8] = if bodiless { b"" } else { body };
    check(
        &out, status, &accepted, expected, exchange, keep_alive, is_chunked,
    );

    let Ok(precomputed) = Precomputed::new(make(status, body, streamed, &headers).0) else {
        return;
    };
    let mut copied = Vec::new();
    let (rest, goes_on) = precomputed.encode(&mut copied, exchange, DATE);
    assert_eq!(goes_on, keep_alive);
    if let Some(PrecomputedRest::Bytes(bytes)) = rest {
        copied.extend_from_slice(&bytes);
    }
    let declares_for_head = exchange.head_only && body.is_empty();
    assert!(copied == out || declares_for_head, "precomputed differs");
}

/// The response, and the headers that it took in and that are sent as they are.
fn make<'a>(
    status: u16,
    body: &[u8],
    streamed: bool,
    headers: &[Header<'a>],
) -> (Response, Vec<Header<'a>>) {
    let mut response = Response::new(status);
    response.content_type("text/plain");
    if streamed {
        response.set_body(Body::Stream(Box::new(Once(Some(body.to_vec())))));
    } else if !body.is_empty() {
        response.set_body(Body::Bytes(body.to_vec()));
    }
    let mut accepted = Vec::new();
    for (name, value) in headers {
        if response.header(name, value).is_ok() && !is_engines(name) {
            accepted.push((*name, *value));
        }
    }
    (response, accepted)
}

#[rustfmt::skip]
fn is_engines(name: &[u8]) -> bool {
    let own = [
        "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "upgrade", "te", "trailer", "date",
    ];
    own.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

struct Once(Option<Vec<u8>>);

impl BodyStream for Once {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        Poll::Ready(self.0.take().map(Chunk::Bytes).map(Ok))
    }
}

/// Appends what follows the head, as the driver does. Returns whether it was chunked; `None` if the stream was cut.
fn finish(out: &mut Vec<u8>, rest: BodyRest) -> Option<bool> {
    match rest {
        BodyRest::Nothing => {}
        BodyRest::Bytes(bytes) => out.extend_from_slice(&bytes),
        BodyRest::Shared(bytes) => out.extend_from_slice(&bytes),
        BodyRest::Lent(lender) => out.extend_from_slice((*lender).as_ref()),
        BodyRest::File(_) => unreachable!("no body is a file here"),
        BodyRest::Stream { mut stream, length } => {
            let is_chunked = length == Length::Chunked;
            let mut cx = Context::from_waker(std::task::Waker::noop());
            while let Poll::Ready(Some(piece)) = stream.poll_chunk(&mut cx) {
                let piece = piece.ok()?;
                if is_chunked {
                    encode_chunk(out, piece.as_ref())
                } else {
                    out.extend_from_slice(piece.as_ref())
                }
            }
            if is_chunked {
                encode_last_chunk(out);
            }
            return Some(is_chunked);
        }
    }
    Some(false)
}

fn check(
    out: &[u8],
    status: u16,
    accepted: &[Header<'_>],
    body: &[u8],
    exchange: Exchange,
    keep_alive: bool,
    is_chunked: bool,
) {
    let mut slots = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut slots);
    let head_bytes = parsed.parse(out).expect("a valid head").unwrap();
    assert_eq!(
        parsed.code,
        Some(if (200..=999).contains(&status) {
            status
        } else {
            500
        })
    );
    let sent: Vec<(&[u8], &[u8])> = parsed
        .headers
        .iter()
        .map(|header| (header.name.as_bytes(), header.value))
        .collect();
    let own = |wanted: &str| {
        sent.iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))
            .map(|(_, value)| *value)
            .collect::<Vec<_>>()
    };
    assert_eq!(own("date").len(), 1);
    // An answer 426 names the protocol that it asks for.
    let upgrade = own("upgrade");
    assert_eq!(upgrade == [b"websocket"], parsed.code == Some(426));
    assert!(
        own("connection").len() <= 1 + upgrade.len()
            && own("content-length").len() + own("transfer-encoding").len() <= 1
    );
    assert_eq!(
        own("connection").contains(&b"close".as_slice()),
        !keep_alive
    );
    assert!(exchange.keep_alive || !keep_alive);
    let default_type = usize::from(
        !accepted
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(b"content-type"))
            && !own("content-type").is_empty(),
    );
    let engines = 1
        + own("connection").len()
        + upgrade.len()
        + own("content-length").len()
        + own("transfer-encoding").len()
        + default_type;
    assert_eq!(
        sent.len(),
        accepted.len() + engines,
        "exactly the fields that were accepted"
    );
    for (name, value) in accepted {
        let trimmed = value.trim_ascii();
        assert!(
            sent.iter()
                .any(|(other, found)| other == name && found.trim_ascii() == trimmed)
        );
    }
    let after = &out[head_bytes..];
    if is_chunked {
        let mut buf = after.to_vec();
        let (mut read, mut write, filled) = (0, 0, after.len());
        let progress = ChunkDecoder::new(1 << 20).decode(
            &mut buf,
            &mut read,
            &mut write,
            filled,
            &Limits::default(),
        );
        assert_eq!(progress, Ok(ChunkProgress::Done));
        assert_eq!((&buf[..write], read), (body, filled));
    } else {
        assert_eq!(after, body);
        if let ([length], false) = (&own("content-length")[..], exchange.head_only) {
            assert_eq!(std::str::from_utf8(length).unwrap(), body.len().to_string());
        } else if !body.is_empty() {
            assert!(
                !keep_alive,
                "a body without a length ends with the connection"
            );
        }
    }
}
