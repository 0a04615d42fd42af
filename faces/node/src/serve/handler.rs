//! The handler that the driver calls for each request: routes that need no JavaScript are answered here, the others
//! wait for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sampan_http::codec::{Exceeded, reason};
use sampan_http::{Answer, Handler, Method, Observer, Request, Response};
use sampan_serve::routing::spans::Spans;

use super::exchanges::Exchanges;
use super::routes::{Found, RouteSet};

pub(crate) struct ServeHandler {
    pub(crate) exchanges: Rc<Exchanges>,
    pub(crate) routes: RefCell<RouteSet>,
    /// True if a `fetch` answers what no route does.
    pub(crate) has_fetch: Cell<bool>,
    /// The generation of the routes. Requests tell it, because the numbers of handlers are those of their generation.
    pub(crate) generation: Cell<u32>,
}

impl Handler for ServeHandler {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let routes = self.routes.borrow();
        let (route, params) = match routes.find(request.method(), request.path()) {
            Found::Precomputed(response) => return Answer::Precomputed(response.clone()),
            Found::Handler(index, params) => (Some(index), params),
            Found::Nothing(_) if self.has_fetch.get() => (None, Spans::default()),
            Found::Nothing(allow) => {
                let status = match (allow.is_empty(), request.method()) {
                    (true, _) => 404,
                    (false, Method::Options) => 204,
                    (false, _) => 405,
                };
                let mut response = match status {
                    204 => Response::new(204),
                    status => self.error(status, None),
                };
                if !allow.is_empty() {
                    // The value is made of the names of methods.
                    let _ = response.header(b"Allow", allow.field_value().as_bytes());
                }
                return Answer::Now(response);
            }
        };
        Answer::Later(Box::pin(self.exchanges.begin(
            request,
            self.generation.get(),
            route,
            params,
        )))
    }

    fn error(&self, status: u16, _: Option<Exceeded>) -> Response {
        if status == 504 {
            self.exchanges.expect_late();
        }
        let mut response = Response::new(status);
        response.content_type("application/json");
        let body = format!("{{\"error\":\"{}\"}}", reason(status));
        response.body_mut().extend_from_slice(body.as_bytes());
        response
    }
}
