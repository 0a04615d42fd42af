//! The handler of a worker of `sampan dev`: it answers what only development has, and puts the script into pages.

use super::hosts;
use super::pages::browser::{CLIENT, EVENTS, PAGE_STYLE, POLICY, PREFIX};
use super::pages::errors::DevErrors;
use super::pages::mails::{self, MAILS, PREVIEWS};
use super::pages::own_pages::OWN;
use super::pages::policy::{self, OWN_PAGE};
use super::pages::previews;
use super::state::Dev;
use super::trace::RequestCost;
use sampan_http::codec::{DATE_BYTES, Exchange};
use sampan_http::{
    Answer, Body, Handler, HandlerSlot, Method, Observer, Peer, Precomputed, PrecomputedRest,
    Request, Response,
};
use sampan_project::Project;
use sampan_runtime::Development;
use sampan_serve::{Dispatch, ErrorPages};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::Arc;

const POLICY_NAME: &str = "Content-Security-Policy";

/// Larger pages are sent as they are.
const PAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;

impl Development for Dev {
    fn handler(self: Arc<Self>, dispatch: Rc<Dispatch>, inner: Rc<dyn Handler>) -> HandlerSlot {
        Rc::new(DevHandler {
            dispatch,
            inner,
            dev: self,
        })
        .into()
    }

    fn error_pages(self: Arc<Self>, project: &Project) -> Box<dyn ErrorPages> {
        Box::new(DevErrors::new(self, project))
    }
}

/// The handler of a worker of `sampan dev`.
struct DevHandler {
    dispatch: Rc<Dispatch>,
    inner: Rc<dyn Handler>,
    dev: Arc<Dev>,
}

impl Handler for DevHandler {
    fn inner(&self) -> Option<&dyn Handler> {
        Some(&*self.inner)
    }

    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer {
        if let Some(refusal) = hosts::refusal(request, &self.dev.settings.hosts) {
            return Answer::Now(refusal);
        }
        match request.path().strip_prefix(PREFIX) {
            Some(EVENTS) => Answer::Now(self.dev.browsers.events()),
            Some(CLIENT) => Answer::Now(own(
                "text/javascript; charset=utf-8",
                include_bytes!("pages/client.js"),
            )),
            Some(PAGE_STYLE) => Answer::Now(own(
                "text/css; charset=utf-8",
                include_bytes!("pages/page.css"),
            )),
            Some(path) if path.strip_prefix(MAILS).is_some_and(is_path) => {
                let path = &path[MAILS.len()..];
                match path.strip_prefix(PREVIEWS).filter(|rest| is_path(rest)) {
                    Some(rest) => {
                        let page =
                            previews::answer(Arc::clone(&self.dev.previews), rest.to_owned());
                        Answer::Later(Box::pin(async move { Answer::Now(page.await) }))
                    }
                    None => Answer::Now(mails::answer(&self.dev.mails, path)),
                }
            }
            Some(path) if path.starts_with(OWN) => {
                let page = self.dev.own_pages.get(&path[OWN.len()..]);
                let gone = || own("text/plain; charset=utf-8", b"This page is no longer kept.");
                Answer::Now(page.unwrap_or_else(gone))
            }
            _ if matches!(request.method(), Method::Get | Method::Post) => {
                with_script(self.inner.handle(request, observer), Arc::clone(&self.dev))
            }
            _ => self.inner.handle(request, observer),
        }
    }

    fn observe(&self, peer: Peer, request: Option<&Request>) -> Option<Rc<dyn Observer>> {
        if request.is_some_and(|request| request.path().starts_with(PREFIX)) {
            return None;
        }
        let trace = Box::new(RequestCost::new(&self.dev, request));
        Some(self.dispatch.record(peer, request, Some(trace)))
    }
}

