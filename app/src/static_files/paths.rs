//! From the path of a URL, or what a script writes, to the path of a file in a folder.
//!
//! The folder itself lets nothing out (see `folder.rs`). What is refused here is what could be read in two ways, and what nobody means
//! to publish.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The file that stands for a folder.
pub(super) const INDEX: &str = "index.html";

/// The only name with a dot in front that is served, and only at the top (RFC 8615).
const WELL_KNOWN: &str = ".well-known";

/// The longest path of a file, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// What a path has percent-encoded: all but `pchar` of RFC 3986 section 3.3 and the slash.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'@')
    .remove(b'+')
    .remove(b',')
    .remove(b'=')
    .remove(b'!')
    .remove(b'(')
    .remove(b')');

/// The file that the path of a URL names, in normal form: `docs/index.html` for `/docs/`. `None` where it can be none.
pub(super) fn of_url(path: &str) -> Option<String> {
    let path = path.strip_prefix('/')?;
    let mut file = String::with_capacity(path.len() + INDEX.len());
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() && parts.peek().is_none() {
            file.push_str(INDEX);
            break;
        }
        // Decoded part by part, so that an encoded slash never separates two.
        let part = percent_decode_str(part).decode_utf8().ok()?;
        if !is_name(&part, file.is_empty()) {
            return None;
        }
        file.push_str(&part);
        if parts.peek().is_some() {
            file.push('/');
        }
    }
    (file.len() <= PATH_BYTES_MAX).then_some(file)
}

/// Whether a path that a script wrote names a file below a folder: `storage/reports/1.pdf`.
pub(super) fn is_below(path: &str) -> bool {
    path.len() <= PATH_BYTES_MAX && path.split('/').all(|part| is_name(part, false))
}

/// The path of the URL of a file.
pub(super) fn to_url(file: &str) -> String {
    format!("/{}", utf8_percent_encode(file, ENCODED))
}

/// Whether a part of a path is the name of a file or folder that may be served.
fn is_name(part: &str, is_first: bool) -> bool {
    let is_hidden = part.starts_with('.') && !(is_first && part == WELL_KNOWN);
    !part.is_empty() && !is_hidden && !part.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_files() {
        for (path, expected) in [
            ("/", Some("index.html")),
            ("/app.css", Some("app.css")),
            ("/css/app.css", Some("css/app.css")),
            ("/docs/", Some("docs/index.html")),
            ("/a%20b%25.txt", Some("a b%.txt")),
            ("/gr%C3%B6%C3%9Fe", Some("größe")),
            (
                "/.well-known/security.txt",
                Some(".well-known/security.txt"),
            ),
            ("/%252e%252e/x", Some("%2e%2e/x")),
            ("", None),
            ("*", None),
            ("app.css", None),
            ("//app.css", None),
            ("/a//b", None),
            ("/a//", None),
            ("/..", None),
            ("/../x", None),
            ("/a/../b", None),
            ("/./a", None),
            ("/a/.", None),
            ("/.env", None),
            ("/.git/config", None),
            ("/a/.htaccess", None),
            ("/a/.well-known/x", None),
            ("/%2e%2e/x", None),
            ("/%2E%2E%2Fx", None),
            ("/..%2fx", None),
            ("/a%2Fb", None),
            ("/a%5Cb", None),
            ("/a\\..\\b", None),
            ("/a%00", None),
            ("/%C0%AE%C0%AE/x", None),
            ("/%E0%80%AE/x", None),
            ("/%FF", None),
        ] {
            assert_eq!(of_url(path).as_deref(), expected, "{path}");
        }
        assert_eq!(
            of_url(&format!("/{}", "a".repeat(PATH_BYTES_MAX + 1))),
            None
        );
    }

    #[test]
    fn scripts_name_files_below() {
        for path in ["a", "storage/a b.pdf", "public/größe.txt", "a%2e"] {
            assert!(is_below(path), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "a\0",
            ".env",
            "storage/.x",
        ] {
            assert!(!is_below(path), "{path}");
        }
    }

    #[test]
    fn a_file_has_a_url_that_names_it() {
        for (file, url) in [
            ("css/app.css", "/css/app.css"),
            ("a b%.txt", "/a%20b%25.txt"),
            ("größe?.txt", "/gr%C3%B6%C3%9Fe%3F.txt"),
        ] {
            assert_eq!(to_url(file), url);
            assert_eq!(of_url(url).as_deref(), Some(file));
        }
    }
}
