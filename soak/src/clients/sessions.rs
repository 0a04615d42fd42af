//! Browsers that share one connection, each with a session. Each finds its own name, and the number that it wrote last.

use super::client::Client;
use crate::visitor::{Request, Told};
use sampan_testkit::Answer;

const BROWSERS: usize = 12;

#[derive(Default)]
struct Browser {
    name: String,
    cookie: Option<String>,
    /// The number that was acknowledged or found last; 0 before the first.
    known: u64,
    /// The numbers whose write has no answer.
    maybe: Vec<u64>,
}

/// Writes and reads sessions until the end.
pub(super) fn work(mut client: Client) {
    let mut browsers: Vec<Browser> = (0..BROWSERS)
        .map(|number| Browser {
            name: format!("browser-{number}"),
            ..Browser::default()
        })
        .collect();
    let mut next = 1;
    while !client.has_ended() {
        let at = client.random.between(0, BROWSERS as u64 - 1) as usize;
        if client.random.one_in(3) {
            write(&mut client, &mut browsers[at], next);
            next += 1;
        } else {
            read(&mut client, &mut browsers[at]);
        }
        client.pause(10);
    }
    for browser in &mut browsers {
        read(&mut client, browser);
    }
}

impl Browser {
    fn request(&self, method: &str, path: &str) -> Request {
        let cookie = self.cookie.as_ref().map(|pair| format!("Cookie: {pair}"));
        let lines: Vec<&str> = cookie.as_deref().into_iter().collect();
        Request::new(method, path, &lines, b"")
    }

    fn keep_cookie(&mut self, answer: &Answer) {
        for cookie in answer.header("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            self.cookie = Some(pair.to_owned());
        }
    }
}

fn write(client: &mut Client, browser: &mut Browser, number: u64) {
    let path = format!("/session/{}/{number}", browser.name);
    let request = browser.request("POST", &path);
    let wanted = format!(r#"{{"name":"{}","number":{number}}}"#, browser.name);
    match client.visitor.expect(&request, &wanted) {
        Told::Answer(answer) => {
            browser.keep_cookie(&answer);
            (browser.known, browser.maybe) = (number, Vec::new());
        }
        Told::Refused | Told::Cut => browser.maybe.push(number),
    }
}

fn read(client: &mut Client, browser: &mut Browser) {
    let path = client
        .random
        .one_of(&["/session", "/session", "/session/slow"]);
    let request = browser.request("GET", path);
    let Told::Answer(answer) = client.visitor.ask(&request) else {
        return;
    };
    browser.keep_cookie(&answer);
    let found: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
    let name = found.as_ref().and_then(|found| found["name"].as_str());
    let number = found.as_ref().and_then(|found| found["number"].as_u64());
    let is_known = number == Some(browser.known) && browser.known > 0;
    let is_right = match (name, number) {
        (Some(""), Some(0)) => browser.known == 0,
        (Some(name), Some(number)) => {
            name == browser.name && (is_known || browser.maybe.contains(&number))
        }
        _ => false,
    };
    if answer.status != 200 || !is_right {
        let (name, known, maybe) = (&browser.name, browser.known, &browser.maybe);
        let wanted = format!("the session of {name} with {known} or one of {maybe:?}");
        client.visitor.wrong(&request, &answer, &wanted);
    } else if let Some(number) = number {
        (browser.known, browser.maybe) = (number, Vec::new());
    }
}
