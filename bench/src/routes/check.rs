//! The check of a server's answers: nothing is measured before this says so.

use serde_json::Value;

use super::http2;
use crate::peers::target::{Protocol, Target};
use crate::routes::{ExpectedAnswer, Headers, Route, RouteExchange};
use sampan_client::Answer;

/// Makes the route's requests, each twice on one connection, with a browser's headers and without.
///
/// # Errors
///
/// The fault of the first wrong answer.
pub(crate) fn check(target: impl Into<Target>, route: Route) -> Result<(), String> {
    let target = target.into();
    if route.socket().is_some() {
        // The load looks at each message.
        return Ok(());
    }
    if target.protocol == Protocol::Http2 {
        return http2::check(target, &route.measured());
    }
    if let Some((exchange, times)) = route.prepared() {
        repeat(target, &exchange, times)
            .map_err(|fault| format!("{} {}: {fault}", exchange.method, exchange.path))?;
    }
    for exchange in route.checked() {
        for headers in [Headers::Plain, Headers::Browser] {
            attempt(target, &exchange, headers)
                .map_err(|fault| format!("{} {}: {fault}", exchange.method, exchange.path))?;
        }
    }
    Ok(())
}

/// Makes the route's requests without and with `Accept-Encoding: gzip`, which must make the answer shorter.
///
/// # Errors
///
/// The fault of the first wrong answer.
pub(crate) fn check_compressed(target: impl Into<Target>, route: Route) -> Result<(), String> {
    let target = target.into();
    let exchange = route.measured();
    attempt(target, &exchange, Headers::Plain)?;
    let mut client = target.client().map_err(|error| error.to_string())?;
    let mut ask = |headers: Headers| {
        client
            .ask(exchange.method, &exchange.path, headers.lines(), "")
            .map_err(|error| error.to_string())
    };
    let (plain, compressed) = (ask(Headers::Plain)?, ask(Headers::Gzip)?);
    if compressed.header("content-encoding") != ["gzip"] {
        return Err("not compressed".to_owned());
    }
    if compressed.status != plain.status || compressed.body.len() >= plain.body.len() {
        return Err("another answer when compressed".to_owned());
    }
    Ok(())
}

/// Makes a request so many times on one connection.
fn repeat(target: Target, exchange: &RouteExchange, times: usize) -> Result<(), String> {
    let mut client = target.client().map_err(|error| error.to_string())?;
    for _ in 0..times {
        let answer = client
            .ask(exchange.method, &exchange.path, &[], &exchange.body)
            .map_err(|error| error.to_string())?;
        judge(&answer, &exchange.expected)?;
    }
    Ok(())
}

