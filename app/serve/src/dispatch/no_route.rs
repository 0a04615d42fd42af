//! A request that no route answers and no file is there for.

use crate::answer::errors;
use crate::dispatch::admitting;
use crate::dispatch::apart::handover;
use crate::dispatch::exchange::{DispatchedRequest, view};
use crate::dispatch::guarding::Way;
use crate::dispatch::loaded::Loaded;
use crate::gate::chain_end::ChainEnd;
use crate::request::observers::Observers;
use crate::routing::normal_form::hides_dot_segments;
use crate::routing::routes::Allow;
use crate::routing::spans::Spans;
use sampan_http::{Answer, Method, Request};
use std::borrow::Cow;
use std::rc::Rc;

/// Answers a request that no route answers: by the module's `fetch`, the script's `not_found`, the page of 404 that the
/// settings name, or by default; through the middleware of the path in any case.
pub(super) fn no_route(
    loaded: Rc<Loaded>,
    request: &Rc<Request>,
    normal: Cow<'_, str>,
    allow: Allow,
    observers: Observers,
) -> Answer {
    let is_options = request.method() == Method::Options;
    // Another method asks for a file: one that GET asks for has been found before.
    let has_file = loaded.fetch.is_none()
        && !matches!(request.method(), Method::Get | Method::Head)
        && matches!(loaded.control.files.find(&normal), Ok(Some(_)));
    let allow = if has_file { allow.with_get() } else { allow };
    let missing = |status, allow| {
        let handler = match status {
            204 | 400 => None,
            _ => loaded.not_found,
        };
        let has_page = status == 404 && handler.is_none() && errors::prefers_page(request);
        let page = if has_page {
            loaded.control.files.not_found()
        } else {
            None
        };
        ChainEnd::Status {
            status,
            allow,
            handler,
            page: page.map(Rc::new),
        }
    };
    let end = match (loaded.fetch, allow.is_empty()) {
        // Middleware would see another path than a script that decodes it.
        (Some(_), _) if hides_dot_segments(&normal) => missing(400, Allow::NONE),
        (Some(fetch), _) => ChainEnd::Handler(fetch),
        (None, true) if is_options && normal == "*" => missing(204, Allow::ALL),
        (None, true) => missing(404, allow),
        (None, false) if is_options => missing(204, allow),
        (None, false) => missing(405, allow),
    };
    let host = loaded.host_of(request);
    let chain = loaded.middleware.of_path(host.as_deref(), &normal);
    let guards = &loaded.guards;
    let guards = guards.of_path(request.method(), host.as_deref(), &normal);
    let runs_script = end.handler().is_some() || !chain.is_empty();
    let waits = runs_script && admitting::has_to_wait(&loaded.control, false);
    let info = match (loaded.fetch, &end) {
        (Some(_), ChainEnd::Handler(_)) => {
            let (control, plain) = (&loaded.control, &loaded.no_route);
            loaded.fetch_lanes.info(control, plain, &normal)
        }
        _ => Rc::clone(&loaded.no_route),
    };
    let record = observers.record.as_ref();
    if let Some(answer) = handover::hand_over_fetch(&loaded, &info, (request, &normal), record) {
        return answer;
    }
    let exchange = DispatchedRequest {
        view: view(request, normal, Spans::default(), &info, observers),
        uses: Rc::clone(&loaded.no_route_uses),
        loaded,
        end,
    };
    let way = Way::ChainOrNone(chain.into());
    if waits {
        let client = admitting::client_of(request, &guards, &exchange.loaded.control);
        // Its lane may become the slow one while it waits.
        let leave = move |waiting: &DispatchedRequest| {
            let view = &waiting.view;
            let request = (view.request(), view.normal_path());
            handover::hand_over_fetch(&waiting.loaded, &info, request, view.record())
        };
        return admitting::wait(exchange, client, leave, move |exchange| {
            exchange.check(&guards, way)
        });
    }
    exchange.check(&guards, way)
}
