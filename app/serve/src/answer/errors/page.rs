//! The page that a browser shows for an answer that the app did not write.

use sampan_host::answer as rules;
use sampan_http::Response;
use sampan_http::codec::reason;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// Allows the style of the page, by the hash of its text, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'sha256-VDI8gj1Rwj6eSnqr5/QTrqk7DWTxd7oSJY392rRLoAk='; base-uri \
 'none'; form-action 'none'";

/// Writes the page. `message` is in place of what is said of the status otherwise; `id` is that of the request in the
/// log.
pub(super) fn write(response: &mut Response, message: Option<&str>, id: Option<&str>) {
    let status = response.status();
    let mut page = String::with_capacity(STYLE.len() + 768);
    let title = reason(status);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{status} {title}</title>\n<style>{STYLE}</style>\n\
         <main>\n<p class=\"status\">{status}</p>\n<h1>{title}</h1>\n<p>"
    );
    match message {
        Some(message) => write_escaped(&mut page, message),
        None => page.push_str(said_of(status)),
    }
    page.push_str("</p>\n");
    if status == 404 {
        page.push_str("<p><a href=\"/\">Go to the start page</a></p>\n");
    }
    if let Some(id) = id {
        page.push_str("<p><small>If you report this, add the number ");
        write_escaped(&mut page, id);
        page.push_str(".</small></p>\n");
    }
    page.push_str("</main>\n</html>\n");
    // A policy of the project would forbid the style. Both values are plain text.
    let _ = response.set_header(b"Content-Security-Policy", POLICY.as_bytes());
    response.content_type(rules::HTML);
    response.body_mut().extend_from_slice(page.as_bytes());
}

/// Returns what a person can make of a status.
fn said_of(status: u16) -> &'static str {
    match status {
        404 => "There is no page at this address.",
        405 => "This address cannot be used in this way. Go back and try again.",
        408 => "The request took too long to arrive. Try again.",
        413 => "What was sent is too large.",
        429 => "There were too many requests. Wait a moment and try again.",
        500 => "Something went wrong on our side. Try again in a moment.",
        503 | 504 => "The site cannot answer at the moment. Try again soon.",
        400..500 => "This request cannot be answered. Go back and try again.",
        _ => "Something went wrong on our side.",
    }
}

fn write_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    fn page(status: u16, message: Option<&str>, id: Option<&str>) -> String {
        let mut response = Response::new(status);
        write(&mut response, message, id);
        String::from_utf8(std::mem::take(response.body_mut())).expect("UTF-8")
    }

    #[test]
    fn the_policy_allows_the_style() {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        assert!(POLICY.contains(&format!("'sha256-{hash}'")), "{hash}");
    }

    #[test]
    fn the_page_is_small_and_says_what_happened() {
        let missing = page(404, None, None);
        assert!(missing.len() < 1500, "{}", missing.len());
        assert!(missing.contains("<title>404 Not Found</title>") && missing.contains("no page at"));
        let failed = page(500, None, Some("ab12"));
        assert!(failed.contains("Internal Server Error") && failed.contains("ab12"));
        let thrown = page(409, Some("<b>&taken"), None);
        assert!(thrown.contains("<p>&lt;b&gt;&amp;taken</p>"), "{thrown}");
    }
}
