//! The answers about the server's health, as JSON.

use sampan_host::json;
use sampan_http::Response;
use std::sync::Arc;

/// The name of the check that fails while the server stops.
pub(super) const STOPPING: &str = "stopping";

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckResult {
    /// The name of the part.
    pub(crate) name: String,
    /// The line that says what is wrong.
    pub(crate) fault: Option<String>,
}

/// All that is known about the server.
#[derive(Clone, Debug)]
pub(crate) struct HealthReport {
    pub(crate) checks: Arc<Vec<CheckResult>>,
    /// True if the server has been told to stop.
    pub(crate) is_stopping: bool,
}

impl HealthReport {
    /// Returns the answer: 200 if all is well, else 503. Only with `has_details` it says what is wrong.
    pub(crate) fn answer(&self, has_details: bool) -> Response {
        let stopping = CheckResult {
            name: STOPPING.to_owned(),
            fault: self
                .is_stopping
                .then(|| "the server has been told to stop".to_owned()),
        };
        let checks = || self.checks.iter().chain([&stopping]);
        let is_ready = checks().all(|check| check.fault.is_none());
        let (status, word) = match is_ready {
            true => (200, "ready"),
            false => (503, "unready"),
        };
        let mut body = format!("{{\"status\":\"{word}\",\"checks\":{{").into_bytes();
        for (at, check) in checks().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            json::write_string(&mut body, check.name.as_bytes());
            match &check.fault {
                None => body.extend_from_slice(b":{\"status\":\"ok\"}"),
                Some(fault) => {
                    body.extend_from_slice(b":{\"status\":\"failed\"");
                    if has_details {
                        body.extend_from_slice(b",\"reason\":");
                        json::write_string(&mut body, fault.as_bytes());
                    }
                    body.push(b'}');
                }
            }
        }
        body.extend_from_slice(b"}}\n");
        answered(status, &body)
    }
}

/// Returns the answer to a client that asks if the process answers.
pub(crate) fn live() -> Response {
    answered(200, b"{\"status\":\"live\"}\n")
}

/// Returns the answer to other methods than GET and HEAD.
pub(crate) fn wrong_method() -> Response {
    let mut response = answered(405, b"{\"error\":\"Method Not Allowed\"}\n");
    // The value is one that a field can have.
    let _ = response.set_header(b"Allow", b"GET, HEAD");
    response
}

fn answered(status: u16, body: &[u8]) -> Response {
    let mut response = Response::new(status);
    response.content_type("application/json");
    // The value is one that a field can have.
    let _ = response.set_header(b"Cache-Control", b"no-store");
    response.body_mut().extend_from_slice(body);
    response
}
