//! Browsers of a case: each keeps the cookies that it was given, and sends them with its next request.

use crate::Answer;
use crate::cookies::Cookies;
use crate::scenario::{OneOrMore, Request};
use sampan_host::clock;
use std::collections::BTreeMap;

/// The host of all requests: cases look at paths alone.
const HOST: &str = "localhost";

/// The browsers by their names.
#[derive(Default)]
pub(crate) struct Browsers(BTreeMap<String, Cookies>);

impl Browsers {
    /// Adds the cookies of its browser to a request.
    pub(crate) fn prepare(&mut self, request: &mut Request) {
        let Some(name) = &request.browser else {
            return;
        };
        if let Some(other) = &request.cookies_of {
            let cookies = self.0.get(other).cloned().unwrap_or_default();
            self.0.insert(name.clone(), cookies);
        }
        let cookies = self.0.entry(name.clone()).or_default();
        let path = path_of(&request.path);
        if let Some(field) = cookies.field(HOST, path, clock::since_1970()) {
            let field = OneOrMore::One(field);
            request.headers.insert("Cookie".to_owned(), field);
        }
    }

    /// Keeps what an answer sets, and forgets what it lets expire.
    pub(crate) fn keep(&mut self, request: &Request, answer: &Answer) {
        let Some(cookies) = request
            .browser
            .as_ref()
            .and_then(|name| self.0.get_mut(name))
        else {
            return;
        };
        for line in answer.header("set-cookie") {
            cookies.keep(HOST, path_of(&request.path), line, clock::since_1970());
        }
    }
}

/// The path of a target, without its query.
fn path_of(target: &str) -> &str {
    target.split('?').next().unwrap_or(target)
}
