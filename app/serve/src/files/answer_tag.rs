//! The `ETag` of what a handler answers (RFC 9110 section 8.8.3), on routes with `etag = true`.

use super::conditions::{self, ConditionResult, Validators};
use crate::compression;
use foldhash::quality::FixedState;
use sampan_http::{Body, Method, Request, Response};
use std::hash::BuildHasher;

/// Gives an answer a tag made of its body, unless it has one, and reports whether the client has the same already: then
/// it is a 304 without a body. Streams and files are left alone.
///
/// The 304 has the fields that the answer would have (RFC 9110 section 15.4.5). Where the route compresses answers,
/// these are `Vary` and, for a client that got a compressed answer, the weak tag.
pub(crate) fn is_known(request: &Request, response: &mut Response, has_compression: bool) -> bool {
    let is_read = matches!(request.method(), Method::Get | Method::Head);
    if !is_read || response.status() != 200 {
        return false;
    }
    let given = response
        .get_header("etag")
        .map(|tag| String::from_utf8_lossy(tag).into_owned());
    let tag = match (given, response.body()) {
        (Some(tag), _) => tag,
        (None, Body::Bytes(bytes)) if !bytes.is_empty() => add_tag(response, hash(bytes)),
        (None, Body::Lent(bytes)) => {
            let hash = hash((**bytes).as_ref());
            add_tag(response, hash)
        }
        (None, _) => return false,
    };
    let validators = Validators {
        tag: &tag,
        modified: None,
    };
    if request.header("if-none-match").is_none()
        || conditions::verdict(request, validators) != ConditionResult::NotModified
    {
        return false;
    }
    if has_compression {
        if compression::accepted(request).is_some() && is_named_weakly(request, &tag) {
            // Without room for it the answer keeps the strong one.
            let _ = response.set_header(b"ETag", format!("W/{tag}").as_bytes());
        }
        let _ = response.header(b"Vary", b"Accept-Encoding");
    }
    response.set_status(304);
    super::answer::without_body(response);
    true
}

/// Reports whether a list of the client has a strong tag, and each time in its weak form.
fn is_named_weakly(request: &Request, tag: &str) -> bool {
    let mut count = 0;
    for (name, line) in request.headers() {
        if !name.eq_ignore_ascii_case("if-none-match") {
            continue;
        }
        let line = std::str::from_utf8(line).unwrap_or_default();
        for (at, _) in line.match_indices(tag) {
            if !line[..at].ends_with("W/") {
                return false;
            }
            count += 1;
        }
    }
    count > 0 && tag.starts_with('"')
}

/// Two bodies of one length have the same hash once in 2^64 times.
fn hash(bytes: &[u8]) -> (u64, usize) {
    (FixedState::default().hash_one(bytes), bytes.len())
}

fn add_tag(response: &mut Response, (hash, length): (u64, usize)) -> String {
    let tag = format!("\"{hash:016x}-{length:x}\"");
    // Plain text, for which every answer has room.
    let _ = response.set_header(b"ETag", tag.as_bytes());
    tag
}
