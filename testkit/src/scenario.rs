//! The requests and expectations of a case: the shape of `expect.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One `expect.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// Expect that the project does not load, with an error that contains this text.
    pub load_error: Option<String>,
    /// The configuration of the project, as `sampan.toml` would have it. One worker and no slow lane unless it says
    /// otherwise.
    pub config: toml::Table,
    /// Servers beside the app, which its scripts send requests to.
    pub upstream: Vec<Upstream>,
    /// True if requests name the server by its address in `host`, so that scripts can send requests to the app itself.
    pub names_address: bool,
    /// The requests, in their order, all on one connection for as long as the server keeps it.
    pub request: Vec<Request>,
}

/// A server beside the app. Requests of the case have its address in the field `x-` and its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The name.
    pub name: String,
    /// All bytes that it sends once the head of a request is there.
    pub answer: String,
    /// Bytes that it sends again and again behind those, until the client closes the connection.
    #[serde(default)]
    pub endless: String,
    /// True if it leaves the connection open behind its answer.
    #[serde(default)]
    pub stalls: bool,
}

/// One request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The name in a report; its method and path unless given.
    pub name: String,
    /// The method; GET unless given, or POST with a body.
    pub method: Option<String>,
    /// The target.
    pub path: String,
    /// Header fields; a list sends the field once for each.
    pub headers: BTreeMap<String, OneOrMore>,
    /// The browser that sends it: one that keeps cookies by this name, and sends those that it has.
    pub browser: Option<String>,
    /// Copies the cookies of this browser into its own first: someone has stolen them, or planted them.
    pub cookies_of: Option<String>,
    /// The body, as text.
    pub body: Option<String>,
    /// The body as so many times the letter `x`.
    pub body_bytes: Option<usize>,
    /// The body as JSON text, sent with its content type.
    pub json: Option<String>,
    /// All bytes to send, head and body, instead of the above.
    pub raw: Option<String>,
    /// The steps of a WebSocket that is opened at `path`: `"> text"` sends, `"< text"` receives.
    /// `testkit/src/sockets.rs` has the table.
    pub socket: Vec<String>,
    /// Send it so many times, one after the other.
    pub repeat: Option<usize>,
    /// Send it so many times at once, each on its own connection.
    pub parallel: Option<usize>,
    /// Send it on its own connection and go on without waiting; the answer is compared at the end.
    pub background: bool,
    /// Close the connection after so many milliseconds without reading an answer.
    pub abort_after_millis: Option<u64>,
    /// Wait so many milliseconds before it.
    pub after_millis: u64,
    /// Send it when all requests in the background have been answered.
    pub after_background: bool,
    /// Send it again and again until the answer is the one that is expected: it shows the end of something else.
    pub eventually: bool,
    /// The answer, all repetitions included, must come before those of the requests in the background.
    pub ahead: bool,
    /// The answer must not come before so many milliseconds. There is no upper bound: the machine may be busy.
    pub not_before_millis: Option<u64>,
    /// The conditions for the answer.
    pub expect: Expectation,
}

/// The conditions for an answer; what is left out is not compared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// The status.
    pub status: Option<u16>,
    /// One of these statuses.
    pub status_in: Vec<u16>,
    /// These fields with these values; a list for a field that comes more than once.
    pub headers: BTreeMap<String, OneOrMore>,
    /// Fields that must be there, with any value.
    pub header_present: Vec<String>,
    /// Fields that must not be there.
    pub header_absent: Vec<String>,
    /// The body as JSON, compared by value. Bodies are compared as they were before compression.
    pub json: Option<String>,
    /// The body, byte for byte.
    pub text: Option<String>,
    /// Parts of the body.
    pub body_contains: Vec<String>,
    /// Texts that must not be in the body.
    pub body_absent: Vec<String>,
    /// The length of the body.
    pub body_bytes: Option<usize>,
    /// The server must cut the connection in the middle of the answer.
    pub cut: bool,
    /// The server must close the connection after the answer.
    pub close: bool,
    /// Texts that the log must contain by then.
    pub log_contains: Vec<String>,
    /// Texts that the log must contain exactly once by then.
    pub log_once: Vec<String>,
    /// Texts that the log must not contain.
    pub log_absent: Vec<String>,
    /// The expectation under Lua instead, field by field.
    pub lua: Option<Box<Expectation>>,
    /// The expectation under JavaScript instead, field by field.
    pub js: Option<Box<Expectation>>,
    /// The expectation on PostgreSQL instead of those of the languages, field by field. It may have such of its own.
    pub postgres: Option<Box<Expectation>>,
}

/// A text, or a list of texts.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    pub fn all(&self) -> Vec<&str> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts.iter().map(String::as_str).collect(),
        }
    }
}

impl Scenario {
    /// Reports whether the configuration has a key.
    pub(crate) fn says(&self, section: &str, key: &str) -> bool {
        let section = self.config.get(section);
        section.and_then(|section| section.get(key)).is_some()
    }

    /// Leaves requests out, by their names.
    ///
    /// # Errors
    /// There is no request of such a name.
    pub(crate) fn leave_out(&mut self, names: &[&str]) -> Result<(), String> {
        for name in names {
            let count = self.request.len();
            self.request.retain(|request| request.title() != *name);
            if self.request.len() == count {
                return Err(format!("the case has no request named {name:?}"));
            }
        }
        Ok(())
    }

