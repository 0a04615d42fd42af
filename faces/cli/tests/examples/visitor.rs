//! A visitor of a site, who keeps cookies as a browser does.

use sampan_testkit::{Answer, Client};
use std::net::SocketAddr;

/// The type of a form's body, unless it has files.
const FORM: &str = "application/x-www-form-urlencoded";

/// A connection and its cookies.
pub(crate) struct Visitor {
    client: Client,
    cookies: Vec<(String, String)>,
}

impl Visitor {
    pub(crate) fn new(site: SocketAddr) -> Self {
        Self {
            client: Client::connect(site).expect("someone listens"),
            cookies: Vec::new(),
        }
    }

    /// The visitor at another server of the site, with the cookies of this one.
    pub(crate) fn at(&self, site: SocketAddr) -> Self {
        Self {
            cookies: self.cookies.clone(),
            ..Self::new(site)
        }
    }

    pub(crate) fn get(&mut self, path: &str, accept: &str) -> Answer {
        self.ask("GET", path, &format!("Accept: {accept}\r\n"), b"")
    }

    pub(crate) fn post(&mut self, path: &str, form: &str) -> Answer {
        self.post_as(path, FORM, form.as_bytes())
    }

    pub(crate) fn post_as(&mut self, path: &str, content_type: &str, body: &[u8]) -> Answer {
        let lines = format!(
            "Content-Type: {content_type}\r\nContent-Length: {}\r\n",
            body.len()
        );
        self.ask("POST", path, &lines, body)
    }

    /// The cookies, as a request has them in its field `Cookie`.
    pub(crate) fn cookie(&self) -> String {
        let cookies = self.cookies.iter();
        let pairs: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn ask(&mut self, method: &str, path: &str, lines: &str, body: &[u8]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}");
        if !self.cookies.is_empty() {
            request += &format!("Cookie: {}\r\n", self.cookie());
        }
        request += "\r\n";
        self.client
            .send(&[request.as_bytes(), body].concat())
            .expect("sent");
        let answer = self.client.read(false).expect("an answer");
        for cookie in answer.header("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').expect("a name and a value");
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
        answer
    }
}

/// Returns the parts that must be equal in both languages: the status, how to read the body, where to go, and the body
/// but for the request's id.
pub(crate) fn compared(answer: &Answer) -> String {
    let fields: Vec<String> = ["content-type", "location", "vary"]
        .into_iter()
        .map(|name| format!("{name}: {:?}", answer.header(name)))
        .collect();
    let mut body = answer.text();
    for id in answer.header("x-request-id") {
        body = body.replace(id, "ID");
    }
    format!("{}\n{}\n\n{body}", answer.status, fields.join("\n"))
}
