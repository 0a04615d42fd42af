//! The multipart parser, byte by byte.

use crate::web::form::parts;

const GOOD: &str = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n\
                    --b\r\ncontent-disposition:form-data;name=f;filename=\"x \\\"y\\\" %22.bin\"\r\nContent-Type: \
                     a/b\r\n\r\n\r\n--b--\r\n";

#[test]
fn reads_fields_and_files() {
    let found = format!("{:?}", parts(GOOD.as_bytes(), "b").expect("a good body"));
    assert!(
        found
            .contains(r#"name: "a", filename: None, content_type: None, content: [111, 110, 101]"#),
        "{found}"
    );
    let file =
        r#"name: "f", filename: Some("x \"y\" \".bin"), content_type: Some("a/b"), content: []"#;
    assert!(found.contains(file), "{found}");
}

#[test]
fn a_body_cut_anywhere_is_an_error() {
    // Behind the last boundary only its line end is missing.
    let end = GOOD.len() - "\r\n".len();
    for cut in 0..end {
        assert!(parts(&GOOD.as_bytes()[..cut], "b").is_err(), "cut at {cut}");
    }
    assert_eq!(
        parts(&GOOD.as_bytes()[..end], "b").map(|parts| parts.len()),
        Ok(2)
    );
}

#[test]
fn malformed_bodies_are_errors() {
    let cases = [
        ("", "empty"),
        ("--c\r\n", "another boundary"),
        (
            "--b\nContent-Disposition: form-data; name=a\n\nx\n--b--",
            "bare LF",
        ),
        (
            "--bx\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--",
            "boundary with more behind it",
        ),
        ("--b\r\n\r\nx\r\n--b--", "no header lines"),
        (
            "--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--",
            "no disposition",
        ),
        (
            "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
            "no name",
        ),
        (
            "--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--",
            "open quote",
        ),
        (
            "--b\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--b--",
            "not form-data",
        ),
        ("--b\r\nno colon\r\n\r\nx\r\n--b--", "no colon"),
    ];
    for (body, what) in cases {
        assert!(parts(body.as_bytes(), "b").is_err(), "{what}");
    }
}

#[test]
fn parts_and_their_heads_have_limits() {
    let part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
    let body = |count: usize| part.repeat(count) + "--b--";
    assert_eq!(
        parts(body(1_000).as_bytes(), "b").map(|parts| parts.len()),
        Ok(1_000)
    );
    assert!(parts(body(1_001).as_bytes(), "b").is_err());
    let long = format!(
        "--b\r\nX: {}\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--",
        "y".repeat(8_192)
    );
    assert!(parts(long.as_bytes(), "b").is_err());
}

/// Bytes changed, removed and inserted by a seeded generator: the parser answers or refuses, and never panics or
/// makes up parts.
#[test]
fn mutated_bodies_do_no_harm() {
    let mut state = 0x5eed_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let alphabet = b"\r\n-b\";:= \\%\0\xff";
    for _ in 0..20_000 {
        let mut body = GOOD.as_bytes().to_vec();
        for _ in 0..1 + random(4) {
            let at = random(body.len());
            match random(3) {
                0 => body[at] = alphabet[random(alphabet.len())],
                1 => drop(body.remove(at)),
                _ => body.insert(at, alphabet[random(alphabet.len())]),
            }
        }
        let found = parts(&body, "b").unwrap_or_default();
        assert!(found.len() <= 4);
    }
}
