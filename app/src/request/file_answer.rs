//! Requests that a file in `public/` answers. Guards and middleware that match the path come before it, as before a
//! route.

use crate::request::dispatch::{DispatchedRequest, view};
use crate::request::errors;
use crate::request::fallback::Fallback;
use crate::request::record::Record;
use crate::routing::loaded::Loaded;
use crate::routing::routes::{Allow, Spans};
use crate::static_files::{Served, unreadable};
use sampan_host::RequestView;
use sampan_http::{Answer, Method, Request, Response};
use std::borrow::Cow;
use std::io;
use std::rc::Rc;

/// Finds the file in `public/` for a request with a path in normal form.
#[inline]
pub(super) fn find_file(
    loaded: &Loaded,
    request: &Request,
    normal: &str,
) -> Option<io::Result<Served>> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return None;
    }
    loaded.control.files.find(normal).transpose()
}

/// The page that answers a browser where the path has no route and no file, if the project names one.
pub(super) fn find_fallback(
    loaded: &Loaded,
    request: &Request,
    normal: &str,
    allow: Allow,
) -> Option<io::Result<Served>> {
    let is_page = matches!(request.method(), Method::Get | Method::Head)
        && allow.is_empty()
        && loaded.fetch.is_none()
        && errors::prefers_page(request);
    if !is_page {
        return None;
    }
    loaded.control.files.find_fallback(normal).transpose()
}

/// Answers with a file, or sends the client to a folder.
pub(super) fn answer_file(
    loaded: Rc<Loaded>,
    request: &Rc<Request>,
    normal: Cow<'_, str>,
    found: io::Result<Served>,
    record: Option<Rc<Record>>,
) -> Answer {
    let chain = loaded.middleware.of_file(&normal);
    let guards = loaded.guards.of_file(&normal);
    if let (Ok(Served::File(file)), [], []) = (&found, &*chain, &*guards) {
        return loaded.control.files.answer(file, request, &normal);
    }
    let view = view(request, normal, Spans::default(), &loaded.no_route, record);
    let (served, fallback) = match found {
        Ok(Served::File(file)) => {
            let files = &loaded.control.files;
            let served = files.wrapped(file, request, view.normal_path());
            (Some(view.store().put(served)), Fallback::FILE)
        }
        Ok(Served::Folder) => (None, Fallback::FOLDER),
        Err(error) => {
            let error = unreadable(view.path(), &error);
            let fallback = Fallback::NONE;
            let uses = Rc::clone(&loaded.no_route_uses);
            let exchange = DispatchedRequest {
                loaded,
                view,
                fallback,
                uses,
            };
            exchange.log(&error);
            return exchange.answer_natively(errors::answer_to(&error, &exchange.view));
        }
    };
    let uses = Rc::clone(&loaded.no_route_uses);
    let exchange = DispatchedRequest {
        loaded,
        view,
        fallback,
        uses,
    };
    exchange.check(&guards, |exchange| {
        if !chain.is_empty() {
            return exchange.answer(None, &chain);
        }
        let mut response = Response::new(fallback.status);
        match &served {
            Some(served) => served.complete(&mut response, request),
            None => fallback.complete(&mut response, &exchange.view),
        }
        exchange.answer_natively(response)
    })
}
