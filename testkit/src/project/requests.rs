//! The requests of tests: from a path and options to bytes, and from an answer to what a test gets.

use super::html::{PAGE, Page};
use super::limits::JSON_DEPTH_MAX;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use sampan_host::json::{Tape, write_value};
use sampan_host::{Error, Objects, Value, refusals};
use sampan_http::DirectAnswer;
use std::fmt::Write;

/// The options of a request.
const OPTIONS: [&str; 6] = ["headers", "query", "json", "form", "body", "browser"];

/// The keys of a file in a form.
const FILE_KEYS: [&str; 3] = ["content", "filename", "type"];

/// The options of a WebSocket's handshake.
const SOCKET_OPTIONS: [&str; 4] = ["headers", "query", "browser", "protocols"];

/// The fields of a handshake (RFC 6455 section 4.1), where a test has none of that name.
const HANDSHAKE: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// The characters that stay unencoded in a path or query as it is, though it would have to be encoded.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'#');

/// Separates the parts of a form with files. Nothing that a test sends has it by chance.
const BOUNDARY: &str = "sampan-test-boundary-5b1f9c27";

/// A request of a test.
#[derive(Debug, Default)]
pub(super) struct TestRequest {
    method: String,
    target: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    /// The browser whose cookies it has.
    pub(super) browser: String,
}

impl TestRequest {
    /// The request with this method and path (or URL), and these options.
    ///
    /// # Errors
    /// An option that does not exist, or that is not what it should be.
    pub(super) fn new(method: &str, path: &str, options: Value) -> Result<Self, Error> {
        let (host, path) = split(path)?;
        let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !is_method {
            return Err(Error::script(format!("{method:?} is no method")));
        }
        let mut request = Self {
            method: method.to_ascii_uppercase(),
            target: utf8_percent_encode(path, ENCODED).to_string(),
            host,
            ..Self::default()
        };
        let members = match options {
            Value::Map(members) => members,
            _ => Vec::new(),
        };
        for (name, value) in members {
            match (name.as_str(), value) {
                ("headers", Value::Map(fields)) => request.add_fields(fields)?,
                ("query", Value::Map(members)) => request.add_query(&encoded(&members)?),
                ("json", value) => {
                    let mut body = Vec::new();
                    write_value(&mut body, &value, JSON_DEPTH_MAX)?;
                    request.set_body(body, "application/json")?;
                }
                ("form", Value::Map(members)) => request.set_form(&members)?,
                ("body", Value::Text(text)) => {
                    request.set_body(text.into_bytes(), "text/plain; charset=utf-8")?;
                }
                ("body", Value::Bytes(bytes)) => {
                    request.set_body(bytes, "application/octet-stream")?;
                }
                ("browser", Value::Text(name)) => request.browser = name,
                (known, value) if OPTIONS.contains(&known) => {
                    let wanted = match known {
                        "body" | "browser" => "text",
                        _ => "a map of names and values",
                    };
                    let found = value.type_name();
                    let text = format!("the option {known} must be {wanted}, not {found}");
                    return Err(Error::script(text));
                }
                (unknown, _) => return Err(refusals::unknown_option(unknown, &OPTIONS)),
            }
        }
        Ok(request)
    }

