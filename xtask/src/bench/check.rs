//! Whether a server answers a route rightly: nothing is measured before this says so.

use std::net::SocketAddr;

use serde_json::Value;

use super::client::{Answer, Client};
use super::routes::{Exchange, Expected, Headers, Route};

/// Makes the route's requests, each twice on one connection, with a browser's headers and without.
///
/// # Errors
///
/// What is wrong with the first wrong answer.
pub(super) fn check(address: SocketAddr, route: Route) -> Result<(), String> {
    if let Some((exchange, times)) = route.prepared() {
        repeat(address, &exchange, times)
            .map_err(|fault| format!("{} {}: {fault}", exchange.method, exchange.path))?;
    }
    for exchange in route.checked() {
        for headers in [Headers::Plain, Headers::Browser] {
            attempt(address, &exchange, headers)
                .map_err(|fault| format!("{} {}: {fault}", exchange.method, exchange.path))?;
        }
    }
    Ok(())
}

/// Makes a request so many times on one connection.
fn repeat(address: SocketAddr, exchange: &Exchange, times: usize) -> Result<(), String> {
    let mut client = Client::connect(address).map_err(|error| error.to_string())?;
    for _ in 0..times {
        let answer = client
            .send(exchange.method, &exchange.path, &[], exchange.body)
            .map_err(|error| error.to_string())?;
        judge(&answer, &exchange.expected)?;
    }
    Ok(())
}

/// Sends a request twice: where the first answer is longer or shorter than it says, the second cannot be read.
fn attempt(address: SocketAddr, exchange: &Exchange, headers: Headers) -> Result<(), String> {
    let Exchange {
        method,
        path,
        body,
        expected,
    } = exchange;
    let mut client = Client::connect(address).map_err(|error| error.to_string())?;
    let mut ask = || {
        client
            .send(method, path, headers.lines(), body)
            .map_err(|error| error.to_string())
    };
    judge(&ask()?, expected)?;
    if matches!(expected, Expected::Refusal) {
        // A server may close the connection after a request that it refuses.
        return Ok(());
    }
    judge(&ask()?, expected)?;
    client.expect_silence().map_err(|error| error.to_string())
}

fn judge(answer: &Answer, expected: &Expected) -> Result<(), String> {
    if let Expected::Refusal = expected {
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
    let content_type = answer.header("content-type").unwrap_or("none");
    if content_type.split(';').next() != Some("application/json") {
        return Err(format!("content type {content_type}"));
    }
    let text = || String::from_utf8_lossy(&answer.body);
    let found: Value =
        serde_json::from_slice(&answer.body).map_err(|error| format!("{error}: {}", text()))?;
    let right = match expected {
        Expected::Json(wanted) => found == *wanted,
        Expected::JsonWith(wanted) => has_fields(&found, wanted),
        Expected::Fits(holds) => holds(&found),
        Expected::Refusal => false,
    };
    if right {
        Ok(())
    } else {
        Err(format!("wrong answer {}", text()))
    }
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
    use super::super::client::tests::serve;
    use super::*;

    fn version(answer: &'static [&'static str]) -> Result<(), String> {
        check(serve(answer), Route::Version)
    }

    #[test]
    fn a_right_answer_passes() {
        const RIGHT: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 17\r\n\r\n{\"version\":\"1.0\"}";
        assert_eq!(version(&[RIGHT, RIGHT]), Ok(()));
    }

    #[test]
    fn each_kind_of_wrong_answer_is_found() {
        let cases: [(&'static str, &str); 5] = [
            (
                "HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"version\":\"1.0\"}",
                "status 500",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 17\r\n\r\n{\"version\":\"1.0\"}",
                "content type",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"version\":\"1.1\"}",
                "wrong answer",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"version\":\"1.0\"}",
                "EOF",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}",
                "expected value",
            ),
        ];
        for (answer, fault) in cases {
            let found = version(Box::leak(Box::new([answer, answer]))).expect_err("it is wrong");
            assert!(found.contains(fault), "{found}");
        }
    }

    #[test]
    fn an_echo_that_does_not_parse_is_found() {
        let answer = Answer::plain(200);
        assert!(judge(&answer, &Expected::Refusal).is_err());
        assert_eq!(judge(&Answer::plain(400), &Expected::Refusal), Ok(()));
    }
}