    /// Reads the text of an `expect.toml`.
    ///
    /// # Errors
    /// The fault, with its line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if scenario.load_error.is_none() && scenario.request.is_empty() {
            return Err(
                "neither a [[request]] nor a load_error: the case would expect nothing".into(),
            );
        }
        for request in &scenario.request {
            let expects = request.expect != Expectation::default()
                || request.abort_after_millis.is_some()
                || !request.socket.is_empty();
            if !expects {
                return Err(format!("the request {} expects nothing", request.title()));
            }
            let wanted = request
                .expect
                .json
                .as_deref()
                .map(serde_json::from_str::<serde_json::Value>);
            if let Some(Err(error)) = wanted {
                return Err(format!("expect.json of {}: {error}", request.title()));
            }
        }
        Ok(scenario)
    }
}

impl Request {
    /// The method that is sent.
    pub fn method(&self) -> &str {
        let has_body = self.body.is_some() || self.json.is_some() || self.body_bytes.is_some();
        self.method
            .as_deref()
            .unwrap_or(if has_body { "POST" } else { "GET" })
    }

    /// The body that is sent.
    pub fn body_to_send(&self) -> Option<Vec<u8>> {
        match (&self.body, &self.json, self.body_bytes) {
            (Some(text), _, _) | (None, Some(text), _) => Some(text.as_bytes().to_vec()),
            (None, None, Some(length)) => Some(vec![b'x'; length]),
            (None, None, None) => None,
        }
    }

    /// The field lines that are sent: those of the case, and those that it leaves to the runner.
    pub fn fields_to_send(&self) -> Vec<(String, String)> {
        let has = |name: &str| {
            self.headers
                .keys()
                .any(|key| key.eq_ignore_ascii_case(name))
        };
        let mut fields = Vec::new();
        let mut add = |name: &str, value: &str| fields.push((name.to_owned(), value.to_owned()));
        if !has("host") {
            add("Host", "localhost");
        }
        for (name, values) in &self.headers {
            for value in values.all() {
                add(name, value);
            }
        }
        if self.json.is_some() && !has("content-type") {
            add("Content-Type", "application/json");
        }
        if let Some(body) = self.body_to_send() {
            add("Content-Length", &body.len().to_string());
        }
        fields
    }

    /// Returns the name of the request in a report.
    pub fn title(&self) -> String {
        match (self.name.as_str(), &self.raw) {
            ("", None) => format!("{} {}", self.method(), self.path),
            ("", Some(raw)) => format!("{:?}", raw.lines().next().unwrap_or_default()),
            (name, _) => name.to_owned(),
        }
    }
}

impl PartialEq for Expectation {
    /// Compares what they say; enough to tell an empty one.
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl Expectation {
    /// Returns the expectation under one language, or on one database: the common part, with the own fields in place.
    pub fn resolved(&self, own: Option<&Self>) -> Self {
        let Some(own) = own else { return self.clone() };
        let list = |own: &Vec<String>, common: &Vec<String>| {
            if own.is_empty() {
                common.clone()
            } else {
                own.clone()
            }
        };
        // An override of the body's form replaces the common form of any kind.
        let body_is_own = own.json.is_some() || own.text.is_some();
        Self {
            status: own.status.or(self.status),
            status_in: if own.status_in.is_empty() {
                self.status_in.clone()
            } else {
                own.status_in.clone()
            },
            headers: if own.headers.is_empty() {
                self.headers.clone()
            } else {
                own.headers.clone()
            },
            header_present: list(&own.header_present, &self.header_present),
            header_absent: list(&own.header_absent, &self.header_absent),
            json: if body_is_own {
                own.json.clone()
            } else {
                self.json.clone()
            },
            text: if body_is_own {
                own.text.clone()
            } else {
                self.text.clone()
            },
            body_contains: list(&own.body_contains, &self.body_contains),
            body_absent: list(&own.body_absent, &self.body_absent),
            body_bytes: own.body_bytes.or(self.body_bytes),
            cut: own.cut || self.cut,
            close: own.close || self.close,
            log_contains: list(&own.log_contains, &self.log_contains),
            log_once: list(&own.log_once, &self.log_once),
            log_absent: list(&own.log_absent, &self.log_absent),
            lua: None,
            js: None,
            postgres: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_expects_nothing_is_refused() {
        for (text, part) in [
            ("", "expect nothing"),
            ("[[request]]\npath = \"/\"", "GET / expects nothing"),
            (
                "[[request]]\npath = \"/\"\n[request.expect]\njson = '{'",
                "expect.json",
            ),
            ("[[request]]\npaht = \"/\"", "paht"),
        ] {
            let error = Scenario::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_language_replaces_field_by_field() {
        let text = "[[request]]\npath = \"/\"\n[request.expect]\nstatus = 200\njson = '1'\n[request.expect.js]\ntext \
         = \"x\"";
        let scenario = Scenario::parse(text).expect("valid");
        let expect = &scenario.request[0].expect;
        let js = expect.resolved(expect.js.as_deref());
        assert_eq!(
            (js.status, js.json, js.text.as_deref()),
            (Some(200), None, Some("x"))
        );
        let lua = expect.resolved(expect.lua.as_deref());
        assert_eq!((lua.json.as_deref(), lua.text), (Some("1"), None));
    }
}
