//! Types of files: what their names say, which of them are text, and the names of their encoded forms.

use sampan_host::request::Coding;

/// The names of the ready-made encoded forms of a file, by their coding.
pub const SIBLINGS: &[(Coding, &str)] = &[
    (Coding::Brotli, "br"),
    (Coding::Zstd, "zst"),
    (Coding::Gzip, "gz"),
];

/// Types that are no `text/` and compress well, beside those that end in `+json`, `+xml` and `+text`.
const TYPES: [&str; 15] = [
    "application/json",
    "application/javascript",
    "application/xml",
    "application/xhtml+xml",
    "application/x-ndjson",
    "application/x-javascript",
    "application/x-yaml",
    "application/yaml",
    "application/toml",
    "application/graphql",
    "application/sql",
    "application/wasm",
    "application/x-www-form-urlencoded",
    "font/ttf",
    "image/bmp",
];

/// The content type of a file, by its name. Text is UTF-8.
pub fn content_type(path: &str) -> String {
    let Some(known) = mime_guess::from_path(path).first_raw() else {
        return "application/octet-stream".to_owned();
    };
    match known {
        "application/javascript" => "text/javascript; charset=utf-8".to_owned(),
        text if text.starts_with("text/") => format!("{text}; charset=utf-8"),
        other => other.to_owned(),
    }
}

/// Reports whether content of this type is text, or compresses like it.
pub fn is_text(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next();
    let Ok(essence) = std::str::from_utf8(essence.unwrap_or_default().trim_ascii()) else {
        return false;
    };
    let essence = essence.to_ascii_lowercase();
    let is_marked = ["+json", "+xml", "+text"]
        .iter()
        .any(|end| essence.ends_with(end));
    // Events are sent one at a time.
    (essence.starts_with("text/") && essence != "text/event-stream")
        || is_marked
        || TYPES.contains(&essence.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_content_types() {
        for (path, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/app.CSS", "text/css; charset=utf-8"),
            ("app.js", "text/javascript; charset=utf-8"),
            ("app.mjs", "text/javascript; charset=utf-8"),
            ("data.json", "application/json"),
            ("logo.svg", "image/svg+xml"),
            ("photo.avif", "image/avif"),
            ("font.woff2", "font/woff2"),
            ("code.wasm", "application/wasm"),
            ("site.webmanifest", "application/manifest+json"),
            ("README", "application/octet-stream"),
            ("a.b/README", "application/octet-stream"),
        ] {
            assert_eq!(content_type(path), expected, "{path}");
        }
    }

    #[test]
    fn texts_are_compressed_and_what_is_compressed_is_not() {
        for yes in [
            "text/html; charset=utf-8",
            "TEXT/CSS",
            "application/json",
            "application/ld+json",
            "image/svg+xml",
            "application/wasm",
        ] {
            assert!(is_text(yes.as_bytes()), "{yes}");
        }
        for no in [
            "image/png",
            "application/zip",
            "text/event-stream",
            "application/octet-stream",
            "",
            "\u{e9}",
        ] {
            assert!(!is_text(no.as_bytes()), "{no}");
        }
    }
}
