//! From the path of a URL, or what a script writes, to the path of a file in a folder; and the paths under which one
//! file is served.
//!
//! The folder itself lets nothing out (see `folder.rs`). Refused here are paths that could be read in two ways, and
//! files that are not meant to be published.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sampan_project::media::SIBLINGS;
use std::path::{Path, PathBuf};

/// The file that stands for a folder.
pub(super) const INDEX: &str = "index.html";

/// The only name with a dot in front that is served, and only at the top (RFC 8615).
const WELL_KNOWN: &str = ".well-known";

/// The longest path of a file, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// The characters that a path percent-encodes: all but `pchar` of RFC 3986 section 3.3 and the slash.
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

/// Reports whether a path on the disk is that of the database, of what SQLite keeps beside it, or of one that was moved
/// away.
pub(super) fn is_of_database(path: &Path, database: &Path) -> bool {
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let (Some(file), Some(own)) = (name(path), name(database)) else {
        return false;
    };
    let rest = file.strip_prefix(&*own);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        && resolved(path.parent()) == resolved(database.parent())
}

/// Reports whether a file on the disk, which need not exist yet, is below a folder.
pub(super) fn leads_below(file: &Path, folder: &Path) -> bool {
    let mut parents = file.ancestors().skip(1);
    let found = parents.find_map(|parent| resolved(Some(parent)));
    let folder = resolved(Some(folder));
    found.is_some_and(|found| folder.is_some_and(|folder| found.starts_with(folder)))
}

/// A folder without links; `None` if there is none.
fn resolved(folder: Option<&Path>) -> Option<PathBuf> {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).canonicalize().ok()
}

/// Reports whether any path under which a file is served is one that is looked for; `path` is one of them, in normal
/// form. `/docs/` is also
/// `/docs/index.html`, and `/a.csv.gz` is also `/a.csv`, whose content it has.
pub(crate) fn any_name(path: &str, is: impl Fn(&str) -> bool) -> bool {
    let mut name = path;
    loop {
        let folder = name.strip_suffix(INDEX);
        let folder = folder.filter(|folder| folder.ends_with('/'));
        let is_index = name.ends_with('/') && is(&format!("{name}{INDEX}"));
        if is_index || is(name) || folder.is_some_and(&is) {
            return true;
        }
        name = match name.rsplit_once('.') {
            Some((plain, extension)) if SIBLINGS.iter().any(|(_, own)| *own == extension) => plain,
            _ => return false,
        };
    }
}

/// Reports whether a bundler has put a hash of the content into the name of a file: `app-3f9a1b2c.js`,
/// `app.3f9a1b2c.css`, `app-B7xQ2mZk.js`. Eight
/// digits are rather a date, and a digit at the end of a word a version, so a few hashes that look like these are not
/// told.
pub(super) fn has_hash(file: &str) -> bool {
    const HASH_CHARS: usize = 8;
    let name = file.rsplit('/').next().unwrap_or_default();
    let hash = name
        .rsplit_once('.')
        .and_then(|(stem, _)| stem.rsplit_once(['-', '.']));
    let Some((_, hash)) = hash.filter(|(before, _)| !before.is_empty()) else {
        return false;
    };
    let all = |is: fn(&u8) -> bool| hash.bytes().all(|byte| is(&byte));
    let any = |is: fn(&u8) -> bool| hash.bytes().any(|byte| is(&byte));
    let has_digit = any(u8::is_ascii_digit);
    // As webpack and Parcel write it.
    if hash.len() >= HASH_CHARS && all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return has_digit && any(u8::is_ascii_lowercase);
    }
    // As Vite and esbuild do: base64url, or base32 in capitals.
    let word = hash.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_mixed = word.bytes().any(|byte| byte.is_ascii_digit());
    hash.len() == HASH_CHARS
        && all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && is_mixed
        && any(u8::is_ascii_uppercase)
}

/// Reports whether a path that a script wrote names a file below a folder: `storage/reports/1.pdf`.
pub(super) fn is_below(path: &str) -> bool {
    path.len() <= PATH_BYTES_MAX && path.split('/').all(|part| is_name(part, false))
}

/// The path of the URL of a file.
pub(super) fn to_url(file: &str) -> String {
    let mut url = String::with_capacity(file.len() + 1);
    url.push('/');
    url.extend(utf8_percent_encode(file, ENCODED));
    url
}

/// Reports whether a part of a path is the name of a file or folder that may be served.
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
    fn files_have_several_names() {
        for (path, names) in [
            ("/a.csv", &["/a.csv"][..]),
            ("/a.csv.gz", &["/a.csv.gz", "/a.csv"]),
            ("/docs/", &["/docs/", "/docs/index.html"]),
            ("/docs/index.html", &["/docs/", "/docs/index.html"]),
            ("/index.html.br", &["/index.html.br", "/index.html", "/"]),
            ("/myindex.html", &["/myindex.html"]),
        ] {
            for other in [
                "/a.csv",
                "/a.csv.gz",
                "/docs/",
                "/docs/index.html",
                "/index.html",
                "/index.html.br",
                "/",
                "/docs",
                "/my",
            ] {
                let is_name = names.contains(&other);
                assert_eq!(
                    any_name(path, |name| name == other),
                    is_name,
                    "{path} {other}"
                );
            }
        }
    }

    #[test]
    fn hashes_are_told_from_words_dates_and_versions() {
        for file in [
            "app-3f9a1b2c.js",
            "assets/app.3f9a1b2c.css",
            "main.a1b2c3d4e5f60718293a.js",
            "index-B7xQ2mZk.js",
            "vendor-a_9Zk3Qx.css",
            "chunk-5FQBFZEM.js",
            "logo-3f9a1b2c.svg",
        ] {
            assert!(has_hash(file), "{file}");
        }
        for file in [
            "app.js",
            "app-9f2c.js",
            "3f9a1b2c.js",
            "-3f9a1b2c.js",
            "app-3f9a1b2c",
            "3f9a1b2c/app.js",
            "report-20240115.csv",
            "backup-20240115T103000.json",
            "jquery-3.7.1.min.js",
            "bootstrap-datepicker3.css",
            "font-awesome5.css",
            "photo-Quarter1.jpg",
            "docs-VERSION2.html",
            "layout-3columns.css",
            "app.minified.js",
            "facade-deadbeef.js",
            "a-größe1a2.js",
        ] {
            assert!(!has_hash(file), "{file}");
        }
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
