//! The request decoder never panics, finds the same in the same bytes however they are split, and lets nothing
//! through that could be read in two ways.

use sampan_http::Limits;
use sampan_http::codec::{AwaitedPart, Decoder, DecoderEvent, is_field_value, is_token};

/// The decoder's result for some bytes.
#[derive(Debug, PartialEq, Eq)]
enum DecodedRequest {
    Request {
        method: Vec<u8>,
        target: Vec<u8>,
        fields: Vec<(Vec<u8>, Vec<u8>)>,
        body: Vec<u8>,
        keep_alive: bool,
    },
    Fault(u16, &'static str),
    End(AwaitedPart),
}

pub(crate) fn run(bytes: &[u8]) {
    // Small, so that short inputs reach them.
    let limits = Limits {
        head_bytes_max: 512,
        target_bytes_max: 128,
        headers_max: 8,
        body_bytes_max: 256,
        chunk_ext_bytes_max: 32,
        trailer_bytes_max: 64,
        ..Limits::default()
    };
    let whole = decode(&[bytes], &limits);
    check(&whole);
    assert_eq!(
        decode(&bytes.chunks(1).collect::<Vec<_>>(), &limits),
        whole,
        "byte by byte"
    );
    // Two cuts that depend on the input, so that a corpus covers them all in time.
    let hash = crate::mutate::hash(bytes) as usize;
    let one = hash % (bytes.len() + 1);
    let two = (hash >> 20) % (bytes.len() + 1);
    let (first, last) = (one.min(two), one.max(two));
    let pieces = [&bytes[..first], &bytes[first..last], &bytes[last..]];
    assert_eq!(decode(&pieces, &limits), whole, "cut at {first} and {last}");
    let chunks = 2 + hash % 7;
    assert_eq!(
        decode(&bytes.chunks(chunks).collect::<Vec<_>>(), &limits),
        whole,
        "in pieces of {chunks}"
    );
    // A decoder remembers the last head that it accepted; that must not show.
    let mut used = Decoder::new();
    decode_with(&mut used, &[bytes], &limits);
    for again in [bytes, &bytes[..one], &bytes[one..]] {
        used.clear();
        let fresh = decode(&[again], &limits);
        assert_eq!(decode_with(&mut used, &[again], &limits), fresh, "again");
    }
}

fn decode(pieces: &[&[u8]], limits: &Limits) -> Vec<DecodedRequest> {
    decode_with(&mut Decoder::new(), pieces, limits)
}

fn decode_with(decoder: &mut Decoder, pieces: &[&[u8]], limits: &Limits) -> Vec<DecodedRequest> {
    let mut seen = Vec::new();
    let mut wait = AwaitedPart::Nothing;
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next(limits) {
                DecoderEvent::Incomplete(for_what) => {
                    wait = for_what;
                    break;
                }
                DecoderEvent::Head => {
                    let _ = decoder.accept_body(limits.body_bytes_max);
                }
                DecoderEvent::Request => {
                    seen.push(request(decoder));
                    decoder.advance();
                }
                DecoderEvent::Fault(fault) => {
                    seen.push(DecodedRequest::Fault(fault.status, fault.reason));
                    return seen;
                }
            }
        }
    }
    seen.push(DecodedRequest::End(wait));
    seen
}

fn request(decoder: &Decoder) -> DecodedRequest {
    let (head, bytes) = (decoder.head(), decoder.head_bytes());
    DecodedRequest::Request {
        method: head.method_text.of(bytes).to_vec(),
        target: head.target.of(bytes).to_vec(),
        fields: head
            .fields
            .iter()
            .map(|field| {
                (
                    field.name.of(bytes).to_vec(),
                    field.value.of(bytes).to_vec(),
                )
            })
            .collect(),
        body: decoder.body().to_vec(),
        keep_alive: head.keep_alive,
    }
}

/// Checks the rules for every request that gets through.
fn check(all: &[DecodedRequest]) {
    for seen in all {
        let DecodedRequest::Request {
            method,
            target,
            fields,
            body,
            ..
        } = seen
        else {
            continue;
        };
        assert!(is_token(method));
        assert!(
            !target.is_empty()
                && target
                    .iter()
                    .all(|&byte| byte > b' ' && byte != 0x7f && byte != b'#')
        );
        let count = |wanted: &[u8]| {
            fields
                .iter()
                .filter(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .count()
        };
        for (name, value) in fields {
            assert!(is_token(name) && is_field_value(value));
            assert!(
                !value.starts_with(b" ") && !value.ends_with(b"\t"),
                "trimmed"
            );
        }
        assert!(count(b"host") <= 1 && count(b"content-length") <= 1);
        assert!(count(b"content-length") == 0 || count(b"transfer-encoding") == 0);
        assert!(
            !body.is_empty()
                || count(b"content-length") == 0
                || fields
                    .iter()
                    .any(|(_, value)| value.iter().all(|&byte| byte == b'0'))
        );
        assert!(body.is_empty() || count(b"content-length") + count(b"transfer-encoding") > 0);
    }
}
