//! Header fields of a response: which are added, and how they are found.

use super::*;

#[test]
fn headers_are_validated_before_anything_is_added() {
    let mut response = Response::new(200);
    for bad in [&b"a\r\nX: y"[..], b"a\0", b"a\n", b"\x1b[31m", b"\x7f"] {
        assert_eq!(response.header(b"X-A", bad), Err(HeaderError::InvalidValue));
        assert_eq!(
            response.set_header(b"X-A", bad),
            Err(HeaderError::InvalidValue)
        );
    }
    for bad in [&b""[..], b"a b", b"a:", b"a\r\n", "é".as_bytes()] {
        assert_eq!(response.header(bad, b"x"), Err(HeaderError::InvalidName));
        assert_eq!(
            response.set_header(bad, b"x"),
            Err(HeaderError::InvalidName)
        );
    }
    assert_eq!(
        response.header(b"Content-Length", b"5 "),
        Err(HeaderError::InvalidLength)
    );
    assert_eq!(response.headers().count(), 0);
}

#[test]
fn headers_have_a_limit_together() {
    let mut response = Response::new(200);
    let value = [b'x'; 30_000];
    assert_eq!(response.header(b"x-a", &value), Ok(()));
    assert_eq!(response.header(b"x-a", &value), Ok(()));
    assert_eq!(response.header(b"x-a", &value), Err(HeaderError::TooLarge));
    assert_eq!(response.headers().count(), 2);
}

#[test]
fn headers_are_found_replaced_and_removed() {
    let mut response = Response::new(200);
    response.header(b"X-A", b"1").unwrap();
    response.header(b"x-a", b"2\t\xff").unwrap();
    response.header(b"X-AB", b"").unwrap();
    assert_eq!(response.get_header("X-a"), Some(&b"1"[..]));
    response.set_header(b"X-A", b"3").unwrap();
    assert_eq!(
        response.headers().collect::<Vec<_>>(),
        [(&b"X-AB"[..], &b""[..]), (b"X-A", b"3")]
    );
    response.remove_header("x-ab");
    assert!(!response.has_header("X-AB") && response.has_header("x-a"));
}

#[test]
fn the_engines_own_fields_are_not_added() {
    let mut response = Response::new(99);
    assert_eq!(response.status(), 500);
    for name in [
        "Transfer-Encoding",
        "keep-alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Proxy-Connection",
    ] {
        response.header(name.as_bytes(), b"x").unwrap();
    }
    response
        .header(b"Connection", b"keep-alive, Close")
        .unwrap();
    response.header(b"Content-Length", b"5").unwrap();
    assert_eq!(response.headers().count(), 0);
    let (parts, _) = response.into_parts();
    assert!(parts.close);
    assert_eq!(parts.declared_length, Some(5));
}

#[test]
fn what_another_response_has_is_added_where_it_is_missing() {
    let (mut response, mut defaults) = (Response::new(200), Response::new(200));
    response.header(b"x-a", b"1").unwrap();
    defaults.header(b"X-A", b"2").unwrap();
    defaults.header(b"X-AB", b"3").unwrap();
    defaults.header(b"Content-Type", b"text/csv").unwrap();
    defaults.header(b"Date", b"now").unwrap();
    response.add_missing(&defaults).unwrap();
    assert_eq!(response.get_header("x-a"), Some(&b"1"[..]));
    assert_eq!(response.get_header("x-ab"), Some(&b"3"[..]));
    response.add_missing(&defaults).unwrap();
    assert_eq!(response.headers().count(), 4);
    let full = vec![b'x'; RESPONSE_FIELDS_BYTES_MAX - 20];
    defaults.set_header(b"X-A", b"").unwrap();
    let mut large = Response::new(200);
    large.header(b"X-Full", &full).unwrap();
    assert_eq!(large.add_missing(&defaults), Err(HeaderError::TooLarge));
    assert_eq!(large.headers().count(), 1);
    let (parts, _) = response.into_parts();
    assert!(parts.has_content_type && parts.has_date);
}
