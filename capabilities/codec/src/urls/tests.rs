//! Addresses and queries: their parts, and what is refused.

use super::*;
use crate::MODULE;

fn call(name: &str, argument: Value) -> Result<Value, String> {
    let row = MODULE.functions.iter().find(|row| row.name == name);
    let args = Args::check("codec", row.expect("a row"), vec![argument]).expect("its type");
    let body = match name {
        "url_parse" => parse,
        "url_build" => build,
        "query_parse" => query_parse,
        _ => query_build,
    };
    body(args).map_err(|error| error.message().to_owned())
}

fn map(members: &[(&str, Value)]) -> Value {
    let members = members.iter();
    Value::Map(
        members
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    )
}

/// The parts of a URL as a script gives them back.
fn parts_of(text: &str) -> Option<Value> {
    let Value::Row(row) = call("url_parse", text.into()).expect("parsing has no errors") else {
        return None;
    };
    let value = |at| match row.cell(0, at) {
        Cell::Text(text) => Value::from(text),
        Cell::Int(port) => Value::Int(port),
        _ => Value::Null,
    };
    let names = row.columns().iter().cloned();
    Some(Value::Map(names.zip((0..).map(value)).collect()))
}

/// The parts as one text each, `-` for those that are not there.
fn shown(parts: Value) -> Vec<String> {
    let shown = |(_, value): (String, Value)| match value {
        Value::Text(text) => text,
        Value::Int(port) => port.to_string(),
        _ => "-".to_owned(),
    };
    members(parts).into_iter().map(shown).collect()
}

#[test]
fn urls_have_parts() {
    for (text, expected) in [
        (
            "HTTPS://us%40er:p%2Fw@EXAMPLE.org:8443/a%20b/../c?x=1&y=%20#top",
            [
                "https",
                "us@er",
                "p/w",
                "example.org",
                "8443",
                "/c",
                "x=1&y=%20",
                "top",
            ],
        ),
        (
            "http://[2001:DB8::1]",
            ["http", "-", "-", "2001:db8::1", "80", "/", "-", "-"],
        ),
        (
            "https://bücher.example/?",
            [
                "https",
                "-",
                "-",
                "xn--bcher-kva.example",
                "443",
                "/",
                "",
                "-",
            ],
        ),
        (
            "postgres://ann@db/app",
            ["postgres", "ann", "-", "db", "-", "/app", "-", "-"],
        ),
        (
            "mailto:ann@example.org",
            ["mailto", "-", "-", "-", "-", "ann@example.org", "-", "-"],
        ),
    ] {
        let expected = expected.map(str::to_owned).to_vec();
        assert_eq!(parts_of(text).map(shown), Some(expected), "{text}");
    }
    let long = format!("https://example.org/{}", "x".repeat(URL_BYTES_MAX));
    for wrong in [
        "",
        "/path",
        "example.org",
        "https://",
        "http://a b/",
        "http://x:99999/",
        &long,
    ] {
        assert_eq!(parts_of(wrong), None, "{wrong:.60}");
    }
}

#[test]
fn a_url_that_is_built_of_its_parts_is_the_same() {
    for text in [
        "https://us%40er:p%2Fw%25@example.org:8443/a%20b?x=1&y=%20#top",
        "http://[2001:db8::1]/",
        "https://xn--bcher-kva.example/?",
        "postgres://ann@db/app",
        "postgres://db",
        "ws://192.0.2.1:81/",
    ] {
        let parts = parts_of(text).expect("a URL");
        assert_eq!(call("url_build", parts), Ok(text.into()), "{text}");
    }
}

