//! Compresses the answers of one worker, and keeps what it compressed.

use super::cache::BodyCache;
use super::kinds::{self, Fields};
use super::pieces::{CompressedPieces, bytes_of};
use sampan_host::request::{AcceptedCodings, Coding};
use sampan_host::settings::{ANY, Preset, Section, SettingKey};
use sampan_http::{Body, Request, Response};
use sampan_project::encoders::Encoders;
use std::cell::RefCell;
use std::sync::Arc;

/// The smallest body that is compressed, in bytes: a smaller one fits into one packet in any case.
const BODY_BYTES_MIN: usize = 256;
/// A larger body is compressed piece by piece while it is sent, so that it keeps its worker for a moment at a time.
const WHOLE_BYTES_MAX: usize = 256 * 1024;
/// The preference among codings that a client accepts alike: for answers of the moment, speed counts.
const CODINGS: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

/// `[compression]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "compression",
    doc: "Answers of text, compressed for clients that accept it.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true), "answers of text are compressed"),
        SettingKey::size("cache_bytes_max", ANY, 4 * 1024 * 1024, "memory of each worker for compressed answers"),
    ],
};

/// Compresses the answers of one worker.
pub struct Compression {
    encoders: RefCell<Encoders>,
    cache: RefCell<BodyCache>,
}

impl Compression {
    /// Keeps so many bytes of bodies.
    pub fn new(cache_bytes_max: usize) -> Self {
        Self {
            encoders: RefCell::default(),
            cache: RefCell::new(BodyCache::new(cache_bytes_max)),
        }
    }

    /// Compresses an answer, if it should be.
    #[inline]
    pub(crate) fn apply(&self, request: &Request, response: &mut Response) {
        if is_large_enough(response) {
            self.apply_to_large(request, response);
        }
    }

    #[inline(never)]
    fn apply_to_large(&self, request: &Request, response: &mut Response) {
        let Some(fields) = prepare(response) else {
            return;
        };
        let Some(coding) = accepted(request) else {
            return;
        };
        if let Some(body) = self.compressed(coding, response) {
            replace(response, coding, body, &fields);
        }
    }

    /// The compressed body; nothing where it would be no smaller.
    fn compressed(&self, coding: Coding, response: &mut Response) -> Option<Body> {
        let plain = bytes_of(response.body())?;
        if plain.len() > WHOLE_BYTES_MAX {
            let body = std::mem::take(response.body_as_mut());
            return Some(Body::Stream(Box::new(CompressedPieces::new(coding, body))));
        }
        let mut cache = self.cache.borrow_mut();
        let hash = cache.hash(plain);
        if let Some(known) = cache.get(hash, coding, plain) {
            return known.map(Body::Shared);
        }
        let compressed = self.encoders.borrow_mut().compress(coding, plain)?;
        let kept = (compressed.len() < plain.len()).then(|| Arc::from(compressed));
        cache.put(hash, coding, plain, kept.clone());
        kept.map(Body::Shared)
    }

    /// The forms of an answer that is computed once, beside the plain one.
    pub(crate) fn variants(&self, response: &mut Response) -> Vec<(Coding, Response)> {
        if !is_large_enough(response) {
            return Vec::new();
        }
        let Some(fields) = prepare(response) else {
            return Vec::new();
        };
        let variant = |coding| {
            let mut twin = response.twin()?;
            let plain = bytes_of(twin.body())?;
            let compressed = self.encoders.borrow_mut().compress(coding, plain)?;
            if compressed.len() >= plain.len() {
                return None;
            }
            replace(&mut twin, coding, Body::Bytes(compressed), &fields);
            Some((coding, twin))
        };
        CODINGS.into_iter().filter_map(variant).collect()
    }
}

#[inline]
fn is_large_enough(response: &Response) -> bool {
    bytes_of(response.body()).is_some_and(|body| body.len() >= BODY_BYTES_MIN)
}

/// Prepares an answer for compression and returns its relevant fields. The answer has `Vary` from then on: caches must
/// know of the choice also where nothing is chosen.
fn prepare(response: &mut Response) -> Option<Fields> {
    let fields = kinds::compressible(response)?;
    if !fields.vary {
        response.header(b"Vary", b"Accept-Encoding").ok()?;
    }
    Some(fields)
}

/// Puts the compressed body in the place of the plain one.
fn replace(response: &mut Response, coding: Coding, body: Body, fields: &Fields) {
    response.set_body(body);
    response.forget_length();
    let name = coding.name().as_bytes();
    // A script's fields may have taken all the room; then nothing is sent rather than bytes that no client can read.
    if response.header(b"Content-Encoding", name).is_err() {
        *response = Response::new(500);
        return;
    }
    if let Some(tag) = &fields.strong_tag {
        // The bytes are others (RFC 9110 section 8.8.3.3); what they mean is the same.
        let _ = response.set_header(b"ETag", &[b"W/", tag.as_slice()].concat());
    }
}

/// The coding that a client likes best of ours. One that accepts nothing at all gets the plain body, as RFC 9110
/// section 12.1 allows: the handler has done its work.
pub(crate) fn accepted(request: &Request) -> Option<Coding> {
    request.header(AcceptedCodings::FIELD)?;
    let accepted = AcceptedCodings::of(request.headers());
    accepted.choose(&CODINGS).ok().flatten()
}

/// Reports whether a client takes gzip.
pub(crate) fn takes_gzip(request: &Request) -> bool {
    let accepted = AcceptedCodings::of(request.headers());
    let has_field = request.header(AcceptedCodings::FIELD).is_some();
    has_field && accepted.choose(&[Coding::Gzip]).ok().flatten().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_asked_for_again_is_compressed_once() {
        let compression = Compression::new(1 << 20);
        let head = b"GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n";
        let request = Request::from_bytes(head).expect("a request");
        let answered = || {
            let mut response = Response::new(200);
            response.content_type("text/html");
            response.set_body(Body::Bytes(b"<p>hello</p>".repeat(100)));
            compression.apply(&request, &mut response);
            match response.body() {
                Body::Shared(bytes) => Arc::clone(bytes),
                _ => panic!("it is not compressed"),
            }
        };
        let (first, second) = (answered(), answered());
        assert!(Arc::ptr_eq(&first, &second));
    }
}