    /// The handshake of a WebSocket with this path (or URL), and these options.
    ///
    /// # Errors
    /// As [`TestRequest::new`].
    pub(super) fn handshake(path: &str, options: Value) -> Result<Self, Error> {
        let mut members = match options {
            Value::Map(members) => members,
            _ => Vec::new(),
        };
        let mut protocols = Vec::new();
        for (name, value) in &members {
            match (name.as_str(), value) {
                ("protocols", Value::Text(text)) => protocols.push(text.clone()),
                ("protocols", Value::List(names)) => {
                    protocols.extend(names.iter().filter_map(text_of))
                }
                ("protocols", other) => {
                    let found = other.type_name();
                    let text = format!(
                        "the option protocols must be a text or a list of texts, not {found}"
                    );
                    return Err(Error::script(text));
                }
                (known, _) if SOCKET_OPTIONS.contains(&known) => {}
                (unknown, _) => return Err(refusals::unknown_option(unknown, &SOCKET_OPTIONS)),
            }
        }
        members.retain(|(name, _)| name != "protocols");
        let mut request = Self::new("GET", path, Value::Map(members))?;
        if !protocols.is_empty() {
            let field = (
                "sec-websocket-protocol".to_owned(),
                Value::Text(protocols.join(", ")),
            );
            request.add_fields(vec![field])?;
        }
        for (name, value) in HANDSHAKE {
            let is_own = |(own, _): &(String, String)| own.eq_ignore_ascii_case(name);
            if !request.headers.iter().any(is_own) {
                request.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(request)
    }

    fn add_fields(&mut self, fields: Vec<(String, Value)>) -> Result<(), Error> {
        for (name, value) in fields {
            let is_name = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !b":()<>@,;\\\"/[]?={}".contains(&byte));
            if !is_name {
                return Err(refusals::header_name(&name));
            }
            let values = match value {
                Value::List(values) => values,
                value => vec![value],
            };
            for value in values {
                let value = text_of(&value).filter(|text| !text.contains(['\r', '\n', '\0']));
                let value = value.ok_or_else(|| refusals::header_value(&name))?;
                self.headers.push((name.clone(), value));
            }
        }
        Ok(())
    }

    fn add_query(&mut self, query: &str) {
        self.target
            .push(if self.target.contains('?') { '&' } else { '?' });
        self.target.push_str(query);
    }

    fn set_body(&mut self, body: Vec<u8>, content_type: &str) -> Result<(), Error> {
        if self.body.is_some() {
            let text = "only one of json, form and body can be sent";
            return Err(Error::script(text));
        }
        self.body = Some(body);
        // Before the test's own, which come later or replace it when the bytes are made.
        self.headers
            .insert(0, ("content-type".to_owned(), content_type.to_owned()));
        Ok(())
    }

    fn set_form(&mut self, members: &[(String, Value)]) -> Result<(), Error> {
        let is_file = |value: &Value| value.get("content").is_some();
        let fields = || members.iter().flat_map(|(name, value)| each(name, value));
        for (name, value) in fields() {
            check_file(name, value)?;
        }
        if !fields().any(|(_, value)| is_file(value)) {
            let body = encoded(members)?.into_bytes();
            return self.set_body(body, "application/x-www-form-urlencoded");
        }
        let mut body = Vec::new();
        for (name, value) in fields() {
            let content = value.get("content").unwrap_or(value);
            let mut head = format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"",
                quoted(name)
            );
            if is_file(value) {
                let member = |key: &str, default: &str| {
                    value
                        .get(key)
                        .and_then(text_of)
                        .unwrap_or_else(|| default.to_owned())
                };
                let (filename, content_type) = (
                    member("filename", "file"),
                    member("type", "application/octet-stream"),
                );
                let _ = write!(
                    head,
                    "; filename=\"{}\"\r\nContent-Type: {}",
                    quoted(&filename),
                    quoted(&content_type)
                );
            }
            body.extend_from_slice(format!("{head}\r\n\r\n").as_bytes());
            match content {
                Value::Bytes(bytes) => body.extend_from_slice(bytes),
                other => {
                    let text = text_of(other).ok_or_else(|| no_field(name))?;
                    body.extend_from_slice(text.as_bytes());
                }
            }
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        self.set_body(body, &format!("multipart/form-data; boundary={BOUNDARY}"))
    }

    /// The bytes of the request, with these cookies.
    pub(super) fn bytes(&self, cookies: Option<String>) -> Vec<u8> {
        let has = |name: &str| {
            self.headers
                .iter()
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .count()
        };
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if has("host") == 0 {
            let _ = write!(head, "Host: {}\r\n", self.authority());
        }
        if let Some(cookies) = cookies.filter(|_| has("cookie") == 0) {
            let _ = write!(head, "Cookie: {cookies}\r\n");
        }
        let own_type = has("content-type") > 1;
        for (at, (name, value)) in self.headers.iter().enumerate() {
            let is_default = at == 0 && self.body.is_some();
            let is_replaced = is_default && own_type;
            if is_replaced || name.eq_ignore_ascii_case("content-length") {
                continue;
            }
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// The host and its port, as the request names them.
    pub(super) fn authority(&self) -> &str {
        let is_host = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("host");
        let field = self.headers.iter().find(is_host);
        let field = field.map(|(_, value)| value.as_str());
        field.or(self.host.as_deref()).unwrap_or("localhost")
    }

    /// The path, without the query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or(&self.target)
    }

    /// The request in a few words.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    /// Returns a note about an answer that is an error, or that could have a body and has none.
    pub(super) fn note_on(&self, answer: &DirectAnswer) -> Option<String> {
        let may_have = self.method != "HEAD" && answer.status >= 200 && !answer.is_cut;
        let has_none = may_have && answer.body.is_empty();
        let why = match (has_none, answer.status) {
            (true, 204) => " and no body, as a handler that returns nothing does",
            (true, _) => " and no body",
            (false, 400..) => "",
            (false, _) => return None,
        };
        let (title, status) = (self.title(), answer.status);
        Some(format!("{title} answered with status {status}{why}"))
    }
}

/// The host of a URL, and the path and query of it or of a path.
fn split(path: &str) -> Result<(Option<String>, &str), Error> {
    if path.starts_with('/') {
        return Ok((None, path));
    }
    let rest = ["http://", "https://", "ws://", "wss://"]
        .iter()
        .find_map(|scheme| path.strip_prefix(scheme));
    let Some(rest) = rest else {
        let text = format!("the path must begin with '/', not {path:?}");
        return Err(Error::script(text));
    };
    let at = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(at);
    if host.is_empty() || host.contains(|one: char| one.is_control() || one == ' ') {
        return Err(Error::script(format!("{rest:?} has no host")));
    }
    Ok((
        Some(host.to_owned()),
        if path.is_empty() { "/" } else { path },
    ))
}

/// A value of a form, a query or a header field as text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

fn no_field(name: &str) -> Error {
    Error::script(format!(
        "{name:?} must be a text, a number, a boolean, or a list of them"
    ))
}

/// Checks the keys of a file in a form. Other values are right.
fn check_file(name: &str, value: &Value) -> Result<(), Error> {
    let Value::Map(members) = value else {
        return Ok(());
    };
    let mut keys = members.iter().map(|(key, _)| key.as_str());
    let unknown = keys.find(|key| !FILE_KEYS.contains(key));
    if value.get("content").is_some() && unknown.is_none() {
        return Ok(());
    }
    let fault = match unknown {
        Some(key) => refusals::unknown_option(key, &FILE_KEYS)
            .message()
            .to_owned(),
        None => "it has no content".to_owned(),
    };
    Err(Error::script(format!(
        "the file {name:?} of the form: {fault}; a file has content, and may have filename and type"
    )))
}

fn encoded(members: &[(String, Value)]) -> Result<String, Error> {
    let mut out = form_urlencoded::Serializer::new(String::new());
    for (name, value) in members.iter().flat_map(|(name, value)| each(name, value)) {
        out.append_pair(name, &text_of(value).ok_or_else(|| no_field(name))?);
    }
    Ok(out.finish())
}

/// The fields of a name: one for each item of a list.
fn each<'a>(name: &'a str, value: &'a Value) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let values = match value {
        Value::List(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    values.iter().map(move |value| (name, value))
}

/// Quotes the name of a part as browsers write it: HTML, section 4.10.21.8.
fn quoted(text: &str) -> String {
    text.replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace('"', "%22")
}

/// Returns a test's view of an answer.
///
/// # Errors
/// Its body ended early, or it is called JSON and is none.
pub(super) fn answered(
    objects: &Objects,
    request: &TestRequest,
    answer: DirectAnswer,
) -> Result<Value, Error> {
    let title = request.title();
    if answer.is_cut {
        let text = format!("{title}: the answer ended early: the source of its body failed");
        return Err(Error::script(text));
    }
    let mut headers: Vec<(String, Value)> = Vec::new();
    let mut content_type = String::new();
    for (name, value) in &answer.headers {
        let name = name.to_ascii_lowercase();
        let value = String::from_utf8_lossy(value).into_owned();
        if name == "content-type" {
            content_type = value.to_ascii_lowercase();
        }
        let value = Value::Text(value);
        match headers.iter_mut().find(|(known, _)| *known == name) {
            None => headers.push((name, value)),
            Some((_, Value::List(values))) => values.push(value),
            Some((_, first)) => *first = Value::List(vec![std::mem::take(first), value]),
        }
    }
    let is_json = content_type.split(';').next().is_some_and(|kind| {
        let kind = kind.trim();
        kind.ends_with("/json") || kind.ends_with("+json")
    });
    let is_html = content_type.starts_with("text/html");
    let has_body = !answer.body.is_empty();
    let (mut json, mut html) = (Value::Null, Value::Null);
    if is_json && has_body {
        let mut tape = Tape::default();
        tape.read(&answer.body, JSON_DEPTH_MAX)
            .map_err(|error| Error::script(format!("{title}: the answer: {error}")))?;
        json = tape.value(&answer.body);
    }
    let body = match String::from_utf8(answer.body) {
        Ok(text) => {
            if is_html {
                let page = objects.add(&PAGE, Page::new(text.clone()));
                html = Value::Object(page);
            }
            Value::Text(text)
        }
        Err(error) => Value::Bytes(error.into_bytes()),
    };
    Ok(Value::Map(vec![
        ("status".into(), Value::Int(answer.status.into())),
        ("headers".into(), Value::Map(headers)),
        ("body".into(), body),
        ("json".into(), json),
        ("html".into(), html),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(members: &[(&str, Value)]) -> Value {
        let owned = members.iter();
        Value::Map(
            owned
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
        )
    }

    fn sent(method: &str, path: &str, options: &[(&str, Value)]) -> Result<String, String> {
        let request = TestRequest::new(method, path, map(options));
        let request = request.map_err(|error| error.message().to_owned())?;
        Ok(String::from_utf8(request.bytes(Some("a=1".into()))).expect("UTF-8"))
    }

    #[test]
    fn options_become_bytes() {
        let text = sent(
            "get",
            "/a b?x=é",
            &[("query", map(&[("y", Value::Int(2))]))],
        );
        let expected = "GET /a%20b?x=%C3%A9&y=2 HTTP/1.1\r\nHost: localhost\r\nCookie: a=1\r\n\r\n";
        assert_eq!(text.expect("sent"), expected);
        let json = ("json", map(&[("a", Value::List(vec![Value::Null]))]));
        let own = ("headers", map(&[("Content-Type", "x/json".into())]));
        let text = sent("POST", "http://h:1", &[json.clone(), own]).expect("sent");
        assert!(
            text.starts_with("POST / HTTP/1.1\r\nHost: h:1\r\n"),
            "{text}"
        );
        assert!(
            text.contains("\r\nContent-Type: x/json\r\nContent-Length: 12\r\n"),
            "{text}"
        );
        assert!(
            !text.contains("application/json") && text.ends_with("{\"a\":[null]}"),
            "{text}"
        );
        let file = map(&[
            ("content", Value::Bytes(vec![65])),
            ("filename", "a\".txt".into()),
        ]);
        let text = sent(
            "POST",
            "/",
            &[("form", map(&[("n", "1".into()), ("f", file)]))],
        )
        .expect("sent");
        assert!(
            text.contains("name=\"f\"; filename=\"a%22.txt\"\r\n"),
            "{text}"
        );
    }

    #[test]
    fn lists_in_forms_with_files_are_parts_of_one_name() {
        let file = |name: &str| map(&[("content", "x".into()), ("filename", name.into())]);
        let tags = Value::List(vec!["a".into(), Value::Int(2)]);
        let files = Value::List(vec![file("1.txt"), file("2.txt")]);
        let form = ("form", map(&[("tags", tags), ("f", files)]));
        let text = sent("POST", "/", &[form]).expect("sent");
        let parts: Vec<&str> = text.split(BOUNDARY).skip(2).collect();
        for (part, expected) in parts.iter().zip([
            "name=\"tags\"\r\n\r\na\r\n",
            "name=\"tags\"\r\n\r\n2\r\n",
            "name=\"f\"; filename=\"1.txt\"",
            "name=\"f\"; filename=\"2.txt\"",
        ]) {
            assert!(part.contains(expected), "{part}");
        }
        assert_eq!(parts.len(), 5, "{text}");
    }

    #[test]
    fn wrong_options_are_refused() {
        let text = |options: &[(&str, Value)]| sent("GET", "/", options).expect_err("refused");
        assert!(text(&[("jsn", Value::Null)]).contains("unknown option 'jsn'"));
        assert!(text(&[("form", "x".into())]).contains("the option form must be a map"));
        let both = [("json", Value::Null), ("body", "x".into())];
        assert!(text(&both).contains("only one of"));
        let split = map(&[("X", "a\r\nB: c".into())]);
        assert!(text(&[("headers", split)]).contains("invalid value for header"));
        assert!(sent("GET", "about", &[]).is_err() && sent("G T", "/", &[]).is_err());
    }
}
