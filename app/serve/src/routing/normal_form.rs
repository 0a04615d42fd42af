//! The normal form in which paths are compared (RFC 3986 section 6.2.2).
//!
//! A percent-encoded character that may stand in a path as it is reads as itself, so that `/%61dmin` is `/admin` and
//! `/%40me` is `/@me`, for routes, middleware and files alike. Only `%2F` never becomes a slash.

use std::borrow::Cow;

/// The bytes that a path in normal form has as they are: `pchar` of RFC 3986 section 3.3, and the slash.
static PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'('
            | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/');
        byte += 1;
    }
    table
};

/// A path in the form in which paths are compared; most are in it already, and nothing is copied then.
pub fn normal_form(path: &str) -> Cow<'_, str> {
    if path.bytes().all(|byte| PLAIN[usize::from(byte)]) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len() + 8);
    let mut left = path.as_bytes();
    while let [byte, after @ ..] = left {
        left = after;
        match decoded(after).filter(|_| *byte == b'%') {
            Some(meant) => {
                if PLAIN[usize::from(meant)] && meant != b'/' {
                    out.push(char::from(meant));
                } else {
                    push_encoded(&mut out, meant);
                }
                left = &after[2..];
            }
            // Some clients send é or { as they are.
            None if PLAIN[usize::from(*byte)] => out.push(char::from(*byte)),
            // A '%' without digits means itself, and is then written as elsewhere.
            None => push_encoded(&mut out, *byte),
        }
    }
    Cow::Owned(out)
}

/// A path in normal form as an application may read it that decodes slashes and merges them: `//admin/x` and
/// `/admin%2Fx` are `/admin/x`. So is `/admin%5Cx`: a URL's parser makes a slash of a backslash.
/// `None` where that is the path itself.
pub(crate) fn merged_slashes(path: &str) -> Option<String> {
    if !path.contains("//") && !path.contains("%2F") && !path.contains("%5C") {
        return None;
    }
    let mut read = path.replace("%2F", "/").replace("%5C", "/");
    while read.contains("//") {
        read = read.replace("//", "/");
    }
    Some(read)
}

/// Reports whether an application that decodes the slashes of a path in normal form finds a dot segment between them:
/// `/..%2Fadmin`. The codec refuses those between slashes as they are.
pub(crate) fn hides_dot_segments(path: &str) -> bool {
    let read = path.contains('%').then(|| merged_slashes(path)).flatten();
    let mut segments = read.iter().flat_map(|read| read.split('/'));
    segments.any(|segment| matches!(segment, "." | ".."))
}

/// The byte that the two hexadecimal digits at the front stand for.
pub(super) fn decoded(digits: &[u8]) -> Option<u8> {
    let digit = |index: usize| digits.get(index).and_then(|&b| char::from(b).to_digit(16));
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

fn push_encoded(out: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_are_merged_as_applications_read_them() {
        for (path, read) in [
            ("/admin/x", None),
            ("//admin/x", Some("/admin/x")),
            ("/admin%2Fx", Some("/admin/x")),
            ("/admin//x/%2F", Some("/admin/x/")),
            ("/%5Cadmin%5Cx", Some("/admin/x")),
        ] {
            assert_eq!(merged_slashes(path).as_deref(), read, "{path}");
        }
    }

    #[test]
    fn dot_segments_between_encoded_slashes_are_found() {
        for (path, is_hidden) in [
            ("/.%2Fadmin/x", true),
            ("/..%2fadmin/x", true),
            ("/a%2f..%2Fadmin/x", true),
            ("/a%2f%2e%2e", true),
            ("/x/..%5Cadmin", true),
            ("/x%2F.", true),
            ("/a/b", false),
            ("/a%2F...%2Fb", false),
            ("/a%2Fb..%2F.c", false),
            ("//a%2Fb", false),
        ] {
            let normal = normal_form(path);
            assert_eq!(hides_dot_segments(&normal), is_hidden, "{path}");
        }
    }

    #[test]
    fn paths_have_one_normal_form() {
        assert!(matches!(normal_form("/plain/path"), Cow::Borrowed(_)));
        assert_eq!(
            normal_form("/%61dmin/%7euser%2fx%zz%"),
            "/admin/~user%2Fx%25zz%25"
        );
        // Encoded or not: what a pattern may hold is compared as it is written there.
        let held = "@!$&'()*+,;=:";
        let encoded: String = held.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(normal_form(&encoded), held);
        for path in ["/%2540me", "/%25zz", "/%2e%2F%5C%7B"] {
            let once = normal_form(path).into_owned();
            assert_eq!(
                normal_form(&once),
                once,
                "{path} is in normal form after one step"
            );
        }
        assert_eq!(normal_form("/%e2%82%AC"), "/%E2%82%AC");
        assert_eq!(normal_form("/é/{x}"), "/%C3%A9/%7Bx%7D");
        assert!(matches!(
            normal_form("/users/@me/a:b;c=d,e"),
            Cow::Borrowed(_)
        ));
    }
}
