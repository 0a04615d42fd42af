//! The pages with which a project answers its errors itself. In development a page about the error comes in their
//! place, and links them.

use super::browser::PREFIX;
use sampan_http::{Body, Response};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The path of such a page, below [`PREFIX`]; its number follows.
pub(in crate::dev) const OWN: &str = "own/";
/// The maximum number of kept pages.
const PAGES_MAX: usize = 20;
/// Larger ones are not kept.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// The pages that were answered last.
#[derive(Default)]
pub(in crate::dev) struct OwnPages(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    pages: VecDeque<(u64, OwnPage)>,
    next: u64,
}

/// An answer as the project gave it.
struct OwnPage {
    status: u16,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
}

impl OwnPages {
    /// Keeps an answer. Returns the URL at which it is shown, or nothing if it is too large or a stream.
    pub(in crate::dev) fn keep(&self, response: &Response) -> Option<String> {
        let body = match response.body() {
            Body::Empty => Vec::new(),
            Body::Bytes(bytes) => bytes.clone(),
            Body::Shared(bytes) => bytes.to_vec(),
            Body::Lent(lender) => (**lender).as_ref().to_vec(),
            Body::File(_) | Body::Stream(_) => return None,
        };
        if body.len() > PAGE_BYTES_MAX {
            return None;
        }
        let owned = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
        let mut fields: Vec<_> = response
            .headers()
            .filter(|(name, _)| !name.eq_ignore_ascii_case(b"set-cookie"))
            .map(owned)
            .collect();
        if let Some(kind) = response.default_content_type() {
            fields.push((b"Content-Type".to_vec(), kind.as_bytes().to_vec()));
        }
        let status = response.status();
        let page = OwnPage {
            status,
            fields,
            body,
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.next += 1;
        let number = kept.next;
        kept.pages.push_back((number, page));
        if kept.pages.len() > PAGES_MAX {
            kept.pages.pop_front();
        }
        Some(format!("{PREFIX}{OWN}{number}"))
    }

    /// The answer with a number, if it is kept.
    pub(in crate::dev) fn get(&self, number: &str) -> Option<Response> {
        let number: u64 = number.parse().ok()?;
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, page) = kept.pages.iter().find(|(at, _)| *at == number)?;
        let mut response = Response::new(page.status);
        for (name, value) in &page.fields {
            // They stood in a response.
            let _ = response.set_header(name, value);
        }
        response.set_body(Body::Bytes(page.body.clone()));
        Some(response)
    }
}