/// Sends a request twice: where the first answer is longer or shorter than it says, the second cannot be read.
fn attempt(target: Target, exchange: &RouteExchange, headers: Headers) -> Result<(), String> {
    let RouteExchange {
        method,
        path,
        body,
        expected,
    } = exchange;
    let mut client = target.client().map_err(|error| error.to_string())?;
    // Answers are compared as they are, and some servers would compress them.
    let is_sent = |line: &&&str| !line.starts_with("Accept-Encoding");
    let lines: Vec<&str> = headers.lines().iter().filter(is_sent).copied().collect();
    let mut ask = || {
        client
            .ask(method, path, &lines, body)
            .map_err(|error| error.to_string())
    };
    judge(&ask()?, expected)?;
    if matches!(expected, ExpectedAnswer::Refusal) {
        // A server may close the connection after a request that it refuses.
        return Ok(());
    }
    judge(&ask()?, expected)?;
    match client.is_silent() {
        Ok(true) => Ok(()),
        Ok(false) => Err("bytes after the end that Content-Length announced".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn judge(answer: &Answer, expected: &ExpectedAnswer) -> Result<(), String> {
    if let ExpectedAnswer::Refusal = expected {
        let refused = (400..600).contains(&answer.status);
        return if refused {
            Ok(())
        } else {
            Err(format!("a body that is no JSON got {}", answer.status))
        };
    }
    if answer.status != 200 {
        return Err(format!("status {}", answer.status));
    }
    let content_type = answer
        .header("content-type")
        .first()
        .copied()
        .unwrap_or("none");
    let wanted = match expected {
        ExpectedAnswer::Text { .. } => "text/plain",
        ExpectedAnswer::Page(_) | ExpectedAnswer::PageWith(_) => "text/html",
        _ => "application/json",
    };
    if content_type.split(';').next() != Some(wanted) {
        return Err(format!("content type {content_type}"));
    }
    let text = || String::from_utf8_lossy(&answer.body);
    if let ExpectedAnswer::Text { body, fields } = expected {
        let lacks = |(name, value): &&(String, String)| answer.header(name) != [value.as_str()];
        return match fields.iter().find(lacks) {
            Some((name, _)) => Err(format!("header field {name}: {:?}", answer.header(name))),
            None if answer.body == body.as_bytes() => Ok(()),
            None => Err(format!("a wrong text of {} bytes", answer.body.len())),
        };
    }
    if let ExpectedAnswer::Page(page) = expected {
        return same_page(&answer.body, page);
    }
    if let ExpectedAnswer::PageWith(part) = expected {
        return match text().contains(part) {
            true => Ok(()),
            false => Err(format!("a page without {part:?}")),
        };
    }
    let found: Value =
        serde_json::from_slice(&answer.body).map_err(|error| format!("{error}: {}", text()))?;
    let right = match expected {
        ExpectedAnswer::Json(wanted) => found == *wanted,
        ExpectedAnswer::JsonWith(wanted) => has_fields(&found, wanted),
        ExpectedAnswer::Fits(holds) => holds(&found),
        ExpectedAnswer::Text { .. }
        | ExpectedAnswer::Page(_)
        | ExpectedAnswer::PageWith(_)
        | ExpectedAnswer::Refusal => false,
    };
    if right {
        Ok(())
    } else {
        Err(format!("wrong answer {}", text()))
    }
}

/// Reports whether a page is the one expected, to the byte. The error shows the first line that differs.
fn same_page(found: &[u8], expected: &str) -> Result<(), String> {
    if found == expected.as_bytes() {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found);
    let mut lines = found.split('\n').zip(expected.split('\n')).enumerate();
    let difference = lines.find(|(_, (found, expected))| found != expected);
    Err(match difference {
        Some((at, (found, expected))) => {
            format!("line {}: {found:?} instead of {expected:?}", at + 1)
        }
        None => format!("{} bytes instead of {}", found.len(), expected.len()),
    })
}

fn has_fields(found: &Value, wanted: &Value) -> bool {
    wanted.as_object().is_some_and(|fields| {
        fields
            .iter()
            .all(|(name, value)| found.get(name) == Some(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    const VERSION: &str = "{\"version\":\"1.0\"}";

    /// A server that sends the same bytes for each request.
    fn serve(answer: String) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                    if stream.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        address
    }

    fn version(status: &str, content_type: &str, length: usize, body: &str) -> Result<(), String> {
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        check(serve(answer), Route::Version)
    }

    #[test]
    fn a_right_answer_passes() {
        let right = version("200 OK", "application/json; charset=utf-8", 17, VERSION);
        assert_eq!(right, Ok(()));
    }

    #[test]
    fn each_kind_of_wrong_answer_is_found() {
        let json = "application/json";
        let wrong = VERSION.replace("1.0", "1.1");
        for (found, fault) in [
            (version("500 No", json, 17, VERSION), "status 500"),
            (version("200 OK", "text/plain", 17, VERSION), "content type"),
            (version("200 OK", json, 17, &wrong), "wrong answer"),
            (version("200 OK", json, 16, VERSION), "EOF"),
            (
                version("200 OK", json, 17, &format!("{VERSION} ")),
                "no status line",
            ),
        ] {
            let found = found.expect_err("it is wrong");
            assert!(found.contains(fault), "{found}");
        }
    }

    #[test]
    fn a_page_is_compared_to_the_byte() {
        let page = |content_type: &str, body: &str| {
            let answer = Answer {
                status: 200,
                headers: vec![("content-type".to_owned(), content_type.to_owned())],
                body: body.as_bytes().to_vec(),
                ..Answer::default()
            };
            judge(&answer, &ExpectedAnswer::Page("<p>a &amp; b</p>\n<p>c</p>"))
        };
        let html = "text/html; charset=utf-8";
        assert_eq!(page(html, "<p>a &amp; b</p>\n<p>c</p>"), Ok(()));
        for (found, fault) in [
            (
                page("text/plain", "<p>a &amp; b</p>\n<p>c</p>"),
                "content type",
            ),
            (
                page(html, "<p>a & b</p>\n<p>c</p>"),
                "line 1: \"<p>a & b</p>\" instead of",
            ),
            (
                page(html, "<p>a &amp; b</p>\n<p>c</p>\n"),
                "26 bytes instead of 25",
            ),
        ] {
            let found = found.expect_err("it is wrong");
            assert!(found.contains(fault), "{found}");
        }
    }

    #[test]
    fn an_echo_that_does_not_parse_is_found() {
        let answer = |status| Answer {
            status,
            ..Answer::default()
        };
        assert!(judge(&answer(200), &ExpectedAnswer::Refusal).is_err());
        assert_eq!(judge(&answer(400), &ExpectedAnswer::Refusal), Ok(()));
    }
}