/// Reports whether a page's path ends here, or goes on below it.
fn is_path(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// A file of `sampan dev` itself.
fn own(content_type: &'static str, body: &[u8]) -> Response {
    let mut response = Response::new(200);
    response.content_type(content_type);
    // Cannot fail: both are plain text.
    let _ = response.header(b"Cache-Control", b"no-store");
    response.body_mut().extend_from_slice(body);
    response
}

/// Puts the script into the answer, if it is a page.
fn with_script(answer: Answer, dev: Arc<Dev>) -> Answer {
    match answer {
        Answer::Now(mut response) => {
            inject(&mut response, &dev);
            Answer::Now(response)
        }
        Answer::Held(mut response, ticket) => {
            inject(&mut response, &dev);
            let ticket = ticket.map_else(move |response| inject(response, &dev));
            Answer::Held(response, ticket)
        }
        Answer::Upgrade(upgrade) => Answer::Upgrade(upgrade),
        Answer::Later(answer) => {
            Answer::Later(Box::pin(async move { with_script(answer.await, dev) }))
        }
        Answer::Precomputed(precomputed) => match opened(&precomputed) {
            Some(mut response) if is_page(&response) => {
                inject(&mut response, &dev);
                Answer::Now(response)
            }
            _ => Answer::Precomputed(precomputed),
        },
    }
}

/// A precomputed answer as it was before it was serialised.
fn opened(precomputed: &Precomputed) -> Option<Response> {
    let exchange = Exchange {
        head_only: false,
        version_minor: 1,
        keep_alive: true,
    };
    let mut bytes = Vec::new();
    let (rest, _) = precomputed.encode(&mut bytes, exchange, &[b' '; DATE_BYTES]);
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = text(&bytes[..end])?;
    let mut response = Response::new(precomputed.status());
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(": ")?;
        if !name.eq_ignore_ascii_case("date") {
            response.header(name.as_bytes(), value.as_bytes()).ok()?;
        }
    }
    response.set_body(match rest {
        None => Body::Bytes(bytes[end + 4..].to_vec()),
        Some(PrecomputedRest::Bytes(bytes)) => Body::Shared(bytes),
        Some(PrecomputedRest::File(part)) => Body::File(part),
    });
    Some(response)
}

fn is_page(response: &Response) -> bool {
    let own = response.default_content_type().map(str::as_bytes);
    let content_type = response.get_header("content-type").or(own);
    let is_html =
        content_type.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(b"text/html"));
    // A part of a page has no end, and what is encoded cannot be read.
    is_html && response.status() != 206 && !response.has_header("content-encoding")
}

fn inject(response: &mut Response, dev: &Dev) {
    if !is_page(response) {
        return;
    }
    let mut page = match response.body_as_mut() {
        Body::Bytes(bytes) => std::mem::take(bytes),
        Body::Shared(bytes) => bytes.to_vec(),
        Body::Lent(lender) => (**lender).as_ref().to_vec(),
        Body::File(part) if part.len <= PAGE_BYTES_MAX => {
            let mut bytes = vec![0; part.len as usize];
            match part.file.read_exact_at(&mut bytes, part.start) {
                Ok(()) => bytes,
                Err(_) => return,
            }
        }
        Body::Empty | Body::File(_) | Body::Stream(_) => return,
    };
    let nonce = adapt_policy(response);
    let lower = page.to_ascii_lowercase();
    let end = lower.windows(7).rposition(|window| window == b"</body>");
    let at = end.unwrap_or(page.len());
    page.splice(at..at, dev.browsers.tag(nonce.as_deref()).into_bytes());
    response.set_body(Body::Bytes(page));
    // A page from the browser's cache would have the script of another version, and load itself again for ever.
    for name in ["ETag", "Last-Modified"] {
        response.remove_header(name);
    }
    // Fails only where the headers are full already.
    let _ = response.set_header(b"Cache-Control", b"no-store");
}

/// Has the page's policy allow the script. Returns the nonce that it needs.
fn adapt_policy(response: &mut Response) -> Option<String> {
    let is_own = response.has_header(OWN_PAGE);
    response.remove_header(OWN_PAGE);
    if is_own {
        // Also where the project adds one to all of its answers.
        let _ = response.set_header(POLICY_NAME.as_bytes(), POLICY.as_bytes());
        return None;
    }
    let given = response.get_header(POLICY_NAME)?;
    let (policy, nonce) = policy::extended(&String::from_utf8_lossy(given));
    let _ = response.set_header(POLICY_NAME.as_bytes(), policy.as_bytes());
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precomputed_answer_is_opened_again() {
        let mut response = Response::new(201);
        response.content_type("text/html; charset=utf-8");
        response.header(b"X-A", b"b: c").expect("a header");
        response.body_mut().extend_from_slice(b"<p>\r\n\r\n</p>");
        let precomputed = Precomputed::new(response).expect("no stream");
        let mut opened = opened(&precomputed).expect("opened");
        assert_eq!((opened.status(), is_page(&opened)), (201, true));
        assert_eq!(opened.get_header("x-a"), Some(&b"b: c"[..]));
        assert_eq!(opened.body_mut(), b"<p>\r\n\r\n</p>");
    }
}
