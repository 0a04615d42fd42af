//! The chunked decoder against a second one that is written the slow and obvious way, in every split.

use sampan_http::Limits;
use sampan_http::codec::{ChunkDecoder, ChunkProgress, is_field_value, is_token};

const BODY_BYTES_MAX: usize = 64;

/// The body and how many bytes it took.
type Decoded = (Vec<u8>, usize);

pub(crate) fn run(bytes: &[u8]) {
    let limits = Limits {
        chunk_ext_bytes_max: 1 << 20,
        trailer_bytes_max: 1 << 20,
        headers_max: 256,
        ..Limits::default()
    };
    let whole = decode(bytes, bytes.len().max(1), &limits);
    for step in [1, 2, 3, 7, 64] {
        assert_eq!(decode(bytes, step, &limits), whole, "in pieces of {step}");
    }
    assert_eq!(obvious(bytes), whole.ok().flatten());
}

/// Returns the decoder's result; `None` where bytes are missing, a status where they are wrong.
fn decode(bytes: &[u8], step: usize, limits: &Limits) -> Result<Option<Decoded>, u16> {
    let mut buf = bytes.to_vec();
    let (mut read, mut write, mut filled) = (0, 0, 0);
    let mut decoder = ChunkDecoder::new(BODY_BYTES_MAX);
    loop {
        filled = (filled + step).min(buf.len());
        match decoder.decode(&mut buf, &mut read, &mut write, filled, limits) {
            Err(fault) => return Err(fault.status),
            Ok(ChunkProgress::Done) => return Ok(Some((buf[..write].to_vec(), read))),
            Ok(ChunkProgress::More) if filled == buf.len() => return Ok(None),
            Ok(ChunkProgress::More) => {}
        }
        assert!(write <= read && read <= filled);
    }
}

/// RFC 9112 section 7.1, line by line; `None` for what is wrong or not whole.
fn obvious(bytes: &[u8]) -> Option<Decoded> {
    let (mut rest, mut body) = (bytes, Vec::new());
    loop {
        let line = take_line(&mut rest)?;
        let size_end = line
            .iter()
            .position(|&byte| byte == b';')
            .unwrap_or(line.len());
        let (digits, extensions) = line.split_at(size_end);
        if digits.is_empty()
            || digits.len() > 16
            || !digits.iter().all(u8::is_ascii_hexdigit)
            || !are_extensions(extensions)
        {
            return None;
        }
        let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        if size > BODY_BYTES_MAX - body.len() {
            return None;
        }
        if size == 0 {
            break;
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest[size..].strip_prefix(b"\r\n")?;
    }
    let mut trailers = 0;
    loop {
        let line = take_line(&mut rest)?;
        if line.is_empty() {
            return Some((body, bytes.len() - rest.len()));
        }
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = line[..colon].to_ascii_lowercase();
        if name == b"content-length" || name == b"transfer-encoding" {
            return None;
        }
        trailers += 1;
        if trailers > 256 || !is_token(&line[..colon]) || !is_field_value(&line[colon + 1..]) {
            return None;
        }
    }
}

/// `*( ";" token [ "=" ( token / quoted-string ) ] )`, without whitespace.
fn are_extensions(mut text: &[u8]) -> bool {
    while let Some(extension) = text.strip_prefix(b";") {
        let name = token_bytes(extension);
        if name == 0 {
            return false;
        }
        text = &extension[name..];
        let Some(value) = text.strip_prefix(b"=") else {
            continue;
        };
        let len = if value.first() == Some(&b'"') {
            quoted_bytes(value)
        } else {
            token_bytes(value)
        };
        if len == 0 {
            return false;
        }
        text = &value[len..];
    }
    text.is_empty()
}

fn token_bytes(text: &[u8]) -> usize {
    (0..=text.len())
        .rev()
        .find(|&len| is_token(&text[..len]))
        .unwrap_or(0)
}

/// The length of the quoted string at the start of `text`, quotes included; 0 if there is none.
fn quoted_bytes(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                return if is_field_value(&text[..at]) {
                    at + 1
                } else {
                    0
                };
            }
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    0
}

/// Takes the bytes up to the first CRLF; what has another CR or LF before it is caught as a bad value.
fn take_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Some(line)
}