#[test]
fn no_part_of_a_url_reaches_into_the_next() {
    let built = |more: &[(&str, Value)]| {
        let mut parts = vec![("scheme", "https".into()), ("host", "example.org".into())];
        parts.extend_from_slice(more);
        call("url_build", map(&parts))
    };
    let text = |name, text: &str| built(&[(name, text.into())]);
    assert_eq!(
        text("path", "a?b#c"),
        Ok("https://example.org/a%3Fb%23c".into())
    );
    assert_eq!(
        text("path", "//evil/x"),
        Ok("https://example.org//evil/x".into())
    );
    assert_eq!(
        text("path", "a\nb\tc"),
        Ok("https://example.org/a%0Ab%09c".into())
    );
    assert_eq!(
        text("query", "a\rb"),
        Ok("https://example.org/?a%0Db".into())
    );
    assert_eq!(
        text("fragment", "a\nb"),
        Ok("https://example.org/#a%0Ab".into())
    );
    assert_eq!(
        text("query", "a=b#c"),
        Ok("https://example.org/?a=b%23c".into())
    );
    assert_eq!(
        text("username", "a:b@c/d"),
        Ok("https://a%3Ab%40c%2Fd@example.org/".into())
    );
    let other = map(&[
        ("scheme", "x".into()),
        ("host", "db".into()),
        ("path", "?a#b".into()),
    ]);
    assert_eq!(call("url_build", other), Ok("x://db/%3Fa%23b".into()));
    assert_eq!(
        built(&[("port", 443_i64.into())]),
        Ok("https://example.org/".into())
    );
    for host in [
        "evil/", "a@b", "a:1", "a?b", "a#b", "a\\b", "", "a b", "a\n", "[::1", "%2f",
    ] {
        let parts = map(&[("scheme", "https".into()), ("host", host.into())]);
        let error = call("url_build", parts).expect_err(host);
        assert!(error.contains("is not a host"), "{error}");
    }
    for scheme in ["https://x", "", "1a", "a b", "https:"] {
        let parts = map(&[("scheme", scheme.into()), ("host", "h".into())]);
        let error = call("url_build", parts).expect_err(scheme);
        assert!(error.contains("is not a scheme"), "{error}");
    }
}

#[test]
fn wrong_parts_are_errors() {
    let base = [("scheme", Value::from("https")), ("host", "h".into())];
    for (name, value, expected) in [
        (
            "port",
            65_536_i64.into(),
            "port must be a whole number from 0 to 65535",
        ),
        ("path", 1_i64.into(), "path must be a string"),
        (
            "hash",
            "x".into(),
            "unknown option 'hash'; the options are scheme",
        ),
    ] {
        let [scheme, host] = base.clone();
        let error = call("url_build", map(&[scheme, host, (name, value)])).expect_err(name);
        assert!(error.starts_with(expected), "{error}");
    }
    let error = call("url_build", map(&base[..1])).expect_err("no host");
    assert!(error.starts_with("a URL needs scheme and host"), "{error}");
    let file = [
        ("scheme", "file".into()),
        ("host", "h".into()),
        ("port", 1_i64.into()),
    ];
    let error = call("url_build", map(&file)).expect_err("a port");
    assert_eq!(error, "a URL with the scheme \"file\" has no port");
}

#[test]
fn queries_are_read_and_written() {
    let values = map(&[
        ("q", "a b&c=ü".into()),
        ("tag", Value::List(vec!["x".into(), "y".into(), "".into()])),
        ("empty", "".into()),
    ]);
    let query = "empty=&q=a+b%26c%3D%C3%BC&tag=x&tag=y&tag=";
    assert_eq!(call("query_build", values.clone()), Ok(query.into()));
    let read = call("query_parse", format!("?{query}").into()).expect("a query");
    for name in ["q", "tag", "empty"] {
        assert_eq!(read.get(name), values.get(name), "{name}");
    }
    let others = map(&[
        ("list", map(&[])),
        ("n", 1.5.into()),
        ("nothing", Value::Null),
        ("is", true.into()),
    ]);
    assert_eq!(call("query_build", others), Ok("is=true&n=1.5".into()));
    let error = call("query_build", map(&[("x", map(&[("y", Value::Null)]))])).expect_err("a map");
    assert!(error.starts_with("\"x\" must be a string"), "{error}");
    assert!(call("query_parse", "x".repeat(URL_BYTES_MAX + 1).into()).is_err());
}
