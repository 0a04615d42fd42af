//! Requests that a file in `public/` answers. Guards and middleware that match the path come before it, as before a
//! route.

use crate::answer::errors;
use crate::dispatch::admitting;
use crate::dispatch::exchange::DispatchedRequest;
use crate::dispatch::guarding::Way;
use crate::dispatch::loaded::Loaded;
use crate::files::{Freshness, Served, unreadable};
use crate::gate::chain_end::ChainEnd;
use crate::request::observers::Observers;
use crate::routing::routes::Allow;
use sampan_http::{Answer, Method, Request};
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
    observers: Observers,
) -> Answer {
    if let Some(record) = &observers.record {
        record.set_file();
    }
    let host = loaded.host_of(request);
    let chain = loaded.middleware.of_file(host.as_deref(), &normal);
    let guards = loaded.guards.of_file(host.as_deref(), &normal);
    let files = &loaded.control.files;
    let found = found.map(|found| match found {
        Served::File(file) => {
            let freshness = files.freshness(&file, request, &normal);
            Some((file, freshness))
        }
        Served::Fallback(file) => Some((file, Freshness::Fallback)),
        Served::Folder => None,
    });
    if let (Ok(Some((file, freshness))), [], []) = (&found, &*chain, &*guards) {
        return files.answer(file, request, *freshness);
    }
    let end = match found {
        Ok(Some((file, freshness))) => ChainEnd::File(Rc::new(files.wrapped(file, freshness))),
        Ok(None) => ChainEnd::Folder,
        Err(error) => {
            let error = unreadable(request.path(), &error);
            let end = ChainEnd::Folder;
            let exchange =
                DispatchedRequest::without_route(loaded, request, normal, end, observers);
            exchange.log(&error);
            return exchange.answer_natively(exchange.view.answer_to(&error));
        }
    };
    // Middleware is script.
    let waits = !chain.is_empty() && admitting::has_to_wait(&loaded.control, false);
    let exchange = DispatchedRequest::without_route(loaded, request, normal, end, observers);
    let way = Way::ChainOrNone(chain.into());
    if waits {
        let client = admitting::client_of(request, &guards, &exchange.loaded.control);
        return admitting::wait(
            exchange,
            client,
            |_| None,
            move |exchange| exchange.check(&guards, way),
        );
    }
    exchange.check(&guards, way)
}
